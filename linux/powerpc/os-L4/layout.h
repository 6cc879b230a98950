/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the Linux server and its processes lie.  The server is a window of two whole segments of the processor at the end of
 * the users' addresses.  It begins with 4 MiB of the microkernel's: the information page and the UTCBs.  The last 32 MiB
 * are for what the root server maps.
 *
 * The build reads these numbers: they must be plain.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/* The end of user processes, and the start of the window, which ends at 0xc0000000.  A multiple of 256 MiB. */
#define L4_USER_END	0xa0000000
/* The image, and the start of Linux's physical memory: a multiple of 4 MiB. */
#define L4_SERVER_BASE	0xa0400000
/* The highest end of RAM: vmalloc gets at least 64 MiB. */
#define L4_RAM_END	0xb9800000
/* vmalloc ends here.  Until Linux has read the initrd, that lies below. */
#define L4_VMALLOC_END	0xbe000000
/* Processes have no addresses that a Segment has in their place. */
#define L4_LOW_END	0x0

#endif
