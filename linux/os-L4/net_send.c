// SPDX-License-Identifier: GPL-2.0
/*
 * The network device sends frames: it copies them into slots, and cuts them into segments if the next hop needs that.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include <linux/virtio_net.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/tso.h>
#include "l4_syscall.h"
#include "net.h"

/*
 * If many frames are sent at once, the switch is notified in portions of about this many slots: it runs before we do,
 * and empties them, so that the same slots are filled next.  A cache of 256 KiB has no room for more of them, with
 * the card's slots and the data.
 */
#define PORTION		12
/* If we yielded to a client and it took longer than this, in nanoseconds, it did not only read, but computes. */
#define READERS_TIME	NSEC_PER_MSEC
/* For this many times the time that it took we do not yield again. */
#define BUSY_FACTOR	50
/* As many clients as a switch has. */
#define MOST_NEIGHBOURS	20

/* Slots of `out` that are free; negative: the ring is broken. */
int l4_net_room(void)
{
	int i, returned = available(l4_net.out.words + L4_NET_FREE, l4_net.out.free_index);

	for (i = 0; i < returned; i++) {
		u32 slot = read_entry(l4_net.out.free, l4_net.out.free_index++);

		if (slot >= l4_net.slots || !__test_and_clear_bit(slot, l4_net.away))
			return -EPROTO;
		l4_net.own[l4_net.owned++] = slot;
	}
	return returned < 0 ? returned : l4_net.owned;
}

/* Free slots without which nothing is sent: as many as any frame takes. */
static u32 enough(void)
{
	BUILD_BUG_ON(MOST_SEGMENTS < L4_NET_MOST_PARTS);
	return l4_net.dev->features & NETIF_F_ALL_TSO ? MOST_SEGMENTS : 1;
}

/*
 * Continues to send if there is room.  If the ring is broken, nothing else would notice, because a stopped queue
 * sends nothing.
 */
void l4_net_wake_sender(void)
{
	int free = l4_net_room();

	if (free >= 0 && free < enough()) {
		write_word(l4_net.out.words + L4_NET_FREE, L4_NET_CONSUMER_WAITS, 1);
		mb();
		/* The switch may have emptied a slot before it could know that we wait for one. */
		free = l4_net_room();
	}
	if (free < 0)
		l4_net_ring_is_broken();
	else if (free >= enough())
		netif_wake_queue(l4_net.dev);
}

/* Whether the next hop is another client of the switch that takes large frames. */
static bool takes_large(const struct sk_buff *skb)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	const char *list = l4_net.memory + L4_NET_NEIGHBOURS;
	u32 i, count = min_t(u32, read_word(list, 0), MOST_NEIGHBOURS);
	u32 low = get_unaligned_le32(eth->h_dest), high = get_unaligned_le16(eth->h_dest + 4);

	for (i = 0; i < count; i++)
		if (read_word(list, 4 + i * L4_NET_NEIGHBOUR) == low && read_word(list, 8 + i * L4_NET_NEIGHBOUR) == high)
			return true;
	return false;
}

/* The next free slot. */
static char *fill_slot(void)
{
	u32 slot = l4_net.own[--l4_net.owned];

	__set_bit(slot, l4_net.away);
	write_entry(l4_net.out.filled, l4_net.out.filled_index++, slot);
	return slot_at(&l4_net.out, slot);
}

/* Publishes what was sent. */
static void show(void)
{
	/*
	 * A program that has read will send sooner or later: its slots are filled next, while they are in the cache.
	 */
	bool waits = l4_net_reclaim();

	l4_net.shown = l4_net.out.filled_index;
	wake_switch(publish(l4_net.out.words, l4_net.shown) || waits);
}

/* Whether to publish what was sent, although there is more to send. */
static bool is_portion(void)
{
	return l4_net.out.filled_index - l4_net.shown >= PORTION;
}

/*
 * Lets another client of the switch read what it was sent before we send more, if the cache is so small that it would
 * not have it later.  If a client computes meanwhile, we wait for it only now and then.
 */
static void give_way(void)
{
	u64 now = local_clock(), took;

	if (!l4_net.cache || now < l4_net.busy_until)
		return;
	l4_call(L4_OP_YIELD, 0, 0, 0, 0);
	took = local_clock() - now;
	if (took > READERS_TIME)
		l4_net.busy_until = now + took * BUSY_FACTOR;
}

/* Records that the frame in a slot is sent as it is. */
static void mark_whole(char *slot, u32 bytes)
{
	memset(slot + L4_NET_SLOT_OWN, 0, L4_NET_SLOT_FRAME - L4_NET_SLOT_OWN);
	WRITE_ONCE(*(u32 *)slot, bytes);
}

/*
 * Copies a frame that its receiver cuts into segments, or that is never cut; its checksum is not computed, either.
 * Returns how many frames it became, if that many free slots suffice; otherwise 0.
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
	/* The frame has the checksum of a pseudo header with the total length. */
	pseudo = csum_sub(csum_unfold(tcp_hdr(skb)->check), (__force __wsum)all);
	tso_start(skb, &tso);
	for (at = start; at < skb->len; at += bytes) {
		char *slot = fill_slot();

		bytes = min(size, skb->len - at);
		tso_build_hdr(skb, header, &tso, bytes, at + bytes == skb->len);
		tso.tcp_seq += bytes;
		/* CWR is set only in the first segment. */
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
			if (l4_net_room() < 0) {
				l4_net_ring_is_broken();
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

netdev_tx_t l4_net_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	int free = l4_net.attached ? l4_net_room() : 0;
	bool large = skb_is_gso(skb) && takes_large(skb), full;
	u32 frames = 0, headers = 0;

	if (free < 0)
		l4_net_ring_is_broken();
	if (!skb_is_gso(skb))
		frames = free > 0 && send_plain(skb);
	else if (large)
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
	if (!l4_net.attached || !free)
		return NETDEV_TX_OK;
	full = l4_net.owned < enough();
	if (full)
		netif_stop_queue(dev);
	/* Frames before it in its batch may not have been published. */
	if (full || !netdev_xmit_more() || is_portion())
		show();
	if (full)
		l4_net_wake_sender();
	if (large && frames && l4_net.shown == l4_net.out.filled_index)
		give_way();
	return NETDEV_TX_OK;
}
