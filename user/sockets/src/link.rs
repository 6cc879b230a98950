// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server's own addresses: given, or by DHCP and IPv6's router advertisements.

use crate::guard::is_host;
use alloc::vec::Vec;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::{dhcpv4, dns};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{
    EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address, Ipv4Cidr, Ipv6Address,
    Ipv6Cidr,
};

/// Where the address of IP version 4 comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// DHCP.
    Dhcp,
    /// The description.
    Static {
        /// The address, and its network.
        address: Ipv4Cidr,
        /// The way out of that network.
        gateway: Option<Ipv4Address>,
        /// Who knows names.
        name_server: Option<Ipv4Address>,
    },
}

/// What a server begins with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The card's hardware address: one host's, not of a group.
    pub address: [u8; 6],
    /// Where the address of IP version 4 comes from.
    pub from: Configuration,
    /// Most sockets of a client.
    pub most: usize,
    /// Which life of the server this is.
    pub life: u16,
    /// Chance.
    pub seed: u64,
}

/// How long clients wait for the first address.
const PATIENCE: Duration = Duration::from_secs(5);
/// When DHCP asks again while nobody answers.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// smoltcp 0.14 says nothing of its sockets' timers while it waits for no router
/// ([`Interface::poll_at`]): then they are looked at this often.
const LOOK: Duration = Duration::from_millis(50);
/// The same while there is only DHCP.
const SELDOM: Duration = Duration::from_secs(1);

/// The card with its addresses.
pub struct Link {
    pub(crate) iface: Interface,
    dhcp: Option<SocketHandle>,
    pub(crate) names: SocketHandle,
    /// Until when clients wait for an address.
    pub(crate) patience: Instant,
}

impl Link {
    /// At a card.
    pub(crate) fn new(
        device: &mut impl Device,
        setup: &Setup,
        now: Instant,
        set: &mut SocketSet<'static>,
    ) -> Self {
        let hardware = HardwareAddress::Ethernet(EthernetAddress(setup.address));
        let mut config = Config::new(hardware);
        (config.random_seed, config.slaac) = (setup.seed, true);
        let mut iface = Interface::new(config, device, now);
        // Router solicitations are sent from it.
        let local = Ipv6Cidr::new(Ipv6Address::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 64);
        let local = Ipv6Cidr::from_link_prefix(&local, hardware);
        iface.update_ip_addrs(|addresses| addresses.extend(local.map(IpCidr::Ipv6)));
        let names = set.add(dns::Socket::new(&[], Vec::new()));
        let mut link = Self { iface, dhcp: None, names, patience: now + PATIENCE };
        match setup.from {
            Configuration::Dhcp => {
                let mut dhcp = dhcpv4::Socket::new();
                let mut retry = dhcp.get_retry_config();
                (retry.discover_timeout, retry.initial_request_timeout) = (ASK_AGAIN, ASK_AGAIN);
                dhcp.set_retry_config(retry);
                link.dhcp = Some(set.add(dhcp));
            }
            Configuration::Static { address, gateway, name_server } => {
                link.set(Some(address), gateway, name_server.as_slice(), set);
            }
        }
        link
    }

    /// The addresses, without the one that only neighbours know.
    pub fn addresses(&self) -> impl Iterator<Item = IpCidr> {
        let is_local = |address: &IpCidr| matches!(address.address(), IpAddress::Ipv6(address) if address.is_unicast_link_local());
        self.iface.ip_addrs().iter().copied().filter(move |address| !is_local(address))
    }

    /// Whether there is an address of IP version 4.
    pub(crate) fn is_configured(&self) -> bool {
        self.iface.ipv4_addr().is_some()
    }

    /// What DHCP has learnt.
    pub(crate) fn poll(&mut self, set: &mut SocketSet<'static>) {
        let Some(handle) = self.dhcp else { return };
        let (address, gateway, name_servers) = match set.get_mut::<dhcpv4::Socket>(handle).poll() {
            None => return,
            Some(dhcpv4::Event::Deconfigured) => (None, None, Vec::new()),
            Some(dhcpv4::Event::Configured(config)) => {
                (Some(config.address), config.router, config.dns_servers.to_vec())
            }
        };
        self.set(address, gateway, &name_servers, set);
    }

    /// Takes up what was learnt. An address that no host can have is none.
    fn set(
        &mut self,
        address: Option<Ipv4Cidr>,
        gateway: Option<Ipv4Address>,
        name_servers: &[Ipv4Address],
        set: &mut SocketSet<'static>,
    ) {
        let address = address.filter(|address| is_host(&address.address()));
        let name_servers: Vec<_> = name_servers
            .iter()
            .filter(|server| is_host(server))
            .copied()
            .map(IpAddress::Ipv4)
            .collect();
        self.iface.update_ip_addrs(|addresses| {
            addresses.retain(|address| matches!(address, IpCidr::Ipv6(_)));
            if let Some(address) = address
                && let Err(all) = addresses.insert(0, IpCidr::Ipv4(address))
            {
                // Routers have advertised more prefixes than there is room for: one is dropped.
                addresses.pop();
                let _ = addresses.insert(0, all);
            }
        });
        self.iface.routes_mut().remove_default_ipv4_route();
        if let Some(gateway) = gateway.filter(is_host) {
            // Nor do routers that advertise themselves take its room.
            self.iface.routes_mut().update(|routes| {
                if routes.is_full() {
                    routes.pop();
                }
            });
            let _ = self.iface.routes_mut().add_default_ipv4_route(gateway);
        }
        set.get_mut::<dns::Socket>(self.names).update_servers(&name_servers);
    }

    /// When to look again; `has_connections` if there are some that may have to send something
    /// again.
    pub(crate) fn poll_at(
        &mut self,
        now: Instant,
        set: &SocketSet<'static>,
        has_connections: bool,
    ) -> Instant {
        self.iface.poll_at(now, set).unwrap_or(now + if has_connections { LOOK } else { SELDOM })
    }
}
