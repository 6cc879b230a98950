/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selectors of programs, as debuggers and signal frames show them: those of x86-64, by which gdb knows a program of 64 bits.
 * The microkernel has its own, which only the program's instructions read.
 */
#ifndef __X86_64_OS_L4_SELECTORS_H
#define __X86_64_OS_L4_SELECTORS_H

#define L4_USER_CS		0x33
#define L4_USER_SS		0x2b

#endif
