// SPDX-License-Identifier: MIT OR Apache-2.0
/* What a signal handler begins with, what its frame says, and what a program may change of it. */
#include "i386.h"

enum { ALIGN = 1, DIRECTION = 2, SEGMENTS = 4, SELECTORS = 8, INITIAL_FPU = 16 };

static volatile unsigned int good;
static volatile struct { int trap, error, cr2, code, place; unsigned long flags; struct _libc_fpstate *fp; } told;

/* Called by the handlers below as the kernel calls them. */
static void __attribute__((used)) look(unsigned long sp, unsigned long flags, unsigned int ds, unsigned int es)
{
	unsigned int cs, ss, data;
	unsigned short control;

	asm ("mov %%cs, %0; mov %%ss, %1" : "=r" (cs), "=r" (ss));
	asm volatile ("fnstcw %0" : "=m" (control));
	asm ("mov %%ss, %0" : "=r" (data));
	good = 0;
	/* The word above the return address. */
	if ((sp + 4) % 16 == 0)
		good |= ALIGN;
	if (!(flags & 0x400))
		good |= DIRECTION;
	if ((unsigned short)ds == (unsigned short)data && (unsigned short)es == (unsigned short)data)
		good |= SEGMENTS;
	if ((cs & 3) == 3 && (ss & 3) == 3)
		good |= SELECTORS;
	if (control == 0x37f)
		good |= INITIAL_FPU;
}

/* Handlers without a compiler's prologue. */
void bare_handler(int sig);
asm (".text\nbare_handler:\n\t"
     "mov %esp, %eax\n\tpushf\n\tpop %edx\n\tmov %ds, %ecx\n\tmov %es, %esi\n\t"
     "mov %ss, %edi\n\tmov %edi, %ds\n\tmov %edi, %es\n\tcld\n\t"
     "push %esi\n\tpush %ecx\n\tpush %edx\n\tpush %eax\n\tcall look\n\tadd $16, %esp\n\tret");

static void tell(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;

	told.trap = r[REG_TRAPNO];
	told.error = r[REG_ERR];
	told.cr2 = uc->uc_mcontext.cr2;
	told.code = si->si_code;
	told.place = (char *)si->si_addr - (char *)r[REG_EIP];
	told.flags = r[REG_EFL];
	got = *si;
	siglongjmp(back, 1);
}

/* By int 0x80 at various places of the stack, with DF set and DS and ES null. */
static int entry(int flags)
{
	struct sigaction sa = { .sa_handler = bare_handler, .sa_flags = flags };
	char *alternate = malloc(3 * SIGSTKSZ);
	int at;

	sigaction(SIGUSR1, &sa, NULL);
	for (at = 0; at < 16; at++) {
		stack_t stack = { .ss_sp = alternate, .ss_size = 2 * SIGSTKSZ + at };
		unsigned short control = 0x27f, after;
		unsigned int ds, flags_after, junk;

		CHECK(!sigaltstack(&stack, NULL));
		good = 0;
		asm volatile ("fldcw %[control]; mov %%esp, %%esi; sub %[at], %%esp; xor %%edx, %%edx\n\t"
			      "mov %%edx, %%ds; mov %%edx, %%es; std; int $0x80; pushf; pop %%edx; cld\n\t"
			      "mov %%esi, %%esp; mov %%ds, %%ecx; mov %%ss, %%edi; mov %%edi, %%ds; mov %%edi, %%es"
			      : "=c" (ds), "=d" (flags_after), "=D" (junk)
			      : "a" (__NR_kill), "b" (getpid()), "c" (SIGUSR1), [at] "2" (at), [control] "m" (control)
			      : "esi", "memory", "cc");
		asm volatile ("fnstcw %0; fninit" : "=m" (after));
		CHECK(good == (ALIGN | DIRECTION | SEGMENTS | SELECTORS | INITIAL_FPU));
		/* All of it is the program's again. */
		CHECK((unsigned short)ds == 0);
		CHECK(flags_after & 0x400);
		CHECK(after == control);
	}
	signal(SIGUSR1, SIG_DFL);
	free(alternate);
	return 1;
}

