// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What i386 programs expect of Linux, a named check each; passes on any Linux that
 * runs i386 programs. Prints a line each, and ends with the number that failed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define CHECK(condition) do { if (!(condition)) { printf("# %s:%d: %s (errno %d)\n", __func__, __LINE__, #condition, errno); return 0; } } while (0)

static long raw(int nr, long a, long b, long c)
{
	long result;

	asm volatile ("int $0x80" : "=a" (result) : "a" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return result;
}

static int int80(void)
{
	CHECK(raw(__NR_getpid, 0, 0, 0) == getpid());
	CHECK(raw(__NR_close, 77, 0, 0) == -EBADF);
	CHECK(raw(9999, 0, 0, 0) == -ENOSYS);
	return 1;
}

/* Linux's convention for sysenter: it returns into the vDSO, which undoes the pushes. */
long by_sysenter(int nr, long a, long b, long c, long d, long e, long f);
asm (".text\n.globl by_sysenter\nby_sysenter:\n"
     "push %ebx; push %esi; push %edi; push %ebp\n"
     "mov 20(%esp), %eax; mov 24(%esp), %ebx; mov 28(%esp), %ecx; mov 32(%esp), %edx\n"
     "mov 36(%esp), %esi; mov 40(%esp), %edi; mov 44(%esp), %ebp\n"
     "call 1f\n"
     "pop %ebp; pop %edi; pop %esi; pop %ebx; ret\n"
     "1: push %ecx; push %edx; push %ebp; mov %esp, %ebp; sysenter\n");

/* A bit of what the processor has. */
static int feature(int bit)
{
	unsigned int a, b, c, d;

	asm ("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (1));
	return d >> bit & 1;
}

enum { FPU = 0, TSC = 4, SEP = 11, CMOV = 15, FXSR = 24, SSE = 25 };

/* The auxiliary vector tells the processor's features; libc has its own idea of them. */
static int hwcap(void)
{
	static const int bits[] = { FPU, TSC, CMOV, FXSR, SSE };
	int fd = open("/proc/self/auxv", O_RDONLY);
	unsigned long told = 0;
	Elf32_auxv_t entry;
	unsigned int i;

	while (read(fd, &entry, sizeof(entry)) == sizeof(entry))
		if (entry.a_type == AT_HWCAP)
			told = entry.a_un.a_val;
	close(fd);
	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		CHECK((told >> bits[i] & 1) == feature(bits[i]));
	if (!feature(FXSR))
		printf("# no fxsave\n");
	return 1;
}

static int sysenter(void)
{
	char *p;

	if (!feature(SEP))
		return 1;
	CHECK(by_sysenter(__NR_getpid, 0, 0, 0, 0, 0, 0) == getpid());
	p = (char *)by_sysenter(__NR_mmap2, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK((unsigned long)p < -4096UL);
	*p = 1;
	CHECK(by_sysenter(__NR_munmap, (long)p, PAGE, 0, 0, 0, 0) == 0);
	return 1;
}

static volatile void *return_address;

static void note_return(int sig)
{
	return_address = __builtin_extract_return_addr(__builtin_return_address(0));
}

static int vdso(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR), entry = getauxval(AT_SYSINFO), used;

	CHECK(base && !memcmp((void *)base, ELFMAG, SELFMAG));
	asm ("mov %%gs:0x10, %0" : "=r" (used));
	CHECK(entry - base < 2 * PAGE && used == entry);
	/* glibc leaves the return from a handler to the vDSO. */
	signal(SIGUSR1, note_return);
	raise(SIGUSR1);
	CHECK((unsigned long)return_address - base < 2 * PAGE);
	return 1;
}

static sigjmp_buf back;
static siginfo_t got;
static volatile int handled;

static void jump(int sig, siginfo_t *si, void *uc)
{
	got = *si;
	siglongjmp(back, 1);
}

static void catch(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	sigaction(sig, &sa, NULL);
}

#define RAISES(sig, code, what) do { catch(sig, jump, 0); if (!sigsetjmp(back, 1)) { what; CHECK(!"no signal"); } \
	CHECK(got.si_signo == sig); CHECK(got.si_code == code); } while (0)

static int exceptions(void)
{
	volatile int zero = 0, result;
	char *page = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page + PAGE, PAGE);
	RAISES(SIGSEGV, SEGV_MAPERR, page[PAGE] = 1);
	CHECK(got.si_addr == page + PAGE);
	RAISES(SIGSEGV, SEGV_ACCERR, page[5] = 1);
	CHECK(got.si_addr == page + 5);
	RAISES(SIGSEGV, SEGV_MAPERR, *(volatile int *)(8 + zero) = 1);
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

static char *guarded;

static void unprotect(int sig, siginfo_t *si, void *uc)
{
	handled++;
	mprotect((void *)((unsigned long)si->si_addr & -PAGE), PAGE, PROT_READ | PROT_WRITE);
}

static int write_barrier(void)
{
	int i;

	guarded = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 64; i++)
		guarded[i * PAGE] = i;
	mprotect(guarded, 64 * PAGE, PROT_READ);
	catch(SIGSEGV, unprotect, 0);
	handled = 0;
	for (i = 0; i < 64; i++)
		guarded[i * PAGE] += 1;
	CHECK(handled == 64);
	for (i = 0; i < 64; i++)
		CHECK(guarded[i * PAGE] == i + 1);
	mprotect(guarded, 64 * PAGE, PROT_NONE);
	RAISES(SIGSEGV, SEGV_ACCERR, handled += guarded[0]);
	return 1;
}

static volatile int spoilt;

static void spoil(int sig)
{
	static const double other[2] = { 9, 9 };

	asm volatile ("fninit; fldz; fldz; movups %0, %%xmm0; movups %0, %%xmm1; movups %0, %%xmm7" : : "m" (other[0]));
	spoilt++;
}

/* FPU and SSE registers are the thread's own, whatever happens in between. */
static int fpu_signals(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } }, none = { { 0, 0 }, { 0, 0 } };
	double in[2] = { 1.25, -3.5 }, out[2], x87;
	int rounds;

	if (!feature(SSE))
		return 1;
	signal(SIGALRM, spoil);
	setitimer(ITIMER_REAL, &timer, NULL);
	spoilt = 0;
	for (rounds = 0; spoilt < 20; rounds++) {
		asm volatile ("fninit; fldpi; movups %2, %%xmm0; movups %2, %%xmm7\n"
			      "mov $20000, %%ecx; 1: loop 1b\n"
			      "fstpl %1; movups %%xmm7, %0; mulps %%xmm0, %%xmm7"
			      : "=m" (out), "=m" (x87) : "m" (in) : "ecx", "memory");
		if (out[0] != in[0] || out[1] != in[1] || x87 < 3.14159 || x87 > 3.1416)
			break;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	CHECK(out[0] == in[0] && out[1] == in[1]);
	CHECK(x87 > 3.14159 && x87 < 3.1416);
	return 1;
}

static void change_fpu(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

	/* Behind the old format is that of fxsave: xmm0 is at its byte 160. */
	handled = fp && fp->_st[0].exponent == 0x4000;
	if (fp)
		*(float *)((char *)fp + sizeof(*fp) + 160) = 42;
}

static int fpu_frames(void)
{
	float in[4] = { 1, 2, 3, 4 }, out[4];

	if (!feature(SSE))
		return 1;
	catch(SIGUSR2, change_fpu, 0);
	handled = 0;
	asm volatile ("fninit; fldpi; movups %1, %%xmm0; int $0x80; movups %%xmm0, %0; fstp %%st(0)"
		      : "=m" (out) : "m" (in), "a" (__NR_kill), "b" (getpid()), "c" (SIGUSR2) : "memory");
	CHECK(handled);
	CHECK(out[0] == 42 && out[1] == 2);
	return 1;
}

#define X87	"st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)"

static volatile int seen;

/* Finds pi above 1 in the old part of the frame, spoils the registers, makes 1 of the pi. */
static void change_x87(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

	seen = fp && (fp->cw & 0xffff) == 0x27f && (fp->tag & 0xffff) == 0x0fff &&
	       fp->_st[0].exponent == 0x4000 && fp->_st[0].significand[3] == 0xc90f &&
	       fp->_st[1].exponent == 0x3fff && fp->_st[1].significand[3] == 0x8000;
	asm volatile ("fninit; fldz; fldz; fldz; fninit" : : : X87);
	if (fp)
		fp->_st[0] = fp->_st[1];
}

/* The old registers, on any processor: in frames, in a child, across both. */
static int x87(void)
{
	unsigned short mode = 0x27f, control;
	double first, second;
	int pid, status;

	catch(SIGUSR2, change_x87, 0);
	seen = 0;
	asm volatile ("fninit; fldcw %4; fld1; fldpi; int $0x80; fstpl %0; fstpl %1; fnstcw %2; fninit"
		      : "=m" (first), "=m" (second), "=m" (control), "=a" (pid)
		      : "m" (mode), "3" (__NR_kill), "b" (getpid()), "c" (SIGUSR2) : "memory", X87);
	CHECK(seen);
	CHECK(first == 1 && second == 1 && control == mode);
	asm volatile ("fninit; fldcw %4; fld1; fldpi; int $0x80; fstpl %1; fstpl %2; fnstcw %3; fninit"
		      : "=a" (pid), "=m" (first), "=m" (second), "=m" (control)
		      : "m" (mode), "0" (__NR_fork) : "memory", X87);
	status = first > 3.14159 && first < 3.1416 && second == 1 && control == mode;
	if (!pid)
		_exit(!status);
	CHECK(status);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	return 1;
}

static int fpu_fork(void)
{
	double in[2] = { 5, 6 }, out[2];
	int pid, status;

	if (!feature(SSE))
		return 1;
	asm volatile ("movups %2, %%xmm3; mov %3, %%eax; int $0x80; movups %%xmm3, %0" : "=m" (out), "=&a" (pid) : "m" (in), "i" (__NR_fork) : "memory");
	if (!pid)
		_exit(out[0] == 5 && out[1] == 6 ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(out[0] == 5 && out[1] == 6);
	return 1;
}

static __thread int mine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int sum, started;

static void *thread(void *arg)
{
	int i;

	mine = (int)(long)arg;
	pthread_mutex_lock(&mutex);
	started++;
	pthread_cond_broadcast(&cond);
	while (started < 8)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < 200; i++) {
		pthread_mutex_lock(&mutex);
		sum += mine;
		pthread_mutex_unlock(&mutex);
		if (i % 10 == 0)
			sched_yield();
	}
	return (void *)(long)(mine == (int)(long)arg);
}

static int threads(void)
{
	pthread_t t[8];
	long i;
	void *r;

	sum = started = 0;
	for (i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, thread, (void *)(i + 1)));
	for (i = 0; i < 8; i++) {
		CHECK(!pthread_join(t[i], &r));
		CHECK(r);
	}
	CHECK(sum == 200 * 36);
	return 1;
}

static volatile int done_sleeping;

static void *sleeper(void *arg)
{
	struct timespec nap = { 0, 50000 + 17000 * (long)arg };

	while (!done_sleeping)
		nanosleep(&nap, NULL);
	return arg;
}

static void *short_life(void *arg)
{
	return arg;
}

/* Timers fire one upon another while much is freed behind each: none may be lost. */
static int naps(void)
{
	enum { SLEEPERS = 8, LIVES = 1500 };
	pthread_t t[SLEEPERS], life;
	pthread_attr_t small;
	long i;

	done_sleeping = 0;
	CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 16 * PAGE));
	for (i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_create(&t[i], &small, sleeper, (void *)i));
	for (i = 0; i < LIVES; i++) {
		CHECK(!pthread_create(&life, &small, short_life, NULL));
		CHECK(!pthread_join(life, NULL));
	}
	done_sleeping = 1;
	for (i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_join(t[i], NULL));
	return 1;
}

