/* SPDX-License-Identifier: GPL-2.0 */
/* Where Linux writes what the vDSO's clocks read (kernel/time/vsyscall.c): see os-L4/vdso.c. */
#ifndef __ASM_VDSO_VSYSCALL_H
#define __ASM_VDSO_VSYSCALL_H

#include <vdso/datapage.h>

/* In the page of data: as x86's asm/vvar.h says, by which the clocks find it. */
#define L4_VDSO_DATA	128

extern struct vdso_data *l4_vdso_data;
#define __arch_get_k_vdso_data()	l4_vdso_data

#include <asm-generic/vdso/vsyscall.h>

#endif
