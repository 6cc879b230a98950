// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults: what is done to whom.

use crate::Random;
use core::fmt;
use frames::{Layout, Shared};
use image::protocol::net::{CONSUMER_WAITS, ENTRIES, ENTRIES_BYTES, ENTRY, FREE, IN, OUT, PRODUCED, SLOT, SLOTS};
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::region::Region;
use macadamia::{Env, Thread};

/// Kinds of faults.
pub const KINDS: [&str; 7] =
    ["killed", "hangs", "wild register", "wild memory", "broken index", "lost notification", "notified for nothing"];

/// Components that fail.
pub struct Victims {
    /// By the name that the description gives them: what may be done to them, and who notifies them.
    all: Vec<(String, Thread, Vec<Thread>)>,
    /// The memory of ports.
    memory: Vec<Region>,
    /// So many kinds of faults happen to them.
    kinds: u32,
}

/// One of them, to be.
pub struct Fault {
    /// Index in [`KINDS`].
    pub kind: usize,
    /// Index of the component.
    pub victim: usize,
    name: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name, KINDS[self.kind])
    }
}

impl Victims {
    /// Those that the description names: `control-NAME`, and what to notify them with, `bell-NAME-WHAT`; others' memory is `port-WHAT`.
    pub fn new(env: &Env, kinds: u32) -> Self {
        let grants = &env.start.grants;
        let named = |prefix: &str| -> Vec<(String, Thread)> {
            let some = grants.iter().filter_map(|grant| Some((grant.name.strip_prefix(prefix)?.into(), Thread(grant.slot))));
            some.collect()
        };
        let bells = named("bell-");
        let all = named("control-").into_iter().map(|(name, thread)| {
            let own = bells.iter().filter(|(bell, _)| bell.starts_with(&*name)).map(|(_, bell)| *bell).collect();
            (name, thread, own)
        });
        let memory = grants
            .iter()
            .filter(|grant| grant.name.starts_with("port-") || grant.name == "network")
            .filter_map(|grant| Region::find(env, &grant.name));
        Self { all: all.collect(), memory: memory.collect(), kinds: kinds.clamp(1, KINDS.len() as u32) }
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _, _)| name.as_str())
    }

    /// The next fault.
    pub fn choose(&self, random: &mut Random) -> Fault {
        let victim = random.below(self.all.len() as u32) as usize;
        Fault { kind: random.below(self.kinds) as usize, victim, name: self.all[victim].0.clone() }
    }

    /// Ends a component as a jump to nowhere does.
    pub fn kill(&self, victim: usize) {
        self.change(victim, |frame| frame.eip = 0);
    }

    /// Stops a component, changes its registers, and lets it run.
    fn change(&self, victim: usize, change: impl FnOnce(&mut abi::Frame)) {
        let thread = self.all[victim].1;
        // A component that is dead just now has no registers: it has failed already.
        let _ = thread.stop().and_then(|()| thread.registers()).and_then(|mut registers| {
            change(&mut registers);
            thread.set_registers(&registers, true)
        });
    }

    /// Lets it happen.
    pub fn inject(&self, fault: &Fault, random: &mut Random) {
        let (_, thread, bells) = &self.all[fault.victim];
        let port = &self.memory[random.below(self.memory.len() as u32) as usize];
        match KINDS[fault.kind] {
            "killed" => self.kill(fault.victim),
            // Stopped, it does nothing any more, and gives no sign of life.
            "hangs" => _ = thread.stop(),
            "wild register" => {
                let (which, value) = (random.below(10), random.draw());
                self.change(fault.victim, |frame| {
                    let registers =
                        [&mut frame.eax, &mut frame.ebx, &mut frame.ecx, &mut frame.edx, &mut frame.esi, &mut frame.edi, &mut frame.ebp];
                    match registers.into_iter().nth(which as usize) {
                        Some(register) => *register = value,
                        None if which == 7 => frame.esp ^= 4 << (value % 16),
                        None => frame.eip ^= 1 << (value % 12),
                    }
                });
            }
            "wild memory" => {
                for _ in 0..64 {
                    port.write(random.below(port.bytes() / 4) * 4, random.draw());
                }
                // Lengths of frames, too, where a client's frames are, and numbers of slots.
                let slots = Layout::of(port.bytes()).map_or(0, Layout::slots);
                for _ in 0..16 {
                    port.write(SLOTS + random.below(2 * slots) * SLOT, random.draw());
                    port.write(ENTRIES + random.below(4) * ENTRIES_BYTES + random.below(slots) * ENTRY, random.draw() % (2 * slots));
                }
            }
            "broken index" => {
                let ring = if random.below(2) == 0 { IN } else { OUT };
                port.write(ring + random.below(2) * FREE + PRODUCED, random.draw());
            }
            "lost notification" => {
                for ring in [IN, OUT] {
                    port.write(ring + CONSUMER_WAITS, 0);
                    port.write(ring + FREE + CONSUMER_WAITS, 0);
                }
            }
            _ => {
                for _ in 0..random.below(100) {
                    let bell = bells.get(random.below(bells.len().max(1) as u32) as usize);
                    // One that is dead does not hear it.
                    let _ = bell.map(|bell| bell.notify());
                }
            }
        }
    }
}
