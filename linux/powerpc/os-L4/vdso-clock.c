// SPDX-License-Identifier: GPL-2.0
/* Clocks without a system call: the code of arch/powerpc's own vDSO. */
#include "../../../../lib/vdso/gettimeofday.c"
#include "../../kernel/vdso/vgettimeofday.c"
