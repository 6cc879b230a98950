/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the Linux server and its processes lie.  Upstream derives all of this from
 * TASK_SIZE, because a process of a host shares its address space with its children.
 * Here it is a window at the end of the users' addresses.  The server may be shown in the spaces of its processes:
 * so they end where the window begins, and the server maps nothing outside.  It begins with 4 MiB of the
 * microkernel's: the information page and the UTCBs.  The last 32 MiB are for what the root server maps.
 *
 * The build reads these numbers: they must be plain.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/* The end of user processes, and the start of the window, which ends at 0xe0000000.  A multiple of 4 MiB. */
#define L4_USER_END	0xc0000000
/* The image, and the start of Linux's physical memory: a multiple of 4 MiB. */
#define L4_SERVER_BASE	0xc0400000
/* The highest end of RAM: vmalloc gets at least 64 MiB. */
#define L4_RAM_END	0xd9800000
/* vmalloc ends here.  Until Linux has read the initrd, that lies below. */
#define L4_VMALLOC_END	0xde000000
/* Processes have no addresses that a Segment has in their place. */
#define L4_LOW_END	0x0

#endif
