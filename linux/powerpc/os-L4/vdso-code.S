/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code of the vDSO: that of arch/powerpc's vDSO, with the offsets and macros that it needs.  The code to which
 * signal handlers return is first, at the address in vdso.h.
 */
#include <asm/unistd.h>
#include "../../../um/os-L4/vdso.h"
#include "vdso.h"

#define __VDSO32__
#define VDSO_DATA_OFFSET	L4_VDSO_DATA
#define CFG_TB_TICKS_PER_SEC	L4_VDSO_TICKS
#define CFG_SYSCALL_MAP32	L4_VDSO_CALLS
#define CFUNC(name)		name
#define DOTSYM(name)		name
/* The code between these is for processors with coherent instruction caches. */
#define BEGIN_FTR_SECTION			.if 0
#define END_FTR_SECTION_IFSET(feature)		.endif

#include "../../kernel/vdso/sigtramp32.S"
#include "../../kernel/vdso/gettimeofday.S"
#include "../../kernel/vdso/datapage.S"
#include "../../kernel/vdso/cacheflush.S"
#include "../../kernel/vdso/getcpu.S"

	.section .note.GNU-stack, "", @progbits
