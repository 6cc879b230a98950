/* SPDX-License-Identifier: GPL-2.0 */
/* The page of system calls that x86-64 had for all processes before there was a vDSO (vsyscall.c). */
#ifndef __X86_64_OS_L4_VSYSCALL_H
#define __X86_64_OS_L4_VSYSCALL_H

#include <linux/types.h>

#define L4_VSYSCALL_PAGE	0xffffffffff600000UL

/*
 * The current task had a fault at an address of that page.  True: it called a function there, and continues after the
 * call.
 */
bool l4_vsyscall(unsigned long address);

#endif
