// SPDX-License-Identifier: MIT OR Apache-2.0
/* Debuggers: registers, system calls, code that they write, single steps; core dumps. */
#include "powerpc.h"
#include <sys/procfs.h>
#include <sys/uio.h>

#define GETREGS		12
#define SETREGS		13
#define GETFPREGS	14

enum { NIP = 32, MSR = 33, ORIG_R3 = 34, FPR0 = 48 };

/* Runs the child to its next stop by SIGTRAP. */
static int goes_on(int pid, int request)
{
	int status;

	CHECK(!ptrace(request, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		printf("# status %x\n", status);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return 1;
}

int debugging(void)
{
	struct { unsigned long r[48]; } regs = { };
	struct iovec vector = { &regs, sizeof(regs) };
	static const double half = 0.5;
	double fp[33];
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		asm volatile ("lfd 20, 0(%0)\n\tli 20, 77\n\ttrap\n\tcmpwi 20, 78\n\tli 3, 0\n\tbeq 1f\n\tli 3, 1\n1:\tli 0, 1\n\tsc"
			      : : "b" (&half) : "r20", "r0", "r3", "cr0", "fr20");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	/* The rest of raise(), then the breakpoint: system calls begin and end. */
	do {
		if (!goes_on(pid, PTRACE_SYSCALL))
			return 0;
		CHECK(!ptrace(GETREGS, pid, 0, &regs));
	} while (regs.r[20] != 77);
	CHECK((unsigned long)ptrace(PTRACE_PEEKTEXT, pid, regs.r[NIP], 0) == BREAKPOINT);
	CHECK((unsigned long)ptrace(PTRACE_PEEKUSER, pid, 20 * 4, 0) == 77);
	CHECK(!ptrace(GETFPREGS, pid, 0, fp) && fp[20] == half);
	CHECK((unsigned long)ptrace(PTRACE_PEEKUSER, pid, (FPR0 + 2 * 20) * 4, 0) == 0x3fe00000);
	CHECK(ptrace(PTRACE_PEEKUSER, pid, 4096, 0) == -1 && errno == EIO);
	regs.r[20] = 78;
	regs.r[NIP] += 4;
	/* No other mode than the user's: what is asked for of that is ignored. */
	regs.r[MSR] = 0;
	CHECK(!ptrace(SETREGS, pid, 0, &regs));
	CHECK(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &vector) && vector.iov_len == sizeof(regs) && regs.r[20] == 78);
	CHECK((regs.r[MSR] & 0xc000) == 0xc000);
	/* exit() becomes another call, which does not end it, then it is called by its own number. */
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(GETREGS, pid, 0, &regs) && regs.r[0] == __NR_exit && regs.r[3] == 0);
	regs.r[0] = __NR_getpid;
	CHECK(!ptrace(SETREGS, pid, 0, &regs));
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(GETREGS, pid, 0, &regs) && regs.r[3] == (unsigned long)pid);
	regs.r[NIP] -= 4;
	regs.r[0] = __NR_exit;
	regs.r[3] = 5;
	CHECK(!ptrace(SETREGS, pid, 0, &regs) && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 5 << 8);
}

__attribute__((noinline)) static int function(int n)
{
	asm volatile ("");
	return n + 1;
}

/* A breakpoint that a debugger writes stops the program, and is gone when it is taken back. */
int debuggers_code(void)
{
	unsigned long was, regs[48];
	int pid = fork(), status, i;

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
		CHECK(!ptrace(PTRACE_POKETEXT, pid, function, BREAKPOINT));
		if (!goes_on(pid, PTRACE_CONT))
			return 0;
		CHECK(!ptrace(GETREGS, pid, 0, regs) && regs[NIP] == (unsigned long)function);
		CHECK(!ptrace(PTRACE_POKETEXT, pid, function, was));
		if (i < 2 && !goes_on(pid, PTRACE_CONT))
			return 0;
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

extern const char steps_begin[], steps_end[];

/* Steps go from instruction to instruction, and over a system call: alone, or as by the processor with the instruction after it. */
int steps(void)
{
	unsigned long regs[48], last;
	int pid = fork(), status, n;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		asm volatile ("trap\n\t.globl steps_begin\nsteps_begin:\n\tli 9, 3\n1:\taddic. 9, 9, -1\n\tbne 1b\n\tli 0, %0\n\tsc\n\t"
			      ".globl steps_end\nsteps_end:\n\tli 3, 4\n\tli 0, 1\n\tsc"
			      : : "i" (__NR_getpid) : "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	if (!goes_on(pid, PTRACE_CONT))
		return 0;
	CHECK(!ptrace(GETREGS, pid, 0, regs) && regs[NIP] + 4 == (unsigned long)steps_begin);
	regs[NIP] += 4;
	CHECK(!ptrace(SETREGS, pid, 0, regs));
	/* li; three times addic. and bne; li; sc. */
	for (n = 0, last = regs[NIP]; last < (unsigned long)steps_end; n++, last = regs[NIP]) {
		if (!goes_on(pid, PTRACE_SINGLESTEP))
			return 0;
		CHECK(!ptrace(GETREGS, pid, 0, regs) && regs[NIP] != last && n < 20);
	}
	CHECK(n == 9 && (last == (unsigned long)steps_end ? regs[3] == (unsigned long)pid : regs[3] == 4));
	CHECK(last <= (unsigned long)steps_end + 4 && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 4 << 8);
}

int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	const struct elf_prstatus *general;
	const Elf32_Ehdr *header;
	const Elf32_Phdr *part, *last;
	const Elf32_Nhdr *note;
	struct stat st;
	int pid, status, fd;
	char *core;

	CHECK(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		chdir(dir);
		signal(SIGILL, SIG_DFL);
		asm volatile ("li 20, 0x1200\n\t.long 0" : : : "r20");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st) && st.st_size > sizeof(*header));
	core = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(core != MAP_FAILED);
	header = (void *)core;
	CHECK(!memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_type == ET_CORE && header->e_machine == EM_PPC);
	part = (void *)(core + header->e_phoff);
	CHECK(part->p_type == PT_NOTE);
	note = (void *)(core + part->p_offset);
	CHECK(note->n_type == NT_PRSTATUS && note->n_descsz == sizeof(*general));
	general = (void *)((char *)(note + 1) + (note->n_namesz + 3) / 4 * 4);
	CHECK(general->pr_pid == pid && general->pr_reg[20] == 0x1200);
	/* The vDSO is in it, for those who read the core elsewhere. */
	for (last = part + header->e_phnum; part < last && part->p_vaddr != getauxval(AT_SYSINFO_EHDR); part++)
		;
	CHECK(part < last && part->p_filesz == part->p_memsz && part->p_filesz);
	CHECK(!memcmp(core + part->p_offset, (void *)part->p_vaddr, part->p_filesz));
	return !munmap(core, st.st_size) && !close(fd) && !unlink("core") && !chdir("/") && !rmdir(dir);
}
