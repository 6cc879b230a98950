// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processors: everything that the tool knows about each, in a file for each; `facts.rs` says what
//! that is.
//!
//! Other modules ask for a fact here instead of naming a processor. What a board has is in
//! `boards/*.toml`.

mod alpha;
mod armv5;
mod facts;
mod ia32;
mod mips;
mod powerpc;
mod x86_64;

pub use facts::{Configuration, Debian, Expected, Facts, Linux, Native, Plan, Runtime};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::ops::Deref;

/// All of them.
pub const ALL: [Processor; 6] = [
    Processor(&ia32::FACTS),
    Processor(&armv5::FACTS),
    Processor(&powerpc::FACTS),
    Processor(&x86_64::FACTS),
    Processor(&mips::FACTS),
    Processor(&alpha::FACTS),
];

/// The most RAM of a machine, in MiB, whatever its processor.
pub const MOST_MIB: u32 = {
    let (mut most, mut index) = (0, 0);
    while index < ALL.len() {
        if ALL[index].0.most_mib > most {
            most = ALL[index].0.most_mib;
        }
        index += 1;
    }
    most
};

/// A processor.
#[derive(Clone, Copy)]
pub struct Processor(&'static Facts);

/// The one with this name.
pub fn named(name: &str) -> Option<Processor> {
    ALL.into_iter().find(|processor| processor.name == name)
}

impl Processor {
    /// What there is to know of it, for as long as the tool runs.
    pub const fn facts(self) -> &'static Facts {
        self.0
    }

    /// How many threads a native space is charged as, of so many that there can be.
    pub fn threads_a_space(self, threads: u32) -> u32 {
        if self.areas == 0 { 0 } else { threads.div_ceil(self.areas) }
    }
}

impl Deref for Processor {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.0
    }
}

impl PartialEq for Processor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<'de> Deserialize<'de> for Processor {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let names = || ALL.map(|processor| processor.name).join(", ");
        named(&name).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "there is no processor `{name}`: name one of {}",
                names()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_names_a_processor() {
        let read =
            |text: &str| toml::from_str::<std::collections::BTreeMap<String, Processor>>(text);
        for processor in ALL {
            assert_eq!(read(&format!("a = \"{processor:?}\"")).expect("a name")["a"], processor);
        }
        assert!(
            read("a = \"z80\"")
                .expect_err("no such processor")
                .to_string()
                .contains("name one of ia32, armv5, powerpc, x86_64, mips, alpha")
        );
    }

    #[test]
    fn places_are_those_of_the_contract() {
        use abi::arch::armv5::layout::{SLOT_BYTES, USER_END};
        use image::Places;
        let Places { image_end, heap, heap_most, stack_end, grants, own_end, .. } =
            armv5::FACTS.layout.places;
        assert!(image_end < stack_end && stack_end <= heap && heap + heap_most == SLOT_BYTES);
        assert!(grants == abi::TABLE_SPAN << 9 && own_end == USER_END);
        assert!(ia32::FACTS.layout.places.own_end < abi::arch::ia32::layout::USER_END);
        let ends =
            [abi::arch::ia32::layout::USER_END, USER_END, abi::arch::powerpc::layout::USER_END];
        assert_eq!([0, 1, 2].map(|index: usize| ALL[index].layout.windows.end), ends);
        for (index, end) in ends.into_iter().enumerate() {
            assert_eq!(ALL[index].layout.windows.users_end, u64::from(end));
        }
        let windows = x86_64::FACTS.layout.windows;
        assert_eq!(windows.users_end, abi::arch::x86_64::layout::USER_END);
        // What components find is above the kernel's area.
        let area_end = abi::arch::x86_64::layout::AREA_END;
        assert_eq!(u64::from(windows.kernel_bytes), area_end);
        assert!(u64::from(x86_64::FACTS.layout.places.image) >= area_end);
    }
}
