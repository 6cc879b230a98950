// SPDX-License-Identifier: MIT OR Apache-2.0
/* Clocks and timers. */
#include "abi.h"

int clocks(void)
{
	struct timespec short_time = { 0, 20000000 }, t, u;
	long long start = now(), last = start;
	struct timeval tv;
	int i;

	for (i = 0; i < 10000; i++) {
		long long n = now();

		CHECK(n >= last);
		last = n;
	}
	start = now();
	CHECK(!nanosleep(&short_time, NULL));
	CHECK(now() - start >= 20000000 && now() - start < 200000000);
	CHECK(!clock_gettime(CLOCK_REALTIME, &t) && t.tv_sec > 1600000000);
	CHECK(!gettimeofday(&tv, NULL) && tv.tv_sec - t.tv_sec <= 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	for (start = now(); now() - start < 100000000; )
		;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &u);
	CHECK(u.tv_sec * 1000 + u.tv_nsec / 1000000 - t.tv_sec * 1000 - t.tv_nsec / 1000000 >= 30);
	return 1;
}

int timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec period = { { 0, 5000000 }, { 0, 5000000 } };
	struct itimerval virt = { { 0, 10000 }, { 0, 10000 } };
	long long start = now();
	timer_t id;

	catch(SIGRTMIN, tick, 0);
	ticks = 0;
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &id) && !timer_settime(id, 0, &period, NULL));
	while (ticks < 10)
		pause();
	CHECK(!timer_delete(id));
	CHECK(now() - start >= 45000000 && now() - start < 1000000000);
	catch(SIGVTALRM, tick, 0);
	ticks = 0;
	CHECK(!setitimer(ITIMER_VIRTUAL, &virt, NULL));
	for (start = now(); ticks < 3 && now() - start < 5000000000LL; )
		;
	virt.it_interval.tv_usec = virt.it_value.tv_usec = 0;
	setitimer(ITIMER_VIRTUAL, &virt, NULL);
	CHECK(ticks >= 3);
	return 1;
}
