// SPDX-License-Identifier: GPL-2.0
/* With the argument "selftest": measures the delay of interrupts while Linux computes. */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/timer.h>
#include "time.h"

#define PERIOD_NS	(5 * NSEC_PER_MSEC)

static bool wanted __initdata;
static s64 latest;
static unsigned int ticks;
/* Ticks during a soft interrupt of the timer that takes ten times as long; -1: it has not run. */
static int soft_ticks = -1;

static int __init selftest_setup(char *text)
{
	wanted = true;
	return 1;
}
__setup("selftest", selftest_setup);

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	s64 late = ktime_to_ns(ktime_sub(ktime_get(), hrtimer_get_expires(timer)));

	if (late > latest)
		latest = late;
	ticks++;
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD_NS));
	return HRTIMER_RESTART;
}

static void compute(u64 ns)
{
	u64 end = l4_time_ns() + ns;

	while (l4_time_ns() < end)
		;
}

static void compute_softly(struct timer_list *timer)
{
	ticks = 0;
	compute(10 * PERIOD_NS);
	WRITE_ONCE(soft_ticks, ticks);
}

static int __init selftest(void)
{
	unsigned long flags, i;
	struct timer_list soft;
	struct hrtimer timer;
	s64 unmasked = 0;

	if (!wanted)
		return 0;
	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = tick;
	hrtimer_start(&timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL);
	compute(NSEC_PER_SEC);
	pr_info("selftest: %u ticks in a second of computing, the latest by %lld us\n",
		ticks, latest / 1000);
	for (i = 0; i < 20; i++) {
		u64 start;

		local_irq_save(flags);
		compute(2 * PERIOD_NS);
		start = l4_time_ns();
		ticks = 0;
		local_irq_restore(flags);
		while (!READ_ONCE(ticks))
			;
		unmasked = max_t(s64, unmasked, l4_time_ns() - start);
	}
	timer_setup_on_stack(&soft, compute_softly, 0);
	mod_timer(&soft, jiffies + 1);
	while (READ_ONCE(soft_ticks) < 0)
		;
	destroy_timer_on_stack(&soft);
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	pr_info("selftest: a masked tick is handled %lld us after it is unmasked\n", unmasked / 1000);
	pr_info("selftest: %d ticks while a soft interrupt computes\n", soft_ticks);
	return 0;
}
late_initcall(selftest);
