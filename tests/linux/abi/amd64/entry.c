// SPDX-License-Identifier: MIT OR Apache-2.0
/* System calls, and what the kernel tells a program about itself. */
#include "amd64.h"

void push_without_stack(void)
{
	asm volatile ("mov %%rsp, %%rsi; xor %%esp, %%esp; push %%rax; mov %%rsi, %%rsp" : : : "rsi", "memory");
}

/* The auxiliary vector tells the processor's features; libc has its own idea of them. */
int hwcap(void)
{
	int fd = open("/proc/self/auxv", O_RDONLY);
	unsigned int a, b, c, d;
	unsigned long told = 0;
	Elf64_auxv_t entry;

	while (read(fd, &entry, sizeof(entry)) == sizeof(entry))
		if (entry.a_type == AT_HWCAP)
			told = entry.a_un.a_val;
	close(fd);
	CHECK(__get_cpuid(1, &a, &b, &c, &d));
	/* FPU, TSC, CX8, CMOV, MMX, FXSR, SSE, SSE2: each has them. */
	CHECK((d & 0x07808111) == 0x07808111 && (told & 0x07808111) == 0x07808111);
	CHECK(!strcmp((const char *)getauxval(AT_PLATFORM), "x86_64"));
	CHECK(getauxval(AT_PAGESZ) == PAGE);
	return 1;
}

/* What /proc/cpuinfo says of the processor that CPUID tells of. */
int cpuinfo(void)
{
	static const char *const flags[] = { " fpu ", " tsc ", " cx8 ", " cmov ", " fxsr ", " sse ", " sse2 ", " syscall ", " nx ", " lm " };
	FILE *file = fopen("/proc/cpuinfo", "r");
	char text[16384] = "", vendor[13] = "", found[64], *list;
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
		CHECK(strstr(list, flags[i]));
	CHECK(has_avx() == !!strstr(list, " avx "));
	return 1;
}

/* What getppid() leaves of other values in the flags and in the registers but RAX, RCX and R11, in the order of the pushes. */
void behind_getppid(unsigned long after[14]);
asm (".text\n.globl behind_getppid\nbehind_getppid:\n\t"
     "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rdi\n\t"
     "mov $110, %eax; mov $1, %ebx; mov $2, %edx; mov $3, %esi; mov $4, %edi; mov $5, %ebp\n\t"
     "mov $8, %r8d; mov $9, %r9d; mov $10, %r10d; mov $12, %r12d; mov $13, %r13d; mov $14, %r14d; mov $15, %r15d\n\t"
     "std; stc; syscall\n\t"
     "pushf; cld; push %rbx; mov 16(%rsp), %rbx\n\t"
     "mov %rdx, 16(%rbx); mov %rsi, 24(%rbx); mov %rdi, 32(%rbx); mov %rbp, 40(%rbx); mov %r8, 48(%rbx); mov %r9, 56(%rbx)\n\t"
     "mov %r10, 64(%rbx); mov %r12, 72(%rbx); mov %r13, 80(%rbx); mov %r14, 88(%rbx); mov %r15, 96(%rbx); mov %rax, 104(%rbx)\n\t"
     "pop 8(%rbx); pop (%rbx)\n\t"
     "pop %rdi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

/* A handler that changes a register of what it interrupted. */
static void set_rsi(int sig, siginfo_t *si, void *uc)
{
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSI] = 9;
}

/* RSI after a system call that was called with SIGUSR1, or another number. */
static long rsi_after_kill(long sig)
{
	long result;

	asm volatile ("syscall" : "=a" (result), "+S" (sig) : "0" (__NR_kill), "D" (getpid()) : "rcx", "r11", "memory");
	return sig;
}

