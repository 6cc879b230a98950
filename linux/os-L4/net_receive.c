// SPDX-License-Identifier: GPL-2.0
/* The network device receives frames from slots.  Most of their payload stays in the slots until it is read. */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/virtio_net.h>
#include "abi.h"
#include "memory.h"
#include "net.h"

/*
 * Frames of at most this many bytes are copied, and of longer ones the headers, so that the switch cannot change them
 * while they are processed.
 */
#define COPIED		256
#define HEADERS		(ETH_HLEN + 60 + 60)

void l4_net_give_back(u32 slot)
{
	__set_bit(slot, l4_net.given);
	write_entry(l4_net.in.free, l4_net.in.free_index++, slot);
}

/*
 * Whether anything refers to the contents of a slot.  Frames in one page have one count, and the first reference is
 * ours.
 */
static bool in_use(u32 slot)
{
	const char *at = slot_at(&l4_net.in, slot);

	return page_count(virt_to_page(at)) > 1 || page_count(virt_to_page(at + L4_NET_SLOT - 1)) > 1;
}

/* Publishes which slots are free.  Returns whether the switch waits for one. */
bool l4_net_publish_free(void)
{
	if (l4_net.told == l4_net.in.free_index)
		return false;
	l4_net.told = l4_net.in.free_index;
	return publish(l4_net.in.words + L4_NET_FREE, l4_net.told);
}

/* Gives back slots whose frames are not used any more.  Returns whether the switch waits for one. */
bool l4_net_reclaim(void)
{
	u32 i, kept = 0;

	for (i = 0; i < l4_net.held; i++) {
		u32 slot = l4_net.holds[i];

		if (in_use(slot))
			l4_net.holds[kept++] = slot;
		else
			l4_net_give_back(slot);
	}
	l4_net.held = kept;
	return l4_net_publish_free();
}

/*
 * How many of a frame's first bytes are headers, if it is TCP over IP without extension headers, as most long frames
 * are; otherwise 0.  The payload of other protocols does not stay in the slot, because some decrypt it in place.
 */
static unsigned int headers(const char *frame)
{
	const struct ethhdr *eth = (const struct ethhdr *)frame;
	const struct iphdr *ip = (const struct iphdr *)(eth + 1);
	const struct ipv6hdr *ip6 = (const struct ipv6hdr *)(eth + 1);
	const struct tcphdr *tcp;

	/* Lengths are four bits, in words. */
	BUILD_BUG_ON(HEADERS < ETH_HLEN + 15 * 4 + 15 * 4 || HEADERS < ETH_HLEN + sizeof(*ip6) + 15 * 4);
	if (eth->h_proto == htons(ETH_P_IP) && ip->ihl >= 5 && ip->protocol == IPPROTO_TCP)
		tcp = (const struct tcphdr *)((const char *)ip + ip->ihl * 4);
	else if (eth->h_proto == htons(ETH_P_IPV6) && ip6->nexthdr == IPPROTO_TCP)
		tcp = (const struct tcphdr *)(ip6 + 1);
	else
		return 0;
	return tcp->doff >= 5 ? (const char *)tcp + tcp->doff * 4 - frame : 0;
}

/* Makes bytes of a slot a part of a frame, without a copy, as one part for each page that they are in. */
static void add_part(struct sk_buff *skb, const char *from, u32 bytes)
{
	u32 within = min_t(u32, bytes, PAGE_SIZE - offset_in_page(from));
	struct page *page = virt_to_page(from);

	get_page(page);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, offset_in_page(from), within, L4_NET_SLOT);
	if (bytes > within) {
		get_page(++page);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, bytes - within, 0);
	}
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
}

/* Whether this many more slots may stay in use: the switch always has a quarter of them, even if nothing is read. */
static bool may_keep(u32 slots)
{
	return l4_network_pages && l4_net.held + slots <= l4_net.slots - l4_net.slots / 4;
}

static struct sk_buff *drop(unsigned long *counter)
{
	(*counter)++;
	return NULL;
}

/*
 * The frame in a slot, which the switch may write at any time.  Of a long frame the headers are copied, and the rest
 * stays in the slot: then *kept is set, and the slot is in use until the network layers have freed its pages.
 */
static struct sk_buff *plain_frame(u32 slot, u32 bytes, bool *kept)
{
	const char *frame = slot_at(&l4_net.in, slot) + L4_NET_SLOT_FRAME;
	u32 copied = bytes;
	struct sk_buff *skb;
	char start[HEADERS];

	if (bytes > COPIED && may_keep(1)) {
		memcpy(start, frame, HEADERS);
		copied = headers(start) ?: bytes;
	}
	skb = napi_alloc_skb(&l4_net.napi, copied);
	if (!skb)
		return drop(&l4_net.dev->stats.rx_dropped);
	*kept = copied < bytes;
	skb_put_data(skb, *kept ? start : frame, copied);
	if (*kept)
		add_part(skb, frame + copied, bytes - copied);
	return skb;
}

/*
 * Adds a part to a frame whose last sk_buff is *last: one has few parts, and further ones are in its frag_list.  False: there is
 * no memory.
 */
static bool add_to_list(struct sk_buff *skb, struct sk_buff **last, const char *from, u32 bytes)
{
	struct sk_buff *next;

	if (skb_shinfo(*last)->nr_frags + 2 > MAX_SKB_FRAGS) {
		next = napi_alloc_skb(&l4_net.napi, 0);
		if (!next)
			return false;
		if (*last == skb)
			skb_shinfo(skb)->frag_list = next;
		else
			(*last)->next = next;
		*last = next;
		skb->truesize += next->truesize;
	}
	add_part(*last, from, bytes);
	if (*last != skb) {
		skb->len += bytes;
		skb->data_len += bytes;
		skb->truesize += L4_NET_SLOT;
	}
	return true;
}

