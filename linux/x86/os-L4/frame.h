/* SPDX-License-Identifier: GPL-2.0 */
/* Registers of a frame, by names that do not tell how wide they are, and how a thread of the server begins (server_thread.c). */
#ifndef __X86_OS_L4_FRAME_H
#define __X86_OS_L4_FRAME_H

#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/server_thread.h"

#define FRAME_AX	eax
#define FRAME_BP	ebp
#define FRAME_IP	eip
#define FRAME_SP	esp
#define FRAME_FLAGS	eflags

/* Whether a page fault was one of execution. */
static inline bool l4_was_fetch(const struct l4_frame *f)
{
	return f->address == f->eip;
}

static inline u32 l4_begin(u32 slot, l4_thread_fn *fn, void *arg, void *stack_top)
{
	u32 *sp = stack_top;

	/* As if called: the argument, and a return address that is not used. */
	*--sp = (u32)arg;
	*--sp = 0;
	return l4_call(L4_OP_START, slot, (u32)fn, (u32)sp, 0);
}

#endif
