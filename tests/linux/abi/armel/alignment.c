// SPDX-License-Identifier: MIT OR Apache-2.0
/* Accesses to memory that is not aligned, as /proc/cpu/alignment says. */
#include "armel.h"

#define MODE "/proc/cpu/alignment"

static unsigned char memory[64];

static unsigned int word(unsigned int at)
{
	unsigned int value;

	memcpy(&value, memory + at, sizeof(value));
	return value;
}

static unsigned int half(unsigned int at)
{
	return memory[at] | memory[at + 1] << 8;
}

static int set_mode(char digit)
{
	int file = open(MODE, O_WRONLY);
	int written = file >= 0 && write(file, &digit, 1) == 1;

	close(file);
	return written;
}

/* Runs instructions of ARM with r0 to r7 from here, and of Thumb. */
#define RUN(code) \
	asm volatile ("push {r4-r8}\n\tmov r8, %0\n\tldm r8, {r0-r7}\n\t" code "\n\tstm r8, {r0-r7}\n\tpop {r4-r8}" \
		      : : "r" (r) : "r0", "r1", "r2", "r3", "r12", "cc", "memory")
#define RUN_THUMB(code) \
	RUN("adr r12, 1f + 1\n\tbx r12\n\t.thumb\n1:\t" code "\n\t.balign 4\n\tbx pc\n\tnop\n\t.arm")

#define BASE	((unsigned int)memory)

/* New contents, and registers: the base, an index, and what is stored. */
static void fill(unsigned int *r, unsigned int at)
{
	unsigned int i;

	for (i = 0; i < sizeof(memory); i++)
		memory[i] = 0x81 + 7 * i;
	for (i = 0; i < 8; i++)
		r[i] = 0x11213141 * i;
	r[0] = BASE + at;
	r[1] = 3;
}

static int singles(void)
{
	unsigned int r[8];

	fill(r, 1);
	RUN("ldr r2, [r0]\n\tldr r3, [r0, #5]!\n\tldr r4, [r0], #-3");
	CHECK(r[2] == word(1) && r[3] == word(6) && r[4] == word(6) && r[0] == BASE + 3);
	fill(r, 2);
	RUN("ldr r2, [r0, r1, lsl #1]\n\tldr r3, [r0, r1]!\n\tldr r4, [r0, -r1, asr #1]\n\tldr r5, [r0], r1, ror #31");
	CHECK(r[2] == word(8) && r[3] == word(5) && r[4] == word(4) && r[5] == word(5) && r[0] == BASE + 11);
	fill(r, 1);
	RUN("str r2, [r0]\n\tstr r3, [r0, #5]!\n\tstrt r4, [r0], #6");
	CHECK(word(1) == r[2] && word(6) == r[4] && r[0] == BASE + 12 && memory[5] == 0x81 + 7 * 5);
	fill(r, 1);
	RUN("ldrh r2, [r0]\n\tldrsh r3, [r0, #4]\n\tldrh r4, [r0, r1]!\n\tldrsh r5, [r0, #1]!\n\tldrh r6, [r0], #-2");
	CHECK(r[2] == half(1) && r[3] == (unsigned int)(short)half(5) && r[4] == (unsigned int)half(4));
	CHECK(r[5] == (unsigned int)(short)half(5) && r[6] == half(5) && r[0] == BASE + 3);
	fill(r, 1);
	RUN("strh r2, [r0], #4\n\tstrh r3, [r0, -r1]");
	CHECK(memory[1] == (r[2] & 0xff) && half(2) == (r[3] & 0xffff) && r[0] == BASE + 5);
	return 1;
}

