/* SPDX-License-Identifier: GPL-2.0 */
/* A fault of a program, as signal frames describe it: the words of arch/powerpc. */
#ifndef __POWERPC_UM_SYSDEP_FAULTINFO_H
#define __POWERPC_UM_SYSDEP_FAULTINFO_H

struct faultinfo {
	int error_code;			/* DSISR, or the upper half of SRR1 */
	unsigned long address;		/* DAR */
	unsigned long trap_no;		/* the address of the exception's code */
};

#define TRAP_DATA	0x300
#define TRAP_FETCH	0x400
#define TRAP_SYSTEM_CALL	0xc00

#define DSISR_NOT_THERE	0x40000000
#define DSISR_PROTECTION	0x08000000
#define DSISR_STORE	0x02000000

#define FAULT_WRITE(fi)		((fi).error_code & DSISR_STORE)
#define FAULT_ADDRESS(fi)	((fi).address)
#define SEGV_IS_FIXABLE(fi)	((fi)->trap_no == TRAP_DATA || (fi)->trap_no == TRAP_FETCH)

#endif
