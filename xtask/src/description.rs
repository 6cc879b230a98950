// SPDX-License-Identifier: MIT OR Apache-2.0
//! System descriptions: reading `systems/*.toml` and checking them. The reference is
//! docs/systems.md. Every mistake is an error with file, line and what to do.

use anyhow::{Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A description as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// Bytes of RAM of the machine.
    #[serde(default = "default_memory")]
    pub memory: Spanned<String>,
    /// Memory shared by components.
    #[serde(default)]
    pub shared: BTreeMap<String, SharedMemory>,
    /// The machine's disks.
    pub disk: Option<Disk>,
    pub second_disk: Option<Disk>,
    /// The components, started in the order of their names within `order`.
    pub component: Vec<Component>,
    /// Only in test systems.
    pub test: Option<Test>,
    #[serde(skip)]
    file: PathBuf,
    #[serde(skip)]
    text: String,
}

/// How a test system is run.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Test {
    /// Seconds of the emulator's own time until it counts as hung.
    pub timeout: u64,
    /// CPU models for QEMU; one run each.
    #[serde(default = "default_cpus")]
    pub cpus: Vec<String>,
    /// Whether it also runs in Bochs.
    #[serde(default)]
    pub bochs: bool,
    /// Its CPU models, as it names them, that it runs on, too.
    #[serde(default)]
    pub bochs_cpus: Vec<String>,
    /// Whether QEMU counts instructions as time.
    #[serde(default)]
    pub icount: bool,
    /// Whether the machine model measures in QEMU how long the kernel looks at no interrupts, and the limit holds.
    #[serde(default)]
    pub latency: bool,
    /// What the machine model must find.
    #[serde(default)]
    pub limit: Vec<Limit>,
}

/// The most that one visit to the kernel may cost, as a median over an interval's repetitions.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// The test's name.
    pub name: String,
    /// The interval's number, as in the program's markers.
    pub interval: u16,
    /// Which visit within it, from 0.
    pub visit: usize,
    /// Most instructions in the kernel.
    pub instructions: u64,
    /// Most cache lines of 32 bytes, code and data together.
    pub lines: u64,
    /// Writes of CR3: exactly so many.
    pub cr3_writes: u64,
}

/// A disk: a file that is made when it is missing, and kept.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Bytes.
    pub size: Spanned<String>,
    /// What is on it at first: an empty ext4 file system, or Debian.
    #[serde(default)]
    pub holds: Contents,
    /// How it is attached in QEMU. Bochs has ATA only.
    #[serde(default)]
    pub interface: Interface,
}

/// What a disk is to the machine.
#[derive(Deserialize, clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// A virtio block device on PCI.
    #[default]
    Virtio,
    /// The first disk of an ATA channel.
    Ata,
}

/// What is on a new disk.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// An empty ext4 file system.
    #[default]
    Ext4,
    /// Debian for i386 on an ext4 file system.
    Debian,
}

/// A piece of shared memory.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Bytes.
    pub size: Spanned<String>,
}

/// A component.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Component {
    /// Its name.
    pub name: Spanned<String>,
    /// The package that it is built from; its name if absent.
    pub package: Option<Spanned<String>>,
    #[serde(default)]
    pub arguments: Vec<String>,
    #[serde(default = "default_heap")]
    pub heap: Spanned<String>,
    /// An eighth of the memory behind its image if absent, and not less than [`LEAST_QUOTA`].
    pub quota: Option<Spanned<String>>,
    /// As many as the kernel has for so much memory, if absent.
    pub threads: Option<Spanned<u32>>,
    #[serde(default = "default_priority")]
    pub priority: Spanned<u8>,
    pub max_priority: Option<Spanned<u8>>,
    #[serde(default = "default_slots")]
    pub slots: Spanned<u32>,
    #[serde(default)]
    pub service: bool,
    /// Whether it may write the machine-readable line.
    #[serde(default)]
    pub results: bool,
    #[serde(default)]
    pub on_death: OnDeath,
    #[serde(default)]
    pub calls: Vec<Peer>,
    #[serde(default)]
    pub notifies: Vec<Peer>,
    #[serde(default)]
    pub irqs: Vec<Spanned<u32>>,
    #[serde(default)]
    pub ports: Vec<Ports>,
    #[serde(default)]
    pub devices: Vec<Device>,
    #[serde(default)]
    pub pci: Vec<Pci>,
    #[serde(default)]
    pub shares: Vec<Share>,
    #[serde(default)]
    pub memory: Vec<Piece>,
    #[serde(default)]
    pub files: Vec<File>,
}

impl Component {
    /// The package it is built from.
    pub fn package(&self) -> &str {
        self.package.as_ref().unwrap_or(&self.name).get_ref()
    }
}

/// A file that the boot image carries for a component.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(rename = "as")]
    pub name: String,
    /// Its path from the project's root, or `busybox`: the root file system that the build makes.
    pub from: Spanned<String>,
    pub at: u32,
}

/// What to do when a component dies.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OnDeath {
    /// Say so.
    #[default]
    Report,
    /// Stop the system.
    Stop,
    /// Start it again.
    #[serde(rename_all = "kebab-case")]
    Restart { first_ms: u32, most_ms: u32 },
}

/// Somebody to call or notify.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub to: Spanned<String>,
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// Badge of a call, or bits of a notification.
    pub badge: Option<Spanned<u32>>,
}

/// A range of I/O ports.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    pub base: Spanned<u32>,
    pub count: u32,
}

/// A range of device registers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    #[serde(rename = "as")]
    pub name: String,
    pub base: Spanned<u32>,
    pub size: Spanned<String>,
    pub at: u32,
}

