// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the root server checks before it believes a [`System`]: everything that
//! it would otherwise use as an address, a length or an index.

use crate::{Component, Load, Resource, System, layout};
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
        if self.components.is_empty() {
            return Err("the system has no components".into());
        }
        if let Some(region) = self.shared.iter().find(|region| !whole_pages(region.bytes)) {
            return Err(format!("the size of shared memory `{}` is impossible", region.name));
        }
        self.components.iter().try_for_each(|component| {
            self.check_component(component, image_bytes).map_err(|what| format!("component `{}`: {what}", component.name))
        })
    }

    fn check_component(&self, component: &Component, image_bytes: u32) -> Result<(), String> {
        for load in &component.loads {
            check_load(load, image_bytes)?;
        }
        let ordered = component.loads.is_sorted_by(|one, next| (one.address + one.memory_bytes).next_multiple_of(PAGE) <= next.address);
        if !ordered {
            return Err("the parts of its image overlap or are not in order".into());
        }
        if !component.loads.iter().any(|load| component.entry.wrapping_sub(load.address) < load.memory_bytes) {
            return Err("the entry point is outside its image".into());
        }
        if component.stack != layout::STACK_BYTES {
            return Err(format!("the stack has {} bytes instead of {}", component.stack, layout::STACK_BYTES));
        }
        if !component.heap.is_multiple_of(PAGE) || component.heap > layout::HEAP_MOST {
            return Err("the size of the heap is impossible".into());
        }
        if component.slots > 65_536 || component.slots < crate::slot::GRANTS + component.grants.len() as u32 {
            return Err("the capability table is too small or too large".into());
        }
        let behind = |grant: &&crate::Grant| matches!(grant.what, Resource::Memory { behind_image: true, .. });
        let room = layout::START_BLOCK.saturating_sub(component.image_end());
        if component.grants.iter().filter(behind).count() > 1 || component.behind_image() > room {
            return Err("two pieces of memory lie behind its image, or one that is too large".into());
        }
        // It is mapped with the last part's rights.
        if component.behind_image() > 0 && !component.loads.last().is_some_and(|load| load.writable) {
            return Err("memory lies behind an image whose last part cannot be written".into());
        }
        component.grants.iter().try_for_each(|grant| {
            let fits = self.fits(&grant.what, image_bytes);
            if fits { Ok(()) } else { Err(format!("grant `{}` is impossible", grant.name)) }
        })
    }

    fn fits(&self, what: &Resource, image_bytes: u32) -> bool {
        let grant_area = |address: u32, bytes: u32| {
            address.is_multiple_of(PAGE)
                && address >= layout::GRANTS
                && address.checked_add(bytes).is_some_and(|end| end <= layout::GRANTS_END)
        };
        match *what {
            Resource::Call { component, badge } | Resource::Notify { component, bits: badge } => {
                usize::from(component) < self.components.len() && badge < 1 << 20
            }
            // The root server knows the lines that there are, and refuses others.
            Resource::Irq { .. } => true,
            Resource::Ports { base, count } => count > 0 && base.checked_add(count).is_some_and(|end| end <= 1 << 16),
            Resource::Device { base, bytes, address } => base.is_multiple_of(PAGE) && whole_pages(bytes) && grant_area(address, bytes),
            Resource::Shared { region, address, .. } => {
                self.shared.get(usize::from(region)).is_some_and(|region| grant_area(address, region.bytes))
            }
            Resource::Pci { device, address } => device < crate::pci::DEVICES && grant_area(address, PAGE),
            Resource::Memory { bytes, .. } => whole_pages(bytes),
            Resource::File { offset, bytes, address } => {
                let in_image = offset.checked_add(bytes).is_some_and(|end| end <= image_bytes);
                bytes > 0 && offset.is_multiple_of(PAGE) && in_image && grant_area(address, bytes)
            }
        }
    }
}

