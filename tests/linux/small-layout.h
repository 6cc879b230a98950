/* SPDX-License-Identifier: GPL-2.0 */
/* Another layout for a test, in place of linux/x86/layout.h: RAM and vmalloc within 128 MiB. */
#ifndef __OS_L4_LAYOUT_H
#define __OS_L4_LAYOUT_H

#define L4_SERVER_BASE	0x04000000
#define L4_VMALLOC_END	0x0c000000
#define L4_RAM_END	(L4_VMALLOC_END - (72 << 20))
#define L4_USER_END	0x80000000

#endif
