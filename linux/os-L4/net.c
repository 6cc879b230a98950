// SPDX-License-Identifier: GPL-2.0
/*
 * The network device (eth0): a port of the network switch (docs/net.md).  Frames go through memory, granted as "network",
 * that is shared with the switch, which is called as "switch" and notified as "switch-bell".
 *
 * What the switch writes there is used once, and checked: an index, which must not be further from our own than the ring has
 * entries, the number of a slot, and the length of a frame.  The payload of a long frame stays there until who reads it has
 * freed it.
 *
 * Everything here that touches the rings, or says whether they may be touched, runs with soft interrupts disabled: nothing
 * is in the middle of a ring when the port is attached again.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/tso.h>
#include "l4.h"
#include "async_call.h"

/* How long Linux's boot waits for the switch, which may wait for the card's driver. */
#define BOOT_WAIT	(5 * HZ)
/* Somebody may write over what we wait by.  After so long we look by ourselves. */
#define LOOK		HZ
/* The pause before the port is attached again after an error: at first, and at most. */
#define FIRST_PAUSE	(HZ / 10)
#define LONGEST_PAUSE	(10 * HZ)

/* Frames of at most so many bytes are copied, and of others the headers: nobody changes those under way. */
#define COPIED		256
#define HEADERS		(ETH_HLEN + 60 + 60)
/*
 * Of many frames that are sent at once the switch is told in portions of about so many slots: it runs before we do, and empties
 * them, so that the same slots are filled next.  More of them, and of the card's, have no room in a cache of 256 KiB beside what
 * is sent.
 */
#define PORTION		12
/* Rings of a port: of each direction one of slots that are filled, and one of those that are free. */
#define RINGS		4
/* With fewer slots frames have one. */
#define FEWEST_FOR_LARGE	(4 * L4_NET_MOST_PARTS)
/* Frames that one is cut into at most: 64 KiB of them as long as Ethernet's, with TCP's headers and time stamps. */
#define MOST_SEGMENTS	46
/* As many clients as a switch has. */
#define MOST_NEIGHBOURS	20

/* One of the two directions of the port: a ring of slots that were filled and one of slots that are free. */
struct lane {
	char *words;
	u32 *filled, *free;	/* entries: numbers of slots */
	u32 filled_index;	/* our own: produced or consumed, modulo 2^32 */
	u32 free_index;
	char *slots;
};

static struct {
	struct net_device *dev;
	struct napi_struct napi;
	struct lane in, out;
	char *memory;
	u32 slots;		/* of each direction, a power of two */
	u16 own[L4_NET_MOST_SLOTS];	/* slots of `out` to fill; the last became free last */
	u32 owned;
	u32 shown;		/* of the slots of `out` that are filled the switch has been told so many */
	DECLARE_BITMAP(away, L4_NET_MOST_SLOTS);	/* slots of `out` that the switch has */
	DECLARE_BITMAP(given, L4_NET_MOST_SLOTS);	/* slots of `in` that the switch has */
	u16 holds[L4_NET_MOST_SLOTS];	/* slots of `in` whose frames are in use */
	u32 held;
	u32 told;		/* of the slots of `in` that are free the switch has been told so many */
	u32 bell;		/* capability: notifies the switch */
	bool attached;		/* both sides have begun anew, and the switch has kept to the protocol since */
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
} net;

static u32 read_word(const char *words, unsigned int word)
{
	return READ_ONCE(*(u32 *)(words + word));
}

static void write_word(char *words, unsigned int word, u32 value)
{
	WRITE_ONCE(*(u32 *)(words + word), value);
}

static u32 read_entry(const u32 *entries, u32 index)
{
	return READ_ONCE(entries[index & (net.slots - 1)]);
}

static void write_entry(u32 *entries, u32 index, u32 slot)
{
	WRITE_ONCE(entries[index & (net.slots - 1)], slot);
}

static char *slot_at(const struct lane *lane, u32 slot)
{
	return lane->slots + slot * L4_NET_SLOT;
}

/* Lets the switch see which entries we have written.  Whether it waits for that. */
static bool publish(char *words, u32 index)
{
	mb();
	write_word(words, L4_NET_PRODUCED, index);
	mb();
	if (!read_word(words, L4_NET_CONSUMER_WAITS))
		return false;
	write_word(words, L4_NET_CONSUMER_WAITS, 0);
	return true;
}

