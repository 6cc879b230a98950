/* SPDX-License-Identifier: GPL-2.0 */
/* Registers of a frame, by names without a width, and the start of a thread of the server (server_thread.c). */
#ifndef __X86_64_OS_L4_FRAME_H
#define __X86_64_OS_L4_FRAME_H

#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/server_thread.h"
#include "processor.h"

#define FRAME_AX	rax
#define FRAME_BP	rbp
#define FRAME_IP	rip
#define FRAME_SP	rsp
#define FRAME_FLAGS	rflags

/* Whether a page fault was one of execution. */
static inline bool l4_was_fetch(const struct l4_frame *f)
{
	return f->error & L4_FAULT_FETCH;
}

static inline u32 l4_begin(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top)
{
	extern const char l4_thread_entry[];
	unsigned long *sp = (unsigned long *)arch_l4_initial_sp((unsigned long)stack_top);

	/* It has no caller. */
	*sp = 0;
	*--sp = (unsigned long)fn;
	return l4_call(L4_OP_START, slot, (unsigned long)l4_thread_entry, (unsigned long)sp, (unsigned long)arg);
}

#endif
