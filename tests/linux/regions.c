// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a small process may do, and what makes it large: each check runs in a child that is small, and says what became of it.
 * Linked with musl (xtask/src/linux/musl.rs).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define REGION (64UL << 20)
#define CHECK(condition) do { if (!(condition)) { printf("# %s:%d: %s\n", __func__, __LINE__, #condition); return 0; } } while (0)

static sigjmp_buf back;
static siginfo_t got;

static void jump(int sig, siginfo_t *si, void *context)
{
	got = *si;
	siglongjmp(back, 1);
}

/* The bytes of this process's region, 0 if it is large. */
static unsigned long region(void)
{
	char line[200];
	unsigned long kib = ~0UL;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "L4Small: %lu kB", &kib);
	if (f)
		fclose(f);
	return kib * 1024;
}

static int is_small(void) { return region() == REGION; }
static int is_large(void) { return region() == 0; }

/* Whether the statement ends with SIGSEGV. */
#define FAULTS(what) (sigsetjmp(back, 1) ? 1 : ({ what; 0; }))

static uint32_t read_at(unsigned long at)
{
	return *(volatile uint32_t *)at;
}

/* Stack, heap, image, mappings and the vDSO: all are within the region. */
static int layout(void)
{
	char line[300];
	unsigned long start, end, most = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && end > most)
			most = end;
	fclose(f);
	CHECK(most <= REGION && most > REGION / 2);
	CHECK(malloc(4 << 20));
	return is_small();
}

/* What it sees of its segments are those of any program. */
static int selectors(void)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		_exit(is_small() ? 7 : 8);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return is_small();
}

/* Registers, the FPU, memory and the thread pointer are the same after what makes it large. */
static int beyond_ds(void)
{
	register uint32_t a asm ("ebx") = 0x12345678, b asm ("esi") = 0x9abcdef0;
	static volatile uint32_t kept = 77;
	volatile char on_stack = 5;
	void *thread = (void *)pthread_self();
	double pi;

	asm volatile ("fldpi" : "=t" (pi));
	CHECK(FAULTS(asm volatile ("movl %0, %%eax" : : "m" (*(uint32_t *)(REGION + 4)), "r" (a), "r" (b) : "eax")));
	CHECK(got.si_signo == SIGSEGV && got.si_code == SEGV_MAPERR && got.si_addr == (void *)(REGION + 4));
	CHECK(kept == 77 && on_stack == 5 && pthread_self() == (pthread_t)thread && pi > 3.14 && pi < 3.15);
	return is_large();
}

