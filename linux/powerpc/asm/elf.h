/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_POWERPC_ELF_H
#define __UM_POWERPC_ELF_H

#include <linux/types.h>
#include <skas.h>
#include <uapi/asm/elf.h>

struct elf32_hdr;
struct elf32_phdr;
struct file;
struct linux_binprm;
struct pt_regs;

#define elf_check_arch(elf)	((elf)->e_machine == EM_PPC)
/* The processor cannot prevent that a readable page is executed. */
#define elf_read_implies_exec(elf, stack)	((stack) == EXSTACK_DEFAULT)

#define ELF_PLAT_INIT(regs, address)	((regs)->regs.gp[HOST_MSR] = MSR_USER)

#define CORE_DUMP_USE_REGSET

/* Libraries for a single model have no folder here. */
#define ELF_PLATFORM	NULL
extern long elf_aux_hwcap;
#define ELF_HWCAP	elf_aux_hwcap
#define SET_PERSONALITY(elf)	do { } while (0)
#define FIXADDR_USER_START	0UL
#define FIXADDR_USER_END	0UL

#define ELF_EXEC_PAGESIZE	4096
#define ELF_ET_DYN_BASE		0x400000UL
#define STACK_RND_MASK		0x7ff

/* All programs have one layout. */
static inline void l4_set_layout(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter) { }

/*
 * Sizes of cache lines, by which memset() of the C library uses dcbz.  Old libraries need two ignored entries before
 * them.
 */
#define ARCH_DLINFO						\
do {								\
	NEW_AUX_ENT(AT_IGNOREPPC, AT_IGNOREPPC);		\
	NEW_AUX_ENT(AT_IGNOREPPC, AT_IGNOREPPC);		\
	NEW_AUX_ENT(AT_DCACHEBSIZE, 32);			\
	NEW_AUX_ENT(AT_ICACHEBSIZE, 32);			\
	NEW_AUX_ENT(AT_UCACHEBSIZE, 0);				\
	NEW_AUX_ENT(AT_SYSINFO_EHDR, current->mm->context.id.vdso);	\
} while (0)

#define ARCH_HAS_SETUP_ADDITIONAL_PAGES 1
int arch_setup_additional_pages(struct linux_binprm *bprm, int uses_interp);

#endif
