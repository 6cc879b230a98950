// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a processor's folder supplies.

use crate::elf::Elf;
use crate::memory::Written;
use abi::{Op, Word};
use anyhow::Result;
use arch_host::POOL_BASE;
use fastrand::Rng;
use kcore::port::{CONTEXT_WORDS, Registers};
use kcore::thread::gate;
use kcore::{Space, Thread};
use mmu::Format;
use pool::{Link, Ref};
use rustc_hash::FxHashMap;

/// The simulated port, with a processor's registers and translation tables.
pub type Host<P> = arch_host::Host<<P as Processor>::Registers, <P as Processor>::Format>;
/// The portable kernel on it.
pub type Kernel<P> = kcore::Kernel<Host<P>>;

/// Words of a system call that travel in registers: the tag, and those that a message may have.
pub const ARGUMENTS: usize = 2 + abi::tag::REGISTER_WORDS as usize;

/// What the thread that runs does next.
pub enum Event {
    /// A system call, with this tag and these arguments.
    Call([Word; ARGUMENTS]),
    /// It accesses a page that is missing.
    Fault,
    /// The timer interrupts it.
    Tick,
}

/// Selectors in the root server's table.
pub struct Found {
    /// The root server's space, whose threads handle the aliens.
    pub root: Ref<Space>,
    /// Selectors of threads: natives, aliens, and natives again with badges. The first is the root
    /// server's.
    pub threads: Vec<u32>,
    /// Selectors of memories.
    pub memories: Vec<u32>,
    /// Selectors of spaces of native threads. The first is the root server's.
    pub natives: Vec<u32>,
    /// Selectors of spaces of aliens.
    pub aliens: Vec<u32>,
    /// Selectors of spaces of both kinds, without the right to control them.
    pub uncontrolled: Vec<u32>,
    /// Selectors of spaces without threads.
    pub empty: Vec<u32>,
    /// Selectors of Segments.
    pub segments: Vec<u32>,
    /// Where pages are mapped.
    pub range: u32,
}

/// Why a thread is compared.
#[derive(Clone, Copy)]
pub struct Who {
    /// It entered.
    #[allow(dead_code, reason = "not each processor asks for it")]
    pub entered: bool,
    /// It runs now.
    pub runs: bool,
    /// The entry code put it into a ready queue: it continues as if a system call ended then.
    pub is_brief: bool,
}

/// What the entry code left when it went to user mode.
pub struct Outcome<O> {
    /// The thread that runs.
    pub current: Ref<Thread>,
    /// Every word that was written.
    pub written: Written,
    /// The processor's other state then.
    pub own: O,
}

/// What the entry code did.
pub struct Run<O> {
    /// The result, if the event was not left to the portable kernel.
    pub outcome: Option<Outcome<O>>,
    /// The tests that it made, by number.
    pub tests: Vec<usize>,
    /// The instructions that it executed, and for conditional ones whether the condition was met.
    pub steps: Vec<(u32, bool)>,
    /// The ways that it took, which are among [`Processor::WAYS`].
    pub ways: Vec<&'static str>,
}

/// The addresses of words that each port has.
pub struct Places {
    /// `Cpu`.
    pub cpu: u32,
    /// The scheduler.
    pub scheduler: u32,
}

/// How often the instruction at an address was executed with its condition met, and how often not.
pub type Executed = FxHashMap<u32, [u64; 2]>;

/// The fast paths of a processor: its registers, a machine that executes its instructions, and what
/// is special about it.
pub trait Processor: Sized {
    /// The layout of saved registers.
    type Registers: Registers;
    /// The format of translation tables.
    type Format: Format;
    /// What is known about a system's spaces, besides their selectors.
    type Spaces;
    /// How the kernel was entered: the user's registers, and the processor's other state.
    type Entered;
    /// What the entry code leaves besides memory.
    type Left;

