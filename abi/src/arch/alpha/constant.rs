// SPDX-License-Identifier: MIT OR Apache-2.0
//! What assembly knows of Rust. WebAssembly has no assembly, so constants are data that the build
//! tool reads: the section `constants` of a module.

/// Bytes of a name, with the zeros after it.
const NAME: usize = 28;

/// A name and its value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    name: [u8; NAME],
    value: [u8; 4],
}

impl Constant {
    /// Bytes of one in the section.
    pub const BYTES: usize = size_of::<Self>();

    /// A constant of less than 32 bits.
    ///
    /// # Panics
    /// If the name has 28 bytes or more: when it is compiled.
    #[must_use]
    pub const fn new(name: &str, value: u32) -> Self {
        assert!(name.len() < NAME, "a long name");
        let mut padded = [0; NAME];
        let (head, _) = padded.split_at_mut(name.len());
        head.copy_from_slice(name.as_bytes());
        Self { name: padded, value: value.to_le_bytes() }
    }

    /// One as the section has it.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut constant = Self { name: [0; NAME], value: [0; 4] };
        let (name, value) = bytes.split_at(NAME);
        constant.name.copy_from_slice(name);
        constant.value.copy_from_slice(value);
        constant
    }

    /// Its name, if that is text.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        core::str::from_utf8(&self.name).ok().map(|name| name.trim_end_matches('\0'))
    }

    /// Its value.
    #[must_use]
    pub const fn value(&self) -> i32 {
        i32::from_le_bytes(self.value)
    }
}