static int goes_on(void)
{
	uint32_t *far = mmap((void *)0x50000000, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	uint32_t sum = 0, low = 0x11111111, value;
	float half = 0.5f;

	CHECK(far == (void *)0x50000000);
	/* Nothing of it was used: the segment says so first. */
	CHECK(is_small());
	asm volatile ("flds %[half]\n\t"
		      "movl %[low], %%ecx\n\t"
		      "movl %%ecx, (%[far])\n\t"
		      "addl (%[far]), %[sum]\n\t"
		      "movl %%gs:0, %%eax\n\t"
		      "fstps %[half]"
		      : [sum] "+&r" (sum), [half] "+m" (half), "=&a" (value) : [low] "r" (low), [far] "r" (far) : "ecx", "memory");
	CHECK(sum == 0x11111111 && *far == 0x11111111 && half == 0.5f && value == (uint32_t)(uintptr_t)pthread_self());
	return is_large();
}

#define BY(name, text) \
	static int name(void) \
	{ \
		CHECK(FAULTS(asm volatile (text : : "r" (REGION + 0x10000) : "eax", "memory"))); \
		CHECK(got.si_signo == SIGSEGV); \
		return is_large(); \
	}
BY(beyond_es, "movl %%es:(%0), %%eax")
BY(beyond_ss, "movl %%ss:(%0), %%eax")
BY(beyond_cs, "movl %%cs:(%0), %%eax")
BY(beyond_gs, "movl %%gs:(%0), %%eax")
BY(writes_beyond, "movl $0, (%0)")
BY(jumps_beyond, "jmp *%0")
/* The segments of large processes. */
static int loads_ds(void)
{
	uint32_t value = 0;

	CHECK(!FAULTS(asm volatile ("movw %w1, %%ds; movl (%2), %0" : "=r" (value) : "r" (0x23), "r" ("abcd") : "memory")));
	CHECK(value == 0x64636261);
	return is_small() || is_large();
}

/* As glibc's variables of a thread lie: below its pointer. */
static int below_thread(void)
{
	uint32_t *self = (uint32_t *)pthread_self(), value = ~self[-1];

	CHECK(!FAULTS(asm volatile ("movl %%gs:-4, %0" : "=r" (value))));
	CHECK(value == self[-1]);
	return is_small() || is_large();
}

/* The last bytes of the region, and across its end. */
static int at_the_end(void)
{
	char *last = mmap((void *)(REGION - PAGE), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	/* Once in a while the vDSO lies there, of which no part can be replaced.  It can be read. */
	if (last == MAP_FAILED && errno == EINVAL) {
		read_at(REGION - 4);
	} else {
		CHECK(last == (char *)(REGION - PAGE));
		last[PAGE - 1] = 9;
		CHECK(*(uint32_t *)(last + PAGE - 4) == 9 << 24);
	}
	CHECK(is_small());
	CHECK(FAULTS(read_at(REGION - 2)));
	return is_large();
}

static int much_memory(void)
{
	size_t bytes = 200 << 20, at;
	char *much = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(much != MAP_FAILED);
	for (at = 0; at < bytes; at += 10 << 20)
		much[at] = at >> 20;
	for (at = 0; at < bytes; at += 10 << 20)
		CHECK(much[at] == (char)(at >> 20));
	return is_large();
}

/* A kernel's write goes beyond as well as a program's own. */
static int read_beyond(void)
{
	char *far = mmap((void *)0x60000000, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	int ends[2];

	CHECK(far == (void *)0x60000000 && !pipe(ends));
	CHECK(write(ends[1], "word", 5) == 5 && read(ends[0], far, 5) == 5);
	CHECK(!strcmp(far, "word"));
	return is_large();
}

static void returns_to(int sig, siginfo_t *si, void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EIP] = 0x10000000;
}

/* From a signal's handler to an address that its segment does not have. */
static int returns_beyond(void)
{
	struct sigaction action = { .sa_sigaction = returns_to, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &action, NULL);
	CHECK(FAULTS(raise(SIGUSR1)));
	CHECK(got.si_signo == SIGSEGV && got.si_addr == (void *)0x10000000);
	return is_large();
}

static void *adds(void *to)
{
	int i;

	for (i = 0; i < 1000; i++) {
		__sync_fetch_and_add((int *)to, 1);
		if (i % 100 == 0)
			sched_yield();
	}
	return to;
}

/* Threads continue while one of them makes the process large. */
static int threads(void)
{
	pthread_t thread[4];
	int i, sum = 0;
	void *result;

	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, adds, &sum));
	CHECK(FAULTS(read_at(0x70000000)));
	for (i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], &result) && result == &sum);
	CHECK(sum == 4000);
	return is_large();
}

