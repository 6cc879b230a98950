// SPDX-License-Identifier: GPL-2.0
/* Switches between tasks: each is a jmp_buf, and all run on one thread of the microkernel, as on a Linux host. */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <as-layout.h>
#include <init.h>
#include <kern_util.h>
#include <longjmp.h>
#include <os.h>
#include <registers.h>
#include <skas.h>
#include <os-L4/processor.h>

static jmp_buf initial_jmpbuf;

enum { JMP_NEW, JMP_CALLBACK, JMP_HALT, JMP_REBOOT };

static void (*cb_proc)(void *arg);
static void *cb_arg;
static jmp_buf *cb_back;

/*
 * Stacks begin at pages, so that what a task has at one depth would be in the same set of the cache for all of them.  They are
 * filled from one of four places in turn.
 */
#define STACK_SPACING	96
#define STACK_PLACES	4

void new_thread(void *stack, jmp_buf *buf, void (*handler)(void))
{
	static unsigned int last;
	unsigned long top = (unsigned long)stack + UM_THREAD_SIZE - last++ % STACK_PLACES * STACK_SPACING;

	(*buf)[0].JB_IP = (unsigned long)handler;
	(*buf)[0].JB_SP = arch_l4_initial_sp(top);
}

void switch_threads(jmp_buf *me, jmp_buf *you)
{
	if (UML_SETJMP(me) == 0) {
		arch_l4_set_current(container_of(you, struct task_struct, thread.switch_buf));
		UML_LONGJMP(you, 1);
	}
}

int start_idle_thread(void *stack, jmp_buf *switch_buf)
{
	switch (setjmp(initial_jmpbuf)) {
	case JMP_NEW:
		new_thread(stack, switch_buf, uml_finishsetup);
		break;
	case JMP_CALLBACK:
		(*cb_proc)(cb_arg);
		longjmp(*cb_back, 1);
		break;
	case JMP_HALT:
		kmalloc_ok = 0;
		return 0;
	case JMP_REBOOT:
		kmalloc_ok = 0;
		return 1;
	}
	longjmp(*switch_buf, 1);
	return 0;
}

void initial_thread_cb_skas(void (*proc)(void *), void *arg)
{
	jmp_buf here;

	cb_proc = proc;
	cb_arg = arg;
	cb_back = &here;
	block_signals_trace();
	if (UML_SETJMP(&here) == 0)
		UML_LONGJMP(&initial_jmpbuf, JMP_CALLBACK);
	unblock_signals_trace();
}

void halt_skas(void)
{
	block_signals_trace();
	UML_LONGJMP(&initial_jmpbuf, JMP_HALT);
}

void reboot_skas(void)
{
	block_signals_trace();
	UML_LONGJMP(&initial_jmpbuf, JMP_REBOOT);
}
