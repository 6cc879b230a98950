/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __POWERPC_UM_SYSDEP_PTRACE_USER_H
#define __POWERPC_UM_SYSDEP_PTRACE_USER_H

#include <generated/user_constants.h>

#define PT_SYSCALL_NR(regs)	((regs)[HOST_SYSCALL_NR])
#define FP_SIZE			HOST_FP_SIZE

#endif