static int wait_for(int pid, int expected)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (status != expected)
		printf("# status %x\n", status);
	CHECK(status == expected);
	return 1;
}

static int processes(void)
{
	char *args[] = { "abi", "exit", "7", NULL }, *control[] = { "abi", "x87", "control", NULL };
	unsigned short mode = 0x27f;
	struct clone_args ca = { .exit_signal = SIGCHLD };
	int i, pid;
	volatile int touched = 0;

	for (i = 0; i < 50; i++) {
		pid = fork();
		if (!pid)
			_exit(i);
		if (!wait_for(pid, i << 8))
			return 0;
	}
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(1);
	}
	if (!wait_for(pid, 7 << 8))
		return 0;
	/* A new program has new FPU state. */
	pid = fork();
	if (!pid) {
		asm volatile ("fldcw %0" : : "m" (mode));
		execv("/proc/self/exe", control);
		_exit(1);
	}
	if (!wait_for(pid, 0))
		return 0;
	pid = vfork();
	if (!pid) {
		touched = 1;
		execv("/proc/self/exe", args);
		_exit(1);
	}
	CHECK(touched);
	if (!wait_for(pid, 7 << 8))
		return 0;
	pid = syscall(__NR_clone3, &ca, sizeof(ca));
	if (!pid)
		_exit(9);
	CHECK(pid > 0);
	return wait_for(pid, 9 << 8);
}