/* What a large process begins is small again, and its child is as it is. */
static int executes(void)
{
	int status;
	pid_t child;

	CHECK(FAULTS(read_at(0x70000000)) && is_large());
	child = fork();
	if (!child)
		_exit(is_large() ? 7 : 8);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	child = vfork();
	if (!child) {
		execl("/proc/self/exe", "regions", "small", NULL);
		_exit(9);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return 1;
}

/* Uses so much of the stack, by frames that the compiler does not join. */
static __attribute__((noinline)) int use_stack(size_t bytes)
{
	char part[64 << 10];
	int below = bytes > sizeof(part) ? use_stack(bytes - sizeof(part)) : 0;

	asm volatile ("movb $1, (%0)" : : "r" (part) : "memory");
	return part[0] + below;
}

/* A program that may have a larger stack than a region has room for gets it. */
static int large_stack(void)
{
	struct rlimit limit;
	int status;
	pid_t child;

	CHECK(!getrlimit(RLIMIT_STACK, &limit));
	limit.rlim_cur = 96 << 20;
	CHECK(!setrlimit(RLIMIT_STACK, &limit));
	child = vfork();
	if (!child) {
		execl("/proc/self/exe", "regions", "stack", NULL);
		_exit(9);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	return 1;
}

static const struct check {
	const char *name;
	int (*check)(void);
} checks[] = {
#define C(name) { #name, name }
	C(layout), C(selectors), C(beyond_ds), C(goes_on), C(beyond_es), C(beyond_ss), C(beyond_cs), C(beyond_gs), C(writes_beyond),
	C(jumps_beyond), C(returns_beyond), C(loads_ds), C(below_thread), C(at_the_end), C(much_memory), C(read_beyond), C(threads), C(executes),
	C(large_stack),
};

/*
 * A token goes around a number of processes a number of times; each adds one.  At the end all must be small, if the
 * caller says so.
 */
static int ring(int count, int rounds, int wanted)
{
	int first[2], in, i, token = 0, status, wrong = 0;

	if (pipe(first))
		return 1;
	in = first[0];
	for (i = 0; i < count; i++) {
		int next[2];

		if (pipe(next))
			return 1;
		switch (fork()) {
		case -1:
			return 1;
		case 0:
			close(next[0]);
			close(first[1]);
			while (read(in, &token, sizeof(token)) == sizeof(token)) {
				token++;
				write(next[1], &token, sizeof(token));
			}
			_exit(wanted && !is_small());
		}
		close(in);
		close(next[1]);
		in = next[0];
	}
	for (i = 0; i < rounds; i++) {
		write(first[1], &token, sizeof(token));
		if (read(in, &token, sizeof(token)) != sizeof(token))
			return 1;
	}
	close(first[1]);
	while (wait(&status) > 0)
		wrong |= status;
	return wrong || token != count * rounds;
}

/* By default: small while two switch to each other, large while one makes only system calls. */
static int by_use(void)
{
	int to[2], from[2], i, status, round;
	char byte = 0;
	pid_t child;

	CHECK(!pipe(to) && !pipe(from) && is_large());
	child = fork();
	if (!child) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1)
			write(from[1], &byte, 1);
		_exit(0);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 300; i++)
			CHECK(write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1);
		CHECK(is_small());
		for (i = 0; i < 20000; i++)
			syscall(SYS_getppid);
		/* Once more to the other and back: that is looked at when a process is switched to. */
		CHECK(write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1);
		CHECK(is_large());
	}
	close(to[1]);
	CHECK(waitpid(child, &status, 0) == child && !status);
	return 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = jump, .sa_flags = SA_SIGINFO };
	unsigned int i, failed = 0;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	if (argc == 2 && !strcmp(argv[1], "use"))
		return !by_use();
	if (argc == 2 && !strcmp(argv[1], "stack"))
		return use_stack(80 << 20) == 80 << 4 ? 7 : 8;
	if (argc == 2 && !strcmp(argv[1], "maps"))
		return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
	if (argc >= 4)
		return ring(atoi(argv[2]), atoi(argv[3]), argc == 4);
	if (argc > 1)
		return is_small() ? 7 : 8;
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int status = 0;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child) {
			status = is_small() ? !checks[i].check() : 2;
			fflush(stdout);
			_exit(status);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status) {
			printf("not ok %s: status %#x\n", checks[i].name, status);
			failed++;
		} else {
			printf("ok %s\n", checks[i].name);
		}
	}
	return failed;
}
