// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a boot image from ELF files and a complete description. It does not know where the files
//! come from.

use crate::description::{Description, OnDeath, text_of};
use crate::linux::root::{self, Insert};
use crate::linux::server;
use crate::machine::processor::Processor;
use abi::TABLE_SPAN;
use abi::boot::{HEADER_BYTES, Header, MAGIC, VERSION, header_crc};
use anyhow::{Context, Result, anyhow, bail, ensure};
use image::{Component, Grant, Load, Resource, Shared, Small, System, Window, layout};
use object::elf::{FileHeader32, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSymbol, Symbol, SymbolKind};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Stack of every first thread; also its alignment.
const STACK: u32 = 65536;

/// What is left free between parts of an ELF file that are made one is less than this.
const GAP: u32 = 65536;

/// A loadable part of an ELF file.
struct Part {
    address: u32,
    data: Vec<u8>,
    memory_bytes: u32,
    writable: bool,
}

struct Elf {
    entry: u32,
    parts: Vec<Part>,
}

/// What a file loads, from `base` on, in whole pages of so many bytes.
fn read_elf(path: &Path, base: u64, page: u32) -> Result<Elf> {
    let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    match FileKind::parse(&*data) {
        Ok(FileKind::Elf32) => elf_of::<FileHeader32<Endianness>>(path, &data, base, page),
        Ok(FileKind::Elf64) => elf_of::<FileHeader64<Endianness>>(path, &data, base, page),
        _ => bail!("{} is no ELF file", path.display()),
    }
}

/// The same of such a file: all of it lies in 4 GiB from there.
fn elf_of<H: FileHeader<Endian = Endianness>>(
    path: &Path,
    data: &[u8],
    base: u64,
    page: u32,
) -> Result<Elf> {
    let damaged = || format!("{} is damaged", path.display());
    let file = H::parse(data).with_context(damaged)?;
    let endian = file.endian().with_context(damaged)?;
    let low = |value: u64| {
        u32::try_from(value)
            .with_context(|| format!("{} has something beyond 4 GiB", path.display()))
    };
    let place = |address: u64| {
        let from = || format!("{} has something below {base:#x}", path.display());
        low(address.checked_sub(base).with_context(from)?)
    };
    let mut parts = Vec::new();
    for header in file.program_headers(endian, data).with_context(damaged)? {
        let memory_bytes = low(header.p_memsz(endian).into())?;
        if header.p_type(endian) != PT_LOAD || memory_bytes == 0 {
            continue;
        }
        let bytes = header.data(endian, data).ok().with_context(damaged)?;
        // Whole pages: the head of the first page is part of it.
        let address = place(header.p_vaddr(endian).into())?;
        let lead = address % page;
        let mut data = vec![0; lead as usize];
        data.extend_from_slice(bytes);
        let memory_bytes = memory_bytes + lead;
        parts.push(Part {
            address: address - lead,
            data,
            memory_bytes,
            writable: header.p_flags(endian) & object::elf::PF_W != 0,
        });
    }
    parts.sort_by_key(|part| part.address);
    for pair in parts.windows(2) {
        let end = pair[0].address + pair[0].memory_bytes.next_multiple_of(page);
        ensure!(
            end <= pair[1].address,
            "{}: two segments share a page: link it with page-aligned segments",
            path.display()
        );
    }
    ensure!(!parts.is_empty(), "{} has nothing to load", path.display());
    Ok(Elf { entry: place(file.e_entry(endian).into())?, parts: joined(parts) })
}

/// Makes one part of those that adjoin, but for a gap, and may be written alike: it is mapped at
/// once, so that large pages can be used.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for part in parts {
        match all.last_mut() {
            Some(last)
                if last.writable == part.writable
                    && part.address - (last.address + last.memory_bytes) < GAP =>
            {
                last.data.resize((part.address - last.address) as usize, 0);
                last.data.extend_from_slice(&part.data);
                last.memory_bytes = part.address + part.memory_bytes - last.address;
            }
            _ => all.push(part),
        }
    }
    all
}

