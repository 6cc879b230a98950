// SPDX-License-Identifier: MIT OR Apache-2.0
//! The local APIC (Intel SDM, volume 3, chapter 11). If the processor has one, the kernel uses its
//! timer, at the vector of the timer's line, instead of the board's timer. Interrupt lines come
//! through it, too: it passes interrupts of the PC's interrupt controllers on to the processor, or
//! takes those of the I/O APIC (`ioapic`).
//!
//! Its registers are in memory, or are MSRs (x2APIC) if the firmware has chosen that. The kernel
//! does not change that, because on some processors the choice cannot be undone.

use crate::layout::{APIC, wide};
use crate::{features, paging, regs};
use abi::kip::Clock;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use plat_pc::{Fault, Look, pic, tsc};

/// Offsets of registers.
mod register {
    /// Its number: in memory in the highest byte, as an MSR in all bits.
    pub const ID: u64 = 0x20;
    /// Interrupts of this priority and lower ones wait.
    pub const PRIORITY: u64 = 0x80;
    /// A write ends the interrupt in service.
    pub const END: u64 = 0xb0;
    /// The vector of spurious interrupts, and whether the APIC is enabled.
    pub const SPURIOUS: u64 = 0xf0;
    /// The first of eight, 16 bytes apart, with a bit for each vector in service.
    pub const IN_SERVICE: u64 = 0x100;
    /// What the timer does when it is due.
    pub const TIMER: u64 = 0x320;
    /// What its first pin does.
    pub const PIN: u64 = 0x350;
    /// A write starts the timer with this many ticks.
    pub const START: u64 = 0x380;
    /// Ticks until it is due.
    pub const LEFT: u64 = 0x390;
    /// The divisor of the bus's clock.
    pub const DIVIDE: u64 = 0x3e0;
}

/// In `SPURIOUS`: the APIC is enabled.
const ON: u32 = 1 << 8;
/// In `PIN`: the PC's interrupt controllers are connected to it, and supply the vector.
const EXTERNAL: u32 = 7 << 8;
/// In `TIMER` and `PIN`: no interrupt.
const MASKED: u32 = 1 << 16;
/// In `TIMER`: the timer is due when the time-stamp counter has a given value.
const BY_COUNTER: u32 = 2 << 17;
/// In `DIVIDE`: by one; by 128.
const BY_ONE: u32 = 0b1011;
const BY_128: u32 = 0b1010;
/// Ticks a second of a timer that counts nanoseconds, divided by 128.
const RULER: u64 = 1_000_000_000 / 128;

/// How long the timer is compared with the clock, in nanoseconds, and how often. If a comparison is
/// interrupted, the rate that it finds is too low, so the highest rate is the best.
const WINDOW: u64 = 4_000_000;
const WINDOWS: usize = 3;
/// The longest time for which the timer is set at once, in nanoseconds: it counts 32 bits.
const MOST: u64 = 1_000_000_000;

/// Ticks in a nanosecond, with this many fractional bits; 0: the timer is not used.
static RATE: AtomicU64 = AtomicU64::new(0);
const POINT: u32 = 32;
/// Whether ticks are the time-stamp counter's.
static IS_BY_COUNTER: AtomicBool = AtomicBool::new(false);

/// Whether registers are MSRs, and the number of the first: one for each 16 bytes (11.12.1.2).
static IS_BY_MSR: AtomicBool = AtomicBool::new(false);
const FIRST_MSR: u32 = 0x800;

fn at(register: u64) -> *mut u32 {
    (wide(APIC) + register) as *mut u32
}

const fn msr(register: u64) -> u32 {
    FIRST_MSR + (register / 16) as u32
}

fn read(register: u64) -> u32 {
    if IS_BY_MSR.load(Ordering::Relaxed) {
        // SAFETY: the processor has the register in this mode; reading has no effect.
        return unsafe { regs::read_msr(msr(register)) } as u32;
    }
    // SAFETY: `find` mapped the registers; reading those above has no effect.
    unsafe { at(register).read_volatile() }
}

fn write(register: u64, value: u32) {
    if IS_BY_MSR.load(Ordering::Relaxed) {
        // SAFETY: as in `read`; what is written names a vector that has a handler.
        return unsafe { regs::write_msr(msr(register), value.into()) };
    }
    // SAFETY: `find` mapped the registers; what is written names a vector that has a handler.
    unsafe { at(register).write_volatile(value) };
}

/// The local APIC, which is enabled.
pub struct Apic(());

