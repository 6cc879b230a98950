/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the Linux server lies.  Upstream derives all of this from TASK_SIZE, as
 * a process of a host has one address space for itself and its children; here
 * each value stands for itself.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/*
 * The image, and the start of Linux's physical memory: a multiple of 4 MiB.  The build reads
 * this and the end of vmalloc here, too: they must be plain numbers.
 */
#define L4_SERVER_BASE	0x10000000
/* vmalloc ends here; RAM and vmalloc lie below, the start block above. */
#define L4_VMALLOC_END	0x3e000000
/* The most that RAM may take: vmalloc gets at least 64 MiB. */
#define L4_RAM_END	(L4_VMALLOC_END - (72 << 20))
/* User processes end here: a multiple of 4 MiB. */
#define L4_USER_END	0xc0000000

/*
 * Priorities: Linux's own is the description's, between these two; or, if that lets it give no
 * higher one, everything of it has Linux's own.
 */
#define L4_USER_PRIORITY	80
#define L4_INTERRUPT_PRIORITY	120

#endif
