// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description must not say (an error), and what it should not say (a warning).

use super::described::BYTES_A_THREAD;
use super::sources::spanned;
use super::{Component, Description};
use crate::linux::server;
use crate::machine::board::Board;
use anyhow::{Result, bail, ensure};
use image::{Colours, Places, Small, Window};
use toml::Spanned;

/// Bytes of a grant's name: as many as the Linux server reads (`start.c`).
const NAME_BYTES: usize = 23;
/// Bytes of RAM that a Linux needs at least: with 8 MiB it boots, and its init waits for ever as it
/// can start no program.
pub(super) const LEAST_RAM: u32 = 16 << 20;

impl Description {
    /// Everything that can be wrong with what was read.
    pub(super) fn check(&self, board: &Board) -> Result<()> {
        self.disks.values().try_for_each(|disk| self.disk_bytes(disk).map(drop))?;
        let mut ranges: Vec<(u32, u32, &str, &str)> = Vec::new();
        for (i, component) in self.component.iter().enumerate() {
            let name = component.name.get_ref();
            if self.component.iter().take(i).any(|c| c.name.get_ref() == name) {
                return Err(self.wrong(
                    &component.name,
                    &format!("there are two components `{name}`: give one another name"),
                ));
            }
            if component
                .max_priority
                .as_ref()
                .is_some_and(|m| m.get_ref() < component.priority.get_ref())
            {
                return Err(self.wrong(
                    &component.priority,
                    "the priority is above max-priority: raise that or lower this",
                ));
            }
            // Tests read whole lines, and each is a message.
            if component.results
                && self.test.is_none()
                && self.component.iter().take(i).any(|c| c.results)
            {
                return Err(self.wrong(
                    &component.name,
                    "two components have `results`: the second serial line belongs to one",
                ));
            }
            if let Some(peer) = component.calls.iter().find(|peer| peer.to.get_ref() == "console") {
                return Err(self.wrong(
                    &peer.to,
                    "every component may call the console, by a name of its own: leave this out",
                ));
            }
            for peer in component.calls.iter().chain(&component.notifies) {
                self.index(&peer.to)?;
                if let Some(badge) =
                    peer.badge.as_ref().filter(|b| *b.get_ref() > abi::object::BADGE_MAX)
                {
                    return Err(self.wrong(badge, "a badge has 20 bits: use one below 1048576"));
                }
            }
            for peer in &component.notifies {
                if let Some(badge) = peer.badge.as_ref().filter(|badge| *badge.get_ref() == 0) {
                    return Err(self.wrong(
                        badge,
                        "a notification with the badge 0 sets no bit: write the bits that it sets, or leave `badge` out",
                    ));
                }
            }
            for ports in &component.ports {
                if board.ports == 0 {
                    return Err(self.wrong(
                        &ports.base,
                        &format!(
                            "the board `{}` has no I/O ports: leave `ports` out",
                            board.name()
                        ),
                    ));
                }
                let end = ports
                    .base
                    .get_ref()
                    .checked_add(ports.count)
                    .filter(|end| *end <= board.ports && ports.count > 0);
                let end = end.ok_or_else(|| {
                    self.wrong(
                        &ports.base,
                        &format!(
                            "`{}` has {} ports, from 0 on: use at least one of them",
                            board.name(),
                            board.ports
                        ),
                    )
                })?;
                self.claim(&mut ranges, ("ports", name), &ports.base, end)?;
            }
            for irq in &component.irqs {
                let lines = &board.interrupts;
                let line = *irq.line.get_ref();
                if line >= lines.lines || lines.kernel.contains(&line) {
                    let what = format!(
                        "this line cannot be given: use one below {}, but for {:?}",
                        lines.lines, lines.kernel
                    );
                    return Err(self.wrong(&irq.line, &what));
                }
                self.claim(&mut ranges, ("irqs", name), &irq.line, line + 1)?;
            }
            for device in &component.devices {
                let end = device.base.get_ref().checked_add(self.bytes(&device.size)?);
                let end =
                    end.ok_or_else(|| self.wrong(&device.base, "the device reaches beyond 4 GiB"))?;
                self.claim(&mut ranges, ("devices", name), &device.base, end)?;
            }
            for controlled in &component.controls {
                self.index(&controlled.component)?;
            }
            let most = image::Resource::LEAST_HEARTBEAT_MS..=image::Resource::MOST_HEARTBEAT_MS;
            if let Some(ms) =
                component.heartbeat_ms.as_ref().filter(|ms| !most.contains(ms.get_ref()))
            {
                return Err(self.wrong(
                    ms,
                    &format!(
                        "a heartbeat is due within {} to {} milliseconds",
                        most.start(),
                        most.end()
                    ),
                ));
            }
            for pci in &component.pci {
                if !board.pci {
                    return Err(self.wrong(
                        &pci.device,
                        &format!("the board `{}` has no PCI bus: leave `pci` out", board.name()),
                    ));
                }
                if *pci.device.get_ref() >= u32::from(image::pci::DEVICES) {
                    return Err(self.wrong(&pci.device, "a PCI bus has devices 0 to 31"));
                }
                self.claim(
                    &mut ranges,
                    ("PCI devices", name),
                    &pci.device,
                    pci.device.get_ref() + 1,
                )?;
            }
            for share in &component.shares {
                self.region(&share.region)?;
            }
            self.check_grants(component)?;
            let package = component.package();
            if server::is_server(package)
                && (board.linux.is_none() || server::layout(package, board.processor)?.is_none())
            {
                let what = format!(
                    "there is no `{package}` for the board `{}`: leave this component out",
                    board.name()
                );
                return Err(self.wrong(&component.name, &what));
            }
            self.check_ram(component)?;
            self.check_window(component)?;
            self.check_small(component)?;
            self.check_colours(component)?;
            for addresses in &component.addresses {
                let bytes = self.bytes(&addresses.size)?;
                if bytes == 0
                    || bytes % Window::ALIGNMENT != 0
                    || bytes > self.processor().layout.windows.most
                {
                    return Err(self.wrong(
                        &addresses.size,
                        "a server's window has a multiple of 4M, and 2048M at most",
                    ));
                }
            }
        }
        self.homes()?;
        self.check_memory(board)?;
        self.check_threads(board)?;
        self.check_divided(
            self.processor().relocation_slots,
            "slots of relocation",
            "give some component fewer by `relocation-slots`",
            |component| (self.relocation_slots(component), component.relocation_slots.as_ref()),
        )?;
        self.check_divided(
            self.processor().locked_ranges,
            "ranges of locked lines",
            "give some component fewer",
            |component| (self.locked_ranges(component), component.locked_ranges.as_ref()),
        )
    }