/* Bytes of a large frame in one of its slots. */
static u32 bytes_of_part(u32 bytes, u32 part)
{
	return min_t(u32, bytes - part * L4_NET_MOST_BYTES, L4_NET_MOST_BYTES);
}

/* A large frame whose headers, this many bytes, were copied; the rest stays in the slots.  NULL: no memory. */
static struct sk_buff *large_in_place(const u16 *slots, u32 bytes, const char *start, u32 copied)
{
	struct sk_buff *skb = napi_alloc_skb(&l4_net.napi, copied), *last = skb;
	u32 part, parts = DIV_ROUND_UP(bytes, L4_NET_MOST_BYTES), skip = copied;

	if (!skb)
		return NULL;
	skb_put_data(skb, start, copied);
	for (part = 0; part < parts; part++) {
		const char *from = slot_at(&l4_net.in, slots[part]) + L4_NET_SLOT_FRAME + skip;

		if (!add_to_list(skb, &last, from, bytes_of_part(bytes, part) - skip)) {
			kfree_skb(skb);
			return NULL;
		}
		skip = 0;
	}
	return skb;
}

/* The same, but all of it is copied. */
static struct sk_buff *large_copy(const u16 *slots, u32 bytes)
{
	u32 part, parts = DIV_ROUND_UP(bytes, L4_NET_MOST_BYTES), linear = min_t(u32, bytes, HEADERS);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(NET_IP_ALIGN + linear, bytes - linear, PAGE_ALLOC_COSTLY_ORDER, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, NET_IP_ALIGN);
	skb_put(skb, linear);
	skb->data_len = bytes - linear;
	skb->len = bytes;
	skb->dev = l4_net.dev;
	for (part = 0; part < parts; part++)
		skb_store_bits(skb, part * L4_NET_MOST_BYTES, slot_at(&l4_net.in, slots[part]) + L4_NET_SLOT_FRAME,
			       bytes_of_part(bytes, part));
	return skb;
}

/* A frame of another Linux, in several slots: its segments were not cut, and its checksum not computed.  *kept as above. */
static struct sk_buff *large_frame(const u16 *slots, u32 bytes, bool *kept)
{
	const char *first = slot_at(&l4_net.in, slots[0]);
	struct virtio_net_hdr header;
	char start[HEADERS];
	struct sk_buff *skb;
	u32 copied = 0;

	memcpy(&header, first + L4_NET_SLOT_OWN, sizeof(header));
	if (bytes > COPIED && may_keep(DIV_ROUND_UP(bytes, L4_NET_MOST_BYTES))) {
		memcpy(start, first + L4_NET_SLOT_FRAME, HEADERS);
		copied = headers(start);
	}
	skb = copied ? large_in_place(slots, bytes, start, copied) : large_copy(slots, bytes);
	if (!skb)
		return drop(&l4_net.dev->stats.rx_dropped);
	if (virtio_net_hdr_to_skb(skb, &header, true)) {
		kfree_skb(skb);
		return drop(&l4_net.dev->stats.rx_errors);
	}
	*kept = copied;
	return skb;
}

/* Whether the frame in a slot has to be cut into segments. */
static bool is_large(u32 slot, u32 bytes)
{
	const u32 *header = (const u32 *)(slot_at(&l4_net.in, slot) + L4_NET_SLOT_OWN);

	return bytes > L4_NET_MOST_BYTES || (READ_ONCE(header[0]) | READ_ONCE(header[1]) | READ_ONCE(header[2]));
}

/* Passes on the next frame, of at most this many slots.  Returns how many it had; negative: the ring is broken. */
static int receive_frame(int filled)
{
	u16 slots[L4_NET_MOST_PARTS];
	u32 i, bytes, parts = 1;
	struct sk_buff *skb;
	bool kept = false;

	for (i = 0; i < parts; i++) {
		u32 slot = read_entry(l4_net.in.filled, l4_net.in.filled_index++);

		/* A slot that the switch does not have may be in use. */
		if (slot >= l4_net.slots || !__test_and_clear_bit(slot, l4_net.given))
			return -EPROTO;
		slots[i] = slot;
		if (i)
			continue;
		bytes = READ_ONCE(*(u32 *)slot_at(&l4_net.in, slot));
		if (bytes < L4_NET_FEWEST_BYTES || bytes > L4_NET_MOST_LARGE) {
			l4_net.dev->stats.rx_errors++;
			l4_net.dev->stats.rx_length_errors++;
			l4_net_give_back(slot);
			return 1;
		}
		parts = DIV_ROUND_UP(bytes, L4_NET_MOST_BYTES);
		if (parts > filled)
			return -EPROTO;
	}
	if (is_large(slots[0], bytes))
		skb = large_frame(slots, bytes, &kept);
	else
		skb = plain_frame(slots[0], bytes, &kept);
	for (i = 0; i < parts; i++) {
		if (kept)
			l4_net.holds[l4_net.held++] = slots[i];
		else
			l4_net_give_back(slots[i]);
	}
	if (!skb)
		return parts;
	skb->protocol = eth_type_trans(skb, l4_net.dev);
	dev_sw_netstats_rx_add(l4_net.dev, bytes);
	napi_gro_receive(&l4_net.napi, skb);
	return parts;
}

/* Takes frames, up to a budget.  Negative: the ring is broken. */
int l4_net_receive(int budget)
{
	int filled = available(l4_net.in.words, l4_net.in.filled_index), parts = 0, done;

	for (done = 0; filled > 0 && done < budget; done++) {
		parts = receive_frame(filled);
		if (parts < 0)
			return parts;
		filled -= parts;
	}
	return filled < 0 ? filled : done;
}
