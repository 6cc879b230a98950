// SPDX-License-Identifier: GPL-2.0
/*
 * ptrace: registers, register sets, single steps, breakpoints, traced system calls.  This does what arch/x86 does
 * (kernel/ptrace.c, kernel/step.c).  Upstream's file passes half of it on to its host.
 */
#include <linux/audit.h>
#include <linux/elf.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/user.h>
#include <asm/processor-flags.h>
#include <asm/ptrace-abi.h>
#include <uapi/asm/debugreg.h>
#include <sysdep/ptrace.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/user_thread.h"
#include "debug.h"
#include "regset.h"
#include "selectors.h"
#include "tls.h"

/* Flags that a debugger may change. */
#define FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | X86_EFLAGS_SF | \
		 X86_EFLAGS_TF | X86_EFLAGS_DF | X86_EFLAGS_OF | X86_EFLAGS_RF | X86_EFLAGS_AC)

/* The places of registers in uml_pt_regs, by their numbers in struct user_regs_struct. */
static const u8 places[] = {
	[EBX] = HOST_BX, [ECX] = HOST_CX, [EDX] = HOST_DX, [ESI] = HOST_SI,
	[EDI] = HOST_DI, [EBP] = HOST_BP, [EAX] = HOST_AX, [ORIG_EAX] = HOST_ORIG_AX,
	[EIP] = HOST_IP, [CS] = HOST_CS, [EFL] = HOST_EFLAGS, [UESP] = HOST_SP, [SS] = HOST_SS,
};
/* l4_selectors() has these in the same order. */
static_assert(ES == DS + L4_ES && FS == DS + L4_FS && GS == DS + L4_GS);

static unsigned long *registers(struct task_struct *task)
{
	return task->thread.regs.regs.gp;
}

unsigned long getreg(struct task_struct *task, int at)
{
	unsigned int n = at / sizeof(long);
	unsigned long *gp = registers(task);

	switch (n) {
	case DS ... GS:
		return l4_selectors(gp)[n - DS];
	case CS:
	case SS:
		return (u16)gp[places[n]];
	case EFL:
		/* Hides the trap flag if a debugger set it for a single step. */
		return test_tsk_thread_flag(task, TIF_FORCED_TF) ? gp[HOST_EFLAGS] & ~X86_EFLAGS_TF : gp[HOST_EFLAGS];
	}
	return gp[places[n]];
}

int putreg(struct task_struct *task, int at, unsigned long value)
{
	unsigned int n = at / sizeof(long);
	unsigned long *to = &registers(task)[places[n]];

	switch (n) {
	case CS:
	case SS:
		if (!(u16)value)
			return -EIO;
		fallthrough;
	case DS ... GS:
		value = (u16)value;
		if (value && (value & 3) != 3)
			return -EIO;
		break;
	case EFL:
		if (value & X86_EFLAGS_TF)
			clear_tsk_thread_flag(task, TIF_FORCED_TF);
		else if (test_tsk_thread_flag(task, TIF_FORCED_TF))
			value |= X86_EFLAGS_TF;
		value = (*to & ~FLAGS) | (value & FLAGS);
		break;
	case ORIG_EAX:
		UPT_SYSCALL_NR(&task->thread.regs.regs) = value;
		break;
	}
	if (n >= DS && n <= GS)
		l4_selectors(registers(task))[n - DS] = value;
	else
		*to = value;
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	return 0;
}

static int general_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	unsigned int at;

	for (at = 0; to.left; at += sizeof(long))
		membuf_store(&to, getreg(task, at));
	return 0;
}

static int general_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		       unsigned int bytes, const void *from, const void __user *user)
{
	unsigned long value;
	int err = 0;

	while (bytes && !err) {
		int reg = at;

		err = user_regset_copyin(&at, &bytes, &from, &user, &value, reg, reg + sizeof(value));
		if (!err)
			err = putreg(task, reg, value);
	}
	return err;
}