    /// The same system on a machine with so many MiB of RAM.
    ///
    /// # Errors
    /// If its components have no room there: how much they need is said.
    pub fn with_memory(mut self, mib: u32, board: &Board) -> Result<Self> {
        let mut has_room = |mib: u32| {
            self.memory = spanned(format!("{mib}M"));
            self.check_memory(board).and_then(|()| self.check_threads(board)).is_ok()
        };
        let most = board.processor.most_mib;
        ensure!(
            mib <= most,
            "--memory {mib} is more than the kernel uses on the board `{}`: use --memory {most} or less",
            board.name()
        );
        if !has_room(mib) && !has_room(most) {
            bail!(
                "--memory {mib} is too little, and so is all that a machine can have: give components less in the description"
            );
        }
        let least = (mib..most).find(|mib| has_room(*mib)).unwrap_or(most);
        ensure!(
            least == mib,
            "--memory {mib} is too little for what the components of {} are given: use --memory {least} or more, or leave it out",
            self.name()
        );
        Ok(self)
    }

    /// A component finds what it was given by its name, which the start block's text has between
    /// blanks.
    fn check_grants(&self, component: &Component) -> Result<()> {
        let grants = component.grants();
        for (i, (name, at)) in grants.iter().enumerate() {
            let mistake = if name.is_empty()
                || name.len() > NAME_BYTES
                || name.contains(|c: char| c.is_whitespace() || c.is_control())
            {
                format!("`{name}` is no name: use 1 to {NAME_BYTES} bytes without blanks")
            } else if grants.iter().take(i).any(|(other, _)| other == name) {
                format!(
                    "`{}` is given two things called `{name}`: give one another name with `as`",
                    component.name.get_ref()
                )
            } else {
                continue;
            };
            return Err(self.sources.wrong((*at, mistake)));
        }
        Ok(())
    }

