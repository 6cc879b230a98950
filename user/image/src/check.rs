// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the root server checks before it believes a [`System`]: everything that
//! it would otherwise use as an address, a length or an index.

use crate::layout::{self, Layout};
use crate::{BLOCK_BYTES, Colours, Component, Load, Places, Resource, Small, System};
use alloc::format;
use alloc::string::String;

/// Pages are the unit of everything that is mapped.
pub(crate) const PAGE: u32 = 4096;

impl System {
    /// Checks the description against an image of `image_bytes`.
    ///
    /// # Errors
    /// A sentence that names the component and what is wrong with it.
    pub fn check(&self, image_bytes: u32) -> Result<(), String> {
        self.check_for(&Layout::CURRENT, image_bytes)
    }

    /// The same for a processor where components without a window have these places.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_for(&self, layout: &Layout, image_bytes: u32) -> Result<(), String> {
        if self.components.is_empty() {
            return Err("the system has no components".into());
        }
        if let Some(region) = self.shared.iter().find(|region| !whole_pages(region.bytes)) {
            return Err(format!("the size of shared memory `{}` is impossible", region.name));
        }
        let heartbeats =
            self.components.iter().filter(|component| component.heartbeat_ms().is_some()).count();
        if heartbeats > Resource::MOST_HEARTBEATS {
            return Err(format!(
                "{heartbeats} components have a heartbeat: at most {} can",
                Resource::MOST_HEARTBEATS
            ));
        }
        self.components.iter().try_for_each(|component| {
            self.check_component(component, layout, image_bytes)
                .map_err(|what| format!("component `{}`: {what}", component.name))
        })
    }

    fn check_component(
        &self,
        component: &Component,
        layout: &Layout,
        image_bytes: u32,
    ) -> Result<(), String> {
        if let Some(window) = component.window.filter(|window| !window.is_possible(&layout.windows))
        {
            return Err(format!(
                "its window cannot begin at {:#x}: the place is a multiple of 4 MiB, {} MiB below {:#x} at most",
                window.start,
                layout.windows.most >> 20,
                layout.windows.end
            ));
        }
        self.check_small(component)?;
        check_colours(component)?;
        let places = layout.of(component.window, component.small);
        for load in &component.loads {
            check_load(load, &places, image_bytes)?;
        }
        let ordered = component.loads.is_sorted_by(|one, next| {
            (one.address + one.memory_bytes).next_multiple_of(PAGE) <= next.address
        });
        if !ordered {
            return Err("the parts of its image overlap or are not in order".into());
        }
        if !component
            .loads
            .iter()
            .any(|load| component.entry.wrapping_sub(load.address) < load.memory_bytes)
        {
            return Err("the entry point is outside its image".into());
        }
        if component.stack != layout::STACK_BYTES {
            return Err(format!(
                "the stack has {} bytes instead of {}",
                component.stack,
                layout::STACK_BYTES
            ));
        }
        if !component.heap.is_multiple_of(PAGE) || component.heap > places.heap_most {
            return Err("the size of the heap is impossible".into());
        }
        if component.slots > 65_536
            || component.slots < crate::slot::GRANTS + component.grants.len() as u32
        {
            return Err("the capability table is too small or too large".into());
        }
        let behind = |grant: &&crate::Grant| {
            matches!(grant.what, Resource::Memory { behind_image: true, .. })
        };
        let room = places.image_end.saturating_sub(component.image_end());
        if let Some(window) = component.window.filter(|_| component.behind_image() > room) {
            return Err(format!(
                "its window of {} MiB has room for {} MiB after its image, but {} MiB are to lie there: give it less memory",
                (layout.windows.end - window.start) >> 20,
                room >> 20,
                component.behind_image() >> 20
            ));
        }
        if component.grants.iter().filter(behind).count() > 1 || component.behind_image() > room {
            return Err("two pieces of memory lie after its image, or one that is too large".into());
        }
        // It is mapped with the last part's rights.
        if component.behind_image() > 0 && !component.loads.last().is_some_and(|load| load.writable)
        {
            return Err("memory lies after an image whose last part cannot be written".into());
        }
        component.grants.iter().try_for_each(|grant| {
            let fits = self.fits(&grant.what, component, &places, image_bytes);
            let room =
                if component.window.is_some() { ", or has no room in its window" } else { "" };
            if fits { Ok(()) } else { Err(format!("grant `{}` is impossible{room}", grant.name)) }
        })
    }

    /// A small component lies in a home that there is, beside the others.
    fn check_small(&self, component: &Component) -> Result<(), String> {
        let Some(small) = component.small else { return Ok(()) };
        if component.window.is_some() {
            return Err("it has a window, and is to be small".into());
        }
        if !small.is_possible() || usize::from(small.home) >= self.homes.len() {
            return Err(format!(
                "it cannot be small with {:#x} bytes at {:#x} of home {}",
                small.bytes, small.address, small.home
            ));
        }
        let others = self.components.iter().filter(|other| other.name != component.name);
        let overlaps = |other: &&Component| {
            let beside = |other: Small| {
                other.home != small.home
                    || other.address >= small.address + small.bytes
                    || small.address >= other.address.saturating_add(other.bytes)
            };
            other.small.is_some_and(|other| !beside(other))
        };
        match others.filter(overlaps).map(|other| &other.name).next() {
            Some(other) => Err(format!("it lies where `{other}` does in their home")),
            None => Ok(()),
        }
    }

    fn fits(
        &self,
        what: &Resource,
        component: &Component,
        places: &Places,
        image_bytes: u32,
    ) -> bool {
        let Places { grants, grants_end, files, files_end, .. } = *places;
        let within = |address: u32, bytes: u32, (start, end): (u32, u32)| {
            address.is_multiple_of(PAGE)
                && address >= start
                && address.checked_add(bytes).is_some_and(|last| last <= end)
        };
        let grant_area = |address: u32, bytes: u32| within(address, bytes, (grants, grants_end));
        let memory_end = component.image_end().saturating_add(component.behind_image());
        // A Linux may have a shared region after its memory.
        let shared_end = |grant: &crate::Grant| match grant.what {
            Resource::Shared { region, address, .. }
                if component.window.is_some() && (memory_end..files_end).contains(&address) =>
            {
                address.checked_add(self.shared.get(usize::from(region))?.bytes)
            }
            _ => None,
        };
        let behind = component.grants.iter().filter_map(shared_end).max().unwrap_or(memory_end);
        let file_area =
            |address: u32, bytes: u32| within(address, bytes, (files.max(behind), files_end));
        match *what {
            Resource::Call { component, badge } | Resource::Notify { component, bits: badge } => {
                usize::from(component) < self.components.len() && badge < 1 << 20
            }
            Resource::Control { component } => usize::from(component) < self.components.len(),
            Resource::Heartbeat { ms } => {
                (Resource::LEAST_HEARTBEAT_MS..=Resource::MOST_HEARTBEAT_MS).contains(&ms)
            }
            // The root server knows the lines that there are, and refuses others.
            Resource::Irq { .. } => true,
            Resource::Addresses { bytes } => {
                bytes > 0
                    && bytes.is_multiple_of(crate::Window::ALIGNMENT)
                    && bytes <= Layout::CURRENT.windows.most
            }
            Resource::Ports { base, count } => {
                count > 0 && base.checked_add(count).is_some_and(|end| end <= 1 << 16)
            }
            Resource::Device { base, bytes, address } => {
                base.is_multiple_of(PAGE) && whole_pages(bytes) && grant_area(address, bytes)
            }
            Resource::Shared { region, address, .. } => {
                let behind_memory = |bytes| {
                    component.window.is_some() && within(address, bytes, (memory_end, files_end))
                };
                self.shared.get(usize::from(region)).is_some_and(|region| {
                    grant_area(address, region.bytes) || behind_memory(region.bytes)
                })
            }
            Resource::Pci { device, address } => {
                device < crate::pci::DEVICES && grant_area(address, PAGE)
            }
            Resource::Memory { bytes, .. } => whole_pages(bytes),
            Resource::File { offset, bytes, address } => {
                let in_image = offset.checked_add(bytes).is_some_and(|end| end <= image_bytes);
                bytes > 0 && offset.is_multiple_of(PAGE) && in_image && file_area(address, bytes)
            }
        }
    }
}

