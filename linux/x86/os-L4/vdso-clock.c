// SPDX-License-Identifier: GPL-2.0
/* Clocks without a system call: the code of i386's own vDSO. */
#define BUILD_VDSO32
#include "../../entry/vdso/vclock_gettime.c"
