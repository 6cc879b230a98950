/* SPDX-License-Identifier: GPL-2.0 */
/* Where Linux (kernel/time/vsyscall.c) writes the data of the vDSO's clocks: see os-L4/vdso.c. */
#ifndef __ASM_VDSO_VSYSCALL_H
#define __ASM_VDSO_VSYSCALL_H

#include <vdso/datapage.h>
#include "../../../../um/os-L4/vdso.h"

#define __arch_get_k_vdso_data()	l4_vdso_data

#include <asm-generic/vdso/vsyscall.h>

#endif
