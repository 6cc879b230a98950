// SPDX-License-Identifier: MIT OR Apache-2.0
//! An adversarial component. Each case builds what a path of the kernel could walk over for a long
//! time with interrupts disabled, and makes the kernel walk over it. The machine model measures how
//! long it took (docs/model.md, *Latency*); the conformance program tests what the calls return.
//!
//! A case may have steps, which the report distinguishes: `case` is called with the name of each,
//! and preparations are a step of their own. Numbers are chosen so that one walk over everything
//! would take far more than 10,000 instructions. Arguments name the cases that run; without
//! arguments all do.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod code;
mod deletion;
mod mapping;
mod segment;
#[cfg(target_arch = "x86")]
mod small;
mod waiting;

use abi::Word;
use code::Code;
use macadamia::alloc::vec::Vec;
use macadamia::cap::delete;
use macadamia::interval::case;
use macadamia::map::{Batch, Window, map};
use macadamia::{Env, Error, Memory, Quota, Result, Rights, Space, Thread, ipc, result, time};
use processor::{STATUS, Words};

macadamia::main!(run);

/// A case: its name and its function.
pub type Case = (&'static str, fn(&mut Bed) -> Result<()>);

/// The component's own Quota.
pub const QUOTA: Quota = Quota(image::slot::QUOTA as Word);
/// The component's own Space.
pub const SPACE: Space = Space(image::slot::SPACE as Word);
/// The first thread, every right.
pub const SELF: Thread = Thread(image::slot::THREAD as Word);
/// Bytes of a page.
pub const PAGE: Word = abi::PAGE_SIZE;
/// Bytes that a translation table maps.
pub const SPAN: Word = abi::TABLE_SPAN;
/// The address at which cases map into their spaces.
pub const PLACE: Word = 0x4000_0000;
/// The right to control an object.
pub const CONTROL: Rights = Rights::CONTROL;
/// To read and write.
pub const RW: Rights = Rights(3);

/// The address of the code of a case's threads, in every space: after the mappings at [`PLACE`],
/// which on PowerPC is the end of grants.
pub const CODE: Word = image::layout::GRANTS_END as Word + 64 * SPAN;
/// The code's offset in the component's memory: after two spans, of which the first can be a large
/// page.
const CODE_OFFSET: Word = 2 * SPAN;
/// Threads in the crowd.
pub const CROWD: u32 = 1500;
/// Spaces that Segments are attached to.
const SPACES: u32 = 1000;
/// A higher priority than the first thread's: a thread that is started runs at once, until it
/// waits.
const URGENT: Word = 110;

/// The resources of a case; slots that it takes are emptied after it.
pub struct Bed {
    /// RAM: two spans that begin at a multiple of one, and the page with the code.
    pub ram: Memory,
    /// An I/O port.
    #[cfg(any(target_arch = "x86", target_arch = "mips64"))]
    pub ports: Memory,
    /// Threads of this space that [`Bed::gather`] starts.
    crowd: Vec<Thread>,
    /// Spaces of aliens without any.
    pub spaces: Vec<Space>,
    code: Window,
    first: Word,
    next: Word,
}

impl Bed {
    fn new(env: &mut Env) -> Result<Self> {
        let ram = env.memory("ram");
        let code = Window::open(CODE, ram, CODE_OFFSET, PAGE, Rights::RWX)?;
        let crowd = (0..CROWD)
            .map(|_| QUOTA.create_thread(SPACE, env.free_slot(), None).map(|(thread, _)| thread));
        let crowd: Vec<Thread> = crowd.collect::<Result<_>>()?;
        crowd.iter().try_for_each(|thread| thread.set_priority(URGENT, URGENT))?;
        let spaces =
            (0..SPACES).map(|_| QUOTA.create_space(0, env.free_slot())).collect::<Result<_>>()?;
        let first = env.free_slot();
        Ok(Self {
            ram,
            #[cfg(any(target_arch = "x86", target_arch = "mips64"))]
            ports: env.memory("port"),
            crowd,
            spaces,
            code,
            first,
            next: first,
        })
    }

    /// An empty slot.
    pub fn slot(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    /// Starts every thread of the crowd with this code; each then waits in the state `state` of
    /// [`abi::Op::ThreadInfo`].
    pub fn gather(&mut self, code: &Code, state: Word) -> Result<&[Thread]> {
        self.write(code);
        for thread in &self.crowd {
            thread.start(CODE, CODE, 0)?;
            expect(thread.state()? == state)?;
        }
        Ok(&self.crowd)
    }

    /// Like [`Bed::gather`]; before each thread the urgent `partner` starts with its own code.
    pub fn meet(&mut self, partner: Thread, its: &Code, code: &Code, state: Word) -> Result<()> {
        for thread in &self.crowd {
            self.start(partner, its, 0)?;
            self.start(*thread, code, 0)?;
            expect(thread.state()? == state)?;
        }
        Ok(())
    }

    /// A native space with `slots` slots that has the code, and a thread in it that acts for this
    /// program ([`Bed::act`]). In its table are [`code::OWN_QUOTA`] and [`code::OWN_SPACE`]: this
    /// program's Quota and Space.
    pub fn dwelling(&mut self, slots: Word) -> Result<(Space, Thread)> {
        let space = QUOTA.create_space(slots, self.slot())?;
        self.furnish(space)?;
        let (thread, _) = QUOTA.create_thread(space, self.slot(), None)?;
        thread.set_priority(URGENT, URGENT)?;
        Ok((space, thread))
    }

    /// Gives a native space the code and the capabilities of [`Bed::dwelling`].
    pub fn furnish(&self, space: Space) -> Result<()> {
        macadamia::cap::copy(QUOTA.0, Some(space), code::OWN_QUOTA, CONTROL, 0)?;
        macadamia::cap::copy(SPACE.0, Some(space), code::OWN_SPACE, CONTROL, 0)?;
        map(space, CODE, self.ram, CODE_OFFSET, PAGE, Rights::RWX)
    }

    /// Gives a space of aliens this code at [`CODE`].
    pub fn furnish_alien(&self, space: Space, code: &Code) -> Result<()> {
        self.write(code);
        map(space, CODE, self.ram, CODE_OFFSET, PAGE, Rights::READ.union(Rights::EXECUTE))
    }

    /// Lets a thread execute the code and halt. An error is that of its last system call.
    pub fn act(&self, thread: Thread, code: &Code) -> Result<()> {
        self.start(thread, code, 0)?;
        match thread.registers()?.word(STATUS) {
            0 => Ok(()),
            code => Err(Error::from_code(code as u32).unwrap_or(Error::BadOperation)),
        }
    }

    /// Starts a thread with this code and an argument.
    pub fn start(&self, thread: Thread, code: &Code, argument: Word) -> Result<()> {
        self.write(code);
        thread.start(CODE, CODE, argument)
    }

    fn write(&self, code: &Code) {
        code.words()
            .into_iter()
            .enumerate()
            .for_each(|(index, word)| self.code.write(index as Word * 4, word));
    }

    fn clean(&mut self) {
        case("cleaning");
        // Objects that a case has deleted are missing; threads that it has not stopped may stop.
        (self.first..self.next).for_each(|slot| _ = delete(slot));
        self.crowd.iter().for_each(|thread| _ = thread.stop());
        self.next = self.first;
    }
}

/// An error if a condition of a case does not hold.
pub fn expect(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::BadState) }
}

