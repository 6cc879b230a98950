// SPDX-License-Identifier: GPL-2.0
/* The contents of [sigpage]. */
#include <asm/unistd.h>
#include "../../../um/os-L4/sigpage.h"

/* mov r7, #nr; swi #nr.  (EABI uses only r7.)  Then the same in Thumb, in one word. */
#define ARM_CALL(nr)	0xe3a07000 | (nr), 0xef900000 | (nr)
#define THUMB_CALL(nr)	0xdf002700 | (nr)

/* An additional word: two are read from each index on. */
const u32 arch_l4_sigreturn[] = {
	ARM_CALL(__NR_sigreturn), THUMB_CALL(__NR_sigreturn),
	ARM_CALL(__NR_rt_sigreturn), THUMB_CALL(__NR_rt_sigreturn), 0,
};
const size_t arch_l4_sigreturn_bytes = sizeof(arch_l4_sigreturn);
