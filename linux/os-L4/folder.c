// SPDX-License-Identifier: GPL-2.0
/*
 * Folders of the host: the transport "l4" of 9P, by the protocol of docs/folders.md.  The server is granted as "folder"
 * and "folder-bell", the memory that it shares with this Linux as "folder-memory".  A mount names a folder: "folder-1",
 * "folder-2" and so on.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <net/9p/9p.h>
#include <net/9p/client.h>
#include <net/9p/transport.h>
#include "async_call.h"
#include "interrupt.h"
#include "l4_syscall.h"
#include "start.h"

/* How often in a row the server may die while it has requests, and answer none, before all of them fail. */
#define MAX_DEATHS	10
/* Bytes of a message's size, type and tag. */
#define HEADER		7

struct folder {
	/* Who has mounted it, if it is mounted. */
	struct p9_client *client;
	/* Requests that have no slot yet. */
	struct list_head waiting;
};

/* A slot of the memory, and its request.  From `busy` on until the answer the device may read and write it. */
struct slot {
	bool busy;
	u32 folder, bytes;
	/* Another one for each request: what is repeated is not carried out twice. */
	u32 serial;
	/* NULL: nobody waits for the answer any more. */
	struct p9_req_t *req;
};

/* Calls of the server: there is one, to attach. */
static struct l4_async_call call;
static u32 bell;
static char *memory;
static u32 slots;
static struct slot all_slots[L4_FOLDER_MOST_SLOTS];
static struct folder folders[L4_FOLDER_MOST_FOLDERS];
/* The folders that there are, a bit each; whose request is next; the last request's number. */
static u32 there;
static unsigned int turn;
static u32 serial;

/* Requests that were put into the ring, and answers that were taken out, since the server was attached. */
static u32 produced, consumed;
static bool answered;
static unsigned int deaths;
static enum { ATTACHED, ATTACHING, ATTACHING_AGAIN, GONE } state;

static u32 *word(u32 offset)
{
	return (u32 *)(memory + offset);
}

static char *message_of(unsigned int number)
{
	return memory + L4_FOLDER_DATA + number * L4_FOLDER_SLOT;
}

/* The mounts are in the command line for who mounts them: init, or the initramfs. */
static int __init folder_setup(char *text)
{
	return 1;
}
__setup("folder=", folder_setup);

static void put(unsigned int number)
{
	u32 at = L4_FOLDER_FIRST_REQUEST + produced % slots * L4_FOLDER_REQUEST;
	struct slot *slot = &all_slots[number];

	WRITE_ONCE(*word(at), number);
	WRITE_ONCE(*word(at + L4_FOLDER_REQUEST_FOLDER), slot->folder);
	WRITE_ONCE(*word(at + L4_FOLDER_REQUEST_SERIAL), slot->serial);
	WRITE_ONCE(*word(at + L4_FOLDER_REQUEST_BYTES), slot->bytes);
	mb();
	WRITE_ONCE(*word(L4_FOLDER_REQUESTS + L4_NET_PRODUCED), ++produced);
}

/* Tells the server of requests if it sleeps. */
static void kick(void)
{
	u32 *waits = word(L4_FOLDER_REQUESTS + L4_NET_CONSUMER_WAITS);

	mb();
	if (READ_ONCE(*waits)) {
		WRITE_ONCE(*waits, 0);
		l4_call(L4_OP_NOTIFY, bell, 0, 0, 0);
	}
}

/* The next request that has no slot, and its folder.  Folders take turns. */
static struct p9_req_t *next_waiting(u32 *number)
{
	unsigned int i;

	for (i = 0; i < L4_FOLDER_MOST_FOLDERS; i++) {
		struct folder *folder = &folders[(turn + i) % L4_FOLDER_MOST_FOLDERS];
		struct p9_req_t *req;

		if (!folder->client || list_empty(&folder->waiting))
			continue;
		req = list_first_entry(&folder->waiting, struct p9_req_t, req_list);
		list_del_init(&req->req_list);
		*number = folder - folders;
		turn = *number + 1;
		return req;
	}
	return NULL;
}

/* Gives the server what has room.  Interrupts are disabled. */
static void submit(void)
{
	struct p9_req_t *req;
	unsigned int i;
	bool any = false;

	if (state != ATTACHED)
		return;
	for (i = 0; i < slots; i++) {
		struct slot *slot = &all_slots[i];

		if (slot->busy)
			continue;
		req = next_waiting(&slot->folder);
		if (!req)
			break;
		slot->busy = true;
		slot->req = req;
		slot->bytes = req->tc.size;
		slot->serial = ++serial;
		memcpy(message_of(i), req->tc.sdata, req->tc.size);
		WRITE_ONCE(req->status, REQ_STATUS_SENT);
		put(i);
		any = true;
	}
	if (any)
		kick();
}

static void fail(struct p9_client *client, struct p9_req_t *req)
{
	req->t_err = -EIO;
	p9_client_cb(client, req, REQ_STATUS_ERROR);
}

