/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a sub-architecture of the Linux server supplies.
 *
 * os-L4 names no register, instruction or exception of a processor.  Of the microkernel's contract it uses what
 * every port has: in struct l4_frame the members vector, error, address and changed, L4_VECTOR_PAGE_FAULT,
 * L4_VECTOR_SYSTEM_CALL, L4_FAULT_WRITE.  What depends on the processor is in the sub-architecture's folder:
 * linux/x86/os-L4 here and arch/x86/um/os-L4 in the source of Linux; linux/arm, linux/powerpc in the same way.  It has:
 *
 * <os-L4/layout.h>	where the server and its processes lie: L4_USER_END, L4_SERVER_BASE, L4_RAM_END,
 *			L4_VMALLOC_END; L4_VMALLOC_START, if vmalloc does not begin after RAM; L4_LOW_END, below which a process may have a Segment, or 0.  If the processor has
 *			servers that are shown in other spaces, all that Linux maps lies from L4_USER_END on.
 *
 * <os-L4/space.h>	struct arch_l4_space and struct arch_l4_thread, what a process's space and a user thread have of
 *			the processor.  The latter is zero when the user thread was bound.
 *
 * <os-L4/run.h>	what each event of a program passes, in line:
 *   arch_l4_has_fast_entry()		whether the microkernel has a faster way in; a constant if there is one way
 *   arch_l4_run(), arch_l4_run_by()		resume a user thread and wait for its next event
 *   arch_l4_load_registers()		a task's registers to its user thread's frame
 *   arch_l4_load_result()		the same for the result of a system call only, and where the program goes on
 *   arch_l4_store_registers()		a frame to the task's registers
 *   arch_l4_fast_return()		where the program may go on by the microkernel's fast return, or 0
 *   arch_l4_cancel_fast_return()	the frame's registers are all to be restored
 *   arch_l4_is_vdso_call()		whether an event is a system call by the vDSO
 *   arch_l4_begin_vdso_call()		puts its registers in order.  False: an argument cannot be read; that is its result
 *   arch_l4_begin_system_call()	notes the number for a restart and for debuggers, and returns it
 *   arch_l4_execute()			calls the function of a system call
 *   arch_l4_no_system_call()		nothing is to be restarted
 *
 * <os-L4/processor.h>	the rest that is in line:
 *   ARCH_L4_USER_PLACE			the place of a process's space, for L4_OP_CREATE_SPACE
 *   arch_l4_space_created()		a space was made: says what `low` is (struct l4_space)
 *   arch_l4_space_deleted()		deletes what that was
 *   arch_l4_space_suits()		whether a fork of a process with this mm can have the space: all addresses of its mappings are
 *					usable there
 *   ARCH_L4_PLACES			how many places of spaces there are that may differ in this
 *   arch_l4_copy()			memcpy() that advances both pointers
 *   ARCH_L4_ALIGNMENT			what the addresses of words are multiples of
 *   ARCH_L4_FAST_MAP			whether L4_OP_MAP and L4_OP_MAP_RUN have fast paths for any record that maps
 *   ARCH_L4_FAULT_FETCH			the bit of a page fault's error code for a fetch, if the page tables keep pages from being executed; or 0
 *   arch_l4_begin_access()		where to access n bytes of user memory, of a page with this entry that is at `at` in the
 *					linear map
 *   arch_l4_end_access()		that was done, where it said
 *   arch_l4_before_map()		a page is about to be mapped, with these rights: makes records for what is to be done before,
 *					and says whether it is to be cached
 *   arch_l4_space_begin(), arch_l4_space_end()		a space gets a process, of which that is a part of the context; it ends
 *   arch_l4_switched(), arch_l4_interrupted()		its process is to run; it was interrupted
 *   arch_l4_note_event()			an event of a process
 *   arch_l4_before_sync()		a range of pages up to `end` is about to be synchronised
 *   arch_l4_before_unmap_all()		all of a space is about to be unmapped, as page tables are needed
 *   arch_l4_before_run()		what is to be done when a space's pages are synchronised; an error
 *   arch_l4_page_fault()		whether a fault is no page's, and the instruction runs again
 *   arch_l4_show()			adds to /proc/macadamia
 *   arch_l4_lookups_end()		up to where linux/tests looks at a space's pages
 *   arch_l4_message()			l4_syscall() with a message of which more words may travel in registers
 *   arch_l4_ticks()			the counter of which the information page tells the scale
 *   ARCH_L4_CLOCK_NAME, ARCH_L4_VDSO_CLOCKMODE		its names
 *   arch_l4_initial_sp()		the stack pointer with which a function is entered on an empty stack
 *   arch_l4_set_current()		changes `current`
 *   arch_l4_invalid_instruction()	raises an exception that nothing handles
 *   arch_l4_ends_interrupt()		whether an exception of the Linux thread is how an injected interrupt returns: then the
 *					registers are those to go on with
 *
 * With CONFIG_UML_OWN_VDSO what vdso.h says, the image of the vDSO, and in <os-L4/vdso.h> how many pages it has; with
 * CONFIG_UML_SIGPAGE, for a processor without one, arch_l4_sigreturn (sigpage.h).  Where the microkernel has one way in and one way
 * back, run.h includes one_entry.h.
 *
 * <os-L4/tests.h>	what linux/tests asks of the processor: instructions that fail, registers that ask for privileges.
 *
 * the functions that are declared below;
 *
 * in assembly _start, which stores what the root server gave (l4_utcb, l4_arrived, l4_messages, l4_kip), defines the words
 * that each system call reads (l4_kip, signals_enabled, l4_mappings_dirty, l4_utcb) side by side, and calls
 * os_l4_main(); and l4_syscall();
 *
 * what arch/um asks of any sub-architecture: user-offsets.c, signal frames, ptrace, the vDSO, cpuinfo.
 * In its struct arch_thread a pointer `host` names the user thread.
 */