static int copy_on_write(void)
{
	int pages = 256, i, pid;
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (i = 0; i < pages; i++)
		p[i * PAGE] = i;
	pid = fork();
	for (i = 0; i < pages; i++)
		if (p[i * PAGE] != (char)i)
			_exit(2);
	for (i = 0; i < pages; i++)
		p[i * PAGE] = pid ? 1 : 2;
	for (i = 0; i < pages; i++)
		if (p[i * PAGE] != (pid ? 1 : 2))
			_exit(3);
	if (!pid) {
		*shared = 1234;
		_exit(0);
	}
	if (!wait_for(pid, 0))
		return 0;
	CHECK(*shared == 1234);
	CHECK(mremap(p, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	return 1;
}

/* A page that was not used since a fork is moved to where another was: it is seen there. */
static int moved_mappings(void)
{
	enum { ALONE = 4 << 20 };
	int both = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS, pid;
	/* The only mapping that its page table has. */
	char *area = mmap(NULL, 3 * ALONE, PROT_NONE, kind, -1, 0), *to = (char *)(((long)area + 2 * ALONE - 1) & -ALONE);
	char *from = mmap(NULL, PAGE, both, kind, -1, 0);

	CHECK(area != MAP_FAILED && !munmap(area, 3 * ALONE));
	*from = 'n';
	pid = fork();
	if (!pid) {
		if (mmap(to, PAGE, both, kind | MAP_FIXED, -1, 0) != to)
			_exit(2);
		*to = 'o';
		if (mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
			_exit(3);
		_exit(*(volatile char *)to == 'n' ? 0 : 4);
	}
	return wait_for(pid, 0);
}

static int file_mappings(void)
{
	char path[] = "/tmp/abiXXXXXX", buf[5] = "";
	int fd = mkstemp(path);
	char *p, *q;

	CHECK(fd >= 0 && !unlink(path) && !ftruncate(fd, 3 * PAGE));
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	memcpy(p + PAGE, "text", 4);
	CHECK(!memcmp(q, "text", 4));
	q[0] = 'n';
	CHECK(p[PAGE] == 't');
	CHECK(!msync(p, 3 * PAGE, MS_SYNC));
	CHECK(pread(fd, buf, 4, PAGE) == 4 && !strcmp(buf, "text"));
	CHECK(!ftruncate(fd, PAGE));
	RAISES(SIGBUS, BUS_ADRERR, p[2 * PAGE] = 1);
	close(fd);
	return 1;
}

static int debugging(void)
{
	struct user_regs_struct regs;
	struct user_fpregs_struct fp;
	struct user_fpxregs_struct fpx;
	int pid = fork(), status, steps, calls;
	static volatile long cell = 11;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		asm volatile ("mov $1000, %%eax; nop; nop; nop; nop; int3" : : : "eax");
		raw(__NR_getppid, 0, 0, 0);
		asm volatile ("fninit; fldpi; int3");
		_exit(cell == 12 ? 5 : 6);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	for (steps = 0; steps < 5000; steps++) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
		if (regs.eax == 1000)
			break;
	}
	CHECK(regs.eax == 1000);
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.eax == 1000);
	CHECK(ptrace(PTRACE_PEEKDATA, pid, &cell, 0) == 11);
	CHECK(!ptrace(PTRACE_POKEDATA, pid, &cell, 12));
	for (calls = 0; calls < 2; calls++) {
		CHECK(!ptrace(PTRACE_SYSCALL, pid, 0, 0));
		CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
		CHECK(regs.orig_eax == __NR_getppid);
		CHECK(regs.eax == (calls ? getpid() : -ENOSYS));
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETFPREGS, pid, 0, &fp));
	CHECK((fp.cwd & 0xffff) == 0x37f && ((unsigned short *)fp.st_space)[4] == 0x4000);
	CHECK(!ptrace(PTRACE_GETFPXREGS, pid, 0, &fpx));
	CHECK(fpx.cwd == 0x37f && ((unsigned short *)fpx.st_space)[4] == 0x4000);
	CHECK(!ptrace(PTRACE_SETFPREGS, pid, 0, &fp));
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && !ptrace(PTRACE_SETREGS, pid, 0, &regs));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 5 << 8);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int clocks(void)
{
	struct timespec short_time = { 0, 20000000 }, t, u;
	long long start = now(), last = start;
	struct timeval tv;
	int i;

	for (i = 0; i < 10000; i++) {
		long long n = now();

		CHECK(n >= last);
		last = n;
	}
	start = now();
	CHECK(!nanosleep(&short_time, NULL));
	CHECK(now() - start >= 20000000 && now() - start < 200000000);
	CHECK(!clock_gettime(CLOCK_REALTIME, &t) && t.tv_sec > 1600000000);
	CHECK(!gettimeofday(&tv, NULL) && tv.tv_sec - t.tv_sec <= 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	for (start = now(); now() - start < 100000000; )
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &u);
	CHECK(u.tv_sec * 1000 + u.tv_nsec / 1000000 - t.tv_sec * 1000 - t.tv_nsec / 1000000 >= 30);
	return 1;
}

