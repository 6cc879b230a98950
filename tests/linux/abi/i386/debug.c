// SPDX-License-Identifier: MIT OR Apache-2.0
/* Debuggers, core dumps, /proc. */
#include "i386.h"
#include <asm/ldt.h>
#include <sys/procfs.h>
#include <sys/reg.h>

int debugging(void)
{
	struct user_regs_struct regs;
	struct user_fpregs_struct fp;
	struct user_fpxregs_struct fpx;
	int pid = fork(), status, steps, calls, flags;
	static volatile long cell = 11;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		asm volatile ("mov $1000, %%eax; nop; nop; nop; nop; int3" : : : "eax");
		raw(__NR_getppid, 0, 0, 0);
		asm volatile ("fninit; fldpi; int3");
		_exit(cell == 12 ? 5 : 6);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	for (steps = 0; steps < 5000; steps++) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
		CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
		if (regs.eax == 1000)
			break;
	}
	CHECK(regs.eax == 1000);
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.eax == 1000);
	/* Flags can be set and cleared. */
	for (flags = 0x801; flags >= 0; flags -= 0x801) {
		regs.eflags = (regs.eflags & ~0x801) | flags;
		CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs) && !ptrace(PTRACE_GETREGS, pid, 0, &regs));
		CHECK((regs.eflags & 0x801) == flags);
	}
	CHECK(ptrace(PTRACE_PEEKDATA, pid, &cell, 0) == 11);
	CHECK(!ptrace(PTRACE_POKEDATA, pid, &cell, 12));
	for (calls = 0; calls < 2; calls++) {
		CHECK(!ptrace(PTRACE_SYSCALL, pid, 0, 0));
		CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
		CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs));
		CHECK(regs.orig_eax == __NR_getppid);
		CHECK(regs.eax == (calls ? getpid() : -ENOSYS));
	}
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && WSTOPSIG(status) == SIGTRAP);
	CHECK(!ptrace(PTRACE_GETFPREGS, pid, 0, &fp));
	CHECK((fp.cwd & 0xffff) == 0x37f && ((unsigned short *)fp.st_space)[4] == 0x4000);
	if (feature(FXSR)) {
		CHECK(!ptrace(PTRACE_GETFPXREGS, pid, 0, &fpx));
		CHECK(fpx.cwd == 0x37f && ((unsigned short *)fpx.st_space)[4] == 0x4000);
	} else {
		CHECK(ptrace(PTRACE_GETFPXREGS, pid, 0, &fpx) == -1 && errno == EIO);
	}
	CHECK(!ptrace(PTRACE_SETFPREGS, pid, 0, &fp));
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && !ptrace(PTRACE_SETREGS, pid, 0, &regs));
	CHECK(!ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 5 << 8);
}

/* The note of a core file that has this type and at least this size; NULL: there is none. */
static const void *note(const char *core, size_t bytes, unsigned int type, size_t size)
{
	const Elf32_Ehdr *header = (void *)core;
	const Elf32_Phdr *phdr = (void *)(core + header->e_phoff);
	const char *at, *end;
	int i;

	for (i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type != PT_NOTE || phdr[i].p_offset + phdr[i].p_filesz > bytes)
			continue;
		at = core + phdr[i].p_offset;
		end = at + phdr[i].p_filesz;
		while (at < end) {
			const Elf32_Nhdr *n = (void *)at;
			const char *contents = at + sizeof(*n) + ((n->n_namesz + 3) & ~3);

			if (n->n_type == type && n->n_descsz >= size)
				return contents;
			at = contents + ((n->n_descsz + 3) & ~3);
		}
	}
	return NULL;
}

/* Debuggers find in it what the program had in its registers, and its TLS. */
static int registers_of(const char *core, size_t bytes, int pid)
{
	const struct elf_prstatus *general = note(core, bytes, NT_PRSTATUS, sizeof(*general));
	const struct user_fpregs_struct *fp = note(core, bytes, NT_PRFPREG, sizeof(*fp));
	const struct user_fpxregs_struct *fpx = note(core, bytes, NT_PRXFPREG, sizeof(*fpx));
	const struct user_desc *tls = note(core, bytes, NT_386_TLS, sizeof(*tls));

	CHECK(general && general->pr_pid == pid && general->pr_reg[EBX] == 0x1234);
	CHECK(fp && ((unsigned short *)fp->st_space)[4] == 0x4000);
	if (feature(FXSR))
		CHECK(fpx && ((unsigned short *)fpx->st_space)[4] == 0x4000);
	else
		CHECK(!fpx);
	CHECK(tls && tls->base_addr && tls->entry_number == general->pr_reg[GS] >> 3);
	return 1;
}

int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	Elf32_Ehdr *header;
	struct stat st;
	int pid, status, fd, pattern;
	char text[2] = "", *core;

	pattern = open("/proc/sys/kernel/core_pattern", O_RDONLY);
	if (pattern < 0 || read(pattern, text, 1) != 1 || text[0] != 'c')
		return 1;	/* cores go elsewhere on this machine */
	CHECK(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		chdir(dir);
		signal(SIGILL, SIG_DFL);
		asm volatile ("fninit; fldpi; ud2" : : "b" (0x1234));
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st) && st.st_size > sizeof(*header));
	core = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(core != MAP_FAILED);
	header = (void *)core;
	CHECK(!memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_type == ET_CORE && header->e_phnum > 2);
	CHECK(registers_of(core, st.st_size, pid));
	return !munmap(core, st.st_size) && !close(fd) && !unlink("core") && !chdir("/") && !rmdir(dir);
}

/* What /proc/cpuinfo says of the processor that CPUID tells of. */
int cpuinfo(void)
{
	static const struct { int bit; const char *name; } flags[] = {
		{ FPU, " fpu " }, { TSC, " tsc " }, { SEP, " sep " }, { CMOV, " cmov " }, { FXSR, " fxsr " }, { SSE, " sse " },
	};
	FILE *file = fopen("/proc/cpuinfo", "r");
	char text[8192] = "", vendor[13] = "", found[64], *list;
	unsigned int a = 0, d, c, i;
	size_t bytes;

	CHECK(file);
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	/* Programs count processors by the empty lines. */
	CHECK(bytes > 2 && !strcmp(text + bytes - 2, "\n\n"));
	asm ("cpuid" : "+a" (a), "=b" (*(unsigned int *)vendor), "=c" (c), "=d" (d));
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	sprintf(found, "vendor_id\t: %s\n", vendor);
	CHECK(!strncmp(text, "processor\t: 0\n", 14) && strstr(text, found));
	sprintf(found, "cpuid level\t: %u\n", a);
	CHECK(strstr(text, found));
	CHECK(strstr(text, "\ncpu family\t: ") && strstr(text, "\nmodel\t\t: ") && strstr(text, "\nmodel name\t: "));
	CHECK(strstr(text, "\nstepping\t: ") && strstr(text, "\ncpu MHz\t\t: ") && strstr(text, "\nfpu\t\t: yes\n"));
	list = strstr(text, "\nflags\t\t:");
	CHECK(list && strchr(list + 1, '\n'));
	*strchr(list + 1, '\n') = ' ';
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		CHECK(feature(flags[i].bit) == !!strstr(list, flags[i].name));
	return 1;
}
