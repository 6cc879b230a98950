// SPDX-License-Identifier: MIT OR Apache-2.0
/* Exceptions, and what signal handlers are told and may change. */
#include "powerpc.h"
#include <ucontext.h>

#define STORE	0x02000000

/* Words of the registers in a frame that are none of the general ones. */
enum { NIP = 32, MSR = 33, TRAP = 40, DAR = 41, DSISR = 42 };

static void divide_by_trap(void)
{
	asm volatile ("twi 31, 0, 0");
}

int exceptions(void)
{
	RAISES(SIGILL, ILL_ILLOPC, asm volatile (".long 0"));
	RAISES(SIGILL, ILL_PRVOPC, asm volatile ("mtmsr 0"));
	RAISES(SIGILL, ILL_PRVOPC, asm volatile ("mtsr 0, 0"));
	RAISES(SIGTRAP, TRAP_BRKPT, asm volatile ("trap"));
	RAISES(SIGTRAP, TRAP_BRKPT, divide_by_trap());
	RAISES(SIGSEGV, SEGV_MAPERR, ((void (*)(void))0x7ffffff0)());
	CHECK(got.si_addr == (void *)0x7ffffff0);
	/* Addresses of the kernel. */
	RAISES(SIGSEGV, SEGV_MAPERR, *(volatile int *)0xa0400000);
	RAISES(SIGSEGV, SEGV_MAPERR, *(volatile int *)0xf0000000);
	return 1;
}

static struct told {
	int sig;
	siginfo_t info;
	unsigned long r[48];
	unsigned long sp;
} told;

static unsigned long *registers_of(void *uc)
{
	return ((ucontext_t *)uc)->uc_mcontext.uc_regs->gregs;
}

static void tell(int sig, siginfo_t *info, void *uc)
{
	asm ("mr %0, 1" : "=r" (told.sp));
	told.sig = sig;
	told.info = *info;
	memcpy(told.r, registers_of(uc), sizeof(told.r));
	/* After the instruction. */
	registers_of(uc)[NIP] += 4;
	registers_of(uc)[20] ^= 1;
}

int frames(void)
{
	register unsigned long r20 asm ("r20") = 0x1234;
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	catch(SIGSEGV, tell, 0);
	asm volatile ("stw %0, 8(%1)" : "+r" (r20) : "b" (page) : "memory");
	CHECK(told.sig == SIGSEGV && told.info.si_code == SEGV_ACCERR && told.info.si_addr == page + 8);
	CHECK(told.r[TRAP] == 0x300 && told.r[DAR] == (unsigned long)page + 8 && told.r[DSISR] & STORE);
	CHECK(told.r[20] == 0x1234 && !(told.sp & 15));
	CHECK(r20 == 0x1235);
	asm volatile ("lwz %0, 0(%1)" : "+r" (r20) : "b" (8) : "memory");
	CHECK(told.info.si_code == SEGV_MAPERR && !(told.r[DSISR] & STORE) && told.info.si_addr == (void *)8);
	return !munmap(page, PAGE);
}

static void privileged(int sig, siginfo_t *info, void *uc)
{
	/* The supervisor's mode, without interrupts and translation. */
	registers_of(uc)[MSR] = 0;
}

/* What a program may not have, a handler does not give it. */
int changed_frames(void)
{
	catch(SIGUSR1, privileged, 0);
	kill(getpid(), SIGUSR1);
	RAISES(SIGILL, ILL_PRVOPC, asm volatile ("mfmsr 0" : : : "r0"));
	return 1;
}

struct kernels_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	sigset_t mask;
};

static unsigned int *volatile returns_to;

static void note(int sig)
{
	handled++;
	returns_to = __builtin_return_address(0);
}

/* A handler returns by two instructions, by which debuggers and libraries know its frame. */
int last_return(void)
{
	struct kernels_sigaction action = { .handler = note };
	int i;

	handled = 0;
	for (i = 0; i < 2; i++) {
		action.flags = i ? SA_SIGINFO : 0;
		CHECK(!syscall(__NR_rt_sigaction, SIGUSR1, &action, NULL, 8));
		kill(getpid(), SIGUSR1);
		CHECK(handled == i + 1);
		CHECK(returns_to[0] == (0x38000000u | (i ? __NR_rt_sigreturn : __NR_sigreturn)) && returns_to[1] == 0x44000002);
	}
	return 1;
}

static void nothing(int sig)
{
	ticks++;
}

/* A signal between two instructions leaves all registers, though the last system call had failed, and r3 is no error's number. */
int all_restored(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { };
	int i, good = 1;

	signal(SIGALRM, nothing);
	setitimer(ITIMER_REAL, &often, NULL);
	for (ticks = 0; ticks < 20 && good;) {
		unsigned int r3, cr, ctr;

		asm volatile ("lis 3, 0xfedc\n\tli 9, 0x777\n\tmtctr 9\n\tcrset 3\n\tli 10, 20000\n"
			      "1:\taddi 10, 10, -1\n\tcmpwi 7, 10, 0\n\tbne 7, 1b\n\t"
			      "mr %0, 3\n\tmfcr %1\n\tmfctr %2"
			      : "=&r" (r3), "=&r" (cr), "=&r" (ctr) : : "r3", "r9", "r10", "ctr", "cr0", "cr7");
		good = r3 == 0xfedc0000 && cr & 0x10000000 && ctr == 0x777;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(good);
	/* And a system call that begins again. */
	catch(SIGALRM, tick, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 5; i++) {
		int pid = fork(), status;

		if (!pid) {
			struct timespec time = { 0, 20000000 };

			while (nanosleep(&time, &time) && errno == EINTR);
			_exit(3);
		}
		good &= waitpid(pid, &status, 0) == pid && status == 3 << 8;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	return good;
}