/// The root server's memory as it is at start: segments, .bss, stack.
struct Flat {
    bytes: Vec<u8>,
    address: u32,
    entry: u32,
    stack: u32,
}

fn flatten(elf: &Elf) -> Flat {
    let address = elf.parts.first().map_or(0, |part| part.address);
    let end =
        elf.parts.iter().map(|part| part.address + part.memory_bytes).max().unwrap_or(address);
    let stack = end.next_multiple_of(STACK) + STACK;
    let mut bytes = vec![0; (stack - address) as usize];
    for part in &elf.parts {
        let start = (part.address - address) as usize;
        bytes[start..start + part.data.len()].copy_from_slice(&part.data);
    }
    Flat { bytes, address, entry: elf.entry, stack }
}

/// An image that grows by whole pages.
struct Image {
    bytes: Vec<u8>,
    /// Bytes of a page.
    page: usize,
    /// What was added.
    parts: Vec<Range<usize>>,
}

impl Image {
    /// One with room for its header.
    fn new(page: u32) -> Self {
        Self { bytes: vec![0; page as usize], page: page as usize, parts: Vec::new() }
    }

    /// Where these bytes are. What several components have, as two servers of one kind, is there
    /// once.
    fn add(&mut self, data: &[u8]) -> u32 {
        if let Some(same) =
            self.parts.iter().find(|part| self.bytes.get((*part).clone()) == Some(data))
        {
            return same.start as u32;
        }
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.parts.push(offset..self.bytes.len());
        self.bytes.resize(self.bytes.len().next_multiple_of(self.page), 0);
        offset as u32
    }
}

/// Where the next thing goes that a component finds mapped.
struct Next {
    address: u32,
    /// Each place is a multiple of it.
    step: u32,
    /// The end of the next file, if files are apart.
    files_end: Option<u32>,
    /// Where shared memory is that has one address in all components, if it is to have that.
    regions: Option<BTreeMap<u16, u32>>,
}

impl Next {
    /// The first of a component, or of all.
    fn of(processor: Processor, window: Option<Window>, small: Option<Small>) -> Self {
        let places = processor.layout.of(window, small);
        let step = if small.is_some() { processor.page } else { processor.table_span };
        let regions = processor.has_virtual_caches.then(BTreeMap::new);
        Self { address: places.grants, step, files_end: window.map(|_| places.files_end), regions }
    }

    /// A place for so many bytes. Each begins a translation table of its own, but where there is
    /// little room.
    fn take(&mut self, bytes: u32) -> u32 {
        let address = self.address;
        self.address =
            address.saturating_add(bytes).checked_next_multiple_of(self.step).unwrap_or(u32::MAX);
        address
    }

    /// The same for shared memory.
    fn take_for_region(&mut self, region: u16, bytes: u32) -> u32 {
        if let Some(address) = self.regions.as_ref().and_then(|regions| regions.get(&region)) {
            return *address;
        }
        let address = self.take(bytes);
        self.regions.as_mut().and_then(|regions| regions.insert(region, address));
        address
    }

    /// The same for a file.
    fn take_for_file(&mut self, bytes: u32) -> u32 {
        let Some(end) = &mut self.files_end else { return self.take(bytes) };
        *end = end.saturating_sub(bytes) & !(TABLE_SPAN - 1);
        *end
    }
}

