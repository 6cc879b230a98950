/* SPDX-License-Identifier: GPL-2.0 */
/* Exceptions of Linux itself (fault.c). */
#ifndef __OS_L4_FAULT_H
#define __OS_L4_FAULT_H

struct l4_frame;

/* The Linux thread raised an exception: changes its registers so that it panics. */
void l4_fault(struct l4_frame *frame);

#endif