static int several(void)
{
	unsigned int r[8];

	fill(r, 2);
	RUN("ldrd r2, [r0]\n\tldrd r4, [r0, r1]!\n\tldrd r6, [r0], #-4");
	CHECK(r[2] == word(2) && r[3] == word(6) && r[4] == word(5) && r[5] == word(9) && r[6] == r[4] && r[7] == r[5] && r[0] == BASE + 1);
	fill(r, 3);
	RUN("strd r2, [r0, #8]");
	CHECK(word(11) == r[2] && word(15) == r[3]);
	fill(r, 21);
	RUN("ldmia r0!, {r2, r3}\n\tldmib r0, {r4, r5}\n\tldmda r0!, {r6, r7}");
	CHECK(r[2] == word(21) && r[3] == word(25) && r[4] == word(33) && r[5] == word(37) && r[6] == word(25) && r[7] == word(29));
	CHECK(r[0] == BASE + 21);
	fill(r, 22);
	RUN("stmdb r0!, {r2-r4}\n\tstmib r0!, {r5-r6}\n\tldmdb r0, {r0, r2}");
	CHECK(word(10) == 0x11213141 * 2 && word(14) == r[5] && word(18) == r[6] && r[0] == word(10) && r[2] == word(14));
	/* One that goes on elsewhere. */
	fill(r, 1);
	RUN("adr r2, 2f\n\tstmia r0, {r1, r2}\n\tldmia r0, {r3, pc}\n\tmov r3, #0\n2:");
	CHECK(r[3] == 3);
	return 1;
}

static int of_thumb(void)
{
	unsigned int r[8];

	fill(r, 1);
	RUN_THUMB("ldr r2, [r0, #4]\n\tldr r3, [r0, r1]\n\tldrh r4, [r0, #6]\n\tmov r5, #4\n\tldrh r6, [r0, r5]\n\tldrsh r7, [r0, r5]");
	CHECK(r[2] == word(5) && r[3] == word(4) && r[4] == half(7) && r[6] == half(5) && r[7] == (unsigned int)(short)half(5));
	fill(r, 2);
	RUN_THUMB("str r2, [r0, #8]\n\tstr r3, [r0, r1]\n\tstrh r4, [r0, #16]");
	CHECK(word(10) == r[2] && word(5) == r[3] && half(18) == (r[4] & 0xffff));
	fill(r, 1);
	RUN_THUMB("strh r4, [r0, #34]\n\tmov r5, #12\n\tstrh r6, [r0, r5]");
	CHECK(half(35) == (r[4] & 0xffff) && half(13) == (r[6] & 0xffff));
	fill(r, 33);
	RUN_THUMB("stmia r0!, {r2, r3}\n\tsub r0, #8\n\tldmia r0!, {r4, r5}\n\tsub r0, #8\n\tldmia r0, {r0, r6}");
	CHECK(word(33) == r[2] && word(37) == r[3] && r[4] == r[2] && r[5] == r[3] && r[0] == r[2] && r[6] == r[3]);
	/* Of the stack. */
	fill(r, 41);
	RUN_THUMB("mov r7, sp\n\tmov sp, r0\n\tpush {r2, r3}\n\tldr r4, [sp, #4]\n\tstr r2, [sp, #12]\n\tpop {r5, r6}\n\tmov r0, sp\n\tmov sp, r7");
	CHECK(r[4] == r[3] && r[5] == r[2] && r[6] == r[3] && r[0] == BASE + 41 && word(45) == r[2]);
	return 1;
}

static void load_unaligned(void)
{
	unsigned int r[8];

	fill(r, 1);
	RUN("ldr r2, [r0]");
}

static void swap(void)
{
	unsigned int r[8];

	fill(r, 1);
	RUN("swp r2, r3, [r0]");
}

static void load_from_nowhere(void)
{
	unsigned int r[8];

	fill(r, 1);
	r[0] = 0x1001;
	RUN("ldr r2, [r0]");
}

int alignment(void)
{
	unsigned int r[8];
	char text[512] = "";
	int file;

	CHECK(set_mode('2'));
	CHECK(singles() && several() && of_thumb());
	RAISES(SIGSEGV, SEGV_MAPERR, load_from_nowhere());
	/* What cannot be two accesses is none. */
	RAISES(SIGBUS, BUS_ADRALN, swap());
	CHECK(set_mode('4'));
	RAISES(SIGBUS, BUS_ADRALN, load_unaligned());
	CHECK(got.si_addr == memory + 1);
	/* As it is: the processor turns a word, QEMU's without the trap reads it. */
	CHECK(set_mode('0'));
	fill(r, 1);
	RUN("ldr r2, [r0]");
	CHECK(r[2] == (word(0) >> 8 | word(0) << 24) || r[2] == word(1));
	file = open(MODE, O_RDONLY);
	CHECK(file >= 0 && read(file, text, sizeof(text) - 1) > 0 && strstr(text, "User faults:\t0 (ignored)\n") && strstr(text, "DWord:\t"));
	close(file);
	return set_mode('2');
}
