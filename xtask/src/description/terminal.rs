// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device `terminal` of a description, which shows the console on a part of the screen: the
//! terminal and the console share two tapes, and notify each other.

use super::sources::spanned;
use super::{Description, Peer, Share};
use anyhow::{Result, bail};
use image::protocol::console::shown::{BIT_KEYS, BIT_TEXT};

/// The component's name.
pub(super) const TERMINAL: &str = "terminal";
const CONSOLE: &str = "console";
/// What the console calls the terminal to notify.
const TEXT_BELL: &str = "text-bell";

impl Description {
    /// Joins both, if there is a terminal.
    ///
    /// # Errors
    /// If there is no console that it could show.
    pub(super) fn show_console(&mut self) -> Result<()> {
        if !self.devices.contains(TERMINAL) {
            return Ok(());
        }
        let find = |wanted: &str| {
            self.component.iter().position(|component| component.name.get_ref() == wanted)
        };
        let (Some(terminal), Some(console)) = (find(TERMINAL), find(CONSOLE)) else {
            bail!(
                "`terminal` shows the console, and there is none: write `console = {{}}` below `[devices]`"
            )
        };
        // An explanation has said it.
        if self.component[console].notifies.iter().any(|peer| peer.label() == TEXT_BELL) {
            return Ok(());
        }
        let key = spanned(());
        let component = &mut self.component[console];
        component.shares.push(Share::of(&key, "terminal-text", "text".into(), false));
        component.shares.push(Share {
            writable: false,
            ..Share::of(&key, "terminal-keys", "keys".into(), false)
        });
        component.notifies.push(Peer::of(&key, TERMINAL, TEXT_BELL.into(), 1 << BIT_TEXT));
        let component = &mut self.component[terminal];
        component.notifies.push(Peer::of(&key, CONSOLE, "keys-bell".into(), 1 << BIT_KEYS));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::description::samples::{error, parse};

    #[test]
    fn a_terminal_and_the_console_are_joined() {
        let description = parse("[devices]\nconsole = {}\nterminal = {}\n")
            .unwrap_or_else(|error| panic!("{error}"));
        let shares = |name: &str| -> Vec<(String, bool)> {
            let find = |one: &&crate::description::Component| one.name.get_ref() == name;
            let component = description.component.iter().find(find).expect("a component");
            let tapes = component
                .shares
                .iter()
                .filter(|share| share.region.get_ref().starts_with("terminal"));
            tapes.map(|share| (share.label().to_owned(), share.writable)).collect()
        };
        let tapes = |text, keys| vec![("text".to_owned(), text), ("keys".to_owned(), keys)];
        assert_eq!(shares("console"), tapes(true, false));
        // It has more, of the screen's.
        assert_eq!(shares("terminal")[..2], tapes(false, true));
        let said = error("[devices]\nterminal = {}\n");
        assert!(said.contains("write `console = {}`"), "{said}");
    }
}
