// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boot images, as the kernel and the root server read them.

use super::{Chance, all, damage};
use abi::boot::{HEADER_BYTES, Header, MAGIC, VERSION, check, header_crc};
use image::layout::{self, Layout};
use image::{Component, Grant, Load, OnDeath, Resource, Shared, Small, System, Window};

const PAGE: u32 = 4096;
const HEAD: usize = HEADER_BYTES as usize;
/// Where the system description is, after the root server.
const SYSTEM: u32 = 2 * PAGE;

/// A system that is sound, or nearly.
fn system(chance: &mut Chance) -> System {
    let count = 1 + chance.below(4);
    let mut system = System {
        name: "s".into(),
        seed: (chance.below(2) == 0).then_some([7; 32]),
        components: (0..count).map(|index| component(index, chance)).collect(),
        shared: vec![
            Shared { name: "r".into(), bytes: PAGE },
            Shared { name: "q".into(), bytes: 16 * PAGE },
        ],
        homes: vec!["h".into()],
    };
    for _ in 0..chance.below(4) {
        change(&mut system, chance);
    }
    system
}

fn component(index: usize, chance: &mut Chance) -> Component {
    let at = layout::IMAGE;
    let load = |page: u32, writable| Load {
        address: at + page * PAGE,
        offset: PAGE,
        file_bytes: 100,
        memory_bytes: PAGE,
        writable,
    };
    let grants = (0..chance.below(6))
        .map(|number| Grant { name: format!("g{number}"), what: resource(chance) });
    Component {
        name: format!("c{index}"),
        arguments: vec!["a".into()],
        entry: at + 16,
        loads: vec![load(0, false), load(1, true)],
        heap: 2 * PAGE,
        stack: layout::STACK_BYTES,
        priority: 1,
        max_priority: 1,
        quota: 1 << 16,
        threads: 8,
        relocation_slots: 1,
        locked_ranges: 0,
        slots: 64,
        window: None,
        small: None,
        colours: None,
        on_death: OnDeath::Report,
        service: false,
        results: true,
        watches: true,
        grants: grants.collect(),
    }
}

fn resource(chance: &mut Chance) -> Resource {
    let address = layout::GRANTS + PAGE * chance.below(64) as u32;
    match chance.below(12) {
        0 => Resource::Call { component: chance.below(3) as u16, badge: 1 },
        1 => Resource::Notify { component: 0, bits: 2 },
        2 => Resource::Control { component: 0 },
        3 => Resource::Heartbeat { ms: 100 },
        4 => Resource::Irq { line: chance.number() },
        5 => Resource::Addresses { bytes: 4 << 20 },
        6 => Resource::Ports { base: 0x3f8, count: 8 },
        7 => Resource::Device { base: 0xfeb0_0000, bytes: PAGE, address },
        8 => {
            Resource::Shared { region: chance.below(2) as u16, address, writable: true, dma: false }
        }
        9 => Resource::Pci { device: 3, address },
        10 => Resource::Memory { bytes: PAGE, behind_image: chance.below(2) == 0 },
        _ => Resource::File {
            offset: PAGE,
            bytes: 100,
            address: Layout::CURRENT.of(None, None).files,
        },
    }
}

/// Changes a number of a system to another.
fn change(system: &mut System, chance: &mut Chance) {
    let (number, other) = (chance.number(), chance.number());
    if chance.below(8) == 0 {
        system.shared[0].bytes = number;
    }
    let index = chance.below(system.components.len());
    let component = &mut system.components[index];
    let part = chance.below(component.loads.len());
    let small = Small { home: chance.below(2) as u16, address: number, bytes: other };
    match chance.below(16) {
        0 => component.entry = number,
        1 => component.loads[part].address = number,
        2 => component.loads[part].offset = number,
        3 => component.loads[part].file_bytes = number,
        4 => component.loads[part].memory_bytes = number,
        5 => component.heap = number,
        6 => component.stack = number,
        7 => component.slots = number,
        8 => component.window = Some(Window { start: number, serve: other & 1 == 0 }),
        9 => component.small = Some(small),
        10 => component.name = "c0".into(),
        11 => component.loads.push(Load {
            address: number,
            offset: other,
            file_bytes: 0,
            memory_bytes: PAGE,
            writable: true,
        }),
        _ => {
            let count = component.grants.len();
            let Some(grant) = component.grants.get_mut(chance.below(count)) else { return };
            match &mut grant.what {
                Resource::Call { badge: one, .. }
                | Resource::Notify { bits: one, .. }
                | Resource::Heartbeat { ms: one } => *one = number,
                Resource::Addresses { bytes } | Resource::Memory { bytes, .. } => *bytes = number,
                Resource::Ports { base, count } => (*base, *count) = (number, other),
                Resource::Device { base, bytes, address } => {
                    [*base, *bytes, *address] = [number, other, chance.number()]
                }
                Resource::File { offset, bytes, address } => {
                    [*offset, *bytes, *address] = [number, other, chance.number()]
                }
                Resource::Shared { region, address, .. } => {
                    (*region, *address) = (other as u16, number)
                }
                Resource::Pci { device, address } => (*device, *address) = (other as u8, number),
                Resource::Control { component } => *component = number as u16,
                Resource::Irq { line } => *line = number,
            }
        }
    }
}