int handler_entry(void)
{
	return entry(0) && entry(SA_SIGINFO) && entry(SA_ONSTACK) && entry(SA_ONSTACK | SA_SIGINFO);
}

static char *volatile frame_at;

static void where(int sig, siginfo_t *si, void *context)
{
	/* Before it lie the return address and the handler's three arguments. */
	frame_at = (char *)si - 4 * sizeof(int);
}

/* A stack that ends anywhere has room for a signal if it is as large as programs are told. */
int frame_size(void)
{
	unsigned long most = getauxval(AT_MINSIGSTKSZ);
	char *stack = malloc(2 * SIGSTKSZ);
	int at;

	CHECK(most && most < SIGSTKSZ);
	catch(SIGUSR1, where, SA_ONSTACK);
	for (at = 0; at < 64; at++) {
		CHECK(!sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = SIGSTKSZ + at }, NULL));
		frame_at = NULL;
		raise(SIGUSR1);
		CHECK(frame_at > stack && frame_at < stack + SIGSTKSZ && stack + SIGSTKSZ + at - frame_at <= most);
	}
	CHECK(!sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL));
	signal(SIGUSR1, SIG_DFL);
	free(stack);
	return 1;
}

/* What is done raises the signal, and its frame says so. */
#define TELLS(sig, si_code, trap_number, error_code, at, what) do { \
	catch(sig, tell, SA_NODEFER); \
	if (!sigsetjmp(back, 1)) { what; CHECK(!"no signal"); } \
	CHECK(got.si_signo == sig); \
	if (told.trap != trap_number || told.error != (error_code) || told.code != si_code) \
		printf("# trap %d, error %x, code %d\n", told.trap, told.error, told.code); \
	CHECK(told.trap == trap_number && told.error == (error_code) && told.code == si_code); \
	CHECK(at == ANYWHERE || told.place == at); \
} while (0)

enum { ANYWHERE = -1000 };

int exception_frames(void)
{
	volatile int zero = 0, result;
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int bounds[2] = { 1, 2 };
	/* In the window of a server that has one: the information page, the image, what is free. */
	static const unsigned long kernel[] = { 0xc0001000, 0xc0400000, 0xd9c00000, 0xdfffe000 };
	volatile unsigned int i;

	TELLS(SIGSEGV, SEGV_ACCERR, 14, 6, ANYWHERE, page[7] = 1);
	/* That the page is there is known after the first read. */
	result = page[0];
	TELLS(SIGSEGV, SEGV_ACCERR, 14, 7, ANYWHERE, page[7] = 1);
	CHECK(got.si_addr == page + 7 && told.cr2 == (int)(page + 7));
	/* CR2 stays as it is. */
	TELLS(SIGSEGV, SI_KERNEL, 13, 0, ANYWHERE, asm volatile ("hlt"));
	CHECK(told.cr2 == (int)(page + 7) && !got.si_addr);
	TELLS(SIGSEGV, SI_KERNEL, 13, 0x12 << 3 | 2, ANYWHERE, asm volatile ("int $0x12"));
	TELLS(SIGSEGV, SI_KERNEL, 13, 0xf0 << 3 | 2, ANYWHERE, asm volatile ("int $0xf0"));
	TELLS(SIGSEGV, SI_KERNEL, 13, 0x30 << 3 | 2, ANYWHERE, asm volatile ("int $0x30"));
	TELLS(SIGSEGV, SI_KERNEL, 13, 0x1000, ANYWHERE, asm volatile ("mov %0, %%es" : : "r" (0x1003)));
	TELLS(SIGFPE, FPE_INTDIV, 0, 0, 0, result = 7 / zero);
	TELLS(SIGTRAP, SI_KERNEL, 3, 0, ANYWHERE, asm volatile ("int3"));
	TELLS(SIGSEGV, SI_KERNEL, 4, 0, ANYWHERE, asm volatile ("movb $0x7f, %%al; addb $1, %%al; into" : : : "eax", "cc"));
	TELLS(SIGSEGV, SI_KERNEL, 5, 0, ANYWHERE, asm volatile (".intel_syntax noprefix; bound eax, [edx]; .att_syntax" : : "a" (3), "d" (bounds) : "memory"));
	TELLS(SIGILL, ILL_ILLOPN, 6, 0, 0, asm volatile ("ud2"));
	TELLS(SIGTRAP, TRAP_BRKPT, 1, 0, 0, asm volatile (".byte 0xf1"));
	/* Where no process may have anything, something is there, whatever is. */
	for (i = 0; i < sizeof(kernel) / sizeof(*kernel); i++) {
		TELLS(SIGSEGV, SEGV_MAPERR, 14, 5, ANYWHERE, result = *(volatile char *)kernel[i]);
		CHECK(told.cr2 == (int)kernel[i] && got.si_addr == (void *)kernel[i]);
		TELLS(SIGSEGV, SEGV_MAPERR, 14, 7, ANYWHERE, *(volatile char *)kernel[i] = 1);
	}
	/* Segments may end before the last addresses: then it is no page fault. */
	catch(SIGSEGV, tell, SA_NODEFER);
	if (!sigsetjmp(back, 1)) {
		result = *(volatile char *)0xffffe000;
		CHECK(!"no signal");
	}
	CHECK((told.trap == 14 && told.error == 5 && told.code == SEGV_MAPERR) ||
	      (told.trap == 13 && told.error == 0 && told.code == SI_KERNEL));
	TELLS(SIGSEGV, SEGV_MAPERR, 14, 4, ANYWHERE, result = *(volatile char *)(8 + zero));
	(void)result;
	return 1;
}

