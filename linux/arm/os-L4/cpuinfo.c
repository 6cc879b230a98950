// SPDX-License-Identifier: GPL-2.0
/* /proc/cpuinfo in the form of arch/arm/kernel/setup.c.  A program cannot read the processor's identification, nor can Linux. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <asm/system_info.h>
#include <uapi/asm/hwcap.h>

long elf_aux_hwcap = HWCAP_SWP | HWCAP_HALF | HWCAP_THUMB | HWCAP_FAST_MULT | HWCAP_EDSP;

/* In the order of the bits of AT_HWCAP. */
static const char *const names[] = { "swp", "half", "thumb", "26bit", "fastmult", "fpa", "vfp", "edsp" };

int __pure cpu_architecture(void)
{
	return CPU_ARCH_ARMv5TE;
}

/* Called by um_arch.c (patch 17). */
int show_cpuinfo(struct seq_file *m, void *v);

int show_cpuinfo(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_printf(m, "processor\t: 0\nmodel name\t: ARMv5TE (v5l)\nBogoMIPS\t: %lu.%02lu\nFeatures\t:",
		   loops_per_jiffy / (500000 / HZ), loops_per_jiffy / (5000 / HZ) % 100);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_aux_hwcap & 1 << i)
			seq_printf(m, " %s", names[i]);
	seq_puts(m, "\nCPU architecture: 5TE\n\nHardware\t: Macadamia\n\n");
	return 0;
}
