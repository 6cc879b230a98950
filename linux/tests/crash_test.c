// SPDX-License-Identifier: GPL-2.0
/*
 * The crash test.  With the argument "crash-test" there is a device /dev/macadamia/crash-test.  A word that is
 * written to it says in which way Linux itself fails.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/tlbflush.h>
#include <os.h>
#include "l4_syscall.h"
#include "mm.h"
#include "records.h"
#include "server_thread.h"
#include "user_space.h"
#include <os-L4/processor.h>

/* The first page is not mapped. */
static volatile u32 *const nothing = (u32 *)8;

static noinline void crash_null(void)
{
	*nothing;
}

static noinline void crash_jump(void)
{
	void (*volatile fn)(void) = NULL;

	fn();
	barrier();
}

static noinline void crash_text(void)
{
	*(volatile u8 *)crash_jump = 0;
}

static noinline u32 crash_stack(u32 depth)
{
	volatile u32 local[16];

	local[depth % 16] = depth;
	return crash_stack(depth + 1) + local[0];
}

static noinline void crash_divide(void)
{
	/* With two constants the compiler would need no division. */
	static volatile u32 one = 1, zero;

	one = one / zero;
}

static noinline void crash_invalid(void)
{
	arch_l4_invalid_instruction();
}

static noinline void crash_bug(void)
{
	BUG();
}

/* On its own stack and UTCB. */
static asmlinkage void crash_other(void *arg)
{
	*nothing;
}

/* Another thread of the server fails. */
static int crash_thread(void)
{
	static char stack[4096] __aligned(16);
	unsigned long utcb;
	u32 thread = l4_thread_create(&utcb);

	return thread ? l4_thread_run(thread, crash_other, NULL, stack + sizeof(stack),
				      L4_INTERRUPT_PRIORITY) : -ENOMEM;
}

/* The microkernel loses an unused page of Linux's own vmalloc. */
static int crash_own(void)
{
	void *page = vmalloc(PAGE_SIZE);

	return page ? l4_unmap_record(L4_SPACE, (unsigned long)page, PAGE_SIZE) ?: l4_map_flush() : -ENOMEM;
}

/*
 * Makes the microkernel's entry for a page of the current process differ from Linux's: another page, more rights, no
 * entry, an entry where Linux has none, or another page where Linux has reclaimed it.  The pages are not
 * used, so only walk.c notices.
 */
static int crash_entry(const char *how)
{
	struct mm_struct *mm = current->mm;
	bool rights = !strcmp(how, "rights");
	unsigned long at = vm_mmap(NULL, 0, 2 * PAGE_SIZE, rights ? PROT_READ : PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	unsigned long page;
	int err, word;
	pte_t *pte;
	u32 space;

	if (IS_ERR_VALUE(at))
		return at;
	space = l4_mapped_in(l4_space_of(mm), at);
	err = rights ? get_user(word, (int __user *)at) : put_user(1, (int __user *)at);
	if (err)
		return err;
	l4_tlb_sync(mm);
	pte = pte_offset_kernel(pmd_off(mm, at), at);
	page = pte_val(*pte) & PAGE_MASK;
	if (!strcmp(how, "kept"))
		*pte = pte_mknewpage(*pte);
	if (!strcmp(how, "page") || !strcmp(how, "kept"))
		err = l4_ram_record(space, at, page ^ PAGE_SIZE, PAGE_SIZE, UM_PROT_READ | UM_PROT_WRITE);
	else if (rights)
		err = l4_ram_record(space, at, page, PAGE_SIZE, UM_PROT_READ | UM_PROT_WRITE);
	else if (!strcmp(how, "gone"))
		err = l4_unmap_record(space, at, PAGE_SIZE);
	else if (!strcmp(how, "left"))
		err = l4_ram_record(space, at + PAGE_SIZE, page, PAGE_SIZE, UM_PROT_READ);
	else
		err = -EINVAL;
	return err ?: l4_map_flush();
}

/* The panic itself fails. */
static int fail_again(struct notifier_block *block, unsigned long event, void *text)
{
	*nothing;
	return NOTIFY_DONE;
}

static ssize_t crash_write(struct file *file, const char __user *buf, size_t bytes, loff_t *pos)
{
	static struct notifier_block twice = { .notifier_call = fail_again, .priority = INT_MAX };
	char how[16] = "";

	if (bytes >= sizeof(how))
		return -EINVAL;
	if (copy_from_user(how, buf, bytes))
		return -EFAULT;
	strim(how);
	if (!strcmp(how, "entry-own"))
		return crash_own() ?: bytes;
	if (str_has_prefix(how, "entry-"))
		return crash_entry(how + strlen("entry-")) ?: bytes;
	if (!strcmp(how, "null"))
		crash_null();
	else if (!strcmp(how, "jump"))
		crash_jump();
	else if (!strcmp(how, "text"))
		crash_text();
	else if (!strcmp(how, "stack"))
		crash_stack(0);
	else if (!strcmp(how, "divide"))
		crash_divide();
	else if (!strcmp(how, "invalid"))
		crash_invalid();
	else if (!strcmp(how, "bug"))
		crash_bug();
	else if (!strcmp(how, "thread"))
		return crash_thread();
	else if (!strcmp(how, "twice"))
		atomic_notifier_chain_register(&panic_notifier_list, &twice);
	else
		return -EINVAL;
	return bytes;
}

static const struct file_operations ops = { .write = crash_write };
static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "crash-test", .nodename = "macadamia/crash-test",
	.fops = &ops, .mode = 0200,
};
static bool wanted __initdata;

static int __init crash_setup(char *text)
{
	wanted = true;
	return 1;
}
__setup("crash-test", crash_setup);

static int __init crash_init(void)
{
	return wanted ? misc_register(&device) : 0;
}
device_initcall(crash_init);
