// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words in the page before the boot image: how much RAM there is, and how many bytes lie there.

use crate::layout::WORDS;
use crate::panic::Malta;
use abi::PAGE_SIZE;
use arch_common::platform::refuse;
use arch_common::shared;

/// The words.
fn text() -> &'static str {
    // SAFETY: RAM in kseg0; nobody writes it.
    let page: &[u8] = unsafe { core::slice::from_raw_parts(shared::at(WORDS), PAGE_SIZE as usize) };
    page.split(|byte| *byte == 0)
        .next()
        .and_then(|text| core::str::from_utf8(text).ok())
        .unwrap_or_default()
}

/// A number that the loader has to give.
pub fn number(name: &str) -> u32 {
    let mut words = text().split_ascii_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    match value.and_then(|value| value.parse().ok()) {
        Some(value) => value,
        None => refuse::<Malta>(format_args!(
            "the page before the boot image does not say `{name}=NUMBER`: start the kernel by `./macadamia run`"
        )),
    }
}
