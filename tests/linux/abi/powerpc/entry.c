// SPDX-License-Identifier: MIT OR Apache-2.0
/* System calls, and what the kernel tells a program about itself. */
#include "powerpc.h"
#include <asm/cputable.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <ucontext.h>

#define CR0_SO	0x10000000

long raw(int nr, long a, long b, long c, int *failed)
{
	register long r0 asm ("r0") = nr, r3 asm ("r3") = a, r4 asm ("r4") = b, r5 asm ("r5") = c;
	long status;

	asm volatile ("sc\n\tmfcr %4"
		      : "+r" (r0), "+r" (r3), "+r" (r4), "+r" (r5), "=r" (status)
		      : : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "cr0", "memory");
	*failed = !!(status & CR0_SO);
	return r3;
}

void push_without_stack(void)
{
	asm volatile ("mr 9, 1\n\tli 1, 16\n\tstwu 1, -16(1)\n\tmr 1, 9" : : : "r9", "memory");
}

int as(const char *what)
{
	return 1;
}

int hwcap(void)
{
	const unsigned long all = PPC_FEATURE_32 | PPC_FEATURE_HAS_FPU | PPC_FEATURE_HAS_MMU;

	CHECK((getauxval(AT_HWCAP) & all) == all && !(getauxval(AT_HWCAP) & PPC_FEATURE_HAS_ALTIVEC));
	CHECK(getauxval(AT_DCACHEBSIZE) == 32 && getauxval(AT_ICACHEBSIZE) == 32);
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
	CHECK(bytes && !strncmp(text, "processor\t: 0\ncpu\t\t: 60", 23) && strstr(text, "\nrevision\t: "));
	return 1;
}

/* A system call keeps all registers but r0 and r3 to r12, CTR, XER and CR0.  It is the more on this kernel: all but r3 and CR0. */
int registers(void)
{
	static unsigned int in[32], out[32];
	unsigned int lr_ctr_xer_cr[4], i;

	for (i = 13; i < 32; i++)
		in[i] = 100 + i;
	asm volatile ("stwu 1, -112(1)\n\t"
		      "stmw 13, 24(1)\n\t"
		      "stw %1, 8(1)\n\t"
		      "stw %2, 12(1)\n\t"
		      "mflr 0\n\t"
		      "stw 0, 16(1)\n\t"
		      "mr 12, %0\n\t"
		      "lmw 13, 52(12)\n\t"
		      "lis 0, 0xabcd\n\tmtlr 0\n\tmtcrf 0x7f, 0\n\t"
		      "li 0, 0x777\n\tmtctr 0\n\t"
		      "li 4, 104\n\tli 5, 105\n\tli 6, 106\n\tli 7, 107\n\tli 8, 108\n\tli 9, 109\n\tli 10, 110\n\tli 11, 111\n\tli 12, 112\n\t"
		      "li 0, %3\n\t"
		      "sc\n\t"
		      "stw 2, 20(1)\n\t"
		      "lwz 2, 8(1)\n\t"
		      "stw 0, 0(2)\n\tstw 3, 12(2)\n\tstw 4, 16(2)\n\tstw 5, 20(2)\n\tstw 6, 24(2)\n\tstw 7, 28(2)\n\tstw 8, 32(2)\n\t"
		      "stw 9, 36(2)\n\tstw 10, 40(2)\n\tstw 11, 44(2)\n\tstw 12, 48(2)\n\tstmw 13, 52(2)\n\t"
		      "lwz 2, 12(1)\n\t"
		      "mflr 0\n\tstw 0, 0(2)\n\tmfctr 0\n\tstw 0, 4(2)\n\tmfxer 0\n\tstw 0, 8(2)\n\tmfcr 0\n\tstw 0, 12(2)\n\t"
		      "lwz 2, 20(1)\n\t"
		      "lwz 0, 16(1)\n\tmtlr 0\n\t"
		      "lmw 13, 24(1)\n\t"
		      "addi 1, 1, 112"
		      : : "r" (in), "r" (out), "r" (lr_ctr_xer_cr), "i" (__NR_getppid)
		      : "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "ctr", "xer", "cr0", "cr1", "cr2",
			"cr3", "cr4", "cr5", "cr6", "cr7", "memory");
	CHECK(out[3] == (unsigned int)getppid());
	for (i = 13; i < 32; i++)
		CHECK(out[i] == in[i]);
	CHECK(lr_ctr_xer_cr[0] == 0xabcd0000 && !(lr_ctr_xer_cr[3] & CR0_SO));
	return 1;
}

