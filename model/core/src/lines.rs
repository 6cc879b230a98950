// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many different cache lines were touched, in an interval and in each of its visits.

use rustc_hash::FxHashMap;

/// Binary logarithm of a line's bytes.
const LINE_SHIFT: u32 = 5;

/// Lines touched so far, each with the visit that touched it last.
#[derive(Default)]
pub struct Lines {
    last_visit: FxHashMap<u64, u32>,
}

impl Lines {
    /// Notes that the `bytes` from linear address `address` on were touched during `visit`. Returns
    /// how many of their lines that visit had not touched before. The numbers of visits never
    /// decrease.
    pub fn touch(&mut self, address: impl Into<u64>, bytes: u32, visit: u32) -> u64 {
        let first = address.into();
        let last = first.saturating_add(u64::from(bytes.saturating_sub(1))) >> LINE_SHIFT;
        (first >> LINE_SHIFT..=last).map(|line| self.touch_line(line, visit)).sum()
    }

    fn touch_line(&mut self, line: u64, visit: u32) -> u64 {
        u64::from(self.last_visit.insert(line, visit) != Some(visit))
    }

    /// Distinct lines touched.
    pub fn distinct(&self) -> u64 {
        self.last_visit.len() as u64
    }
}

/// An address in each line of `1 << shift` bytes that the `bytes` from `address` on touch;
/// addresses wrap around.
pub(crate) fn lines(address: u32, bytes: u32, shift: u32) -> impl Iterator<Item = u32> {
    let first = address >> shift;
    let last = (u64::from(address) + u64::from(bytes.max(1)) - 1) >> shift;
    (0..=(last - u64::from(first)) as u32)
        .map(move |n| if n == 0 { address } else { first.wrapping_add(n) << shift })
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_count_once_an_interval_and_once_a_visit() {
        let mut lines = Lines::default();
        assert_eq!(lines.touch(0x1000_u32, 4, 0), 1);
        assert_eq!(lines.touch(0x101c_u32, 4, 0), 0, "same line");
        assert_eq!(lines.touch(0x101e_u32, 4, 0), 1, "straddles: one of two is new");
        assert_eq!(lines.touch(0x1000_u32, 1, 1), 1, "new to the next visit");
        assert_eq!(lines.distinct(), 2);
        assert_eq!(lines.touch(0xffff_fffe_u32, 4, 1), 2, "goes on after 4 GiB");
        assert_eq!(lines.distinct(), 4);
        assert_eq!(lines.touch(0x2000_u32, 65, 1), 3, "as long as it is");
        assert_eq!(lines.touch(0x1_0000_2000_u64, 1, 1), 1, "that far above, another line");
    }
}
