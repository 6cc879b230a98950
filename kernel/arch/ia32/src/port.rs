// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port contract for IA-32 on a PC.

use crate::entry::{self, word};
use crate::layout::{CPU, KERNEL_BASE, POOL_BASE};
use crate::lazy::{Lazy, checked_selector};
use crate::regs::{self, EFLAGS_IF, Features};
use crate::{gdt, state};
use abi::frame::{CHANGED_SEGMENTS, Frame, USER_FLAGS, vector};
use abi::{Error, PAGE_SIZE, Rights, USER_END};
use core::sync::atomic::{AtomicU32, Ordering};
use kcore::port::{Context, FaultIn};
use kcore::space::{Space, Table};
use kcore::thread::{Thread, lazy};
use kcore::{Cpu, Port};
use mmu::ia32::Ia32 as Format;
use plat_pc::{TscScale, pic, pit, tsc};
use pool::{Pool, Ref};

/// Entries of the thread table, for the fast path.
pub static THREAD_COUNT: AtomicU32 = AtomicU32::new(0);
/// Physical minus linear address of the pool.
static POOL_OFFSET: AtomicU32 = AtomicU32::new(0);

/// Where the fast path finds a space's directory.
const DIRECTORY: usize = 0;
/// More pages than this are flushed by reloading CR3.
const FLUSH_ALL: u32 = 32;

/// The processor and its board.
pub struct Ia32 {
    lazy: Lazy,
    clock: TscScale,
}

/// Notes where the pool is.
pub fn set_pool(physical: u32) {
    POOL_OFFSET.store(physical.wrapping_sub(POOL_BASE), Ordering::Relaxed);
}

/// Physical address of something in the pool.
pub fn physical(address: u32) -> u32 {
    address.wrapping_add(POOL_OFFSET.load(Ordering::Relaxed))
}

impl Ia32 {
    /// The port on a processor with these features.
    pub const fn new(features: Features, clock: TscScale) -> Self {
        Self { lazy: Lazy::new(features), clock }
    }

    /// The hot words and the lazily switched state, at once.
    pub fn parts(&mut self) -> (&mut Cpu, &mut Lazy) {
        // SAFETY: boot mapped the processor's page, the words are plain data, and the fast path touches
        // them only while no Rust runs; `&mut self` keeps it unique.
        (unsafe { &mut *(CPU as *mut Cpu) }, &mut self.lazy)
    }

    /// Makes a space's tables the processor's, if they are not.
    pub fn switch_to(&mut self, pool: &Pool, space: Ref<Space>) {
        let directory = pool[space].hw[DIRECTORY];
        if regs::read_cr3() != directory {
            // SAFETY: the directory has the kernel's part (`space_created`).
            unsafe { regs::write_cr3(directory) };
        }
    }

    fn is_current(pool: &Pool, space: Ref<Space>) -> bool {
        regs::read_cr3() == pool[space].hw[DIRECTORY]
    }
}

impl Port for Ia32 {
    type Format = Format;

    fn argument(context: &Context, index: usize) -> u32 {
        context[[word::EAX, word::EBX, word::ESI, word::EDI, word::EBP][index]]
    }

    fn set_result(context: &mut Context, index: usize, value: u32) {
        // A thread that waits since the fast path has no saved DS and ES: the contract says flat.
        context[word::DS] = u32::from(gdt::USER_DATA);
        context[word::ES] = u32::from(gdt::USER_DATA);
        context[[word::EAX, word::EBX, word::ESI, word::EDI, word::EBP][index]] = value;
    }

    fn frame(thread: &Thread) -> Frame {
        let c = &thread.context;
        let is_fault = c[word::VECTOR] == vector::PAGE_FAULT;
        Frame {
            eax: c[word::EAX],
            ebx: c[word::EBX],
            ecx: c[word::ECX],
            edx: c[word::EDX],
            esi: c[word::ESI],
            edi: c[word::EDI],
            ebp: c[word::EBP],
            esp: c[word::ESP],
            eip: c[word::EIP],
            eflags: c[word::EFLAGS],
            ds_es: c[word::DS] & 0xffff | c[word::ES] << 16,
            fs_gs: thread.fs_gs,
            vector: c[word::VECTOR],
            error: c[word::ERROR],
            address: if is_fault { thread.fault_address } else { 0 },
            changed: 0,
        }
    }

    fn load_frame(thread: &mut Thread, frame: &Frame) {
        let c = &mut thread.context;
        for (index, value) in [
            (word::EAX, frame.eax),
            (word::EBX, frame.ebx),
            (word::ECX, frame.ecx),
            (word::EDX, frame.edx),
            (word::ESI, frame.esi),
            (word::EDI, frame.edi),
            (word::EBP, frame.ebp),
            (word::ESP, frame.esp),
            (word::EIP, frame.eip),
            (word::EFLAGS, frame.eflags & USER_FLAGS | EFLAGS_IF | 2),
            (word::CS, u32::from(gdt::USER_CODE)),
            (word::SS, u32::from(gdt::USER_DATA)),
            (word::VECTOR, frame.vector),
            (word::ERROR, frame.error),
            (word::DS, u32::from(checked_selector(frame.ds_es as u16, &thread.tls))),
            (word::ES, u32::from(checked_selector((frame.ds_es >> 16) as u16, &thread.tls))),
        ] {
            c[index] = value;
        }
        if frame.changed & CHANGED_SEGMENTS != 0 {
            thread.fs_gs = frame.fs_gs;
            if frame.fs_gs & 0xfffc_fffc == 0 {
                thread.lazy &= !lazy::SEGMENTS;
            } else {
                thread.lazy |= lazy::SEGMENTS;
            }
        }
    }

