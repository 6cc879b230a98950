// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be the same, and what nobody will ever read again.

use super::scenario::{Host, code_and_stack, hw};
use abi::UserAddr;
use anyhow::{Result, ensure};
use arch_host::POOL_BASE;
use ia32_context::hw::{DIRECTORY, HOME, REGION_LOW, SERVER};
use ia32_context::{FIXED_FLAGS, word};
use kcore::thread::{ANCHOR, BYTES, flag, gate};
use kcore::{Kernel, Space, Thread};
use pool::Ref;
use std::collections::BTreeMap;

/// What the assembly left.
pub struct Expected {
    /// Who runs.
    pub current: Ref<Thread>,
    /// `eax ebx ecx edx esi edi ebp esp eip eflags` of who runs.
    pub registers: [u32; 10],
    /// All registers count; of a native after `sysexit` ECX and EDX are nobody's.
    pub whole: bool,
    /// DS and ES of who runs.
    pub data: [u32; 2],
    /// The directory, if it was changed.
    pub cr3: Option<u32>,
    /// The rest of the way into the space is the portable kernel's.
    pub with_care: bool,
    /// The space of who ran before.
    pub space: Ref<Space>,
    /// Whose directory was the processor's then.
    pub directory_of: Ref<Space>,
    /// Addresses whose translations were dropped.
    pub dropped: Vec<u32>,
    /// The highest priority that is ready in a queue.
    pub top: u32,
    /// Where the kernel's words begin, with those of the scheduler.
    pub kernel: u32,
    /// Every word written, by address.
    pub written: BTreeMap<u32, u32>,
}

/// Words of saved registers in [`Expected::registers`]' order.
pub const WORDS: [usize; 10] =
    [word::EAX, word::EBX, word::ECX, word::EDX, word::ESI, word::EDI, word::EBP, word::ESP, word::EIP, word::EFLAGS];

/// Words of saved registers that count behind a system call by a fast path, for a thread in a ready queue.
const KEPT: [usize; 10] = [word::EAX, word::EBX, word::ESI, word::EDI, word::EBP, word::ESP, word::EIP, word::EFLAGS, word::DS, word::ES];

/// Whether a thread that the way into a server lets go on by `iret` has a server's selectors saved. Other ways write them first.
fn may_go_on(kernel: &Kernel<Host>, thread: &Thread) -> bool {
    let Some(space) = thread.space.get().filter(|_| matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED)) else {
        return true;
    };
    let saved = [thread.context[word::CS] & 0xffff, thread.context[word::SS]];
    hw(kernel, space, SERVER) != space.address() || saved == code_and_stack(kernel, space)
}

/// Clears what has no meaning in the state that the thread is in.
fn normalise(thread: &mut Thread, runs: bool, is_brief: bool) {
    let waits_fast = matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED);
    let frame_elsewhere = thread.gate == gate::REPLY | gate::ALIEN;
    if runs || frame_elsewhere {
        thread.context = [0; kcore::port::CONTEXT_WORDS];
    } else if waits_fast {
        // Resumed by `sysexit` with results in registers, or by `iret` with those that `set_result` wrote.
        let [esp, eip, eflags] = [word::ESP, word::EIP, word::EFLAGS].map(|index| thread.context[index]);
        thread.context = [0; kcore::port::CONTEXT_WORDS];
        (thread.context[word::ESP], thread.context[word::EIP], thread.context[word::EFLAGS]) = (esp, eip, eflags);
    }
    if is_brief {
        // ECX and EDX are nobody's, and its space's selectors are written on the way out.
        let kept = KEPT.map(|index| thread.context[index]);
        thread.context = [0; kcore::port::CONTEXT_WORDS];
        KEPT.into_iter().zip(kept).for_each(|(index, value)| thread.context[index] = value);
        thread.flags |= flag::BRIEF;
    }
    if thread.gate == gate::REPLY | gate::EXCEPTION {
        // `pushad`'s own stack pointer; and the way out writes its space's selectors.
        (thread.context[word::EBP + 1], thread.context[word::CS], thread.context[word::SS]) = (0, 0, 0);
    }
    if thread.state() == gate::READY && !thread.is_alien() || matches!(thread.state(), gate::OPEN) {
        thread.partner = pool::Link::NULL;
    }
    if frame_elsewhere {
        thread.fault_address = UserAddr(0);
    }
    if thread.state() != gate::SENDING {
        thread.badge = 0;
    }
}

