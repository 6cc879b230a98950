// SPDX-License-Identifier: MIT OR Apache-2.0
/* System calls, and what the kernel tells a program about itself. */
#include "i386.h"

long raw(int nr, long a, long b, long c)
{
	long result;

	asm volatile ("int $0x80" : "=a" (result) : "a" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return result;
}

int feature(int bit)
{
	unsigned int a, b, c, d;

	asm ("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d) : "a" (1));
	return d >> bit & 1;
}

void push_without_stack(void)
{
	asm volatile ("mov %%esp, %%esi; xor %%esp, %%esp; push %%eax; mov %%esi, %%esp" : : : "esi");
}

/* The auxiliary vector tells the processor's features; libc has its own idea of them. */
int hwcap(void)
{
	static const int bits[] = { FPU, TSC, CMOV, FXSR, SSE };
	int fd = open("/proc/self/auxv", O_RDONLY);
	unsigned long told = 0;
	Elf32_auxv_t entry;
	unsigned int i;

	while (read(fd, &entry, sizeof(entry)) == sizeof(entry))
		if (entry.a_type == AT_HWCAP)
			told = entry.a_un.a_val;
	close(fd);
	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		CHECK((told >> bits[i] & 1) == feature(bits[i]));
	if (!feature(FXSR))
		printf("# no fxsave\n");
	return 1;
}

int int80(void)
{
	CHECK(raw(__NR_getpid, 0, 0, 0) == getpid());
	CHECK(raw(__NR_close, 77, 0, 0) == -EBADF);
	CHECK(raw(9999, 0, 0, 0) == -ENOSYS);
	return 1;
}

/* A handler that changes a register of what it interrupted. */
static void set_esi(int sig, siginfo_t *si, void *uc)
{
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_ESI] = 9;
}

/* ESI behind a system call that was called with 7. */
static long esi_behind(int nr, long a, long b)
{
	long esi = 7, result;

	asm volatile ("int $0x80" : "=a" (result), "+S" (esi) : "0" (nr), "b" (a), "c" (b) : "memory");
	return esi;
}

/* ESI behind a vfork whose child ends at once, and sends no signal. */
static long esi_behind_vfork(void)
{
	long esi = 7, result;

	asm volatile ("int $0x80; test %0, %0; jnz 1f\n\t"
		      "mov %3, %0; int $0x80\n1:"
		      : "=a" (result), "+S" (esi)
		      : "0" (__NR_clone), "i" (__NR_exit), "b" (CLONE_VM | CLONE_VFORK), "c" (0), "d" (0), "D" (0)
		      : "memory");
	return esi;
}

/* What getpid() leaves of other values in the flags (direction, carry), EBX, ECX, EDX, ESI, EDI, EBP. */
void behind_getpid(unsigned long after[7]);
asm (".text\n.globl behind_getpid\nbehind_getpid:\n"
     "push %ebx; push %esi; push %edi; push %ebp\n"
     "mov $20, %eax; mov $1, %ebx; mov $2, %ecx; mov $3, %edx; mov $4, %esi; mov $5, %edi; mov $6, %ebp\n"
     "std; stc; int $0x80\n"
     "push %ebp; push %edi; push %esi; push %edx; push %ecx; push %ebx; pushf; cld; mov 48(%esp), %eax\n"
     "pop (%eax); pop 4(%eax); pop 8(%eax); pop 12(%eax); pop 16(%eax); pop 20(%eax); pop 24(%eax)\n"
     "pop %ebp; pop %edi; pop %esi; pop %ebx; ret\n");

int registers(void)
{
	struct user_regs_struct regs;
	unsigned long after[7], i;
	int pid, status;

	behind_getpid(after);
	CHECK((after[0] & 0x401) == 0x401);
	for (i = 1; i < 7; i++)
		CHECK(after[i] == i);
	catch(SIGUSR1, set_esi, 0);
	CHECK(esi_behind(__NR_kill, getpid(), SIGUSR2 + 1000) == 7);
	CHECK(esi_behind(__NR_kill, getpid(), SIGUSR1) == 9);

	/* In the middle of a system call that nobody watches. */
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(esi_behind_vfork());
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK(!ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEVFORKDONE) && !ptrace(PTRACE_CONT, pid, 0, 0));
	CHECK(waitpid(pid, &status, 0) == pid && status >> 8 == (SIGTRAP | PTRACE_EVENT_VFORK_DONE << 8));
	CHECK(!ptrace(PTRACE_GETREGS, pid, 0, &regs) && regs.esi == 7);
	regs.esi = 9;
	CHECK(!ptrace(PTRACE_SETREGS, pid, 0, &regs) && !ptrace(PTRACE_CONT, pid, 0, 0));
	return wait_for(pid, 9 << 8);
}

/* Linux's convention for sysenter: it returns into the vDSO, which undoes the pushes. */
asm (".text\n.globl by_sysenter\nby_sysenter:\n"
     "push %ebx; push %esi; push %edi; push %ebp\n"
     "mov 20(%esp), %eax; mov 24(%esp), %ebx; mov 28(%esp), %ecx; mov 32(%esp), %edx\n"
     "mov 36(%esp), %esi; mov 40(%esp), %edi; mov 44(%esp), %ebp\n"
     "call 1f\n"
     "pop %ebp; pop %edi; pop %esi; pop %ebx; ret\n"
     "1: push %ecx; push %edx; push %ebp; mov %esp, %ebp; sysenter\n");

int sysenter(void)
{
	char *p;

	if (!feature(SEP))
		return 1;
	CHECK(by_sysenter(__NR_getpid, 0, 0, 0, 0, 0, 0) == getpid());
	p = (char *)by_sysenter(__NR_mmap2, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK((unsigned long)p < -4096UL);
	*p = 1;
	CHECK(by_sysenter(__NR_munmap, (long)p, PAGE, 0, 0, 0, 0) == 0);
	return 1;
}

static volatile void *return_address;

static void note_return(int sig)
{
	return_address = __builtin_extract_return_addr(__builtin_return_address(0));
}

int vdso(void)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR), entry = getauxval(AT_SYSINFO), used;

	CHECK(base && !memcmp((void *)base, ELFMAG, SELFMAG));
	asm ("mov %%gs:0x10, %0" : "=r" (used));
	CHECK(entry - base < 2 * PAGE && used == entry);
	/* By sysenter where the processor has it. */
	CHECK(feature(SEP) == !!memmem((void *)entry, 16, "\x0f\x34", 2));
	/* glibc leaves the return from a handler to the vDSO. */
	signal(SIGUSR1, note_return);
	raise(SIGUSR1);
	CHECK((unsigned long)return_address - base < 2 * PAGE);
	return 1;
}
