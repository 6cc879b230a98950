// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of addresses.

/// A table of symbols: that of the kernel, or of Linux.
#[derive(Default)]
pub struct Symbols {
    /// Sorted by address.
    all: Vec<(u32, String)>,
}

impl Symbols {
    /// Adds lines `ADDRESS NAME` or `ADDRESS KIND NAME`, the address hexadecimal; others are left
    /// out.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let address = words.next().and_then(|word| u32::from_str_radix(word, 16).ok());
            if let (Some(address), Some(name)) = (address, words.next_back()) {
                self.all.push((address, name.into()));
            }
        }
        self.all.sort();
    }

    /// The symbol at or below the address and the distance from it, at most 64 KiB.
    #[must_use]
    pub fn name(&self, address: u32) -> Option<String> {
        self.below(address).map(|(name, distance)| format!("{name}+{distance:#x}"))
    }

    /// As [`name`](Self::name), without the distance.
    #[must_use]
    pub fn function(&self, address: u32) -> Option<&str> {
        self.below(address).map(|(name, _)| name)
    }

    fn below(&self, address: u32) -> Option<(&str, u32)> {
        let after = self.all.partition_point(|(start, _)| *start <= address);
        let (start, name) = &self.all[after.checked_sub(1)?];
        Some((name.as_str(), address - start)).filter(|(_, distance)| *distance < 0x1_0000)
    }

    /// The address of the symbol with this name.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u32> {
        self.all.iter().find(|(_, known)| known == name).map(|(address, _)| *address)
    }

    /// The addresses of the function whose path ends with this text.
    #[must_use]
    pub fn ending(&self, path: &str) -> Option<u32> {
        self.all.iter().find(|(_, known)| known.ends_with(path)).map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn the_symbol_below_is_found() {
        let mut symbols = Symbols::default();
        symbols.add("e0001000 second\nnonsense\ne0000000 t first\n");
        assert_eq!(symbols.name(0xe000_0000), Some("first+0x0".into()));
        assert_eq!(symbols.name(0xe000_0fff), Some("first+0xfff".into()));
        assert_eq!(symbols.name(0xe000_1004), Some("second+0x4".into()));
        assert_eq!(symbols.name(0xe010_0000), None);
        assert_eq!(symbols.name(0x1000), None);
        assert_eq!(symbols.function(0xe000_0fff), Some("first"));
        assert_eq!(
            (symbols.address("second"), symbols.address("third")),
            (Some(0xe000_1000), None)
        );
        assert_eq!((symbols.ending("cond"), symbols.ending("sec")), (Some(0xe000_1000), None));
    }
}
