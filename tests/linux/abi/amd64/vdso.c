// SPDX-License-Identifier: MIT OR Apache-2.0
/* Clocks of the vDSO. */
#include "amd64.h"
#include "../vdso.h"

static long in_ns(struct timespec t)
{
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The clocks tell what system calls tell, and make none. */
int vdso_clocks(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	int (*gettime)(int, struct timespec *) = vdso_function(base, "__vdso_clock_gettime");
	int (*getres)(int, struct timespec *) = vdso_function(base, "__vdso_clock_getres");
	int (*timeofday)(struct timeval *, void *) = vdso_function(base, "__vdso_gettimeofday");
	time_t (*seconds)(time_t *) = vdso_function(base, "__vdso_time");
	long (*getcpu)(unsigned int *, unsigned int *, void *) = vdso_function(base, "__vdso_getcpu");
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
				      CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI };
	struct timespec t, resolution;
	unsigned int i, cpu = 77;
	struct timeval tv;
	int pid, good;

	CHECK(base && gettime && getres && timeofday && seconds && getcpu);
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct timespec before, after;

		CHECK(!raw(__NR_clock_gettime, clocks[i], (long)&before, 0) && !gettime(clocks[i], &t) &&
		      !raw(__NR_clock_gettime, clocks[i], (long)&after, 0));
		CHECK(in_ns(before) <= in_ns(t) && in_ns(t) <= in_ns(after));
		CHECK(!getres(clocks[i], &t) && !raw(__NR_clock_getres, clocks[i], (long)&resolution, 0));
		CHECK(t.tv_sec == resolution.tv_sec && t.tv_nsec == resolution.tv_nsec);
	}
	/* These it asks for. */
	CHECK(!gettime(CLOCK_PROCESS_CPUTIME_ID, &t) && in_ns(t) > 0);
	CHECK(gettime(77, &t) == -EINVAL);
	CHECK(!getcpu(&cpu, NULL, NULL) && cpu < 1024);
	pid = fork();
	if (!pid) {
		good = forbid_calls();
		for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
			good &= !gettime(clocks[i], &t);
		good &= !timeofday(&tv, NULL) && seconds(NULL) - tv.tv_sec <= 1;
		/* As programs ask. */
		good &= !gettimeofday(&tv, NULL) && !clock_gettime(CLOCK_MONOTONIC, &t);
		raw(__NR_exit, good ? 3 : 4, 0, 0);
	}
	return wait_for(pid, 3 << 8);
}

/* The page that there was before there was a vDSO: three functions, and nothing to read. */
int vsyscalls(void)
{
	int (*timeofday)(struct timeval *, void *) = (void *)0xffffffffff600000;
	time_t (*seconds)(time_t *) = (void *)0xffffffffff600400;
	long (*getcpu)(unsigned int *, unsigned int *, void *) = (void *)0xffffffffff600800;
	struct timeval before, tv, after;
	unsigned int cpu = 77;
	time_t now = 0;
	int pid;

	CHECK(!raw(__NR_gettimeofday, (long)&before, 0, 0) && !timeofday(&tv, NULL) && !raw(__NR_gettimeofday, (long)&after, 0, 0));
	CHECK(!timercmp(&tv, &before, <) && !timercmp(&after, &tv, <));
	CHECK(seconds(&now) == now && now >= tv.tv_sec);
	CHECK(!getcpu(&cpu, NULL, NULL) && cpu < 1024);
	RAISES(SIGSEGV, SEGV_MAPERR, (void)*(volatile char *)0xffffffffff600000);
	RAISES(SIGSEGV, SI_KERNEL, ((void (*)(void))0xffffffffff600001)());
	RAISES(SIGSEGV, SI_KERNEL, ((void (*)(void))0xffffffffff600c00)());
	RAISES(SIGSEGV, SI_KERNEL, seconds((time_t *)8));
	pid = fork();
	if (!pid) {
		if (!forbid_calls())
			raw(__NR_exit, 1, 0, 0);
		seconds(NULL);
		raw(__NR_exit, 2, 0, 0);
	}
	return wait_for(pid, SIGSYS);
}

/* A process may move its vDSO: clocks go on at the new place. */
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
		int (*gettime)(int, struct timespec *) = vdso_function(code, "__vdso_clock_gettime");
		struct timespec before, t;

		gettime = (void *)((unsigned long)gettime - code + base);
		if (mremap((void *)data, data_end - data, data_end - data, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
			_exit(1);
		if (mremap((void *)code, code_end - code, code_end - code, MREMAP_MAYMOVE | MREMAP_FIXED, base) != (void *)base)
			_exit(2);
		if (raw(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&before, 0) || gettime(CLOCK_MONOTONIC, &t) ||
		    in_ns(t) < in_ns(before))
			raw(__NR_exit, 5, 0, 0);
		raw(__NR_exit, 9, 0, 0);
	}
	return wait_for(pid, 9 << 8);
}