    fn start(context: &mut Context, entry: u32, stack: u32, utcb: u32, argument: u32) {
        let data = u32::from(gdt::USER_DATA);
        *context = [0; kcore::port::CONTEXT_WORDS];
        for (index, value) in [
            (word::EIP, entry),
            (word::ESP, stack),
            (word::EBX, utcb),
            (word::ESI, argument),
            (word::EFLAGS, EFLAGS_IF | 2),
            (word::CS, u32::from(gdt::USER_CODE)),
            (word::SS, data),
            (word::DS, data),
            (word::ES, data),
            (word::VECTOR, vector::CREATED),
        ] {
            context[index] = value;
        }
    }

    fn resumes_fast(thread: &Thread) -> bool {
        thread.context[word::VECTOR] == vector::SYSENTER && thread.lazy == 0 && !thread.is_alien()
    }

    fn cpu(&mut self) -> &mut Cpu {
        self.parts().0
    }

    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        let (cpu, lazy) = self.parts();
        lazy.unload(cpu, pool, thread, keep);
    }

    fn set_tls(thread: &mut Thread, index: usize, base: u32, limit: u32) {
        if let Some(slot) = thread.tls.get_mut(index) {
            *slot = mmu::descriptor::tls(base, limit);
        }
    }

    fn set_debug(thread: &mut Thread, index: u32, value: u32) -> Result<u32, Error> {
        /// DR7: local enables, conditions and lengths; not general detect, not global enables.
        const CONTROL: u32 = 0xffff_0055;
        let slot = match index {
            0..=3 if value < USER_END => index as usize,
            7 if value & !(CONTROL | 0x3ff) == 0 => 5,
            _ => return Err(Error::BadArgument),
        };
        // I/O breakpoints want CR4.DE and could watch nobody else's ports, but no one needs them.
        if slot == 5 && (0..4).any(|i| value >> (16 + 4 * i) & 3 == 2) {
            return Err(Error::BadArgument);
        }
        thread.debug[slot] = if slot == 5 { value & CONTROL } else { value };
        Ok(core::mem::take(&mut thread.debug[4]))
    }

    fn ports_changed(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let (cpu, lazy) = self.parts();
        lazy.ports_changed(cpu, pool, space);
    }

    fn clear_fpu(area: &mut [u8]) {
        state::initial_fpu(crate::features(), area);
    }

    fn physical(&self, address: u32) -> u32 {
        physical(address)
    }

    fn pool_address(&self, physical: u32) -> u32 {
        physical.wrapping_sub(POOL_OFFSET.load(Ordering::Relaxed))
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let Some(top) = pool[space].top.get() else { return };
        crate::boot::copy_kernel_entries(&mut pool[top].0);
        pool[space].hw[DIRECTORY] = physical(top.address());
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) {
        if Self::is_current(pool, space) {
            // SAFETY: boot's directory has the kernel's part and nothing else.
            unsafe { regs::write_cr3(crate::boot::directory_physical()) };
        }
    }

    fn before_change(&mut self, _: &mut Pool, _: Ref<Space>, _: u32, _: u32) {
        // Caches are physical.
    }

    fn top_changed(&mut self, _: &mut Pool, _: Ref<Space>, _: usize) {
        // The upper level is what the processor walks.
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, start: u32, end: u32) {
        // Any other space's entries went with the last change of directory: none of them is global.
        if !Self::is_current(pool, space) {
            return;
        }
        if (end.wrapping_sub(start)) / PAGE_SIZE > FLUSH_ALL {
            // SAFETY: the same directory again.
            unsafe { regs::write_cr3(regs::read_cr3()) };
        } else {
            (start..end).step_by(PAGE_SIZE as usize).for_each(regs::invlpg);
        }
    }

    fn fault_in(&mut self, _: &mut Pool, _: Ref<Space>, _: u32, _: Rights) -> FaultIn {
        FaultIn::Report
    }

    fn cache(&mut self, _: &mut Pool, _: Ref<Space>, _: u32, _: u32, _: bool, _: bool) {
        // Caches are physical and coherent with the instruction side.
    }

    fn now(&self) -> u64 {
        abi::kip::scale(tsc::read().wrapping_sub(self.clock.base), self.clock.mult, self.clock.shift)
    }

    fn set_timer(&mut self, deadline: Option<u64>) {
        if let Some(deadline) = deadline {
            pit::one_shot(deadline.saturating_sub(self.now()));
        }
    }

    fn set_irq(&mut self, line: u32, enabled: bool) {
        pic::set_enabled(line, enabled);
    }

    fn interrupt_pending(&mut self) -> bool {
        entry::window(false);
        entry::PENDING.load(Ordering::Relaxed) != 0
    }
}

/// The upper-level entries of the kernel start here.
pub const KERNEL_ENTRIES: usize = mmu::top_index(KERNEL_BASE);
const _: () = assert!(size_of::<Table>() == PAGE_SIZE as usize);