/// The memory of a component that has colours lies in so many pieces; what lies after an image is
/// one.
fn check_colours(component: &Component) -> Result<(), String> {
    let Some(colours) = component.colours else { return Ok(()) };
    if !colours.is_possible() {
        return Err(format!(
            "there are no {} colours from {} on of {}",
            colours.count, colours.first, colours.of
        ));
    }
    if component.behind_image() > 0 {
        return Err("it has colours, and memory after its image, which has all of them".into());
    }
    let pages = |load: &Load| u64::from(load.memory_bytes).next_multiple_of(PAGE.into());
    let more = [component.heap, component.stack, BLOCK_BYTES];
    let bytes = component.loads.iter().map(pages).sum::<u64>()
        + more.into_iter().map(u64::from).sum::<u64>();
    let pieces = bytes.div_ceil(u64::from(colours.piece()));
    if pieces > u64::from(Colours::MOST_PIECES) {
        return Err(format!(
            "its memory would have {pieces} pieces of {} KiB, which have its colours, but {} at most: give it more colours, or a smaller heap",
            colours.piece() >> 10,
            Colours::MOST_PIECES
        ));
    }
    Ok(())
}

const fn whole_pages(bytes: u32) -> bool {
    bytes > 0 && bytes.is_multiple_of(PAGE)
}

