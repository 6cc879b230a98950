// SPDX-License-Identifier: MIT OR Apache-2.0
/* Clocks of the vDSO. */
#include "i386.h"
#include "../vdso.h"

struct time64 { long long sec, nsec; };

static long long in_ns(struct time64 t)
{
	return t.sec * 1000000000 + t.nsec;
}

/* The clocks tell what system calls tell, and make none. */
static int without_calls(unsigned long base)
{
	int (*gettime)(int, struct timespec *) = vdso_function(base, "__vdso_clock_gettime");
	int (*gettime64)(int, struct time64 *) = vdso_function(base, "__vdso_clock_gettime64");
	int (*getres)(int, struct timespec *) = vdso_function(base, "__vdso_clock_getres");
	int (*timeofday)(struct timeval *, void *) = vdso_function(base, "__vdso_gettimeofday");
	time_t (*seconds)(time_t *) = vdso_function(base, "__vdso_time");
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
				      CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI };
	struct timespec t, resolution;
	struct timeval tv;
	struct time64 u;
	unsigned int i;
	int pid, good;

	CHECK(gettime && gettime64 && getres && timeofday && seconds);
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct time64 before, after;

		CHECK(!raw(__NR_clock_gettime64, clocks[i], (long)&before, 0) && !gettime64(clocks[i], &u) &&
		      !raw(__NR_clock_gettime64, clocks[i], (long)&after, 0));
		CHECK(in_ns(before) <= in_ns(u) && in_ns(u) <= in_ns(after));
		CHECK(!gettime(clocks[i], &t) && t.tv_sec - after.sec <= 1 && t.tv_nsec < 1000000000);
		CHECK(!getres(clocks[i], &t) && !raw(__NR_clock_getres, clocks[i], (long)&resolution, 0));
		CHECK(t.tv_sec == resolution.tv_sec && t.tv_nsec == resolution.tv_nsec);
	}
	/* These it asks for. */
	CHECK(!gettime64(CLOCK_PROCESS_CPUTIME_ID, &u) && in_ns(u) > 0);
	CHECK(gettime(77, &t) == -EINVAL && gettime64(77, &u) == -EINVAL);

	pid = fork();
	if (!pid) {
		good = forbid_calls();
		for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
			good &= !gettime(clocks[i], &t) && !gettime64(clocks[i], &u);
		good &= !timeofday(&tv, NULL) && seconds(NULL) - tv.tv_sec <= 1;
		/* As programs ask. */
		good &= !gettimeofday(&tv, NULL) && !clock_gettime(CLOCK_MONOTONIC, &t);
		raw(__NR_exit, good ? 3 : 4, 0, 0);
	}
	return wait_for(pid, 3 << 8);
}

int vdso_clocks(void)
{
	return without_calls(getauxval(AT_SYSINFO_EHDR));
}

static volatile unsigned long came_from;

static void note_caller(int sig)
{
	came_from = (unsigned long)__builtin_extract_return_addr(__builtin_return_address(0));
}

/* A process may move its vDSO: system calls, the return from handlers and clocks go on at the new place. */
int moved_vdso(void)
{
	unsigned long data, data_end, code, code_end, base;
	char *place;
	int pid;

	CHECK(find("[vvar]", &data, &data_end) && find("[vdso]", &code, &code_end));
	CHECK(data_end == code && code == getauxval(AT_SYSINFO_EHDR));
	place = mmap(NULL, code_end - data, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	base = (unsigned long)place + (code - data);
	pid = fork();
	if (!pid) {
		int (*gettime64)(int, struct time64 *) = vdso_function(code, "__vdso_clock_gettime64");
		struct time64 before, t;

		signal(SIGUSR1, note_caller);
		gettime64 = (void *)((unsigned long)gettime64 - code + base);
		if (mremap((void *)data, data_end - data, data_end - data, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
			_exit(1);
		/* By the vDSO itself; then libc knows it no more. */
		if (mremap((void *)code, code_end - code, code_end - code, MREMAP_MAYMOVE | MREMAP_FIXED, base) != (void *)base)
			raw(__NR_exit, 2, 0, 0);
		if (feature(SEP) && by_sysenter(__NR_getpid, 0, 0, 0, 0, 0, 0) != raw(__NR_getpid, 0, 0, 0))
			raw(__NR_exit, 3, 0, 0);
		raw(__NR_kill, raw(__NR_getpid, 0, 0, 0), SIGUSR1, 0);
		if (came_from - base >= code_end - code)
			raw(__NR_exit, 4, 0, 0);
		if (raw(__NR_clock_gettime64, CLOCK_MONOTONIC, (long)&before, 0) || gettime64(CLOCK_MONOTONIC, &t) ||
		    in_ns(t) < in_ns(before))
			raw(__NR_exit, 5, 0, 0);
		raw(__NR_exit, 9, 0, 0);
	}
	return wait_for(pid, 9 << 8);
}