int registers(void)
{
	static const unsigned long expected[] = { 1, 2, 3, 4, 5, 8, 9, 10, 12, 13, 14, 15 };
	unsigned long after[14], i;

	behind_getppid(after);
	CHECK((after[0] & 0x401) == 0x401);
	for (i = 0; i < 12; i++)
		CHECK(after[1 + i] == expected[i]);
	CHECK(after[13] == (unsigned long)getppid());
	catch(SIGUSR1, set_rsi, 0);
	CHECK(rsi_after_kill(SIGUSR1 + 1000) == SIGUSR1 + 1000);
	CHECK(rsi_after_kill(SIGUSR1) == 9);
	CHECK(raw(__NR_close, 77, 0, 0) == -EBADF && raw(9999, 0, 0, 0) == -ENOSYS && raw(-1, 0, 0, 0) == -ENOSYS);
	/* The instruction leaves where it came from, and the flags. */
	asm volatile ("lea 1f(%%rip), %%rdx; syscall; 1: sub %%rcx, %%rdx; mov %%rdx, %0" : "=r" (i) : "a" (__NR_getpid) : "rcx", "rdx", "r11", "memory");
	CHECK(!i);
	return 1;
}

/* One that is stopped goes on. */
int restarts(void)
{
	struct timespec time = { 0, 200000000 };
	long long start = now();
	int pid = fork();

	if (!pid)
		_exit(raw(__NR_nanosleep, (long)&time, 0, 0) != 0);
	usleep(50000);
	kill(pid, SIGSTOP);
	usleep(20000);
	kill(pid, SIGCONT);
	if (!wait_for(pid, 0))
		return 0;
	CHECK(now() - start >= 200000000);
	return 1;
}

static __thread int of_thread = 5;

static void *other_thread(void *arg)
{
	int before = of_thread;

	of_thread = 6;
	sched_yield();
	return (void *)(long)(before == 5 && of_thread == 6 && &of_thread != arg);
}

/* Each thread has a base of FS, which it may set. */
int thread_pointer(void)
{
	static unsigned long words[2] = { 17, 18 };
	struct clone_args of_kernel = { .flags = CLONE_SETTLS, .exit_signal = SIGCHLD, .tls = -4096 };
	unsigned long base = 0, seen = 0, again = 0;
	pthread_t thread;
	void *result;
	int pid;

	CHECK(!pthread_create(&thread, NULL, other_thread, &of_thread) && !pthread_join(thread, &result) && result);
	CHECK(of_thread == 5);
	CHECK(!raw(__NR_arch_prctl, ARCH_GET_FS, (long)&base, 0) && base == (unsigned long)pthread_self());
	/* No address of the kernel. */
	CHECK(raw(__NR_arch_prctl, ARCH_SET_FS, -4096, 0) == -EPERM && raw(__NR_arch_prctl, 0x1234, 0, 0) == -EINVAL);
	pid = raw(__NR_clone3, (long)&of_kernel, sizeof(of_kernel), 0);
	if (!pid)
		raw(__NR_exit, 1, 0, 0);
	CHECK(pid == -EPERM);
	pid = fork();
	if (!pid) {
		if (raw(__NR_arch_prctl, ARCH_SET_FS, (long)words, 0))
			raw(__NR_exit, 1, 0, 0);
		asm volatile ("mov %%fs:8, %0" : "=r" (seen));
		raw(__NR_sched_yield, 0, 0, 0);
		asm volatile ("mov %%fs:0, %0" : "=r" (again));
		raw(__NR_exit, seen == 18 && again == 17 ? 3 : 2, 0, 0);
	}
	return wait_for(pid, 3 << 8);
}

#define HWCAP2_FSGSBASE 2
static unsigned long words_of_gs[2] = { 27, 28 }, others_of_gs[2] = { 37, 38 };

/* By the base of GS. */
static unsigned long by_gs(void)
{
	unsigned long word;

	asm volatile ("mov %%gs:8, %0" : "=r" (word));
	return word;
}

static int set_gs(const unsigned long *base)
{
	return raw(__NR_arch_prctl, ARCH_SET_GS, (long)base, 0);
}

static volatile unsigned long seen_by_handler;

static void look_by_gs(int sig, siginfo_t *si, void *context)
{
	seen_by_handler = by_gs();
}

