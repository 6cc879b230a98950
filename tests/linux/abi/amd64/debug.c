// SPDX-License-Identifier: MIT OR Apache-2.0
/* Debuggers: registers, system calls, code that they write, steps; core dumps. */
#include "amd64.h"
#include <sys/procfs.h>
#include <sys/uio.h>

/* Runs the child to its next stop by SIGTRAP. */
static int goes_on(int pid, int request)
{
	int status;

	CHECK(!ptrace(request, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return 1;
}

int debugging(void)
{
	struct user_regs_struct regs;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		asm volatile ("mov $77, %%r12; int3; xor %%edi, %%edi; cmp $78, %%r12; setne %%dil; mov $60, %%eax; syscall" : : : "r12", "rdi", "rax");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	/* The rest of raise(), then the breakpoint: system calls begin and end. */
	do {
		if (!goes_on(pid, PTRACE_SYSCALL))
			return 0;
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
	} while (regs.r12 != 77);
	CHECK(regs.cs == 0x33 && regs.ss == 0x2b && !regs.ds && !regs.gs_base);
	CHECK(regs.fs_base == (unsigned long)pthread_self());
	CHECK((unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.r12), 0) == 77);
	CHECK((ptrace(PTRACE_PEEKTEXT, pid, regs.rip - 1, 0) & 0xff) == 0xcc);
	regs.r12 = 78;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
	/* No other privileges, no base in the kernel. */
	regs.cs = 0x08;
	CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == -1);
	CHECK(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.fs_base), -4096L) == -1);
	errno = 0;
	CHECK(ptrace(PTRACE_PEEKUSER, pid, 2, 0) == -1 && errno == EIO);
	/* exit() becomes another call, which does not end it, then it is called by its own number. */
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.orig_rax == __NR_exit && regs.rdi == 0 && regs.rax == (unsigned long)-ENOSYS);
	CHECK(!ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.orig_rax), __NR_getpid));
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rax == (unsigned long)pid);
	regs.rip -= 2;
	regs.rax = __NR_exit;
	regs.rdi = 5;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs) && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 5 << 8);
}

/* A debugger reads and sets the base of GS. */
int debuggers_gs(void)
{
	static unsigned long words[2] = { 47, 48 };
	struct user_regs_struct regs;
	unsigned long word;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (raw(__NR_arch_prctl, ARCH_SET_GS, (long)words, 0))
			_exit(1);
		raise(SIGTRAP);
		asm volatile ("mov %%gs:0, %0" : "=r" (word));
		_exit(word);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.gs_base == (unsigned long)words);
	CHECK(ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.gs_base), -4096L) == -1);
	CHECK(!ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.gs_base), words + 1));
	CHECK((unsigned long)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.gs_base), 0) == (unsigned long)(words + 1));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 48 << 8);
}

__attribute__((noinline)) static int function(int n)
{
	asm volatile ("");
	return n + 1;
}

/* A breakpoint that a debugger writes stops the program, and is gone when it is taken back. */
int debuggers_code(void)
{
	struct user_regs_struct regs;
	int pid = fork(), status, i;
	long was;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		for (i = 0; i < 3; i++) {
			raise(SIGTRAP);
			if (function(i) != i + 1)
				_exit(1);
		}
		_exit(3);
	}
	for (i = 0; i < 3; i++) {
		if (!i)
			CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
		was = ptrace(PTRACE_PEEKTEXT, pid, function, 0);
		CHECK(!ptrace(PTRACE_POKETEXT, pid, function, (was & ~0xffL) | 0xcc));
		if (!goes_on(pid, PTRACE_CONT))
			return 0;
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rip == (unsigned long)function + 1);
		CHECK(!ptrace(PTRACE_POKETEXT, pid, function, was));
		regs.rip--;
		CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
		if (i < 2 && !goes_on(pid, PTRACE_CONT))
			return 0;
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

extern const char steps_begin[], steps_end[];