#ifndef __OS_L4_SUBARCH_H
#define __OS_L4_SUBARCH_H

#include "abi.h"
#include "server_thread.h"

struct task_struct;
struct uml_pt_regs;

/*
 * Events of programs.
 */

/* Records a page fault that becomes a signal, for the signal's frame. */
void arch_l4_note_page_fault(struct uml_pt_regs *regs, const struct l4_frame *frame);
/*
 * Turns an exception into its signal.  It may run again instead.
 */
void arch_l4_exception(struct uml_pt_regs *regs, const struct l4_frame *frame);
/*
 * Gives the current task's user thread registers that its frame does not have.  Sends a signal if the processor would
 * refuse to return to user mode with these registers.
 */
void arch_l4_check_registers(const struct uml_pt_regs *regs);

/*
 * State of a task that its user thread has besides the registers: TLS, the FPU.
 */

/* Gives a task's new user thread what the task has. */
int arch_l4_load_state(struct task_struct *task);
/* Gives a forked task its parent's FPU state.  False: there is no user thread. */
bool arch_l4_copy_fpu(struct task_struct *child, struct task_struct *parent);

/*
 * Threads of the server.
 */

/* Starts a new one: fn(arg) on this stack.  Returns the status of L4_OP_START. */
u32 arch_l4_thread_start(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top);
/* Changes registers of the Linux thread, which was stopped, so that it calls l4_injected_interrupt() and goes on. */
void arch_l4_inject_interrupt(struct l4_frame *frame);
/* Changes registers of the Linux thread so that it enters fn on another stack and does not return. */
void arch_l4_enter(struct l4_frame *frame, void (*fn)(void), void *stack_top);
/* Describes an exception of the server. */
void arch_l4_describe_fault(const struct l4_frame *frame, char *text, size_t bytes);

/* Fills whole words from the processor's random number generator.  Returns how many bytes it filled, or -1 without one. */
ssize_t arch_l4_random(unsigned long *words, size_t bytes);

#endif