/// The checksums are those of the contents: what is wrong is found by the checks that follow.
fn mend(image: &mut [u8]) {
    let Some((head, body)) = image.split_first_chunk_mut::<HEAD>() else { return };
    let mut header = Header::from_bytes(*head);
    let end = (header.total as usize).saturating_sub(HEAD).min(body.len());
    header.crc = crc32fast::hash(&body[..end]);
    header.header_crc = header_crc(&header);
    *head = header.to_bytes();
}

/// An image of a root server of a page and a system.
fn boot_image(chance: &mut Chance) -> Vec<u8> {
    let mut encoded = postcard::to_allocvec(&system(chance)).expect("encoded");
    for _ in 0..chance.below(3) {
        damage(&mut encoded, chance);
    }
    let system_bytes = encoded.len() as u32;
    let mut image = vec![0; SYSTEM as usize];
    image.extend(encoded);
    image.resize(image.len().next_multiple_of(PAGE as usize), 0);
    let (address, total) = (0x40_0000, image.len() as u32);
    let header = Header {
        magic: MAGIC,
        version: VERSION,
        total,
        crc: 0,
        header_crc: 0,
        root_offset: PAGE,
        root_bytes: PAGE,
        root_address: address,
        root_entry: address,
        root_stack: address + PAGE,
        system_offset: SYSTEM,
        system_bytes,
        reserved: [0; 4],
    };
    image[..HEAD].copy_from_slice(&header.to_bytes());
    if chance.below(2) == 0 {
        let word = 4 * chance.below(HEAD / 4);
        image[word..word + 4].copy_from_slice(&chance.number().to_le_bytes());
    }
    let is_whole = chance.below(16) != 0;
    mend(&mut image);
    if !is_whole {
        damage(&mut image, chance);
    }
    image
}

/// Whatever is in an image is refused with a reason, or what it says can be used.
#[test]
fn fuzz_images() {
    all(boot_image, |image| {
        let Ok(header) = check(image) else { return };
        // What the kernel maps and hands on lies in the image, and where users are.
        let part = |offset: u32, bytes: u32| &image[offset as usize..][..bytes as usize];
        part(header.root_offset, header.root_bytes);
        assert!(
            (header.root_address..header.root_address + header.root_bytes)
                .contains(&header.root_entry)
        );
        let Ok(system) =
            postcard::from_bytes::<System>(part(header.system_offset, header.system_bytes))
        else {
            return;
        };
        for layout in crate::machine::processor::ALL.map(|processor| processor.layout) {
            match system.check_for(&layout, header.total) {
                Ok(()) => use_all(&system, &layout, image),
                Err(reason) => assert!(!reason.is_empty()),
            }
        }
    });
}

/// Does what the root server does with a system that it believes.
fn use_all(system: &System, layout: &Layout, image: &[u8]) {
    let _ = system.has_one_server();
    for component in &system.components {
        let places = layout.of(component.window, component.small);
        let end = component.image_end() + component.behind_image();
        assert!(end <= places.image_end, "{component:?}");
        assert!(component.heap <= places.heap_most);
        let _ = component.heartbeat_ms();
        let parts = component.loads.iter().map(|load| (load.offset, load.file_bytes));
        let files = component.grants.iter().filter_map(|grant| match grant.what {
            Resource::File { offset, bytes, .. } => Some((offset, bytes)),
            _ => None,
        });
        for (offset, bytes) in parts.chain(files) {
            assert!(
                image.get(offset as usize..).is_some_and(|rest| rest.len() >= bytes as usize),
                "{component:?}"
            );
        }
        for (number, one) in system.components.iter().enumerate() {
            for two in &system.components[..number] {
                let (Some(one), Some(two)) = (one.small, two.small) else { continue };
                let is_beside = one.home != two.home
                    || one.address >= two.address + two.bytes
                    || two.address >= one.address + one.bytes;
                assert!(is_beside, "{one:?} and {two:?} overlap");
            }
        }
    }
}
