// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says about a component's network: `net = true`, or an address, or that the
//! component bridges other addresses.

use super::key::Braces;
use super::sources::Mistake;
use serde::Deserialize;
use std::net::Ipv4Addr;
use toml::Spanned;

/// The devices of a board that are its network: the card's driver, and the switch between that and
/// its clients.
pub(super) const DEVICES: [&str; 2] = ["nic", SWITCH];
/// The package of an IP server.
pub(super) const IP: &str = "ip";
/// The second one.
pub(super) const SWITCH: &str = "switch";
/// Bytes of a client's memory, unless the description says others: 256 slots in each direction.
pub(super) const PORT: &str = "820K";
/// The address that says to ask for one.
const DHCP: &str = "dhcp";

/// An address as the component is told it, and what else there is to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct At {
    /// `dhcp`, or an address with the length of its network's prefix.
    address: Option<Spanned<String>>,
    /// The way out of that network.
    gateway: Option<Spanned<String>>,
    /// Who knows names.
    name_server: Option<Spanned<String>>,
    /// Whether it sends from other hardware addresses than its own, too.
    bridge: Option<bool>,
}

impl Braces for At {
    const FORMS: &'static str =
        "`net = true`, `net = { address = \"dhcp\" }`, or `net = { bridge = true }`";
}

impl At {
    /// Whether it says anything.
    pub(super) const fn is_empty(&self) -> bool {
        self.address.is_none()
            && self.gateway.is_none()
            && self.name_server.is_none()
            && self.bridge.is_none()
    }

    /// Whether the component has others behind it.
    pub(super) fn bridges(&self) -> bool {
        self.bridge.unwrap_or_default()
    }

    /// What the component is told, as its arguments.
    ///
    /// # Errors
    /// An address that is none, or that nobody can have there.
    pub(super) fn arguments(&self) -> Result<Vec<String>, Mistake> {
        let others = [("gateway", &self.gateway), ("name-server", &self.name_server)];
        let others = others.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let Some(own) = &self.address else {
            return match others.into_iter().next() {
                Some((key, value)) => Err(wrong(
                    value,
                    format!(
                        "a {key} is for who is told an address: write that, too, or leave this out"
                    ),
                )),
                None => Ok(Vec::new()),
            };
        };
        let mut arguments = vec![format!("address={}", own.get_ref())];
        let network = (own.get_ref() != DHCP).then(|| Network::of(own)).transpose()?;
        for (key, value) in others {
            let Some(network) = &network else {
                return Err(wrong(
                    value,
                    format!(
                        "DHCP says the {key}, too: leave this out, or write an address instead of `{DHCP}`"
                    ),
                ));
            };
            let address: Ipv4Addr = value.get_ref().parse().map_err(|_| {
                wrong(
                    value,
                    format!("`{}` is no address: write one as `10.0.2.2`", value.get_ref()),
                )
            })?;
            if key == "gateway" && !network.has(address) {
                let what = format!(
                    "the gateway {address} is not in the network of {}: nothing could be sent to it",
                    own.get_ref()
                );
                return Err(wrong(value, what));
            }
            arguments.push(format!("{key}={address}"));
        }
        Ok(arguments)
    }
}

fn wrong(at: &Spanned<String>, what: String) -> Mistake {
    (at.span().start, what)
}

/// A network of IP version 4.
struct Network {
    own: u32,
    mask: u32,
}

impl Network {
    /// That of an address.
    fn of(text: &Spanned<String>) -> Result<Self, Mistake> {
        let parts = text.get_ref().split_once('/');
        let parsed = parts.and_then(|(address, bits)| {
            Some((address.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok()?))
        });
        let (address, bits) = parsed.filter(|(_, bits)| (1..=30).contains(bits)).ok_or_else(|| {
            let what =
                format!("`{}` is no address: write `{DHCP}`, or one with its prefix of 1 to 30 bits as `10.0.2.40/24`", text.get_ref());
            wrong(text, what)
        })?;
        let network = Self { own: address.to_bits(), mask: !(u32::MAX >> bits) };
        if address.is_multicast()
            || address.is_unspecified()
            || address.is_loopback()
            || !network.has(address)
        {
            return Err(wrong(
                text,
                format!(
                    "{address} is an address that no single host of its network has: choose another"
                ),
            ));
        }
        Ok(network)
    }

    /// Whether a host there may have this address.
    fn has(&self, address: Ipv4Addr) -> bool {
        let (network, host) = (address.to_bits() & self.mask, address.to_bits() & !self.mask);
        network == self.own & self.mask && host != 0 && host != !self.mask
    }
}