/// Holds the portable kernel's result against the assembly's.
pub fn compare(kernel: &mut Kernel<Host>, mut before: Vec<u8>, expected: &Expected) -> Result<()> {
    let current = kernel.current();
    ensure!(current == Some(expected.current), "{current:?} runs, by the assembly {:?}", expected.current);
    let context = kernel.pool[expected.current].context;
    for (name, (index, value)) in
        ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp", "eip", "eflags"].iter().zip(WORDS.into_iter().zip(expected.registers))
    {
        let counts = expected.whole || !matches!(*name, "ecx" | "edx");
        ensure!(!counts || context[index] == value, "{name} is {:#x}, by the assembly {value:#x}", context[index]);
    }
    let data = [context[word::DS], context[word::ES]];
    ensure!(data == expected.data, "DS and ES are {data:x?}, by the assembly {:x?}", expected.data);
    ensure!(expected.whole || expected.registers[9] == FIXED_FLAGS, "flags after sysexit: {:#x}", expected.registers[9]);
    let to = kernel.pool[expected.current].space.get();
    let is_alien = kernel.pool[expected.current].is_alien();
    // A server that runs by the tables of a native's space loads them again for that, and those of a home for a small space.
    let home = |space: Ref<Space>| (hw(kernel, space, REGION_LOW) != 0).then(|| hw(kernel, space, HOME));
    let is_there = |space: &Ref<Space>| {
        if let Some(own) = home(*space) {
            return home(expected.space) == Some(own) || is_alien && expected.directory_of.address() == own;
        }
        let shown = hw(kernel, expected.directory_of, SERVER) == space.address();
        expected.space == *space || shown || is_alien && expected.directory_of == *space
    };
    let cr3 = to.filter(|to| !expected.with_care && !is_there(to)).map(|to| hw(kernel, to, DIRECTORY));
    ensure!(expected.cr3 == cr3, "the address space is {:x?} in place of {cr3:x?}", expected.cr3);
    for (address, value) in expected.written.iter().filter(|(a, _)| **a >= POOL_BASE) {
        let offset = (address - POOL_BASE) as usize;
        before[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let mut after = kernel.pool.bytes_at(POOL_BASE, kernel.pool.bytes()).to_vec();
    for index in 0..kernel.threads.count {
        let Some(thread) = kernel.threads.get(index) else { continue };
        let start = (thread.address() - ANCHOR - POOL_BASE) as usize;
        let range = start..start + BYTES as usize;
        let mut pair = [&before[range.clone()], &after[range.clone()]].map(bytemuck::pod_read_unaligned::<Thread>);
        ensure!(may_go_on(kernel, &pair[0]), "thread {index} waits with the selectors of another kind of space");
        let is_brief = pair[0].flags & flag::BRIEF != 0;
        // One that got other registers meanwhile is also `SLOW`: what is to be loaded for it the way out looks at.
        let waits_its_turn = pair[0].state() == gate::READY && !pair[0].next.is_null();
        ensure!(!is_brief || waits_its_turn, "thread {index} is in no ready queue, and said to be by a fast path");
        ensure!(is_brief || pair[1].flags & flag::BRIEF == 0, "thread {index} is to go on by a fast path still");
        for t in &mut pair {
            normalise(t, thread == expected.current, is_brief);
        }
        if is_brief {
            // The next event may take it from there.
            kernel.pool[thread].flags |= flag::BRIEF;
        }
        let [b, a] = pair;
        ensure!(
            b.gate == a.gate && b.partner == a.partner && b.handle == a.handle && b.context == a.context,
            "thread {index}: gate {:#x}, partner {:?}, handle {:#x}; by the assembly {:#x}, {:?}, {:#x}; registers\n{:x?}\n{:x?}",
            a.gate,
            a.partner,
            a.handle,
            b.gate,
            b.partner,
            b.handle,
            a.context,
            b.context
        );
        ensure!(bytemuck::bytes_of(&a) == bytemuck::bytes_of(&b), "thread {index} differs in a field that the fast path does not write");
        before[range.clone()].fill(0);
        after[range].fill(0);
    }
    if let Some(at) = before.iter().zip(&after).position(|(a, b)| a != b) {
        anyhow::bail!("memory at {:#x} differs: {:#x}, by the assembly {:#x}", POOL_BASE + at as u32, after[at], before[at]);
    }
    Ok(())
}
