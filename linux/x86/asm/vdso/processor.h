/* SPDX-License-Identifier: GPL-2.0 */
/* In place of x86's header: User-Mode Linux's asm/processor.h has cpu_relax() already. */
#ifndef __ASM_VDSO_PROCESSOR_H
#define __ASM_VDSO_PROCESSOR_H

#include <asm/processor.h>

#endif
