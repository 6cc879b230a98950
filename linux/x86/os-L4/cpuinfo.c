// SPDX-License-Identifier: GPL-2.0
/* /proc/cpuinfo in the form of arch/x86/kernel/cpu/proc.c, from CPUID. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <asm/cpufeature.h>
#include <asm/cpufeatures.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "cpuid.h"
#include "features.h"

/* The size of the last-level cache in KiB, or 0 if CPUID does not have it. */
static u32 cache_size(void)
{
	u32 bytes = 0, i;

	for (i = 0; i < 8; i++) {
		struct leaf l = cpuid(4, i);

		if (!(l.eax & 0x1f))
			break;
		bytes = ((l.ebx >> 22) + 1) * ((l.ebx >> 12 & 0x3ff) + 1) * ((l.ebx & 0xfff) + 1) * (l.ecx + 1);
	}
	return bytes ? bytes >> 10 : cpuid(0x80000006, 0).ecx >> 16;
}

/* Names of processors whose CPUID has none: those of arch/x86/kernel/cpu/intel.c. */
static const char *intel_name(unsigned int family, unsigned int model)
{
	static const char *const six[16] = {
		[0] = "Pentium Pro A-step", [1] = "Pentium Pro",
		[3] = "Pentium II (Klamath)", [4] = "Pentium II (Deschutes)", [5] = "Pentium II (Deschutes)",
		[6] = "Mobile Pentium II",
		[7] = "Pentium III (Katmai)", [8] = "Pentium III (Coppermine)",
		[10] = "Pentium III (Cascades)", [11] = "Pentium III (Tualatin)",
	};
	static const char *const fifteen[16] = {
		[0] = "Pentium 4 (Unknown)", [1] = "Pentium 4 (Willamette)", [2] = "Pentium 4 (Northwood)",
		[4] = "Pentium 4 (Foster)", [5] = "Pentium 4 (Foster)",
	};

	if (model >= 16)
		return NULL;
	return family == 6 ? six[model] : family == 15 ? fifteen[model] : NULL;
}

static void show_model(struct seq_file *m, bool intel, unsigned int family, unsigned int model)
{
	const char *known = intel ? intel_name(family, model) : NULL;
	struct leaf name[4] = { };
	unsigned int i;

	for (i = 0; i < 3; i++)
		name[i] = cpuid(0x80000002 + i, 0);
	if (name[0].eax)
		seq_printf(m, "model name\t: %s\n", skip_spaces((char *)name));
	else if (known)
		seq_printf(m, "model name\t: %s\n", known);
	else
		seq_printf(m, "model name\t: %02x/%02x\n", family, model);
}

/* Called by um_arch.c (patch 17). */
int show_cpuinfo(struct seq_file *m, void *v);

int show_cpuinfo(struct seq_file *m, void *v)
{
	struct leaf first = cpuid(0, 0), version = cpuid(1, 0), sizes = cpuid(0x80000008, 0);
	u32 khz = div_u64((u64)USEC_PER_SEC << l4_kip[L4_KIP_CLOCK_SHIFT / 4], l4_kip[L4_KIP_CLOCK_MULT / 4]);
	unsigned int family = version.eax >> 8 & 0xf, model = version.eax >> 4 & 0xf, word, bit;
	unsigned int line = (version.edx & F(CLFLUSH)) ? (version.ebx >> 8 & 0xff) * 8 : 32;

	if (family == 6 || family == 15)
		model += (version.eax >> 16 & 0xf) << 4;
	if (family == 15)
		family += version.eax >> 20 & 0xff;
	seq_printf(m, "processor\t: 0\nvendor_id\t: %.4s%.4s%.4s\ncpu family\t: %u\nmodel\t\t: %u\n",
		   (char *)&first.ebx, (char *)&first.edx, (char *)&first.ecx, family, model);
	show_model(m, !memcmp(&first.ecx, "ntel", 4), family, model);
	seq_printf(m, "stepping\t: %u\ncpu MHz\t\t: %u.%03u\n", version.eax & 0xf, khz / 1000, khz % 1000);
	if (cache_size())
		seq_printf(m, "cache size\t: %u KB\n", cache_size());
	seq_printf(m, "fpu\t\t: %s\nfpu_exception\t: yes\ncpuid level\t: %u\nwp\t\t: yes\nflags\t\t:",
		   version.edx & F(FPU) ? "yes" : "no", first.eax);
	for (word = 0; word < NCAPINTS; word++) {
		unsigned long bits = features(word);

		for_each_set_bit(bit, &bits, 32)
			if (x86_cap_flags[word * 32 + bit])
				seq_printf(m, " %s", x86_cap_flags[word * 32 + bit]);
	}
	seq_printf(m, "\nbugs\t\t:\nbogomips\t: %lu.%02lu\n", loops_per_jiffy / (500000 / HZ),
		   loops_per_jiffy / (5000 / HZ) % 100);
	seq_printf(m, "clflush size\t: %u\ncache_alignment\t: %u\n", line, line);
	seq_printf(m, "address sizes\t: %u bits physical, %u bits virtual\npower management:\n\n",
		   sizes.eax ? sizes.eax & 0xff : version.edx & (F(PAE) | F(PSE36)) ? 36 : 32, VIRTUAL_BITS);
	return 0;
}
