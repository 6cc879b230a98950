/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks share. */
#ifndef ABI_H
#define ABI_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/if_packet.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* The same under the names of musl. */
#ifndef __GLIBC__
#define _libc_fpstate _fpstate
#define __NR_clock_getres __NR_clock_getres_time32
#endif

#define PAGE 4096
#define CHECK(condition) do { if (!(condition)) { printf("# %s:%d: %s (errno %d)\n", __func__, __LINE__, #condition, errno); return 0; } } while (0)

/* The statement raises the signal with this code; what came is in `got`. */
#define RAISES(sig, code, what) do { catch(sig, jump, 0); if (!sigsetjmp(back, 1)) { what; CHECK(!"no signal"); } \
	CHECK(got.si_signo == sig); CHECK(got.si_code == code); } while (0)

/* Where jump() jumps, and what it was given. */
extern sigjmp_buf back;
extern siginfo_t got;
void jump(int sig, siginfo_t *si, void *uc);
/* Handles a signal by a function. */
void catch(int sig, void (*fn)(int, siginfo_t *, void *), int flags);
/* What handlers count. */
extern volatile int handled, ticks;
void tick(int sig, siginfo_t *si, void *uc);
/* Waits for a child; false if its status is another. */
int wait_for(int pid, int expected);
/* Nanoseconds. */
long long now(void);

/* Pushes a word with a stack pointer where nothing is mapped, and restores it if that is no fault. */
void push_without_stack(void);
/* What this program does when a check executes it with the arguments `as` and `what`: its exit status. */
int as(const char *what);
/* The same with `hold` (memory.c). */
int hold(const char *mib);

/* The checks: 1 if it holds, otherwise it has said why. */
#define CHECKS(one) \
	one(faults) one(write_barrier) one(threads) one(naps) \
	one(processes) one(copy_on_write) one(written_after_copies) one(written_shared) one(seen_elsewhere) one(moved_mappings) one(unmapped_mappings) one(last_page) one(packet_ring) one(file_mappings) one(large_mappings) one(reservation) \
	one(user_faults) one(clocks) one(timers) one(futexes) one(signals) one(events) one(sockets) one(socket_filters) \
	one(sysv_ipc) one(fairness) one(proc)
#define DECLARE(name) int name(void);
CHECKS(DECLARE)

/* Those of this processor alone, CHECKS_HERE, and the name of a page that Linux adds to each process. */
#include "here.h"
CHECKS_HERE(DECLARE)

#endif
