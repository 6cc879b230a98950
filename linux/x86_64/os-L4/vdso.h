/* SPDX-License-Identifier: GPL-2.0 */
/* The vDSO has only clocks. */
#ifndef __X86_64_OS_L4_VDSO_H
#define __X86_64_OS_L4_VDSO_H

#define L4_VDSO_PAGES		2

#endif
