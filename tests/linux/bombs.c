// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Uses up processes, threads, page tables and sockets, as a user and as root, until Linux refuses more.  Meanwhile
 * root's programs run (as far as Linux lets root have one more), no other's memory changes, and when it is over there
 * is as much as before.
 *
 * With the argument `filters`, a user makes the kernel allocate more than there is, for filters of sockets, by processes that
 * are as dear to the kernel as any and small themselves: in what it looks at, root's shell is larger.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST		20000
#define USER		1000
/* What a page table of the processor maps, and how many of them a process can ask for. */
#ifdef __arm__
#define SPAN		(1 << 20)
#elif defined(__x86_64__)
#define SPAN		(2 << 20)
#else
#define SPAN		(4 << 20)
#endif
#define SPANS		380
#define MAPPERS		8
#define OPENERS		4
#define FILTERERS	40

/* Where a bomb tells that it has what it could get: how much, and the error that ended it. */
struct told {
	int count, error;
};
static int tell[2];

static void told(int count, int error)
{
	struct told t = { count, error };

	if (write(tell[1], &t, sizeof(t)) != sizeof(t))
		_exit(1);
}

static char *reserve(int spans)
{
	char *p = mmap(NULL, (size_t)spans * SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Children that each need some page tables. */
static void forks(int teller)
{
	int n = 0, pid = 1, error = 0;

	/* One that went for want of memory ends it, too. */
	while (n < MOST && !error) {
		pid = fork();
		if (!pid)
			break;
		error = pid < 0 ? errno : waitpid(-1, NULL, WNOHANG) > 0 ? ENOMEM : 0;
		n++;
	}
	if (!pid) {
		char *p = reserve(3);
		int i;

		for (i = 0; p && i < 3; i++)
			p[i * SPAN] = 1;
		for (;;)
			pause();
	}
	told(n, error);
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static void threads(int teller)
{
	pthread_attr_t small;
	pthread_t thread;
	int n = 0, error = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	while (n < MOST && !(error = pthread_create(&thread, &small, wait_for_ever, NULL)))
		n++;
	told(n, error);
}

/* More page tables than there are, by processes that look at their pages again and again. */
static void mappings(int teller)
{
	char *p = reserve(SPANS);
	int i, round;

	for (round = 0; p && round < 4; round++) {
		for (i = 0; i < SPANS; i++) {
			int *at = (int *)(p + (long)i * SPAN);

			if (*at != (round ? teller * SPANS + i + round : 0)) {
				told(i, -1);
				return;
			}
			*at = teller * SPANS + i + round + 1;
		}
	}
	told(SPANS, p ? ENOMEM : -2);
}

/* Each with a filter, which Linux keeps in memory that it maps for itself. */
static void sockets(int teller)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, 0xffff } };
	struct sock_fprog filter = { 1, code };
	int n, fd;

	for (n = 0; n < MOST; n++) {
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
			break;
	}
	told(n, n < MOST ? errno : 0);
}

/* As many sockets as a process may have, each with the largest filter. */
static void filters(int teller)
{
	static struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog filter = { BPF_MAXINSNS, code };
	int n, fd;

	for (n = 0; n < BPF_MAXINSNS; n++)
		code[n] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0, 0xffff };
	for (n = 0; n < MOST; n++) {
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
			break;
	}
	told(n, n < MOST ? errno : 0);
}

static const struct bomb {
	const char *name;
	void (*go)(int teller);
	/* Processes of it that tell. */
	int tellers;
} bombs[] = {
	{ "forks", forks, 1 }, { "threads", threads, 1 }, { "mappings", mappings, MAPPERS }, { "sockets", sockets, OPENERS },
};

/* Runs a program; its status, or minus the error that kept it from being made. */
static int work(void)
{
	int pid = fork(), status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		execl("/bin/ls", "ls", "/", NULL);
		_exit(errno == ENOMEM || errno == EAGAIN ? 100 : 101);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int is_limit(int error)
{
	return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ENOBUFS;
}

/* The number in a line of the host layer's report of what is used; 0 on Linux alone. */
static int used(const char *name)
{
	FILE *file = fopen("/proc/macadamia", "r");
	char line[100], key[20];
	int value, found = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%19s %d", key, &value) == 2 && !strcmp(key, name))
			found = value;
	if (file)
		fclose(file);
	return found;
}

/* What becomes of this process when Linux's memory is used up: those with the largest number go first. */
static void set_score(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY);

	if (fd < 0 || write(fd, score, strlen(score)) != (ssize_t)strlen(score))
		_exit(1);
	close(fd);
}

