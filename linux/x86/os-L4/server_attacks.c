// SPDX-License-Identifier: GPL-2.0
/*
 * Attacks of a Linux that is a server at ring 1 and was taken over, on the microkernel and on other processes.  With the
 * argument "server-attacks" there is a device /dev/macadamia/server-attacks.  A word that is written to it makes Linux
 * try all attacks of this name; what is read then says what came of them: how many there were, and each that succeeded.
 *
 * An attack is machine code in the window's last page, executed by the Linux thread.  Its exceptions come to the thread
 * above Linux (inject.c), which notes them and makes Linux go on after the attack.  On a machine that does not check
 * segment limits some succeed.  Those write what they read, and nobody is harmed.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include <os.h>
#include "../../../um/os-L4/l4_syscall.h"
#include "../../../um/os-L4/records.h"
#include "../../../um/os-L4/start.h"
#include "../../../um/os-L4/test_hooks.h"
#include "selectors.h"

/* The microkernel begins here, and the window ends.  An address in the microkernel's text. */
#define KERNEL		0xe0000000
#define KERNEL_TEXT	0xe0100000
/* Selectors of the microkernel: its own code, the server's code and data, the first of three of TLS. */
#define KERNEL_CS	0x08
#define SERVER_CS	0x51
#define SERVER_DS	0x59
#define TLS		0x33
#define TLS_COUNT	3
#define SELECTORS	0x10000

/* Ring and I/O privilege, virtual interrupts, virtual 8086 mode: what no server has. */
#define PRIVILEGED	(X86_EFLAGS_IOPL | X86_EFLAGS_VM | X86_EFLAGS_VIF | X86_EFLAGS_VIP)
/* A system call that there is not. */
#define NO_CALL		0xffffffff
/* Random frames, and events of each kind at which all selectors are tried. */
#define FRAMES		500
#define EVENTS		8

/* Registers in and out of an attack.  esp 0: the stack that there is. */
struct attempt {
	u32 eax, ebx, ecx, edx, esi, edi, ebp, esp;
};
void l4_attempt_run(struct attempt *attempt, const void *code);
extern const char l4_attempt_end[];

/* Attacks are made here; they may use the bytes from data on.  The page ends where the microkernel begins. */
static u8 *const code = (u8 *)(KERNEL - PAGE_SIZE);
static u32 *const data = (u32 *)(KERNEL - PAGE_SIZE / 2);
static u32 length;

static bool running, raised;
/* The first exception of the attack. */
static struct l4_frame fault;
/* The frame with which the first exception is answered, if it is not NULL. */
static struct l4_frame *answer;

static bool limits_hold;
static u32 attempts, succeeded;
static char text[16384];
static size_t said;

/* On the thread above Linux.  True: it was an attack's. */
bool l4_attack_fault(struct l4_frame *f)
{
	if (!running)
		return false;
	if (!raised)
		fault = *f;
	raised = true;
	if (answer) {
		*f = *answer;
		answer = NULL;
		raised = false;
		return true;
	}
	f->eip = (u32)l4_attempt_end;
	f->eflags = X86_EFLAGS_IF | X86_EFLAGS_FIXED;
	f->ds_es = L4_USER_DS << 16 | L4_USER_DS;
	f->fs_gs = 0;
	f->changed = L4_CHANGED_SEGMENTS;
	return true;
}

static void byte(u8 value)
{
	code[length++] = value;
}

static void word(u32 value)
{
	memcpy(code + length, &value, sizeof(value));
	length += sizeof(value);
}

static void bytes(const u8 *from, u32 count)
{
	memcpy(code + length, from, count);
	length += count;
}
#define CODE(...)	bytes((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }))

/* jmp l4_attempt_end */
static void end(void)
{
	byte(0xe9);
	word((u32)l4_attempt_end - (u32)(code + length + 4));
}

/* Runs what was made.  True: it came to its end without an exception. */
static bool run_at(struct attempt *a, const void *at)
{
	unsigned long flags;

	/* The thread above Linux injects no interrupt meanwhile: the stack may be none. */
	local_irq_save(flags);
	raised = false;
	running = true;
	barrier();
	l4_attempt_run(a, at);
	barrier();
	running = false;
	local_irq_restore(flags);
	attempts++;
	return !raised;
}

static bool run(struct attempt *a)
{
	return run_at(a, code);
}

