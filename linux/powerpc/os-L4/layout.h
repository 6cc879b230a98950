/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The addresses of the Linux server and its processes.  The server is a window of two whole segments of the processor
 * at the end of the users' addresses.  It begins with 4 MiB of the microkernel's: the information page and the UTCBs.
 * The root server maps memory in its last 32 MiB.
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
/* The end of vmalloc.  Until Linux has read the initrd, this is below the end. */
#define L4_VMALLOC_END	0xbe000000
/* No addresses of a process are those of a Segment. */
#define L4_LOW_END	0x0

#endif
