/* SPDX-License-Identifier: GPL-2.0 */
/* What cpuinfo.c shows of an x86-64. */
#ifndef __X86_64_OS_L4_FEATURES_H
#define __X86_64_OS_L4_FEATURES_H

#include "cpuid.h"

#define VIRTUAL_BITS	48

/* These need the registers of AVX or AVX-512, which the microkernel saves if it uses xsave. */
#define AVX_1C	(F(AVX) | F(F16C) | F(FMA))
#define AVX_7B	F(AVX2)
#define AVX_7C	(F(VAES) | F(VPCLMULQDQ))
#define AVX_81C	(F(XOP) | F(FMA4))
#define AVX_STATE	4
#define AVX512_7B	(F(AVX512F) | F(AVX512DQ) | F(AVX512IFMA) | F(AVX512PF) | F(AVX512ER) | F(AVX512CD) | F(AVX512BW) | F(AVX512VL))
#define AVX512_7C	(F(AVX512VBMI) | F(AVX512_VBMI2) | F(AVX512_VNNI) | F(AVX512_BITALG) | F(AVX512_VPOPCNTDQ))
#define AVX512_7D	(F(AVX512_4VNNIW) | F(AVX512_4FMAPS) | F(AVX512_VP2INTERSECT) | F(AVX512_FP16))
#define AVX512_STATE	0xe0

/* All bits, unless programs have the registers of this state. */
static inline u32 without(u32 state)
{
	u32 low, high;

	if (!(cpuid(1, 0).ecx & F(OSXSAVE)))
		return ~0;
	asm ("xgetbv" : "=a" (low), "=d" (high) : "c" (0));
	return (low & state) == state ? 0 : ~0;
}

/*
 * The features that a program may use, by their word in cpufeatures.h.  Those for kernels are left out: this one does
 * not use them.
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
		return cpuid(1, 0).ecx & ~(without(AVX_STATE) & AVX_1C) & (xsave | ~(F(XSAVE) | F(OSXSAVE))) &
		       (F(XMM3) | F(PCLMULQDQ) | F(SSSE3) | F(FMA) | F(CX16) | F(XMM4_1) | F(XMM4_2) | F(MOVBE) | F(POPCNT) |
			F(AES) | F(XSAVE) | F(AVX) | F(F16C) | F(RDRAND) | F(HYPERVISOR));
	case X86_FEATURE_LAHF_LM / 32:
		return cpuid(0x80000001, 0).ecx & ~(without(AVX_STATE) & AVX_81C) &
		       (F(LAHF_LM) | F(ABM) | F(SSE4A) | F(3DNOWPREFETCH) | F(XOP) | F(FMA4) | F(TBM));
	case X86_FEATURE_BMI1 / 32:
		return cpuid(7, 0).ebx & ~(without(AVX_STATE) & AVX_7B) & ~(without(AVX512_STATE) & AVX512_7B) &
		       (F(BMI1) | F(AVX2) | F(BMI2) | F(ERMS) | F(RDSEED) | F(ADX) | F(CLFLUSHOPT) | F(CLWB) | F(SHA_NI) | AVX512_7B);
	case X86_FEATURE_VAES / 32:
		return cpuid(7, 0).ecx & ~(without(AVX_STATE) & AVX_7C) & ~(without(AVX512_STATE) & AVX512_7C) &
		       (F(GFNI) | F(VAES) | F(VPCLMULQDQ) | F(RDPID) | AVX512_7C);
	case X86_FEATURE_AVX512_4VNNIW / 32:
		return cpuid(7, 0).edx & ~(without(AVX512_STATE) & AVX512_7D) & AVX512_7D;
	case X86_FEATURE_XSAVEOPT / 32:
		return cpuid(0xd, 1).eax & xsave & (F(XSAVEOPT) | F(XSAVEC) | F(XGETBV1));
	}
	return 0;
}

#endif
