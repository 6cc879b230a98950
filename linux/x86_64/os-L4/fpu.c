// SPDX-License-Identifier: GPL-2.0
/*
 * FPU state.  It is only in the UTCB slot of the task's user thread.  The format is the standard one of xsave, or
 * that of fxsave, which is the first part of it, where the microkernel uses no xsave.  Signal frames, debuggers and
 * core dumps have the same.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/siginfo.h>
#include <asm/user.h>
#include <uapi/asm/sigcontext.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/subarch.h"
#include "../../../um/os-L4/user_thread.h"
#include "fpu.h"
#include "regset.h"

/* The format of xsave.  The words that are for software belong to the frame or the debugger, not to the task. */
struct state {
	struct {
		u16 cwd, swd;
		u8 tags, reserved;
		u16 fop;
		u64 rip, rdp;
		u32 mxcsr, mxcsr_mask;
		u8 st[8][16], xmm[16][16];
		u8 unused[48];
		struct _fpx_sw_bytes software;
	} fx;
	struct {
		u64 parts, zero[7];
	} header;
	u8 more[L4_FPU_SIZE - 512 - 64];
} __aligned(64);

static_assert(sizeof(struct state) == L4_FPU_SIZE && sizeof(((struct state *)0)->fx) == sizeof(struct user_i387_struct));

#define FX_BYTES	sizeof(((struct state *)0)->fx)
#define MAGIC_BYTES	FP_XSTATE_MAGIC2_SIZE

#define CONTROL		0x037f
#define MXCSR		0x1f80
/* Parts: the x87 and SSE are always there. */
#define LEAST		3ULL
#define CPUID_OSXSAVE	(1 << 27)

/* The parts that xsave saves, and its bytes; 0 without xsave. */
static u64 parts __ro_after_init;
static unsigned int xsave_bytes __ro_after_init;
/* The state of a new program. */
static struct state initial __ro_after_init;

bool l4_fp_has_xsave(void)
{
	return xsave_bytes;
}

unsigned int l4_xsave_bytes(void)
{
	return xsave_bytes;
}

static unsigned int state_bytes(void)
{
	return xsave_bytes ?: FX_BYTES;
}

static int __init fpu_init(void)
{
	static struct state own __initdata;
	u32 eax = 1, ebx, ecx = 0, edx;

	asm ("cpuid" : "+a" (eax), "=b" (ebx), "+c" (ecx), "=d" (edx));
	if (ecx & CPUID_OSXSAVE) {
		asm ("xgetbv" : "=a" (eax), "=d" (edx) : "c" (0));
		parts = (u64)edx << 32 | eax;
		eax = 0xd;
		ecx = 0;
		asm ("cpuid" : "+a" (eax), "=b" (ebx), "+c" (ecx), "=d" (edx));
		BUG_ON(ebx > L4_FPU_SIZE);
		xsave_bytes = ebx;
	}
	/* Finds which bits of MXCSR the processor has. */
	asm volatile ("fxsave64 %0" : "=m" (own.fx));
	initial.fx.mxcsr_mask = own.fx.mxcsr_mask ?: 0xffbf;
	initial.fx.cwd = CONTROL;
	initial.fx.mxcsr = MXCSR;
	return 0;
}
arch_initcall(fpu_init);

static struct state *area(const struct l4_thread *t)
{
	return (struct state *)(t->frame + L4_FPU_OFFSET);
}

static u32 *place(const struct l4_thread *t)
{
	return (u32 *)(t->frame + L4_UTCB_FPU);
}

/* The user thread of a task, or NULL.  Its slot has the newest state, and keeps it until the thread runs. */
static struct l4_thread *synchronised(struct task_struct *task)
{
	struct l4_thread *t = l4_thread_bound(task);

	if (t && *place(t) == L4_FPU_LOADED)
		l4_call(L4_OP_FPU_SYNC, t->slot, 0, 0, 0);
	return t;
}

static void begin(struct l4_thread *t)
{
	if (*place(t) == L4_FPU_INITIAL)
		return;
	memcpy(area(t), &initial, state_bytes());
	*place(t) = L4_FPU_INITIAL;
}

/*
 * A thread's state, in its slot, in which x87 and SSE are always marked as in use, as on Linux alone.  It may be as large
 * as a quarter of a stack, so there is no other copy.
 */
static struct state *state_of(struct l4_thread *t)
{
	struct state *s = area(t);

	if (*place(t) == L4_FPU_INITIAL)
		memcpy(s, &initial, state_bytes());
	s->fx.mxcsr_mask = initial.fx.mxcsr_mask;
	memset(&s->fx.software, 0, sizeof(s->fx.software));
	s->header.parts |= LEAST;
	return s;
}

/*
 * What is in the slot is the thread's state now.  The state of a program or a debugger may have any contents: the
 * microkernel takes what the processor takes.
 */
static void changed(struct l4_thread *t)
{
	*place(t) = L4_FPU_SAVED;
}

/*
 * Parts that are not in use become those of a new program, because the microkernel always takes x87 and SSE from the
 * state.
 */
static void fill_initial(struct state *s)
{
	if (!(s->header.parts & 1)) {
		memcpy(&s->fx, &initial.fx, offsetof(struct state, fx.mxcsr));
		memset(s->fx.st, 0, sizeof(s->fx.st));
	}
	if (!(s->header.parts & 2))
		memset(s->fx.xmm, 0, sizeof(s->fx.xmm));
	s->header.parts |= LEAST;
}

bool arch_l4_copy_fpu(struct task_struct *child, struct task_struct *parent)
{
	struct l4_thread *from = synchronised(parent), *to = synchronised(child);

	if (!from || !to)
		return false;
	if (*place(from) != L4_FPU_INITIAL) {
		memcpy(area(to), area(from), state_bytes());
		changed(to);
	}
	return true;
}

