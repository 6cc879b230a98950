// SPDX-License-Identifier: MIT OR Apache-2.0
/* System calls, what the kernel tells a program about itself, and its helpers at the end of the addresses. */
#include "armel.h"
#include <asm/hwcap.h>

#define ARM_BREAKPOINT	0xf0001
#define ARM_UNKNOWN	0xf0007
#define ARM_INVALID	0xf0800

long raw(int nr, long a, long b, long c)
{
	register long r7 asm ("r7") = nr, r0 asm ("r0") = a, r1 asm ("r1") = b, r2 asm ("r2") = c;

	asm volatile ("swi 0" : "+r" (r0) : "r" (r7), "r" (r1), "r" (r2) : "memory");
	return r0;
}

void push_without_stack(void)
{
	asm volatile ("mov r4, sp; mov sp, #16; str r0, [sp, #-4]!; mov sp, r4" : : : "r4", "memory");
}

int as(const char *what)
{
	return 1;
}

int hwcap(void)
{
	const unsigned long least = HWCAP_SWP | HWCAP_HALF | HWCAP_THUMB | HWCAP_FAST_MULT | HWCAP_EDSP;

	CHECK((getauxval(AT_HWCAP) & least) == least && !(getauxval(AT_HWCAP) & HWCAP_VFP));
	CHECK(!strcmp((const char *)getauxval(AT_PLATFORM), "v5l"));
	CHECK(getauxval(AT_PAGESZ) == PAGE);
	return 1;
}

int cpuinfo(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char text[2048] = "";
	size_t bytes;

	CHECK(file);
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	CHECK(bytes && !strncmp(text, "processor\t: 0\n", 14) && strstr(text, "\nBogoMIPS\t: "));
	CHECK(strstr(text, "\nFeatures\t: swp half thumb fastmult edsp"));
	return 1;
}

/* A system call changes r0 alone, and no flags. */
int registers(void)
{
	unsigned long out[14];
	int i;

	asm volatile ("push	{r4-r11}\n\t"
		      "push	{%0}\n\t"
		      "mov	r7, %1\n\t"
		      "mov	r0, #100\n\t"
		      "mov	r1, #101\n\t"
		      "mov	r2, #102\n\t"
		      "mov	r3, #103\n\t"
		      "mov	r4, #104\n\t"
		      "mov	r5, #105\n\t"
		      "mov	r6, #106\n\t"
		      "mov	r8, #108\n\t"
		      "mov	r9, #109\n\t"
		      "mov	r10, #110\n\t"
		      "mov	r11, #111\n\t"
		      "mov	r12, #112\n\t"
		      "mov	lr, #114\n\t"
		      "msr	cpsr_f, #0xa0000000\n\t"
		      "swi	0\n\t"
		      "str	lr, [sp, #-4]!\n\t"
		      "ldr	lr, [sp, #4]\n\t"
		      "stmia	lr, {r0-r12}\n\t"
		      "mrs	r0, cpsr\n\t"
		      "str	r0, [lr, #52]\n\t"
		      "pop	{lr}\n\t"
		      "add	sp, sp, #4\n\t"
		      "pop	{r4-r11}"
		      : : "r" (out), "i" (__NR_getppid) : "r0", "r1", "r2", "r3", "r12", "lr", "cc", "memory");
	CHECK(out[0] == (unsigned long)getppid() && out[7] == __NR_getppid);
	for (i = 1; i < 13; i++)
		CHECK(i == 7 || out[i] == 100u + i);
	CHECK(out[13] >> 28 == 0xa);
	return 1;
}

/* One that is stopped goes on, and its number is still in r7. */
int restarts(void)
{
	struct timespec time = { 0, 200000000 };
	long long start = now();
	int pid = fork();

	if (!pid) {
		register long r7 asm ("r7") = __NR_nanosleep, r0 asm ("r0") = (long)&time, r1 asm ("r1") = 0;

		asm volatile ("swi 0" : "+r" (r0), "+r" (r7) : "r" (r1) : "memory");
		_exit(r0 || r7 != __NR_nanosleep);
	}
	usleep(50000);
	kill(pid, SIGSTOP);
	usleep(20000);
	kill(pid, SIGCONT);
	if (!wait_for(pid, 0))
		return 0;
	CHECK(now() - start >= 200000000);
	return 1;
}