/* A debugger sees each instruction, a system call as one. */
int steps(void)
{
	struct user_regs_struct regs;
	unsigned long last;
	int pid = fork(), status, n;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		asm volatile ("int3\n\t.globl steps_begin\nsteps_begin:\n\tmov $3, %%ebx\n1:\tdec %%ebx\n\tjnz 1b\n\tmov %0, %%eax\n\tsyscall\n\t"
			      ".globl steps_end\nsteps_end:\n\tmov $4, %%edi\n\tmov $60, %%eax\n\tsyscall"
			      : : "i" (__NR_getpid) : "rax", "rbx", "rcx", "rdi", "r11", "memory");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	if (!goes_on(pid, PTRACE_CONT))
		return 0;
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rip == (unsigned long)steps_begin);
	/* mov; three times dec and jnz; mov; syscall. */
	for (n = 0, last = regs.rip; last != (unsigned long)steps_end; n++, last = regs.rip) {
		if (!goes_on(pid, PTRACE_SINGLESTEP))
			return 0;
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rip != last && n < 20);
		/* The flag is the debugger's. */
		CHECK(!(regs.eflags & 0x100));
	}
	CHECK(n == 9 && regs.rax == (unsigned long)pid);
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 4 << 8);
}

static unsigned long stops[16];
static volatile int stopped;

static void stop(int sig, siginfo_t *si, void *context)
{
	if (stopped < 16 && si->si_code == TRAP_TRACE)
		stops[stopped] = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	stopped++;
}

/* A program that sets its trap flag is stopped after each instruction. */
int own_steps(void)
{
	extern const char step_b[], step_c[], step_d[], step_e[], step_f[], step_g[];
	const unsigned long expected[] = {
		(long)step_b, (long)step_c, (long)step_d, (long)step_e, (long)step_f, (long)step_g,
	};

	catch(SIGTRAP, stop, 0);
	stopped = 0;
	asm volatile ("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf\n\t"
		      "nop\n step_b: mov $5, %%eax\n step_c: inc %%eax\n step_d: pushf\n"
		      "step_e: andl $~0x100, (%%rsp)\n step_f: popf\n step_g: nop; add $128, %%rsp"
		      : : : "rax", "memory", "cc");
	CHECK(stopped == 6 && !memcmp(stops, expected, sizeof(expected)));
	return 1;
}

static volatile long watched[4];

static void __attribute__((noinline)) passed(void)
{
	watched[3]++;
	asm volatile ("");
}

static long debug(int pid, int n, long value)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[n]), value);
}

static long debug_register(int pid, int n)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, u_debugreg[n]), 0);
}

/* The child goes on to a breakpoint, and says which. */
static int stops_by(int pid, long which)
{
	siginfo_t si;

	CHECK(goes_on(pid, PTRACE_CONT));
	CHECK(!ptrace(PTRACE_GETSIGINFO, pid, 0, &si) && si.si_code == TRAP_HWBKPT);
	CHECK((debug_register(pid, 6) & 0xf) == which);
	return 1;
}

/* Breakpoints of the processor. */
int breakpoints(void)
{
	struct user_regs_struct regs;
	int pid = fork(), status, round;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		watched[0] = 1;
		watched[1] = 2;
		passed();
		passed();
		_exit(watched[3]);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(debug(pid, 4, 0) == -1 && errno == EIO);
	/* None of the kernel's, none of ports, none across what is watched at a time. */
	CHECK(debug(pid, 0, -4096) == -1 && errno == EINVAL);
	CHECK(!debug(pid, 0, (long)&watched[1]));
	CHECK(debug(pid, 7, 0x00020001) == -1 && errno == EINVAL);
	CHECK(debug(pid, 7, 0x00080001) == -1 && errno == EINVAL);
	CHECK(!debug_register(pid, 7));
	CHECK(!debug(pid, 0, (long)&watched[1] + 4));
	CHECK(debug(pid, 7, 0x00090001) == -1 && errno == EINVAL);
	/* Register 0: writes to eight bytes; 2: an instruction. */
	CHECK(!debug(pid, 0, (long)&watched[1]) && !debug(pid, 2, (long)passed));
	CHECK(!debug(pid, 7, 0x00090101 | 0x10));
	CHECK(debug_register(pid, 7) == (0x00090101 | 0x10) && debug_register(pid, 0) == (long)&watched[1]);
	/* This process has none of them. */
	watched[1] = 7;
	passed();
	CHECK(stops_by(pid, 1) && ptrace(PTRACE_PEEKDATA, pid, &watched[1], 0) == 2);
	CHECK(!debug(pid, 6, 0));
	/* Each time it comes there, and goes on. */
	for (round = 0; round < 2; round++) {
		CHECK(stops_by(pid, 4));
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rip == (unsigned long)passed);
		CHECK(ptrace(PTRACE_PEEKDATA, pid, &watched[3], 0) == round);
	}
	CHECK(!debug(pid, 7, 0));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 2 << 8);
}

