/* SPDX-License-Identifier: GPL-2.0 */
/* A fault of a program, as signal frames describe it: the words of arch/arm. */
#ifndef __ARM_UM_SYSDEP_FAULTINFO_H
#define __ARM_UM_SYSDEP_FAULTINFO_H

struct faultinfo {
	int error_code;			/* the fault status register */
	unsigned long address;
	unsigned long trap_no;
};

#define TRAP_UNDEFINED	6
#define TRAP_PAGE_FAULT	14

#define FSR_ALIGNMENT	0x1
#define FSR_TRANSLATION	0x7
#define FSR_PERMISSION	0xf
#define FSR_WRITE	(1 << 11)
#define FSR_FETCH	(int)(1U << 31)

#define FAULT_WRITE(fi)		((fi).error_code & FSR_WRITE)
#define FAULT_ADDRESS(fi)	((fi).address)
#define SEGV_IS_FIXABLE(fi)	((fi)->trap_no == TRAP_PAGE_FAULT)

#endif
