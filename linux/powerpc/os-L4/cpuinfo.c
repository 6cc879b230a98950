// SPDX-License-Identifier: GPL-2.0
/* /proc/cpuinfo in the form of arch/powerpc/kernel/setup-common.c. */
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <uapi/asm/cputable.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "version.h"

/* The C library selects functions by these. */
long elf_aux_hwcap = PPC_FEATURE_32 | PPC_FEATURE_HAS_FPU | PPC_FEATURE_HAS_MMU;

/* By the upper half of the version (arch/powerpc/kernel/cpu_specs_book3s_32.h). */
static const char *name(u32 model)
{
	switch (model) {
	case 0x0003:
		return "603";
	case 0x0004:
		return "604";
	case 0x0006:
		return "603e";
	case 0x0007:
		return "603ev";
	case 0x0009:
		return "604e";
	}
	return "unknown";
}

/* Called by um_arch.c (patch 17). */
int show_cpuinfo(struct seq_file *m, void *v);

int show_cpuinfo(struct seq_file *m, void *v)
{
	u32 version = l4_processor_version(), model = version >> 16, revision = version & 0xffff;

	seq_printf(m, "processor\t: 0\ncpu\t\t: %s\nrevision\t: %u.%u (pvr %04x %04x)\n\nplatform\t: Macadamia\n\n",
		   name(model), revision >> 8 & 0xff, revision & 0xff, model, revision);
	return 0;
}
