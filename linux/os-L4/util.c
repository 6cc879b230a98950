// SPDX-License-Identifier: GPL-2.0
/* Messages, random numbers, the host's name, the end after a panic: os-Linux/util.c is upstream's. */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <arch.h>
#include <kern.h>
#include <kern_util.h>
#include <os.h>
#include "console.h"
#include "l4_syscall.h"
#include "memory.h"
#include "start.h"
#include "subarch.h"

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

/* Numbers of the processor's generator, if it has one. */
ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return arch_l4_random(buf, len);
}

void __init setup_hostinfo(char *buf, int len)
{
	/* Page blocks are set up now, and nothing has been allocated from them yet. */
	l4_group_unmovable();
	l4_seed_pool();
	strscpy(buf, "Macadamia", len);
}

/* After a panic. */
void os_dump_core(void)
{
	l4_exit(125);
}
