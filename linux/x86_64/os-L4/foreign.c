// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for i386 are refused, like any for which Linux has no format; the log says why, because no shell can know
 * it.  An interpreter that is registered for them (binfmt_misc) is tried first.
 */
#include <linux/binfmts.h>
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/string.h>

static int refuse(struct linux_binprm *bprm)
{
	/* Up to the processor's number the ELF headers of both sizes are the same. */
	const struct elf32_hdr *head = (const struct elf32_hdr *)bprm->buf;

	if (!memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_machine == EM_386)
		pr_notice_ratelimited("%*pE is a program for i386: this Linux runs programs for amd64 only\n",
				      (int)strlen(bprm->filename), bprm->filename);
	return -ENOEXEC;
}

static struct linux_binfmt foreign = { .load_binary = refuse };

static int __init foreign_init(void)
{
	register_binfmt(&foreign);
	return 0;
}
fs_initcall(foreign_init);
