// SPDX-License-Identifier: GPL-2.0
/* arch/um/kernel/time.c divides signed 64-bit numbers with / and %. */
#include <linux/math64.h>
#include <linux/export.h>
#include <linux/string.h>

/* arch/x86/lib/memmove_32.S expects -mregparm=3; UML passes on the stack. */
#undef memmove
void *memmove(void *dest, const void *src, size_t n)
{
	char *d = dest;
	const char *s = src;

	if (d <= s || d >= s + n) {
		asm volatile ("rep movsb" : "+D" (d), "+S" (s), "+c" (n)
			      : : "memory");
	} else {
		d += n - 1;
		s += n - 1;
		asm volatile ("std; rep movsb; cld"
			      : "+D" (d), "+S" (s), "+c" (n) : : "memory");
	}
	return dest;
}
EXPORT_SYMBOL(memmove);

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
