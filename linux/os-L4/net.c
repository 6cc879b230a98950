// SPDX-License-Identifier: GPL-2.0
/*
 * The network device (eth0): a port of the network switch (docs/net.md).  Frames go through memory, granted as "network",
 * that is shared with the switch, which is called as "switch" and notified as "switch-bell".
 *
 * What the switch writes there is used once, and checked: an index, which must not be further from our own than the ring has
 * slots, and the length of a frame.
 *
 * Everything here that touches the rings, or says whether they may be touched, runs with soft interrupts disabled: nothing
 * is in the middle of a ring when the port is attached again.
 */
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "async_call.h"

/* How long Linux's boot waits for the switch, which may wait for the card's driver. */
#define BOOT_WAIT	(5 * HZ)
/* The pause before the port is attached again after an error: at first, and at most. */
#define FIRST_PAUSE	(HZ / 10)
#define LONGEST_PAUSE	(10 * HZ)

/* One of the two rings of the port. */
struct ring {
	char *words;
	char *slots;
	u32 index;		/* our own: produced or consumed, modulo 2^32 */
};

static struct {
	struct net_device *dev;
	struct napi_struct napi;
	struct ring in, out;
	u32 slots;		/* of each ring, a power of two */
	u32 bell;		/* capability: notifies the switch */
	bool attached;		/* both sides have begun at slot 0, and the switch has kept to the protocol since */
	struct l4_async_call attach;
	bool attaching;		/* that call is under way */
	bool again;		/* the switch asks for another one */
	bool done;		/* the interrupt has come */
	struct tasklet_struct tasklet;
	bool registered;
	unsigned long pause;
	struct completion first;
	struct delayed_work retry;
	struct work_struct rename;
	u8 address[ETH_ALEN];	/* what the switch gave */
	u64 attachments, broken;
} net;

static u32 read_word(const struct ring *ring, unsigned int word)
{
	return READ_ONCE(*(u32 *)(ring->words + word));
}

static void write_word(const struct ring *ring, unsigned int word, u32 value)
{
	WRITE_ONCE(*(u32 *)(ring->words + word), value);
}

static char *slot_at(const struct ring *ring)
{
	return ring->slots + (ring->index & (net.slots - 1)) * L4_NET_SLOT;
}

/* Lets the switch see our index, and wakes it if it waits for that. */
static void publish(const struct ring *ring, unsigned int word, unsigned int waits)
{
	mb();
	write_word(ring, word, ring->index);
	mb();
	if (read_word(ring, waits)) {
		write_word(ring, waits, 0);
		l4_call(L4_OP_NOTIFY, net.bell, 0, 0, 0);
	}
}

/* Slots of `out` that are free, slots of `in` that are filled; negative: the ring is broken. */
static int room(void)
{
	u32 full = net.out.index - read_word(&net.out, L4_NET_CONSUMED);

	return full <= net.slots ? net.slots - full : -EPROTO;
}

static int available(void)
{
	u32 full = read_word(&net.in, L4_NET_PRODUCED) - net.in.index;

	mb();
	return full <= net.slots ? full : -EPROTO;
}

/* What is in the ring to the switch is lost. */
static void detach(void)
{
	int free = net.attached ? room() : net.slots;

	if (free >= 0)
		net.dev->stats.tx_dropped += net.slots - free;
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
	net.in.index = 0;
	net.out.index = 0;
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

/* Goes on if there is room.  If the ring is broken nothing else would see it: a stopped queue sends nothing. */
static void wake_sender(void)
{
	int free = room();

	if (free < 0)
		ring_is_broken();
	else if (free > 0)
		netif_wake_queue(net.dev);
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	int free = net.attached ? room() : 0;
	char *slot;

	if (free < 0)
		ring_is_broken();
	if (free <= 0 || skb->len > L4_NET_MOST_BYTES) {
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		/* Frames before it in its batch may not have been published. */
		if (free > 0 && !netdev_xmit_more())
			publish(&net.out, L4_NET_PRODUCED, L4_NET_CONSUMER_WAITS);
		return NETDEV_TX_OK;
	}
	slot = slot_at(&net.out);
	skb_copy_and_csum_dev(skb, slot + L4_NET_SLOT_FRAME);
	WRITE_ONCE(*(u32 *)slot, skb->len);
	net.out.index++;
	skb_tx_timestamp(skb);
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	dev_consume_skb_any(skb);
	if (free == 1) {
		netif_stop_queue(dev);
		write_word(&net.out, L4_NET_PRODUCER_WAITS, 1);
	}
	if (free == 1 || !netdev_xmit_more())
		publish(&net.out, L4_NET_PRODUCED, L4_NET_CONSUMER_WAITS);
	/* The switch may have emptied a slot before it could know that we wait for one. */
	if (free == 1)
		wake_sender();
	return NETDEV_TX_OK;
}

/* Passes one frame on to the network layers, out of a slot that the switch may write at any time. */
static void receive_frame(const char *slot)
{
	u32 bytes = READ_ONCE(*(u32 *)slot);
	struct sk_buff *skb;

	if (bytes < L4_NET_FEWEST_BYTES || bytes > L4_NET_MOST_BYTES) {
		net.dev->stats.rx_errors++;
		net.dev->stats.rx_length_errors++;
		return;
	}
	skb = napi_alloc_skb(&net.napi, bytes);
	if (!skb) {
		net.dev->stats.rx_dropped++;
		return;
	}
	skb_put_data(skb, slot + L4_NET_SLOT_FRAME, bytes);
	skb->protocol = eth_type_trans(skb, net.dev);
	dev_sw_netstats_rx_add(net.dev, bytes);
	napi_gro_receive(&net.napi, skb);
}

static int poll(struct napi_struct *napi, int budget)
{
	int filled, done;

	if (net.attached && netif_queue_stopped(net.dev))
		wake_sender();
	if (!net.attached) {
		napi_complete(napi);
		return 0;
	}
	filled = available();
	for (done = 0; done < filled && done < budget; done++) {
		receive_frame(slot_at(&net.in));
		net.in.index++;
	}
	if (done)
		publish(&net.in, L4_NET_CONSUMED, L4_NET_PRODUCER_WAITS);
	if (filled < 0) {
		napi_complete(napi);
		ring_is_broken();
		return 0;
	}
	if (done < budget && napi_complete_done(napi, done)) {
		write_word(&net.in, L4_NET_CONSUMER_WAITS, 1);
		mb();
		/* One may have come before the switch could know that we wait for it. */
		if (available())
			napi_schedule(napi);
	}
	return done;
}

static int open(struct net_device *dev)
{
	napi_enable(&net.napi);
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

/* Where the rings are in so many bytes.  False: not even one slot fits. */
static bool lay_out(char *memory, u32 bytes)
{
	u32 slots = bytes > L4_NET_SLOTS ? (bytes - L4_NET_SLOTS) / (2 * L4_NET_SLOT) : 0;

	if (!slots)
		return false;
	net.slots = rounddown_pow_of_two(min_t(u32, slots, L4_NET_MOST_SLOTS));
	net.in.words = memory + L4_NET_IN;
	net.in.slots = memory + L4_NET_SLOTS;
	net.out.words = memory + L4_NET_OUT;
	net.out.slots = net.in.slots + net.slots * L4_NET_SLOT;
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
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->max_mtu = L4_NET_MOST_BYTES - VLAN_ETH_HLEN;
	netif_napi_add(dev, &net.napi, poll);
	init_completion(&net.first);
	tasklet_setup(&net.tasklet, attach);
	INIT_DELAYED_WORK(&net.retry, retry);
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