static void tell(const char *what, u32 address, u32 selector)
{
	succeeded++;
	said += scnprintf(text + said, sizeof(text) - said, "succeeded: %s at %08x by selector %04x\n", what, address, selector);
}

/* What was made must not come to its end. */
static void must_fail(struct attempt *a, const char *what, u32 address, u32 selector)
{
	end();
	if (run(a))
		tell(what, address, selector);
	length = 0;
}

/* What was made must raise this exception. */
static void must_raise(struct attempt *a, const char *what, u32 number, u32 vector)
{
	end();
	if (run(a) || fault.vector != vector)
		tell(what, number, raised ? fault.vector : 0xffff);
	length = 0;
}

/* mov eax, selector; mov sreg, eax */
static void load(u8 sreg, u32 selector)
{
	byte(0xb8);
	word(selector);
	CODE(0x8e, 0xc0 | sreg << 3);
}

/* Segment registers as instructions encode them, and their prefixes. */
enum { SREG_ES, SREG_CS, SREG_SS, SREG_DS, SREG_FS, SREG_GS, SREGS };
static const struct {
	const char *read, *write;
	u8 prefix;
} sregs[SREGS] = {
	[SREG_ES] = { "read by ES", "write by ES", 0x26 },
	[SREG_CS] = { "read by CS", "write by CS", 0x2e },
	[SREG_SS] = { "read by SS", "write by SS", 0x36 },
	[SREG_DS] = { "read by DS", "write by DS", 0x3e },
	[SREG_FS] = { "read by FS", "write by FS", 0x64 },
	[SREG_GS] = { "read by GS", "write by GS", 0x65 },
};

/* Four bytes from each of these on are not all below the microkernel. */
static const u32 beyond[] = {
	KERNEL, KERNEL - 1, KERNEL - 2, KERNEL - 3, KERNEL_TEXT, 0xfffffffc, 0xfffffffe, 0xffffffff,
};

/* mov ecx, sreg:[address] */
static void read_by(u8 sreg, u32 selector, u32 address)
{
	struct attempt a = { };

	if (selector)
		load(sreg, selector);
	CODE(sregs[sreg].prefix, 0x8b, 0x0d);
	word(address);
	must_fail(&a, sregs[sreg].read, address, selector);
}

/* lock or dword ptr sreg:[address], 0 */
static void write_by(u8 sreg, u32 selector, u32 address)
{
	struct attempt a = { };

	if (selector)
		load(sreg, selector);
	CODE(sregs[sreg].prefix, 0xf0, 0x83, 0x0d);
	word(address);
	byte(0);
	must_fail(&a, sregs[sreg].write, address, selector);
}

static void segments(void)
{
	/* 0: what is loaded. */
	static const u32 selectors[] = { 0, L4_USER_CS, L4_USER_DS, SERVER_CS, SERVER_DS };
	u32 sreg, i, j;

	for (sreg = 0; sreg < SREGS; sreg++)
		for (i = 0; i < (sreg == SREG_CS ? 1 : ARRAY_SIZE(selectors)); i++)
			for (j = 0; j < ARRAY_SIZE(beyond); j++) {
				read_by(sreg, selectors[i], beyond[j]);
				write_by(sreg, selectors[i], beyond[j]);
			}
}

/*
 * Without limits Linux can write a `ret` to the first byte of physical memory, which is the BIOS's, and execute nothing
 * else there.  Returns what was there.
 */
static u8 put_return(u8 value)
{
	u8 before = *(volatile u8 *)KERNEL;

	*(volatile u8 *)KERNEL = value;
	return before;
}
#define RETURN	0xc3

static void execution(void)
{
	static const u32 targets[] = { KERNEL, KERNEL_TEXT, 0xfffffff0, 0xffffffff };
	struct attempt a = { };
	u32 i;

	if (!limits_hold) {
		u8 before = put_return(RETURN);

		a.eax = KERNEL;
		CODE(0xff, 0xd0);
		must_fail(&a, "call", KERNEL, 0);
		put_return(before);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		a = (struct attempt){ .eax = targets[i] };
		/* jmp eax; call eax; push eax, ret */
		CODE(0xff, 0xe0);
		must_fail(&a, "jump", targets[i], 0);
		CODE(0xff, 0xd0);
		must_fail(&a, "call", targets[i], 0);
		CODE(0x50, 0xc3);
		must_fail(&a, "return", targets[i], 0);
	}
	/* mov eax, ...: its first byte is the window's last. */
	a = (struct attempt){ };
	((u8 *)KERNEL)[-1] = 0xb8;
	if (run_at(&a, (u8 *)KERNEL - 1))
		tell("execution across", KERNEL - 1, 0);
}

