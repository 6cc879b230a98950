// SPDX-License-Identifier: MIT OR Apache-2.0
/* Mappings. */
#include "abi.h"

int copy_on_write(void)
{
	int pages = 256, i, pid;
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (i = 0; i < pages; i++)
		p[i * PAGE] = i;
	pid = fork();
	for (i = 0; i < pages; i++)
		if (p[i * PAGE] != (char)i)
			_exit(2);
	for (i = 0; i < pages; i++)
		p[i * PAGE] = pid ? 1 : 2;
	for (i = 0; i < pages; i++)
		if (p[i * PAGE] != (pid ? 1 : 2))
			_exit(3);
	if (!pid) {
		*shared = 1234;
		_exit(0);
	}
	if (!wait_for(pid, 0))
		return 0;
	CHECK(*shared == 1234);
	CHECK(mremap(p, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	return 1;
}

/* What a process writes when its child has got a copy is what a system call gives to others. */
int written_after_copies(void)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), got[PAGE];
	int pipes[2], i, pid;

	CHECK(!pipe(pipes));
	for (i = 1; i < 5; i++) {
		memset(p, i, PAGE);
		pid = fork();
		if (!pid) {
			memset(p, -i, PAGE);
			_exit(0);
		}
		if (!wait_for(pid, 0))
			return 0;
		memset(p, 10 * i, PAGE);
		CHECK(write(pipes[1], p, PAGE) == PAGE && read(pipes[0], got, PAGE) == PAGE);
		CHECK(!memcmp(p, got, PAGE));
	}
	return !close(pipes[0]) && !close(pipes[1]) && !munmap(p, PAGE);
}

/* Whether all of a page is this. */
static int is_all(const char *page, char what)
{
	int i;

	for (i = 0; i < PAGE && page[i] == what; i++)
		;
	return i == PAGE;
}

/* What is written to a file, or where it is mapped shared, is seen where it is mapped, and was not written to. */
int seen_elsewhere(void)
{
	char name[] = "/tmp/seenXXXXXX", of[PAGE], *readable, *own, *shared;
	int fd = mkstemp(name), both[2];

	CHECK(fd >= 0 && !pipe(both));
	memset(of, 'a', PAGE);
	CHECK(write(fd, of, PAGE) == PAGE);
	readable = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	own = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(readable != MAP_FAILED && own != MAP_FAILED && is_all(readable, 'a') && is_all(own, 'a'));
	memset(of, 'b', PAGE);
	CHECK(pwrite(fd, of, PAGE, 0) == PAGE && is_all(readable, 'b') && is_all(own, 'b'));
	if (!fork()) {
		shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memset(shared, 'c', PAGE);
		_exit(0);
	}
	wait(NULL);
	CHECK(is_all(readable, 'c') && is_all(own, 'c'));
	/* By the kernel. */
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(of, 'd', PAGE);
	CHECK(write(both[1], of, PAGE) == PAGE && read(both[0], shared, PAGE) == PAGE);
	CHECK(is_all(readable, 'd') && is_all(own, 'd') && pread(fd, of, PAGE, 0) == PAGE && is_all(of, 'd'));
	CHECK(!munmap(shared, PAGE) && !munmap(readable, PAGE) && !munmap(own, PAGE));
	return !close(both[0]) && !close(both[1]) && !unlink(name) && !close(fd);
}

/* What was written by a shared mapping is in the file, for who reads it and who has a copy, also when the mapping is gone. */
int written_shared(void)
{
	char name[] = "/tmp/sharedXXXXXX", got[PAGE], *shared, *own;
	int fd = mkstemp(name), i;

	CHECK(fd >= 0 && !unlink(name));
	memset(got, 'a', PAGE);
	CHECK(write(fd, got, PAGE) == PAGE);
	for (i = 0; i < 4; i++) {
		shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(shared != MAP_FAILED);
		/* While it is mapped it is read. */
		CHECK(pread(fd, got, PAGE, 0) == PAGE && !memcmp(got, shared, PAGE));
		memset(shared, 'b' + i, PAGE);
		own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		CHECK(own != MAP_FAILED);
		own[1] = 'z';
		CHECK(own[0] == 'b' + i && own[PAGE - 1] == 'b' + i);
		CHECK(!munmap(shared, PAGE) && !munmap(own, PAGE));
		CHECK(pread(fd, got, PAGE, 0) == PAGE && got[0] == 'b' + i && got[PAGE - 1] == 'b' + i);
	}
	return !close(fd);
}

