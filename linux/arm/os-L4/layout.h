/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The addresses of the Linux server and its processes.  Caches are virtual, and all spaces have one first-level
 * table: so the server uses no address that its processes use.
 *
 * A program is in the first 32 MiB, its slot, which the processor relocates to other addresses.  What does not fit is
 * from L4_SPILL on.  The server is a window at the end of the users' addresses; the root server maps memory in its
 * last 32 MiB.
 *
 * The build reads these numbers: they must be plain.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/* The end of user processes, and the start of the window, which ends at 0xc0000000.  A multiple of 4 MiB. */
#define L4_USER_END	0xa0000000
/* The image, and the start of Linux's physical memory: a multiple of 4 MiB. */
#define L4_SERVER_BASE	0xa0000000
/* The highest end of RAM: vmalloc gets at least 64 MiB. */
#define L4_RAM_END	0xb9800000
/* The end of vmalloc.  Until Linux has read the initrd, this is below the end. */
#define L4_VMALLOC_END	0xbe000000

/*
 * The end of a slot, and where processes have what does not fit.  The 64 MiB before that are for memory that this server shares with
 * other components.
 */
#define L4_LOW_END	0x02000000
#define L4_SPILL	0x84000000

#endif