/* Instructions that run across the microkernel's begin.  `wild`: beyond it goes on anywhere, or with other data. */
static void strings(void)
{
	static const struct {
		const char *what;
		struct attempt a;
		bool wild;
		u8 count, code[7];
	} all[] = {
		{ "rep movsd", { .esi = KERNEL - 8, .edi = KERNEL - 8, .ecx = 4 }, false, 2, { 0xf3, 0xa5 } },
		{ "rep movsd downwards", { .esi = KERNEL + 4, .edi = KERNEL + 4, .ecx = 4 }, false, 3, { 0xfd, 0xf3, 0xa5 } },
		{ "movsd", { .esi = KERNEL - 2, .edi = KERNEL - 2 }, false, 1, { 0xa5 } },
		{ "rep movsb", { .esi = KERNEL - 1, .edi = KERNEL - 1, .ecx = 2 }, false, 2, { 0xf3, 0xa4 } },
		{ "rep lodsd", { .esi = KERNEL - 8, .ecx = 4 }, false, 2, { 0xf3, 0xad } },
		{ "repe cmpsd", { .esi = KERNEL - 8, .edi = KERNEL - 8, .ecx = 4 }, false, 2, { 0xf3, 0xa7 } },
		{ "rep stosd", { .edi = KERNEL - 8, .ecx = 4 }, true, 2, { 0xf3, 0xab } },
		{ "xlatb", { .ebx = KERNEL }, false, 1, { 0xd7 } },
		{ "bt of a far bit", { .ebx = KERNEL - 4, .eax = 64 }, false, 3, { 0x0f, 0xa3, 0x03 } },
		{ "cmpxchg8b", { .ebx = KERNEL - 4 }, false, 3, { 0x0f, 0xc7, 0x0b } },
		{ "sgdt", { .ebx = KERNEL - 2 }, true, 3, { 0x0f, 0x01, 0x03 } },
		{ "sidt", { .ebx = KERNEL - 2 }, true, 3, { 0x0f, 0x01, 0x0b } },
		{ "les", { .ebx = KERNEL - 4 }, true, 2, { 0xc4, 0x03 } },
		/* push [esp - 4] */
		{ "push", { .esp = KERNEL + 2 }, false, 4, { 0xff, 0x74, 0x24, 0xfc } },
		{ "push", { .esp = KERNEL + 4 }, false, 4, { 0xff, 0x74, 0x24, 0xfc } },
		{ "push", { .esp = 0xfffffffe }, false, 4, { 0xff, 0x74, 0x24, 0xfc } },
		{ "pop", { .esp = KERNEL - 2 }, false, 1, { 0x58 } },
		{ "pop", { .esp = KERNEL }, false, 1, { 0x58 } },
		{ "popal", { .esp = KERNEL - 8 }, false, 1, { 0x61 } },
		{ "pushal", { .esp = KERNEL + 16 }, true, 1, { 0x60 } },
		{ "pushfl", { .esp = KERNEL + 4 }, true, 1, { 0x9c } },
		{ "enter", { .esp = KERNEL + 2 }, true, 4, { 0xc8, 0x10, 0x00, 0x00 } },
		{ "leave", { .ebp = KERNEL }, false, 1, { 0xc9 } },
		{ "call", { .esp = KERNEL + 4 }, true, 5, { 0xe8, 0x00, 0x00, 0x00, 0x00 } },
		{ "ret", { .esp = KERNEL - 2 }, true, 1, { 0xc3 } },
		{ "lret", { .esp = KERNEL - 4 }, true, 1, { 0xcb } },
		{ "iret", { .esp = KERNEL - 4 }, true, 1, { 0xcf } },
	};
	struct attempt a;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].wild && !limits_hold)
			continue;
		a = all[i].a;
		bytes(all[i].code, all[i].count);
		must_fail(&a, all[i].what, KERNEL, 0);
		/* Two of four words are below, and no more was moved. */
		if (a.ecx && limits_hold && all[i].a.edi == KERNEL - 8 && a.ecx != 2)
			tell("went on", a.edi, a.ecx);
	}
}