/* A page that was not used since a fork is moved to where another was: it is seen there. */
int moved_mappings(void)
{
	enum { ALONE = 4 << 20 };
	int both = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS, pid;
	/* The only mapping that its page table has. */
	char *area = mmap(NULL, 3 * ALONE, PROT_NONE, kind, -1, 0), *to = (char *)(((long)area + 2 * ALONE - 1) & -ALONE);
	char *from = mmap(NULL, PAGE, both, kind, -1, 0);

	CHECK(area != MAP_FAILED && !munmap(area, 3 * ALONE));
	*from = 'n';
	pid = fork();
	if (!pid) {
		if (mmap(to, PAGE, both, kind | MAP_FIXED, -1, 0) != to)
			_exit(2);
		*to = 'o';
		if (mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
			_exit(3);
		_exit(*(volatile char *)to == 'n' ? 0 : 4);
	}
	return wait_for(pid, 0);
}

/* Pages apart from each other, unmapped at once with all else of their page table: none is left. */
int unmapped_mappings(void)
{
	enum { ALONE = 4 << 20, APART = ALONE / 4 };
	char *area = mmap(NULL, 3 * ALONE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *from = (char *)(((long)area + ALONE - 1) & -ALONE);
	int i;

	CHECK(area != MAP_FAILED);
	for (i = 0; i < 2 * ALONE / APART; i++) {
		CHECK(!mprotect(from + i * APART, PAGE, PROT_READ | PROT_WRITE));
		from[i * APART] = i + 1;
	}
	CHECK(!munmap(from, 2 * ALONE));
	catch(SIGSEGV, jump, 0);
	for (i = 0; i < 2 * ALONE / APART; i++) {
		if (sigsetjmp(back, 1))
			continue;
		printf("# %d of page %d\n", ((volatile char *)from)[i * APART], i);
		return 0;
	}
	signal(SIGSEGV, SIG_DFL);
	return !munmap(area, 3 * ALONE);
}

/* Programs have the first 3 GiB, or what the layout gives them of it, to the last byte and no further. */
int last_page(void)
{
	const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	char *end = (char *)0xc0000000, *last, *at;
	int pid;

	while ((at = mmap(end - PAGE, PAGE, PROT_READ | PROT_WRITE, how, -1, 0)) == MAP_FAILED && errno == ENOMEM)
		end -= 4 << 20;
	last = end - PAGE;
	CHECK(at == last || errno == EEXIST);
	CHECK((unsigned long)end > 1 << 30);
	CHECK(munmap(last, 2 * PAGE) == -1 && errno == EINVAL);
	CHECK(munmap(end, PAGE) == -1 && errno == EINVAL);
	/* The stack may end there. */
	if (at == MAP_FAILED)
		return 1;
	last[PAGE - 1] = 1;
	pid = fork();
	if (!pid)
		_exit(last[PAGE - 1]++);
	CHECK(wait_for(pid, 1 << 8) && last[PAGE - 1] == 1);
	CHECK(!munmap(last, PAGE));
	RAISES(SIGSEGV, SEGV_MAPERR, last[PAGE - 1] = 1);
	return 1;
}

/* Pages that a driver allocated together are a child's in the same order. */
int packet_ring(void)
{
	enum { BLOCK = 8 * PAGE };
	struct tpacket_req ring = { BLOCK, 1, PAGE, BLOCK / PAGE };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), pid, i;
	char *pages;

	CHECK(fd >= 0);
	CHECK(!setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)));
	pages = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(pages != MAP_FAILED);
	for (i = 0; i < BLOCK / PAGE; i++)
		pages[i * PAGE + PAGE / 2] = i + 1;
	pid = fork();
	if (!pid) {
		for (i = 0; i < BLOCK / PAGE; i++)
			if (pages[i * PAGE + PAGE / 2] != i + 1)
				_exit(i + 1);
		_exit(0);
	}
	CHECK(wait_for(pid, 0));
	return !close(fd) && !munmap(pages, BLOCK);
}

