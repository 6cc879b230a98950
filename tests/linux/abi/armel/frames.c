// SPDX-License-Identifier: MIT OR Apache-2.0
/* Exceptions, and what signal handlers are told and may change. */
#include "armel.h"

#define UNDEFINED	".inst 0xe7f000f0"
#define BREAKPOINT	".inst 0xe7f001f0"

/* By the fault status register: no translation, no right, and a write. */
#define TRAP_PAGE_FAULT	14
#define FSR_WRITE	0x800

int exceptions(void)
{
	RAISES(SIGILL, ILL_ILLOPC, asm volatile (UNDEFINED));
	RAISES(SIGTRAP, TRAP_BRKPT, asm volatile (BREAKPOINT));
	RAISES(SIGSEGV, SEGV_MAPERR, ((void (*)(void))0x7ffffff0)());
	CHECK(got.si_addr == (void *)0x7ffffff0);
	/* The kernel's page at the end of the addresses can be read, and not written. */
	catch(SIGSEGV, jump, 0);
	if (!sigsetjmp(back, 1)) {
		*(volatile int *)0xffff0ffc = 1;
		CHECK(!"no signal");
	}
	return 1;
}

static struct told {
	int sig;
	siginfo_t info;
	struct sigcontext context;
	unsigned long sp;
} told;

static void tell(int sig, siginfo_t *info, void *uc)
{
	asm ("mov %0, sp" : "=r" (told.sp));
	told.sig = sig;
	told.info = *info;
	memcpy(&told.context, &((ucontext_t *)uc)->uc_mcontext, sizeof(told.context));
	/* Behind the instruction. */
	((ucontext_t *)uc)->uc_mcontext.arm_pc += 4;
	((ucontext_t *)uc)->uc_mcontext.arm_r4 ^= 1;
}

int frames(void)
{
	register unsigned long r4 asm ("r4") = 0x1234;
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	catch(SIGSEGV, tell, 0);
	asm volatile ("str %0, [%1, #8]" : "+r" (r4) : "r" (page) : "memory");
	CHECK(told.sig == SIGSEGV && told.info.si_code == SEGV_ACCERR && told.info.si_addr == page + 8);
	CHECK(told.context.trap_no == TRAP_PAGE_FAULT && told.context.fault_address == (unsigned long)page + 8);
	CHECK(told.context.error_code & FSR_WRITE && told.context.arm_r4 == 0x1234);
	CHECK((told.context.arm_cpsr & 0x3f) == 0x10);
	CHECK(r4 == 0x1235);
	asm volatile ("ldr %0, [%1]" : "+r" (r4) : "r" (0) : "memory");
	CHECK(told.info.si_code == SEGV_MAPERR && !(told.context.error_code & FSR_WRITE));
	return 1;
}

static void privileged(int sig, siginfo_t *info, void *uc)
{
	/* Supervisor mode, interrupts off; and all flags. */
	((ucontext_t *)uc)->uc_mcontext.arm_cpsr = 0xf00000d3;
}

/* What a program may not have, a handler does not give it. */
int changed_frames(void)
{
	unsigned long status;
	int pid = fork();

	if (!pid) {
		catch(SIGUSR1, privileged, 0);
		raw(__NR_kill, getpid(), SIGUSR1, 0);
		asm volatile ("mrs %0, cpsr" : "=r" (status));
		_exit((status & 0xff) != 0x10);
	}
	waitpid(pid, (int *)&status, 0);
	/* Linux on the machine itself takes this for a mistake. */
	CHECK(!status || status == SIGSEGV);
	return 1;
}

struct kernels_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	sigset_t mask;
};

static void note(int sig)
{
	handled++;
}

/* A handler that names no function to return by. */
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
	}
	return 1;
}
