// SPDX-License-Identifier: GPL-2.0
/* The clock is the processor's counter, read without a system call.  The timer is the microkernel's alarm. */
#include <linux/clocksource.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>
#include <kern_util.h>
#include <os.h>
#include "interrupt.h"
#include "l4_syscall.h"
#include "start.h"
#include "time.h"
#include <os-L4/processor.h>

static unsigned long long period;

/* The information page has the scale: nanoseconds are ticks * mult >> shift. */
#define MULT	l4_kip[L4_KIP_CLOCK_MULT / 4]
#define SHIFT	l4_kip[L4_KIP_CLOCK_SHIFT / 4]

u64 l4_time_ns(void)
{
	return mul_u64_u32_shr(arch_l4_ticks() - *(const u64 *)&l4_kip[L4_KIP_CLOCK_BASE / 4], MULT, SHIFT);
}

static u64 ticks_read(struct clocksource *clock)
{
	return arch_l4_ticks();
}

/* Upstream's clock source is os_nsecs() with a resolution of 256 ns; this one is better. */
static struct clocksource clock = {
	.name	= ARCH_L4_CLOCK_NAME,
	.rating	= 400,
	.read	= ticks_read,
	.mask	= CLOCKSOURCE_MASK(64),
	.flags	= CLOCK_SOURCE_IS_CONTINUOUS,
	.vdso_clock_mode = ARCH_L4_VDSO_CLOCKMODE,
};

static int __init clock_init(void)
{
	return clocksource_register_khz(&clock, div_u64((u64)USEC_PER_SEC << SHIFT, MULT));
}
core_initcall(clock_init);

/* The generic one counts jiffies, which stand still while Linux is idle. */
unsigned long long notrace sched_clock(void)
{
	return l4_time_ns();
}

long long os_nsecs(void)
{
	return l4_time_ns();
}

/* The clock server tells the time since 1970 at boot.  Without one, time begins at 0. */
long long os_persistent_clock_emulation(void)
{
	const struct l4_grant *clock = l4_find_grant("clock");
	struct l4_regs r;

	if (!clock || l4_ipc_call(l4_utcb, clock->slot, 3, L4_CLOCK_NOW, 0, 0, &r))
		return 0;
	return ((s64)r.r3 << 32 | r.r2) * NSEC_PER_SEC + r.r4;
}

static void alarm_at(u64 ns)
{
	l4_call(L4_OP_ALARM, (u32)ns, ns >> 32, L4_BIT(L4_TIMER_BIT), 0);
}

int os_timer_create(void) { return 0; }

int os_timer_one_shot(unsigned long long nsecs)
{
	period = 0;
	alarm_at(l4_time_ns() + nsecs);
	return 0;
}

int os_timer_set_interval(unsigned long long nsecs)
{
	period = nsecs;
	alarm_at(l4_time_ns() + nsecs);
	return 0;
}

void l4_timer_rearm(void)
{
	if (period)
		alarm_at(l4_time_ns() + period);
}

void os_timer_disable(void)
{
	period = 0;
	l4_call(L4_OP_ALARM, 0, 0, 0, 0);
}