/// Carries out records, as many in a system call as it takes.
pub fn batches(records: impl IntoIterator<Item = abi::MapRecord>) -> Result<()> {
    let mut records = records.into_iter().peekable();
    while records.peek().is_some() {
        let mut batch = Batch::new();
        for record in records.by_ref().take(abi::MapRecord::MAX as usize) {
            batch.push(record)?;
        }
        batch.commit().map_err(|(_, error)| error)?;
    }
    Ok(())
}

/// Lets others run for some time.
pub fn pause(nanoseconds: u64) -> Result<()> {
    const OVER: u32 = 1 << 31;
    time::alarm(time::now() + nanoseconds, OVER as Word)?;
    ipc::wait(OVER).map(|_| ())
}

/// All cases. Only IA-32 has small spaces.
const GROUPS: &[&[Case]] = &[
    deletion::CASES,
    mapping::CASES,
    segment::CASES,
    #[cfg(target_arch = "x86")]
    small::CASES,
    waiting::CASES,
];

fn run(mut env: Env) {
    let asked = core::mem::take(&mut env.start.arguments);
    case("preparation");
    let mut bed = match Bed::new(&mut env) {
        Ok(bed) => bed,
        Err(error) => panic!("no bed: {}", error.text()),
    };
    for (name, act) in GROUPS.iter().copied().flatten() {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        case(name);
        match act(&mut bed) {
            Ok(()) => result!("ok {name}"),
            Err(error) => result!("not ok {name}: {}", error.text()),
        }
        bed.clean();
    }
    result!("done");
}
