// SPDX-License-Identifier: MIT OR Apache-2.0
/* Registers of the FPU, SSE, AVX and AVX-512. */
#include "amd64.h"

#define X87	"st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)"

static volatile int spoils;

static void spoil(int sig)
{
	static const double other[2] = { 9, 9 };

	asm volatile ("fninit; fldz; fldz; movups %0, %%xmm0; movups %0, %%xmm7; movups %0, %%xmm15"
		      : : "m" (other) : "xmm0", "xmm7", "xmm15", X87);
	spoils++;
}

/* The registers are the thread's own, whatever happens in between. */
int fpu_signals(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } }, none = { };
	double in[2] = { 1.25, -3.5 }, out[2] = { 0 }, x87 = 0;

	signal(SIGALRM, spoil);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (spoils = 0; spoils < 20;) {
		asm volatile ("fninit; fldpi; movups %2, %%xmm0; movups %2, %%xmm15\n"
			      "mov $20000, %%ecx; 1: loop 1b\n"
			      "fstpl %1; movups %%xmm15, %0"
			      : "=m" (out), "=m" (x87) : "m" (in) : "rcx", "xmm0", "xmm15", "memory", X87);
		if (out[0] != in[0] || out[1] != in[1] || x87 < 3.14159 || x87 > 3.1416)
			break;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	CHECK(out[0] == in[0] && out[1] == in[1]);
	CHECK(x87 > 3.14159 && x87 < 3.1416);
	return 1;
}

static volatile int lays_out;

/* The frame's format is that of fxsave.  A processor with more state says how much there is. */
static void change_fpu(int sig, siginfo_t *si, void *context)
{
	struct _libc_fpstate *fp = ((ucontext_t *)context)->uc_mcontext.fpregs;
	const unsigned int *software = (void *)((char *)fp + 464);
	int extended = ((ucontext_t *)context)->uc_flags & 1;

	handled = fp && (unsigned long)fp % 64 == 0 && fp->_st[0].exponent == 0x4000 && fp->cwd == 0x37f;
	lays_out = !extended || (software[0] == 0x46505853 && software[4] >= 576 && software[1] == software[4] + 4 &&
				 *(unsigned int *)((char *)fp + software[4]) == 0x46505845);
	if (fp)
		memcpy(&fp->_xmm[3], &(float){ 42 }, sizeof(float));
}

/* Without FPU state it is that of a program's beginning. */
static void lose_fpu(int sig, siginfo_t *si, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs = NULL;
}

static void spoil_mxcsr(int sig, siginfo_t *si, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs->mxcsr = 0xdead1f80;
}

int fpu_frames(void)
{
	float in[4] = { 1, 2, 3, 4 }, out[4];
	unsigned short mode = 0x27f, control;
	long nr = __NR_kill;
	int pid;

	catch(SIGUSR2, change_fpu, 0);
	handled = 0;
	asm volatile ("fninit; fldpi; movups %2, %%xmm3; syscall; movups %%xmm3, %1; fstp %%st(0)"
		      : "+a" (nr), "=m" (out) : "m" (in), "D" ((long)getpid()), "S" ((long)SIGUSR2) : "rcx", "r11", "xmm3", "memory", X87);
	CHECK(handled && lays_out);
	CHECK(out[0] == 42 && out[1] == 2 && out[3] == 4);
	catch(SIGUSR2, lose_fpu, 0);
	nr = __NR_kill;
	asm volatile ("fldcw %2; syscall; fnstcw %1" : "+a" (nr), "=m" (control) : "m" (mode), "D" ((long)getpid()), "S" ((long)SIGUSR2)
		      : "rcx", "r11", "memory", X87);
	CHECK(control == 0x37f);
	/* Bits that no processor has. */
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		catch(SIGUSR2, spoil_mxcsr, 0);
		raw(__NR_kill, raw(__NR_getpid, 0, 0, 0), SIGUSR2, 0);
		raw(__NR_exit, 0, 0, 0);
	}
	return wait_for(pid, SIGSEGV);
}

static void spoil_avx(int sig)
{
	asm volatile ("vxorps %%ymm5, %%ymm5, %%ymm5" : : : "xmm5");
	spoils++;
}

