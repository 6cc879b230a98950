// SPDX-License-Identifier: MIT OR Apache-2.0
/* FPU and SSE registers. */
#include "i386.h"

static volatile int spoilt;

static void spoil(int sig)
{
	static const double other[2] = { 9, 9 };

	asm volatile ("fninit; fldz; fldz; movups %0, %%xmm0; movups %0, %%xmm1; movups %0, %%xmm7" : : "m" (other[0]));
	spoilt++;
}

/* FPU and SSE registers are the thread's own, whatever happens in between. */
int fpu_signals(void)
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

int fpu_frames(void)
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
int x87(void)
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

/* What a program of i686 with SSE2 computes, before and after others have the registers. */
int sse2(void)
{
	volatile long long left[2] = { 3, -4 }, right[2] = { 5, 6 }, sum[2];
	volatile double factor[2] = { 1.5, -2 }, product[2];
	struct timespec a_little = { 0, 1000000 };
	long slept = __NR_nanosleep;

	if (!feature(SSE2)) {
		printf("# no sse2\n");
		return 1;
	}
	asm volatile ("movdqu %3, %%xmm2; movdqu %4, %%xmm6; movupd %5, %%xmm4\n"
		      "int $0x80; paddq %%xmm6, %%xmm2; mulpd %%xmm4, %%xmm4; movdqu %%xmm2, %1; movupd %%xmm4, %2"
		      : "+a" (slept), "=m" (sum), "=m" (product) : "m" (left), "m" (right), "m" (factor), "b" (&a_little), "c" (NULL) : "memory");
	CHECK(slept == 0);
	CHECK(sum[0] == 8 && sum[1] == 2);
	CHECK(product[0] == 2.25 && product[1] == 4);
	return 1;
}

int fpu_fork(void)
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

/* A new program has new FPU state. */
int fpu_exec(void)
{
	char *args[] = { "abi", "as", "control", NULL };
	unsigned short mode = 0x27f;
	int pid = fork();

	if (!pid) {
		asm volatile ("fldcw %0" : : "m" (mode));
		execv("/proc/self/exe", args);
		_exit(1);
	}
	return wait_for(pid, 0);
}

int as(const char *what)
{
	unsigned short control;

	asm ("fnstcw %0" : "=m" (control));
	return strcmp(what, "control") || control != 0x37f;
}