fn check_load(load: &Load, places: &Places, image_bytes: u32) -> Result<(), String> {
    let in_image = load.offset.checked_add(load.file_bytes).is_some_and(|end| end <= image_bytes);
    if !in_image || load.file_bytes > load.memory_bytes {
        return Err("a part of its image lies outside the boot image".into());
    }
    let end = load.address.checked_add(load.memory_bytes);
    let placed = load.address.is_multiple_of(PAGE)
        && load.address >= places.image
        && end.is_some_and(|end| end <= places.image_end);
    if placed && load.memory_bytes > 0 {
        Ok(())
    } else {
        Err("a part of its image has an impossible address".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grant, OnDeath, Shared, Window};
    use alloc::vec;

    fn sound() -> System {
        let load = Load {
            address: 0x100_0000,
            offset: 4096,
            file_bytes: 100,
            memory_bytes: 5000,
            writable: true,
        };
        let component = Component {
            name: "a".into(),
            arguments: vec![],
            entry: 0x100_0010,
            loads: vec![load],
            heap: 8192,
            stack: layout::STACK_BYTES,
            priority: 1,
            max_priority: 1,
            quota: 65536,
            threads: 8,
            relocation_slots: 1,
            locked_ranges: 0,
            slots: 64,
            window: None,
            small: None,
            colours: None,
            on_death: OnDeath::Report,
            service: false,
            results: false,
            watches: false,
            grants: vec![Grant {
                name: "g".into(),
                what: Resource::Shared {
                    region: 0,
                    address: layout::GRANTS,
                    writable: true,
                    dma: true,
                },
            }],
        };
        System {
            name: "s".into(),
            seed: None,
            components: vec![component],
            shared: vec![Shared { name: "r".into(), bytes: 4096 }],
            homes: vec!["h".into()],
        }
    }

    /// What is wrong with a sound description after a change.
    fn refusal(change: impl FnOnce(&mut System, usize)) -> String {
        let mut system = sound();
        change(&mut system, 0);
        system.check(8192).expect_err("accepted")
    }

    #[test]
    fn accepts_a_sound_description() {
        assert_eq!(sound().check(8192), Ok(()));
    }

    #[test]
    fn refuses_an_empty_system() {
        assert!(refusal(|s, _| s.components.clear()).contains("no components"));
    }

    #[test]
    fn refuses_colours_that_there_are_not() {
        let colours = |first, count, of| {
            let mut system = sound();
            system.components[0].colours = Some(Colours { first, count, of });
            system.check(8192)
        };
        for (first, count, of) in [(0, 4, 8), (4, 4, 8), (7, 1, 8), (0, 63, 64), (0, 1, 2)] {
            assert_eq!(colours(first, count, of), Ok(()), "{count} from {first} of {of}");
        }
        for (first, count, of) in [
            (0, 0, 8),
            (0, 8, 8),
            (5, 4, 8),
            (8, 1, 8),
            (255, 255, 8),
            (0, 4, 6),
            (0, 1, 0),
            (0, 1, 1),
            (0, 64, 128),
        ] {
            let said = colours(first, count, of).expect_err("accepted");
            assert!(said.contains("there are no"), "{said}");
        }
        let with = |change: &dyn Fn(&mut Component)| {
            refusal(|s, i| {
                s.components[i].colours = Some(Colours { first: 0, count: 1, of: 8 });
                change(&mut s.components[i]);
            })
        };
        assert!(with(&|component| component.heap = 1024 * PAGE).contains("1024 at most"));
        // One page more than there can be, with parts of pages and the start block.
        let too_much = |component: &mut Component| {
            let pages = |load: &Load| load.memory_bytes.next_multiple_of(PAGE);
            let rest = component.loads.iter().map(pages).sum::<u32>() + component.stack;
            component.heap = 1025 * PAGE - rest - BLOCK_BYTES;
        };
        assert!(with(&too_much).contains("would have 1025 pieces"));
        let behind = Resource::Memory { bytes: PAGE, behind_image: true };
        let said = with(&|component| component.grants[0].what = behind.clone());
        assert!(said.contains("memory after its image"), "{said}");
    }

    #[test]
    fn refuses_small_components_without_room() {
        let small = |home, address, bytes| Some(Small { home, address, bytes });
        let mut system = sound();
        let mut other = system.components[0].clone();
        other.name = "b".into();
        system.components.push(other);
        for component in &mut system.components {
            component.grants.clear();
        }
        let mut with = |one, two| {
            [system.components[0].small, system.components[1].small] = [one, two];
            system
                .components
                .iter_mut()
                .for_each(|component| component.loads[0].address = layout::IMAGE);
            system.components.iter_mut().for_each(|component| component.entry = layout::IMAGE);
            system.check(8192)
        };
        assert_eq!(with(small(0, 0, 16 << 20), small(0, 16 << 20, 16 << 20)), Ok(()));
        assert_eq!(with(small(0, 32 << 20, 32 << 20), small(0, 16 << 20, 16 << 20)), Ok(()));
        for two in [
            small(1, 0, 16 << 20),
            small(0, 8 << 20, 16 << 20),
            small(0, 0, 8 << 20),
            small(0, 0, 24 << 20),
            small(0, 0xe000_0000, 16 << 20),
        ] {
            assert!(with(None, two).expect_err("accepted").contains("cannot be small"), "{two:x?}");
        }
        for two in [small(0, 0, 16 << 20), small(0, 0, 64 << 20), small(0, 16 << 20, 16 << 20)] {
            assert!(
                with(small(0, 0, 32 << 20), two).expect_err("accepted").contains("lies where"),
                "{two:x?}"
            );
        }
        assert!(
            refusal(|s, i| s.components[i].small = small(0, 0, 16 << 20)).contains("impossible")
        );
    }

    #[test]
    fn refuses_what_lies_outside_the_image() {
        assert!(
            refusal(|s, i| s.components[i].loads[0].offset = 8192)
                .contains("outside the boot image")
        );
        assert!(
            refusal(|s, i| s.components[i].loads[0].offset = u32::MAX)
                .contains("outside the boot image")
        );
        assert!(
            refusal(|s, i| s.components[i].loads[0].file_bytes = 5001)
                .contains("outside the boot image")
        );
    }

    #[test]
    fn refuses_impossible_addresses() {
        for address in [0, 0x1000, 0x100_0001, Places::LOW.start_block, u32::MAX - 4095] {
            assert!(
                refusal(|s, i| s.components[i].loads[0].address = address)
                    .contains("impossible address"),
                "{address:#x}"
            );
        }
        assert!(refusal(|s, i| s.components[i].entry = 0x100_0000 + 5000).contains("entry point"));
    }

    #[test]
    fn refuses_what_has_no_room_behind_the_image() {
        let memory = |bytes: u32| Grant {
            name: "m".into(),
            what: Resource::Memory { bytes, behind_image: true },
        };
        let mut system = sound();
        let room = Places::LOW.start_block - system.components[0].image_end();
        system.components[0].grants = vec![memory(room)];
        assert_eq!(system.check(8192), Ok(()));
        assert!(
            refusal(|s, i| s.components[i].grants = vec![memory(room + PAGE)])
                .contains("after its image")
        );
        assert!(
            refusal(|s, i| s.components[i].grants = vec![memory(PAGE), memory(PAGE)])
                .contains("after its image")
        );
    }

    /// A sound description of a component with a window.
    fn with_window(start: u32) -> System {
        let mut system = sound();
        let component = &mut system.components[0];
        let window = Window { start, serve: true };
        component.window = Some(window);
        component.loads[0].address = start + Layout::CURRENT.windows.kernel_bytes;
        component.entry = component.loads[0].address;
        let address = component.places().grants;
        component.grants[0].what =
            Resource::Shared { region: 0, address, writable: true, dma: true };
        system
    }

    #[test]
    fn everything_of_a_component_with_a_window_is_in_it() {
        const START: u32 = 0xc000_0000;
        assert_eq!(with_window(START).check(8192), Ok(()));
        let refusal = |change: &dyn Fn(&mut Component)| {
            let mut system = with_window(START);
            change(&mut system.components[0]);
            system.check(8192).expect_err("accepted")
        };
        assert!(
            refusal(&|c| c.window = Some(Window { start: START + PAGE, serve: true }))
                .contains("its window cannot begin at 0xc0001000")
        );
        assert!(refusal(&|c| c.loads[0].address = 0x100_0000).contains("impossible address"));
        assert!(refusal(&|c| c.loads[0].address = START).contains("impossible address"));
        assert!(refusal(&|c| c.heap = 4 << 20).contains("heap"));
        let memory = |bytes: u32| Grant {
            name: "m".into(),
            what: Resource::Memory { bytes, behind_image: true },
        };
        let said = refusal(&|c| c.grants = vec![memory(512 << 20)]);
        assert_eq!(
            said,
            "component `a`: its window of 512 MiB has room for 475 MiB after its image, but 512 MiB are to lie there: give it less memory"
        );
        let share =
            |address: u32| Resource::Shared { region: 0, address, writable: true, dma: true };
        for address in [layout::GRANTS, layout::WINDOW_START_BLOCK, layout::WINDOW_END] {
            assert!(
                refusal(&|c| c.grants[0].what = share(address)).contains("no room in its window"),
                "{address:#x}"
            );
        }
    }

    #[test]
    fn files_lie_behind_the_memory_of_a_window() {
        let file = |address: u32| Grant {
            name: "f".into(),
            what: Resource::File { offset: 4096, bytes: 4096, address },
        };
        let mut system = with_window(0xc000_0000);
        let memory = Grant {
            name: "m".into(),
            what: Resource::Memory { bytes: 64 << 20, behind_image: true },
        };
        let last = layout::WINDOW_START_BLOCK - PAGE;
        system.components[0].grants = vec![memory, file(last)];
        assert_eq!(system.check(8192), Ok(()));
        let end = system.components[0].image_end() + (64 << 20);
        for (address, good) in [(end, true), (end - PAGE, false), (last + PAGE, false)] {
            system.components[0].grants[1] = file(address);
            assert_eq!(system.check(8192).is_ok(), good, "{address:#x}");
        }
    }

    #[test]
    fn refuses_images_in_disorder() {
        let twice = |s: &mut System, i: usize| {
            s.components[i].loads = vec![s.components[i].loads[0].clone(); 2]
        };
        assert!(refusal(twice).contains("not in order"));
    }

    #[test]
    fn refuses_impossible_sizes() {
        assert!(refusal(|s, i| s.components[i].stack = 4096).contains("stack"));
        assert!(refusal(|s, i| s.components[i].heap = 1).contains("heap"));
        assert!(
            refusal(|s, i| s.components[i].heap = Places::LOW.heap_most + PAGE).contains("heap")
        );
        assert!(refusal(|s, i| s.components[i].slots = 8).contains("capability table"));
        assert!(refusal(|s, i| s.shared[i].bytes = 5).contains("shared memory `r`"));
    }

    #[test]
    fn refuses_impossible_grants() {
        let grants = [
            Resource::Call { component: 1, badge: 0 },
            Resource::Notify { component: 0, bits: 1 << 20 },
            Resource::Control { component: 9 },
            Resource::Heartbeat { ms: Resource::LEAST_HEARTBEAT_MS - 1 },
            Resource::Heartbeat { ms: Resource::MOST_HEARTBEAT_MS + 1 },
            Resource::Ports { base: 0xffff, count: 2 },
            Resource::Ports { base: 8, count: 0 },
            Resource::Addresses { bytes: 0 },
            Resource::Addresses { bytes: 5 << 20 },
            Resource::Addresses { bytes: Layout::CURRENT.windows.most + (4 << 20) },
            Resource::Device { base: 1, bytes: 4096, address: layout::GRANTS },
            Resource::Device { base: 0, bytes: 4096, address: layout::GRANTS_END },
            Resource::Shared { region: 1, address: layout::GRANTS, writable: false, dma: false },
            Resource::Pci { device: 32, address: layout::GRANTS },
            Resource::Pci { device: 3, address: layout::GRANTS_END },
            Resource::Pci { device: 3, address: layout::GRANTS + 1 },
            Resource::Memory { bytes: 0, behind_image: false },
            Resource::File { offset: 4096, bytes: 4097, address: layout::GRANTS },
            Resource::File { offset: 1, bytes: 1, address: layout::GRANTS },
            Resource::File { offset: 0, bytes: 1, address: 0 },
        ];
        for what in grants {
            assert!(refusal(|s, i| s.components[i].grants[0].what = what).contains("grant `g`"));
        }
    }
}
