// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network of a description: what the switch and each component with `net` are given
//! (docs/net.md).

use super::clients::Service;
use super::described::Wish;
use super::key::Key;
use super::net::{At, PORT, SWITCH};
use super::sources::spanned;
use super::{Component, Description, Peer, Share, SharedMemory};
use crate::linux::server;
use abi::object::BADGE_MAX;
use anyhow::{Result, anyhow};
use image::protocol::net::{BIT_ATTACH, BIT_FRAMES};
use toml::Spanned;

/// What a client calls its memory, the switch to call, and the switch to notify.
const MEMORY: &str = "network";
const BELL: &str = "switch-bell";
const NET: Service = Service { key: "net", grants: &[MEMORY, SWITCH, BELL] };
/// The switch's first port is the card's. Each has a bit of a notification, so there are no more
/// clients.
const MOST_CLIENTS: u32 = BADGE_MAX.ilog2();

impl Description {
    /// Gives each component with `net` a port of the switch, in the order of the description.
    pub(super) fn connect(&mut self, wishes: &[Wish<Key<At>>]) -> Result<()> {
        let mut port = 0;
        for Wish { component: client, key: net } in wishes {
            let client = *client;
            let (arguments, bridges) = match net.get_ref() {
                Key::No => continue,
                Key::Yes => (Vec::new(), false),
                Key::With(at) if at.is_empty() => {
                    return Err(self.wrong(net, "`net = { }` says nothing: write `net = true`"));
                }
                Key::With(at) => {
                    (at.arguments().map_err(|mistake| self.sources.wrong(mistake))?, at.bridges())
                }
            };
            port += 1;
            let region = self.port_memory(&self.component[client], net, port, &arguments)?;
            let name = self.component[client].name.get_ref().clone();
            self.shared
                .entry(region.clone())
                .or_insert_with(|| SharedMemory { size: spanned(PORT.into()) });
            let component = &mut self.component[client];
            component.arguments.extend(arguments);
            component.calls.push(Peer::of(net, SWITCH, SWITCH.into(), port + 1));
            component.notifies.push(Peer::of(net, SWITCH, BELL.into(), 1 << port));
            component.shares.push(Share::of(net, &region, MEMORY.into(), false));
            let switch =
                self.component.iter_mut().find(|component| component.name.get_ref() == SWITCH);
            let switch = switch.ok_or_else(|| anyhow!("a network without a switch"))?;
            switch.arguments.push(format!("port-{port}={name}"));
            switch.arguments.extend(bridges.then(|| format!("bridge-{port}=true")));
            switch.shares.push(Share::of(net, &region, format!("port-{port}"), false));
            for (bell, bit) in [("bell", BIT_FRAMES), ("again", BIT_ATTACH)] {
                switch.notifies.push(Peer::of(net, &name, format!("{bell}-{port}"), 1 << bit));
            }
        }
        Ok(())
    }

