// SPDX-License-Identifier: MIT OR Apache-2.0
/* Debuggers, core dumps, /proc. */
#include "abi.h"

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

int core_dump(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char dir[] = "/tmp/coreXXXXXX";
	Elf32_Ehdr header;
	int pid, status, fd, pattern;
	char text[2] = "";

	pattern = open("/proc/sys/kernel/core_pattern", O_RDONLY);
	if (pattern < 0 || read(pattern, text, 1) != 1 || text[0] != 'c')
		return 1;	/* cores go elsewhere on this machine */
	CHECK(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &limit);
		chdir(dir);
		signal(SIGABRT, SIG_DFL);
		abort();
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WCOREDUMP(status));
	chdir(dir);
	fd = open("core", O_RDONLY);
	CHECK(fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header));
	CHECK(!memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_CORE && header.e_phnum > 2);
	return !unlink("core") && !chdir("/") && !rmdir(dir);
}

int proc(void)
{
	char line[256], exe[PATH_MAX];
	int stack = 0, gate = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		stack += !!strstr(line, "[stack]");
		gate += !!strstr(line, "[vdso]");
	}
	fclose(maps);
	CHECK(stack == 1 && gate == 1);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe)) > 0);
	return 1;
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
