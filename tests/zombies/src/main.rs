// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load of section 7 of Dougan, Mackerras, Yodaiken 1999: programs start, access their pages
//! and end, and sometimes the processor is idle. Each program is a mapping of so many pages that
//! its end gives the space another context, and leaves zombies.
//!
//! Its arguments say how many pages a program has, and how many programs there are.
//!
//! It reports the kernel's counts ([`Counts`]) between the first idle time and the last, and how
//! long the accesses to pages took.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::arch::powerpc::kip::Counts;
use abi::{PAGE_SIZE, Rights};
use macadamia::map::{Window, own};
use macadamia::{Env, Memory, counts, result, time};

macadamia::main!(run);

/// Pages of a program; programs between two idle times. Together they have more pages than the
/// hashed table for 128 MiB of RAM has entries.
const USUAL: [u32; 2] = [2000, 11];
/// How often that happens.
const ROUNDS: u32 = 20;
/// Nanoseconds of idleness.
const IDLE: u64 = 4_000_000;

fn run(env: Env) {
    let ram = env.memory("ram");
    let mut load = USUAL;
    for (number, argument) in load.iter_mut().zip(&env.start.arguments) {
        *number = argument.parse().expect("arguments are numbers");
    }
    round(ram, load);
    let before = counts();
    let took: u64 = (0..ROUNDS).map(|_| round(ram, load)).sum();
    let after = counts();
    let since = |count: fn(&Counts) -> u32| count(&after) - count(&before);
    let [reloads, evicts] = [since(|counts| counts.reloads), since(|counts| counts.evicts)];
    let [swept, turns] = [since(|counts| counts.swept), since(|counts| counts.turns)];
    result!("counts {reloads} {evicts} {swept} {} {} {turns} {took}", after.live, after.zombies);
    result!("done");
}

/// Programs start and end, and then the processor is idle. Returns in how many nanoseconds they
/// touched their pages.
fn round(ram: Memory, [count, programs]: [u32; 2]) -> u64 {
    let mut took = 0;
    for _ in 0..programs {
        let pages = Window::open(own().start, ram, 0, count * PAGE_SIZE, Rights::READ)
            .expect("the addresses are free");
        let start = time::now();
        let wrong = (0..count).filter(|page| pages.read(page * PAGE_SIZE) != 0).count();
        took += time::now() - start;
        assert_eq!(wrong, 0, "pages have what nobody wrote");
    }
    time::alarm(time::now() + IDLE, 1).expect("it is not long");
    macadamia::ipc::wait(1).expect("nobody else waits");
    took
}