/* All that is under way fails.  The slots are not used any more: a device may still have them. */
static void fail_all(void)
{
	struct p9_req_t *req;
	unsigned int i;
	u32 number;

	for (i = 0; i < slots; i++) {
		req = all_slots[i].req;
		all_slots[i].req = NULL;
		if (req)
			fail(folders[all_slots[i].folder].client, req);
	}
	while ((req = next_waiting(&number)))
		fail(folders[number].client, req);
}

/* Begins again.  What was not answered is repeated: the server knows by its number whether a device has it. */
static void attach(void)
{
	if (state == ATTACHING || state == ATTACHING_AGAIN) {
		/* A life of the server may answer the call that is under way, and be over. */
		state = ATTACHING_AGAIN;
		return;
	}
	state = ATTACHING;
	l4_async_call_start(&call);
}

static void gone(const char *why)
{
	pr_err("folders: %s: they are gone\n", why);
	state = GONE;
	fail_all();
}

static void begin(void)
{
	u32 *waits = word(L4_FOLDER_ANSWERS + L4_NET_CONSUMER_WAITS);
	bool any = false;
	unsigned int i;

	produced = 0;
	consumed = 0;
	for (i = 0; i < slots; i++)
		any |= all_slots[i].busy;
	deaths = any && !answered ? deaths + 1 : 0;
	if (deaths > MAX_DEATHS) {
		gone("the server dies of a request");
		return;
	}
	answered = false;
	state = ATTACHED;
	for (i = 0; i < slots; i++)
		if (all_slots[i].busy)
			put(i);
	WRITE_ONCE(*waits, 1);
	submit();
	kick();
}

/* An attempt to attach has ended. */
static irqreturn_t call_done(int irq, void *data)
{
	if (state != ATTACHING && state != ATTACHING_AGAIN)
		return IRQ_NONE;
	if (state == ATTACHING_AGAIN || call.restarted) {
		state = ATTACHING;
		l4_async_call_start(&call);
	} else if (call.failed || call.reply[0]) {
		gone("the server is not restarted, or refuses");
	} else {
		begin();
	}
	return IRQ_HANDLED;
}

/* Another life of the server asks for it. */
static irqreturn_t again(int irq, void *data)
{
	if (state != GONE)
		attach();
	return IRQ_HANDLED;
}

/* Hands an answer to who waits for it. */
static void finish(unsigned int number, u32 bytes)
{
	struct slot *slot = &all_slots[number];
	struct p9_client *client = folders[slot->folder].client;
	struct p9_req_t *req = slot->req;

	slot->busy = false;
	slot->req = NULL;
	answered = true;
	if (!req)
		return;
	if (!bytes) {
		/* It was cancelled, and who did that waits for the answer to that. */
		p9_client_cb(client, req, REQ_STATUS_FLSHD);
	} else if (bytes < HEADER || bytes > L4_FOLDER_MESSAGE || bytes > req->rc.capacity) {
		fail(client, req);
	} else {
		memcpy(req->rc.sdata, message_of(number) + L4_FOLDER_MESSAGE, bytes);
		req->rc.size = bytes;
		p9_client_cb(client, req, REQ_STATUS_RCVD);
	}
}

/* Takes an answer.  False: there is none, or the server breaks the ring. */
static bool take(void)
{
	u32 filled = READ_ONCE(*word(L4_FOLDER_ANSWERS + L4_NET_PRODUCED)) - consumed;
	u32 at = L4_FOLDER_FIRST_ANSWER + consumed % slots * L4_FOLDER_ANSWER, number, bytes;

	if (filled > slots)
		attach();
	if (!filled || filled > slots)
		return false;
	mb();
	number = READ_ONCE(*word(at));
	bytes = READ_ONCE(*word(at + L4_FOLDER_ANSWER_BYTES));
	mb();
	WRITE_ONCE(*word(L4_FOLDER_ANSWERS + L4_NET_CONSUMED), ++consumed);
	if (number < slots && all_slots[number].busy)
		finish(number, bytes);
	return true;
}

static irqreturn_t answers(int irq, void *data)
{
	bool more;

	if (state != ATTACHED)
		return IRQ_HANDLED;
	do {
		while (take())
			;
		WRITE_ONCE(*word(L4_FOLDER_ANSWERS + L4_NET_CONSUMER_WAITS), 1);
		mb();
		more = READ_ONCE(*word(L4_FOLDER_ANSWERS + L4_NET_PRODUCED)) != consumed;
	} while (more && state == ATTACHED);
	submit();
	return IRQ_HANDLED;
}

static int folder_request(struct p9_client *client, struct p9_req_t *req)
{
	struct folder *folder = client->trans;
	unsigned long flags;
	int err = -EIO;

	local_irq_save(flags);
	if (state != GONE && req->tc.size <= L4_FOLDER_MESSAGE) {
		WRITE_ONCE(req->status, REQ_STATUS_UNSENT);
		list_add_tail(&req->req_list, &folder->waiting);
		submit();
		err = 0;
	}
	local_irq_restore(flags);
	return err;
}