/* Computes with exceptions open, and waits for the one that came. */
#define X87(control, what) do { short open_ = control; asm volatile ("fninit; fldcw %0; " what "; fwait; fninit" : : "m" (open_)); } while (0)

int fpu_exceptions(void)
{
	TELLS(SIGFPE, FPE_FLTINV, 16, 0, ANYWHERE, X87(0x37e, "fldz; fldz; fdivrp"));
	TELLS(SIGFPE, FPE_FLTDIV, 16, 0, ANYWHERE, X87(0x37b, "fld1; fldz; fdivrp"));
	TELLS(SIGFPE, FPE_FLTRES, 16, 0, ANYWHERE, X87(0x35f, "fldpi; fldpi; fmulp"));
	return 1;
}

/* The si_code that a division raises while these exceptions are not masked; 0: none. */
static int divide(float a, float b, unsigned int unmasked)
{
	unsigned int control = 0x1f80 & ~(unmasked << 7), usual = 0x1f80;

	catch(SIGFPE, tell, SA_NODEFER);
	if (sigsetjmp(back, 1))
		return told.trap == 19 && !told.error ? told.code : -1;
	asm volatile ("ldmxcsr %0; movss %2, %%xmm0; divss %3, %%xmm0; ldmxcsr %1" : : "m" (control), "m" (usual), "m" (a), "m" (b));
	return 0;
}

int sse_exceptions(void)
{
	if (!feature(SSE))
		return 1;
	/* QEMU raises none. */
	if (!divide(1, 0, 4)) {
		printf("# no SSE exceptions\n");
		return 1;
	}
	CHECK(divide(1, 0, 4) == FPE_FLTDIV);
	CHECK(divide(0, 0, 1) == FPE_FLTINV);
	CHECK(divide(3e38f, 1e-10f, 8) == FPE_FLTOVF);
	CHECK(divide(1e-37f, 3e10f, 16) == FPE_FLTUND);
	CHECK(divide(1, 3, 32) == FPE_FLTRES);
	/* What is masked raises none, whatever came before. */
	CHECK(!divide(1, 3, 4));
	return 1;
}

static void lay_out(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;
	unsigned int *software = (void *)((char *)fp + 112 + 464);

	handled = fp && (unsigned long)context % 4 == 0 && (char *)fp > (char *)uc;
	if (!handled || !feature(FXSR))
		return;
	/* fsave's format, then fxsave's, aligned to 64; the bytes that say how long it is. */
	handled = ((unsigned long)fp + 112) % 64 == 0 && (fp->status >> 16) == 0;
	/* A processor with more state has more of it. */
	if (software[1] == 512 + 112 + 4)
		handled = handled && software[0] == 0x46505853 && software[4] == 512 && !software[2] && !software[3] && !uc->uc_flags;
}

