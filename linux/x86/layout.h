/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the Linux server and its processes lie.  Upstream derives all of this from
 * TASK_SIZE, because a process of a host shares its address space with its children.
 * Here they are in spaces of their own, and the values are independent.
 */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

/*
 * The image, and the start of Linux's physical memory: a multiple of 4 MiB.  The build reads this and
 * the end of vmalloc from here, so they must be plain numbers.
 */
#define L4_SERVER_BASE	0x10000000
/* vmalloc ends here.  RAM and vmalloc lie below, the start block above. */
#define L4_VMALLOC_END	0x3e000000
/* The highest end of RAM: vmalloc gets at least 64 MiB. */
#define L4_RAM_END	(L4_VMALLOC_END - (72 << 20))
/* The end of user processes: a multiple of 4 MiB. */
#define L4_USER_END	0xc0000000

#endif