/* Whether the server has to be asked to cancel a request. */
static int folder_cancel(struct p9_client *client, struct p9_req_t *req)
{
	unsigned long flags;
	bool waits;

	local_irq_save(flags);
	waits = req->status == REQ_STATUS_UNSENT;
	if (waits) {
		list_del_init(&req->req_list);
		WRITE_ONCE(req->status, REQ_STATUS_FLSHD);
	}
	local_irq_restore(flags);
	if (waits)
		p9_req_put(client, req);
	return !waits;
}

/* Nobody waits for the answer to a request any more. */
static int folder_cancelled(struct p9_client *client, struct p9_req_t *req)
{
	unsigned long flags;
	bool found = false;
	unsigned int i;

	local_irq_save(flags);
	for (i = 0; i < slots; i++) {
		if (all_slots[i].req == req) {
			all_slots[i].req = NULL;
			found = true;
		}
	}
	local_irq_restore(flags);
	if (found)
		p9_req_put(client, req);
	return 0;
}

static int folder_create(struct p9_client *client, const char *name, char *args)
{
	unsigned long flags;
	unsigned int number;
	int err = -EBUSY;

	if (!name || strncmp(name, "folder-", 7) || kstrtouint(name + 7, 10, &number) ||
	    number < 1 || number > L4_FOLDER_MOST_FOLDERS || !(there & BIT(number - 1)))
		return -ENOENT;
	local_irq_save(flags);
	if (state == GONE) {
		err = -EIO;
	} else if (!folders[number - 1].client) {
		folders[number - 1].client = client;
		client->trans = &folders[number - 1];
		client->status = Connected;
		err = 0;
	}
	local_irq_restore(flags);
	return err;
}

static void folder_close(struct p9_client *client)
{
	struct folder *folder = client->trans;
	struct p9_req_t *req, *next;
	unsigned long flags;
	LIST_HEAD(dropped);
	unsigned int i;

	if (!folder)
		return;
	local_irq_save(flags);
	list_splice_init(&folder->waiting, &dropped);
	for (i = 0; i < slots; i++) {
		if (all_slots[i].req && all_slots[i].folder == folder - folders) {
			list_add_tail(&all_slots[i].req->req_list, &dropped);
			all_slots[i].req = NULL;
		}
	}
	client->status = Disconnected;
	client->trans = NULL;
	folder->client = NULL;
	local_irq_restore(flags);
	list_for_each_entry_safe(req, next, &dropped, req_list)
		p9_req_put(client, req);
}

static struct p9_trans_module transport = {
	.name = "l4",
	.maxsize = L4_FOLDER_MESSAGE,
	.def = 1,
	.owner = THIS_MODULE,
	.create = folder_create,
	.close = folder_close,
	.request = folder_request,
	.cancel = folder_cancel,
	.cancelled = folder_cancelled,
};

static int __init folder_init(void)
{
	const struct l4_grant *server = l4_find_grant("folder"), *shared = l4_find_grant("folder-memory");
	const struct l4_grant *notified = l4_find_grant("folder-bell");
	struct l4_regs r;
	unsigned int i;
	bool failed;
	int err;

	if (!server || !notified || !shared || !shared->address ||
	    shared->bytes < L4_FOLDER_DATA + L4_FOLDER_SLOT)
		return 0;
	/* Linux boots: it may wait for this call itself. */
	do
		failed = l4_ipc_call(l4_utcb, server->slot, 3, L4_FOLDER_ATTACH, 0, 0, &r);
	while (failed && l4_was_restarted(r.r0));
	if (failed || r.r2) {
		pr_err("folders: there are none\n");
		return -ENODEV;
	}
	there = r.r3;
	memory = (char *)shared->address;
	bell = notified->slot;
	slots = rounddown_pow_of_two(min_t(u32, (shared->bytes - L4_FOLDER_DATA) / L4_FOLDER_SLOT,
					   L4_FOLDER_MOST_SLOTS));
	for (i = 0; i < L4_FOLDER_MOST_FOLDERS; i++)
		INIT_LIST_HEAD(&folders[i].waiting);
	call.words = 3;
	call.request[0] = L4_FOLDER_ATTACH;
	call.request[1] = L4_FOLDER_AGAIN;
	begin();
	err = l4_async_call_init(&call, "folder", L4_IRQ_FOLDER, call_done, "folder", NULL);
	if (!err)
		err = request_irq(L4_FOLDER_BIT_ANSWERS, answers, 0, "folder-answers", NULL);
	if (!err)
		err = request_irq(L4_FOLDER_BIT_ATTACH, again, 0, "folder-again", NULL);
	if (err)
		return err;
	v9fs_register_trans(&transport);
	return 0;
}
device_initcall(folder_init);
