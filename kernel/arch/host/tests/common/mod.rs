// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls for the thread that runs.
#![allow(dead_code, reason = "each test uses its part")]

use abi::syscall::MapRecord;
use abi::{Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag};
use arch_host::{Host, results, set_arguments};
use kcore::{Kernel, Port, Space, Thread};
use mmu::ia32::bits;
use pool::Ref;

/// What of a page can be had that may be read.
const READABLE: Rights = Rights::READ.union(Rights::EXECUTE);

/// Makes a system call to its end: status and results, or what a delivery has in these registers.
pub fn call(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> [u32; 5] {
    call_with(kernel, op, args, &[])
}

/// A system call that must succeed.
pub fn succeeds(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> [u32; 5] {
    let answer = call(kernel, op, args);
    assert_eq!(answer[0], 0, "{op:?} {args:?}");
    answer
}

/// The thread that a slot of a space's table names.
pub fn named(kernel: &Kernel<Host>, space: Ref<Space>, slot: u32) -> Ref<Thread> {
    kernel.pool[Space::slot(space, slot)].object()
}

/// Begins a system call in which an interrupt waits at each look; whether it is to be carried on.
pub fn begin(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> bool {
    let me = kernel.current().expect("somebody runs");
    set_arguments(&mut kernel.pool[me], [Tag::new(op, 0, 0).0, args[0], args[1], args[2], args[3]]);
    kernel.port.pending = true;
    !kernel.system_call()
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

/// A page as a processor would find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    pub address: u32,
    pub physical: u32,
    pub writable: bool,
    pub uncached: bool,
    /// Whether an entry of the upper level maps it, with its neighbours.
    pub large: bool,
}

/// What a processor would find in a space, by walking the tables as it does: in memory, where only what the
/// port was told of is written.
pub fn pages_of(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Found> {
    let mut found = Vec::new();
    let top = kernel.pool[space].region.top.get().expect("a space has an upper level");
    // The first table is the kernel's: information page and UTCBs.
    for (i, upper) in (0..).zip(kernel.port.walker[&top.address()]).skip(1).filter(|(_, upper)| upper & bits::PRESENT != 0) {
        let large = upper & bits::LARGE != 0;
        let flags = upper & !bits::ADDRESS;
        let table = (!large).then(|| &kernel.port.walker[&kernel.port.pool_address(upper & bits::ADDRESS)]);
        for j in 0..1024 {
            let piece = (upper & bits::LARGE_ADDRESS) + j * PAGE_SIZE;
            let lower = table.map_or(piece | flags, |table| table[j as usize]);
            if lower & bits::PRESENT != 0 && upper & lower & bits::USER != 0 {
                let (physical, writable) = (lower & bits::ADDRESS, upper & lower & bits::WRITABLE != 0);
                let uncached = lower & bits::CACHE_DISABLE != 0;
                found.push(Found { address: i * TABLE_SPAN + j * PAGE_SIZE, physical, writable, uncached, large });
            }
        }
    }
    found
}

/// `lookup` tells of an address what a processor would find there: `pages`. The space and the memory are given by
/// their slots, and the memory's first page.
pub fn check_lookup(kernel: &mut Kernel<Host>, space: u32, pages: &[Found], (memory, base): (u32, u32), address: u32) {
    let [_, rights, bytes, offset, _] = succeeds(kernel, Op::Lookup, [space, address, memory, 0]);
    match pages.iter().find(|found| found.address == address & !(PAGE_SIZE - 1)) {
        Some(found) => {
            let size = if found.large { TABLE_SPAN } else { PAGE_SIZE };
            let flag = if found.uncached { MapRecord::UNCACHED } else { 0 };
            let told = [if found.writable { Rights::RWX.0 } else { READABLE.0 } | flag, size, found.physical - base];
            assert_eq!([rights, bytes, offset], told, "{address:#x}");
        }
        None => assert_eq!(rights & Rights::ALL.0, 0, "{address:#x}"),
    }
}
