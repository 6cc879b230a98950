// SPDX-License-Identifier: MIT OR Apache-2.0
/* Steps, system calls that a debugger carries out, breakpoints of the processor, TLS, privileges. */
#include "i386.h"
#include <asm/ldt.h>
#include <stddef.h>
#include <sys/prctl.h>

static unsigned long stops[16];
static volatile int stopped;

static void stop(int sig, siginfo_t *si, void *context)
{
	if (stopped < 16 && si->si_code == TRAP_TRACE)
		stops[stopped] = ((ucontext_t *)context)->uc_mcontext.gregs[REG_EIP];
	stopped++;
}

/* A program that sets its trap flag is stopped behind each instruction but a system call's. */
int own_steps(void)
{
	extern const char step_b[], step_c[], step_e[], step_f[], step_g[], step_h[];
	const unsigned long expected[] = {
		(long)step_b, (long)step_c, (long)step_e, (long)step_f, (long)step_g, (long)step_h,
	};
	int result;

	catch(SIGTRAP, stop, 0);
	stopped = 0;
	asm volatile ("pushf; orl $0x100, (%%esp); popf\n\t"
		      "nop\n step_b: mov %1, %%eax\n step_c: int $0x80\n nop\n step_e: pushf\n"
		      "step_f: andl $~0x100, (%%esp)\n step_g: popf\n step_h: nop"
		      : "=&a" (result) : "i" (__NR_getpid) : "memory", "cc");
	CHECK(result == getpid());
	CHECK(stopped == 6 && !memcmp(stops, expected, sizeof(expected)));
	return 1;
}

/* A child that the parent stops once it runs. */
#define STOPPED(pid, sig) do { int status_; CHECK(waitpid(pid, &status_, 0) == pid && WIFSTOPPED(status_)); \
	CHECK(WSTOPSIG(status_) == (sig)); } while (0)

int emulation(void)
{
	struct user_regs_struct regs;
	int pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(raw(__NR_getppid, 0, 0, 0) == 4711 && raw(__NR_getpid, 0, 0, 0) == 4712 ? 3 : 4);
	}
	STOPPED(pid, SIGSTOP);
	CHECK(!ptrace(PTRACE_SYSEMU, pid, 0, 0));
	STOPPED(pid, SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.orig_eax == __NR_getppid && regs.eax == -ENOSYS);
	regs.eax = 4711;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
	/* Steps come between, the call itself is carried out by nobody. */
	do {
		CHECK(!ptrace(PTRACE_SYSEMU_SINGLESTEP, pid, 0, 0));
		STOPPED(pid, SIGTRAP);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	} while (regs.orig_eax != __NR_getpid);
	regs.eax = 4712;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

static volatile int watched[4];

static void __attribute__((noinline)) passed(void)
{
	watched[3]++;
	asm volatile ("");
}

static long debug(int pid, int n, long value)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[n]), value);
}

static long status_of(int pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[6]), 0);
}

int breakpoints(void)
{
	struct user_regs_struct regs;
	siginfo_t si;
	int pid = fork(), round;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		watched[0] = 1;
		watched[1] = 2;
		passed();
		passed();
		_exit(watched[3]);
	}
	STOPPED(pid, SIGSTOP);
	/* Behind the last register is nothing. */
	errno = 0;
	CHECK(ptrace(PTRACE_PEEKUSER, pid, sizeof(struct user), 0) == -1 && errno == EIO);
	CHECK(ptrace(PTRACE_PEEKUSER, pid, 2, 0) == -1 && errno == EIO);
	CHECK(debug(pid, 4, 0) == -1 && errno == EIO);
	/* No breakpoints of the kernel's, of ports, across what is watched at a time. */
	CHECK(debug(pid, 0, 0xfffff000) == -1 && errno == EINVAL);
	CHECK(!debug(pid, 0, (long)&watched[1]));
	CHECK(debug(pid, 7, 0x00020001) == -1 && errno == EINVAL);
	CHECK(debug(pid, 7, 0x00080001) == -1 && errno == EINVAL);
	CHECK(!ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[7]), 0));
	CHECK(!debug(pid, 0, (long)&watched[1] + 2));
	CHECK(debug(pid, 7, 0x000d0001) == -1 && errno == EINVAL);
	/* Register 0: writes to a word; 2: an instruction. */
	CHECK(!debug(pid, 0, (long)&watched[1]) && !debug(pid, 2, (long)passed));
	CHECK(!debug(pid, 7, 0x000d0101 | 0x10));
	CHECK(ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[7]), 0) == (0x000d0101 | 0x10));
	/* This process has none of them. */
	watched[1] = 7;
	passed();
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	STOPPED(pid, SIGTRAP);
	CHECK(!ptrace(PTRACE_GETSIGINFO, pid, 0, &si) && si.si_code == TRAP_HWBKPT);
	CHECK((status_of(pid) & 0xf) == 1);
	CHECK(ptrace(PTRACE_PEEKDATA, pid, &watched[1], 0) == 2);
	CHECK(!debug(pid, 6, 0));
	/* Each time it comes there, and goes on. */
	for (round = 0; round < 2; round++) {
		CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
		STOPPED(pid, SIGTRAP);
		CHECK(!ptrace(PTRACE_GETSIGINFO, pid, 0, &si) && si.si_code == TRAP_HWBKPT);
		CHECK((status_of(pid) & 0xf) == 4);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.eip == (long)passed);
		CHECK(ptrace(PTRACE_PEEKDATA, pid, &watched[3], 0) == round);
	}
	CHECK(!debug(pid, 7, 0));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 2 << 8);
}

