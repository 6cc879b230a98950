// SPDX-License-Identifier: MIT OR Apache-2.0
/* Exceptions, what a signal handler begins with, what its frame says, and what a program may change of it. */
#include "amd64.h"

int exceptions(void)
{
	volatile int zero = 0, result;

	RAISES(SIGFPE, FPE_INTDIV, result = 7 / zero);
	(void)result;
	RAISES(SIGILL, ILL_ILLOPN, asm volatile ("ud2"));
	RAISES(SIGTRAP, SI_KERNEL, asm volatile ("int3"));
	RAISES(SIGSEGV, SI_KERNEL, asm volatile ("hlt"));
	RAISES(SIGSEGV, SI_KERNEL, asm volatile ("cli"));
	RAISES(SIGSEGV, SI_KERNEL, asm volatile ("mov %%cr3, %%rax" : : : "rax"));
	/* The way in of i386's programs, of which there are none. */
	RAISES(SIGSEGV, SI_KERNEL, asm volatile ("int $0x80"));
	/* What is no address. */
	RAISES(SIGSEGV, SI_KERNEL, result = *(volatile char *)0x8000000000000000);
	CHECK(!got.si_addr);
	RAISES(SIGSEGV, SEGV_MAPERR, ((void (*)(void))0x7ffffff0)());
	CHECK(got.si_addr == (void *)0x7ffffff0);
	/* Addresses of the kernel, and before them. */
	RAISES(SIGSEGV, SEGV_MAPERR, result = *(volatile char *)0xffffffff80000000);
	CHECK(got.si_addr == (void *)0xffffffff80000000);
	RAISES(SIGSEGV, SEGV_MAPERR, result = *(volatile char *)0x7fffffffe000);
	return 1;
}

enum { ALIGN = 1, DIRECTION = 2, INITIAL_FPU = 4, ARGUMENTS = 8 };

static volatile unsigned int good;

/* Called by the handler below as the kernel calls it. */
static void __attribute__((used)) look(unsigned long sp, unsigned long flags, long sig, long rax)
{
	unsigned short control;
	unsigned int mxcsr;

	asm volatile ("fnstcw %0; stmxcsr %1" : "=m" (control), "=m" (mxcsr));
	good = 0;
	/* The word above the return address. */
	if ((sp + 8) % 16 == 0)
		good |= ALIGN;
	if (!(flags & 0x400))
		good |= DIRECTION;
	if (control == 0x37f && mxcsr == 0x1f80)
		good |= INITIAL_FPU;
	if (sig == SIGUSR1 && !rax)
		good |= ARGUMENTS;
}

/* A handler without a compiler's prologue. */
void bare_handler(int sig);
asm (".text\nbare_handler:\n\t"
     "mov %edi, %edx; mov %rax, %rcx; mov %rsp, %rdi; pushf; pop %rsi; cld; sub $8, %rsp; call look; add $8, %rsp; ret");

/* By a system call at various places of the stack, with DF set. */
static int entry(int flags)
{
	struct sigaction sa = { .sa_handler = bare_handler, .sa_flags = flags };
	char *alternate = malloc(3 * SIGSTKSZ);
	long at;

	sigaction(SIGUSR1, &sa, NULL);
	for (at = 0; at < 32; at++) {
		stack_t stack = { .ss_sp = alternate, .ss_size = 2 * SIGSTKSZ + at };
		unsigned short control = 0x27f, after;
		unsigned long flags_after;
		long nr = __NR_kill;

		CHECK(!sigaltstack(&stack, NULL));
		good = 0;
		asm volatile ("fldcw %[control]; mov %%rsp, %%rbx; sub $256, %%rsp; sub %[at], %%rsp\n\t"
			      "std; syscall; pushf; pop %%rdx; cld; mov %%rbx, %%rsp"
			      : "+a" (nr), "=&d" (flags_after)
			      : "D" ((long)getpid()), "S" ((long)SIGUSR1), [at] "r" (at), [control] "m" (control)
			      : "rbx", "rcx", "r11", "memory", "cc");
		asm volatile ("fnstcw %0; fninit" : "=m" (after));
		CHECK(good == (ALIGN | DIRECTION | INITIAL_FPU | ARGUMENTS));
		/* All of it is the program's again. */
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
	/* Before the context lies the return address. */
	frame_at = (char *)context - sizeof(long);
}

/* A stack that ends anywhere has room for a signal if it is as large as programs are told. */
int frame_size(void)
{
	unsigned long most = getauxval(AT_MINSIGSTKSZ);
	size_t bytes = 16384;
	char *stack = malloc(bytes + 64);
	int at;

	CHECK(most && most < bytes);
	catch(SIGUSR1, where, SA_ONSTACK);
	for (at = 0; at < 64; at++) {
		CHECK(!sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = bytes + at }, NULL));
		frame_at = NULL;
		raise(SIGUSR1);
		CHECK(frame_at > stack && frame_at < stack + bytes && (size_t)(stack + bytes + at - frame_at) <= most);
	}
	CHECK(!sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL));
	signal(SIGUSR1, SIG_DFL);
	free(stack);
	return 1;
}