/* Calls of the processor's own, above all others. */
int processors_calls(void)
{
	CHECK(raw(ARM_UNKNOWN, 0, 0, 0) == -ENOSYS && raw(0x7fff, 0, 0, 0) == -ENOSYS);
	catch(SIGTRAP, jump, 0);
	if (!sigsetjmp(back, 1)) {
		raw(ARM_BREAKPOINT, 0, 0, 0);
		CHECK(!"no signal");
	}
	CHECK(got.si_signo == SIGTRAP && got.si_code == TRAP_BRKPT);
	RAISES(SIGILL, ILL_ILLTRP, raw(ARM_INVALID, 0, 0, 0));
	return 1;
}

#define exchange_if	((int (*)(int old, int new, volatile int *at))0xffff0fc0)
#define thread_pointer	((void *(*)(void))0xffff0fe0)
#define version		(*(int *)0xffff0ffc)

static volatile int counter;

static void *count(void *arg)
{
	int i, old;

	for (i = 0; i < 200000; i++)
		do
			old = counter;
		while (exchange_if(old, old + 1, &counter));
	return thread_pointer();
}

/* Compare and exchange is one step for whoever interrupts it; each thread has a pointer of its own. */
int helpers(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { };
	pthread_t threads[2];
	void *pointers[2];
	int i;

	CHECK(version >= 2 && thread_pointer() == __builtin_thread_pointer());
	catch(SIGALRM, tick, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	counter = 0;
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, count, NULL));
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], &pointers[i]));
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(counter == 400000 && pointers[0] != pointers[1] && pointers[0] != thread_pointer());
	return 1;
}

/* The page with the helpers is said to be there. */
int vectors(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		found += strstr(line, "[vectors]") && !strncmp(line, "ffff0000-ffff1000 r-xp ", 23);
	fclose(maps);
	return found == 1;
}

/* Code that a program writes is what it executes, again and again at one place. */
int written_code(void)
{
	unsigned int *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	CHECK(code != MAP_FAILED);
	for (i = 0; i < 256; i++) {
		unsigned int *at = code + i % 3 * (PAGE / 4 - 1);

		at[0] = 0xe3a00000 | i;		/* mov r0, #i */
		at[1] = 0xe12fff1e;		/* bx lr */
		__builtin___clear_cache((char *)at, (char *)(at + 2));
		CHECK(((int (*)(void))at)() == i);
	}
	CHECK(raw(0xf0002, (long)code, (long)code - PAGE, 0) == -EINVAL);
	return !munmap(code, 2 * PAGE);
}

/* Addresses far beyond all that is mapped are the program's own, too, wherever Linux has it: so many live at once. */
int far_code(void)
{
	enum { MANY = 40 };
	int pids[MANY], pipes[2], i, good = 1;
	char c;

	CHECK(!pipe(pipes));
	for (i = 0; i < MANY; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(pipes[1]);
			if (raw(0xf0002, 0, 0x90000000, 0) || raw(0xf0002, 0, 0xf0000000, 0) != -EFAULT)
				_exit(1);
			/* Until all have done so. */
			_exit(read(pipes[0], &c, 1));
		}
	}
	close(pipes[1]);
	for (i = 0; i < MANY; i++)
		good &= wait_for(pids[i], 0);
	close(pipes[0]);
	return good;
}

__attribute__((target("thumb"), noinline)) static int called_in_thumb(int n)
{
	return n + 1;
}

static volatile int in_thumb;

__attribute__((target("thumb"), noinline)) static void thumb_handler(int sig)
{
	in_thumb += called_in_thumb(sig);
}

/* Thumb's instructions: system calls, and handlers, which leave the state of who was interrupted. */
int thumb(void)
{
	register long r0 asm ("r0");
	int i;

	asm volatile ("push	{r4, r7}\n\t"
		      "mov	r7, %1\n\t"
		      "adr	r4, 1f + 1\n\t"
		      "bx	r4\n\t"
		      ".thumb\n"
		      "1:	swi	0\n\t"
		      "adr	r4, 2f\n\t"
		      "bx	r4\n\t"
		      ".balign	4\n\t"
		      ".arm\n"
		      "2:	pop	{r4, r7}"
		      : "=r" (r0) : "i" (__NR_getpid) : "memory");
	CHECK(r0 == getpid());
	signal(SIGUSR1, thumb_handler);
	for (i = 0; i < 3; i++)
		kill(getpid(), SIGUSR1);
	CHECK(in_thumb == 3 * (SIGUSR1 + 1));
	return 1;
}
