// SPDX-License-Identifier: GPL-2.0
/* Functions that the compiler calls for 64-bit numbers, and that arch/powerpc has in files with privileged code. */
#include <linux/math64.h>

long long __divdi3(long long a, long long b);
long long __moddi3(long long a, long long b);
unsigned long long __udivdi3(unsigned long long a, unsigned long long b);
unsigned long long __umoddi3(unsigned long long a, unsigned long long b);
unsigned long long __ashldi3(unsigned long long a, unsigned int by);
unsigned long long __lshrdi3(unsigned long long a, unsigned int by);
long long __ashrdi3(long long a, unsigned int by);

long long __divdi3(long long a, long long b)
{
	return div64_s64(a, b);
}

long long __moddi3(long long a, long long b)
{
	return a - div64_s64(a, b) * b;
}

unsigned long long __udivdi3(unsigned long long a, unsigned long long b)
{
	return div64_u64(a, b);
}

unsigned long long __umoddi3(unsigned long long a, unsigned long long b)
{
	return a - div64_u64(a, b) * b;
}

union halves {
	unsigned long long both;
	struct {
		unsigned long high, low;
	};
};

unsigned long long __ashldi3(unsigned long long a, unsigned int by)
{
	union halves h = { a };

	if (by >= 32) {
		h.high = h.low << (by - 32);
		h.low = 0;
	} else if (by) {
		h.high = h.high << by | h.low >> (32 - by);
		h.low <<= by;
	}
	return h.both;
}

unsigned long long __lshrdi3(unsigned long long a, unsigned int by)
{
	union halves h = { a };

	if (by >= 32) {
		h.low = h.high >> (by - 32);
		h.high = 0;
	} else if (by) {
		h.low = h.low >> by | h.high << (32 - by);
		h.high >>= by;
	}
	return h.both;
}

long long __ashrdi3(long long a, unsigned int by)
{
	union halves h = { a };

	if (by >= 32) {
		h.low = (long)h.high >> (by - 32);
		h.high = (long)h.high >> 31;
	} else if (by) {
		h.low = h.low >> by | h.high << (32 - by);
		h.high = (long)h.high >> by;
	}
	return h.both;
}