/* Whether a selector names a segment that may be loaded, and where that ends. */
static bool limit_of(u32 selector, u32 *limit)
{
	u8 known;

	asm volatile ("lsl %[selector], %[limit]; setz %[known]"
		      : [limit] "=r" (*limit), [known] "=q" (known) : [selector] "r" (selector) : "cc");
	return known;
}

/* Tries a selector in a segment register: what can be loaded does not reach the microkernel. */
static void try_selector(u8 sreg, u32 selector)
{
	struct attempt a = { .eax = selector };
	u32 limit = 0;

	CODE(0x8e, 0xc0 | sreg << 3);
	end();
	length = 0;
	if (!run(&a))
		return;
	/* Null can be loaded. */
	if (selector < 4)
		return;
	if (selector >= TLS && selector < TLS + 8 * TLS_COUNT)
		tell("load of a process's segment", sreg, selector);
	if (!limit_of(selector, &limit) || limit >= KERNEL)
		tell("load of a segment without end", limit, selector);
	if (limits_hold) {
		read_by(sreg, selector, KERNEL);
		read_by(sreg, selector, 0xfffffffc);
	}
}

static const u8 loadable[] = { SREG_ES, SREG_SS, SREG_DS, SREG_FS, SREG_GS };

static void selectors(void)
{
	u32 i, selector;

	for (i = 0; i < ARRAY_SIZE(loadable); i++)
		for (selector = 0; selector < SELECTORS; selector++)
			try_selector(loadable[i], selector);
}

/* The same for those that have a limit, and for those of TLS. */
static void known_selectors(void)
{
	u32 i, selector, limit;

	for (selector = 4; selector < SELECTORS; selector++) {
		if (limit_of(selector, &limit) || (selector >= (TLS & ~3) && selector < (TLS & ~3) + 8 * TLS_COUNT))
			for (i = 0; i < ARRAY_SIZE(loadable); i++)
				try_selector(loadable[i], selector);
	}
}

