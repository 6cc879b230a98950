// SPDX-License-Identifier: GPL-2.0
/* What [sigpage] has: debuggers and libraries know a signal's frame by these instructions, at any address. */
#include <asm/unistd.h>
#include "../../../um/os-L4/sigpage.h"
#include "sigpage.h"

/* li r0, nr; sc */
#define CALL(nr)	0x38000000 | (nr), 0x44000002

const u32 arch_l4_sigreturn[] = { CALL(__NR_sigreturn), CALL(__NR_rt_sigreturn) };
const size_t arch_l4_sigreturn_bytes = sizeof(arch_l4_sigreturn);

unsigned long l4_sigreturn_code(bool info)
{
	return l4_sigpage() + (info ? sizeof(arch_l4_sigreturn) / 2 : 0);
}