fn grants(
    description: &Description,
    component: &crate::description::Component,
    image: &mut Image,
    inserts: &[Insert],
    (processor, next): (Processor, &mut Next),
) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for (i, peer) in component.calls.iter().enumerate() {
        let badge = peer.badge.as_ref().map_or(i as u32 + 1, |b| *b.get_ref());
        grants.push(Grant {
            name: peer.label().into(),
            what: Resource::Call { component: description.index(&peer.to)?, badge },
        });
    }
    for peer in &component.notifies {
        let bits = peer.badge.as_ref().map_or(1, |b| *b.get_ref());
        grants.push(Grant {
            name: peer.label().into(),
            what: Resource::Notify { component: description.index(&peer.to)?, bits },
        });
    }
    for controlled in &component.controls {
        let what = Resource::Control { component: description.index(&controlled.component)? };
        grants.push(Grant { name: controlled.name.clone(), what });
    }
    if let Some(ms) = &component.heartbeat_ms {
        grants.push(Grant {
            name: image::HEARTBEAT.into(),
            what: Resource::Heartbeat { ms: *ms.get_ref() },
        });
    }
    for irq in &component.irqs {
        grants.push(Grant {
            name: irq.name.clone(),
            what: Resource::Irq { line: *irq.line.get_ref() },
        });
    }
    for ports in &component.ports {
        grants.push(Grant {
            name: ports.name.clone(),
            what: Resource::Ports { base: *ports.base.get_ref(), count: ports.count },
        });
    }
    // Where there are no windows, nobody gets addresses for any.
    for addresses in component.addresses.iter().filter(|_| processor.has_servers) {
        grants.push(Grant {
            name: addresses.name.clone(),
            what: Resource::Addresses { bytes: description.bytes(&addresses.size)? },
        });
    }
    for device in &component.devices {
        let bytes = description.bytes(&device.size)?;
        let what =
            Resource::Device { base: *device.base.get_ref(), bytes, address: next.take(bytes) };
        grants.push(Grant { name: device.name.clone(), what });
    }
    for share in &component.shares {
        let (region, bytes) = description.region(&share.region)?;
        let what = Resource::Shared {
            region,
            address: next.take_for_region(region, bytes),
            writable: share.writable,
            dma: share.dma,
        };
        grants.push(Grant { name: share.label().into(), what });
    }
    for piece in &component.memory {
        let what = Resource::Memory {
            bytes: description.bytes(&piece.size)?,
            behind_image: piece.behind_image,
        };
        grants.push(Grant { name: piece.name.clone(), what });
    }
    for file in &component.files {
        let inserts = if file.name == root::INITRD { inserts } else { &[] };
        let data = root::with_inserts(file.from.get_ref(), inserts)?;
        let bytes = data.len() as u32;
        let what =
            Resource::File { offset: image.add(&data), bytes, address: next.take_for_file(bytes) };
        grants.push(Grant { name: file.name.clone(), what });
    }
    // Last, as nobody knows how much they need: in a small space they have what is left.
    for pci in &component.pci {
        let what = Resource::Pci {
            device: *pci.device.get_ref() as u8,
            address: next.take(layout::PCI_SPAN),
        };
        grants.push(Grant { name: pci.name.clone(), what });
    }
    Ok(grants)
}

/// A Linux has as much memory as vmalloc leaves it of its window.
fn check_window(
    description: &Description,
    source: &crate::description::Component,
    made: &Component,
) -> Result<()> {
    let processor = description.processor();
    let Some(linux) = server::layout(source.package(), processor)? else { return Ok(()) };
    let room = linux.ram_end.saturating_sub(made.image_end());
    let Some(piece) = source
        .memory
        .iter()
        .find(|piece| piece.behind_image)
        .filter(|_| made.behind_image() > room)
    else {
        return Ok(());
    };
    let size = processor.layout.windows.end - linux.window;
    let sizes = server::larger(source.package(), processor)?
        .map_or_else(String::new, |size| format!(", or write `window = \"{}\"`", text_of(size)));
    let (name, window, room) = (&made.name, text_of(size), room >> 20);
    let what = format!(
        "the window of `{name}`, {window}, has room for {room} MiB of memory after the image: give it no more{sizes}"
    );
    Err(description.wrong(&piece.size, &what))
}

/// Memory after an image that is large enough for large pages ends with one.
fn fill_large_pages(component: &mut Component) {
    let end = component.image_end();
    for grant in &mut component.grants {
        if let Resource::Memory { bytes, behind_image: true } = &mut grant.what
            && *bytes >= TABLE_SPAN
        {
            *bytes = (end + *bytes).next_multiple_of(TABLE_SPAN) - end;
        }
    }
}

/// What a Linux is given the memory of its network's port as.
const NETWORK: &str = "network";

