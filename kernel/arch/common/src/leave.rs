// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which thread runs next when the kernel is left.

use kcore::port::Port;
use kcore::{Kernel, Thread};
use pool::Ref;

/// Handles interrupts, continues what was interrupted, and waits until there is a thread to run.
/// `wait` waits for an interrupt, but may return without one.
pub fn next<P: Port>(
    kernel: &mut Kernel<P>,
    take_interrupts: impl Fn(&mut Kernel<P>),
    wait: impl Fn(),
) -> Ref<Thread> {
    loop {
        take_interrupts(kernel);
        match kernel.current() {
            None => wait(),
            Some(_) if kernel.carry_on() => {}
            Some(next) => return next,
        }
    }
}
