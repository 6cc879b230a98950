// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses of programs to words and halfwords that are not aligned, which the processor refuses.  As on ARM's own
 * Linux /proc/cpu/alignment says what becomes of them, and counts them (Documentation/arch/arm/mem_alignment.rst).
 * By default they are carried out here: upstream's default for this processor is to let programs continue with a word
 * that they did not mean.
 *
 * Encodings: ARM Architecture Reference Manual (DDI 0100), chapters A3 and A7.
 */
#include <linux/bitops.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include "alignment.h"

#define PC	15
#define NO_BASE	-1

/* Bits of the file's number. */
#define WARN_USER	1
#define FIX_USER	2
#define SIGNAL_USER	4

static unsigned int mode = FIX_USER;

static const char *const modes[] = { "ignored", "warn", "fixup", "fixup+warn", "signal", "signal+warn" };

enum kind { HALF, WORD, DOUBLE, MULTI, KINDS };

static const char *const kinds[KINDS] = { "Half", "Word", "DWord", "Multi" };

/* Counters: all faults of programs, those of unknown instructions, and the others by kind. */
static unsigned long faults, skipped, done[KINDS];

/* What an instruction transfers between memory and registers. */
struct transfer {
	enum kind kind;
	bool load, sign;
	unsigned long address;
	/* A bit for each register, the lowest first in memory. */
	u16 registers;
	/* The base register that is updated, or NO_BASE, and its new value. */
	int base;
	unsigned long base_after;
};

static unsigned long *reg(struct uml_pt_regs *regs, unsigned int n)
{
	BUILD_BUG_ON(HOST_SP - HOST_R0 != 13 || HOST_IP - HOST_R0 != PC);
	return &regs->gp[HOST_R0 + n];
}

static unsigned long operand(struct uml_pt_regs *regs, unsigned int n)
{
	return *reg(regs, n) + (n == PC ? 8 : 0);
}

static unsigned long shifted(struct uml_pt_regs *regs, u32 code)
{
	unsigned long value = operand(regs, code & 15);
	unsigned int by = code >> 7 & 31;

	switch (code >> 5 & 3) {
	case 0:
		return value << by;
	case 1:
		return by ? value >> by : 0;
	case 2:
		return (long)value >> (by ? by : 31);
	default:
		return by ? ror32(value, by) : value >> 1 | (regs->gp[HOST_CPSR] >> 29 & 1) << 31;
	}
}

/* The address of an access with a base and an offset, which is added before or after it. */
static void index(struct uml_pt_regs *regs, u32 code, unsigned long offset, struct transfer *t)
{
	unsigned int base = code >> 16 & 15;
	unsigned long from = operand(regs, base);
	unsigned long to = code & BIT(23) ? from + offset : from - offset;
	bool before = code & BIT(24);

	t->address = before ? to : from;
	t->base = before && !(code & BIT(21)) ? NO_BASE : base;
	t->base_after = to;
}

static bool decode(struct uml_pt_regs *regs, u32 code, struct transfer *t)
{
	unsigned int first = code >> 12 & 15, bytes;

	t->load = code & BIT(20);
	t->sign = false;
	t->registers = BIT(first);
	if ((code & 0x0c400000) == 0x04000000 && (code & 0x02000010) != 0x02000010) {
		t->kind = WORD;
		index(regs, code, code & BIT(25) ? shifted(regs, code) : code & 0xfff, t);
		return true;
	}
	if ((code & 0x0e000090) == 0x00000090 && code & 0x60) {
		index(regs, code, code & BIT(22) ? (code >> 4 & 0xf0) | (code & 15) : operand(regs, code & 15), t);
		t->kind = HALF;
		t->sign = code & BIT(6);
		if (!t->load && t->sign) {
			/* In this form another bit distinguishes a load from a store. */
			t->kind = DOUBLE;
			t->load = !(code & BIT(5));
			t->registers = BIT(first) | BIT(first + 1);
			return !(first & 1) && first != 14;
		}
		return code & BIT(5);
	}
	if ((code & 0x0e400000) != 0x08000000)
		return false;
	t->kind = MULTI;
	t->registers = code;
	bytes = 4 * hweight16(t->registers);
	index(regs, code, bytes, t);
	if (!(code & BIT(21)))
		t->base = NO_BASE;
	/* The lowest register has the lowest address, whichever way the base goes. */
	t->address = operand(regs, code >> 16 & 15);
	if (!(code & BIT(23)))
		t->address -= bytes;
	if (!(code & BIT(24)) == !(code & BIT(23)))
		t->address += 4;
	return t->registers;
}

