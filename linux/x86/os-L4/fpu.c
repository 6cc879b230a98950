// SPDX-License-Identifier: GPL-2.0
/*
 * FPU state.  It lies in the UTCB slot of the task's user thread and nowhere else.  The format is that of fxsave, or of
 * fsave where the processor has no fxsave.  Signal frames have both formats; debuggers and core dumps
 * want either.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/siginfo.h>
#include <uapi/asm/sigcontext.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "fpu.h"
#include "regset.h"

/* The formats of fxsave and fsave. */
struct fxsave {
	u16 cwd, swd;
	u8 tags, reserved;
	u16 fop;
	u32 fip, fcs, foo, fos, mxcsr, mxcsr_mask;
	u8 st[8][16];
	u8 xmm[8][16];
	u8 unused[176];
	struct _fpx_sw_bytes software;
};

struct fsave {
	u32 cwd, swd, twd, fip, fcs_fop, foo, fos;
	u8 st[8][10];
};

/* FPU state in a signal frame.  Without fxsave it ends before fx. */
struct frame {
	struct fsave old;
	u16 status, magic;
	struct fxsave fx;
};

#define OLD_BYTES	offsetof(struct frame, fx)

static_assert(sizeof(struct fxsave) == L4_FPU_SIZE);
static_assert(sizeof(struct frame) == sizeof(struct _fpstate_32));

enum { TAG_VALID, TAG_ZERO, TAG_SPECIAL, TAG_EMPTY };

#define CONTROL		0x037f
#define MXCSR		0x1f80

/* The state of a new program. */
static struct frame initial __ro_after_init;

/*
 * The UTCB slot of such a thread, or 0.  Its area then has the task's newest FPU state, and keeps it until the
 * thread runs.
 */
static u32 l4_fp_slot(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_bound(task);

	if (!t)
		return 0;
	if (*(u32 *)(t->frame + L4_UTCB_FPU) == L4_FPU_LOADED)
		l4_call(L4_OP_FPU_SYNC, t->slot, 0, 0, 0);
	return t->frame;
}

/* fxsave numbers tags by register, but contents by distance from the top of the stack. */
static const u8 *contents(const struct fxsave *fx, unsigned int reg)
{
	return fx->st[(reg - (fx->swd >> 11)) & 7];
}

static unsigned int tag_of(const u8 *st)
{
	u64 mantissa;
	u16 exponent;

	memcpy(&mantissa, st, 8);
	memcpy(&exponent, st + 8, 2);
	exponent &= 0x7fff;
	if (!exponent && !mantissa)
		return TAG_ZERO;
	return !exponent || exponent == 0x7fff || !(mantissa >> 63) ? TAG_SPECIAL : TAG_VALID;
}

static void to_fsave(struct fsave *f, const struct fxsave *fx)
{
	unsigned int i;

	*f = (struct fsave){
		fx->cwd | 0xffff0000, fx->swd | 0xffff0000, 0xffff0000, fx->fip,
		(fx->fcs & 0xffff) | fx->fop << 16, fx->foo, fx->fos,
	};
	for (i = 0; i < 8; i++) {
		f->twd |= (fx->tags & 1 << i ? tag_of(contents(fx, i)) : TAG_EMPTY) << 2 * i;
		memcpy(f->st[i], fx->st[i], 10);
	}
}

/* SSE's registers stay as they are. */
static void from_fsave(struct fxsave *fx, const struct fsave *f)
{
	unsigned int i;

	fx->cwd = f->cwd;
	fx->swd = f->swd;
	fx->fop = f->fcs_fop >> 16;
	fx->fip = f->fip;
	fx->fcs = f->fcs_fop & 0xffff;
	fx->foo = f->foo;
	fx->fos = f->fos;
	fx->tags = 0;
	for (i = 0; i < 8; i++) {
		if ((f->twd >> 2 * i & 3) != TAG_EMPTY)
			fx->tags |= 1 << i;
		memcpy(fx->st[i], f->st[i], 10);
	}
}

