// SPDX-License-Identifier: GPL-2.0
/* Start and end of the server, and capability slots. */
#include <linux/bitmap.h>
#include <linux/cache.h>
#include <linux/hex.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>
#include <asm/setup.h>
#include <as-layout.h>
#include <init.h>
#include <kern.h>
#include <kern_util.h>
#include <os.h>
#include "inject.h"
#include "l4_syscall.h"
#include "memory.h"
#include "quota.h"
#include "start.h"

#define MAX_ARGS	64
#define MAX_GRANTS	16
/* A record of L4_OP_MAP has 16 bits for a slot. */
#define MAX_SLOTS	0x10000

static char given_line[COMMAND_LINE_SIZE] __initdata;
static char *args[MAX_ARGS + 1] __initdata = { "linux" };

static struct l4_grant grants[MAX_GRANTS];
static unsigned int grant_count;

bool l4_is_server __ro_after_init;

/* A seed for the random pool. */
static u8 seed[32] __initdata;
static bool seeded __initdata;

/*
 * Linux's slots, which of them are in use, and the lowest that may be free.  Only tasks allocate slots, and Linux is not
 * preemptible: no lock is needed.
 */
static u32 first_slot, slots_end, lowest_slot;
static DECLARE_BITMAP(slots_used, MAX_SLOTS);

u32 l4_slot_alloc(void)
{
	u32 slot = find_next_zero_bit(slots_used, slots_end, lowest_slot);

	if (slot >= slots_end)
		return 0;
	__set_bit(slot, slots_used);
	lowest_slot = slot + 1;
	return slot;
}

void l4_slot_free(u32 slot)
{
	__clear_bit(slot, slots_used);
	lowest_slot = min(lowest_slot, slot);
}

unsigned int l4_slots(void)
{
	return slots_end - first_slot;
}

unsigned int l4_slots_used(void)
{
	return bitmap_weight(slots_used, slots_end);
}

void l4_delete(u32 slot)
{
	unsigned long flags;
	u32 status;

	/*
	 * The operation proceeds in steps.  An interrupt that is injected between two steps would make it start
	 * again, with a slot that is empty by then.
	 */
	local_irq_save(flags);
	status = l4_call(L4_OP_DELETE, slot, 0, 0, 0);
	local_irq_restore(flags);
	if (status)
		pr_err("l4: slot %u cannot be deleted: error %u\n", slot, status);
	else
		l4_slot_free(slot);
}

/*
 * The text of the start block has lines "argument WORD", "slots FIRST END", "server",
 * "grant NAME SLOT ADDRESS BYTES" and "seed HEXADECIMAL".
 */
static void __init read_start_block(const char *text)
{
	struct l4_grant *g;

	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (!strncmp(text, "argument ", 9)) {
			if (given_line[0])
				strlcat(given_line, " ", COMMAND_LINE_SIZE);
			strncat(given_line, text + 9, end - text - 9);
		} else if (!strncmp(text, "slots ", 6)) {
			sscanf(text + 6, "%u %u", &first_slot, &slots_end);
			slots_end = min(slots_end, MAX_SLOTS);
			lowest_slot = first_slot;
		} else if (!strncmp(text, "server\n", 7)) {
			l4_is_server = true;
		} else if (!strncmp(text, "grant ", 6) && grant_count < MAX_GRANTS) {
			g = &grants[grant_count];
			if (sscanf(text + 6, "%23s %u %lu %lu", g->name, &g->slot,
				   &g->address, &g->bytes) == 4)
				grant_count++;
		} else if (!strncmp(text, "seed ", 5) && end - text == 5 + 2 * sizeof(seed)) {
			seeded = !hex2bin(seed, text + 5, sizeof(seed));
		}
		text = *end ? end + 1 : end;
	}
}

/* Linux trusts the seed as a boot loader's.  docs/linux.md says who knows it. */
void __init l4_seed_pool(void)
{
	if (seeded)
		add_bootloader_randomness(seed, sizeof(seed));
	memzero_explicit(seed, sizeof(seed));
}

const struct l4_grant *l4_find_grant(const char *name)
{
	unsigned int i;

	for (i = 0; i < grant_count; i++)
		if (!strcmp(grants[i].name, name))
			return &grants[i];
	return NULL;
}

void __init os_l4_main(const unsigned long *block);

/*
 * On the boot stack.  The start block begins with four words: the heap, its bytes, the bytes of a binary form, those of the
 * text.
 */
void __init os_l4_main(const unsigned long *block)
{
	char *p = given_line, *a;
	int argc = 1;

	read_start_block((const char *)(block + 4) + block[2]);
	if (l4_inject_init()) {
		os_warn("linux: no thread for interrupts and faults: the quota is too small\n");
		l4_exit(125);
	}
	if (l4_ram_init()) {
		os_warn("linux: the system description gives no RAM called `ram` after the image, or too much\n");
		l4_exit(125);
	}
	if (l4_quota_init()) {
		os_warn("linux: the system description gives too little `quota` or `threads`\n");
		l4_exit(125);
	}
	while (argc < MAX_ARGS && (a = strsep(&p, " ")) != NULL)
		if (*a)
			args[argc++] = a;

	/* linux_main() returns 0 for halt, 1 for reboot.  The root server restarts a component that fails. */
	l4_exit(linux_main(argc, args) ? 1 : uml_exitcode);
}

/* Upstream asks where its heap ends.  There is no heap: the image ends here. */
void *sbrk(int increment)
{
	extern char _end[];

	return _end;
}

void exit(int code)
{
	l4_exit(code);
}
