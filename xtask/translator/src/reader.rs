// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes of a module, one after the other (*WebAssembly Core Specification*, section 5.2).

use anyhow::{Context, Result, ensure};

/// What is left of some bytes.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// All of these.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Whatever is left.
    pub const fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().context("the module ends too early")?;
        self.0 = rest;
        Ok(*first)
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: u32) -> Result<&'a [u8]> {
        ensure!(self.0.len() >= count as usize, "the module ends too early");
        let (bytes, rest) = self.0.split_at(count as usize);
        self.0 = rest;
        Ok(bytes)
    }

    /// A number without a sign (LEB128).
    pub fn number(&mut self) -> Result<u32> {
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(number).context("a number of more than 32 bits");
            }
        }
        anyhow::bail!("a number does not end")
    }

    /// A number with its sign (LEB128).
    pub fn signed(&mut self) -> Result<i64> {
        let (mut number, mut shift) = (0i64, 0);
        loop {
            let byte = self.byte()?;
            ensure!(shift < 70, "a number does not end");
            if shift < 64 {
                number |= i64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                let is_negative = byte & 0x40 != 0 && shift < 64;
                return Ok(if is_negative { number | -1 << shift } else { number });
            }
        }
    }

    /// A name.
    pub fn name(&mut self) -> Result<&'a str> {
        let bytes = self.number()?;
        std::str::from_utf8(self.bytes(bytes)?).context("a name is no text")
    }

    /// So many of something.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        assert_eq!(Reader::new(&[0xe5, 0x8e, 0x26]).number().expect("a number"), 624_485);
        for (bytes, number) in [
            (&[0x7f][..], -1),
            (&[0x3f], 63),
            (&[0xc0, 0xbb, 0x78], -123_456),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f], i64::MIN),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0], i64::MAX),
        ] {
            assert_eq!(Reader::new(bytes).signed().expect("a number"), number);
        }
        assert!(Reader::new(&[0x80]).number().is_err());
        assert!(Reader::new(&[0xff; 11]).signed().is_err());
    }
}
