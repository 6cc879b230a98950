/* SPDX-License-Identifier: GPL-2.0 */
/* The thread above Linux, which injects interrupts into the Linux thread and gets its exceptions (inject.c). */
#ifndef __OS_L4_INJECT_H
#define __OS_L4_INJECT_H

int l4_inject_init(void);
/* Linux is going to wait: it needs no injected interrupts.  Linux runs again. */
void l4_inject_pause(void);
void l4_inject_resume(void);
/* What an injected interrupt calls. */
void l4_injected_interrupt(void);

#endif
