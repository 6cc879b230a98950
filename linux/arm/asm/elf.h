/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_ARM_ELF_H
#define __UM_ARM_ELF_H

#include <linux/types.h>
#include <skas.h>

struct elf32_hdr;
struct elf32_phdr;
struct file;
struct linux_binprm;
struct pt_regs;

#define ELF_CLASS	ELFCLASS32
#define ELF_DATA	ELFDATA2LSB
#define ELF_ARCH	EM_ARM
#define R_ARM_NONE	0

bool l4_elf_check_arch(const struct elf32_hdr *elf);
#define elf_check_arch(elf)	l4_elf_check_arch(elf)

/* The processor cannot prevent that a readable page is executed. */
#define elf_read_implies_exec(elf, stack)	1

#define ELF_PLAT_INIT(regs, address)	((regs)->regs.gp[HOST_R0] = (address))
/* Bit 0 of an entry point is set for Thumb instructions. */
void l4_start_thread(struct pt_regs *regs, unsigned long entry, unsigned long stack);
#define START_THREAD(elf, regs, entry, stack)	l4_start_thread(regs, entry, stack)

typedef unsigned long elf_greg_t;
#define ELF_NGREG	18
typedef elf_greg_t elf_gregset_t[ELF_NGREG];
/* There is no FPU. */
typedef struct { } elf_fpregset_t;
#define CORE_DUMP_USE_REGSET

#define ELF_PLATFORM	"v5l"
extern long elf_aux_hwcap;
#define ELF_HWCAP	elf_aux_hwcap
#define SET_PERSONALITY(elf)	do { } while (0)
#define FIXADDR_USER_START	0UL
#define FIXADDR_USER_END	0UL

#define ELF_EXEC_PAGESIZE	4096
unsigned long l4_dyn_base(void);
#define ELF_ET_DYN_BASE		l4_dyn_base()
void l4_set_layout(const struct elf32_hdr *elf, const struct elf32_phdr *ph, const struct file *interpreter);
/* Pages.  More would use too much of a slot (layout.h). */
#define STACK_RND_MASK		0xff

#define ARCH_HAS_SETUP_ADDITIONAL_PAGES 1
int arch_setup_additional_pages(struct linux_binprm *bprm, int uses_interp);

#endif
