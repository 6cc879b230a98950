// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that is executed as a whole, and its privilege.

/// The privilege with which an instruction is executed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Privilege {
    /// The processor's most privileged mode; on IA-32 ring 0.
    Kernel,
    /// Ring 1 of IA-32, and ring 2, which is not used: no privileged instructions, but supervisor
    /// pages.
    Ring1,
    /// User mode; on IA-32 ring 3.
    User,
}

/// Adjacent instructions that are all executed if the first is, unless one of them faults.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Chunk {
    /// Its privilege.
    pub privilege: Privilege,
    /// Linear address at which its code segment begins: what instruction pointers count from.
    pub segment: u32,
    /// Bytes.
    pub bytes: u16,
    /// Where each line of decoded instructions begins, in bytes from the start.
    pub heads: Vec<u16>,
}

/// What limits the code of a line of decoded instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PerLine {
    /// This many instructions.
    Instructions(usize),
    /// This many bytes of code, or one instruction if that is longer.
    Bytes(usize),
}

impl Default for PerLine {
    /// There are no such lines: a chunk is one.
    fn default() -> Self {
        Self::Instructions(usize::MAX)
    }
}

impl Chunk {
    /// Of instructions with these lengths, so much in each line of decoded ones, in a code segment
    /// that begins at 0.
    #[must_use]
    pub fn new(privilege: Privilege, lengths: &[u8], per_line: PerLine) -> Self {
        let mut heads = Vec::new();
        let (mut bytes, mut head) = (0, 0);
        for (index, &length) in lengths.iter().enumerate() {
            let full = match per_line {
                PerLine::Instructions(most) => index.is_multiple_of(most.max(1)),
                PerLine::Bytes(most) => usize::from(bytes - head) + usize::from(length) > most,
            };
            if index == 0 || full {
                heads.push(bytes);
                head = bytes;
            }
            bytes += u16::from(length);
        }
        Self { privilege, segment: 0, bytes, heads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_knows_its_lines_of_decoded_instructions() {
        let heads = |per_line| {
            let chunk = Chunk::new(Privilege::User, &[1, 2, 3, 4, 5, 6, 7, 8, 9], per_line);
            assert_eq!(chunk.bytes, 45);
            chunk.heads
        };
        assert_eq!(heads(PerLine::Instructions(4)), [0, 10, 36]);
        assert_eq!(heads(PerLine::Bytes(6)), [0, 6, 10, 15, 21, 28, 36]);
        assert_eq!(heads(PerLine::default()), [0]);
    }
}