/* The instruction of ARM that does the same as one of Thumb, or 0. */
static u32 as_arm(u16 code)
{
	u32 load = (u32)(code >> 11 & 1) << 20, base = (u32)(code >> 3 & 7) << 16, data = (u32)(code & 7) << 12;
	u32 list = code & 0xff, third = (u32)(code >> 8 & 7), offset = code >> 6 & 31;

	switch (code >> 12) {
	case 5:
		switch (code >> 9 & 7) {
		case 0:
			return 0xe7800000 | base | data | (offset & 7);
		case 1:
			return 0xe18000b0 | base | data | (offset & 7);
		case 4:
			return 0xe7900000 | base | data | (offset & 7);
		case 5:
			return 0xe19000b0 | base | data | (offset & 7);
		case 7:
			return 0xe19000f0 | base | data | (offset & 7);
		default:
			return 0;
		}
	case 6:
		return 0xe5800000 | load | base | data | offset << 2;
	case 8:
		return 0xe1c000b0 | load | base | data | (offset << 1 & 0x30) << 4 | (offset << 1 & 15);
	case 9:
		return 0xe58d0000 | load | third << 12 | list << 2;
	case 11:
		if ((code & 0xfe00) == 0xb400)
			return 0xe92d0000 | list | (code & BIT(8) ? BIT(14) : 0);
		return (code & 0xfe00) == 0xbc00 ? 0xe8bd0000 | list | (code & BIT(8) ? BIT(15) : 0) : 0;
	case 12:
		/* A base register that is loaded is not updated. */
		return 0xe8800000 | load | (load && list & BIT(third) ? 0 : BIT(21)) | third << 16 | list;
	default:
		return 0;
	}
}

static void load_register(struct uml_pt_regs *regs, unsigned int n, u32 value)
{
	if (n == PC) {
		regs->gp[HOST_CPSR] = (regs->gp[HOST_CPSR] & ~PSR_THUMB) | (value & 1 ? PSR_THUMB : 0);
		value &= ~1;
	}
	*reg(regs, n) = value;
}

/*
 * Carries it out; false: the memory cannot be accessed.  `as_is`: as a processor that does not check alignment: it
 * ignores the lowest bits of the address, and rotates a loaded word by them.
 */
static bool carry_out(struct uml_pt_regs *regs, const struct transfer *t, bool as_is)
{
	unsigned long registers = t->registers;
	unsigned long address = t->address;
	unsigned int size = t->kind == HALF ? 2 : 4, n = 0, i;
	union {
		u32 words[16];
		u16 half;
	} data;

	if (as_is)
		address &= t->kind == DOUBLE ? ~7UL : -(unsigned long)size;
	if (t->load && copy_from_user(&data, (void __user *)address, size * hweight16(t->registers)))
		return false;
	for_each_set_bit(i, &registers, 16) {
		/*
		 * The PC is already after this instruction, so that the stored value is the instruction's address +
		 * 12, as on ARM9 cores.
		 */
		if (!t->load)
			data.words[n] = operand(regs, i);
		else if (t->kind == HALF)
			load_register(regs, i, t->sign ? (s16)data.half : data.half);
		else
			load_register(regs, i, as_is && t->kind == WORD ? ror32(data.words[n], 8 * (t->address & 3)) : data.words[n]);
		n++;
	}
	if (!t->load && copy_to_user((void __user *)address, &data, size * n))
		return false;
	if (t->base != NO_BASE && !(t->load && t->registers & BIT(t->base)))
		*reg(regs, t->base) = t->base_after;
	return true;
}

static bool fetch(const struct uml_pt_regs *regs, u32 *code)
{
	u16 thumb;

	if (!(regs->gp[HOST_CPSR] & PSR_THUMB))
		return !get_user(*code, (const u32 __user *)UPT_IP(regs));
	if (get_user(thumb, (const u16 __user *)UPT_IP(regs)))
		return false;
	*code = as_arm(thumb);
	return true;
}

bool l4_mend_alignment(struct uml_pt_regs *regs, unsigned long address)
{
	unsigned int length = regs->gp[HOST_CPSR] & PSR_THUMB ? 2 : 4;
	struct transfer t;
	u32 code;

	faults++;
	if (mode & WARN_USER)
		pr_info_ratelimited("Alignment trap: %s (%d) PC=0x%08lx Address=0x%08lx\n", current->comm, task_pid_nr(current),
				    UPT_IP(regs), address);
	if (mode & SIGNAL_USER)
		return false;
	if (!fetch(regs, &code) || !decode(regs, code, &t)) {
		skipped++;
		return false;
	}
	*reg(regs, PC) += length;
	if (!carry_out(regs, &t, !(mode & FIX_USER))) {
		*reg(regs, PC) -= length;
		force_sig_fault(SIGSEGV, SEGV_MAPERR, (void __user *)address);
		return true;
	}
	done[t.kind]++;
	return true;
}

static int show(struct seq_file *m, void *v)
{
	unsigned int i;

	/* The kernel makes no such accesses: it is built for memory in which they are not allowed. */
	seq_printf(m, "User:\t\t%lu\nSystem:\t\t0\nSkipped:\t%lu\n", faults, skipped);
	for (i = 0; i < KINDS; i++)
		seq_printf(m, "%s:\t\t%lu\n", kinds[i], done[i]);
	seq_printf(m, "User faults:\t%u (%s)\n", mode, modes[mode]);
	return 0;
}

static int alignment_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static ssize_t alignment_write(struct file *file, const char __user *buffer, size_t count, loff_t *offset)
{
	char digit;

	if (count) {
		if (get_user(digit, buffer))
			return -EFAULT;
		if (digit >= '0' && digit < '0' + ARRAY_SIZE(modes))
			mode = digit - '0';
	}
	return count;
}

static const struct proc_ops operations = {
	.proc_open = alignment_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = alignment_write,
};

static int __init alignment_init(void)
{
	struct proc_dir_entry *folder = proc_mkdir("cpu", NULL);

	return folder && proc_create("alignment", 0644, folder, &operations) ? 0 : -ENOMEM;
}
fs_initcall(alignment_init);
