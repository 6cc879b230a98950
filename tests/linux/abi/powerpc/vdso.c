// SPDX-License-Identifier: MIT OR Apache-2.0
/* The vDSO: clocks and what else it tells without a system call, where signal handlers return to, and what debuggers find there. */
#include "powerpc.h"
#include "../vdso.h"

#define GETREGS		12

enum { NIP = 32 };

struct time64 { long long sec, nsec; };
struct time32 { int sec, part; };

static long long in_ns(struct time64 t)
{
	return t.sec * 1000000000 + t.nsec;
}

/* The time by a system call. */
static struct time64 called(int clock)
{
	struct time64 t = { -1, -1 };
	int failed;

	raw(__NR_clock_gettime64, clock, (long)&t, 0, &failed);
	return t;
}

/* The clocks tell what system calls tell, and make none. */
int vdso_clocks(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	int (*gettime)(int, struct time32 *) = vdso_function(base, "__kernel_clock_gettime");
	int (*gettime64)(int, struct time64 *) = vdso_function(base, "__kernel_clock_gettime64");
	int (*getres)(int, struct time32 *) = vdso_function(base, "__kernel_clock_getres");
	int (*timeofday)(struct time32 *, struct timezone *) = vdso_function(base, "__kernel_gettimeofday");
	int (*seconds)(int *) = vdso_function(base, "__kernel_time");
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
				      CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI };
	struct time32 t, resolution;
	struct time64 u;
	unsigned int i;
	int pid, good, failed;

	CHECK(gettime && gettime64 && getres && timeofday && seconds);
	for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct time64 before = called(clocks[i]), after;

		CHECK(!gettime64(clocks[i], &u));
		after = called(clocks[i]);
		CHECK(before.sec >= 0 && in_ns(before) <= in_ns(u) && in_ns(u) <= in_ns(after));
		CHECK(!gettime(clocks[i], &t) && t.sec - after.sec <= 1 && t.part < 1000000000);
		CHECK(!getres(clocks[i], &t) && !raw(__NR_clock_getres, clocks[i], (long)&resolution, 0, &failed) && !failed);
		CHECK(t.sec == resolution.sec && t.part == resolution.part);
	}
	/* These it asks for. */
	CHECK(!gettime64(CLOCK_PROCESS_CPUTIME_ID, &u) && in_ns(u) > 0);
	CHECK(gettime(77, &t) == EINVAL && gettime64(77, &u) == EINVAL);

	pid = fork();
	if (!pid) {
		struct timeval tv;
		struct timespec ts;

		good = forbid_calls();
		for (i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
			good &= !gettime(clocks[i], &t) && !gettime64(clocks[i], &u);
		good &= !timeofday(&t, NULL) && seconds(NULL) - t.sec <= 1 && t.part < 1000000;
		/* As programs ask. */
		good &= !gettimeofday(&tv, NULL) && tv.tv_sec - t.sec <= 1 && !clock_gettime(CLOCK_MONOTONIC, &ts);
		raw(__NR_exit, good ? 3 : 4, 0, 0, &failed);
	}
	return wait_for(pid, 3 << 8);
}

/* The time base. */
static unsigned long long ticks_now(void)
{
	unsigned int high, low, again;

	do
		asm volatile ("mftbu %0\n\tmftb %1\n\tmftbu %2" : "=r" (high), "=r" (low), "=r" (again));
	while (high != again);
	return (unsigned long long)high << 32 | low;
}