    /// The name of a client's memory.
    fn port_memory(
        &self,
        client: &Component,
        net: &Spanned<Key<At>>,
        port: u32,
        arguments: &[String],
    ) -> Result<String> {
        self.check_number(&NET, net, (SWITCH, port, MOST_CLIENTS))?;
        if !arguments.is_empty() && server::is_server(client.package()) {
            return Err(self.wrong(
                net,
                "a Linux gets its address from within, not here: write `net = true` or `net = { bridge = true }`",
            ));
        }
        self.check_names(&NET, net, client, SWITCH)?;
        let region = format!("network-{}", client.name.get_ref());
        self.check_private(net, client, SWITCH, std::slice::from_ref(&region))?;
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::samples::{error, parse};
    use crate::machine::board::Board;
    use std::fmt::Write;
    use std::path::Path;

    fn component(name: &str, keys: &str) -> String {
        format!("[[component]]\nname = \"{name}\"\n{keys}\n")
    }

    fn find<'a>(description: &'a Description, name: &str) -> &'a Component {
        description
            .component
            .iter()
            .find(|component| component.name.get_ref() == name)
            .expect("a component")
    }

    /// Which components it calls or notifies, and by which badge.
    fn peers(peers: &[Peer]) -> Vec<(&str, &str, u32)> {
        peers
            .iter()
            .map(|peer| {
                (
                    peer.to.get_ref().as_str(),
                    peer.label(),
                    peer.badge.as_ref().map_or(0, |badge| *badge.get_ref()),
                )
            })
            .collect()
    }

    /// What it shares, and whether it may write there and knows where it is.
    fn shares(component: &Component) -> Vec<(&str, &str, bool, bool)> {
        component
            .shares
            .iter()
            .map(|share| {
                (share.region.get_ref().as_str(), share.label(), share.writable, share.dma)
            })
            .collect()
    }

    #[test]
    fn a_line_is_a_network() {
        let text = component("one", "net = true")
            + &component("none", "net = false")
            + &component("two", "net = true\ncalls = [{ to = \"one\" }]");
        let description = parse(&text).expect("sound");
        let names: Vec<&str> = description
            .component
            .iter()
            .map(|component| component.name.get_ref().as_str())
            .collect();
        // After all others: the numbers by which the console knows those do not change.
        assert_eq!(names, ["one", "none", "two", "nic", "switch"]);
        let (one, two) = (find(&description, "one"), find(&description, "two"));
        assert_eq!(peers(&one.calls), [("switch", "switch", 2)]);
        assert_eq!(peers(&one.notifies), [("switch", "switch-bell", 1 << 1)]);
        assert_eq!(shares(one), [("network-one", "network", true, false)]);
        assert_eq!(peers(&two.calls), [("one", "one", 0), ("switch", "switch", 3)]);
        assert_eq!(peers(&two.notifies), [("switch", "switch-bell", 1 << 2)]);
        assert!(find(&description, "none").grants().is_empty());

        let nic = find(&description, "nic");
        assert_eq!((*nic.priority.get_ref(), nic.service), (140, true));
        assert_eq!(peers(&nic.calls), [("switch", "switch", 1)]);
        assert_eq!(peers(&nic.notifies), [("nic", "interrupt", 1), ("switch", "switch-bell", 1)]);
        assert_eq!(
            shares(nic),
            [("network-card", "network", true, true), ("network-queue", "queue", true, true)]
        );
        assert_eq!(
            nic.pci
                .iter()
                .map(|pci| (pci.name.as_str(), *pci.device.get_ref()))
                .collect::<Vec<_>>(),
            [("card", 6)]
        );

        let switch = find(&description, "switch");
        assert_eq!((*switch.priority.get_ref(), switch.service), (140, true));
        assert!(switch.calls.is_empty());
        let ports = [
            ("network-card", "port-0", true, false),
            ("network-one", "port-1", true, false),
            ("network-two", "port-2", true, false),
        ];
        assert_eq!(shares(switch), ports);
        assert_eq!(switch.arguments, ["port-1=one", "port-2=two"]);
        let bells: Vec<_> = peers(&switch.notifies);
        let expected = ["nic", "one", "two"].into_iter().zip([
            "bell-0 again-0",
            "bell-1 again-1",
            "bell-2 again-2",
        ]);
        let expected: Vec<_> = expected
            .flat_map(|(to, names)| {
                names.split(' ').zip([1 << 18, 1 << 19]).map(move |(name, bit)| (to, name, bit))
            })
            .collect();
        assert_eq!(bells, expected);

        let sizes: Vec<_> = description
            .shared
            .iter()
            .map(|(name, region)| (name.as_str(), region.size.get_ref().as_str()))
            .collect();
        assert_eq!(
            sizes,
            [
                ("network-card", "820K"),
                ("network-one", "820K"),
                ("network-queue", "64K"),
                ("network-two", "820K")
            ]
        );
        assert_eq!(description.devices.iter().collect::<Vec<_>>(), ["nic", "switch"]);
    }

    #[test]
    fn without_it_there_is_none() {
        let description = parse(&component("one", "net = false")).expect("sound");
        assert!(
            description.component.len() == 1
                && description.shared.is_empty()
                && description.devices.is_empty()
        );
    }

    #[test]
    fn what_the_description_says_takes_the_place_of_the_boards() {
        let text = component("one", "net = true")
            + "[devices.switch]\nheap = \"64K\"\n[shared.network-one]\nsize = \"1028K\"\n[devices]\nnic = { on-death = \"stop\" }\n";
        let description = parse(&text).expect("sound");
        let names: Vec<&str> = description
            .component
            .iter()
            .map(|component| component.name.get_ref().as_str())
            .collect();
        assert_eq!(names, ["one", "switch", "nic"]);
        assert_eq!(find(&description, "switch").heap.get_ref(), "64K");
        assert_eq!(
            description.shared.get("network-one").map(|region| region.size.get_ref().as_str()),
            Some("1028K")
        );
    }

    #[test]
    fn the_switch_learns_who_has_others_behind_it() {
        let text = component("one", "net = { bridge = true }")
            + &component("two", "net = { bridge = false }")
            + &component("ip", "net = { address = \"dhcp\", bridge = true }");
        let description = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            find(&description, "switch").arguments,
            ["port-1=one", "bridge-1=true", "port-2=two", "port-3=ip", "bridge-3=true"]
        );
        assert_eq!(find(&description, "ip").arguments, ["address=dhcp"]);
    }

    #[test]
    fn an_address_becomes_arguments() {
        let arguments = |net: &str| {
            let description =
                parse(&component("ip", &format!("arguments = [\"first\"]\nnet = {net}")))
                    .unwrap_or_else(|error| panic!("{error}"));
            find(&description, "ip").arguments.join(" ")
        };
        assert_eq!(arguments("true"), "first");
        assert_eq!(arguments("{ address = \"dhcp\" }"), "first address=dhcp");
        assert_eq!(arguments("{ address = \"10.0.2.40/24\" }"), "first address=10.0.2.40/24");
        assert_eq!(
            arguments(
                "{ name-server = \"8.8.8.8\", gateway = \"10.0.2.2\", address = \"10.0.2.40/24\" }"
            ),
            "first address=10.0.2.40/24 gateway=10.0.2.2 name-server=8.8.8.8"
        );
    }

    #[test]
    fn refuses_addresses_that_are_none() {
        let said = |net: &str| error(&component("ip", &format!("net = {net}")));
        for address in [
            "10.0.2.40",
            "10.0.2/24",
            "10.0.2.40/31",
            "10.0.2.40/0",
            "10.0.2.256/24",
            "fec0::1/64",
            "DHCP",
            "",
        ] {
            let expected = format!(
                "x.toml:3: `{address}` is no address: write `dhcp`, or one with its prefix of 1 to 30 bits as `10.0.2.40/24`"
            );
            assert_eq!(said(&format!("{{ address = \"{address}\" }}")), expected);
        }
        for address in ["10.0.2.0/24", "10.0.2.255/24", "0.0.0.0/8", "127.0.0.1/8", "224.0.0.1/8"] {
            let said = said(&format!("{{ address = \"{address}\" }}"));
            assert!(
                said.ends_with(
                    "is an address that no single host of its network has: choose another"
                ),
                "{said}"
            );
        }
        assert_eq!(
            said("{ address = \"10.0.2.40/24\", gateway = \"10.0.3.2\" }"),
            "x.toml:3: the gateway 10.0.3.2 is not in the network of 10.0.2.40/24: nothing could be sent to it"
        );
        assert_eq!(
            said("{ address = \"10.0.2.40/24\", name-server = \"dns\" }"),
            "x.toml:3: `dns` is no address: write one as `10.0.2.2`"
        );
        assert_eq!(
            said("{ address = \"dhcp\", gateway = \"10.0.2.2\" }"),
            "x.toml:3: DHCP says the gateway, too: leave this out, or write an address instead of `dhcp`"
        );
        assert!(said("{ adress = \"dhcp\" }").ends_with("; did you mean `address`?"));
        assert_eq!(said("{ }"), "x.toml:3: `net = { }` says nothing: write `net = true`");
        assert_eq!(
            said("{ gateway = \"10.0.2.2\", bridge = true }"),
            "x.toml:3: a gateway is for who is told an address: write that, too, or leave this out"
        );
        for value in ["1", "\"dhcp\"", "[true]"] {
            let said = said(value);
            assert!(
                said.starts_with("x.toml:3: invalid type")
                    && said.contains(
                        "`net = true`, `net = { address = \"dhcp\" }`, or `net = { bridge = true }`"
                    ),
                "{said}"
            );
        }
    }

    #[test]
    fn refuses_more_clients_than_a_notification_has_bits() {
        let clients = |count: u32| {
            (1..=count)
                .map(|number| {
                    component(&format!("c{number}"), "heap = \"4K\"\nquota = \"4K\"\nnet = true")
                })
                .collect::<String>()
        };
        let description = parse(&clients(19)).expect("sound");
        assert_eq!(
            peers(&find(&description, "c19").notifies),
            [("switch", "switch-bell", 1 << 19)]
        );
        assert_eq!(peers(&find(&description, "c19").calls), [("switch", "switch", 20)]);
        assert_eq!(
            error(&clients(20)),
            "x.toml:100: this is client 20 of the switch, and it has at most 19: leave `net` out here"
        );
    }

    #[test]
    fn refuses_two_things_of_one_name() {
        let region = "[shared.r]\nsize = \"4K\"\n";
        let given = region.to_string()
            + &component("one", "shares = [{ region = \"r\", as = \"network\" }]\nnet = true");
        let both = "things called `network`, `switch` and `switch-bell`, and it has a `network` already: leave one out";
        assert_eq!(error(&given), format!("x.toml:6: `net` gives `one` {both}"));
        assert_eq!(
            error("[devices]\nnic = { net = true }\n"),
            format!("x.toml:2: `net` gives `nic` {}", both.replace("a `network`", "a `switch`"))
        );
        assert_eq!(
            error("[devices]\nswitch = { net = true }\n"),
            format!("x.toml:2: `net` gives `switch` {both}")
        );
        let only = "and the switch may share";
        assert_eq!(
            error(&component("card", "net = true")),
            format!(
                "x.toml:3: only `card` {only} `network-card`, and `nic` does: give one another name"
            )
        );
        let mut sniffer = component("one", "net = true");
        write!(sniffer, "{}", component("sniffer", "shares = [{ region = \"network-one\" }]"))
            .expect("memory");
        assert_eq!(
            error(&sniffer),
            format!(
                "x.toml:3: only `one` {only} `network-one`, and `sniffer` does: give one another name"
            )
        );
        let controls = |who: &str| {
            format!(
                "shares = [{{ region = \"network-one\" }}]\ncontrols = [{{ as = \"c\", component = \"{who}\" }}]"
            )
        };
        for who in ["one", "switch"] {
            assert!(
                parse(&(component("one", "net = true") + &component("sniffer", &controls(who))))
                    .is_ok(),
                "it has all of it already"
            );
        }
        assert!(
            error(&(component("one", "net = true") + &component("sniffer", &controls("nic"))))
                .contains(only)
        );
        let said = error(&(component("one", "net = true") + &component("switch", "")));
        assert!(
            said.starts_with("x.toml:") && said.contains("there are two components `switch`"),
            "{said}"
        );
    }

    #[test]
    fn a_linux_is_told_no_address() {
        assert_eq!(
            error(&component("linux", "net = { address = \"dhcp\" }")),
            "x.toml:3: a Linux gets its address from within, not here: write `net = true` or `net = { bridge = true }`"
        );
        assert!(parse(&component("linux", "net = true")).is_ok());
    }

    #[test]
    fn a_board_may_have_no_network() {
        let file = Path::new("../boards/pc.toml");
        let mut board = Board::read(file).expect("a board");
        board.text = board.text.replace("[device.nic", "[device.other");
        let said =
            crate::description::parse(Path::new("x.toml"), component("one", "net = true"), &board)
                .map(|_| ());
        let said = said.map_err(|error| error.to_string()).expect_err("refused");
        assert_eq!(
            said,
            "x.toml:3: boards/pc.toml has no device `nic`, so there is no network: leave `net` out, or choose another board"
        );
    }
}