static bool has_fxsave(void)
{
	return l4_kip[L4_KIP_FEATURES / 4] & L4_FEATURE_FXSR;
}

static int __init fpu_init(void)
{
	struct fxsave *fx = &initial.fx;

	if (has_fxsave()) {
		static struct fxsave own __initdata __aligned(16);

		/* Tells which bits of MXCSR the processor has. */
		asm volatile ("fxsave %0" : "=m" (own));
		fx->mxcsr_mask = own.mxcsr_mask ?: 0xffbf;
	}
	fx->cwd = CONTROL;
	fx->mxcsr = MXCSR;
	to_fsave(&initial.old, fx);
	initial.magic = has_fxsave() ? X86_FXSR_MAGIC : 0xffff;
	/* Programs look for extended state (AVX) by these words.  There is none. */
	fx->software = (struct _fpx_sw_bytes){
		.magic1 = FP_XSTATE_MAGIC1, .xstate_size = sizeof(struct fxsave),
		.extended_size = sizeof(struct frame) + FP_XSTATE_MAGIC2_SIZE,
	};
	return 0;
}
arch_initcall(fpu_init);

static void *area(u32 slot)
{
	return (void *)(slot + L4_FPU_OFFSET);
}

static u32 *place(u32 slot)
{
	return (u32 *)(slot + L4_UTCB_FPU);
}

/* Reads a thread's state in the format of fxsave. */
static void get_state(u32 slot, struct fxsave *fx)
{
	if (likely(has_fxsave())) {
		memcpy(fx, area(slot), sizeof(*fx));
		return;
	}
	memset(fx, 0, sizeof(*fx));
	fx->mxcsr = MXCSR;
	from_fsave(fx, area(slot));
}

static void put_state(u32 slot, const struct fxsave *fx)
{
	if (likely(has_fxsave()))
		memcpy(area(slot), fx, sizeof(*fx));
	else
		to_fsave(area(slot), fx);
	*place(slot) = L4_FPU_SAVED;
}

static void begin(u32 slot)
{
	if (*place(slot) == L4_FPU_INITIAL)
		return;
	put_state(slot, &initial.fx);
	*place(slot) = L4_FPU_INITIAL;
}

bool arch_l4_copy_fpu(struct task_struct *child, struct task_struct *parent)
{
	u32 from = l4_fp_slot(parent), to = l4_fp_slot(child);

	if (!from || !to)
		return false;
	if (*place(from) != L4_FPU_INITIAL) {
		memcpy(area(to), area(from), L4_FPU_SIZE);
		*place(to) = L4_FPU_SAVED;
	}
	return true;
}

unsigned long l4_fp_frame(unsigned long sp)
{
	if (likely(has_fxsave()))
		return round_down(sp - sizeof(struct fxsave), 64) - OLD_BYTES;
	return round_down(sp - OLD_BYTES, 64);
}

static unsigned long frame_bytes(void)
{
	return likely(has_fxsave()) ? sizeof(struct frame) : OLD_BYTES;
}

bool l4_fp_to_frame(void __user *to)
{
	u32 slot = l4_fp_slot(current);
	const struct fxsave *fx;
	struct frame f;

	if (!slot)
		return false;
	if (*place(slot) == L4_FPU_INITIAL)
		return !copy_to_user(to, &initial, frame_bytes());
	f.magic = initial.magic;
	if (likely(has_fxsave())) {
		fx = area(slot);
		to_fsave(&f.old, fx);
		f.status = fx->swd;
		if (copy_to_user(to + OLD_BYTES, fx, offsetof(struct fxsave, software)) ||
		    copy_to_user(to + offsetof(struct frame, fx.software), &initial.fx.software,
				 sizeof(initial.fx.software)))
			return false;
	} else {
		memcpy(&f.old, area(slot), sizeof(f.old));
		f.status = f.old.swd;
	}
	if (copy_to_user(to, &f, OLD_BYTES))
		return false;
	begin(slot);
	return true;
}