/* Without FPU state it is that of a program's beginning. */
static void lose_fpu(int sig, siginfo_t *si, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs = NULL;
}

static void spoil_mxcsr(int sig, siginfo_t *si, void *context)
{
	/* Bits that no processor has are masked. */
	*(unsigned int *)((char *)((ucontext_t *)context)->uc_mcontext.fpregs + 112 + 24) = 0xdead1f80;
}

static void spoil_cs(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	if (sig == SIGUSR2) {
		handled = uc->uc_mcontext.gregs[REG_CS];
		uc->uc_mcontext.gregs[REG_CS] = 0x1003;
		return;
	}
	told.code = si->si_code;
	told.trap = uc->uc_mcontext.gregs[REG_TRAPNO];
	uc->uc_mcontext.gregs[REG_CS] = handled;
}

int changed_frames(void)
{
	unsigned short control = 0x27f;
	unsigned int mxcsr = 0;

	catch(SIGUSR2, lay_out, 0);
	handled = 0;
	raise(SIGUSR2);
	CHECK(handled);
	asm volatile ("fninit; fldpi");
	handled = 0;
	raise(SIGUSR2);
	asm volatile ("fninit");
	CHECK(handled);
	catch(SIGUSR2, lose_fpu, 0);
	asm volatile ("fldcw %0" : : "m" (control));
	raise(SIGUSR2);
	asm volatile ("fnstcw %0" : "=m" (control));
	CHECK(control == 0x37f);
	if (feature(SSE)) {
		catch(SIGUSR2, spoil_mxcsr, 0);
		raise(SIGUSR2);
		asm volatile ("stmxcsr %0" : "=m" (mxcsr));
		CHECK(mxcsr == 0x1f80);
	}
	/* With such a selector the program cannot go on. */
	catch(SIGUSR2, spoil_cs, 0);
	catch(SIGILL, spoil_cs, 0);
	told.code = 0;
	raise(SIGUSR2);
	CHECK(told.code == ILL_BADSTK && told.trap == 32);
	return 1;
}

static int frame_file;

/* Keeps its own frame, with a selector that nobody can go on with. */
static void keep_frame(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	char *frame = (char *)__builtin_frame_address(0) + sizeof(long);
	greg_t none = 0;

	handled = pwrite(frame_file, frame, (char *)(uc + 1) - frame, 0) > 0 &&
		  pwrite(frame_file, &none, sizeof(none), (char *)&uc->uc_mcontext.gregs[REG_CS] - frame) > 0 &&
		  pwrite(frame_file, &none, sizeof(none), (char *)&uc->uc_mcontext.fpregs - frame) > 0;
}

/*
 * A process that dies as it returns from a signal, by a frame in a page that it had never touched: what the
 * kernel still had to do for that page is nobody else's.
 */
int last_return(void)
{
	enum { OTHERS = 40 };
	char path[] = "/tmp/abiXXXXXX", byte = 0;
	int gate[2], start[2], others[OTHERS], i, pid;

	frame_file = mkstemp(path);
	CHECK(frame_file >= 0 && !unlink(path) && !ftruncate(frame_file, PAGE));
	handled = 0;
	catch(SIGUSR2, keep_frame, 0);
	raise(SIGUSR2);
	CHECK(handled);
	CHECK(!pipe(start) && !pipe(gate));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char *frame = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, frame_file, 0);

		signal(SIGILL, SIG_DFL);
		close(gate[1]);
		if (read(start[0], &byte, 1) == 1)
			asm volatile ("mov %0, %%esp\n\tint $0x80" : : "r" (frame + sizeof(long)), "a" (SYS_rt_sigreturn));
		_exit(1);
	}
	/* As many die before it as a kernel may keep spaces of the dead. */
	for (i = 0; i < OTHERS; i++) {
		others[i] = fork();
		CHECK(others[i] >= 0);
		if (!others[i]) {
			close(gate[1]);
			_exit(read(gate[0], &byte, 1));
		}
	}
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < OTHERS; i++)
		CHECK(wait_for(others[i], 0));
	CHECK(write(start[1], &byte, 1) == 1);
	CHECK(wait_for(pid, SIGILL));
	return !close(frame_file) && !close(start[0]) && !close(start[1]);
}
