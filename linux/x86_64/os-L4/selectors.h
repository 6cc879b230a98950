/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selectors of programs, as debuggers and signal frames show them: those of x86-64, by which gdb recognises a 64-bit
 * program.  The microkernel uses other ones, which only the program's instructions can read.
 */
#ifndef __X86_64_OS_L4_SELECTORS_H
#define __X86_64_OS_L4_SELECTORS_H

#define L4_USER_CS		0x33
#define L4_USER_SS		0x2b

#endif