/* Compares by words; memcmp() compares by bytes. */
static bool is_initial(const struct frame *f)
{
	const void *a = f, *b = &initial;
	unsigned long words = sizeof(*f) / 4;
	bool same;

	asm ("repe cmpsl" : "+S" (a), "+D" (b), "+c" (words), "=@cce" (same) : "m" (*f), "m" (initial));
	return same;
}

bool l4_fp_from_frame(const void __user *from)
{
	u32 slot = l4_fp_slot(current);
	struct frame f;

	if (!slot)
		return false;
	if (!from) {
		begin(slot);
		return true;
	}
	if (copy_from_user(&f, from, frame_bytes()))
		return false;
	if (unlikely(!has_fxsave())) {
		memcpy(area(slot), &f.old, sizeof(f.old));
		*place(slot) = L4_FPU_SAVED;
		return true;
	}
	/* Neither the program nor its handler has used the FPU. */
	if (*place(slot) == L4_FPU_INITIAL && is_initial(&f))
		return true;
	/* Both formats have the registers of the x87.  Those of the old format are used. */
	from_fsave(&f.fx, &f.old);
	f.fx.mxcsr &= initial.fx.mxcsr_mask;
	put_state(slot, &f.fx);
	return true;
}

int l4_fp_exception(bool sse)
{
	u32 slot = l4_fp_slot(current), err;
	struct fxsave fx;

	if (!slot)
		return FPE_FLTINV;
	get_state(slot, &fx);
	err = sse ? ~(fx.mxcsr >> 7) & fx.mxcsr : fx.swd & ~fx.cwd;
	if (err & 0x01)
		return FPE_FLTINV;
	if (err & 0x04)
		return FPE_FLTDIV;
	if (err & 0x08)
		return FPE_FLTOVF;
	/* Denormal operand or underflow. */
	if (err & 0x12)
		return FPE_FLTUND;
	return err & 0x20 ? FPE_FLTRES : 0;
}

/* Register sets of both formats. */
int fsave_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	u32 slot = l4_fp_slot(task);
	struct fxsave fx;
	struct fsave f;

	if (!slot)
		return -EIO;
	get_state(slot, &fx);
	to_fsave(&f, &fx);
	membuf_write(&to, &f, sizeof(f));
	return 0;
}

int fsave_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
	      unsigned int bytes, const void *from, const void __user *user)
{
	u32 slot = l4_fp_slot(task);
	struct fxsave fx;
	struct fsave f;
	int err;

	if (!slot)
		return -EIO;
	/* What the debugger does not give stays as it is. */
	get_state(slot, &fx);
	to_fsave(&f, &fx);
	err = user_regset_copyin(&at, &bytes, &from, &user, &f, 0, sizeof(f));
	if (err)
		return err;
	from_fsave(&fx, &f);
	put_state(slot, &fx);
	return 0;
}

int fxsave_active(struct task_struct *task, const struct user_regset *set)
{
	return has_fxsave() ? set->n : 0;
}

int fxsave_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	u32 slot = l4_fp_slot(task);

	if (!has_fxsave())
		return -ENODEV;
	if (!slot)
		return -EIO;
	membuf_write(&to, area(slot), sizeof(struct fxsave));
	return 0;
}

int fxsave_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
	       unsigned int bytes, const void *from, const void __user *user)
{
	u32 slot = l4_fp_slot(task);
	struct fxsave fx;
	int err;

	if (!has_fxsave())
		return -ENODEV;
	if (!slot)
		return -EIO;
	if (at || bytes != sizeof(fx))
		return -EINVAL;
	err = user_regset_copyin(&at, &bytes, &from, &user, &fx, 0, sizeof(fx));
	if (err)
		return err;
	if (fx.mxcsr & ~initial.fx.mxcsr_mask)
		return -EINVAL;
	put_state(slot, &fx);
	return 0;
}
