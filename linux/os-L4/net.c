// SPDX-License-Identifier: GPL-2.0
/* The network device: the life cycle of its port, and what the kernel and ethtool ask of it. */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>
#include "abi.h"
#include "async_call.h"
#include "idle.h"
#include "interrupt.h"
#include "net.h"
#include "start.h"

/* How long Linux's boot waits for the switch, which may wait for the card's driver. */
#define BOOT_WAIT	(5 * HZ)
/* The words that ask for a notification may be overwritten.  After this time we check by ourselves. */
#define LOOK		HZ
/* The pause before the port is attached again after an error: at first, and at most. */
#define FIRST_PAUSE	(HZ / 10)
#define LONGEST_PAUSE	(10 * HZ)

/* Rings of a port: for each direction one of filled slots, and one of free slots. */
#define RINGS		4
/* With fewer slots, a frame has only one. */
#define FEWEST_FOR_LARGE	(4 * L4_NET_MOST_PARTS)

/*
 * Data between programs of two Linuxes is in five places: in each program, in the sender's buffers, and in slots of
 * either side.  If a frame is at most a twelfth of the cache, all of them fit into the cache, with the code of all
 * parts.
 */
#define PARTS_OF_CACHE	12
/* Sizes that a user may give for the cache, in KiB. */
#define LARGEST_CACHE	(1 << 20)

struct l4_net l4_net;

/* "l4_net_cache=KIB" says how large the processor's largest cache is, if it is small. */
static int __init cache_setup(char *text)
{
	unsigned int kib;

	if (kstrtouint(text, 0, &kib) || kib > LARGEST_CACHE)
		return 0;
	l4_net.cache = kib << 10;
	return 1;
}
__setup("l4_net_cache=", cache_setup);

void l4_net_idle(void)
{
	if (l4_net.attached && l4_net.held)
		wake_switch(l4_net_reclaim());
}

/* Both directions start again.  The switch gives its slots, and we give ours except those whose frames are in use. */
static void begin(void)
{
	DECLARE_BITMAP(kept, L4_NET_MOST_SLOTS);
	u32 i;

	l4_net.in.filled_index = l4_net.in.free_index = l4_net.told = 0;
	l4_net.out.filled_index = l4_net.out.free_index = l4_net.shown = 0;
	l4_net.owned = 0;
	bitmap_fill(l4_net.away, l4_net.slots);
	bitmap_zero(l4_net.given, l4_net.slots);
	bitmap_zero(kept, l4_net.slots);
	for (i = 0; i < l4_net.held; i++)
		__set_bit(l4_net.holds[i], kept);
	for (i = 0; i < l4_net.slots; i++)
		if (!test_bit(i, kept))
			l4_net_give_back(i);
	wake_switch(l4_net_publish_free());
}

/* What is in the ring to the switch is lost. */
static void detach(void)
{
	if (l4_net.attached && l4_net_room() >= 0)
		l4_net.dev->stats.tx_dropped += bitmap_weight(l4_net.away, l4_net.slots);
	l4_net.attached = false;
	netif_carrier_off(l4_net.dev);
	netif_stop_queue(l4_net.dev);
}

static void try_later(void)
{
	schedule_delayed_work(&l4_net.retry, l4_net.pause);
	l4_net.pause = min(l4_net.pause * 2, LONGEST_PAUSE);
}

/* The switch wrote an impossible index. */
void l4_net_ring_is_broken(void)
{
	if (net_ratelimit())
		netdev_err(l4_net.dev, "the switch broke a ring\n");
	l4_net.broken++;
	detach();
	try_later();
}

static void start_attach(void)
{
	detach();
	l4_net.attaching = true;
	l4_net.again = false;
	l4_net.attach.words = 3;
	l4_net.attach.request[0] = L4_NET_ATTACH;
	l4_net.attach.request[1] = l4_net.slots >= FEWEST_FOR_LARGE ? L4_NET_TAKES_LARGE : 0;
	l4_async_call_start(&l4_net.attach);
}