/* How fast the time base counts, which system calls there are, and the only processor; code that was written is executed. */
int vdso_tells(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	unsigned long long (*frequency)(void) = vdso_function(base, "__kernel_get_tbfreq");
	unsigned int *(*calls)(unsigned int *) = vdso_function(base, "__kernel_get_syscall_map");
	int (*getcpu)(unsigned int *, unsigned int *) = vdso_function(base, "__kernel_getcpu");
	int (*sync)(void *, void *) = vdso_function(base, "__kernel_sync_dicache");
	unsigned long long ticks = ticks_now();
	long long start = now(), took;
	unsigned int count = 0, *map, cpu = 5, node = 5, *code;
	double expected;

	CHECK(frequency && calls && getcpu && sync);
	usleep(50000);
	took = now() - start;
	expected = (double)took * frequency() / 1e9;
	ticks = ticks_now() - ticks;
	/* A busy machine lies between two of these. */
	CHECK(ticks > 0.99 * expected && ticks < 1.5 * expected);
	map = calls(&count);
	CHECK(count > __NR_clock_gettime64 && map[__NR_exit / 32] & 0x80000000 >> __NR_exit % 32);
	CHECK(map[__NR_clock_gettime64 / 32] & 0x80000000 >> __NR_clock_gettime64 % 32);
	/* create_module(), which no Linux has any more. */
	CHECK(!(map[127 / 32] & 0x80000000 >> 127 % 32));
	CHECK(!getcpu(&cpu, &node) && !cpu && !node && !getcpu(NULL, NULL));
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code[0] = LI_R3(7);
	code[1] = BLR;
	CHECK(!sync(code, code + 2) && ((int (*)(void))code)() == 7);
	code[0] = LI_R3(8);
	CHECK(!sync(code, code + 2) && ((int (*)(void))code)() == 8);
	return !munmap(code, PAGE);
}

static volatile unsigned long came_from;

static void note_caller(int sig)
{
	came_from = (unsigned long)__builtin_return_address(0);
}

/* A process may move its vDSO: the return from handlers and clocks go on at the new place. */
int moved_vdso(void)
{
	unsigned long data, data_end, code, code_end, base;
	char *place;
	int pid, failed;

	CHECK(find("[vvar]", &data, &data_end) && find("[vdso]", &code, &code_end));
	CHECK(data_end == code && code == getauxval(AT_SYSINFO_EHDR));
	signal(SIGUSR1, note_caller);
	kill(getpid(), SIGUSR1);
	CHECK(came_from == (unsigned long)vdso_function(code, "__kernel_sigtramp32"));
	place = mmap(NULL, code_end - data, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	base = (unsigned long)place + (code - data);
	pid = fork();
	if (!pid) {
		int (*gettime64)(int, struct time64 *) = vdso_function(code, "__kernel_clock_gettime64");
		struct time64 before, t;

		gettime64 = (void *)((unsigned long)gettime64 - code + base);
		if (mremap((void *)data, data_end - data, data_end - data, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place ||
		    mremap((void *)code, code_end - code, code_end - code, MREMAP_MAYMOVE | MREMAP_FIXED, base) != (void *)base)
			_exit(1);
		raw(__NR_kill, getpid(), SIGUSR1, 0, &failed);
		if (came_from - base >= code_end - code)
			_exit(2);
		before = called(CLOCK_MONOTONIC);
		if (gettime64(CLOCK_MONOTONIC, &t) || in_ns(t) < in_ns(before))
			_exit(3);
		_exit(9);
	}
	CHECK(wait_for(pid, 9 << 8));
	return !munmap(place, code_end - data);
}

/* A debugger reads the vDSO of a program and stops it there; that of others is as it was. */
int debugged_vdso(void)
{
	int (*gettime64)(int, struct time64 *) = vdso_function(getauxval(AT_SYSINFO_EHDR), "__kernel_clock_gettime64");
	unsigned long was, regs[48];
	struct time64 t;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		_exit(gettime64(CLOCK_MONOTONIC, &t) ? 1 : 3);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	was = ptrace(PTRACE_PEEKTEXT, pid, gettime64, 0);
	CHECK(was == *(unsigned int *)gettime64 && !ptrace(PTRACE_POKETEXT, pid, gettime64, BREAKPOINT));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0) && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(GETREGS, pid, 0, regs) && regs[NIP] == (unsigned long)gettime64);
	CHECK(!gettime64(CLOCK_MONOTONIC, &t));
	CHECK(!ptrace(PTRACE_POKETEXT, pid, gettime64, was) && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}