static volatile struct { long trap, error, cr2, code, cs; char *place; } told;

static void tell(int sig, siginfo_t *si, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	told.trap = r[REG_TRAPNO];
	told.error = r[REG_ERR];
	told.cr2 = r[REG_CR2];
	told.cs = r[REG_CSGSFS] & 0xffff;
	told.code = si->si_code;
	told.place = (char *)r[REG_RIP];
	got = *si;
	siglongjmp(back, 1);
}

/* What is done raises the signal, and its frame says so. */
#define TELLS(sig, si_code_, trap_number, error_code, what) do { \
	catch(sig, tell, SA_NODEFER); \
	if (!sigsetjmp(back, 1)) { what; CHECK(!"no signal"); } \
	CHECK(got.si_signo == sig); \
	if (told.trap != trap_number || told.error != (error_code) || told.code != si_code_) \
		printf("# trap %ld, error %lx, code %ld\n", told.trap, told.error, told.code); \
	CHECK(told.trap == trap_number && told.error == (error_code) && told.code == si_code_); \
	CHECK(told.cs == 0x33); \
} while (0)

int exception_frames(void)
{
	volatile long zero = 0;
	volatile int result;
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	TELLS(SIGSEGV, SEGV_ACCERR, 14, 6, page[7] = 1);
	/* That the page is there is known after the first read. */
	result = page[0];
	TELLS(SIGSEGV, SEGV_ACCERR, 14, 7, page[7] = 1);
	CHECK(got.si_addr == page + 7 && told.cr2 == (long)(page + 7));
	/* CR2 stays as it is. */
	TELLS(SIGSEGV, SI_KERNEL, 13, 0, asm volatile ("hlt"));
	CHECK(told.cr2 == (long)(page + 7) && !got.si_addr);
	TELLS(SIGSEGV, SI_KERNEL, 13, 0x12 << 3 | 2, asm volatile ("int $0x12"));
	TELLS(SIGSEGV, SI_KERNEL, 13, 0x1000, asm volatile ("mov %0, %%es" : : "r" (0x1003)));
	TELLS(SIGFPE, FPE_INTDIV, 0, 0, result = 7 / zero);
	TELLS(SIGTRAP, SI_KERNEL, 3, 0, asm volatile ("int3"));
	TELLS(SIGILL, ILL_ILLOPN, 6, 0, asm volatile ("ud2"));
	/* Where no process may have anything, something is there, whatever is. */
	TELLS(SIGSEGV, SEGV_MAPERR, 14, 5, result = *(volatile char *)0xffffffff80000000);
	CHECK(told.cr2 == (long)0xffffffff80000000);
	TELLS(SIGSEGV, SEGV_MAPERR, 14, 4, result = *(volatile char *)(8 + zero));
	(void)result;
	return 1;
}

static void spoil_cs(int sig, siginfo_t *si, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	/* The stack's selector is above, code's below. */
	r[REG_CSGSFS] = (r[REG_CSGSFS] & ~0xffffL) | 0x08;
}