/* A new program has none of those that were the old one's. */
int breakpoints_of_exec(void)
{
	char *args[] = { "abi", "as", "control", NULL };
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv("/proc/self/exe", args);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK(!debug(pid, 0, (long)as) && !debug(pid, 7, 1));
	/* Of exec. */
	CHECK(goes_on(pid, PTRACE_CONT));
	CHECK(!debug_register(pid, 0) && !debug_register(pid, 7));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 0);
}

/* System calls that a debugger carries out. */
int emulation(void)
{
	struct user_regs_struct regs;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		_exit(raw(__NR_getppid, 0, 0, 0) == 4711 ? 3 : 4);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	do {
		if (!goes_on(pid, PTRACE_SYSEMU))
			return 0;
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.rax == (unsigned long)-ENOSYS);
		if (regs.orig_rax != __NR_getppid) {
			regs.rax = 0;
			CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs));
		}
	} while (regs.orig_rax != __NR_getppid);
	regs.rax = 4711;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs) && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE	0x202
#endif

static double xmm9(const struct user_fpregs_struct *fp)
{
	double value;

	memcpy(&value, &fp->xmm_space[4 * 9], sizeof(value));
	return value;
}

/* Sets of registers: general ones, those of fxsave, those of xsave. */
int register_sets(void)
{
	static unsigned char state[8192];
	struct user_fpregs_struct fp;
	struct user_regs_struct regs;
	struct iovec general = { &regs, sizeof(regs) }, floating = { &fp, sizeof(fp) }, extended = { state, sizeof(state) };
	const double two = 2;
	int pid = fork(), status;

	if (!pid) {
		double in[4] = { 1, 2, 3, 4 }, out[2];

		ptrace(PTRACE_TRACEME, 0, 0, 0);
		asm volatile ("movups %1, %%xmm9; int3; movups %%xmm9, %0" : "=m" (out) : "m" (in) : "xmm9", "memory");
		_exit(out[0] == 2 && out[1] == 2 ? 3 : 4);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &general) && general.iov_len == sizeof(regs) && regs.rip);
	CHECK(!ptrace(PTRACE_GETREGSET, pid, NT_PRFPREG, &floating) && floating.iov_len == sizeof(fp));
	CHECK(fp.cwd == 0x37f && fp.mxcsr == 0x1f80 && xmm9(&fp) == 1);
	memcpy(&fp.xmm_space[4 * 9], &two, sizeof(two));
	CHECK(!ptrace(PTRACE_SETREGSET, pid, NT_PRFPREG, &floating));
	CHECK(!ptrace(PTRACE_GETFPREGS, pid, 0, &fp) && xmm9(&fp) == 2);
	fp.mxcsr = 0xdead1f80;
	CHECK(ptrace(PTRACE_SETREGSET, pid, NT_PRFPREG, &floating) == -1 && errno == EINVAL);
	if (!ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &extended)) {
		/* Which parts there are, and which are in use. */
		CHECK(extended.iov_len >= 576 && (state[464] & 3) == 3 && state[512] & 2);
		CHECK(!memcmp(&state[160 + 16 * 9], &two, sizeof(two)));
		CHECK(!ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &extended));
	} else {
		CHECK(!has_avx() && errno == ENODEV);
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	const struct elf_prstatus *general;
	const struct user_regs_struct *regs;
	const Elf64_Ehdr *header;
	const Elf64_Phdr *part;
	const Elf64_Nhdr *note;
	struct stat st;
	int pid, status, fd;
	char *core;

	CHECK(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		chdir(dir);
		signal(SIGILL, SIG_DFL);
		asm volatile ("mov $0x1200, %%r12; ud2" : : : "r12");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st) && (size_t)st.st_size > sizeof(*header));
	core = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(core != MAP_FAILED);
	header = (void *)core;
	CHECK(!memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_type == ET_CORE && header->e_machine == EM_X86_64);
	part = (void *)(core + header->e_phoff);
	CHECK(part->p_type == PT_NOTE);
	note = (void *)(core + part->p_offset);
	CHECK(note->n_type == NT_PRSTATUS && note->n_descsz == sizeof(*general));
	general = (void *)((char *)(note + 1) + (note->n_namesz + 3) / 4 * 4);
	regs = (void *)&general->pr_reg;
	CHECK(general->pr_pid == pid && regs->r12 == 0x1200 && regs->fs_base == (unsigned long)pthread_self());
	return !munmap(core, st.st_size) && !close(fd) && !unlink("core") && !chdir("/") && !rmdir(dir);
}