/* A new thread begins with the base of the one that makes it. */
static void *other_base(void *arg)
{
	if (by_gs() != 28 || set_gs(others_of_gs))
		return NULL;
	sched_yield();
	return (void *)(long)(by_gs() == 38);
}

/* A process without a base runs meanwhile. */
static int keeps_base(void)
{
	char *args[] = { "abi", "as", "gs", NULL };
	unsigned long base = 0;
	pthread_t thread;
	void *result;
	int pid, i;

	CHECK(!set_gs(words_of_gs) && by_gs() == 28);
	CHECK(!raw(__NR_arch_prctl, ARCH_GET_GS, (long)&base, 0) && base == (unsigned long)words_of_gs);
	CHECK(raw(__NR_arch_prctl, ARCH_SET_GS, -4096, 0) == -EPERM && by_gs() == 28);
	for (i = 0; i < 3; i++) {
		sched_yield();
		CHECK(by_gs() == 28);
	}
	catch(SIGUSR1, look_by_gs, 0);
	raise(SIGUSR1);
	CHECK(seen_by_handler == 28 && by_gs() == 28);
	CHECK(!pthread_create(&thread, NULL, other_base, NULL) && !pthread_join(thread, &result) && result);
	CHECK(by_gs() == 28);
	pid = fork();
	if (!pid) {
		if (by_gs() != 28 || set_gs(others_of_gs) || by_gs() != 38)
			raw(__NR_exit, 1, 0, 0);
		execv("/proc/self/exe", args);
		raw(__NR_exit, 2, 0, 0);
	}
	CHECK(wait_for(pid, 0) && by_gs() == 28);
	CHECK(!set_gs(NULL) && !raw(__NR_arch_prctl, ARCH_GET_GS, (long)&base, 0) && !base);
	asm volatile ("mov %%gs:(%1), %0" : "=r" (base) : "r" (words_of_gs));
	CHECK(base == 27);
	return 1;
}

/* Each thread has a base of GS, which it may set. */
int base_of_gs(void)
{
	unsigned long base = 1;
	int pid, i, passed;

	CHECK(!raw(__NR_arch_prctl, ARCH_GET_GS, (long)&base, 0) && !base);
	/* Programs ask so for the instructions on bases. */
	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) {
		asm volatile ("rdgsbase %0" : "=r" (base));
		CHECK(!base);
	} else {
		RAISES(SIGILL, ILL_ILLOPN, asm volatile ("rdgsbase %0" : "=r" (base)));
	}
	pid = fork();
	if (!pid) {
		passed = keeps_base();
		fflush(stdout);
		_exit(passed ? 3 : 4);
	}
	/* By this one's own, which is 0. */
	for (i = 0; i < 20; i++) {
		sched_yield();
		asm volatile ("mov %%gs:(%1), %0" : "=r" (base) : "r" (words_of_gs));
		CHECK(base == 27);
	}
	CHECK(wait_for(pid, 3 << 8));
	return 1;
}

/* What a process may not, or what is always so.  Some kernels have no such call. */
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
	CHECK(!prctl(PR_GET_TSC, &mode) && mode == PR_TSC_ENABLE);
	CHECK(!prctl(PR_SET_TSC, PR_TSC_ENABLE));
	CHECK(prctl(PR_SET_TSC, 17) == -1 && errno == EINVAL);
	return 1;
}

#undef last_page

/* Maps a page at an address where nothing is.  0, or the error. */
static int at_address(unsigned long at)
{
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	return mmap((void *)at, PAGE, PROT_READ | PROT_WRITE, how, -1, 0) == (void *)at ? 0 : errno;
}

