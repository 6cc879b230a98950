/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_ARM_SECCOMP_H
#define __UM_ARM_SECCOMP_H

#include <asm-generic/seccomp.h>
#include <asm/unistd.h>

#define SECCOMP_ARCH_NATIVE		AUDIT_ARCH_ARM
#define SECCOMP_ARCH_NATIVE_NR		__NR_syscalls
#define SECCOMP_ARCH_NATIVE_NAME	"arm"

#endif
