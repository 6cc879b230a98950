/* SPDX-License-Identifier: GPL-2.0 */
/* Selectors of programs.  For code and stack the microkernel has no others than these. */
#ifndef __X86_OS_L4_SELECTORS_H
#define __X86_OS_L4_SELECTORS_H

#define L4_USER_CS		0x1b
#define L4_USER_DS		0x23

#ifndef __ASSEMBLY__
/* In uml_pt_regs, as in the microkernel's frame, two selectors share a word. */
enum { L4_DS, L4_ES, L4_FS, L4_GS };
#define l4_selectors(gp)	((u16 *)&(gp)[HOST_DS_ES])
#endif

#endif