static void privileged(void)
{
	static const struct {
		const char *what;
		u8 count, code[3];
		bool unchecked;		/* QEMU does not check this */
	} all[] = {
		{ "cli", 1, { 0xfa } },
		{ "sti", 1, { 0xfb } },
		{ "hlt", 1, { 0xf4 } },
		{ "clts", 2, { 0x0f, 0x06 } },
		{ "invd", 2, { 0x0f, 0x08 }, true },
		{ "wbinvd", 2, { 0x0f, 0x09 }, true },
		{ "mov eax, cr0", 3, { 0x0f, 0x20, 0xc0 } },
		{ "mov eax, cr2", 3, { 0x0f, 0x20, 0xd0 } },
		{ "mov eax, cr3", 3, { 0x0f, 0x20, 0xd8 } },
		{ "mov eax, cr4", 3, { 0x0f, 0x20, 0xe0 } },
		{ "mov cr0, eax", 3, { 0x0f, 0x22, 0xc0 } },
		{ "mov cr2, eax", 3, { 0x0f, 0x22, 0xd0 } },
		{ "mov cr3, eax", 3, { 0x0f, 0x22, 0xd8 } },
		{ "mov cr4, eax", 3, { 0x0f, 0x22, 0xe0 } },
		{ "mov eax, dr0", 3, { 0x0f, 0x21, 0xc0 } },
		{ "mov eax, dr7", 3, { 0x0f, 0x21, 0xf8 } },
		{ "mov dr0, eax", 3, { 0x0f, 0x23, 0xc0 } },
		{ "mov dr7, eax", 3, { 0x0f, 0x23, 0xf8 } },
		{ "lgdt", 3, { 0x0f, 0x01, 0x13 } },
		{ "lidt", 3, { 0x0f, 0x01, 0x1b } },
		{ "lmsw", 3, { 0x0f, 0x01, 0xf0 } },
		{ "invlpg", 3, { 0x0f, 0x01, 0x3b } },
		{ "lldt", 3, { 0x0f, 0x00, 0xd0 } },
		{ "ltr", 3, { 0x0f, 0x00, 0xd8 }, true },
		{ "rdmsr", 2, { 0x0f, 0x32 } },
		{ "wrmsr", 2, { 0x0f, 0x30 } },
		{ "rdpmc", 2, { 0x0f, 0x33 } },
		{ "sysexit", 2, { 0x0f, 0x35 } },
		{ "in al, 0x60", 2, { 0xe4, 0x60 } },
		{ "in eax, 0x60", 2, { 0xe5, 0x60 } },
		{ "out 0x60, al", 2, { 0xe6, 0x60 } },
		{ "out 0x60, eax", 2, { 0xe7, 0x60 } },
		{ "insb", 1, { 0x6c } },
		{ "insd", 1, { 0x6d } },
		{ "outsb", 1, { 0x6e } },
		{ "outsd", 1, { 0x6f } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct attempt a = { .ebx = (u32)data, .esi = (u32)data, .edi = (u32)data };

		if (all[i].unchecked && !limits_hold)
			continue;
		bytes(all[i].code, all[i].count);
		must_raise(&a, all[i].what, i, X86_TRAP_GP);
	}
	/* mov cs, eax */
	if (limits_hold) {
		struct attempt a = { .eax = SERVER_CS };

		CODE(0x8e, 0xc8);
		must_raise(&a, "mov cs, eax", 0, X86_TRAP_UD);
	}
}

/* in al, dx: of all ports. */
static void ports(void)
{
	u32 port;

	for (port = 0; port < 0x10000; port++) {
		struct attempt a = { .edx = port };

		byte(0xec);
		must_raise(&a, "in", port, X86_TRAP_GP);
	}
}

/* pushfd; pop eax, and no privileges in it. */
static void check_flags(struct attempt *a, const char *what, u32 wanted)
{
	CODE(0x9c, 0x58);
	end();
	length = 0;
	if (run(a) && (a->eax & PRIVILEGED || !(a->eax & X86_EFLAGS_IF)))
		tell(what, wanted, a->eax >> 16);
}

static u32 next(void)
{
	static u32 state = 12345;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

/* push the words; iret */
static void interrupt_return(u32 flags, u32 cs, u32 eip)
{
	byte(0x68);
	word(flags);
	byte(0x68);
	word(cs);
	byte(0x68);
	word(eip);
	byte(0xcf);
}

static void flags(void)
{
	u32 i;

	for (i = 0; i < 200; i++) {
		/* Without TF, which would end it by an exception. */
		u32 wanted = (i == 0 ? 0 : i == 1 ? ~0U : next()) & ~X86_EFLAGS_TF;
		struct attempt a = { };

		/* push wanted; popfd */
		byte(0x68);
		word(wanted);
		byte(0x9d);
		check_flags(&a, "popfd", wanted);
		/* An emulator without limits takes all flags there. */
		if (!limits_hold)
			continue;
		interrupt_return(wanted, SERVER_CS, (u32)code + 16);
		check_flags(&a, "iretd", wanted);
	}
	for (i = 0; limits_hold && i < 2; i++) {
		struct attempt a = { };

		/* With NT, iret leads to the task in the back link: there is none. */
		byte(0x68);
		word(X86_EFLAGS_NT | (i ? X86_EFLAGS_VM : 0));
		byte(0x9d);
		interrupt_return(X86_EFLAGS_FIXED, SERVER_CS, (u32)l4_attempt_end);
		must_fail(&a, "iretd with NT", i, 0);
	}
}

static void interrupts(void)
{
	u32 number;

	for (number = 0; number < 256; number++) {
		struct attempt a = { .eax = NO_CALL };
		/* What ring 3 may raise, too. */
		bool open = number == X86_TRAP_BP || number == X86_TRAP_OF || number == L4_VECTOR_SYSTEM_CALL;

		CODE(0xcd, number);
		if (number == L4_INT_VECTOR) {
			end();
			if (!run(&a) || !a.eax)
				tell("int of no system call", number, raised ? fault.vector : 0);
			length = 0;
		} else {
			must_raise(&a, "int", number, open ? number : X86_TRAP_GP);
		}
	}
}

/* A far jump, call or return to this selector.  The server's own code segment is allowed. */
static void far_to(const char *what, u32 selector, bool is_return)
{
	struct attempt a = { };
	bool own = selector == SERVER_CS || (!is_return && selector == (SERVER_CS & ~3));

	end();
	length = 0;
	if (run(&a) && !own)
		tell(what, fault.vector, selector);
}

static void far_jumps(void)
{
	u32 selector;

	data[0] = (u32)l4_attempt_end;
	for (selector = 0; selector < SELECTORS; selector++) {
		data[1] = selector;
		/* jmp [data]; call [data] */
		CODE(0xff, 0x2d);
		word((u32)data);
		far_to("far jump", selector, false);
		CODE(0xff, 0x1d);
		word((u32)data);
		far_to("far call", selector, false);
	}
	/* The table and what is after it. */
	for (selector = 0; selector < 0x100; selector++) {
		/* What is needed for an outer ring: its stack. */
		CODE(0x6a, L4_USER_DS, 0x6a, 0x00, 0x68);
		word(selector);
		byte(0x68);
		word((u32)l4_attempt_end);
		byte(0xcb);
		far_to("far return", selector, true);
		CODE(0x6a, L4_USER_DS, 0x6a, 0x00);
		interrupt_return(X86_EFLAGS_FIXED, selector, (u32)l4_attempt_end);
		far_to("interrupt return", selector, true);
	}
}

/* A system call that is to come back beyond the window. */
static void system_calls(void)
{
	static const u32 targets[] = { KERNEL - 1, KERNEL, KERNEL_TEXT, 0xfffffffc };
	const u32 stacks[] = { 0, (u32)(data + 16), KERNEL, 0xffffffff };
	u32 i, j;

	if (!limits_hold) {
		struct attempt a = { .eax = NO_CALL, .edx = KERNEL, .ecx = (u32)data };
		u8 before = put_return(RETURN);

		data[0] = (u32)l4_attempt_end;
		CODE(0x0f, 0x34);
		must_fail(&a, "sysenter", KERNEL, 0);
		put_return(before);
		return;
	}
	((u8 *)KERNEL)[-1] = 0xb8;
	for (i = 0; i < ARRAY_SIZE(targets); i++)
		for (j = 0; j < ARRAY_SIZE(stacks); j++) {
			struct attempt a = { .eax = NO_CALL, .edx = targets[i], .ecx = stacks[j] };

			CODE(0x0f, 0x34);
			must_fail(&a, "sysenter", targets[i], j);
			if (fault.eip != targets[i])
				tell("sysenter, with a fault elsewhere", targets[i], j);
		}
}

/* The thread above Linux is hostile, too: it lets Linux go on with all registers. */
static void frames(void)
{
	static const u32 targets[] = { KERNEL - 1, KERNEL, KERNEL + 1, KERNEL_TEXT, 0xfffffffc, 0xffffffff };
	struct l4_frame hostile;
	struct attempt a;
	u32 i, limit;

	((u8 *)KERNEL)[-1] = 0xb8;
	for (i = 0; i < FRAMES; i++) {
		u32 eip = targets[i % ARRAY_SIZE(targets)];

		if (!limits_hold)
			break;
		hostile = (struct l4_frame){ .esp = next(), .eip = eip, .eflags = next(), .ds_es = next(), .fs_gs = next(),
					     .changed = next() };
		answer = &hostile;
		a = (struct attempt){ };
		/* ud2 */
		CODE(0x0f, 0x0b);
		must_fail(&a, "frame", eip, 0);
		if (fault.eip != eip)
			tell("frame, with a fault elsewhere", eip, fault.vector);
	}
	for (i = 0; i < FRAMES; i++) {
		hostile = (struct l4_frame){ .esp = (u32)(data + 64), .eip = (u32)code + 2, .eflags = next() & ~X86_EFLAGS_TF,
					     .ds_es = next() & 0xff00ff, .fs_gs = next() & 0xff00ff, .changed = next() };
		answer = &hostile;
		a = (struct attempt){ };
		/* ud2; pushfd; pop eax; mov ecx, cs; mov edx, ss; mov ebx, ds; mov ebp, es; mov esi, fs; mov edi, gs */
		CODE(0x0f, 0x0b, 0x9c, 0x58, 0x8c, 0xc9, 0x8c, 0xd2, 0x8c, 0xdb, 0x8c, 0xc5, 0x8c, 0xe6, 0x8c, 0xef);
		end();
		length = 0;
		if (!run(&a)) {
			tell("frame, with a fault", i, fault.vector);
			continue;
		}
		if (a.eax & PRIVILEGED || !(a.eax & X86_EFLAGS_IF))
			tell("flags of a frame", hostile.eflags, a.eax >> 16);
		if (a.ecx != SERVER_CS || (a.edx & ~3) != (SERVER_DS & ~3))
			tell("ring of a frame", a.ecx, a.edx);
		for (u32 *s = (u32[]){ a.ebx, a.ebp, a.esi, a.edi, 0 }, j = 0; j < 4; j++)
			if (s[j] >= 4 && (!limit_of(s[j], &limit) || limit >= KERNEL))
				tell("segment of a frame", hostile.ds_es, s[j]);
	}
}

/* Events of programs that are called "ways" (tests/linux/ways.c), by kinds: exceptions, then these. */
enum { BY_INT = 32, BY_SYSENTER, BY_INTERRUPT, KINDS };
static bool watching;
static u32 events[KINDS];

/* The Linux thread runs again after a process's event, and has called nothing of the microkernel since. */
void l4_attack_event(u32 kind, u32 vector)
{
	u32 flags, fs, gs, i;

	asm volatile ("movl %%fs, %0; movl %%gs, %1; pushfl; popl %2" : "=r" (fs), "=r" (gs), "=r" (flags));
	if (!watching || strcmp(current->comm, "ways"))
		return;
	i = kind != L4_KIND_ALIEN ? BY_INTERRUPT :
	    vector == L4_VECTOR_SYSTEM_CALL ? BY_INT : vector == L4_VECTOR_SYSENTER ? BY_SYSENTER : vector % 32;
	attempts++;
	if (fs || gs)
		tell("FS or GS of a process", i, fs ?: gs);
	if (flags & (PRIVILEGED | X86_EFLAGS_DF | X86_EFLAGS_NT | X86_EFLAGS_TF))
		tell("flags of a process", i, flags >> 8);
	if (events[i]++ < EVENTS)
		known_selectors();
}

static void watch(void)
{
	memset(events, 0, sizeof(events));
	watching = true;
}

static void ways(void)
{
	u32 i;

	watching = false;
	for (i = 0; i < KINDS; i++)
		if (events[i])
			said += scnprintf(text + said, sizeof(text) - said, "events %u: %u\n", i, events[i]);
}

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "segments", segments },
	{ "execution", execution },
	{ "strings", strings },
	{ "selectors", selectors },
	{ "privileged", privileged },
	{ "ports", ports },
	{ "flags", flags },
	{ "interrupts", interrupts },
	{ "far-jumps", far_jumps },
	{ "system-calls", system_calls },
	{ "frames", frames },
	{ "watch", watch },
	{ "ways", ways },
};

