// SPDX-License-Identifier: GPL-2.0
/* Loops that take time. */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/math64.h>

void __delay(unsigned long loops)
{
	asm volatile ("	mtctr	%0\n"
		      "1:	bdnz	1b"
		      : : "r" (loops + 1) : "ctr");
}
EXPORT_SYMBOL(__delay);

/* xloops is a time in units of 2^-32 s. */
void __const_udelay(unsigned long xloops)
{
	__delay(((u64)xloops * loops_per_jiffy * HZ >> 32) + 1);
}
EXPORT_SYMBOL(__const_udelay);

void __udelay(unsigned long us)
{
	/* 2^32 / 1000000, rounded up */
	__const_udelay(us * 0x10c7);
}
EXPORT_SYMBOL(__udelay);

void __ndelay(unsigned long ns)
{
	/* 2^32 / 1000000000, rounded up */
	__const_udelay(ns * 5);
}
EXPORT_SYMBOL(__ndelay);
