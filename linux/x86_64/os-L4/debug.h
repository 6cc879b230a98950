/* SPDX-License-Identifier: GPL-2.0 */
/* Debug exceptions: what exception.c and ptrace.c want of each other. */
#ifndef __X86_64_OS_L4_DEBUG_H
#define __X86_64_OS_L4_DEBUG_H

/* A signal frame describes a single step as the debug exception that it is on the processor. */
void l4_note_step(void);

#endif