/* The upper halves are the thread's own, too. */
int avx(void)
{
	double in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
	long nr = __NR_kill;
	int pid, status, i;

	if (!has_avx()) {
		printf("# no avx\n");
		return 1;
	}
	signal(SIGUSR1, spoil_avx);
	spoils = 0;
	asm volatile ("vmovupd %2, %%ymm5; syscall; vmovupd %%ymm5, %1"
		      : "+a" (nr), "=m" (out) : "m" (in), "D" ((long)getpid()), "S" ((long)SIGUSR1) : "rcx", "r11", "xmm5", "memory");
	CHECK(spoils == 1);
	for (i = 0; i < 4; i++)
		CHECK(out[i] == in[i]);
	nr = __NR_fork;
	asm volatile ("vmovupd %2, %%ymm5; syscall; vmovupd %%ymm5, %1"
		      : "+a" (nr), "=m" (out) : "m" (in) : "rcx", "r11", "xmm5", "memory");
	pid = nr;
	status = memcmp(in, out, sizeof(in));
	if (!pid)
		_exit(!!status);
	CHECK(!status);
	return wait_for(pid, 0);
}

/* Of the registers that these functions use the compiler knows one. */
static void spoil_avx512(int sig)
{
	asm volatile ("vpxord %%zmm5, %%zmm5, %%zmm5; vpxord %%zmm21, %%zmm21, %%zmm21; kxorw %%k3, %%k3, %%k3" : : : "xmm5");
	spoils++;
}

/* What the registers have after a system call that found this in them: twice, and a mask. */
struct of_avx512 {
	double upper[8], further[8];
	unsigned short mask;
};

static long over_call(long nr, long a, long b, const double *in, struct of_avx512 *out)
{
	asm volatile ("vmovupd (%3), %%zmm5; vmovupd (%3), %%zmm21; kmovw %4, %%k3; syscall\n\t"
		      "vmovupd %%zmm5, (%5); vmovupd %%zmm21, 64(%5); kmovw %%k3, 128(%5)"
		      : "+a" (nr) : "D" (a), "S" (b), "r" (in), "r" (0x5aa5), "r" (out) : "rcx", "r11", "memory", "xmm5");
	return nr;
}

static int is_kept(const double *in, const struct of_avx512 *out)
{
	return !memcmp(out->upper, in, sizeof(out->upper)) && !memcmp(out->further, in, sizeof(out->further)) &&
	       out->mask == 0x5aa5;
}

/* The registers of AVX-512 are the thread's own, too, and a frame has room for them. */
int avx512(void)
{
	const double in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct of_avx512 out = { };
	int pid, kept;

	if (!has_avx512()) {
		printf("# no avx-512\n");
		return 1;
	}
	signal(SIGUSR1, spoil_avx512);
	spoils = 0;
	CHECK(!over_call(__NR_kill, getpid(), SIGUSR1, in, &out) && spoils == 1 && is_kept(in, &out));
	memset(&out, 0, sizeof(out));
	pid = over_call(__NR_fork, 0, 0, in, &out);
	kept = is_kept(in, &out);
	if (!pid)
		_exit(!kept);
	CHECK(kept);
	return wait_for(pid, 0);
}

static char *fpu_of(void *context)
{
	return (char *)((ucontext_t *)context)->uc_mcontext.fpregs;
}

/* What a frame says of more than fxsave saves is for software, by words: first that there is more, then how much. */
static unsigned int *software_of(void *context)
{
	return (unsigned int *)(fpu_of(context) + 464);
}

static void deny_more(int sig, siginfo_t *si, void *context)
{
	software_of(context)[0] = 0;
}

static void claim_too_much(int sig, siginfo_t *si, void *context)
{
	software_of(context)[4] = 1 << 20;
}

static void claim_too_little(int sig, siginfo_t *si, void *context)
{
	software_of(context)[4] = 512;
}

static void spoil_end(int sig, siginfo_t *si, void *context)
{
	*(unsigned int *)(fpu_of(context) + software_of(context)[4]) = 0;
}

/* A part that no processor has. */
static void spoil_parts(int sig, siginfo_t *si, void *context)
{
	*(unsigned long *)(fpu_of(context) + 512) |= 1UL << 61;
}

/* After a handler that changed its frame so, what fxsave does not save is as at a program's beginning. */
static int loses_more(void (*handler)(int, siginfo_t *, void *))
{
	const double in[4] = { 1, 2, 3, 4 };
	double out[4] = { 0 };
	long nr = __NR_kill;

	catch(SIGUSR1, handler, 0);
	asm volatile ("vmovupd %2, %%ymm5; syscall; vmovupd %%ymm5, %1"
		      : "+a" (nr), "=m" (out) : "m" (in), "D" ((long)getpid()), "S" ((long)SIGUSR1) : "rcx", "r11", "xmm5", "memory");
	CHECK(!nr && out[0] == 1 && out[1] == 2 && !out[2] && !out[3]);
	return 1;
}