static void wake_switch(bool waits)
{
	if (waits)
		l4_call(L4_OP_NOTIFY, net.bell, 0, 0, 0);
}

/* Entries that the switch has written from index on; negative: the ring is broken. */
static int available(const char *words, u32 index)
{
	u32 full = read_word(words, L4_NET_PRODUCED) - index;

	mb();
	return full <= net.slots ? full : -EPROTO;
}

/* Slots of `out` that are free; negative: the ring is broken. */
static int room(void)
{
	int i, returned = available(net.out.words + L4_NET_FREE, net.out.free_index);

	for (i = 0; i < returned; i++) {
		u32 slot = read_entry(net.out.free, net.out.free_index++);

		if (slot >= net.slots || !__test_and_clear_bit(slot, net.away))
			return -EPROTO;
		net.own[net.owned++] = slot;
	}
	return returned < 0 ? returned : net.owned;
}

static void give_back(u32 slot)
{
	__set_bit(slot, net.given);
	write_entry(net.in.free, net.in.free_index++, slot);
}

/* Whether somebody has a reference to what is in a slot.  Frames in one page have one count, and the first reference is ours. */
static bool in_use(u32 slot)
{
	const char *at = slot_at(&net.in, slot);

	return page_count(virt_to_page(at)) > 1 || page_count(virt_to_page(at + L4_NET_SLOT - 1)) > 1;
}

/* Lets the switch see which slots are free.  Whether it waits for one. */
static bool publish_free(void)
{
	if (net.told == net.in.free_index)
		return false;
	net.told = net.in.free_index;
	return publish(net.in.words + L4_NET_FREE, net.told);
}

/* Gives slots back whose frames nobody uses any more.  Whether the switch waits for one. */
static bool reclaim(void)
{
	u32 i, kept = 0;

	for (i = 0; i < net.held; i++) {
		u32 slot = net.holds[i];

		if (in_use(slot))
			net.holds[kept++] = slot;
		else
			give_back(slot);
	}
	net.held = kept;
	return publish_free();
}

void l4_net_idle(void)
{
	if (net.attached && net.held)
		wake_switch(reclaim());
}

/* Both directions begin anew.  The switch gives its slots, we give ours but those whose frames are in use. */
static void begin(void)
{
	DECLARE_BITMAP(kept, L4_NET_MOST_SLOTS);
	u32 i;

	net.in.filled_index = net.in.free_index = net.told = 0;
	net.out.filled_index = net.out.free_index = net.shown = 0;
	net.owned = 0;
	bitmap_fill(net.away, net.slots);
	bitmap_zero(net.given, net.slots);
	bitmap_zero(kept, net.slots);
	for (i = 0; i < net.held; i++)
		__set_bit(net.holds[i], kept);
	for (i = 0; i < net.slots; i++)
		if (!test_bit(i, kept))
			give_back(i);
	wake_switch(publish_free());
}

/* What is in the ring to the switch is lost. */
static void detach(void)
{
	if (net.attached && room() >= 0)
		net.dev->stats.tx_dropped += bitmap_weight(net.away, net.slots);
	net.attached = false;
	netif_carrier_off(net.dev);
	netif_stop_queue(net.dev);
}

static void try_later(void)
{
	schedule_delayed_work(&net.retry, net.pause);
	net.pause = min(net.pause * 2, LONGEST_PAUSE);
}

/* The switch wrote an index that cannot be. */
static void ring_is_broken(void)
{
	if (net_ratelimit())
		netdev_err(net.dev, "the switch broke a ring\n");
	net.broken++;
	detach();
	try_later();
}

static void start_attach(void)
{
	detach();
	net.attaching = true;
	net.again = false;
	net.attach.words = 3;
	net.attach.request[0] = L4_NET_ATTACH;
	net.attach.request[1] = net.slots >= FEWEST_FOR_LARGE ? L4_NET_TAKES_LARGE : 0;
	l4_async_call_start(&net.attach);
}

static void retry(struct work_struct *work)
{
	net.again = true;
	tasklet_schedule(&net.tasklet);
}

/* The switch gave another address, after the device was registered. */
static void rename(struct work_struct *work)
{
	rtnl_lock();
	eth_hw_addr_set(net.dev, net.address);
	net.dev->addr_assign_type = NET_ADDR_PERM;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, net.dev);
	rtnl_unlock();
}

