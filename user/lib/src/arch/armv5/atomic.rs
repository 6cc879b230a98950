// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic operations on a processor that has none but an exchange: by the kernel's
//! compare-and-exchange, which begins again when it was interrupted. The compiler calls these
//! functions (`+atomics-32` in the target); loads and stores are plain instructions, and a fence
//! keeps the compiler from moving accesses, as there is one processor.

/// The kernel's helper: puts the new value at the address if the old one is there. Returns 0 if it
/// was.
type CompareExchange = unsafe extern "C" fn(old: u32, new: u32, at: *mut u32) -> u32;
/// Its address, where Linux has it, too.
const COMPARE_EXCHANGE: usize = 0xffff_0fc0;

/// Whether the word had the old value, and now has the new one.
fn exchange(at: *mut u32, old: u32, new: u32) -> bool {
    // SAFETY: every space has the helper at this address, with these arguments and registers.
    let helper = unsafe { core::mem::transmute::<usize, CompareExchange>(COMPARE_EXCHANGE) };
    // SAFETY: `at` is an aligned word that the caller may write, or the word around a smaller one:
    // what is next to that is only ever replaced by the same value.
    unsafe { helper(old, new, at) == 0 }
}

/// Adds to an aligned word.
#[inline(always)]
pub fn add(at: *mut u32, value: u32) {
    __sync_fetch_and_add_4(at, value);
}

/// Replaces `bytes` bytes by what `change` makes of them, unless that is nothing. Returns what was
/// there.
#[inline(always)]
fn update(at: *mut u8, bytes: u32, change: impl Fn(u32) -> Option<u32>) -> u32 {
    let word = (at as u32 & !3) as *mut u32;
    let shift = (at as u32 & 3) * 8;
    let mask = u32::MAX >> (32 - 8 * bytes);
    loop {
        // SAFETY: the word around what the caller names, aligned.
        let all = unsafe { word.read_volatile() };
        let old = all >> shift & mask;
        let Some(new) = change(old) else { return old };
        if exchange(word, all, all & !(mask << shift) | (new & mask) << shift) {
            return old;
        }
    }
}

macro_rules! functions {
    ($($type:ident: $compare:ident $set:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $compare(at: *mut $type, old: $type, new: $type) -> $type {
            update(at.cast(), $type::BITS / 8, |now| (now == u32::from(old)).then_some(u32::from(new))) as $type
        }
        functions!($type, $set, |_, value| value);
        functions!($type, $add, |now, value| now.wrapping_add(value));
        functions!($type, $sub, |now, value| now.wrapping_sub(value));
        functions!($type, $and, |now, value| now & value);
        functions!($type, $or, |now, value| now | value);
        functions!($type, $xor, |now, value| now ^ value);
    )* };
    ($type:ident, $name:ident, |$now:pat_param, $value:ident| $new:expr) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name(at: *mut $type, value: $type) -> $type {
            let $value = u32::from(value);
            update(at.cast(), $type::BITS / 8, |$now| Some($new)) as $type
        }
    };
}

functions! {
    u8: __sync_val_compare_and_swap_1 __sync_lock_test_and_set_1 __sync_fetch_and_add_1 __sync_fetch_and_sub_1
        __sync_fetch_and_and_1 __sync_fetch_and_or_1 __sync_fetch_and_xor_1;
    u16: __sync_val_compare_and_swap_2 __sync_lock_test_and_set_2 __sync_fetch_and_add_2 __sync_fetch_and_sub_2
        __sync_fetch_and_and_2 __sync_fetch_and_or_2 __sync_fetch_and_xor_2;
    u32: __sync_val_compare_and_swap_4 __sync_lock_test_and_set_4 __sync_fetch_and_add_4 __sync_fetch_and_sub_4
        __sync_fetch_and_and_4 __sync_fetch_and_or_4 __sync_fetch_and_xor_4;
}

/// A fence: a call that the compiler moves nothing across.
#[unsafe(no_mangle)]
extern "C" fn __sync_synchronize() {}