const fn whole_pages(bytes: u32) -> bool {
    bytes > 0 && bytes.is_multiple_of(PAGE)
}

fn check_load(load: &Load, image_bytes: u32) -> Result<(), String> {
    let in_image = load.offset.checked_add(load.file_bytes).is_some_and(|end| end <= image_bytes);
    if !in_image || load.file_bytes > load.memory_bytes {
        return Err("a part of its image lies outside the boot image".into());
    }
    let end = load.address.checked_add(load.memory_bytes);
    let placed = load.address.is_multiple_of(PAGE) && load.address >= layout::IMAGE && end.is_some_and(|end| end <= layout::START_BLOCK);
    if placed && load.memory_bytes > 0 { Ok(()) } else { Err("a part of its image has an impossible address".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grant, OnDeath, Shared};
    use alloc::vec;

    fn sound() -> System {
        let load = Load { address: 0x100_0000, offset: 4096, file_bytes: 100, memory_bytes: 5000, writable: true };
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
            slots: 64,
            on_death: OnDeath::Report,
            service: false,
            results: false,
            grants: vec![Grant {
                name: "g".into(),
                what: Resource::Shared { region: 0, address: layout::GRANTS, writable: true, dma: true },
            }],
        };
        System { name: "s".into(), seed: None, components: vec![component], shared: vec![Shared { name: "r".into(), bytes: 4096 }] }
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
    fn refuses_what_lies_outside_the_image() {
        assert!(refusal(|s, i| s.components[i].loads[0].offset = 8192).contains("outside the boot image"));
        assert!(refusal(|s, i| s.components[i].loads[0].offset = u32::MAX).contains("outside the boot image"));
        assert!(refusal(|s, i| s.components[i].loads[0].file_bytes = 5001).contains("outside the boot image"));
    }

    #[test]
    fn refuses_impossible_addresses() {
        for address in [0, 0x1000, 0x100_0001, layout::START_BLOCK, u32::MAX - 4095] {
            assert!(refusal(|s, i| s.components[i].loads[0].address = address).contains("impossible address"), "{address:#x}");
        }
        assert!(refusal(|s, i| s.components[i].entry = 0x100_0000 + 5000).contains("entry point"));
    }

    #[test]
    fn refuses_what_has_no_room_behind_the_image() {
        let memory = |bytes: u32| Grant { name: "m".into(), what: Resource::Memory { bytes, behind_image: true } };
        let mut system = sound();
        let room = layout::START_BLOCK - system.components[0].image_end();
        system.components[0].grants = vec![memory(room)];
        assert_eq!(system.check(8192), Ok(()));
        assert!(refusal(|s, i| s.components[i].grants = vec![memory(room + PAGE)]).contains("behind its image"));
        assert!(refusal(|s, i| s.components[i].grants = vec![memory(PAGE), memory(PAGE)]).contains("behind its image"));
    }

    #[test]
    fn refuses_images_in_disorder() {
        let twice = |s: &mut System, i: usize| s.components[i].loads = vec![s.components[i].loads[0].clone(); 2];
        assert!(refusal(twice).contains("not in order"));
    }

    #[test]
    fn refuses_impossible_sizes() {
        assert!(refusal(|s, i| s.components[i].stack = 4096).contains("stack"));
        assert!(refusal(|s, i| s.components[i].heap = 1).contains("heap"));
        assert!(refusal(|s, i| s.components[i].heap = layout::HEAP_MOST + PAGE).contains("heap"));
        assert!(refusal(|s, i| s.components[i].slots = 8).contains("capability table"));
        assert!(refusal(|s, i| s.shared[i].bytes = 5).contains("shared memory `r`"));
    }

    #[test]
    fn refuses_impossible_grants() {
        let grants = [
            Resource::Call { component: 1, badge: 0 },
            Resource::Notify { component: 0, bits: 1 << 20 },
            Resource::Ports { base: 0xffff, count: 2 },
            Resource::Ports { base: 8, count: 0 },
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
