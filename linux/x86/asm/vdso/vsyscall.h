/* SPDX-License-Identifier: GPL-2.0 */
/* Where Linux (kernel/time/vsyscall.c) writes the data of the vDSO's clocks: see vdso.c of the sub-architecture. */
#ifndef __ASM_VDSO_VSYSCALL_H
#define __ASM_VDSO_VSYSCALL_H

#include <vdso/datapage.h>

/* The offset in the page of data.  It is that of x86's asm/vvar.h. */
#define L4_VDSO_DATA	128

extern struct vdso_data *l4_vdso_data;
#define __arch_get_k_vdso_data()	l4_vdso_data

#include <asm-generic/vdso/vsyscall.h>

#endif
