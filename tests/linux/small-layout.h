/* SPDX-License-Identifier: GPL-2.0 */
/* Another layout for a test, in place of linux/x86/os-L4/layout.h: a window of 1 GiB, RAM and vmalloc within 128 MiB. */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

#define L4_USER_END	0xa0000000
#define L4_SERVER_BASE	0xa0400000
#define L4_RAM_END	0xa3c00000
#define L4_VMALLOC_END	0xa8400000
/* Processes have no addresses that a Segment has in their place. */
#define L4_LOW_END	0x0

#endif