/* The reply to ATTACH has come, or the call has failed. */
static void finish_attach(void)
{
	u8 address[ETH_ALEN];

	net.attaching = false;
	if (net.attach.failed && net.attach.restarted) {
		net.again = true;
		return;
	}
	if (net.attach.failed || net.attach.reply[0]) {
		if (net_ratelimit())
			netdev_err(net.dev, "the switch refuses its port\n");
		try_later();
		return;
	}
	memcpy(address, &net.attach.reply[1], 4);
	memcpy(address + 4, &net.attach.reply[2], 2);
	if (!ether_addr_equal(address, net.address)) {
		ether_addr_copy(net.address, address);
		if (net.registered)
			schedule_work(&net.rename);
	}
	cancel_delayed_work(&net.retry);
	begin();
	net.pause = FIRST_PAUSE;
	net.attachments++;
	net.attached = true;
	if (net.attach.reply[2] & L4_NET_LINK_UP)
		netif_carrier_on(net.dev);
	if (netif_running(net.dev)) {
		netif_wake_queue(net.dev);
		/* The poll asks to be notified of the first frame. */
		napi_schedule(&net.napi);
	}
	complete(&net.first);
}

/* The life cycle of the port, one step at a time. */
static void attach(struct tasklet_struct *tasklet)
{
	if (net.done) {
		net.done = false;
		/* The switch may have asked again since it replied: what it replied is out of date. */
		if (net.again)
			net.attaching = false;
		else
			finish_attach();
	}
	if (net.again && !net.attaching)
		start_attach();
}

