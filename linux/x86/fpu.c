// SPDX-License-Identifier: GPL-2.0
/*
 * FPU state as Linux wants it.  task->thread.regs.fp is in the format of fxsave, always: so
 * are signal frames.  The microkernel's area is, too, unless the processor has no fxsave;
 * ptrace and core dumps ask for the format of fsave, too.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>
#include "../../../um/os-L4/l4.h"

/* What fxsave and fsave write. */
struct fxsave {
	u16 cwd, swd;
	u8 tags, reserved;
	u16 fop;
	u32 fip, fcs, foo, fos, mxcsr, mxcsr_mask;
	u8 st[8][16];
};

struct fsave {
	u32 cwd, swd, twd, fip, fcs_fop, foo, fos;
	u8 st[8][10];
};

enum { TAG_VALID, TAG_ZERO, TAG_SPECIAL, TAG_EMPTY };

/* Signal frames have both formats: upstream takes this for granted in places. */
int have_fpx_regs = 1;

/* The "pid" of these functions is the task: fp_owner(). */
static struct task_struct *owner(int pid)
{
	return (struct task_struct *)pid;
}

static struct fxsave *state(struct task_struct *task)
{
	return (struct fxsave *)task->thread.regs.regs.fp;
}

/* Tags are by register, contents by distance from the top of the stack. */
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
		(fx->fcs & 0xffff) | fx->fop << 16, fx->foo, fx->fos | 0xffff0000,
	};
	for (i = 0; i < 8; i++) {
		f->twd |= (fx->tags & 1 << i ? tag_of(contents(fx, i)) : TAG_EMPTY) << 2 * i;
		memcpy(f->st[i], fx->st[i], 10);
	}
}

/* The rest, SSE registers, stays. */
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

/* The part of a signal frame that is in the format of fsave, at once: upstream goes word by word. */
int fsave_to_user(void __user *to, const void *fxsave)
{
	struct fsave f;

	to_fsave(&f, fxsave);
	return copy_to_user(to, &f, sizeof(f)) ? 1 : 0;
}

int fsave_from_user(void *fxsave, const void __user *from)
{
	struct fsave f;

	if (copy_from_user(&f, from, sizeof(f)))
		return 1;
	from_fsave(fxsave, &f);
	return 0;
}

void arch_l4_fp_from(unsigned long *fp, const void *area)
{
	if (likely(has_fxsave()))
		memcpy(fp, area, L4_FPU_SIZE);
	else
		from_fsave((struct fxsave *)fp, area);
}

void arch_l4_fp_to(void *area, const unsigned long *fp)
{
	if (likely(has_fxsave()))
		memcpy(area, fp, L4_FPU_SIZE);
	else
		to_fsave(area, (const struct fxsave *)fp);
}

int save_fpx_registers(int pid, unsigned long *fp_regs)
{
	l4_fp_save(owner(pid));
	memcpy(fp_regs, state(owner(pid)), HOST_FPX_SIZE * sizeof(long));
	return 0;
}

int restore_fpx_registers(int pid, unsigned long *fp_regs)
{
	memcpy(state(owner(pid)), fp_regs, HOST_FPX_SIZE * sizeof(long));
	l4_fp_changed(owner(pid));
	return 0;
}

int save_i387_registers(int pid, unsigned long *fp_regs)
{
	l4_fp_save(owner(pid));
	to_fsave((struct fsave *)fp_regs, state(owner(pid)));
	return 0;
}

int restore_i387_registers(int pid, unsigned long *fp_regs)
{
	l4_fp_save(owner(pid));
	from_fsave(state(owner(pid)), (const struct fsave *)fp_regs);
	l4_fp_changed(owner(pid));
	return 0;
}
