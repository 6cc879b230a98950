// SPDX-License-Identifier: GPL-2.0
/*
 * The network device (eth0): a port of the network switch (docs/net.md).  Frames go through memory, granted as
 * "network", that is shared with the switch, which is called as "switch" and notified as "switch-bell".
 *
 * What the switch writes there is used once, and checked: an index, which must not be further from our own than the
 * ring has entries, the number of a slot, and the length of a frame.  The payload of a long frame stays there until
 * its reader has freed it.
 *
 * Everything here that touches the rings, or says whether they may be touched, runs with soft interrupts disabled:
 * nothing is in the middle of a ring when the port is attached again.
 */
#ifndef __OS_L4_NET_H
#define __OS_L4_NET_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/compiler.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include "async_call.h"
#include "l4_syscall.h"

/* Frames that one is cut into at most: 64 KiB of them as long as Ethernet's, with TCP's headers and time stamps. */
#define MOST_SEGMENTS	46

/* One of the two directions of the port: a ring of slots that were filled and one of slots that are free. */
struct lane {
	char *words;
	u32 *filled, *free;	/* entries: numbers of slots */
	u32 filled_index;	/* our own: produced or consumed, modulo 2^32 */
	u32 free_index;
	char *slots;
};

/* The device, and its port. */
struct l4_net {
	struct net_device *dev;
	struct napi_struct napi;
	struct lane in, out;
	char *memory;
	u32 slots;		/* of each direction, a power of two */
	u16 own[L4_NET_MOST_SLOTS];	/* slots of `out` to fill; the last became free last */
	u32 owned;
	u32 cache;		/* bytes that frames to other clients have to fit, on their way; 0: any number */
	u64 busy_until;		/* until then we do not yield to others, because they compute: nanoseconds */
	u32 shown;		/* of the slots of `out` that are filled the switch has been told so many */
	DECLARE_BITMAP(away, L4_NET_MOST_SLOTS);	/* slots of `out` that the switch has */
	DECLARE_BITMAP(given, L4_NET_MOST_SLOTS);	/* slots of `in` that the switch has */
	u16 holds[L4_NET_MOST_SLOTS];	/* slots of `in` whose frames are in use */
	u32 held;
	u32 told;		/* of the slots of `in` that are free the switch has been told so many */
	u32 bell;		/* capability: notifies the switch */
	bool attached;		/* both sides have begun again, and the switch has kept to the protocol since */
	struct l4_async_call attach;
	bool attaching;		/* that call is under way */
	bool again;		/* the switch asks for another one */
	bool done;		/* the interrupt has come */
	struct tasklet_struct tasklet;
	bool registered;
	unsigned long pause;
	struct completion first;
	struct delayed_work retry;
	struct timer_list look;
	struct work_struct rename;
	u8 address[ETH_ALEN];	/* what the switch gave */
	u64 attachments, broken;
};

extern struct l4_net l4_net;

static inline u32 read_word(const char *words, unsigned int word)
{
	return READ_ONCE(*(u32 *)(words + word));
}

static inline void write_word(char *words, unsigned int word, u32 value)
{
	WRITE_ONCE(*(u32 *)(words + word), value);
}

static inline u32 read_entry(const u32 *entries, u32 index)
{
	return READ_ONCE(entries[index & (l4_net.slots - 1)]);
}

static inline void write_entry(u32 *entries, u32 index, u32 slot)
{
	WRITE_ONCE(entries[index & (l4_net.slots - 1)], slot);
}

static inline char *slot_at(const struct lane *lane, u32 slot)
{
	return lane->slots + slot * L4_NET_SLOT;
}

/* Publishes which entries we have written.  Returns whether the switch waits for that. */
static inline bool publish(char *words, u32 index)
{
	mb();
	write_word(words, L4_NET_PRODUCED, index);
	mb();
	if (!read_word(words, L4_NET_CONSUMER_WAITS))
		return false;
	write_word(words, L4_NET_CONSUMER_WAITS, 0);
	return true;
}

static inline void wake_switch(bool waits)
{
	if (waits)
		l4_call(L4_OP_NOTIFY, l4_net.bell, 0, 0, 0);
}

/* How many entries the switch has written from index on; negative: the ring is broken. */
static inline int available(const char *words, u32 index)
{
	u32 full = read_word(words, L4_NET_PRODUCED) - index;

	mb();
	return full <= l4_net.slots ? full : -EPROTO;
}

/* net.c */
void l4_net_ring_is_broken(void);

/* net_send.c */
int l4_net_room(void);
void l4_net_wake_sender(void);
netdev_tx_t l4_net_start_xmit(struct sk_buff *skb, struct net_device *dev);

/* net_receive.c */
void l4_net_give_back(u32 slot);
bool l4_net_publish_free(void);
bool l4_net_reclaim(void);
int l4_net_receive(int budget);

#endif
