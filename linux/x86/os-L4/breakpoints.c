// SPDX-License-Identifier: GPL-2.0
/*
 * Breakpoints of the processor: a task's debug registers.  This does what arch/x86 does (kernel/ptrace.c, kernel/hw_breakpoint.c),
 * for programs of 32 and of 64 bits.
 */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/user.h>
#include <asm/processor-flags.h>
#include <uapi/asm/debugreg.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/user_thread.h"
#include "debug.h"

/* DR7 has two bits for each breakpoint that enable it, and above them four for its condition. */
static unsigned int enabled(unsigned long control, int i)
{
	return control >> i * DR_ENABLE_SIZE & 3;
}

static unsigned int condition(unsigned long control, int i)
{
	return control >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & 0xf;
}

/* How many bytes a condition is for.  0: only processors with words of 64 bits have it, for 8 bytes. */
static unsigned int length(unsigned int condition)
{
	static const u8 bytes[] = { 1, 2, IS_ENABLED(CONFIG_X86_64) ? 8 : 0, 4 };

	return bytes[condition >> 2];
}

/* Whether a breakpoint may have this address and condition. */
static bool acceptable(unsigned long address, unsigned int condition)
{
	unsigned int bytes = length(condition);

	/* Not on I/O ports; on instructions only of one byte. */
	if ((condition & 3) == 2 || !bytes || ((condition & 3) == DR_RW_EXECUTE && bytes != 1))
		return false;
	return address < TASK_SIZE && bytes <= TASK_SIZE - address && !(address & (bytes - 1));
}

/* The debug control register (DR7) for the processor: of the two enabling bits it gets the local one. */
static u32 debug_control(const unsigned long *own)
{
	u32 control = 0;
	int i;

	for (i = 0; i < 4; i++)
		if (enabled(own[DR_CONTROL], i))
			control |= DR_LOCAL_ENABLE << i * DR_ENABLE_SIZE |
				   condition(own[DR_CONTROL], i) << (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE);
	return control;
}

/* Gives the user thread the task's debug registers. */
static int set_breakpoints(const struct l4_thread *t, const unsigned long *own)
{
	u32 i, status = 0;

	for (i = 0; i < 4; i++)
		status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + i, own[i], 0);
	status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + 7, debug_control(own), 0);
	return status ? -ENOSPC : 0;
}

/* Reads the debug status register (DR6) of the current task's user thread, and clears it. */
static u32 debug_status(void)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_SET_STATE, l4_thread_of(current)->slot, L4_STATE_DEBUG + 7,
			debug_control(current->thread.arch.debugregs), 0, &r))
		return 0;
	return r.r1;
}

/* A single step, a breakpoint, or `int1`, which shows no cause. */
void l4_debug_exception(struct uml_pt_regs *regs)
{
	unsigned long *own = current->thread.arch.debugregs;
	u32 cause = debug_status(), control = own[DR_CONTROL];
	int code = TRAP_BRKPT, i;

	/* The processor also reports breakpoints that are not enabled. */
	for (i = 0; i < 4; i++) {
		if (!enabled(control, i))
			cause &= ~(DR_TRAP0 << i);
		/* A breakpoint on an instruction comes before the instruction.  With RF it does not come again. */
		else if (cause & DR_TRAP0 << i && (condition(control, i) & 3) == DR_RW_EXECUTE)
			UPT_EFLAGS(regs) |= X86_EFLAGS_RF;
	}
	own[DR_STATUS] = cause & (DR_STEP | DR_TRAP_BITS);
	if (cause & DR_STEP)
		code = TRAP_TRACE;
	else if (cause & DR_TRAP_BITS)
		code = TRAP_HWBKPT;
	l4_note_step();
	force_sig_fault(SIGTRAP, code, (void __user *)UPT_IP(regs));
}

static int set_debug_register(struct task_struct *task, unsigned int n, unsigned long value)
{
	unsigned long *own = task->thread.arch.debugregs, old;
	const struct l4_thread *t;
	int i, err;

	switch (n) {
	case DR_FIRSTADDR ... DR_LASTADDR:
		i = n;
		if (!acceptable(value, enabled(own[DR_CONTROL], i) ? condition(own[DR_CONTROL], i) : DR_RW_WRITE))
			return -EINVAL;
		break;
	case DR_STATUS:
		own[DR_STATUS] = value ^ DR6_RESERVED;
		return 0;
	case DR_CONTROL:
		/* These bits are reserved, or have another meaning. */
		value &= ~(unsigned long)DR_CONTROL_RESERVED;
		for (i = 0; i < 4; i++)
			if (enabled(value, i) && !acceptable(own[i], condition(value, i)))
				return -EINVAL;
		break;
	default:
		return -EIO;
	}
	/* One that is new has no breakpoints, whatever the last program had. */
	t = l4_thread_bound(task);
	if (!t)
		return -ENOSPC;
	old = own[n];
	own[n] = value;
	err = set_breakpoints(t, own);
	if (err)
		own[n] = old;
	return err;
}

/* Whether an offset into struct user is that of a debug register. */
static bool is_debug_register(unsigned long at)
{
	return at >= offsetof(struct user, u_debugreg[0]) && at <= offsetof(struct user, u_debugreg[7]);
}

static unsigned int debug_number(unsigned long at)
{
	return (at - offsetof(struct user, u_debugreg[0])) / sizeof(long);
}

int l4_set_debug_register(struct task_struct *task, unsigned long at, unsigned long value)
{
	return is_debug_register(at) ? set_debug_register(task, debug_number(at), value) : -EIO;
}

unsigned long l4_debug_register(struct task_struct *task, unsigned long at)
{
	unsigned int n = debug_number(at);

	/* As for a change: what a task has that begins another program is of the one before. */
	if (!is_debug_register(at) || !l4_thread_bound(task))
		return 0;
	return n == DR_STATUS ? task->thread.arch.debugregs[n] ^ DR6_RESERVED : task->thread.arch.debugregs[n];
}