static volatile int ticks;

static void tick(int sig, siginfo_t *si, void *uc)
{
	ticks++;
}

static int timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec period = { { 0, 5000000 }, { 0, 5000000 } };
	struct itimerval virt = { { 0, 10000 }, { 0, 10000 } };
	long long start = now();
	timer_t id;

	catch(SIGRTMIN, tick, 0);
	ticks = 0;
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &id) && !timer_settime(id, 0, &period, NULL));
	while (ticks < 10)
		pause();
	CHECK(!timer_delete(id));
	CHECK(now() - start >= 45000000 && now() - start < 1000000000);
	catch(SIGVTALRM, tick, 0);
	ticks = 0;
	CHECK(!setitimer(ITIMER_VIRTUAL, &virt, NULL));
	for (start = now(); ticks < 3 && now() - start < 5000000000LL; )
		;
	virt.it_interval.tv_usec = virt.it_value.tv_usec = 0;
	setitimer(ITIMER_VIRTUAL, &virt, NULL);
	CHECK(ticks >= 3);
	return 1;
}

static int futexes(void)
{
	int *word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec t = { 0, 10000000 };
	int pid;

	CHECK(syscall(__NR_futex, word, FUTEX_WAIT, 1, NULL) == -1 && errno == EAGAIN);
	CHECK(syscall(__NR_futex, word, FUTEX_WAIT, 0, &t) == -1 && errno == ETIMEDOUT);
	pid = fork();
	if (!pid) {
		__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
		syscall(__NR_futex, word, FUTEX_WAKE, 1);
		_exit(0);
	}
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		syscall(__NR_futex, word, FUTEX_WAIT, 0, NULL);
	return wait_for(pid, 0);
}

