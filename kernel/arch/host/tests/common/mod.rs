// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls for the thread that runs.
#![allow(dead_code, reason = "each test uses its part")]

use abi::{Op, Tag};
use arch_host::{Host, results, set_arguments};
use kcore::Kernel;

/// Makes a system call to its end: status and results, or what a delivery has in these registers.
pub fn call(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> [u32; 5] {
    call_with(kernel, op, args, &[])
}

/// The same with words in the UTCB.
pub fn call_with(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4], words: &[(u32, u32)]) -> [u32; 5] {
    let me = kernel.current().expect("somebody runs");
    let utcb = kernel.pool[me].utcb;
    for (index, word) in words {
        kernel.pool.bytes_mut(utcb + index * 4, 4).copy_from_slice(&word.to_ne_bytes());
    }
    call_tag(kernel, Tag::new(op, 0, 0).0, args)
}

/// The same with a tag.
pub fn call_tag(kernel: &mut Kernel<Host>, tag: u32, args: [u32; 4]) -> [u32; 5] {
    let me = kernel.current().expect("somebody runs");
    set_arguments(&mut kernel.pool[me], [tag, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    while kernel.carry_on() {}
    results(&kernel.pool[me])
}

/// The same steps each time, unless MACADAMIA_SEED asks for others.
pub fn seed() -> u64 {
    std::env::var("MACADAMIA_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}