static const struct user_regset sets[] = {
	[SET_GENERAL] = {
		.core_note_type = NT_PRSTATUS, .n = FRAME_SIZE, .size = sizeof(long),
		.align = sizeof(long), .regset_get = general_get, .set = general_set,
	},
	[SET_FSAVE] = {
		.core_note_type = NT_PRFPREG, .n = sizeof(struct user_i387_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long), .regset_get = fsave_get, .set = fsave_set,
	},
	[SET_FXSAVE] = {
		.core_note_type = NT_PRXFPREG, .n = sizeof(struct user_fxsr_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long),
		.active = fxsave_active, .regset_get = fxsave_get, .set = fxsave_set,
	},
	[SET_TLS] = {
		.core_note_type = NT_386_TLS, .n = GDT_ENTRY_TLS_ENTRIES, .bias = TLS_FIRST,
		.size = sizeof(struct user_desc), .align = sizeof(struct user_desc),
		.active = tls_active, .regset_get = tls_get, .set = tls_set,
	},
};

static const struct user_regset_view view = {
	.name = "i386", .e_machine = EM_386, .regsets = sets, .n = ARRAY_SIZE(sets),
};

const struct user_regset_view *task_user_regset_view(struct task_struct *task)
{
	return &view;
}

/* Whether the next instruction loads the flags.  Afterwards the trap flag is the program's own. */
static bool sets_flags(struct task_struct *task)
{
	u8 code[15];
	int i, n = access_process_vm(task, registers(task)[HOST_IP], code, sizeof(code), FOLL_FORCE);

	for (i = 0; i < n; i++) {
		switch (code[i]) {
		case 0x9d:	/* popf */
		case 0xcf:	/* iret */
			return true;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64 ... 0x67:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			continue;
		default:
			return false;
		}
	}
	return false;
}

void user_enable_single_step(struct task_struct *task)
{
	unsigned long *flags = &registers(task)[HOST_EFLAGS], old = *flags;

	set_tsk_thread_flag(task, TIF_SINGLESTEP);
	set_tsk_thread_flag(task, TIF_HOST_THREAD);
	*flags |= X86_EFLAGS_TF;
	if (sets_flags(task))
		clear_tsk_thread_flag(task, TIF_FORCED_TF);
	else if (!(old & X86_EFLAGS_TF))
		set_tsk_thread_flag(task, TIF_FORCED_TF);
}

void user_disable_single_step(struct task_struct *task)
{
	clear_tsk_thread_flag(task, TIF_SINGLESTEP);
	if (test_and_clear_tsk_thread_flag(task, TIF_FORCED_TF)) {
		registers(task)[HOST_EFLAGS] &= ~X86_EFLAGS_TF;
		set_tsk_thread_flag(task, TIF_HOST_THREAD);
	}
}

void ptrace_disable(struct task_struct *task)
{
	user_disable_single_step(task);
}

/* DR7 has two bits for each breakpoint that enable it, and above them four for its condition. */
static unsigned int enabled(unsigned long control, int i)
{
	return control >> i * DR_ENABLE_SIZE & 3;
}

static unsigned int condition(unsigned long control, int i)
{
	return control >> (DR_CONTROL_SHIFT + i * DR_CONTROL_SIZE) & 0xf;
}

/* Whether a breakpoint may have this address and condition. */
static bool acceptable(unsigned long address, unsigned int condition)
{
	unsigned int bytes = (condition >> 2) + 1;

	/* Not on I/O ports, not of 8 bytes; on instructions only of one byte. */
	if ((condition & 3) == 2 || bytes == 3 || ((condition & 3) == DR_RW_EXECUTE && bytes != 1))
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
static int set_breakpoints(struct task_struct *task)
{
	const unsigned long *own = task->thread.arch.debugregs;
	struct l4_thread *t = l4_thread_bound(task);
	u32 i, status = 0;

	if (!t)
		return -EAGAIN;
	for (i = 0; i < 4; i++)
		status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + i, own[i], 0);
	status |= l4_call(L4_OP_SET_STATE, t->slot, L4_STATE_DEBUG + 7, debug_control(own), 0);
	return status ? -EINVAL : 0;
}

u32 l4_debug_status(struct task_struct *task)
{
	struct l4_regs r;

	if (l4_call_out(L4_OP_SET_STATE, l4_thread_of(task)->slot, L4_STATE_DEBUG + 7,
			debug_control(task->thread.arch.debugregs), 0, &r))
		return 0;
	return r.r1;
}

