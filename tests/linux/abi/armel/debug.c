// SPDX-License-Identifier: MIT OR Apache-2.0
/* Debuggers: registers, system calls, code that they write; core dumps. */
#include "armel.h"
#include <sys/procfs.h>
#include <sys/uio.h>

#define GETREGS		12
#define SETREGS		13
#define GET_THREAD_AREA	22
#define SET_SYSCALL	23
#define BREAKPOINT	0xe7f001f0

enum { IP = 12, PC = 15, CPSR = 16, ORIG_R0 = 17 };

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
	struct { unsigned long r[18]; } regs;
	struct iovec vector = { &regs, sizeof(regs) };
	unsigned long tls;
	int pid = fork(), status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		asm volatile ("mov r4, #77; .inst 0xe7f001f0; cmp r4, #78; movne r0, #1; moveq r0, #0; mov r7, #1; swi 0");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	/* The rest of raise(), then the breakpoint: system calls begin and end. */
	do {
		if (!goes_on(pid, PTRACE_SYSCALL))
			return 0;
		CHECK(!ptrace(GETREGS, pid, 0, &regs));
		CHECK(regs.r[4] == 77 || regs.r[IP] <= 1);
	} while (regs.r[4] != 77);
	CHECK((unsigned long)ptrace(PTRACE_PEEKTEXT, pid, regs.r[PC], 0) == BREAKPOINT);
	CHECK((unsigned long)ptrace(PTRACE_PEEKUSER, pid, 4 * 4, 0) == 77);
	CHECK(!ptrace(GET_THREAD_AREA, pid, 0, &tls) && tls == (unsigned long)__builtin_thread_pointer());
	regs.r[4] = 78;
	regs.r[PC] += 4;
	CHECK(!ptrace(SETREGS, pid, 0, &regs));
	CHECK(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &vector) && vector.iov_len == sizeof(regs) && regs.r[4] == 78);
	/* No other mode than the user's. */
	regs.r[CPSR] = (regs.r[CPSR] & ~0x1f) | 0x13;
	CHECK(ptrace(SETREGS, pid, 0, &regs) == -1);
	CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == -1 && errno == EIO);
	/* exit() becomes another call, which does not end it, then it is called by its own number. */
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(GETREGS, pid, 0, &regs) && regs.r[7] == __NR_exit && regs.r[0] == 0);
	CHECK(!ptrace(SET_SYSCALL, pid, 0, __NR_getpid));
	if (!goes_on(pid, PTRACE_SYSCALL))
		return 0;
	CHECK(!ptrace(GETREGS, pid, 0, &regs) && regs.r[0] == (unsigned long)pid);
	regs.r[PC] -= 4;
	regs.r[0] = 5;
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
	unsigned long was, regs[18];
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
		CHECK(!ptrace(GETREGS, pid, 0, regs) && regs[PC] == (unsigned long)function);
		CHECK(!ptrace(PTRACE_POKETEXT, pid, function, was));
		if (i < 2 && !goes_on(pid, PTRACE_CONT))
			return 0;
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 3 << 8);
}

int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	const struct elf_prstatus *general;
	const Elf32_Ehdr *header;
	const Elf32_Phdr *part;
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
		asm volatile ("mov r4, #0x1200; .inst 0xe7f000f0");
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st) && st.st_size > sizeof(*header));
	core = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(core != MAP_FAILED);
	header = (void *)core;
	CHECK(!memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_type == ET_CORE && header->e_machine == EM_ARM);
	part = (void *)(core + header->e_phoff);
	CHECK(part->p_type == PT_NOTE);
	note = (void *)(core + part->p_offset);
	CHECK(note->n_type == NT_PRSTATUS && note->n_descsz == sizeof(*general));
	general = (void *)((char *)(note + 1) + (note->n_namesz + 3) / 4 * 4);
	CHECK(general->pr_pid == pid && general->pr_reg[4] == 0x1200);
	/* The last part is the page with the helpers. */
	part += header->e_phnum - 1;
	CHECK(part->p_type == PT_LOAD && part->p_vaddr == 0xffff0000 && part->p_filesz == PAGE);
	CHECK(!memcmp(core + part->p_offset + 0xfc0, (const void *)0xffff0fc0, 32));
	return !munmap(core, st.st_size) && !close(fd) && !unlink("core") && !chdir("/") && !rmdir(dir);
}