    /// A Linux has RAM to start programs in.
    fn check_ram(&self, component: &Component) -> Result<()> {
        for piece in component
            .memory
            .iter()
            .filter(|piece| piece.behind_image && server::is_server(component.package()))
        {
            if self.bytes(&piece.size)? < LEAST_RAM {
                let what = format!(
                    "{} are too few for a Linux, which could start no program: give it 16M or more",
                    piece.size.get_ref()
                );
                return Err(self.wrong(&piece.size, &what));
            }
        }
        Ok(())
    }

    /// Only a Linux has a window and a configuration.
    fn check_window(&self, component: &Component) -> Result<()> {
        let (package, window) = (component.package(), self.window(component)?);
        let server = component.server.as_ref().map(|at| (at.span().start, "server"));
        let size = component.window.as_ref().map(|at| (at.span().start, "window"));
        let configuration =
            component.configuration.as_ref().map(|at| (at.span().start, "configuration"));
        let Some((at, key)) = server.or(size).or(configuration).filter(|_| window.is_none()) else {
            return Ok(());
        };
        Err(self.sources.wrong((
            at,
            format!("`{key}` is for a Linux, and the package `{package}` is none: leave it out"),
        )))
    }

    /// A small space has one of the sizes, and a group is of small ones.
    fn check_small(&self, component: &Component) -> Result<()> {
        let package = component.package();
        let Some(size) = &component.small else {
            let Some(group) = &component.group else { return Ok(()) };
            return Err(self.wrong(group, "only small components have a group: write `small = \"16M\"`, too, or leave this out"));
        };
        if server::is_server(package) {
            return Err(
                self.wrong(size, "a Linux is a server or large, and never small: leave this out")
            );
        }
        let bytes = self.bytes(size)?;
        if !bytes.is_power_of_two() || !Small::SIZES.contains(&bytes) {
            return Err(
                self.wrong(size, "a small space has 16M, 32M, ... up to 1024M: a power of two")
            );
        }
        let most = Places::below(bytes).heap_most;
        if self.bytes(&component.heap)? > most {
            let what = format!(
                "a small space of {} has room for a heap of {}K: write a larger `small`, or a smaller `heap`",
                size.get_ref(),
                most >> 10
            );
            return Err(self.wrong(&component.heap, &what));
        }
        Ok(())
    }

    /// There are such colours, and its memory can be in pieces.
    fn check_colours(&self, component: &Component) -> Result<()> {
        let Some(colours) = &component.colours else { return Ok(()) };
        if !colours.get_ref().is_possible() {
            let Colours { first, count, of } = colours.get_ref();
            let what = format!(
                "there are no {count} colours from {first} on of {of}: `of` is a power of two up to {}, and a component has some of them but not all",
                Colours::MOST
            );
            return Err(self.wrong(colours, &what));
        }
        if server::is_server(component.package()) {
            let what = "a Linux's memory is one piece, which has all colours: leave this out";
            return Err(self.wrong(colours, what));
        }
        if component.memory.iter().any(|piece| piece.behind_image) {
            let what = "memory after an image is one piece, which has all colours: leave this out, or `behind-image`";
            return Err(self.wrong(colours, what));
        }
        Ok(())
    }

    fn check_threads(&self, board: &Board) -> Result<()> {
        // An eighth of the memory is the kernel's, up to a limit. What lies after its last object
        // has no thread, no thread has the first entry, and the root server is one.
        let most = board.processor.most_pool;
        let pool = (self.sources.long(&self.memory)? / 8).min(most.into()) as u32;
        let all = (pool / BYTES_A_THREAD).saturating_sub(3);
        // Each component has a native space. So does the root server, and another one for threads
        // that wait.
        let space = board.processor.threads_a_space(all.next_power_of_two());
        let all = all.saturating_sub(2 * space);
        let mut needed: u64 = 0;
        for component in &self.component {
            needed += u64::from(1 + space) + u64::from(*component.threads.get_ref());
            if needed > u64::from(all) {
                let what = format!(
                    "with this component's there are {needed} threads, but only {all} for {} of memory: raise `memory` or lower `threads`",
                    self.memory.get_ref()
                );
                return Err(self.wrong(&component.threads, &what));
            }
        }
        Ok(())
    }