static int signals(void)
{
	sigset_t set, old;
	stack_t stack = { .ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ };
	int pipes[2], pid, fd;
	struct signalfd_siginfo info;
	char c;

	CHECK(!sigaltstack(&stack, NULL));
	catch(SIGSEGV, jump, SA_ONSTACK);
	if (!sigsetjmp(back, 1)) {
		asm volatile ("mov %%esp, %%esi; xor %%esp, %%esp; push %%eax; mov %%esi, %%esp" : : : "esi");
		CHECK(!"no signal");
	}
	/* A read starts again after a handler, or fails. */
	CHECK(!pipe(pipes));
	pid = fork();
	if (!pid) {
		usleep(20000);
		kill(getppid(), SIGUSR1);
		usleep(20000);
		write(pipes[1], "x", 1);
		_exit(0);
	}
	catch(SIGUSR1, tick, SA_RESTART);
	ticks = 0;
	CHECK(read(pipes[0], &c, 1) == 1 && ticks == 1);
	if (!wait_for(pid, 0))
		return 0;
	pid = fork();
	if (!pid) {
		usleep(20000);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	catch(SIGUSR1, tick, 0);
	CHECK(read(pipes[0], &c, 1) == -1 && errno == EINTR);
	if (!wait_for(pid, 0))
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR2);
	CHECK(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2);
	sigprocmask(SIG_SETMASK, &old, NULL);
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		close(pipes[0]);
		for (;;)
			write(pipes[1], "x", 1);
	}
	close(pipes[0]);
	return wait_for(pid, SIGPIPE);
}