static void spoil_flags(int sig, siginfo_t *si, void *context)
{
	/* I/O privilege, virtual interrupts, interrupts off. */
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] = 0x003a3002;
}

static void skip(int sig, siginfo_t *si, void *context)
{
	/* No address of a program's: then it is a fault there. */
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = 0x8000000000000000;
}

/* What a program may not have, a handler does not give it. */
static int spoilt(void (*handler)(int, siginfo_t *, void *))
{
	unsigned long flags;
	int pid = fork();

	if (!pid) {
		catch(SIGUSR1, handler, 0);
		signal(SIGSEGV, SIG_DFL);
		raw(__NR_kill, getpid(), SIGUSR1, 0);
		asm volatile ("pushf; pop %0" : "=r" (flags));
		raw(__NR_exit, (flags & 0x003a3200) != 0x200, 0, 0);
	}
	waitpid(pid, (int *)&flags, 0);
	return flags & 0xffff;
}

int changed_frames(void)
{
	CHECK(spoilt(spoil_cs) == SIGSEGV);
	CHECK(spoilt(spoil_flags) == 0);
	CHECK(spoilt(skip) == SIGSEGV);
	return 1;
}

static void add_one(int sig, siginfo_t *si, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	int i;

	for (i = REG_R8; i <= REG_RCX; i++)
		r[i]++;
	/* After `ud2`. */
	r[REG_RIP] += 2;
}

/* RCX and R11 are registers as any other, if it is no system call that is gone on after. */
int all_restored(void)
{
	unsigned long out[15], i;

	catch(SIGILL, add_one, 0);
	asm volatile ("push %%rbp; push %%rbx; push %0\n\t"
		      "mov $1, %%eax; mov $2, %%ebx; mov $3, %%ecx; mov $4, %%edx; mov $5, %%esi; mov $6, %%edi; mov $7, %%ebp\n\t"
		      "mov $8, %%r8d; mov $9, %%r9d; mov $10, %%r10d; mov $11, %%r11d; mov $12, %%r12d; mov $13, %%r13d; mov $14, %%r14d\n\t"
		      "mov $15, %%r15d; ud2\n\t"
		      "push %%rax; mov 8(%%rsp), %%rax\n\t"
		      "pop (%%rax); mov %%rbx, 8(%%rax); mov %%rcx, 16(%%rax); mov %%rdx, 24(%%rax); mov %%rsi, 32(%%rax); mov %%rdi, 40(%%rax)\n\t"
		      "mov %%rbp, 48(%%rax); mov %%r8, 56(%%rax); mov %%r9, 64(%%rax); mov %%r10, 72(%%rax); mov %%r11, 80(%%rax)\n\t"
		      "mov %%r12, 88(%%rax); mov %%r13, 96(%%rax); mov %%r14, 104(%%rax); mov %%r15, 112(%%rax)\n\t"
		      "pop %%rax; pop %%rbx; pop %%rbp"
		      : : "r" (out) : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	for (i = 0; i < 15; i++)
		CHECK(out[i] == i + 2);
	return 1;
}

static void uses_stack(int sig, siginfo_t *si, void *context)
{
	volatile char much[1024];

	memset((char *)much, 0xff, sizeof(much));
	ticks++;
}

/* A handler leaves alone the 128 bytes below the stack pointer. */
int red_zone(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { };
	long lost = 0;

	catch(SIGALRM, uses_stack, SA_RESTART);
	ticks = 0;
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < 20 && !lost)
		asm volatile ("movq $0x1234, -8(%%rsp); movq $0x5678, -128(%%rsp); mov $20000, %%ecx; 1: dec %%ecx; jnz 1b\n\t"
			      "mov -8(%%rsp), %0; sub $0x1234, %0; mov -128(%%rsp), %%rcx; sub $0x5678, %%rcx; or %%rcx, %0"
			      : "=&r" (lost) : : "rcx", "memory", "cc");
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(!lost);
	return 1;
}
