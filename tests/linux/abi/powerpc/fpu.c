// SPDX-License-Identifier: MIT OR Apache-2.0
/* The FPU: each task has its own, handlers begin with its status as of a new program, exceptions are signals. */
#include "powerpc.h"
#include <fenv.h>
#include <sys/prctl.h>
#include <ucontext.h>

static void fill(double first)
{
	double all[18];
	int i;

	for (i = 0; i < 18; i++)
		all[i] = first + i;
	asm volatile ("lfd 14, 0(%0)\n\tlfd 15, 8(%0)\n\tlfd 30, 128(%0)\n\tlfd 31, 136(%0)"
		      : : "b" (all) : "fr14", "fr15", "fr30", "fr31", "memory");
}

/* Registers that fill() has set, if nothing else has. */
#define SUM() ({ double a, b, c, d; \
	asm volatile ("fmr %0, 14\n\tfmr %1, 15\n\tfmr %2, 30\n\tfmr %3, 31" : "=&d" (a), "=&d" (b), "=&d" (c), "=&d" (d)); a + b + c + d; })

static void *other(void *arg)
{
	volatile double x = 0.5;
	int i;

	for (i = 0; i < 1000; i++) {
		x = x * 1.0 + 0.25;
		sched_yield();
	}
	return x == 250.5 ? (void *)1 : NULL;
}

int fpu_of_tasks(void)
{
	volatile double mine = 0.5;
	pthread_t thread;
	void *result;
	int pid, i;

	CHECK(!pthread_create(&thread, NULL, other, NULL));
	for (i = 0; i < 1000; i++) {
		mine = mine * 1.0 + 0.125;
		sched_yield();
	}
	CHECK(!pthread_join(thread, &result) && result == (void *)1 && mine == 125.5);
	/* A child begins with its parent's registers. */
	fill(3);
	pid = syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		syscall(__NR_exit, SUM() != 4 * 3 + 0 + 1 + 16 + 17);
	CHECK(SUM() == 4 * 3 + 0 + 1 + 16 + 17);
	return wait_for(pid, 0);
}

static volatile double seen;
static volatile int status_in_handler;

static void uses(int sig, siginfo_t *info, void *uc)
{
	double all[32];

	seen = ((ucontext_t *)uc)->uc_mcontext.uc_regs->fpregs.fpregs[14];
	status_in_handler = fetestexcept(FE_ALL_EXCEPT);
	memset(all, 0, sizeof(all));
	asm volatile ("lfd 14, 0(%0)\n\tlfd 15, 8(%0)" : : "b" (all) : "fr14", "fr15", "memory");
	/* What the handler leaves in the frame is what the program goes on with. */
	((ucontext_t *)uc)->uc_mcontext.uc_regs->fpregs.fpregs[15] += 1;
}

int fpu_in_handlers(void)
{
	catch(SIGUSR1, uses, 0);
	feclearexcept(FE_ALL_EXCEPT);
	feraiseexcept(FE_OVERFLOW);
	fill(5);
	syscall(__NR_kill, getpid(), SIGUSR1);
	CHECK(SUM() == 4 * 5 + 0 + 1 + 16 + 17 + 1);
	CHECK(seen == 5 && !status_in_handler && fetestexcept(FE_OVERFLOW));
	feclearexcept(FE_ALL_EXCEPT);
	return 1;
}

static volatile double zero, one = 1;

int fpu_exceptions(void)
{
	volatile double result = one / zero;

	/* Nobody wants them: there is none. */
	CHECK(result > 1e300);
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_DIVBYZERO | FE_INVALID);
	RAISES(SIGFPE, FPE_FLTDIV, result = one / zero);
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_DIVBYZERO | FE_INVALID);
	RAISES(SIGFPE, FPE_FLTINV, result = zero / zero);
	fedisableexcept(FE_ALL_EXCEPT);
	feclearexcept(FE_ALL_EXCEPT);
	return 1;
}