/* 64 bits in two registers, of which the first has an odd number. */
int wide_arguments(void)
{
	char name[] = "/tmp/wideXXXXXX", byte = 'x';
	const off64_t far = 0x123456789a;
	struct stat64 st;
	int fd = mkstemp64(name);

	CHECK(fd >= 0 && pwrite64(fd, &byte, 1, far) == 1 && !fstat64(fd, &st) && st.st_size == far + 1);
	byte = 0;
	CHECK(pread64(fd, &byte, 1, far) == 1 && byte == 'x');
	CHECK(!ftruncate64(fd, 0x100000001) && !fstat64(fd, &st) && st.st_size == 0x100000001);
	CHECK(!truncate64(name, 0x200000002) && !stat64(name, &st) && st.st_size == 0x200000002);
	CHECK(!posix_fadvise64(fd, 0x100000000, 0x100000000, POSIX_FADV_DONTNEED));
	CHECK(posix_fallocate64(fd, 0x1000, 0x1000) == 0);
	return !close(fd) && !unlink(name);
}

/* One that is stopped goes on. */
int restarts(void)
{
	struct timespec time = { 0, 200000000 };
	long long start = now();
	int pid = fork(), failed;

	if (!pid) {
		long result = raw(__NR_nanosleep, (long)&time, 0, 0, &failed);

		_exit(result || failed);
	}
	usleep(50000);
	kill(pid, SIGSTOP);
	usleep(20000);
	kill(pid, SIGCONT);
	if (!wait_for(pid, 0))
		return 0;
	CHECK(now() - start >= 200000000);
	CHECK(raw(-1, 0, 0, 0, &failed) == ENOSYS && failed);
	CHECK(raw(__NR_close, -1, 0, 0, &failed) == EBADF && failed);
	return 1;
}

/* The processor's version, which a program reads by an instruction of the kernel's. */
int version(void)
{
	unsigned int pvr;

	asm ("mfpvr %0" : "=r" (pvr));
	CHECK(pvr >> 16 >= 3 && pvr >> 16 <= 9);
	/* A hint that these processors do not have. */
	asm volatile (".long 0x7c0005ec | 1 << 11" : : : "memory");
	return 1;
}

/* A program begins whose addresses nothing moves: its stack ends as far up as one can. */
int fixed_layout(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		personality(ADDR_NO_RANDOMIZE);
		execl("/bin/busybox", "true", NULL);
		_exit(2);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	return 1;
}

/* Code that a program writes is what it executes, again and again at one place. */
int written_code(void)
{
	unsigned int *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	CHECK(code != MAP_FAILED);
	for (i = 0; i < 256; i++) {
		unsigned int *at = code + i % 3 * (PAGE / 4 - 1);

		at[0] = LI_R3(i);
		at[1] = BLR;
		__builtin___clear_cache((char *)at, (char *)(at + 2));
		CHECK(((int (*)(void))at)() == i);
	}
	return !munmap(code, 2 * PAGE);
}

static volatile int counter;

static void *count(void *arg)
{
	int i;

	for (i = 0; i < 200000; i++)
		__sync_fetch_and_add(&counter, 1);
	return NULL;
}

/* A reservation ends with whoever interrupts it. */
int reservations(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { };
	pthread_t threads[2];
	int i;

	catch(SIGALRM, tick, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	counter = 0;
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, count, NULL));
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(counter == 400000);
	return 1;
}

static ucontext_t caller, coroutine;
static volatile int switched;
static volatile double of_coroutine;

static void run_coroutine(int first, int second)
{
	int i;

	of_coroutine = first / 2.0;
	for (i = 0; i < 3; i++) {
		switched += second;
		of_coroutine *= 1.5;
		swapcontext(&coroutine, &caller);
	}
}

/* A program switches its stacks: by the kernel, which knows its registers and signals. */
int contexts(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	volatile double mine = 2.5;
	sigset_t set, blocked;
	int i, failed;

	CHECK(!getcontext(&coroutine));
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &caller;
	makecontext(&coroutine, (void (*)(void))run_coroutine, 2, 3, 7);
	for (i = 1; i <= 3; i++) {
		CHECK(!swapcontext(&caller, &coroutine));
		mine *= 2;
		CHECK(switched == 7 * i && mine == 2.5 * (1 << i));
	}
	CHECK(of_coroutine == 1.5 * 1.5 * 1.5 * 1.5);
	/* The kernel's own call: it notes signals, and refuses what is too small. */
	CHECK(raw(__NR_swapcontext, (long)&coroutine, 0, 16, &failed) == EINVAL && failed);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(!raw(__NR_swapcontext, (long)&coroutine, 0, sizeof(coroutine), &failed) && !failed);
	memcpy(&blocked, &coroutine.uc_sigmask, 8);
	CHECK(sigismember(&blocked, SIGUSR2) == 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 1;
}
