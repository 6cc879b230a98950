// SPDX-License-Identifier: MIT OR Apache-2.0
/* System calls, and what the kernel tells a program about itself. */
#include "abi.h"

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

/* Linux's convention for sysenter: it returns into the vDSO, which undoes the pushes. */
long by_sysenter(int nr, long a, long b, long c, long d, long e, long f);
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
