// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to IA-32.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | linear addresses |
//! | `boot` | from the boot loader to [`start`] |
//! | `regs`, `state` | registers |
//! | `gdt` | descriptor tables |
//! | `assembly` | entry and exit, and the fast paths: `*.S`, `fast/*.S` |
//! | `interrupts` | what comes while the kernel runs |
//! | `switch` | entering a space |
//! | `trap` | what an entry means, and the way back |
//! | `mem` | filling and copying memory |
//! | `lazy` | state switched only on use |
//! | `port` | the port contract |
//! | `panic` | the last words |
//! | `kdb` | the kernel debugger, if it is built in |
#![no_std]

mod assembly;
pub mod boot;
pub mod gdt;
mod interrupts;
#[cfg(feature = "kdb")]
mod kdb;
pub mod layout;
pub mod lazy;
mod mem;
pub mod panic;
pub mod port;
pub mod regs;
pub mod state;
mod switch;
pub mod trap;

use abi::kip::{self, Kip};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use kcore::Kernel;
use kcore::boot::{Machine, Range, thread_table};
use layout::{CPU, ENTRY_STACK_TOP, POOL_BASE};
use pool::Pool;
use port::Ia32;
use regs::Features;

/// A value that is written once at boot and then guarded by the kernel lock.
struct Once<T>(UnsafeCell<MaybeUninit<T>>);
// SAFETY: one processor; see `kernel`.
unsafe impl<T> Sync for Once<T> {}

static KERNEL: Once<Kernel<Ia32>> = Once(UnsafeCell::new(MaybeUninit::uninit()));
static FEATURES: Once<Features> = Once(UnsafeCell::new(MaybeUninit::uninit()));

/// The kernel: this is the lock.
///
/// # Safety
/// After [`start`] has made it, and only while no other reference to it is alive: once
/// an entry, with interrupts off.
unsafe fn kernel() -> &'static mut Kernel<Ia32> {
    // SAFETY: the caller's.
    unsafe { (*KERNEL.0.get()).assume_init_mut() }
}

/// What the processor can do.
pub fn features() -> Features {
    // SAFETY: `start` wrote it before the first thread could exist, and nobody writes it again.
    unsafe { *(*FEATURES.0.get()).assume_init_ref() }
}

/// Interrupt lines that components may have: all but the timer's and the cascade.
const COMPONENT_LINES: u32 = 0xffff & !(1 << 0 | 1 << 2);

/// Makes the kernel out of what boot found, and the first thread; leaves to it.
pub fn start(boot: boot::Boot) -> ! {
    // SAFETY: boot, one processor, interrupts off.
    unsafe { (*FEATURES.0.get()).write(boot.features) };
    boot::set_window(0, boot::cpu_page_physical());
    boot::set_window(3, boot::ones_page_physical());
    let (handlers, double_fault) = assembly::handlers();
    gdt::init(&handlers, double_fault);
    if boot.features.sep {
        // SAFETY: the entry code is ready, and `CPU.current` is set before user mode is.
        unsafe { regs::init_sysenter(gdt::KERNEL_CODE, ENTRY_STACK_TOP, assembly::sysenter_entry as *const () as u32) };
    }
    regs::set_ts();
    plat_pc::pic::init();
    plat_pc::pic::set_enabled(0, true);

    port::set_pool(boot.pool_physical);
    let (_, reserved) = thread_table(boot.pool_bytes);
    // SAFETY: boot mapped the pool there, found it free, and nobody else knows of it.
    let pool = unsafe { Pool::new(POOL_BASE as *mut u8, boot.pool_bytes, reserved) };
    // SAFETY: boot; the one place that writes it.
    let kernel = unsafe { (*KERNEL.0.get()).write(Kernel::new(pool, Ia32::new(boot.features, boot.tsc))) };

    port::INDEX_MASK.store(kernel.threads.count - 1, core::sync::atomic::Ordering::Relaxed);

    let mut ram = [Range::default(); 16];
    let ranges = boot.ram.iter().take(boot.ram_count);
    ram.iter_mut().zip(ranges).for_each(|(to, from)| *to = Range { base: from.base, bytes: from.bytes });
    let machine = Machine {
        ram: &ram[..boot.ram_count.min(16)],
        devices: [Range { base: boot.ram_end, bytes: 0xffff_f000 - boot.ram_end }, Range { base: 0xa_0000, bytes: 0x6_0000 }],
        ports: Range { base: 0, bytes: 0x1_0000 },
        image: boot.image_physical,
        header: boot.header,
        irq_lines: COMPONENT_LINES,
    };
    if let Err(error) = kernel.start_root(&machine, &information_page(&boot, kernel.threads.count)) {
        panic!("the machine has too little memory: {}", error.text());
    }
    trap::leave(kernel);
    // SAFETY: the current thread's context is complete (`Port::start`) and its space is loaded.
    unsafe { assembly::leave_kernel() }
}

fn information_page(boot: &boot::Boot, threads: u32) -> Kip {
    let feature = |present: bool, bit: u32| if present { bit } else { 0 };
    let mut text = [0; 64];
    let version = concat!("Macadamia ", env!("CARGO_PKG_VERSION"), ", IA-32").as_bytes();
    text.iter_mut().zip(version).for_each(|(to, from)| *to = *from);
    Kip {
        magic: kip::MAGIC,
        version: kip::VERSION,
        features: feature(boot.features.sep, kip::FEATURE_SYSENTER)
            | feature(boot.features.fxsr, kip::FEATURE_FXSR)
            | feature(boot.features.sse, kip::FEATURE_SSE),
        max_threads: threads,
        tsc_base: boot.tsc.base,
        tsc_mult: boot.tsc.mult,
        tsc_shift: boot.tsc.shift,
        slice_ns: 10_000_000,
        pool_bytes: boot.pool_bytes,
        text,
    }
}

const _: () = assert!(CPU + 128 <= layout::IO_BITMAP);
