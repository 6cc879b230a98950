/* SPDX-License-Identifier: GPL-2.0 */
/* The part of arch/powerpc's header of this name that arch/powerpc/lib uses.  That header is for privileged code. */
#ifndef __UM_POWERPC_PPC_ASM_H
#define __UM_POWERPC_PPC_ASM_H

#ifdef __ASSEMBLY__
#include <linux/stringify.h>
#include <asm/asm-compat.h>

#define _GLOBAL(name)			\
	.globl name;			\
	.type name, @function;		\
name:
#define _GLOBAL_KASAN(name)	_GLOBAL(name)
#define _GLOBAL_TOC(name)	_GLOBAL(name)
/* The server accesses programs' memory at addresses where it cannot fault. */
#define EX_TABLE(from, to)
#define EXPORT_SYMBOL_KASAN(name)
#define IFETCH_ALIGN_BYTES	32
#define IFETCH_ALIGN_SHIFT	5
#endif

#endif