/// Enables the local APIC, if there is one that can be used. It passes interrupts of the PC's
/// interrupt controllers on, if there are any.
pub fn find(has_pic: bool) -> Option<Apic> {
    if !features::has_apic() {
        return None;
    }
    // SAFETY: every processor with an APIC has it.
    let base = unsafe { regs::read_msr(regs::APIC_BASE) };
    if base & regs::APIC_ON == 0 {
        return None;
    }
    if base & regs::APIC_BY_MSR == 0 {
        paging::map_device(APIC, base & regs::APIC_ADDRESS);
    } else {
        IS_BY_MSR.store(true, Ordering::Relaxed);
    }
    // What is spurious has the vector of a line of which that is known, too.
    write(register::SPURIOUS, ON | u32::from(pic::LAST_VECTOR));
    write(register::PRIORITY, 0);
    write(register::PIN, if has_pic { EXTERNAL } else { MASKED });
    write(register::TIMER, MASKED);
    Some(Apic(()))
}

impl Apic {
    /// The number by which an I/O APIC addresses it; nothing if an I/O APIC's registers have no
    /// room for that number, which firmware gives only to later processors (11.12.5.1).
    pub fn id(&self) -> Option<u8> {
        let id = read(register::ID);
        u8::try_from(if IS_BY_MSR.load(Ordering::Relaxed) { id } else { id >> 24 }).ok()
    }

    /// Measures the rate of the time-stamp counter by the timer, if the timer counts nanoseconds
    /// (`tsc::measure`).
    pub fn measure(&self) -> Result<(u32, u32), Fault> {
        if !features::counts_nanoseconds() {
            return Err(Fault::Vague);
        }
        write(register::DIVIDE, BY_128);
        let begin = || write(register::START, u32::MAX);
        let look = || {
            let before = tsc::read();
            let left = read(register::LEFT);
            Some(Look { before, ruler: u32::MAX - left, after: tsc::read() })
        };
        let measured = tsc::measure(RULER, begin, look);
        write(register::START, 0);
        measured
    }

    /// Ticks in a nanosecond of the timer, which counts down: the result is never too high.
    fn rate(&self, clock: &Clock) -> u64 {
        let mut rate = 0;
        for _ in 0..WINDOWS {
            let start = clock.nanoseconds(tsc::read());
            write(register::START, u32::MAX);
            let (mut passed, mut ticks) = (0, 0);
            while passed < WINDOW {
                ticks = u32::MAX - read(register::LEFT);
                passed = clock.nanoseconds(tsc::read()) - start;
            }
            rate = rate.max((u64::from(ticks) << POINT) / passed);
        }
        write(register::START, 0);
        rate
    }

    /// Uses the timer from now on, with this vector, instead of the board's timer. Returns false if
    /// the timer does not count.
    pub fn start(&self, clock: &Clock, vector: u8) -> bool {
        write(register::DIVIDE, BY_ONE);
        write(register::TIMER, MASKED | u32::from(vector));
        let is_by_counter = features::has_deadline();
        let (rate, mode) = if is_by_counter {
            let ticks = (1u128 << (POINT + clock.shift)) / u128::from(clock.mult);
            (ticks as u64, BY_COUNTER)
        } else {
            (self.rate(clock), 0)
        };
        if rate == 0 {
            return false;
        }
        write(register::TIMER, mode | u32::from(vector));
        // A deadline counts only after that (11.5.4.1).
        regs::fence();
        RATE.store(rate, Ordering::Relaxed);
        IS_BY_COUNTER.store(is_by_counter, Ordering::Relaxed);
        true
    }
}

/// Sets the timer to fire in this many nanoseconds, or earlier. Returns false if it is not used.
pub fn tick_in(nanoseconds: u64) -> bool {
    let rate = RATE.load(Ordering::Relaxed);
    let ticks = ((u128::from(nanoseconds.min(MOST)) * u128::from(rate)) >> POINT) as u64 + 1;
    if rate == 0 {
        return false;
    }
    if IS_BY_COUNTER.load(Ordering::Relaxed) {
        // SAFETY: the processor has it, and `init` has chosen it.
        unsafe { regs::write_msr(regs::TSC_DEADLINE, tsc::read() + ticks) };
    } else {
        write(register::START, u32::try_from(ticks).unwrap_or(u32::MAX));
    }
    true
}

/// Ends an interrupt that was taken, and came by the timer or by the I/O APIC.
pub fn end() {
    if RATE.load(Ordering::Relaxed) != 0 {
        write(register::END, 0);
    }
}

/// Whether the interrupt of a vector was taken, and not [ended](end).
pub fn is_in_service(vector: u8) -> bool {
    read(register::IN_SERVICE + u64::from(vector / 32) * 16) & 1 << (vector % 32) != 0
}
