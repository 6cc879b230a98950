// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is common to all keys that make a component the client of a server: of the network's
//! switch, the screen, a disk, an IP server.

use super::{Component, Description};
use anyhow::Result;
use toml::Spanned;

/// What such a key gives.
pub(super) struct Service {
    /// The key.
    pub key: &'static str,
    /// What a client calls the things that it is given.
    pub grants: &'static [&'static str],
}

impl Service {
    /// The names of what is given, as a part of a sentence.
    fn names(&self) -> String {
        let quoted: Vec<String> = self.grants.iter().map(|grant| format!("`{grant}`")).collect();
        match quoted.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => quoted.concat(),
        }
    }
}

impl Description {
    /// Refuses the `number`th client of a server that has fewer.
    pub(super) fn check_number<K>(
        &self,
        service: &Service,
        key: &Spanned<K>,
        (server, number, most): (&str, u32, u32),
    ) -> Result<()> {
        if number <= most {
            return Ok(());
        }
        let what = format!(
            "this is client {number} of the {server}, and it has at most {most}: leave `{}` out here",
            service.key
        );
        Err(self.wrong(key, &what))
    }

    /// Refuses a client that has something of a name already that the key gives, and the `server`
    /// itself as a client: it has all of them.
    pub(super) fn check_names<K>(
        &self,
        service: &Service,
        key: &Spanned<K>,
        client: &Component,
        server: &str,
    ) -> Result<()> {
        let name = client.name.get_ref();
        let all = client.grants();
        let own = all.iter().map(|(grant, _)| *grant).find(|grant| service.grants.contains(grant));
        let own = own.or_else(|| service.grants.first().copied().filter(|_| name == server));
        let Some(own) = own else { return Ok(()) };
        let what = format!(
            "`{}` gives `{name}` things called {}, and it has a `{own}` already: leave one out",
            service.key,
            service.names()
        );
        Err(self.wrong(key, &what))
    }

    /// Refuses a client if anybody else has memory that only it and the `server` may have. Who
    /// controls one of them has all of it already.
    pub(super) fn check_private<K>(
        &self,
        key: &Spanned<K>,
        client: &Component,
        server: &str,
        regions: &[String],
    ) -> Result<()> {
        let name = client.name.get_ref();
        let controls = |other: &Component| {
            let mut all = other.controls.iter().map(|it| it.component.get_ref());
            all.any(|it| it == name || it == server)
        };
        for other in self.component.iter().filter(|other| !controls(other)) {
            let mut shared = other.shares.iter().map(|share| share.region.get_ref());
            if let Some(region) = shared.find(|region| regions.contains(region)) {
                let what = format!(
                    "only `{name}` and the {server} may share `{region}`, and `{}` does: give one another name",
                    other.name.get_ref()
                );
                return Err(self.wrong(key, &what));
            }
        }
        Ok(())
    }
}