/// Puts the slots of a Linux's network after its memory, if they fit: there Linux has page
/// descriptors for them, so that it passes frames on where they are (linux/os-L4/net_receive.c).
fn place_network(component: &mut Component, ram_end: u32, bytes_of: impl Fn(u16) -> u32) {
    let end =
        component.image_end().saturating_add(component.behind_image()).next_multiple_of(TABLE_SPAN);
    for grant in component.grants.iter_mut().filter(|grant| grant.name == NETWORK) {
        if let Resource::Shared { region, address, .. } = &mut grant.what
            && end.checked_add(bytes_of(*region)).is_some_and(|last| last <= ram_end)
        {
            *address = end;
        }
    }
}

/// Makes the boot image. `elf` finds a package's ELF file; `inserts` are a component's files for
/// its Linux.
pub fn image(
    description: &Description,
    processor: Processor,
    seed: Option<[u8; 32]>,
    elf: impl Fn(&str) -> std::path::PathBuf,
    inserts: impl Fn(&str) -> Vec<Insert>,
) -> Result<Vec<u8>> {
    let root = flatten(&read_elf(&elf("root"), 0, processor.page)?);
    let mut image = Image::new(processor.page);
    let root_offset = image.add(&root.bytes);
    let clients: Vec<String> = description
        .component
        .iter()
        .map(|c| format!("{}={}", c.name.get_ref(), c.terminal.name()))
        .collect();
    let mut shared = Vec::new();
    for (name, region) in &description.shared {
        shared.push(Shared { name: name.clone(), bytes: description.bytes(&region.size)? });
    }
    let mut components = Vec::new();
    // Elsewhere components that are to be small are large.
    let (homes, places) = if processor.has_homes {
        description.homes()?
    } else {
        (Vec::new(), vec![None; description.component.len()])
    };
    let mut next = Next::of(processor, None, None);
    for (source, small) in description.component.iter().zip(places) {
        let name = source.name.get_ref().clone();
        let window = description.window(source)?;
        let base = window.map_or(0, |_| processor.layout.windows.base);
        let file = read_elf(&elf(source.package()), base, processor.page)?;
        let loads = file.parts.iter().map(|part| Load {
            address: part.address,
            offset: image.add(&part.data),
            file_bytes: part.data.len() as u32,
            memory_bytes: part.memory_bytes,
            writable: part.writable,
        });
        let loads = loads.collect();
        if !processor.has_virtual_caches {
            next = Next::of(processor, window, small);
        }
        next.files_end = window.map(|_| processor.layout.of(window, small).files_end);
        let mut component = Component {
            // The console shows names, and knows who may read.
            arguments: if name == "console" { clients.clone() } else { source.arguments.clone() },
            entry: file.entry,
            loads,
            heap: description.bytes(&source.heap)?,
            stack: STACK,
            priority: *source.priority.get_ref(),
            max_priority: source
                .max_priority
                .as_ref()
                .map_or(*source.priority.get_ref(), |p| *p.get_ref()),
            quota: source.quota,
            threads: *source.threads.get_ref(),
            relocation_slots: description.relocation_slots(source),
            locked_ranges: description.locked_ranges(source),
            slots: *source.slots.get_ref(),
            window,
            small,
            colours: source.colours.as_ref().map(|colours| *colours.get_ref()),
            on_death: match source.on_death {
                OnDeath::Report => image::OnDeath::Report,
                OnDeath::Stop => image::OnDeath::Stop,
                OnDeath::Restart { first_ms, most_ms } => {
                    image::OnDeath::Restart { first_ms, most_ms }
                }
            },
            service: source.service,
            results: source.results,
            watches: source.watches,
            grants: grants(
                description,
                source,
                &mut image,
                &inserts(&name),
                (processor, &mut next),
            )?,
            name,
        };
        fill_large_pages(&mut component);
        check_window(description, source, &component)?;
        // Where caches are virtual, it is where the network has it.
        if let Some(linux) =
            server::layout(source.package(), processor)?.filter(|_| !processor.has_virtual_caches)
        {
            place_network(&mut component, linux.ram_end, |region| {
                shared.get(usize::from(region)).map_or(0, |region| region.bytes)
            });
        }
        components.push(component);
    }
    let system = System { name: description.name(), seed, components, shared, homes };
    // What the root server would refuse at boot is refused here.
    system
        .check_for(&processor.layout, image.bytes.len() as u32)
        .map_err(|what| anyhow!("{}: {what}", description.name()))?;
    let system = postcard::to_allocvec(&system)?;
    let system_offset = image.add(&system);
    Ok(seal(image.bytes, &root, (root_offset, system_offset, system.len() as u32)))
}

