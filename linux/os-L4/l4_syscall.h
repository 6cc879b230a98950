/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of the microkernel, and what _start stores for them.  Numbers come from abi.h, which the build makes out of
 * the kernel's own crate; docs/manual.md says what the calls mean.
 */
#ifndef __OS_L4_L4_SYSCALL_H
#define __OS_L4_L4_SYSCALL_H

#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include "abi.h"

/* Slots of the capability table that every component starts with. */
#define L4_QUOTA	1
#define L4_SPACE	2
#define L4_THREAD	3
#define L4_CONSOLE	4
#define L4_ROOT		5

/* Text begins in this word of a message.  A word has four bytes of it, however large it is. */
#define L4_TEXT_WORD	3
#define L4_TEXT_BYTES	((L4_MAX_WORDS - L4_TEXT_WORD) * 4)

/*
 * Registers of a system call by their roles: the tag or operation and its arguments a0 to a3 go in, results come
 * out.  r0 is the status or delivery.
 */
struct l4_regs {
	unsigned long r0, r1, r2, r3, r4;
};

/* Where the Linux thread has its UTCB. */
extern unsigned long l4_utcb;
/* The first words of the kernel information page: a copy in Linux's own data, which costs no page of the TLB. */
extern u32 l4_kip[];

/* Enters the microkernel; in assembly. */
void l4_syscall(struct l4_regs *regs);

/* An operation on an object.  Returns the status; other results are in *out. */
u32 l4_call_out(u32 op, unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3, struct l4_regs *out);
u32 l4_call(u32 op, unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3);
/* What helps against an error: text that follows its number in a message. */
const char *l4_error_hint(u32 status);
/* Whether an operation failed because the microkernel has no memory left for it. */
static inline bool l4_is_out_of_memory(u32 status)
{
	return status == L4_ERROR_QUOTA_EXCEEDED || status == L4_ERROR_POOL_EXHAUSTED;
}

/* How many messages threads of this Linux have sent, by l4_ipc_call(): the root server reads it. */
extern u32 *l4_messages;
/*
 * Calls a thread with a message of three words, and of those after them that are in this thread's UTCB, and waits for the
 * reply, whose words are in r2 to r4 and after them.  True: it failed.
 */
u32 l4_ipc_call(unsigned long utcb, u32 to, u32 tag, u32 a, u32 b, u32 c, struct l4_regs *out);

/* Puts text, of at most L4_TEXT_BYTES, where a message has it; takes it from there. */
static inline void l4_put_text(unsigned long utcb, const char *text, unsigned int bytes)
{
	unsigned long *word = (unsigned long *)utcb + L4_TEXT_WORD;
	unsigned int at;
	u32 part;

	if (sizeof(*word) == sizeof(part)) {
		memcpy(word, text, bytes);
		return;
	}
	for (at = 0; at < bytes; at += sizeof(part)) {
		part = 0;
		memcpy(&part, text + at, bytes - at < sizeof(part) ? bytes - at : sizeof(part));
		*word++ = part;
	}
}

static inline void l4_get_text(char *text, unsigned long utcb, unsigned int bytes)
{
	const unsigned long *word = (const unsigned long *)utcb + L4_TEXT_WORD;
	unsigned int at;
	u32 part;

	if (sizeof(*word) == sizeof(part)) {
		memcpy(text, word, bytes);
		return;
	}
	for (at = 0; at < bytes; at += sizeof(part)) {
		part = *word++;
		memcpy(text + at, &part, bytes - at < sizeof(part) ? bytes - at : sizeof(part));
	}
}

/* Asks the root server to end this Linux. */
void __noreturn l4_exit(int code);

#endif
