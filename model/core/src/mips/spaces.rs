// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which space an ASID belongs to, until the TLB is emptied. A space is known by its highest table.

/// Who has which ASID, as far as user mode ran with it since the TLB was empty.
pub struct Spaces {
    owners: [Option<u32>; 256],
}

impl Default for Spaces {
    fn default() -> Self {
        Self { owners: [None; 256] }
    }
}

impl Spaces {
    /// User mode goes on with an ASID, by these tables. Whether the ASID is another space's, of
    /// which the TLB may have something.
    pub fn is_others(&mut self, asid: u8, top: u32) -> bool {
        let owner = &mut self.owners[usize::from(asid)];
        owner.replace(top).is_some_and(|before| before != top)
    }

    /// The TLB is empty.
    pub fn flush(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::Spaces;

    #[test]
    fn an_asid_is_one_spaces_until_the_tlb_is_empty() {
        let mut spaces = Spaces::default();
        assert!(!spaces.is_others(1, 0x8000_1000) && !spaces.is_others(2, 0x8000_2000));
        assert!(!spaces.is_others(1, 0x8000_1000));
        assert!(!spaces.is_others(3, 0x8000_1000), "a space may get another one");
        assert!(spaces.is_others(1, 0x8000_2000));
        spaces.flush();
        assert!(!spaces.is_others(1, 0x8000_1000));
    }
}