static int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	Elf32_Ehdr header;
	int pid, status, fd, pattern;
	char text[2] = "";

	pattern = open("/proc/sys/kernel/core_pattern", O_RDONLY);
	if (pattern < 0 || read(pattern, text, 1) != 1 || text[0] != 'c')
		return 1;	/* cores go elsewhere on this machine */
	CHECK(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		chdir(dir);
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header));
	CHECK(!memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_CORE && header.e_phnum > 2);
	return !unlink("core") && !chdir("/") && !rmdir(dir);
}

static int events(void)
{
	struct itimerspec soon = { { 0, 0 }, { 0, 10000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), ev = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), watch = inotify_init();
	struct pollfd p = { .fd = watch, .events = POLLIN };
	uint64_t n = 3;
	char path[] = "/tmp/evXXXXXX";

	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, ev, &event));
	CHECK(epoll_wait(ep, &event, 1, 0) == 0);
	CHECK(write(ev, &n, 8) == 8 && epoll_wait(ep, &event, 1, 0) == 1);
	CHECK(read(ev, &n, 8) == 8 && n == 3);
	CHECK(!timerfd_settime(timer, 0, &soon, NULL) && read(timer, &n, 8) == 8 && n == 1);
	CHECK(inotify_add_watch(watch, "/tmp", IN_CREATE) > 0);
	close(mkstemp(path));
	CHECK(poll(&p, 1, 1000) == 1);
	return !unlink(path);
}

static int sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(in);
	int pair[2], server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), peer, pid;
	static char data[100000], copy[100000];
	size_t at;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK(write(pair[0], "hi", 2) == 2 && read(pair[1], data, 10) == 2);
	CHECK(!bind(server, (struct sockaddr *)&in, sizeof(in)) && !listen(server, 5));
	CHECK(!getsockname(server, (struct sockaddr *)&in, &length));
	CHECK(!connect(client, (struct sockaddr *)&in, sizeof(in)));
	peer = accept(server, NULL, NULL);
	CHECK(peer >= 0);
	for (at = 0; at < sizeof(data); at++)
		data[at] = at * 7;
	pid = fork();
	if (!pid)
		_exit(write(client, data, sizeof(data)) != sizeof(data));
	for (at = 0; at < sizeof(copy); ) {
		ssize_t n = read(peer, copy + at, sizeof(copy) - at);

		CHECK(n > 0);
		at += n;
	}
	CHECK(!memcmp(data, copy, sizeof(data)));
	return wait_for(pid, 0);
}

