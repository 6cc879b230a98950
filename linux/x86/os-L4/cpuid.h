/* SPDX-License-Identifier: GPL-2.0 */
/* CPUID. */
#ifndef __X86_OS_L4_CPUID_H
#define __X86_OS_L4_CPUID_H

#include <linux/types.h>
#include <asm/cpufeatures.h>

struct leaf {
	u32 eax, ebx, ecx, edx;
};

/* Zeros if the processor has no such leaf. */
static inline struct leaf cpuid(u32 number, u32 part)
{
	struct leaf l = { number & 0x80000000 };

	asm ("cpuid" : "+a" (l.eax), "=b" (l.ebx), "+c" (l.ecx), "=d" (l.edx));
	if (l.eax < number || (l.eax ^ number) & 0x80000000)
		return (struct leaf){ 0 };
	l = (struct leaf){ .eax = number, .ecx = part };
	asm ("cpuid" : "+a" (l.eax), "=b" (l.ebx), "+c" (l.ecx), "=d" (l.edx));
	return l;
}

/* A feature's bit in its word. */
#define F(name)	(1U << X86_FEATURE_##name % 32)

#endif
