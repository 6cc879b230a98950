// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description must not say, and what it should not.

use super::{BYTES_A_THREAD, Description};
use anyhow::Result;
use toml::Spanned;

impl Description {
    /// Everything that can be wrong with what was read.
    pub(super) fn check(&self) -> Result<()> {
        let mut ranges: Vec<(u32, u32, &str, &str)> = Vec::new();
        for (i, component) in self.component.iter().enumerate() {
            let name = component.name.get_ref();
            if self.component.iter().take(i).any(|c| c.name.get_ref() == name) {
                return Err(self.wrong(&component.name, &format!("there are two components `{name}`: give one another name")));
            }
            if component.max_priority.as_ref().is_some_and(|m| m.get_ref() < component.priority.get_ref()) {
                return Err(self.wrong(&component.priority, "the priority is above max-priority: raise that or lower this"));
            }
            // Tests read whole lines, and each is a message.
            if component.results && self.test.is_none() && self.component.iter().take(i).any(|c| c.results) {
                return Err(self.wrong(&component.name, "two components have `results`: the second serial line belongs to one"));
            }
            if let Some(peer) = component.calls.iter().find(|peer| peer.to.get_ref() == "console") {
                return Err(self.wrong(&peer.to, "every component may call the console, by a name of its own: leave this out"));
            }
            for peer in component.calls.iter().chain(&component.notifies) {
                self.index(&peer.to)?;
                if let Some(badge) = peer.badge.as_ref().filter(|b| *b.get_ref() > abi::object::BADGE_MAX) {
                    return Err(self.wrong(badge, "a badge has 20 bits: use one below 1048576"));
                }
            }
            for ports in &component.ports {
                let end = ports.base.get_ref().checked_add(ports.count).filter(|end| *end <= 0x1_0000 && ports.count > 0);
                let end = end.ok_or_else(|| self.wrong(&ports.base, "ports go from 0 to 65535"))?;
                self.claim(&mut ranges, ("ports", name), &ports.base, end)?;
            }
            for irq in &component.irqs {
                if *irq.get_ref() > 15 || matches!(irq.get_ref(), 0 | 2) {
                    return Err(self.wrong(irq, "this line cannot be given: use 1 or 3 to 15"));
                }
                self.claim(&mut ranges, ("irqs", name), irq, irq.get_ref() + 1)?;
            }
            for device in &component.devices {
                let end = device.base.get_ref().checked_add(self.bytes(&device.size)?);
                let end = end.ok_or_else(|| self.wrong(&device.base, "the device reaches beyond 4 GiB"))?;
                self.claim(&mut ranges, ("devices", name), &device.base, end)?;
            }
            for pci in &component.pci {
                if *pci.device.get_ref() >= u32::from(image::pci::DEVICES) {
                    return Err(self.wrong(&pci.device, "a PCI bus has devices 0 to 31"));
                }
                self.claim(&mut ranges, ("PCI devices", name), &pci.device, pci.device.get_ref() + 1)?;
            }
            for share in &component.shares {
                self.region(&share.region)?;
            }
        }
        self.check_threads()?;
        self.check_memory()
    }

    fn check_threads(&self) -> Result<()> {
        // An eighth of the memory is the kernel's. What lies behind its last object has no thread, the first
        // entry is nobody's, and the root server is one.
        let all = (self.bytes(&self.memory)? / 8 / BYTES_A_THREAD).saturating_sub(3);
        let mut needed: u64 = 0;
        for component in &self.component {
            needed += 1 + u64::from(self.threads(component)?);
            if needed > u64::from(all) {
                let what = format!(
                    "with this component's there are {needed} threads, but only {all} for {} of memory: raise `memory` or lower `threads`",
                    self.memory.get_ref()
                );
                return Err(component.threads.as_ref().map_or_else(|| self.wrong(&component.name, &what), |at| self.wrong(at, &what)));
            }
        }
        Ok(())
    }