static irqreturn_t attach_done(int irq, void *data)
{
	net.done = true;
	tasklet_schedule(&net.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t attach_again(int irq, void *data)
{
	net.again = true;
	tasklet_schedule(&net.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t notified(int irq, void *data)
{
	if (net.attached && netif_running(net.dev))
		napi_schedule(&net.napi);
	return IRQ_HANDLED;
}

/* Free slots without which nothing is sent: as many as any frame takes. */
static u32 enough(void)
{
	BUILD_BUG_ON(MOST_SEGMENTS < L4_NET_MOST_PARTS);
	return net.dev->features & NETIF_F_ALL_TSO ? MOST_SEGMENTS : 1;
}

/* Goes on if there is room.  If the ring is broken nothing else would see it: a stopped queue sends nothing. */
static void wake_sender(void)
{
	int free = room();

	if (free >= 0 && free < enough()) {
		write_word(net.out.words + L4_NET_FREE, L4_NET_CONSUMER_WAITS, 1);
		mb();
		/* The switch may have emptied a slot before it could know that we wait for one. */
		free = room();
	}
	if (free < 0)
		ring_is_broken();
	else if (free >= enough())
		netif_wake_queue(net.dev);
}

/* Whether the next hop is another client of the switch that takes large frames. */
static bool takes_large(const struct sk_buff *skb)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	const char *list = net.memory + L4_NET_NEIGHBOURS;
	u32 i, count = min_t(u32, read_word(list, 0), MOST_NEIGHBOURS), low = 0, high = 0;

	memcpy(&low, eth->h_dest, 4);
	memcpy(&high, eth->h_dest + 4, 2);
	for (i = 0; i < count; i++)
		if (read_word(list, 4 + i * L4_NET_NEIGHBOUR) == low && read_word(list, 8 + i * L4_NET_NEIGHBOUR) == high)
			return true;
	return false;
}

/* The next free slot. */
static char *fill_slot(void)
{
	u32 slot = net.own[--net.owned];

	__set_bit(slot, net.away);
	write_entry(net.out.filled, net.out.filled_index++, slot);
	return slot_at(&net.out, slot);
}

/* Lets the switch see what was sent. */
static void show(void)
{
	/* Who has read what came sends, sooner or later: its slots are filled next, while the cache has them. */
	bool waits = reclaim();

	net.shown = net.out.filled_index;
	wake_switch(publish(net.out.words, net.shown) || waits);
}

/* Whether the switch is to see what was sent, though there is more. */
static bool is_portion(void)
{
	return net.out.filled_index - net.shown >= PORTION;
}

/* Says that the frame in a slot is sent as it is. */
static void mark_whole(char *slot, u32 bytes)
{
	memset(slot + L4_NET_SLOT_OWN, 0, L4_NET_SLOT_FRAME - L4_NET_SLOT_OWN);
	WRITE_ONCE(*(u32 *)slot, bytes);
}

/*
 * Copies a frame that is cut into segments by who receives it, or never: its checksum is not computed, either.  How many frames
 * became of it, if so many free slots do; else 0.
 */
static u32 send_large(const struct sk_buff *skb, int free)
{
	struct virtio_net_hdr header;
	struct kvec parts[L4_NET_MOST_PARTS];
	struct iov_iter to;
	u32 i, count = DIV_ROUND_UP(skb->len, L4_NET_MOST_BYTES);

	if (free < (int)count || count > L4_NET_MOST_PARTS || virtio_net_hdr_from_skb(skb, &header, true, false, 0))
		return 0;
	for (i = 0; i < count; i++) {
		char *at = fill_slot();

		if (!i) {
			memcpy(at + L4_NET_SLOT_OWN, &header, sizeof(header));
			WRITE_ONCE(*(u32 *)at, skb->len);
		}
		parts[i] = (struct kvec){ at + L4_NET_SLOT_FRAME, L4_NET_MOST_BYTES };
	}
	iov_iter_kvec(&to, ITER_DEST, parts, count, skb->len);
	/* It is the kernel's memory, and there is enough. */
	WARN_ON_ONCE(skb_copy_datagram_iter(skb, 0, &to, skb->len));
	return 1;
}

/*
 * The same, but cuts a frame of TCP into segments, each of which is copied once.  The network layers would make an sk_buff of
 * each first, which takes longer than all that is done here.  *headers: bytes that each of them begins with.
 */
static u32 send_segments(struct sk_buff *skb, int free, u32 *headers)
{
	u32 start = skb_tcp_all_headers(skb), size = skb_shinfo(skb)->gso_size, count, at, bytes;
	__be32 all = htonl(skb->len - skb_transport_offset(skb));
	char header[TSO_HEADER_SIZE];
	struct tcphdr *tcp = (struct tcphdr *)(header + skb_transport_offset(skb));
	__wsum pseudo, sum;
	struct tso_t tso;

	if (start > sizeof(header) || start > skb_headlen(skb) || start + size > L4_NET_MOST_BYTES)
		return 0;
	count = DIV_ROUND_UP(skb->len - start, size);
	if (free < (int)count)
		return 0;
	*headers = start;
	/* What is in the frame is the checksum of a pseudo header with the length of all. */
	pseudo = csum_sub(csum_unfold(tcp_hdr(skb)->check), (__force __wsum)all);
	tso_start(skb, &tso);
	for (at = start; at < skb->len; at += bytes) {
		char *slot = fill_slot();

		bytes = min(size, skb->len - at);
		tso_build_hdr(skb, header, &tso, bytes, at + bytes == skb->len);
		tso.tcp_seq += bytes;
		/* It is told once that the window was reduced. */
		if (at > start)
			tcp->cwr = 0;
		if (!tso.ipv6)
			ip_send_check((struct iphdr *)(header + skb_network_offset(skb)));
		tcp->check = 0;
		sum = csum_add(pseudo, (__force __wsum)htonl(tso.tlen + bytes));
		sum = csum_partial(tcp, tso.tlen, sum);
		sum = csum_add(sum, skb_copy_and_csum_bits(skb, at, slot + L4_NET_SLOT_FRAME + start, bytes));
		tcp->check = csum_fold(sum);
		memcpy(slot + L4_NET_SLOT_FRAME, header, start);
		mark_whole(slot, start + bytes);
		if (is_portion()) {
			show();
			if (room() < 0) {
				ring_is_broken();
				return 0;
			}
		}
	}
	return count;
}

/* Copies a frame as it is, if it fits a slot. */
static bool send_plain(const struct sk_buff *skb)
{
	char *slot;

	if (skb->len > L4_NET_MOST_BYTES)
		return false;
	slot = fill_slot();
	skb_copy_and_csum_dev(skb, slot + L4_NET_SLOT_FRAME);
	mark_whole(slot, skb->len);
	return true;
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	int free = net.attached ? room() : 0;
	u32 frames = 0, headers = 0;
	bool full;

	if (free < 0)
		ring_is_broken();
	if (!skb_is_gso(skb))
		frames = free > 0 && send_plain(skb);
	else if (takes_large(skb))
		frames = send_large(skb, free);
	else
		frames = send_segments(skb, free, &headers);
	if (frames) {
		skb_tx_timestamp(skb);
		dev_sw_netstats_tx_add(dev, frames, skb->len + (frames - 1) * headers);
		dev_consume_skb_any(skb);
	} else {
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
	}
	if (!net.attached || !free)
		return NETDEV_TX_OK;
	full = net.owned < enough();
	if (full)
		netif_stop_queue(dev);
	/* Frames before it in its batch may not have been published. */
	if (full || !netdev_xmit_more() || is_portion())
		show();
	if (full)
		wake_sender();
	return NETDEV_TX_OK;
}

/*
 * How many of the first bytes of a frame are headers, if it is TCP over IPv4, as most of what is long; else 0.  Nothing else
 * stays where it is: others decrypt in place.
 */
static unsigned int headers(const char *frame)
{
	const struct ethhdr *eth = (const struct ethhdr *)frame;
	const struct iphdr *ip = (const struct iphdr *)(eth + 1);
	const struct tcphdr *tcp = (const struct tcphdr *)((const char *)ip + ip->ihl * 4);

	/* Both lengths are four bits, in words. */
	BUILD_BUG_ON(HEADERS < ETH_HLEN + 15 * 4 + 15 * 4);
	if (eth->h_proto != htons(ETH_P_IP) || ip->ihl < 5 || ip->protocol != IPPROTO_TCP || tcp->doff < 5)
		return 0;
	return (const char *)tcp + tcp->doff * 4 - frame;
}

/* Makes bytes of a slot a part of a frame, without a copy. */
static void add_part(struct sk_buff *skb, const char *from, u32 bytes, u32 truesize)
{
	struct page *page = virt_to_page(from);

	get_page(page);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, offset_in_page(from), bytes, truesize);
}

static struct sk_buff *drop(unsigned long *counter)
{
	(*counter)++;
	return NULL;
}

/*
 * The frame in a slot, which the switch may write at any time.  Of a long one the headers are copied, and the rest stays where it
 * is: *kept, and the slot is in use until the network layers have freed its pages.
 */
static struct sk_buff *plain_frame(u32 slot, u32 bytes, bool *kept)
{
	const char *frame = slot_at(&net.in, slot) + L4_NET_SLOT_FRAME;
	u32 copied = bytes, within;
	struct sk_buff *skb;
	char start[HEADERS];

	/* Half of the slots stay the switch's, whatever is not read. */
	if (bytes > COPIED && l4_network_pages && net.held < net.slots / 2) {
		memcpy(start, frame, HEADERS);
		copied = headers(start) ?: bytes;
	}
	*kept = copied < bytes;
	skb = napi_alloc_skb(&net.napi, copied);
	if (!skb) {
		*kept = false;
		return drop(&net.dev->stats.rx_dropped);
	}
	skb_put_data(skb, *kept ? start : frame, copied);
	if (!*kept)
		return skb;
	frame += copied;
	bytes -= copied;
	/* A part lies in one page. */
	within = min_t(u32, bytes, PAGE_SIZE - offset_in_page(frame));
	add_part(skb, frame, within, L4_NET_SLOT);
	if (bytes > within)
		add_part(skb, frame + within, bytes - within, 0);
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	net.holds[net.held++] = slot;
	return skb;
}

/* A frame of another Linux, in several slots: its segments were not cut, and its checksum not computed. */
static struct sk_buff *large_frame(const u16 *slots, u32 bytes)
{
	struct virtio_net_hdr header;
	struct sk_buff *skb;
	u32 done, part, linear = min_t(u32, bytes, HEADERS);
	int err;

	memcpy(&header, slot_at(&net.in, slots[0]) + L4_NET_SLOT_OWN, sizeof(header));
	skb = alloc_skb_with_frags(NET_IP_ALIGN + linear, bytes - linear, PAGE_ALLOC_COSTLY_ORDER, &err, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return drop(&net.dev->stats.rx_dropped);
	skb_reserve(skb, NET_IP_ALIGN);
	skb_put(skb, linear);
	skb->data_len = bytes - linear;
	skb->len = bytes;
	skb->dev = net.dev;
	for (done = 0; done < bytes; done += part) {
		part = min_t(u32, bytes - done, L4_NET_MOST_BYTES);
		skb_store_bits(skb, done, slot_at(&net.in, slots[done / L4_NET_MOST_BYTES]) + L4_NET_SLOT_FRAME, part);
	}
	if (virtio_net_hdr_to_skb(skb, &header, true)) {
		kfree_skb(skb);
		return drop(&net.dev->stats.rx_errors);
	}
	return skb;
}

/* Whether somebody has to cut the frame in a slot. */
static bool is_large(u32 slot, u32 bytes)
{
	const u32 *header = (const u32 *)(slot_at(&net.in, slot) + L4_NET_SLOT_OWN);

	return bytes > L4_NET_MOST_BYTES || (READ_ONCE(header[0]) | READ_ONCE(header[1]) | READ_ONCE(header[2]));
}

/* Passes on the next frame, of at most so many slots.  How many it had; negative: the ring is broken. */
static int receive_frame(int filled)
{
	u16 slots[L4_NET_MOST_PARTS];
	u32 i, bytes, parts = 1;
	struct sk_buff *skb;
	bool kept = false;

	for (i = 0; i < parts; i++) {
		u32 slot = read_entry(net.in.filled, net.in.filled_index++);

		/* One that the switch does not have may be in use. */
		if (slot >= net.slots || !__test_and_clear_bit(slot, net.given))
			return -EPROTO;
		slots[i] = slot;
		if (i)
			continue;
		bytes = READ_ONCE(*(u32 *)slot_at(&net.in, slot));
		if (bytes < L4_NET_FEWEST_BYTES || bytes > L4_NET_MOST_LARGE) {
			net.dev->stats.rx_errors++;
			net.dev->stats.rx_length_errors++;
			give_back(slot);
			return 1;
		}
		parts = DIV_ROUND_UP(bytes, L4_NET_MOST_BYTES);
		if (parts > filled)
			return -EPROTO;
	}
	if (is_large(slots[0], bytes))
		skb = large_frame(slots, bytes);
	else
		skb = plain_frame(slots[0], bytes, &kept);
	for (i = 0; !kept && i < parts; i++)
		give_back(slots[i]);
	if (!skb)
		return parts;
	skb->protocol = eth_type_trans(skb, net.dev);
	dev_sw_netstats_rx_add(net.dev, bytes);
	napi_gro_receive(&net.napi, skb);
	return parts;
}

/* Takes frames, up to a budget.  Negative: the ring is broken. */
static int receive(int budget)
{
	int filled = available(net.in.words, net.in.filled_index), parts = 0, done;

	for (done = 0; filled > 0 && done < budget; done++) {
		parts = receive_frame(filled);
		if (parts < 0)
			return parts;
		filled -= parts;
	}
	return filled < 0 ? filled : done;
}

static int poll(struct napi_struct *napi, int budget)
{
	int done;

	if (net.attached && netif_queue_stopped(net.dev))
		wake_sender();
	if (!net.attached) {
		napi_complete(napi);
		return 0;
	}
	done = receive(budget);
	if (done < 0) {
		napi_complete(napi);
		ring_is_broken();
		return 0;
	}
	wake_switch(reclaim());
	if (done < budget && napi_complete_done(napi, done)) {
		write_word(net.in.words, L4_NET_CONSUMER_WAITS, 1);
		mb();
		/* One may have come before the switch could know that we wait for it. */
		if (available(net.in.words, net.in.filled_index))
			napi_schedule(napi);
	}
	return done;
}

static void look(struct timer_list *timer)
{
	if (net.attached)
		napi_schedule(&net.napi);
	mod_timer(&net.look, jiffies + LOOK);
}

static int open(struct net_device *dev)
{
	napi_enable(&net.napi);
	mod_timer(&net.look, jiffies + LOOK);
	local_bh_disable();
	if (net.attached) {
		netif_start_queue(dev);
		napi_schedule(&net.napi);
	}
	local_bh_enable();
	return 0;
}

static int stop(struct net_device *dev)
{
	netif_stop_queue(dev);
	timer_delete_sync(&net.look);
	napi_disable(&net.napi);
	return 0;
}

static const struct net_device_ops net_ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = start_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static const char statistics[][ETH_GSTRING_LEN] = { "attachments", "broken_rings" };

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "l4net", sizeof(info->driver));
}

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring, struct netlink_ext_ack *extack)
{
	ring->rx_max_pending = ring->rx_pending = net.slots;
	ring->tx_max_pending = ring->tx_pending = net.slots;
}

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? ARRAY_SIZE(statistics) : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	if (set == ETH_SS_STATS)
		memcpy(data, statistics, sizeof(statistics));
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	data[0] = net.attachments;
	data[1] = net.broken;
}

