/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the Linux server and its processes lie.  The server may be shown in the spaces of its processes: so its window is the last
 * entry of the highest level of page tables that users have, and they end below.  It begins with 8 MiB of the microkernel's: the
 * information page and the UTCBs.  3.5 GiB of it are used, of which the last 32 MiB are for what the root server maps.
 *
 * The build reads these numbers: they must be plain.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/* The end of user processes, and the start of the window.  A multiple of 512 GiB. */
#define L4_USER_END	0x7f0000000000
/* The image, and the start of Linux's physical memory: a multiple of 4 MiB. */
#define L4_SERVER_BASE	0x7f0000800000
/* The highest end of RAM. */
#define L4_RAM_END	0x7f00c0400000
/* vmalloc begins here, wherever RAM ends: the microkernel's tables for all of it are set aside. */
#define L4_VMALLOC_START	0x7f00c0c00000
/* vmalloc ends here.  Until Linux has read the initrd, that lies below. */
#define L4_VMALLOC_END	0x7f00de000000
/* Processes have no addresses that a Segment has in their place. */
#define L4_LOW_END	0x0

#endif