    /// Of what the processor has `all`, called `what`, each component has what `of` says, and
    /// perhaps a key for it.
    fn check_divided(
        &self,
        all: u32,
        what: &str,
        cure: &str,
        of: impl Fn(&Component) -> (u32, Option<&Spanned<u32>>),
    ) -> Result<()> {
        let mut needed: u64 = 0;
        for component in &self.component {
            let (own, key) = of(component);
            needed += u64::from(own);
            if needed > u64::from(all) {
                let what = format!(
                    "with this component's there are {needed} {what}, but only {all}: {cure}"
                );
                return Err(key.map_or_else(
                    || self.wrong(&component.name, &what),
                    |at| self.wrong(at, &what),
                ));
            }
        }
        Ok(())
    }

    /// What is allowed and may not be meant, a sentence each: by its `max-priority` a component can
    /// keep another one from running for ever, though by its priority it could not.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for component in &self.component {
            let Some(most) = &component.max_priority else { continue };
            let mut others =
                self.component.iter().filter(|other| other.priority.get_ref() < most.get_ref());
            let starved = others.find(|o| {
                o.name != component.name && o.priority.get_ref() >= component.priority.get_ref()
            });
            if let Some(starved) = starved {
                let (name, other, priority) =
                    (component.name.get_ref(), starved.name.get_ref(), starved.priority.get_ref());
                let what = format!(
                    "`{name}` can keep `{other}` (priority {priority}) from running: lower `max-priority`, or raise that priority"
                );
                warnings.push(self.wrong(most, &what).to_string());
            }
        }
        warnings
    }

    fn claim<'a>(
        &self,
        ranges: &mut Vec<(u32, u32, &'a str, &'a str)>,
        who: (&'a str, &'a str),
        base: &Spanned<u32>,
        end: u32,
    ) -> Result<()> {
        let (kind, name) = who;
        let start = *base.get_ref();
        if let Some((_, _, _, other)) =
            ranges.iter().find(|(s, e, k, _)| *k == kind && start < *e && *s < end)
        {
            return Err(self.wrong(
                base,
                &format!(
                    "{kind} of `{name}` overlap those of `{other}`: each belongs to one component"
                ),
            ));
        }
        ranges.push((start, end, kind, name));
        Ok(())
    }

    /// Bytes of memory that the components need, and those that are theirs.
    pub(super) fn demand(&self) -> Result<(u64, u64)> {
        let all = self.sources.long(&self.memory)?;
        let mut needed: u64 = 0;
        for component in &self.component {
            needed += u64::from(self.bytes(&component.heap)?) + u64::from(component.quota);
            for piece in &component.memory {
                needed += u64::from(self.bytes(&piece.size)?);
            }
        }
        for shared in self.shared.values() {
            needed += u64::from(self.bytes(&shared.size)?);
        }
        // An eighth is the kernel's, and what is left has to hold the images.
        Ok((needed, all / 4 * 3))
    }

    fn check_memory(&self, board: &Board) -> Result<()> {
        let most = board.processor.most_mib;
        if self.sources.long(&self.memory)? > u64::from(most) << 20 {
            let mistake = format!(
                "{} is more than the kernel uses on the board `{}`: write `{most}M` or less",
                self.memory.get_ref(),
                board.name()
            );
            return Err(self.wrong(&self.memory, &mistake));
        }
        let (needed, room) = self.demand()?;
        if needed > room {
            let (least, most) = (needed >> 10, room >> 10);
            let memory = self.memory.get_ref();
            let mistake = if self.has_all_of(board)? {
                format!(
                    "the components need {least} KiB, but only {most} KiB of the {memory} that the board `{}` has are theirs: give components less (`heap`, `quota`, `memory`), or choose another board",
                    board.name()
                )
            } else {
                format!(
                    "the components need {least} KiB, but only {most} KiB of {memory} are theirs: raise `memory`, or give components less (`heap`, `quota`, `memory`)"
                )
            };
            return Err(self.wrong(&self.memory, &mistake));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
