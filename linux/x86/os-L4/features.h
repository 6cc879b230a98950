/* SPDX-License-Identifier: GPL-2.0 */
/* What cpuinfo.c shows of an i386. */
#ifndef __X86_OS_L4_FEATURES_H
#define __X86_OS_L4_FEATURES_H

#include "../../../um/os-L4/l4_syscall.h"
#include "cpuid.h"

#define VIRTUAL_BITS	32

/* These need the registers of SSE. */
#define SSE_1D	(F(XMM) | F(XMM2))
#define SSE_1C	(F(XMM3) | F(SSSE3) | F(XMM4_1) | F(XMM4_2) | F(AES) | F(PCLMULQDQ))
#define SSE_7B	F(SHA_NI)

/*
 * The features that a program may use, by their word in cpufeatures.h.  Those for kernels are left out: this one does
 * not use them.  So are AVX and the like, as the microkernel does not save wider registers than SSE's.
 */
static inline u32 features(unsigned int word)
{
	u32 have = l4_kip[L4_KIP_FEATURES / 4];
	u32 no_sse = have & L4_FEATURE_SSE ? 0 : ~0;

	switch (word) {
	case X86_FEATURE_FPU / 32:
		return cpuid(1, 0).edx & ~(no_sse & SSE_1D) & ~(have & L4_FEATURE_FXSR ? 0 : F(FXSR)) &
		       (F(FPU) | F(TSC) | F(CX8) | F(SEP) | F(CMOV) | F(CLFLUSH) | F(MMX) | F(FXSR) | SSE_1D);
	case X86_FEATURE_XMM3 / 32:
		return cpuid(1, 0).ecx & ~(no_sse & SSE_1C) &
		       (SSE_1C | F(MOVBE) | F(POPCNT) | F(RDRAND) | F(HYPERVISOR));
	case X86_FEATURE_BMI1 / 32:
		return cpuid(7, 0).ebx & ~(no_sse & SSE_7B) &
		       (SSE_7B | F(BMI1) | F(BMI2) | F(ERMS) | F(RDSEED) | F(ADX) | F(CLFLUSHOPT));
	case X86_FEATURE_MMXEXT / 32:
		return cpuid(0x80000001, 0).edx & (F(MMXEXT) | F(3DNOWEXT) | F(3DNOW));
	case X86_FEATURE_ABM / 32:
		return cpuid(0x80000001, 0).ecx & ~(no_sse & F(SSE4A)) & (F(ABM) | F(SSE4A) | F(3DNOWPREFETCH));
	}
	return 0;
}

#endif