static const struct ethtool_ops ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_ringparam = get_ringparam,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
};

static void lay_out_lane(struct lane *lane, char *memory, u32 words, u32 number)
{
	u32 *entries = (u32 *)(memory + L4_NET_ENTRIES);

	lane->words = memory + words;
	lane->filled = entries + 2 * number * net.slots;
	lane->free = lane->filled + net.slots;
	lane->slots = (char *)(entries + RINGS * net.slots) + number * net.slots * L4_NET_SLOT;
}

/* Where the rings are in so many bytes.  False: not even one slot fits. */
static bool lay_out(char *memory, u32 bytes)
{
	u32 slots = bytes > L4_NET_ENTRIES ? (bytes - L4_NET_ENTRIES) / (2 * L4_NET_SLOT + RINGS * sizeof(u32)) : 0;

	if (!slots)
		return false;
	net.memory = memory;
	net.slots = rounddown_pow_of_two(min_t(u32, slots, L4_NET_MOST_SLOTS));
	lay_out_lane(&net.in, memory, L4_NET_IN, 0);
	lay_out_lane(&net.out, memory, L4_NET_OUT, 1);
	return true;
}

static int __init net_init(void)
{
	const struct l4_grant *shared = l4_find_grant("network"), *bell = l4_find_grant("switch-bell");
	struct net_device *dev;
	int err;

	if (!shared || !shared->address || !bell)
		return 0;
	if (!lay_out((char *)shared->address, shared->bytes)) {
		pr_err("eth0: the memory of its port is too small\n");
		return -EINVAL;
	}
	dev = alloc_etherdev(0);
	if (!dev)
		return -ENOMEM;
	net.dev = dev;
	net.bell = bell->slot;
	net.pause = FIRST_PAUSE;
	dev->netdev_ops = &net_ops;
	dev->ethtool_ops = &ethtool_ops;
	/* Every frame is copied: from wherever it is, and with its checksum. */
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	dev->vlan_features = dev->features;
	/* Another client may take large frames.  Others get segments, which are cut here. */
	if (net.slots >= FEWEST_FOR_LARGE) {
		netif_set_tso_max_segs(dev, MOST_SEGMENTS);
		dev->features |= NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN;
		dev->hw_features |= NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN;
	}
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->max_mtu = L4_NET_MOST_BYTES - VLAN_ETH_HLEN;
	netif_napi_add(dev, &net.napi, poll);
	init_completion(&net.first);
	tasklet_setup(&net.tasklet, attach);
	INIT_DELAYED_WORK(&net.retry, retry);
	timer_setup(&net.look, look, 0);
	INIT_WORK(&net.rename, rename);
	netif_carrier_off(dev);
	err = l4_async_call_init(&net.attach, "switch", L4_IRQ_NET_ATTACH, attach_done, "eth0-attach", NULL);
	if (!err)
		err = request_irq(L4_NET_BIT_FRAMES, notified, 0, "eth0", NULL);
	if (!err)
		err = request_irq(L4_NET_BIT_ATTACH, attach_again, 0, "eth0-again", NULL);
	if (err)
		return err;
	net.again = true;
	tasklet_schedule(&net.tasklet);
	/* The switch may not be there yet.  Its answer is taken whenever it comes. */
	if (wait_for_completion_timeout(&net.first, BOOT_WAIT))
		eth_hw_addr_set(dev, net.address);
	else
		eth_hw_addr_random(dev);
	err = register_netdev(dev);
	if (err)
		return err;
	local_bh_disable();
	net.registered = true;
	if (net.attached && !ether_addr_equal(dev->dev_addr, net.address))
		schedule_work(&net.rename);
	local_bh_enable();
	return 0;
}
device_initcall(net_init);
