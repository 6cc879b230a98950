// SPDX-License-Identifier: GPL-2.0
/*
 * The attack test.  With the argument "attack=HOW" this Linux behaves like one whose kernel has been taken over: it
 * tries what must not be possible.
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

/* How often the attack on the screen prints that it continues, and how many attacks are made in between. */
#define PARTS		4
#define SPOILS		500

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
	/* The space shows this Linux, if that is a server. */
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

/* A number that is small, near 2^32, a power of two, or any. */
static u32 __init next_word(void)
{
	switch (next() % 4) {
	case 0:
		return next() % 70;
	case 1:
		return -(next() % 70);
	case 2:
		return 1U << next() % 32;
	default:
		return next();
	}
}

static void __init spoil(const struct l4_grant *shared, u32 at, u32 value)
{
	WRITE_ONCE(*(u32 *)(shared->address + at), value);
}

/* Writes something into the memory that the screen's server reads, or calls the server, then notifies it. */
static void __init spoil_screen(const struct l4_grant *ours, u32 server, u32 bell)
{
	static u32 produced __initdata;
	struct l4_regs r;
	u32 i;

	switch (next() % 8) {
	/* As many rectangles as are allowed: a valid message, except for its contents. */
	case 0 ... 2:
		for (i = 0; i < L4_SCREEN_MOST_RECTANGLES * L4_SCREEN_RECTANGLE; i += sizeof(u32))
			spoil(ours, L4_SCREEN_RECTANGLES + i, next_word());
		produced += L4_SCREEN_MOST_RECTANGLES;
		spoil(ours, L4_SCREEN_DAMAGE_PRODUCED, produced);
		break;
	case 3:
		spoil(ours, L4_SCREEN_DAMAGE_PRODUCED, next_word());
		break;
	case 4:
		spoil(ours, L4_SCREEN_EVENTS_CONSUMED, next_word());
		break;
	/* It connects again, so that the server accepts the next messages. */
	case 5:
		produced = 0;
		spoil(ours, L4_SCREEN_DAMAGE_PRODUCED, 0);
		spoil(ours, L4_SCREEN_EVENTS_CONSUMED, 0);
		mb();
		l4_ipc_call(l4_utcb, server, 3, L4_SCREEN_ATTACH,
			    L4_SCREEN_VERSION | (next() & L4_SCREEN_DRAWS_POINTER), 0, &r);
		break;
	case 6:
		l4_ipc_call(l4_utcb, server, 3, next_word(), next_word(), next_word(), &r);
		break;
	default:
		for (i = 0; i < 64; i++)
			spoil(ours, next() % (u32)(ours->bytes / sizeof(u32)) * sizeof(u32), next());
	}
	mb();
	l4_call(L4_OP_NOTIFY, bell, 0, 0, 0);
}

/*
 * Corrupts the memory that it shares with the screen's server.  Then it writes to memory that only the server may
 * write.  True: that succeeded.
 */
static bool __init attack_screen(void)
{
	const struct l4_grant *ours = l4_find_grant("surface"), *theirs = l4_find_grant("surface-events");
	const struct l4_grant *server = l4_find_grant("screen"), *bell = l4_find_grant("screen-bell");
	u32 part, i;

	if (!ours || !theirs || !server || !bell)
		panic("attack: no screen");
	for (part = 1; part <= PARTS; part++) {
		for (i = 0; i < SPOILS; i++)
			spoil_screen(ours, server->slot, bell->slot);
		pr_info("attack: the screen, part %u of %u\n", part, PARTS);
	}
	spoil(theirs, L4_SCREEN_EVENTS_PRODUCED, 0);
	return true;
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
	} else if (!strcmp(how, "screen")) {
		got = attack_screen();
	} else {
		got = arch_l4_disable_interrupts();
	}
	l4_exit(got ? GOT_IT : REFUSED);
}
late_initcall(attack);