static void retry(struct work_struct *work)
{
	l4_net.again = true;
	tasklet_schedule(&l4_net.tasklet);
}

/* The switch gave another address, after the device was registered. */
static void rename(struct work_struct *work)
{
	rtnl_lock();
	eth_hw_addr_set(l4_net.dev, l4_net.address);
	l4_net.dev->addr_assign_type = NET_ADDR_PERM;
	call_netdevice_notifiers(NETDEV_CHANGEADDR, l4_net.dev);
	rtnl_unlock();
}

/* The reply to ATTACH has come, or the call has failed. */
static void finish_attach(void)
{
	u8 address[ETH_ALEN];

	l4_net.attaching = false;
	if (l4_net.attach.failed && l4_net.attach.restarted) {
		l4_net.again = true;
		return;
	}
	if (l4_net.attach.failed || l4_net.attach.reply[0]) {
		if (net_ratelimit())
			netdev_err(l4_net.dev, "the switch refuses its port\n");
		try_later();
		return;
	}
	put_unaligned_le32(l4_net.attach.reply[1], address);
	put_unaligned_le16(l4_net.attach.reply[2], address + 4);
	if (!ether_addr_equal(address, l4_net.address)) {
		ether_addr_copy(l4_net.address, address);
		if (l4_net.registered)
			schedule_work(&l4_net.rename);
	}
	cancel_delayed_work(&l4_net.retry);
	begin();
	l4_net.pause = FIRST_PAUSE;
	l4_net.attachments++;
	l4_net.attached = true;
	if (l4_net.attach.reply[2] & L4_NET_LINK_UP)
		netif_carrier_on(l4_net.dev);
	if (netif_running(l4_net.dev)) {
		netif_wake_queue(l4_net.dev);
		/* The poll asks to be notified of the first frame. */
		napi_schedule(&l4_net.napi);
	}
	complete(&l4_net.first);
}

/* The life cycle of the port, one step at a time. */
static void attach(struct tasklet_struct *tasklet)
{
	if (l4_net.done) {
		l4_net.done = false;
		/* The switch may have asked again since it replied: what it replied is out of date. */
		if (l4_net.again)
			l4_net.attaching = false;
		else
			finish_attach();
	}
	if (l4_net.again && !l4_net.attaching)
		start_attach();
}