/* The word at this place of the segment. */
static int word_of(int entry, int at)
{
	int value, old;

	asm volatile ("mov %%fs, %1; mov %2, %%fs; mov %%fs:(%3), %0; mov %1, %%fs"
		      : "=&r" (value), "=&r" (old) : "r" (entry << 3 | 3), "r" (at));
	return value;
}

int tls(void)
{
	static int words[2] = { 17, 18 };
	struct user_desc areas[2], other, child;
	int i, pid, status;

	for (i = 0; i < 2; i++) {
		areas[i] = (struct user_desc){
			.entry_number = -1, .base_addr = (unsigned long)&words[i], .limit = 0xfffff,
			.seg_32bit = 1, .limit_in_pages = 1, .useable = 1,
		};
		CHECK(!syscall(__NR_set_thread_area, &areas[i]));
		CHECK(areas[i].entry_number == 7 + i && word_of(7 + i, 0) == 17 + i);
	}
	other = areas[0];
	other.entry_number = -1;
	CHECK(syscall(__NR_set_thread_area, &other) == -1 && errno == ESRCH);
	other.entry_number = 9;
	CHECK(syscall(__NR_set_thread_area, &other) == -1 && errno == EINVAL);
	CHECK(syscall(__NR_get_thread_area, &other) == -1 && errno == EINVAL);
	/* A child has all three. */
	pid = fork();
	if (!pid) {
		for (i = 0; i < 2; i++) {
			child = (struct user_desc){ .entry_number = 7 + i };
			if (syscall(__NR_get_thread_area, &child) || memcmp(&child, &areas[i], sizeof(child)) ||
			    word_of(7 + i, 0) != 17 + i)
				_exit(1 + i);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	/* Code, and data that is not there, are refused; zeros take one back. */
	other = areas[0];
	other.contents = 2;
	CHECK(syscall(__NR_set_thread_area, &other) == -1 && errno == EINVAL);
	for (i = 0; i < 2; i++) {
		other = (struct user_desc){ .entry_number = 7 + i };
		CHECK(!syscall(__NR_set_thread_area, &other));
		CHECK(!syscall(__NR_get_thread_area, &other) && other.seg_not_present && other.read_exec_only);
	}
	return 1;
}

/* What a process may not, or what is always so. Some kernels have no such call. */
#define REFUSED(call) ((call) == -1 && (errno == EPERM || errno == ENOSYS))

int privileges(void)
{
	int mode = 0, pid = fork();

	if (!pid) {
		if (setuid(1000))
			_exit(9);
		_exit(REFUSED(syscall(__NR_iopl, 3)) && REFUSED(syscall(__NR_ioperm, 0x80, 1, 1)) ? 0 : 1);
	}
	CHECK(wait_for(pid, 0));
	CHECK(syscall(__NR_iopl, 4) == -1 && (errno == EINVAL || errno == ENOSYS));
	CHECK(!prctl(PR_GET_TSC, &mode) && mode == PR_TSC_ENABLE);
	CHECK(!prctl(PR_SET_TSC, PR_TSC_ENABLE));
	CHECK(prctl(PR_SET_TSC, 17) == -1 && errno == EINVAL);
	CHECK(syscall(__NR_arch_prctl, 0x1011, 0) == 1);
	CHECK(syscall(__NR_arch_prctl, 0x1234, 0) == -1 && errno == EINVAL);
	return 1;
}