static ssize_t attacks_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char name[16] = "";
	u32 i;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, buf, count))
		return -EFAULT;
	strim(name);
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		if (strcmp(name, groups[i].name))
			continue;
		/* What the events of programs were is said at their end. */
		if (groups[i].run != ways)
			said = attempts = succeeded = 0;
		groups[i].run();
		if (groups[i].run != watch)
			said += scnprintf(text + said, sizeof(text) - said, "%s: %u attempts, %u succeeded\n", name, attempts,
					  succeeded);
		return count;
	}
	return -EINVAL;
}

static ssize_t attacks_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	return simple_read_from_buffer(buf, count, pos, text, said);
}

static const struct file_operations ops = { .write = attacks_write, .read = attacks_read };
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "server-attacks", .nodename = "macadamia/server-attacks", .fops = &ops,
	.mode = 0600,
};
static bool wanted __initdata;

static int __init attacks_setup(char *argument)
{
	wanted = true;
	return 1;
}
__setup("server-attacks", attacks_setup);

static int __init attacks_init(void)
{
	unsigned long page;
	struct attempt a = { };

	if (!wanted)
		return 0;
	if (!l4_is_server) {
		pr_err("server-attacks: this Linux is no server\n");
		return -ENODEV;
	}
	page = get_zeroed_page(GFP_KERNEL);
	if (!page || l4_ram_record(L4_SPACE, (u32)code, __pa(page), PAGE_SIZE,
				   UM_PROT_READ | UM_PROT_WRITE | UM_PROT_EXEC) || l4_map_flush())
		return -ENOMEM;
	/* mov ecx, [KERNEL] */
	CODE(0x8b, 0x0d);
	word(KERNEL);
	end();
	length = 0;
	limits_hold = !run(&a);
	pr_info("server-attacks: segment limits are %s\n", limits_hold ? "checked" : "not checked");
	return misc_register(&device);
}
device_initcall(attacks_init);