static int set_debug_register(struct task_struct *task, unsigned int n, unsigned long value)
{
	unsigned long *own = task->thread.arch.debugregs, old;
	int i;

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
		value &= ~0xfc00UL;
		for (i = 0; i < 4; i++)
			if (enabled(value, i) && !acceptable(own[i], condition(value, i)))
				return -EINVAL;
		break;
	default:
		return -EIO;
	}
	old = own[n];
	own[n] = value;
	if (!set_breakpoints(task))
		return 0;
	own[n] = old;
	return -ENOSPC;
}

static unsigned long debug_register(struct task_struct *task, unsigned int n)
{
	unsigned long value = task->thread.arch.debugregs[n];

	return n == DR_STATUS ? value ^ DR6_RESERVED : value;
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

static int get_set(struct task_struct *task, int n, void __user *to)
{
	return copy_regset_to_user(task, &view, n, 0, sets[n].n * sets[n].size, to) ? -EIO : 0;
}

static int set_set(struct task_struct *task, int n, const void __user *from)
{
	return copy_regset_from_user(task, &view, n, 0, sets[n].n * sets[n].size, from) ? -EIO : 0;
}

long arch_ptrace(struct task_struct *task, long request, unsigned long at, unsigned long data)
{
	void __user *user = (void __user *)data;
	unsigned long value = 0;

	switch (request) {
	case PTRACE_PEEKUSR:
	case PTRACE_POKEUSR:
		if (at % sizeof(long) || at >= sizeof(struct user))
			return -EIO;
		if (request == PTRACE_PEEKUSR) {
			if (at < FRAME_SIZE * sizeof(long))
				value = getreg(task, at);
			else if (is_debug_register(at))
				value = debug_register(task, debug_number(at));
			return put_user(value, (unsigned long __user *)user);
		}
		if (at < FRAME_SIZE * sizeof(long))
			return putreg(task, at, data);
		return is_debug_register(at) ? set_debug_register(task, debug_number(at), data) : -EIO;
	case PTRACE_GETREGS:
		return get_set(task, SET_GENERAL, user);
	case PTRACE_SETREGS:
		return set_set(task, SET_GENERAL, user);
	case PTRACE_GETFPREGS:
		return get_set(task, SET_FSAVE, user);
	case PTRACE_SETFPREGS:
		return set_set(task, SET_FSAVE, user);
	case PTRACE_GETFPXREGS:
		return get_set(task, SET_FXSAVE, user);
	case PTRACE_SETFPXREGS:
		return set_set(task, SET_FXSAVE, user);
	case PTRACE_GET_THREAD_AREA:
		return (int)at < 0 ? -EIO : tls_read(task, at, user);
	case PTRACE_SET_THREAD_AREA:
		return (int)at < 0 ? -EIO : tls_write(task, at, user, false);
	}
	return ptrace_request(task, request, at, data);
}

int syscall_trace_enter(struct pt_regs *regs)
{
	struct uml_pt_regs *r = &regs->regs;
	bool emulated = test_thread_flag(TIF_SYSCALL_EMU);

	audit_syscall_entry(UPT_SYSCALL_NR(r), UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r),
			    UPT_SYSCALL_ARG3(r), UPT_SYSCALL_ARG4(r));
	if (!emulated && !test_thread_flag(TIF_SYSCALL_TRACE))
		return 0;
	return ptrace_report_syscall_entry(regs) || emulated;
}

void syscall_trace_leave(struct pt_regs *regs)
{
	bool step = test_thread_flag(TIF_SINGLESTEP) && !test_thread_flag(TIF_SYSCALL_EMU);

	audit_syscall_exit(regs);
	/* A single step over a system call ends after it. */
	if (step) {
		l4_note_step();
		force_sig_fault(SIGTRAP, TRAP_BRKPT, (void __user *)PT_REGS_IP(regs));
	} else if (test_thread_flag(TIF_SYSCALL_TRACE)) {
		ptrace_report_syscall_exit(regs, 0);
	}
}
