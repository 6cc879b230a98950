// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code for threads that need neither stack nor heap: system calls with fixed arguments, then an
//! exception, which halts a thread that has no handler.

use abi::arch::ia32::kip::INT_VECTOR;
use abi::{Op, Tag};
use macadamia::alloc::vec::Vec;

/// In the table of a dwelling: the program's Quota.
pub const OWN_QUOTA: u32 = 1;
/// In the table of a dwelling: the program's Space.
pub const OWN_SPACE: u32 = 2;

/// Code that can be at any address.
#[derive(Default)]
pub struct Code(Vec<u8>);

impl Code {
    /// One system call.
    pub fn call(op: Op, args: [u32; 4]) -> Self {
        Self::default().then(Tag::new(op, 0, 0), args)
    }

    /// Writes a word of the thread's UTCB. To come before any system call: EBX names the UTCB at the start.
    pub fn set(mut self, offset: usize, value: u32) -> Self {
        // mov dword [ebx + offset], value
        self.0.extend([0xc7, 0x83]);
        self.0.extend((offset as u32).to_le_bytes());
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A further system call.
    pub fn then(mut self, tag: Tag, args: [u32; 4]) -> Self {
        let [a, b, c, d] = args;
        // mov to eax, ebx, esi, edi, ebp
        for (mov, value) in [(0xb8, tag.0), (0xbb, a), (0xbe, b), (0xbf, c), (0xbd, d)] {
            self.0.push(mov);
            self.0.extend(value.to_le_bytes());
        }
        self.0.extend([0xcd, INT_VECTOR as u8]);
        self
    }

    /// Reads a word of every page from the address in ESI on, for ever.
    pub fn read_pages() -> Self {
        // mov eax, [esi]; add esi, 4096; jmp back
        Self([0x8b, 0x06, 0x81, 0xc6, 0x00, 0x10, 0x00, 0x00, 0xeb, 0xf6].into())
    }

    /// The code and what ends it.
    pub fn words(&self) -> impl Iterator<Item = u32> {
        // ud2
        let bytes: Vec<u8> = self.0.iter().copied().chain([0x0f, 0x0b, 0, 0, 0]).collect();
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>().into_iter()
    }
}