static int sysv_ipc(void)
{
	struct { long type; char text[8]; } message = { 1, "hello" }, other;
	int shm = shmget(IPC_PRIVATE, PAGE, 0600), msg = msgget(IPC_PRIVATE, 0600), sem = semget(IPC_PRIVATE, 1, 0600), pid;
	struct sembuf down = { 0, -1, 0 }, up = { 0, 1, 0 };
	char *p = shmat(shm, NULL, 0);
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 16 };
	mqd_t mq;

	CHECK(shm >= 0 && msg >= 0 && sem >= 0 && p != (void *)-1);
	pid = fork();
	if (!pid) {
		strcpy(p, "shared");
		msgsnd(msg, &message, 8, 0);
		semop(sem, &up, 1);
		_exit(0);
	}
	CHECK(!semop(sem, &down, 1) && !strcmp(p, "shared"));
	CHECK(msgrcv(msg, &other, 8, 1, 0) == 8 && !strcmp(other.text, "hello"));
	CHECK(!shmdt(p) && !shmctl(shm, IPC_RMID, NULL) && !msgctl(msg, IPC_RMID, NULL) && !semctl(sem, 0, IPC_RMID));
	if (!wait_for(pid, 0))
		return 0;
	mq = mq_open("/abi-test", O_RDWR | O_CREAT, 0600, &attr);
	CHECK(mq >= 0 && !mq_send(mq, "one", 4, 1) && !mq_send(mq, "two", 4, 2));
	CHECK(mq_receive(mq, other.text, 16, NULL) == 4 && !strcmp(other.text, "two"));
	return !mq_unlink("/abi-test");
}

/* Two that compute: both get on, and so does who sleeps. */
static int fairness(void)
{
	volatile unsigned long *count = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pid[2], i;

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			for (;;)
				count[i * 16]++;
	}
	for (i = 0; i < 10; i++)
		usleep(30000);
	for (i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		if (!wait_for(pid[i], SIGKILL))
			return 0;
	}
	CHECK(count[0] > 1000 && count[16] > 1000);
	CHECK(count[0] / 8 < count[16] && count[16] / 8 < count[0]);
	return 1;
}

static int proc(void)
{
	char line[256], exe[PATH_MAX];
	int stack = 0, gate = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		stack += !!strstr(line, "[stack]");
		gate += !!strstr(line, "[vdso]");
	}
	fclose(maps);
	CHECK(stack == 1 && gate == 1);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe)) > 0);
	return 1;
}

static const struct { const char *name; int (*fn)(void); } checks[] = {
	{ "hwcap", hwcap }, { "int80", int80 }, { "sysenter", sysenter }, { "vdso", vdso }, { "exceptions", exceptions },
	{ "write_barrier", write_barrier }, { "fpu_signals", fpu_signals }, { "fpu_frames", fpu_frames },
	{ "x87", x87 }, { "fpu_fork", fpu_fork }, { "threads", threads }, { "naps", naps }, { "processes", processes }, { "copy_on_write", copy_on_write },
	{ "moved_mappings", moved_mappings }, { "file_mappings", file_mappings }, { "debugging", debugging }, { "clocks", clocks }, { "timers", timers },
	{ "futexes", futexes }, { "signals", signals }, { "core_dump", core_dump }, { "events", events },
	{ "sockets", sockets }, { "sysv_ipc", sysv_ipc }, { "fairness", fairness }, { "proc", proc },
};

int main(int argc, char **argv)
{
	unsigned int i, failed = 0;

	if (argc == 3 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc == 3 && !strcmp(argv[2], "control")) {
		unsigned short control;

		asm ("fnstcw %0" : "=m" (control));
		return control != 0x37f;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int good;

		if (argc > 1 && strcmp(argv[1], checks[i].name))
			continue;
		good = checks[i].fn();
		printf("%s %s\n", good ? "ok" : "not ok", checks[i].name);
		failed += !good;
	}
	return failed;
}
