/* SPDX-License-Identifier: GPL-2.0 */
/* What cpuinfo.c shows of an x86-64. */
#ifndef __X86_64_OS_L4_FEATURES_H
#define __X86_64_OS_L4_FEATURES_H

#include "cpuid.h"

#define VIRTUAL_BITS	48

/* These need the registers of AVX, which the microkernel saves if it uses xsave. */
#define AVX_1C	(F(AVX) | F(F16C) | F(FMA))
#define AVX_7B	F(AVX2)
#define AVX_7C	(F(VAES) | F(VPCLMULQDQ))
#define AVX_81C	(F(XOP) | F(FMA4))
#define AVX_STATE	4

static inline u32 no_avx(void)
{
	u32 low, high;

	if (!(cpuid(1, 0).ecx & F(OSXSAVE)))
		return ~0;
	asm ("xgetbv" : "=a" (low), "=d" (high) : "c" (0));
	return low & AVX_STATE ? 0 : ~0;
}

/*
 * The features that a program may use, by their word in cpufeatures.h.  Those for kernels are left out: this one does
 * not use them.  So is AVX-512, as the microkernel does not save wider registers than AVX's.
 */
static inline u32 features(unsigned int word)
{
	u32 xsave = cpuid(1, 0).ecx & F(OSXSAVE) ? ~0 : 0;

	switch (word) {
	case X86_FEATURE_FPU / 32:
		return cpuid(1, 0).edx & (F(FPU) | F(TSC) | F(CX8) | F(SEP) | F(CMOV) | F(CLFLUSH) | F(MMX) | F(FXSR) |
					  F(XMM) | F(XMM2));
	case X86_FEATURE_LM / 32:
		return cpuid(0x80000001, 0).edx & (F(SYSCALL) | F(NX) | F(MMXEXT) | F(RDTSCP) | F(LM) | F(3DNOWEXT) | F(3DNOW));
	case X86_FEATURE_XMM3 / 32:
		return cpuid(1, 0).ecx & ~(no_avx() & AVX_1C) & (xsave | ~(F(XSAVE) | F(OSXSAVE))) &
		       (F(XMM3) | F(PCLMULQDQ) | F(SSSE3) | F(FMA) | F(CX16) | F(XMM4_1) | F(XMM4_2) | F(MOVBE) | F(POPCNT) |
			F(AES) | F(XSAVE) | F(AVX) | F(F16C) | F(RDRAND) | F(HYPERVISOR));
	case X86_FEATURE_LAHF_LM / 32:
		return cpuid(0x80000001, 0).ecx & ~(no_avx() & AVX_81C) &
		       (F(LAHF_LM) | F(ABM) | F(SSE4A) | F(3DNOWPREFETCH) | F(XOP) | F(FMA4) | F(TBM));
	case X86_FEATURE_BMI1 / 32:
		return cpuid(7, 0).ebx & ~(no_avx() & AVX_7B) &
		       (F(BMI1) | F(AVX2) | F(BMI2) | F(ERMS) | F(RDSEED) | F(ADX) | F(CLFLUSHOPT) | F(CLWB) | F(SHA_NI));
	case X86_FEATURE_VAES / 32:
		return cpuid(7, 0).ecx & ~(no_avx() & AVX_7C) & (F(GFNI) | F(VAES) | F(VPCLMULQDQ) | F(RDPID));
	case X86_FEATURE_XSAVEOPT / 32:
		return cpuid(0xd, 1).eax & xsave & (F(XSAVEOPT) | F(XSAVEC) | F(XGETBV1));
	}
	return 0;
}

#endif