/* Programs have addresses to the last byte and no further, however many these are. */
int last_page(void)
{
	unsigned long low = 1UL << 32, high = 1UL << 47, middle;
	char *last;
	int pid, err;

	/* The end of the addresses lies above low, and is high or lies below. */
	while (high - low > PAGE) {
		middle = low + (high - low) / 2 / PAGE * PAGE;
		err = at_address(middle);
		if (!err)
			munmap((void *)middle, PAGE);
		if (err == ENOMEM || err == EINVAL)
			high = middle;
		else
			low = middle;
	}
	CHECK(low > 1UL << 46);
	last = (char *)low;
	CHECK(munmap(last, 2 * PAGE) == -1 && errno == EINVAL);
	CHECK(munmap(last + PAGE, PAGE) == -1 && errno == EINVAL);
	/* The stack may end there. */
	err = at_address(low);
	if (err) {
		CHECK(err == EEXIST);
		return 1;
	}
	last[PAGE - 1] = 1;
	pid = fork();
	if (!pid)
		_exit(last[PAGE - 1]++);
	CHECK(wait_for(pid, 1 << 8) && last[PAGE - 1] == 1);
	CHECK(!munmap(last, PAGE));
	RAISES(SIGSEGV, SEGV_MAPERR, last[PAGE - 1] = 1);
	return 1;
}

static int called(int (*function)(void))
{
	return function();
}

/* Pages are executed if a program says so, and not if it does not: a mapping, the heap, the stack, also a child's. */
int not_executed(void)
{
	/* mov eax, 42; ret */
	static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
	char on_stack[sizeof(code)], *on_heap = malloc(sizeof(code)), line[256];
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *places[] = { on_stack, on_heap, page };
	FILE *maps;
	int i, pid;

	CHECK(on_heap && page != MAP_FAILED);
	for (i = 0; i < 3; i++) {
		memcpy(places[i], code, sizeof(code));
		RAISES(SIGSEGV, SEGV_ACCERR, called(places[i]));
		CHECK(got.si_addr == places[i]);
	}
	for (i = 0; i < 2; i++) {
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_EXEC));
		CHECK(called((void *)page) == 42);
		pid = fork();
		if (!pid)
			_exit(called((void *)page));
		CHECK(wait_for(pid, 42 << 8));
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
		RAISES(SIGSEGV, SEGV_ACCERR, called((void *)page));
	}
	/* Both at once, as compilers at run time have it. */
	CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	page[1] = 43;
	CHECK(called((void *)page) == 43);
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[heap]") || strstr(line, "[stack]"))
			CHECK(strstr(line, " rw-p "));
	fclose(maps);
	free(on_heap);
	return !munmap(page, PAGE);
}

#define TERABYTES	(16UL << 40)
#define FAR_APART	(200UL << 30)

/* Whether the reservation has its pages, or none of them yet. */
static int far_pages(const char *p, int has)
{
	unsigned long at;

	for (at = 0; at < TERABYTES; at += FAR_APART)
		if (p[at] != (has ? (char)(at / FAR_APART + 1) : 0))
			return 0;
	return 1;
}

/* Programs reserve terabytes, as sanitizers do, and have pages here and there; what takes their place has nothing of them. */
int terabytes(void)
{
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *p = mmap(NULL, TERABYTES, PROT_READ | PROT_WRITE, how, -1, 0);
	unsigned long at;
	int i, pid;

	CHECK(p != MAP_FAILED);
	for (i = 0; i < 3; i++) {
		CHECK(far_pages(p, 0));
		for (at = 0; at < TERABYTES; at += FAR_APART)
			p[at] = at / FAR_APART + 1;
		pid = fork();
		if (!pid) {
			if (!far_pages(p, 1))
				_exit(1);
			for (at = 0; at < TERABYTES; at += FAR_APART)
				p[at] = 0;
			_exit(!far_pages(p, 0));
		}
		CHECK(wait_for(pid, 0) && far_pages(p, 1));
		/* At once, and after tables of all levels are gone. */
		if (i)
			CHECK(!munmap(p, TERABYTES));
		CHECK(mmap(p, TERABYTES, PROT_READ | PROT_WRITE, how | MAP_FIXED, -1, 0) == p);
	}
	for (at = 0; at < TERABYTES; at += FAR_APART)
		p[at] = at / FAR_APART + 1;
	CHECK(!munmap(p, TERABYTES));
	for (at = 0; at < TERABYTES; at += FAR_APART)
		RAISES(SIGSEGV, SEGV_MAPERR, p[at] = 1);
	return 1;
}
