// SPDX-License-Identifier: GPL-2.0
/* Random numbers by RDRAND, as in arch/x86/include/asm/archrandom.h. */
#include <linux/types.h>
#include "../../../um/os-L4/subarch.h"

#define CPUID_RDRAND	(1 << 30)
/* Intel's manual: a generator that fails so often is broken. */
#define TRIES		10

static bool rdrand(unsigned long *word)
{
	unsigned int i;
	bool got;

	for (i = 0; i < TRIES; i++) {
		asm volatile ("rdrand %[word]" : "=@ccc" (got), [word] "=r" (*word));
		if (got)
			return true;
	}
	return false;
}

ssize_t arch_l4_random(unsigned long *words, size_t bytes)
{
	static int has = -1;
	size_t i, count = bytes / sizeof(*words);
	u32 leaf = 1, ecx = 0;

	if (has < 0) {
		asm ("cpuid" : "+a" (leaf), "+c" (ecx) : : "ebx", "edx");
		has = !!(ecx & CPUID_RDRAND);
	}
	if (!has)
		return -1;
	for (i = 0; i < count; i++)
		if (!rdrand(&words[i]))
			break;
	return i * sizeof(*words);
}