    /// System calls that have a fast path. The others are rarer.
    const FAST: &'static [Op];
    /// Pages of the smaller memories, and of the range of addresses where pages are mapped: more
    /// than a fast path maps at once.
    const PAGES: u32;
    /// The processor may relocate a space's addresses below this one.
    const LOW_END: u32;
    /// Where pages are mapped in half of the systems: above [`LOW_END`](Self::LOW_END), and where
    /// Segments have addresses.
    const HIGH_RANGE: u32 = 0x5010_0000;
    /// Spaces without threads that the port needs.
    const EMPTY_SPACES: u32 = 0;
    /// The ways that the entry code can take, and how often each must have been taken in ten
    /// thousand events.
    const WAYS: &'static [(&'static str, u64)];
    /// How many events are tried, unless the command line has another number.
    const EVENTS: u64;
    /// Tests that are hardly ever the only one that prevents a wrong result, by their names, with
    /// the reason.
    const HARDLY_NEEDED: &'static [(&'static str, &'static str)] = &[];
    /// Words of the context that have a meaning for a thread that waits in a system call: it is
    /// resumed with a message and these.
    const KEPT: &'static [usize] = &[];

    /// Reads the code.
    fn read(elf: &Elf) -> Result<Self>;

    /// The words that each port has.
    fn places(&self) -> &Places;

    /// The name of each test, by its number; none if it is not one.
    fn tests(&self) -> Vec<Option<String>>;

    /// Instructions that were never executed, or if they have a condition not both ways, as text.
    fn missed(&self, executed: &Executed) -> Vec<String>;

    /// Checks other parts of the assembly that are not fast paths.
    ///
    /// # Errors
    /// If something is wrong.
    fn check_more(&self, _rng: &mut Rng) -> Result<()> {
        Ok(())
    }

    /// The rarely used state that a thread gets: the arguments of `set_state` after the thread.
    fn state(_is_alien: bool, _rng: &mut Rng) -> Vec<[u32; 3]> {
        Vec::new()
    }

    /// A thread saved its registers by a system call.
    fn by_system_call(thread: &mut Thread);

    /// Writes what the port would keep of a new system's spaces.
    fn set_up(&self, kernel: &mut Kernel<Self>, found: &Found, rng: &mut Rng) -> Self::Spaces;

    /// What the port does to spaces between events.
    fn meanwhile(
        &self,
        _: &mut Kernel<Self>,
        _: &Found,
        _: &mut Self::Spaces,
        _: Ref<Thread>,
        _: &mut Rng,
    ) {
    }

    /// An alien's handler writes something into its frame.
    ///
    /// By default now and then one of its words, the last of which says what was changed.
    fn write_frame(frame: &mut [Word], rng: &mut Rng) {
        if rng.u32(..8) == 0 {
            let word = rng.usize(..frame.len());
            frame[word] = if word + 1 == frame.len() { below(4, rng) } else { any(rng) };
        }
    }

    /// Random registers of a user with which `me` enters the kernel, and what the port has then.
    fn enter(
        &self,
        kernel: &mut Kernel<Self>,
        found: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Self::Entered;

    /// Executes the entry code on a copy. The test `turned` has the opposite result.
    ///
    /// # Errors
    /// If it did something that is wrong whatever the portable kernel does; for instance, if it
    /// changed something and then left the event to the portable kernel.
    fn run(
        &self,
        kernel: &mut Kernel<Self>,
        me: Ref<Thread>,
        entered: &Self::Entered,
        turned: Option<usize>,
    ) -> Result<Run<Self::Left>>;

    /// Does what the port's entry code does with rarely loaded state.
    fn way_in(&self, _: &mut Kernel<Self>, _: Ref<Thread>, _: &Self::Entered) {}

    /// Handles the entry by the portable kernel. For the timer's interrupt this only saves the
    /// registers.
    fn portable(
        &self,
        kernel: &mut Kernel<Self>,
        me: Ref<Thread>,
        event: &Event,
        entered: &Self::Entered,
    );

    /// Compares the processor with the portable kernel's result of the event: registers, space,
    /// caches, TLB.
    fn check(
        &self,
        kernel: &mut Kernel<Self>,
        me: Ref<Thread>,
        entered: &Self::Entered,
        outcome: &Outcome<Self::Left>,
    ) -> Result<()>;

    /// Checks what must be true of a thread as the entry code left it.
    fn check_thread(&self, _: &Kernel<Self>, _: &Thread) -> Result<()> {
        Ok(())
    }

    /// Clears what has no meaning in a thread's present state.
    ///
    /// By default registers of a thread that runs, which are in the processor, and all but
    /// [`KEPT`](Self::KEPT) of one that waits in a call or for one.
    fn normalise(thread: &mut Thread, who: Who) {
        if who.runs {
            keep(thread, &[]);
        } else if matches!(thread.gate, gate::OPEN | gate::REPLY) {
            keep(thread, Self::KEPT);
        }
        forget_peer(thread);
    }

    /// Executes the exit code, to the thread that runs after an event.
    fn leave(&self, _: &mut Kernel<Self>, _: &mut Rng) -> Result<Option<Run<Self::Left>>> {
        Ok(None)
    }
}

/// Clears all of a thread's context but these words.
pub fn keep(thread: &mut Thread, words: &[usize]) {
    let before = std::mem::replace(&mut thread.context, [0; CONTEXT_WORDS]);
    words.iter().for_each(|index| thread.context[*index] = before[*index]);
}

/// Clears a partner and a badge that have no meaning in the state that a thread is in.
pub fn forget_peer(thread: &mut Thread) {
    if thread.state() == gate::READY && !thread.is_alien() || thread.state() == gate::OPEN {
        thread.partner = Link::NULL;
    }
    if thread.state() != gate::SENDING {
        thread.badge = 0;
    }
}

/// A random word: on each processor it has the same lower half for a generator's state.
pub fn any(rng: &mut Rng) -> Word {
    rng.u64(..) as Word
}

/// A random word below a bound.
pub fn below(bound: Word, rng: &mut Rng) -> Word {
    match u32::try_from(bound) {
        Ok(bound) => rng.u32(..bound) as Word,
        Err(_) => rng.u64(..bound as u64) as Word,
    }
}

/// Whether an address is one of a word in the pool.
pub fn is_pool<P: Processor>(kernel: &Kernel<P>, address: u32) -> bool {
    address.wrapping_sub(POOL_BASE) < kernel.pool.bytes()
}

/// A word of the pool.
pub fn pool_word<P: Processor>(kernel: &Kernel<P>, address: u32) -> Option<u32> {
    is_pool::<P>(kernel, address)
        .then(|| kernel.pool.bytes_at(address, 4).try_into().map(u32::from_ne_bytes).ok())?
}

/// All threads that have a space.
pub fn all<P: Processor>(kernel: &Kernel<P>) -> Vec<Ref<Thread>> {
    (0..kernel.threads.count)
        .filter_map(|i| kernel.threads.get(i))
        .filter(|t| !kernel.pool[*t].space.is_null())
        .collect()
}