    /// What is allowed and may not be meant, a sentence each: by its `max-priority` a component can keep another
    /// one from running for ever, though by its priority it could not.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for component in &self.component {
            let Some(most) = &component.max_priority else { continue };
            let mut others = self.component.iter().filter(|other| other.priority.get_ref() < most.get_ref());
            let starved = others.find(|o| o.name != component.name && o.priority.get_ref() >= component.priority.get_ref());
            if let Some(starved) = starved {
                let (name, other, priority) = (component.name.get_ref(), starved.name.get_ref(), starved.priority.get_ref());
                let what =
                    format!("`{name}` can keep `{other}` (priority {priority}) from running: lower `max-priority`, or raise that priority");
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
        if let Some((_, _, _, other)) = ranges.iter().find(|(s, e, k, _)| *k == kind && start < *e && *s < end) {
            return Err(self.wrong(base, &format!("{kind} of `{name}` overlap those of `{other}`: each belongs to one component")));
        }
        ranges.push((start, end, kind, name));
        Ok(())
    }

    fn check_memory(&self) -> Result<()> {
        let all = self.bytes(&self.memory)?;
        let mut needed: u64 = 0;
        for component in &self.component {
            needed += u64::from(self.bytes(&component.heap)?) + u64::from(self.quota(component)?);
            for piece in &component.memory {
                needed += u64::from(self.bytes(&piece.size)?);
            }
        }
        for shared in self.shared.values() {
            needed += u64::from(self.bytes(&shared.size)?);
        }
        // An eighth is the kernel's, and what is left has to hold the images.
        let room = u64::from(all) * 3 / 4;
        if needed > room {
            return Err(self.wrong(
                &self.memory,
                &format!(
                    "the components need {} KiB, but only {} KiB of {} are theirs: raise `memory` or lower heaps",
                    needed >> 10,
                    room >> 10,
                    self.memory.get_ref()
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::description::{Interface, parse};
    use std::path::Path;

    fn error(text: &str) -> String {
        match parse(Path::new("x.toml"), text.into()) {
            Ok(_) => panic!("accepted"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn accepts_a_small_system() {
        assert!(parse(Path::new("x.toml"), "[[component]]\nname = \"a\"\n".into()).is_ok());
    }

    #[test]
    fn names_the_line_of_an_unknown_key() {
        let message = error("[[component]]\nname = \"a\"\nprioritty = 3\n");
        assert!(message.starts_with("x.toml:3: unknown field `prioritty`") && message.ends_with("; did you mean `priority`?"), "{message}");
    }

    #[test]
    fn names_an_unknown_component() {
        let message = error("[[component]]\nname = \"a\"\ncalls = [{ to = \"b\" }]\n");
        assert_eq!(message, "x.toml:3: there is no component `b`: name one of a");
    }

    #[test]
    fn refuses_two_of_one_name() {
        assert!(error("[[component]]\nname = \"a\"\n[[component]]\nname = \"a\"\n").starts_with("x.toml:4: there are two components `a`"));
    }

    #[test]
    fn refuses_overlapping_ports() {
        let message = error(
            "[[component]]\nname = \"a\"\nports = [{ base = 8, count = 8 }]\n[[component]]\nname = \"b\"\nports = [{ base = 15, count = 1 }]\n",
        );
        assert!(message.starts_with("x.toml:6: ports of `b` overlap those of `a`"), "{message}");
    }

    #[test]
    fn refuses_overlapping_devices() {
        let one = |name: &str, base: &str| {
            format!("[[component]]\nname = \"{name}\"\ndevices = [{{ as = \"d\", base = {base}, size = \"8K\", at = 0x50000000 }}]\n")
        };
        let message = error(&(one("a", "0xfeb00000") + &one("b", "0xfeb01000")));
        assert!(message.starts_with("x.toml:6: devices of `b` overlap"), "{message}");
    }

    #[test]
    fn refuses_a_pci_device_given_twice() {
        let one = |name: &str, device: u32| {
            format!("[[component]]\nname = \"{name}\"\npci = [{{ as = \"d\", device = {device}, at = 0x50000000 }}]\n")
        };
        assert!(error(&(one("a", 3) + &one("b", 3))).starts_with("x.toml:6: PCI devices of `b` overlap those of `a`"));
        assert_eq!(error(&one("a", 32)), "x.toml:3: a PCI bus has devices 0 to 31");
    }

    #[test]
    fn knows_disks_and_their_interfaces() {
        let with = |keys: &str| format!("[disk]\nsize = \"1M\"\n{keys}\n[second-disk]\nsize = \"1M\"\n[[component]]\nname = \"a\"\n");
        let parsed = parse(Path::new("x.toml"), with("interface = \"ata\"")).expect("sound");
        let interfaces = [parsed.disk, parsed.second_disk].map(|disk| disk.map(|disk| disk.interface == Interface::Ata));
        assert_eq!(interfaces, [Some(true), Some(false)]);
        assert!(error(&with("interface = \"scsi\"")).starts_with("x.toml:3: unknown variant `scsi`"));
    }

    #[test]
    fn refuses_an_interrupt_of_the_kernel() {
        assert!(error("[[component]]\nname = \"a\"\nirqs = [0]\n").starts_with("x.toml:3: this line cannot be given"));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert!(error("memory = \"8M\"\n[[component]]\nname = \"a\"\nheap = \"64M\"\n").starts_with("x.toml:1: the components need"));
    }

    #[test]
    fn refuses_more_threads_than_there_are() {
        let two = |one: u32| format!("[[component]]\nname = \"a\"\nthreads = {one}\n[[component]]\nname = \"b\"\n");
        // 128 MiB have 2048 entries, of which 3 are spoken for; each component's first thread is one besides.
        let most = 2045 - 2 - 32;
        assert!(parse(Path::new("x.toml"), two(most)).is_ok());
        assert!(error(&two(most + 1)).starts_with("x.toml:5: with this component's there are 2046 threads, but only 2045 for 128M"));
        assert!(error(&two(5000)).starts_with("x.toml:3: with this component's there are 5001 threads"));
    }

    #[test]
    fn gives_threads_in_proportion_to_kernel_memory() {
        let threads = |keys: &str| {
            let text = format!("[[component]]\nname = \"a\"\n{keys}\n");
            let description = parse(Path::new("x.toml"), text).expect("sound");
            description.threads(&description.component[0]).expect("a size")
        };
        assert_eq!(["", "quota = \"4M\"", "quota = \"4K\"", "threads = 0"].map(threads), [32, 512, 16, 0]);
    }

    #[test]
    fn refuses_more_memory_behind_images_than_there_can_be() {
        let piece = "{ as = \"ram\", size = \"3072M\", behind-image = true }";
        let said = error(&format!("[[component]]\nname = \"a\"\nmemory = [{piece}, {piece}]\n"));
        assert!(said.starts_with("x.toml:"), "{said}");
    }

    #[test]
    fn refuses_a_size_that_is_none() {
        assert!(error("[[component]]\nname = \"a\"\nheap = \"12\"\n").starts_with("x.toml:3: `12` is no size"));
    }

    #[test]
    fn gives_the_results_to_one() {
        let two = "[[component]]\nname = \"a\"\nresults = true\n[[component]]\nname = \"b\"\nresults = true\n";
        assert!(error(two).starts_with("x.toml:5: two components have `results`"));
        assert!(parse(Path::new("x.toml"), format!("{two}[test]\ntimeout = 1\n")).is_ok());
    }

    #[test]
    fn warns_of_who_can_starve_a_peer() {
        let with = |most: u32, peer: u32| {
            let text = format!(
                "[[component]]\nname = \"a\"\npriority = 100\nmax-priority = {most}\n[[component]]\nname = \"b\"\npriority = {peer}\n"
            );
            parse(Path::new("x.toml"), text).expect("sound").warnings()
        };
        assert_eq!(
            with(120, 100),
            ["x.toml:4: `a` can keep `b` (priority 100) from running: lower `max-priority`, or raise that priority"]
        );
        assert_eq!(with(120, 119).len(), 1);
        for (most, peer) in [(120, 120), (100, 100), (120, 99)] {
            assert!(with(most, peer).is_empty(), "{most}, {peer}");
        }
    }

    #[test]
    fn refuses_another_name_at_the_console() {
        let message = error("[[component]]\nname = \"console\"\n[[component]]\nname = \"a\"\ncalls = [{ to = \"console\", badge = 5 }]\n");
        assert!(message.starts_with("x.toml:5: every component may call the console"), "{message}");
    }

    #[test]
    fn refuses_a_large_badge() {
        assert!(
            error("[[component]]\nname = \"a\"\ncalls = [{ to = \"a\", badge = 1048576 }]\n").starts_with("x.toml:3: a badge has 20 bits")
        );
    }
}
