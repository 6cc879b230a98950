// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which interrupt lines components may have.

/// The first lines of a board, without the kernel's own: those that components may have.
#[must_use]
pub const fn all_but<const COUNT: usize>(kernels: &[u32]) -> [u32; COUNT] {
    let (mut lines, mut count, mut line) = ([0; COUNT], 0, 0);
    while count < COUNT {
        let (mut index, mut is_kernels) = (0, false);
        while index < kernels.len() {
            is_kernels |= kernels[index] == line;
            index += 1;
        }
        if !is_kernels {
            lines[count] = line;
            count += 1;
        }
        line += 1;
    }
    lines
}
