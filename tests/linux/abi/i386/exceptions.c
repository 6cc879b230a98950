// SPDX-License-Identifier: MIT OR Apache-2.0
/* Exceptions as signals. */
#include "i386.h"

int exceptions(void)
{
	volatile int zero = 0, result;

	RAISES(SIGFPE, FPE_INTDIV, result = 7 / zero);
	(void)result;
	catch(SIGILL, jump, 0);
	if (!sigsetjmp(back, 1))
		asm volatile ("ud2");
	CHECK(got.si_signo == SIGILL);
	catch(SIGTRAP, jump, 0);
	if (!sigsetjmp(back, 1))
		asm volatile ("int3");
	CHECK(got.si_signo == SIGTRAP && got.si_code == SI_KERNEL);
	catch(SIGSEGV, jump, 0);
	got.si_signo = 0;
	if (!sigsetjmp(back, 1))
		asm volatile ("hlt");
	CHECK(got.si_signo == SIGSEGV && got.si_code == SI_KERNEL);
	got.si_signo = 0;
	if (!sigsetjmp(back, 1))
		asm volatile ("cli");
	CHECK(got.si_signo == SIGSEGV);
	return 1;
}
