// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sockets of a description: what the IP server and each component with `sockets` are given
//! (docs/ip.md).

use super::clients::Service;
use super::described::Wish;
use super::net::IP;
use super::{Component, Description, Peer, Share, SharedMemory, spanned};
use crate::linux::server;
use anyhow::Result;
use toml::Spanned;

/// What a client calls the server and its memory.
const SERVER: &str = "ip";
const MEMORY: &str = "sockets";
const SERVICE: Service = Service { key: "sockets", grants: &[SERVER, MEMORY] };
/// Bytes of a client's memory, unless the description says others: eight threads use sockets at a
/// time.
const BYTES: &str = "64K";

impl Description {
    /// Gives each component with `sockets` a place at its IP server, in the order of the
    /// description.
    pub(super) fn give_sockets(&mut self, wishes: &[Wish<String>]) -> Result<()> {
        // How many clients each server has.
        let mut clients = vec![0; self.component.len()];
        for Wish { component: index, key } in wishes {
            let index = *index;
            let server = self.ip_server(&self.component[index], key)?;
            clients[server] += 1;
            let number: u32 = clients[server];
            let name = self.component[index].name.get_ref().clone();
            let region = format!("{}-{name}", key.get_ref());
            self.shared
                .entry(region.clone())
                .or_insert_with(|| SharedMemory { size: spanned(BYTES.into()) });
            let component = &mut self.component[index];
            component.calls.push(Peer::of(key, key.get_ref(), SERVER.into(), number));
            component.shares.push(Share::of(key, &region, MEMORY.into(), false));
            let component = &mut self.component[server];
            component.shares.push(Share::of(key, &region, format!("client-{number}"), false));
            component.arguments.push(format!("client-{number}={name}"));
        }
        Ok(())
    }

    /// The server that a client names.
    fn ip_server(&self, client: &Component, key: &Spanned<String>) -> Result<usize> {
        let server = key.get_ref();
        if server::is_server(client.package()) {
            return Err(self.wrong(key, "a Linux has sockets of its own: write `net = true`"));
        }
        self.check_names(&SERVICE, key, client, server)?;
        let is_server =
            |component: &Component| component.name.get_ref() == server && component.package() == IP;
        self.component.iter().position(is_server).ok_or_else(|| {
            let what = format!("there is no IP server `{server}`: add `{IP} = {{ net = {{ address = \"dhcp\" }} }}` below `[devices]`, and name `{IP}` here");
            self.wrong(key, &what)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::description::samples::{error, parse};

    const IP_SERVER: &str = "[devices]\nip = { net = { address = \"dhcp\" } }\n";

    fn client(name: &str) -> String {
        format!("[[component]]\nname = \"{name}\"\nsockets = \"ip\"\n")
    }

    #[test]
    fn a_line_is_a_place_at_the_server() {
        let description = parse(&(client("one") + &client("two") + IP_SERVER)).expect("sound");
        let find = |name: &str| {
            description
                .component
                .iter()
                .find(|component| component.name.get_ref() == name)
                .expect("a component")
        };
        for (name, number) in [("one", 1), ("two", 2)] {
            let calls: Vec<_> = find(name)
                .calls
                .iter()
                .map(|peer| {
                    (
                        peer.to.get_ref().as_str(),
                        peer.label(),
                        *peer.badge.as_ref().expect("one").get_ref(),
                    )
                })
                .collect();
            assert_eq!(calls, [("ip", "ip", number)]);
            assert_eq!(find(name).shares[0].label(), "sockets");
        }
        let ip = find("ip");
        assert_eq!(ip.arguments, ["address=dhcp", "client-1=one", "client-2=two"]);
        let shares: Vec<_> = ip
            .shares
            .iter()
            .map(|share| (share.region.get_ref().as_str(), share.label()))
            .collect();
        assert_eq!(
            shares,
            [("network-ip", "network"), ("ip-one", "client-1"), ("ip-two", "client-2")]
        );
        assert_eq!(description.shared["ip-one"].size.get_ref(), "64K");
    }

    #[test]
    fn refuses_what_is_no_client_or_no_server() {
        let said = error(&client("one"));
        assert_eq!(
            said,
            "x.toml:3: there is no IP server `ip`: add `ip = { net = { address = \"dhcp\" } }` below `[devices]`, and name `ip` here"
        );
        let said = error(
            &(client("one").replace("\"ip\"", "\"two\"")
                + "[[component]]\nname = \"two\"\n"
                + IP_SERVER),
        );
        assert!(said.starts_with("x.toml:3: there is no IP server `two`"), "{said}");
        assert_eq!(
            error(&(client("linux") + IP_SERVER)),
            "x.toml:3: a Linux has sockets of its own: write `net = true`"
        );
        let said = error(&(client("one") + "calls = [{ to = \"ip\" }]\n" + IP_SERVER));
        assert_eq!(
            said,
            "x.toml:3: `sockets` gives `one` things called `ip` and `sockets`, and it has a `ip` already: leave one out"
        );
    }
}
