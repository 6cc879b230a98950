/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_POWERPC_SECCOMP_H
#define __UM_POWERPC_SECCOMP_H

#include <asm-generic/seccomp.h>
#include <asm/unistd.h>

#define SECCOMP_ARCH_NATIVE		AUDIT_ARCH_PPC
#define SECCOMP_ARCH_NATIVE_NR		__NR_syscalls
#define SECCOMP_ARCH_NATIVE_NAME	"ppc"

#endif
