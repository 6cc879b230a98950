// SPDX-License-Identifier: GPL-2.0
/*
 * The attack test.  With the argument "attack=HOW" this Linux behaves as one whose kernel has been taken over: it
 * tries what it must not be able to do.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <os.h>
#include "l4_syscall.h"
#include "quota.h"
#include "server_thread.h"
#include "start.h"
#include "test_hooks.h"
#include "time.h"
#include <os-L4/processor.h>
#include <os-L4/run.h>
#include <os-L4/tests.h>

#define CALLS		300000
#define ROUNDS		2000

/* Threads that spin, and the period of their alarms. */
#define SPINNERS	4
#define ALARM_NS	100000ULL
#define COMPUTE_NS	4000000000ULL
#define STACK		4096

/* Exit codes, if it does not die. */
#define REFUSED		7
#define GOT_IT		8

static char how[16] __initdata;

static int __init attack_setup(char *text)
{
	strscpy(how, text, sizeof(how));
	return 1;
}
__setup("attack=", attack_setup);

static u32 __init next(void)
{
	static u32 state __initdata = 12345;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

/* Makes random system calls, with arguments that are nearly right. */
static void __init calls(void)
{
	u32 i;

	for (i = 0; i < CALLS; i++) {
		u32 op = next() % 64, slot = next() % 64, args[3], n;
		struct l4_regs r;

		for (n = 0; n < 3; n++)
			args[n] = next() % 3 ? next() % 64 : next();
		/* Not those that wait, or end this thread. */
		if (op == L4_OP_RECEIVE || op == L4_OP_REPLY_WAIT || op == L4_OP_CALL ||
		    op == L4_OP_RUN || op == L4_OP_MAP_RUN || op == L4_OP_STOP || op == L4_OP_RESET ||
		    op == L4_OP_DELETE || op == L4_OP_REVOKE || op == L4_OP_MAP)
			continue;
		r = (struct l4_regs){ op << L4_TAG_OP_SHIFT | L4_TAG_POLL,
				      slot, args[0], args[1], args[2] };
		l4_syscall(&r);
	}
}

/* Runs a user thread with registers that would give it privileges.  True: it got some. */
static bool __init registers(void)
{
	/* It shows this Linux, if that is a server. */
	u32 placed, space = l4_user_space_create(ARCH_L4_USER_PLACE, &placed), thread = l4_slot_alloc(), handle, kind, word, i;
	bool got = false;
	struct l4_frame *f;
	struct l4_regs r;

	if (!space ||
	    l4_call_out(L4_OP_CREATE_THREAD, L4_QUOTA, space, thread, L4_SPACE, &r))
		panic("attack: no thread");
	f = (struct l4_frame *)r.r1;
	handle = r.r2;
	l4_call(L4_OP_SET_HANDLER, thread, L4_THREAD, 0, 0);
	l4_call(L4_OP_SET_PRIORITY, thread, 80, 80, 0);
	for (i = 0; i < ROUNDS; i++) {
		arch_l4_make_privileged(f, i & 1 ? next() : ARCH_L4_KERNEL_ADDRESS, next);
		kind = arch_l4_run(arch_l4_has_fast_entry(), &handle, &word);
		if (kind == L4_KIND_ALIEN && arch_l4_is_privileged(f))
			got = true;
	}
	return got;
}

/* On its own stack and UTCB.  Every other thread sets alarms and waits for them. */
static asmlinkage void __noreturn spin(void *arg)
{
	bool alarms = (unsigned long)arg & 1;
	struct l4_regs r;
	u64 next;

	for (;;) {
		if (!alarms)
			continue;
		next = l4_time_ns() + ALARM_NS;
		l4_call(L4_OP_ALARM, (u32)next, next >> 32, 1, 0);
		r = (struct l4_regs){ L4_OP_RECEIVE << L4_TAG_OP_SHIFT | L4_TAG_NOTIFICATIONS_ONLY };
		l4_syscall(&r);
	}
}

/* Starts threads at the highest priority that is allowed, which never stop, and computes for a while. */
static void __init take_processor(void)
{
	static char stacks[SPINNERS][STACK] __aligned(16);
	u32 i, thread, highest;
	unsigned long utcb;
	u64 end;

	for (i = 0; i < SPINNERS; i++) {
		thread = l4_thread_create(&utcb);
		if (!thread)
			panic("attack: no thread");
		*(u32 *)(utcb + L4_UTCB_ACCEPT) = 1;
		for (highest = 255; l4_call(L4_OP_SET_PRIORITY, thread, highest, highest, 0); highest--)
			;
		pr_info("attack: a thread at priority %u\n", highest);
		if (l4_thread_run(thread, spin, (void *)(unsigned long)i, stacks[i] + STACK,
				  highest))
			panic("attack: a thread does not run");
	}
	for (end = l4_time_ns() + COMPUTE_NS; l4_time_ns() < end;)
		;
}

/* A sub-architecture may have attacks of its own. */
bool __weak l4_attack_fault(struct l4_frame *frame)
{
	return false;
}

void __weak l4_attack_event(u32 kind, u32 vector) { }

static int __init attack(void)
{
	bool got = false;

	if (!how[0])
		return 0;
	if (!strcmp(how, "spin")) {
		take_processor();
		return 0;
	}
	block_signals();
	/* The root server gets its exceptions. */
	l4_call(L4_OP_SET_HANDLER, L4_THREAD, L4_ROOT, 0, 0);
	if (!strcmp(how, "calls")) {
		calls();
	} else if (!strcmp(how, "registers")) {
		got = registers();
	} else if (!strcmp(how, "memory")) {
		*(volatile u32 *)ARCH_L4_KERNEL_ADDRESS;
		got = true;
	} else if (!strcmp(how, "ports")) {
		got = arch_l4_access_device();
	} else {
		got = arch_l4_disable_interrupts();
	}
	l4_exit(got ? GOT_IT : REFUSED);
}
late_initcall(attack);