int file_mappings(void)
{
	char path[] = "/tmp/abiXXXXXX", buf[5] = "";
	int fd = mkstemp(path);
	char *p, *q;

	CHECK(fd >= 0 && !unlink(path) && !ftruncate(fd, 3 * PAGE));
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	memcpy(p + PAGE, "text", 4);
	CHECK(!memcmp(q, "text", 4));
	q[0] = 'n';
	CHECK(p[PAGE] == 't');
	CHECK(!msync(p, 3 * PAGE, MS_SYNC));
	CHECK(pread(fd, buf, 4, PAGE) == 4 && !strcmp(buf, "text"));
	CHECK(!ftruncate(fd, PAGE));
	RAISES(SIGBUS, BUS_ADRERR, p[2 * PAGE] = 1);
	close(fd);
	return 1;
}

/* What this program does when it is executed with `hold` and a number: it has so many MiB at once until its input ends. Its exit status. */
int hold(const char *mib)
{
	long size = atol(mib) << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), c;

	if (p == MAP_FAILED)
		return 1;
	p[0] = p[size - 1] = 5;
	return read(0, &c, 1) || p[0] != 5 || p[size - 1] != 5;
}

/* Each of so many programs at the same time has room for as much, wherever Linux put it. */
int large_mappings(void)
{
	char *args[] = { "abi", "hold", "400", NULL };
	int ends[2], pids[20], children = 20, i;

	CHECK(!pipe2(ends, O_CLOEXEC));
	for (i = 0; i < children; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i]) {
			dup2(ends[0], 0);
			execv("/proc/self/exe", args);
			_exit(2);
		}
	}
	CHECK(!close(ends[0]) && !close(ends[1]));
	for (i = 0; i < children; i++)
		CHECK(wait_for(pids[i], 0));
	return 1;
}

#define RESERVED	(1UL << 30)
#define APART		(8UL << 20)

static int has_all(const char *p, char last)
{
	unsigned long i;

	for (i = 0; i < RESERVED / APART; i++)
		if (p[i * APART] != (char)(i + 1))
			return 0;
	return p[RESERVED - 1] == last;
}

/* Programs reserve 1 GiB and use a little of it, and so do their forks, wherever Linux puts those. */
int reservation(void)
{
	int ends[2], pids[64], children = sizeof(pids) / sizeof(pids[0]), i;
	char *p = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), c;
	unsigned long at;

	CHECK(p != MAP_FAILED);
	for (at = 0; at < RESERVED; at += APART)
		p[at] = at / APART + 1;
	CHECK(!pipe2(ends, O_CLOEXEC));
	for (i = 0; i < children; i++) {
		p[RESERVED - 1] = i;
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i]) {
			close(ends[1]);
			_exit(!has_all(p, i) || read(ends[0], &c, 1) || !has_all(p, i));
		}
	}
	CHECK(!close(ends[0]) && !close(ends[1]));
	for (i = 0; i < children; i++)
		CHECK(wait_for(pids[i], 0));
	return has_all(p, children - 1) && !munmap(p, RESERVED);
}

static char *awaited;

/* Uses a page that is not there: a handler runs meanwhile. */
static void *use_page(void *nothing)
{
	return (void *)(long)*(volatile char *)awaited;
}

/* A page that is a program's to give: who waits for it in user mode gets signals, and no system call waits. */
int user_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero;
	struct pollfd poll_fd = { .events = POLLIN };
	int fd = syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY), to[2];
	long long end = now() + 20000000000LL;
	pthread_t user;
	void *result;

	CHECK(fd >= 0 && !ioctl(fd, UFFDIO_API, &api));
	awaited = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(awaited != MAP_FAILED);
	range.range.start = (unsigned long)awaited;
	range.range.len = PAGE;
	CHECK(!ioctl(fd, UFFDIO_REGISTER, &range));

	CHECK(!pipe(to));
	CHECK(write(to[1], awaited, 1) == -1 && errno == EFAULT);

	ticks = 0;
	catch(SIGUSR1, tick, 0);
	CHECK(!pthread_create(&user, NULL, use_page, NULL));
	poll_fd.fd = fd;
	CHECK(poll(&poll_fd, 1, 20000) == 1);
	CHECK(!pthread_kill(user, SIGUSR1));
	while (!ticks && now() < end)
		sched_yield();
	CHECK(ticks == 1);
	zero = (struct uffdio_zeropage){ .range = range.range };
	CHECK(!ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	CHECK(!pthread_join(user, &result) && !result);
	signal(SIGUSR1, SIG_DFL);
	return !close(fd) && !close(to[0]) && !close(to[1]) && !munmap(awaited, PAGE);
}