/* Sets one off; false if something is wrong. */
static int explode(const struct bomb *bomb, int user)
{
	struct told t;
	int pid, i, worked, count = 0, error = 0;

	if (pipe(tell))
		return 0;
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		for (i = 0; i < bomb->tellers; i++)
			if (!fork()) {
				set_score("1000");
				if (user && setuid(USER))
					_exit(1);
				bomb->go(i);
				for (;;)
					pause();
			}
		/* For those that went for want of memory. */
		while (wait(NULL) > 0)
			told(1, ENOMEM);
		for (;;)
			pause();
	}
	setpgid(pid, pid);
	for (i = 0; i < bomb->tellers; i++) {
		struct pollfd p = { tell[0], POLLIN };

		if (poll(&p, 1, 60000) != 1 || read(tell[0], &t, sizeof(t)) != sizeof(t))
			break;
		count += t.count;
		error = error < 0 ? error : t.error;
	}
	worked = work();
	kill(-pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		return 0;
	/* The others are init's to wait for. */
	while (!kill(-pid, 0))
		usleep(10000);
	close(tell[0]);
	close(tell[1]);
	printf("# %s, %s: %d, ended by %s; meanwhile ls: %d\n", user ? "user" : "root", bomb->name, count, strerror(error), worked);
	return count && is_limit(error) && (worked == 0 || (!user && (is_limit(-worked) || worked == 100 << 8)));
}

/*
 * Waits until no more is used than at first: the memory reaper of Linux releases a process some time after its end.
 * It may be less, because a program that was started when memory was short has no Segment.
 */
static int settled(const char *name, int first)
{
	int i;

	for (i = 0; i < 6000 && used(name) > first; i++)
		usleep(10000);
	if (used(name) <= first)
		return 1;
	printf("# %s: %d, at first %d\n", name, used(name), first);
	return 0;
}

/*
 * Processes of a user with filters, until one is killed.  Root's own, which wait for that, keep themselves, as servers do; its
 * shell can do nothing.
 */
static int user_filters(void)
{
	int i, pid, status, killed = 0, complete = 0;

	set_score("-999");
	if (pipe(tell) || (getpgrp() != getpid() && setpgid(0, 0)))
		return 1;
	signal(SIGTERM, SIG_IGN);
	for (i = 0; i < FILTERERS && !killed; i++) {
		struct pollfd p = { tell[0], POLLIN };
		struct told t;

		pid = fork();
		if (!pid) {
			set_score("0");
			signal(SIGTERM, SIG_DFL);
			if (setuid(USER))
				_exit(1);
			filters(i);
			for (;;)
				pause();
		}
		/* Until it has what it could get, or one of them is gone. */
		while (!poll(&p, 1, 10) && !killed)
			killed = waitpid(-1, &status, WNOHANG) > 0;
		if (!killed && read(tell[0], &t, sizeof(t)) == sizeof(t))
			complete += t.count;
	}
	while (!killed)
		killed = waitpid(-1, &status, 0) > 0;
	printf("# user, filters: %d, then %s\n", complete, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit");
	fflush(stdout);
	i = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !work();
	kill(-getpgrp(), SIGTERM);
	return !i;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "spaces", "threads", "slots" };
	int start[3], user, failed = 0;
	unsigned int i, k;

	if (argc > 1)
		return user_filters();
	/* A line for each, not for each process that is there. */
	i = open("/proc/sys/vm/oom_dump_tasks", O_WRONLY);
	if (write(i, "0", 1) != 1)
		return 1;
	close(i);
	/* What is kept for the next process is there from then on. */
	if (!explode(&bombs[0], 1))
		return 1;
	for (k = 0; k < 3; k++)
		start[k] = used(kinds[k]);
	for (user = 1; user >= 0; user--)
		for (i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
			int good = explode(&bombs[i], user);

			for (k = 0; k < 3; k++)
				good &= settled(kinds[k], start[k]);
			if (!good) {
				printf("not ok %s %s\n", user ? "user" : "root", bombs[i].name);
				failed = 1;
			}
		}
	if (work()) {
		printf("not ok: no program runs any more\n");
		failed = 1;
	}
	printf("# page tables of processes reclaimed: %d\n", used("reclaims"));
	return failed;
}
