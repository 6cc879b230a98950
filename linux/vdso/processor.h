/* SPDX-License-Identifier: GPL-2.0 */
/* cpu_relax() is in User-Mode Linux's own header: x86's would define it again. */
#ifndef __ASM_VDSO_PROCESSOR_H
#define __ASM_VDSO_PROCESSOR_H

#include <asm/processor.h>

#endif