unsigned long l4_fp_frame(unsigned long sp)
{
	return round_down(sp - state_bytes() - (xsave_bytes ? MAGIC_BYTES : 0), 64);
}

bool l4_fp_to_frame(void __user *to)
{
	struct l4_thread *t = synchronised(current);
	const u32 magic2 = FP_XSTATE_MAGIC2;
	struct state *s;

	if (!t)
		return false;
	s = state_of(t);
	if (xsave_bytes) {
		s->fx.software = (struct _fpx_sw_bytes){
			.magic1 = FP_XSTATE_MAGIC1, .extended_size = xsave_bytes + MAGIC_BYTES,
			.xfeatures = parts, .xstate_size = xsave_bytes,
		};
		if (copy_to_user(to + xsave_bytes, &magic2, MAGIC_BYTES))
			return false;
	}
	if (copy_to_user(to, s, state_bytes()))
		return false;
	/* It has what the frame says of it. */
	changed(t);
	begin(t);
	return true;
}

/* Whether a frame has more than fxsave's format, by the tests of arch/x86/kernel/fpu/signal.c. */
static bool is_extended(const struct state *s, const void __user *from)
{
	const struct _fpx_sw_bytes *software = &s->fx.software;
	u32 magic2;

	return software->magic1 == FP_XSTATE_MAGIC1 && software->xstate_size >= FX_BYTES + sizeof(s->header) &&
	       software->xstate_size <= xsave_bytes && software->xstate_size <= software->extended_size &&
	       !get_user(magic2, (const u32 __user *)(from + software->xstate_size)) && magic2 == FP_XSTATE_MAGIC2;
}

/* Reads a frame into the slot.  False: the slot has a part of it, or what the processor refuses. */
static bool read_frame(struct state *s, const void __user *from)
{
	if (!access_ok(from, state_bytes()) || copy_from_user(&s->fx, from, FX_BYTES))
		return false;
	/* Parts that the frame does not have are as at a program's beginning. */
	s->header.parts = LEAST;
	if (xsave_bytes && is_extended(s, from)) {
		unsigned int bytes = s->fx.software.xstate_size;
		u64 kept = s->fx.software.xfeatures;

		if (copy_from_user(&s->header, from + FX_BYTES, bytes - FX_BYTES))
			return false;
		/* Bits of parts that the processor does not have are refused, as the processor does. */
		if (s->header.parts & ~parts || memchr_inv(s->header.zero, 0, sizeof(s->header.zero)))
			return false;
		s->header.parts &= kept;
		fill_initial(s);
	}
	/* Linux alone fails here, too: the processor refuses these bits. */
	return !(s->fx.mxcsr & ~initial.fx.mxcsr_mask);
}

bool l4_fp_from_frame(const void __user *from)
{
	struct l4_thread *t = synchronised(current);
	bool good;

	if (!t)
		return false;
	if (!from) {
		begin(t);
		return true;
	}
	good = read_frame(area(t), from);
	changed(t);
	/* On Linux alone the state is lost then, too. */
	if (!good)
		begin(t);
	return good;
}

int l4_fp_exception(bool sse)
{
	struct l4_thread *t = synchronised(current);
	const struct state *s;
	u32 err;

	if (!t)
		return FPE_FLTINV;
	s = state_of(t);
	err = sse ? ~(s->fx.mxcsr >> 7) & s->fx.mxcsr : s->fx.swd & ~s->fx.cwd;
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
int fxsave_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	struct l4_thread *t = synchronised(task);

	return t ? membuf_write(&to, &state_of(t)->fx, FX_BYTES) : -EIO;
}

int fxsave_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
	       unsigned int bytes, const void *from, const void __user *user)
{
	struct l4_thread *t = synchronised(task);
	typeof(initial.fx) fx;
	int err;

	if (!t)
		return -EIO;
	if (at || bytes != FX_BYTES)
		return -EINVAL;
	err = user_regset_copyin(&at, &bytes, &from, &user, &fx, 0, FX_BYTES);
	if (err)
		return err;
	if (fx.mxcsr & ~initial.fx.mxcsr_mask)
		return -EINVAL;
	state_of(t)->fx = fx;
	changed(t);
	return 0;
}

int xsave_active(struct task_struct *task, const struct user_regset *set)
{
	return xsave_bytes ? set->n : 0;
}

int xsave_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	struct l4_thread *t = synchronised(task);
	struct state *s;

	if (!xsave_bytes)
		return -ENODEV;
	if (!t)
		return -EIO;
	s = state_of(t);
	/* Debuggers find the possible parts here. */
	memcpy(&s->fx.software, &parts, sizeof(parts));
	return membuf_write(&to, s, xsave_bytes);
}

int xsave_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
	      unsigned int bytes, const void *from, const void __user *user)
{
	struct l4_thread *t = synchronised(task);
	struct state *s;
	int err;

	if (!xsave_bytes)
		return -ENODEV;
	if (!t)
		return -EIO;
	if (at || bytes != xsave_bytes)
		return -EFAULT;
	s = kmalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	err = user_regset_copyin(&at, &bytes, &from, &user, s, 0, xsave_bytes);
	if (!err && (s->header.parts & ~parts || memchr_inv(s->header.zero, 0, sizeof(s->header.zero)) ||
		     s->fx.mxcsr & ~initial.fx.mxcsr_mask))
		err = -EINVAL;
	if (!err) {
		fill_initial(s);
		memcpy(area(t), s, xsave_bytes);
		changed(t);
	}
	kfree(s);
	return err;
}
