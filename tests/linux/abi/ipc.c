// SPDX-License-Identifier: MIT OR Apache-2.0
/* Events, sockets, System V. */
#include "abi.h"

int events(void)
{
	struct itimerspec soon = { { 0, 0 }, { 0, 10000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), ev = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), watch = inotify_init();
	struct pollfd p = { .fd = watch, .events = POLLIN };
	uint64_t n = 3;
	char path[] = "/tmp/evXXXXXX";

	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, ev, &event));
	CHECK(epoll_wait(ep, &event, 1, 0) == 0);
	CHECK(write(ev, &n, 8) == 8 && epoll_wait(ep, &event, 1, 0) == 1);
	CHECK(read(ev, &n, 8) == 8 && n == 3);
	CHECK(!timerfd_settime(timer, 0, &soon, NULL) && read(timer, &n, 8) == 8 && n == 1);
	CHECK(inotify_add_watch(watch, "/tmp", IN_CREATE) > 0);
	close(mkstemp(path));
	CHECK(poll(&p, 1, 1000) == 1);
	return !unlink(path);
}

int sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(in);
	int pair[2], server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), peer, pid;
	static char data[100000], copy[100000];
	size_t at;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK(write(pair[0], "hi", 2) == 2 && read(pair[1], data, 10) == 2);
	CHECK(!bind(server, (struct sockaddr *)&in, sizeof(in)) && !listen(server, 5));
	CHECK(!getsockname(server, (struct sockaddr *)&in, &length));
	CHECK(!connect(client, (struct sockaddr *)&in, sizeof(in)));
	peer = accept(server, NULL, NULL);
	CHECK(peer >= 0);
	for (at = 0; at < sizeof(data); at++)
		data[at] = at * 7;
	pid = fork();
	if (!pid)
		_exit(write(client, data, sizeof(data)) != sizeof(data));
	for (at = 0; at < sizeof(copy); ) {
		ssize_t n = read(peer, copy + at, sizeof(copy) - at);

		CHECK(n > 0);
		at += n;
	}
	CHECK(!memcmp(data, copy, sizeof(data)));
	return wait_for(pid, 0);
}

/* A filter keeps out what it does not know; Linux keeps it in a page of its own that it maps. */
int socket_filters(void)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_B | BPF_ABS, 0, 0, 0 }, { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 'a' },
		{ BPF_RET | BPF_K, 0, 0, 0xffff }, { BPF_RET | BPF_K, 0, 0, 0 },
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	int pair[2];
	char c;

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
	CHECK(!setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)));
	/* Who sent it is not told. */
	CHECK(write(pair[0], "b", 1) == 1 && read(pair[1], &c, 1) == -1 && errno == EAGAIN);
	CHECK(write(pair[0], "a", 1) == 1 && read(pair[1], &c, 1) == 1 && c == 'a');
	CHECK(!setsockopt(pair[1], SOL_SOCKET, SO_DETACH_FILTER, &(int){ 0 }, sizeof(int)));
	CHECK(write(pair[0], "b", 1) == 1 && read(pair[1], &c, 1) == 1 && c == 'b');
	return !close(pair[0]) && !close(pair[1]);
}

int sysv_ipc(void)
{
	struct { long type; char text[8]; } message = { 1, "hello" }, other;
	int shm = shmget(IPC_PRIVATE, PAGE, 0600), msg = msgget(IPC_PRIVATE, 0600), sem = semget(IPC_PRIVATE, 1, 0600), pid;
	struct sembuf down = { 0, -1, 0 }, up = { 0, 1, 0 };
	char *p = shmat(shm, NULL, 0);
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 16 };
	mqd_t mq;

	CHECK(shm >= 0 && msg >= 0 && sem >= 0 && p != (void *)-1);
	pid = fork();
	if (!pid) {
		strcpy(p, "shared");
		msgsnd(msg, &message, 8, 0);
		semop(sem, &up, 1);
		_exit(0);
	}
	CHECK(!semop(sem, &down, 1) && !strcmp(p, "shared"));
	CHECK(msgrcv(msg, &other, 8, 1, 0) == 8 && !strcmp(other.text, "hello"));
	CHECK(!shmdt(p) && !shmctl(shm, IPC_RMID, NULL) && !msgctl(msg, IPC_RMID, NULL) && !semctl(sem, 0, IPC_RMID));
	if (!wait_for(pid, 0))
		return 0;
	mq = mq_open("/abi-test", O_RDWR | O_CREAT, 0600, &attr);
	CHECK(mq >= 0 && !mq_send(mq, "one", 4, 1) && !mq_send(mq, "two", 4, 2));
	CHECK(mq_receive(mq, other.text, 16, NULL) == 4 && !strcmp(other.text, "two"));
	CHECK(!mq_unlink("/abi-test"));
	/* In /dev/shm. */
	shm = shm_open("/abi-test", O_RDWR | O_CREAT, 0600);
	CHECK(shm >= 0 && !ftruncate(shm, PAGE));
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
	CHECK(p != MAP_FAILED && !(*p = 0));
	return !shm_unlink("/abi-test");
}
