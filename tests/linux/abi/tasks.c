// SPDX-License-Identifier: MIT OR Apache-2.0
/* Threads, processes, and how they wait for each other. */
#include "abi.h"

/* A variable that each thread has. */
#ifdef __GLIBC__
static __thread int mine;
static int get(void) { return mine; }
static void set(int value) { mine = value; }
static void make(void) { }
#else
/* A small program has no segment for such variables (docs/small-spaces.md). */
static pthread_key_t mine;
static int get(void) { return (int)(long)pthread_getspecific(mine); }
static void set(int value) { pthread_setspecific(mine, (void *)(long)value); }
static void make(void) { pthread_key_create(&mine, NULL); }
#endif
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int sum, started;

static void *thread(void *arg)
{
	int i;

	set((int)(long)arg);
	pthread_mutex_lock(&mutex);
	started++;
	pthread_cond_broadcast(&cond);
	while (started < 8)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	for (i = 0; i < 200; i++) {
		pthread_mutex_lock(&mutex);
		sum += get();
		pthread_mutex_unlock(&mutex);
		if (i % 10 == 0)
			sched_yield();
	}
	return (void *)(long)(get() == (int)(long)arg);
}

int threads(void)
{
	pthread_t t[8];
	long i;
	void *r;

	sum = started = 0;
	make();
	for (i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, thread, (void *)(i + 1)));
	for (i = 0; i < 8; i++) {
		CHECK(!pthread_join(t[i], &r));
		CHECK(r);
	}
	CHECK(sum == 200 * 36);
	return 1;
}

static volatile int done_sleeping;

static void *sleeper(void *arg)
{
	struct timespec nap = { 0, 50000 + 17000 * (long)arg };

	while (!done_sleeping)
		nanosleep(&nap, NULL);
	return arg;
}

static void *short_life(void *arg)
{
	return arg;
}

/* Timers fire one upon another while much is freed behind each: none may be lost. */
int naps(void)
{
	enum { SLEEPERS = 8, LIVES = 1500 };
	pthread_t t[SLEEPERS], life;
	pthread_attr_t small;
	long i;

	done_sleeping = 0;
	CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 16 * PAGE));
	for (i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_create(&t[i], &small, sleeper, (void *)i));
	for (i = 0; i < LIVES; i++) {
		CHECK(!pthread_create(&life, &small, short_life, NULL));
		CHECK(!pthread_join(life, NULL));
	}
	done_sleeping = 1;
	for (i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_join(t[i], NULL));
	return 1;
}

int processes(void)
{
	char *args[] = { "abi", "exit", "7", NULL };
	struct clone_args ca = { .exit_signal = SIGCHLD };
	int i, pid;
	volatile int touched = 0;

	for (i = 0; i < 50; i++) {
		pid = fork();
		if (!pid)
			_exit(i);
		if (!wait_for(pid, i << 8))
			return 0;
	}
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(1);
	}
	if (!wait_for(pid, 7 << 8))
		return 0;
	pid = vfork();
	if (!pid) {
		touched = 1;
		execv("/proc/self/exe", args);
		_exit(1);
	}
	CHECK(touched);
	if (!wait_for(pid, 7 << 8))
		return 0;
	pid = syscall(__NR_clone3, &ca, sizeof(ca));
	if (!pid)
		_exit(9);
	CHECK(pid > 0);
	return wait_for(pid, 9 << 8);
}

int futexes(void)
{
	int *word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec t = { 0, 10000000 };
	int pid;

	CHECK(syscall(__NR_futex, word, FUTEX_WAIT, 1, NULL) == -1 && errno == EAGAIN);
	CHECK(syscall(__NR_futex, word, FUTEX_WAIT, 0, &t) == -1 && errno == ETIMEDOUT);
	pid = fork();
	if (!pid) {
		__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
		syscall(__NR_futex, word, FUTEX_WAKE, 1);
		_exit(0);
	}
	while (!__atomic_load_n(word, __ATOMIC_SEQ_CST))
		syscall(__NR_futex, word, FUTEX_WAIT, 0, NULL);
	return wait_for(pid, 0);
}

/* Two that compute: both get on, and so does who sleeps. */
int fairness(void)
{
	volatile unsigned long *count = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pid[2], i;

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			for (;;)
				count[i * 16]++;
	}
	for (i = 0; i < 10; i++)
		usleep(30000);
	for (i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		if (!wait_for(pid[i], SIGKILL))
			return 0;
	}
	CHECK(count[0] > 1000 && count[16] > 1000);
	CHECK(count[0] / 8 < count[16] && count[16] / 8 < count[0]);
	return 1;
}
