// SPDX-License-Identifier: GPL-2.0
/* arch/um/kernel/time.c divides signed 64-bit numbers with / and %. */
#include <linux/math64.h>

long long __divdi3(long long a, long long b);
long long __divmoddi4(long long a, long long b, long long *rem);

long long __divdi3(long long a, long long b)
{
	return div64_s64(a, b);
}

long long __divmoddi4(long long a, long long b, long long *rem)
{
	long long q = div64_s64(a, b);

	*rem = a - q * b;
	return q;
}