static irqreturn_t attach_done(int irq, void *data)
{
	l4_net.done = true;
	tasklet_schedule(&l4_net.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t attach_again(int irq, void *data)
{
	l4_net.again = true;
	tasklet_schedule(&l4_net.tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t notified(int irq, void *data)
{
	if (l4_net.attached && netif_running(l4_net.dev))
		napi_schedule(&l4_net.napi);
	return IRQ_HANDLED;
}

static int poll(struct napi_struct *napi, int budget)
{
	int done;

	if (l4_net.attached && netif_queue_stopped(l4_net.dev))
		l4_net_wake_sender();
	if (!l4_net.attached) {
		napi_complete(napi);
		return 0;
	}
	done = l4_net_receive(budget);
	if (done < 0) {
		napi_complete(napi);
		l4_net_ring_is_broken();
		return 0;
	}
	wake_switch(l4_net_reclaim());
	if (done < budget && napi_complete_done(napi, done)) {
		write_word(l4_net.in.words, L4_NET_CONSUMER_WAITS, 1);
		mb();
		/* One may have come before the switch could know that we wait for it. */
		if (available(l4_net.in.words, l4_net.in.filled_index))
			napi_schedule(napi);
	}
	return done;
}

static void look(struct timer_list *timer)
{
	if (l4_net.attached)
		napi_schedule(&l4_net.napi);
	mod_timer(&l4_net.look, jiffies + LOOK);
}

static int open(struct net_device *dev)
{
	napi_enable(&l4_net.napi);
	mod_timer(&l4_net.look, jiffies + LOOK);
	local_bh_disable();
	if (l4_net.attached) {
		netif_start_queue(dev);
		napi_schedule(&l4_net.napi);
	}
	local_bh_enable();
	return 0;
}

static int stop(struct net_device *dev)
{
	netif_stop_queue(dev);
	timer_delete_sync(&l4_net.look);
	napi_disable(&l4_net.napi);
	return 0;
}

static const struct net_device_ops net_ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = l4_net_start_xmit,
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
	ring->rx_max_pending = ring->rx_pending = l4_net.slots;
	ring->tx_max_pending = ring->tx_pending = l4_net.slots;
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
	data[0] = l4_net.attachments;
	data[1] = l4_net.broken;
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
	lane->filled = entries + 2 * number * l4_net.slots;
	lane->free = lane->filled + l4_net.slots;
	lane->slots = (char *)(entries + RINGS * l4_net.slots) + number * l4_net.slots * L4_NET_SLOT;
}

/* Sets where the rings are in this many bytes.  False: not even one slot fits. */
static bool lay_out(char *memory, u32 bytes)
{
	u32 slots = bytes > L4_NET_ENTRIES ? (bytes - L4_NET_ENTRIES) / (2 * L4_NET_SLOT + RINGS * sizeof(u32)) : 0;

	if (!slots)
		return false;
	l4_net.memory = memory;
	l4_net.slots = rounddown_pow_of_two(min_t(u32, slots, L4_NET_MOST_SLOTS));
	lay_out_lane(&l4_net.in, memory, L4_NET_IN, 0);
	lay_out_lane(&l4_net.out, memory, L4_NET_OUT, 1);
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
	l4_net.dev = dev;
	l4_net.bell = bell->slot;
	l4_net.pause = FIRST_PAUSE;
	dev->netdev_ops = &net_ops;
	dev->ethtool_ops = &ethtool_ops;
	/* Every frame is copied: from wherever it is, and with its checksum. */
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
	dev->vlan_features = dev->features;
	/* Another client may take large frames.  Others get segments, which are cut here. */
	if (l4_net.slots >= FEWEST_FOR_LARGE) {
		netif_set_tso_max_segs(dev, MOST_SEGMENTS);
		if (l4_net.cache)
			netif_set_tso_max_size(dev, min_t(u32, l4_net.cache / PARTS_OF_CACHE + L4_NET_MOST_BYTES,
							  TSO_LEGACY_MAX_SIZE));
		dev->features |= NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN;
		dev->hw_features |= NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN;
	}
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->max_mtu = L4_NET_MOST_BYTES - VLAN_ETH_HLEN;
	netif_napi_add(dev, &l4_net.napi, poll);
	init_completion(&l4_net.first);
	tasklet_setup(&l4_net.tasklet, attach);
	INIT_DELAYED_WORK(&l4_net.retry, retry);
	timer_setup(&l4_net.look, look, 0);
	INIT_WORK(&l4_net.rename, rename);
	netif_carrier_off(dev);
	err = l4_async_call_init(&l4_net.attach, "switch", L4_IRQ_NET_ATTACH, attach_done, "eth0-attach", NULL);
	if (!err)
		err = request_irq(L4_NET_BIT_FRAMES, notified, 0, "eth0", NULL);
	if (!err)
		err = request_irq(L4_NET_BIT_ATTACH, attach_again, 0, "eth0-again", NULL);
	if (err)
		return err;
	l4_net.again = true;
	tasklet_schedule(&l4_net.tasklet);
	/* The switch may not be there yet.  Its answer is taken whenever it comes. */
	if (wait_for_completion_timeout(&l4_net.first, BOOT_WAIT))
		eth_hw_addr_set(dev, l4_net.address);
	else
		eth_hw_addr_random(dev);
	err = register_netdev(dev);
	if (err)
		return err;
	local_bh_disable();
	l4_net.registered = true;
	if (l4_net.attached && !ether_addr_equal(dev->dev_addr, l4_net.address))
		schedule_work(&l4_net.rename);
	local_bh_enable();
	return 0;
}
device_initcall(net_init);