/// A device of PCI bus 0.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    #[serde(rename = "as")]
    pub name: String,
    pub device: Spanned<u32>,
    pub at: u32,
}

/// Shared memory in a component.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// What the component calls it; the region's name if absent.
    #[serde(rename = "as")]
    pub name: Option<String>,
    pub region: Spanned<String>,
    pub at: u32,
    #[serde(default)]
    pub writable: bool,
    /// Whether it is told the physical address.
    #[serde(default)]
    pub dma: bool,
}

/// RAM as a capability.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Piece {
    #[serde(rename = "as")]
    pub name: String,
    pub size: Spanned<String>,
    /// Whether it is mapped behind the image from the start.
    #[serde(default)]
    pub behind_image: bool,
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
fn default_memory() -> Spanned<String> {
    spanned("128M".into())
}
fn default_heap() -> Spanned<String> {
    spanned("1M".into())
}
fn default_priority() -> Spanned<u8> {
    spanned(100)
}
fn default_slots() -> Spanned<u32> {
    spanned(240)
}
fn default_cpus() -> Vec<String> {
    vec!["pentium3".into()]
}

/// Kernel memory for each entry of the kernel's thread table.
const BYTES_A_THREAD: u32 = 8192;
/// The least that a component has where the description does not say how many.
const FEWEST_THREADS: u32 = 16;

/// The least kernel memory that a component has where the description does not say how much.
const LEAST_QUOTA: u32 = 256 << 10;
/// Memory behind an image for each byte of that.
const BEHIND_A_BYTE: u32 = 8;

/// The description of a system by its name.
pub fn path(name: &str) -> Result<PathBuf> {
    let path = Path::new("systems").join(name).with_extension("toml");
    if path.exists() {
        return Ok(path);
    }
    bail!("there is no system `{name}`: `./macadamia list` shows those that there are")
}

/// Reads and checks a description.
pub fn read(path: &Path) -> Result<Description> {
    let text = std::fs::read_to_string(path)?;
    parse(path, text)
}

/// Parses and checks the text of a description.
pub fn parse(path: &Path, text: String) -> Result<Description> {
    let mut description: Description = match toml::from_str(&text) {
        Ok(description) => description,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            bail!("{}:{line}: {}{}", path.display(), error.message(), nearest(error.message()));
        }
    };
    description.file = path.into();
    description.text = text;
    description.check()?;
    Ok(description)
}

/// For an unknown key: the known one that it is most like, as a sentence.
fn nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(unknown) = names.next().filter(|_| message.starts_with("unknown")) else { return String::new() };
    let like = |name: &&str| (strsim::jaro_winkler(unknown, name) * 1000.0) as u32;
    names.max_by_key(like).filter(|name| like(name) > 800).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).map_or(1, |before| before.matches('\n').count() + 1)
}

impl Description {
    /// The system's name.
    pub fn name(&self) -> String {
        self.file.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
    }

    fn wrong<T>(&self, at: &Spanned<T>, what: &str) -> anyhow::Error {
        anyhow::anyhow!("{}:{}: {what}", self.file.display(), line_of(&self.text, at.span().start))
    }

    /// A size such as `64K`, a multiple of a page.
    pub fn bytes(&self, size: &Spanned<String>) -> Result<u32> {
        let text = size.get_ref();
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'K') => (&text[..text.len() - 1], 10),
            Some(b'M') => (&text[..text.len() - 1], 20),
            _ => (text.as_str(), 0),
        };
        let value = digits.parse::<u64>().ok().and_then(|n| u32::try_from(n << shift).ok());
        value.filter(|v| v.is_multiple_of(abi::PAGE_SIZE)).ok_or_else(|| {
            self.wrong(size, &format!("`{text}` is no size: write a multiple of 4096, as a number or with K or M behind it (`64K`, `2M`)"))
        })
    }

    /// Index of a component.
    pub fn index(&self, name: &Spanned<String>) -> Result<u16> {
        let found = self.component.iter().position(|c| c.name.get_ref() == name.get_ref());
        let names: Vec<_> = self.component.iter().map(|c| c.name.get_ref().as_str()).collect();
        found
            .map(|i| i as u16)
            .ok_or_else(|| self.wrong(name, &format!("there is no component `{}`: name one of {}", name.get_ref(), names.join(", "))))
    }

    /// Kernel memory that a component may use: what lies behind its image is a Linux's RAM, whose processes need
    /// spaces and page tables in proportion.
    pub fn quota(&self, component: &Component) -> Result<u32> {
        if let Some(quota) = &component.quota {
            return self.bytes(quota);
        }
        let mut behind = 0;
        for piece in component.memory.iter().filter(|piece| piece.behind_image) {
            behind += self.bytes(&piece.size)?;
        }
        Ok((behind / BEHIND_A_BYTE).next_multiple_of(4096).max(LEAST_QUOTA))
    }

    /// Threads that a component may make.
    pub fn threads(&self, component: &Component) -> Result<u32> {
        match &component.threads {
            Some(threads) => Ok(*threads.get_ref()),
            None => Ok((self.quota(component)? / BYTES_A_THREAD).max(FEWEST_THREADS)),
        }
    }

    fn check(&self) -> Result<()> {
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

    /// Index of a piece of shared memory.
    pub fn region(&self, name: &Spanned<String>) -> Result<u16> {
        let found = self.shared.keys().position(|n| n == name.get_ref());
        found
            .map(|i| i as u16)
            .ok_or_else(|| self.wrong(name, &format!("there is no shared memory `{0}`: add [shared.{0}]", name.get_ref())))
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
    use super::*;

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
