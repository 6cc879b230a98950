// SPDX-License-Identifier: GPL-2.0
/* The rest of what arch/um asks of its host. */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <arch.h>
#include <kern.h>
#include <kern_util.h>
#include <os.h>
#include "l4.h"

#define PUT_FORMATTED(fmt) do {					\
	char buf[256];						\
	va_list ap;						\
	int len;						\
								\
	va_start(ap, fmt);					\
	len = vscnprintf(buf, sizeof(buf), fmt, ap);		\
	va_end(ap);						\
	l4_console_write(buf, len);				\
} while (0)

int printf(const char *fmt, ...) { PUT_FORMATTED(fmt); return 0; }
void os_info(const char *fmt, ...) { PUT_FORMATTED(fmt); }
void os_warn(const char *fmt, ...) { PUT_FORMATTED(fmt); }
void os_flush_stdout(void) { }

void os_check_bugs(void) { }
void arch_check_bugs(void) { }
void arch_examine_signal(int sig, struct uml_pt_regs *regs) { }
void get_host_cpu_features(void (*flags)(char *line), void (*cache)(char *line)) { }

/* The processor's, if it has any; the time-stamp counter random.c has itself. */
ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return arch_l4_random(buf, len);
}

void __init setup_hostinfo(char *buf, int len)
{
	/* Blocks of memory are known by now, and nothing comes between this and their use. */
	l4_group_unmovable();
	l4_seed_pool();
	strscpy(buf, "Macadamia", len);
}

/* After a panic. */
void os_dump_core(void)
{
	l4_exit(125);
}
