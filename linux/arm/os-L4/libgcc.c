// SPDX-License-Identifier: GPL-2.0
/* What the compiler calls for 64-bit division of signed numbers, and by 0. */
#include <linux/bug.h>
#include <linux/math64.h>
#include <linux/string.h>

long long l4_divide(long long a, long long b, long long *rem);

/* Called by __aeabi_ldivmod. */
__used long long l4_divide(long long a, long long b, long long *rem)
{
	long long q = div64_s64(a, b);

	*rem = a - q * b;
	return q;
}

/* The quotient is returned in r0 and r1, the remainder in r2 and r3. */
asm ("	.text\n"
     "	.globl	__aeabi_ldivmod\n"
     "	.type	__aeabi_ldivmod, %function\n"
     "__aeabi_ldivmod:\n"
     "	push	{r4, lr}\n"
     "	sub	sp, sp, #16\n"
     "	add	r4, sp, #8\n"
     "	str	r4, [sp]\n"
     "	bl	l4_divide\n"
     "	ldr	r2, [sp, #8]\n"
     "	ldr	r3, [sp, #12]\n"
     "	add	sp, sp, #16\n"
     "	pop	{r4, pc}\n");

/* No division by 0 in Linux is known; its result would be 0, as in arch/arm. */
void __div0(void);
void __div0(void)
{
	WARN_ONCE(1, "division by 0\n");
}