/// Writes the header.
fn seal(
    mut image: Vec<u8>,
    root: &Flat,
    (root_offset, system_offset, system_bytes): (u32, u32, u32),
) -> Vec<u8> {
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        total: image.len() as u32,
        crc: crc32fast::hash(&image[HEADER_BYTES as usize..]),
        header_crc: 0,
        root_offset,
        root_bytes: root.bytes.len() as u32,
        root_address: root.address,
        root_entry: root.entry,
        root_stack: root.stack,
        system_offset,
        system_bytes,
        reserved: [0; 4],
    };
    header.header_crc = header_crc(&header);
    image[..HEADER_BYTES as usize].copy_from_slice(&header.to_bytes());
    image
}

/// The kernel's symbols, for backtraces: `xxxxxxxx name`, sorted. Of 64 bits of an address these are
/// the lower half.
pub fn symbols(kernel: &Path) -> Result<String> {
    let data = std::fs::read(kernel)?;
    let file = object::File::parse(&*data)?;
    let text = file
        .section_by_name(".text")
        .map_or(0..0, |section| section.address()..section.address() + section.size());
    // Assembly's labels have no kind.
    let is_function = |kind, address| {
        matches!(kind, SymbolKind::Text | SymbolKind::Label)
            || (kind == SymbolKind::Unknown && text.contains(&address))
    };
    // ARM's assembler marks code and data by names that begin so (IHI 0044, section 4.5.5).
    let is_mark = |s: &Symbol<'_, '_>| s.name().is_ok_and(|name| name.starts_with('$'));
    let functions = file.symbols().filter(|s| is_function(s.kind(), s.address()) && !is_mark(s));
    let mut all: Vec<(u32, String)> = functions
        .filter_map(|s| {
            Some((s.address() as u32, format!("{:#}", rustc_demangle::demangle(s.name().ok()?))))
        })
        .collect();
    all.sort();
    Ok(all.into_iter().map(|(address, name)| format!("{address:08x} {name}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::processor;

    fn ia32() -> Processor {
        processor::named("ia32").expect("a processor")
    }

    fn armv5() -> Processor {
        processor::named("armv5").expect("a processor")
    }

    #[test]
    fn what_is_the_same_is_there_once() {
        const PAGE: u32 = 4096;
        let mut image = Image::new(PAGE);
        let [one, other, same, longer] =
            ["one", "two", "one", "one and more"].map(|data| image.add(data.as_bytes()));
        assert_eq!((one, other, same, longer), (PAGE, 2 * PAGE, PAGE, 3 * PAGE));
        assert_eq!(image.bytes.len(), 4 * PAGE as usize);
    }

    #[test]
    fn shared_memory_has_one_address_where_caches_are_virtual() {
        let mut next = Next::of(armv5(), None, None);
        let start = armv5().layout.places.grants;
        let [first, device, second] = [
            next.take_for_region(3, 4096),
            next.take(4096),
            next.take_for_region(1, TABLE_SPAN + 1),
        ];
        assert_eq!([first, device, second], [start, start + TABLE_SPAN, start + 2 * TABLE_SPAN]);
        assert_eq!(
            [next.take_for_region(1, TABLE_SPAN + 1), next.take_for_region(3, 4096), next.take(1)],
            [second, first, second + 2 * TABLE_SPAN]
        );
        let mut next = Next::of(ia32(), None, None);
        assert!(next.take_for_region(3, 4096) != next.take_for_region(3, 4096));
    }
}
