// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Enters Linux in all ways, with segments of 4 GiB in DS, ES, FS and GS and with flags that a handler must not have.
 * Linux then checks its own registers (linux/x86/os-L4/server_attacks.c).  Afterwards this program checks that it
 * still has its own.
 */
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* NT, AC and DF; NT is not kept for a program. */
#define FLAGS		0x44400
#define KEPT		0x40400
#define SPIN_NS		100000000L

uint16_t segment[2];
/* Global, as the assembly names them.  What the last way found: flags, FS and GS, DS and ES. */
uint32_t flags, fs_gs, ds_es;
static uint32_t wanted_fs_gs, wanted_ds_es;

/* A segment of 4 GiB from address 0 on. */
static uint16_t make_segment(void)
{
	struct user_desc d = {
		.entry_number = -1, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1, .useable = 1,
	};

	if (syscall(SYS_set_thread_area, &d)) {
		perror("ways: no segment");
		exit(1);
	}
	return d.entry_number * 8 + 3;
}

/*
 * Loads the segments and flags, goes this way and stores what there is then.  The way may destroy EAX, ECX and EDX.
 */
#define GO(way, ...) \
	asm volatile ("pushal\n\t" \
		      "movw	segment, %%fs\n\t" \
		      "movw	segment + 2, %%ds\n\t" \
		      "movw	%%ss:segment + 2, %%es\n\t" \
		      "pushfl\n\t" \
		      "orl	%[flags], (%%esp)\n\t" \
		      "popfl\n\t" \
		      way "\n\t" \
		      "pushfl\n\t" \
		      "popl	%%ss:flags\n\t" \
		      "pushl	$0\n\t" \
		      "popfl\n\t" \
		      "movw	%%ds, %%ss:ds_es\n\t" \
		      "movw	%%es, %%ss:ds_es + 2\n\t" \
		      "pushl	%%ss\n\t" \
		      "popl	%%ds\n\t" \
		      "pushl	%%ss\n\t" \
		      "popl	%%es\n\t" \
		      "movw	%%fs, fs_gs\n\t" \
		      "movw	%%gs, fs_gs + 2\n\t" \
		      "popal" \
		      : : [flags] "i" (FLAGS), ## __VA_ARGS__ : "memory", "cc")

static void check(const char *way)
{
	if ((flags & KEPT) == KEPT && fs_gs == wanted_fs_gs && ds_es == wanted_ds_es)
		return;
	printf("%s: flags %x, FS and GS %08x, DS and ES %08x\n", way, flags, fs_gs, ds_es);
	exit(1);
}

/* Exceptions: continues after an instruction of this length. */
static volatile sig_atomic_t caught, skip;

static void handler(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	caught++;
	c->uc_mcontext.gregs[REG_EIP] += skip;
}

static void exceptions(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	skip = 1;
	GO("hlt");
	check("#GP");
	skip = 0;
	GO("int3");
	check("#BP");
	skip = 2;
	GO("ud2");
	check("#UD");
	GO("xorl %%eax, %%eax\n\tdivl %%eax");
	check("#DE");
	skip = 0;
	/* TF for an instruction or two. */
	GO("pushfl\n\torl $0x100, (%%esp)\n\tpopfl\n\tnop\n\tpushfl\n\tandl $~0x100, (%%esp)\n\tpopfl");
	check("#DB");
	if (caught < 5) {
		printf("%d exceptions were caught\n", caught);
		exit(1);
	}
}

static void spin(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		GO("movl $1000000, %%ecx\n\t1: decl %%ecx\n\tjnz 1b");
		check("interrupt");
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < SPIN_NS);
}

int main(int argc, char **argv)
{
	volatile double x = argc;
	uint32_t sysinfo = getauxval(AT_SYSINFO);
	char *page;
	int i, status;

	/* The second life, after exec. */
	if (argc > 1)
		return 0;
	segment[0] = make_segment();
	segment[1] = make_segment();
	asm volatile ("movw %%gs, %w0" : "=r" (wanted_fs_gs));
	wanted_fs_gs = wanted_fs_gs << 16 | segment[0];
	wanted_ds_es = segment[1] << 16 | segment[1];
	for (i = 0; i < 10; i++) {
		GO("movl $20, %%eax\n\tint $0x80");
		check("int 0x80");
		/* By sysenter, where the processor has it. */
		GO("movl $20, %%eax\n\tcall *%[sysinfo]", [sysinfo] "S" (sysinfo));
		check("the vDSO");
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		GO("incl (%[page])", [page] "S" (page));
		check("page fault");
		munmap(page, 4096);
		/* Device not available: the FPU is another's. */
		if (!fork()) {
			x = x * 3 + 1;
			execl("/proc/self/exe", "ways", "again", NULL);
			_exit(1);
		}
		GO("fld1\n\tfstp %%st(0)");
		check("FPU");
		x += 1;
		if (wait(&status) < 0 || status) {
			printf("the child ended with status %x\n", status);
			return 1;
		}
	}
	if (x != argc + 10) {
		printf("the FPU has %f\n", x);
		return 1;
	}
	exceptions();
	spin();
	puts("all registers are as they were");
	return 0;
}