/* The upper halves lie where CPUID says. */
static void change_upper(int sig, siginfo_t *si, void *context)
{
	unsigned int bytes, at, c, d;

	__cpuid_count(0xd, 2, bytes, at, c, d);
	handled = software_of(context)[0] == 0x46505853 && bytes == 256 && at + bytes <= software_of(context)[4] &&
		  *(unsigned long *)(fpu_of(context) + 512) & 4;
	if (handled)
		memcpy(fpu_of(context) + at + 5 * 16, &(double){ 42 }, sizeof(double));
}

/* What a handler changes in its frame of the upper halves is the program's afterwards. */
static int upper_changes(void)
{
	const double in[4] = { 1, 2, 3, 4 };
	double out[4] = { 0 };
	long nr = __NR_kill;

	catch(SIGUSR1, change_upper, 0);
	handled = 0;
	asm volatile ("vmovupd %2, %%ymm5; syscall; vmovupd %%ymm5, %1"
		      : "+a" (nr), "=m" (out) : "m" (in), "D" ((long)getpid()), "S" ((long)SIGUSR1) : "rcx", "r11", "xmm5", "memory");
	CHECK(!nr && handled && out[0] == 1 && out[1] == 2 && out[2] == 42 && out[3] == 4);
	return 1;
}

/* A frame need not have what fxsave does not save, and what it says of that need not be true. */
int avx_frames(void)
{
	int pid;

	if (!has_avx()) {
		printf("# no avx\n");
		return 1;
	}
	CHECK(upper_changes());
	CHECK(loses_more(deny_more));
	CHECK(loses_more(claim_too_much));
	CHECK(loses_more(claim_too_little));
	CHECK(loses_more(spoil_end));
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		catch(SIGUSR2, spoil_parts, 0);
		raw(__NR_kill, raw(__NR_getpid, 0, 0, 0), SIGUSR2, 0);
		raw(__NR_exit, 0, 0, 0);
	}
	return wait_for(pid, SIGSEGV);
}

int fpu_fork(void)
{
	double in[2] = { 5, 6 }, out[2], x87;
	unsigned short mode = 0x27f, control;
	long pid = __NR_fork;
	int good;

	asm volatile ("fninit; fldcw %5; fldpi; movups %4, %%xmm13; syscall; movups %%xmm13, %1; fstpl %2; fnstcw %3; fninit"
		      : "+a" (pid), "=m" (out), "=m" (x87), "=m" (control) : "m" (in), "m" (mode) : "rcx", "r11", "xmm13", "memory", X87);
	good = out[0] == 5 && out[1] == 6 && x87 > 3.14159 && x87 < 3.1416 && control == mode;
	if (!pid)
		_exit(!good);
	CHECK(good);
	return wait_for(pid, 0);
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
	unsigned long base;

	if (!strcmp(what, "gs"))
		return raw(__NR_arch_prctl, ARCH_GET_GS, (long)&base, 0) || base;
	asm ("fnstcw %0" : "=m" (control));
	return strcmp(what, "control") || control != 0x37f;
}

static void tell(int sig, siginfo_t *si, void *context)
{
	got = *si;
	handled = ((ucontext_t *)context)->uc_mcontext.gregs[REG_TRAPNO];
	siglongjmp(back, 1);
}

/* Computes with exceptions open, and waits for the one that came. */
static int x87(unsigned short control, int what)
{
	catch(SIGFPE, tell, SA_NODEFER);
	if (sigsetjmp(back, 1))
		return handled == 16 ? got.si_code : -1;
	asm volatile ("fninit; fldcw %0" : : "m" (control));
	switch (what) {
	case FPE_FLTINV:
		asm volatile ("fldz; fldz; fdivrp; fwait; fninit" : : : X87);
		break;
	case FPE_FLTDIV:
		asm volatile ("fld1; fldz; fdivrp; fwait; fninit" : : : X87);
		break;
	default:
		asm volatile ("fldpi; fldpi; fmulp; fwait; fninit" : : : X87);
	}
	return 0;
}

int fpu_exceptions(void)
{
	CHECK(x87(0x37e, FPE_FLTINV) == FPE_FLTINV);
	CHECK(x87(0x37b, FPE_FLTDIV) == FPE_FLTDIV);
	CHECK(x87(0x35f, FPE_FLTRES) == FPE_FLTRES);
	CHECK(x87(0x37f, FPE_FLTDIV) == 0);
	return 1;
}
