// SPDX-License-Identifier: MIT OR Apache-2.0
//! A message goes around a ring of spaces: each receives it and sends it on to the next. The spaces
//! are small ones, in as many homes as there are groups, or large ones. Neighbours in the ring
//! belong to the same group wherever possible.

use abi::arch::ia32::marker::{BEGIN, END, OPCODE, immediate};
use abi::{Op, Tag};
use macadamia::cap::{copy, delete};
use macadamia::ipc::{Message, receive, send};
use macadamia::map::{Window, map, own};
use macadamia::{Env, Error, Memory, Quota, Result, Rights, Space, Thread, slot};

/// The rings: the interval, how many spaces, and in how many groups. An interval is a round, from
/// the first space back to it.
const RINGS: [(u32, usize, usize); 6] =
    [(300, 8, 1), (301, 8, 2), (302, 8, 4), (303, 32, 1), (304, 32, 2), (305, 32, 4)];
const MOST: usize = 32;
const MOST_GROUPS: usize = 4;
const REPETITIONS: u32 = 20;

const PAGE: u32 = abi::PAGE_SIZE;
/// The address of the code in each space, and its place while it is written: the offset from the
/// first address that is mapped.
const CODE: u32 = 0x0040_0000;
const VIEW: u32 = 0x01c0_0000;
/// The offset of the first space's code in its page.
const FIRST: u32 = 0x200;
/// Bytes of a small space.
const SIZE: u32 = 16 << 20;
/// Slots of each space's table: the next space of the ring, and the thread that measures.
const SLOTS: u32 = 16;
const NEXT: u32 = 1;
const STARTER: u32 = 2;
const BADGE: u32 = 9;

/// Instructions, as they are made.
struct Program {
    bytes: [u8; 128],
    at: usize,
    /// The address at which they will be.
    place: u32,
}

impl Program {
    const fn new(place: u32) -> Self {
        Self { bytes: [0; 128], at: 0, place }
    }

    fn add(&mut self, opcode: &[u8], operand: Option<u32>) {
        for byte in opcode.iter().copied().chain(operand.into_iter().flat_map(u32::to_le_bytes)) {
            self.bytes[self.at] = byte;
            self.at += 1;
        }
    }

    /// A system call without words: `mov eax, tag; mov ebx, first; mov ecx, esp; mov edx, return;
    /// sysenter`.
    fn call(&mut self, op: Op, first: u32) {
        self.add(&[0xb8], Some(Tag::new(op, 0, 0).0));
        self.add(&[0xbb], Some(first));
        self.add(&[0x89, 0xe1], None);
        let back = self.place + self.at as u32 + 7;
        self.add(&[0xba], Some(back));
        self.add(&[0x0f, 0x34], None);
    }

    /// A jump back to the first instruction.
    fn repeat(&mut self) {
        let back = (self.at as u32 + 5).wrapping_neg();
        self.add(&[0xe9], Some(back));
    }

    fn write(&self, to: &Window) {
        for (offset, word) in (self.place - CODE..).step_by(4).zip(self.bytes.chunks_exact(4)) {
            to.write(offset, u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
}

/// The code of all spaces but the first, which gets a message to begin, and sends one when the
/// round is over.
fn write_programs(id: u32, to: &Window) {
    let mut other = Program::new(CODE);
    other.call(Op::Receive, 0);
    other.call(Op::Send, NEXT);
    other.repeat();
    other.write(to);
    let mut first = Program::new(CODE + FIRST);
    first.call(Op::Receive, 0);
    first.add(&[OPCODE], Some(immediate(BEGIN, id)));
    first.call(Op::Send, NEXT);
    first.call(Op::Receive, 0);
    first.add(&[OPCODE], Some(immediate(END, id)));
    first.call(Op::Send, STARTER);
    first.repeat();
    first.write(to);
}

/// Slots for spaces, their threads, and homes.
struct Slots {
    spaces: [u32; MOST],
    threads: [u32; MOST],
    homes: [u32; MOST_GROUPS],
    starter: u32,
    code: u32,
}

/// Makes the rings one after the other, and has messages go around.
pub fn measure(env: &mut Env) -> Result<()> {
    let small = env.start.arguments.iter().any(|argument| argument == "small");
    let slots = Slots {
        spaces: core::array::from_fn(|_| env.free_slot()),
        threads: core::array::from_fn(|_| env.free_slot()),
        homes: core::array::from_fn(|_| env.free_slot()),
        starter: env.free_slot(),
        code: env.free_slot(),
    };
    copy(slot::THREAD, None, slots.starter, Rights::CALL, BADGE)?;
    let code = env.memory("frames").derive(0, PAGE, slots.code, Quota(slot::QUOTA))?;
    let window =
        Window::open(own().start + VIEW, code, 0, PAGE, Rights::READ.union(Rights::WRITE))?;
    for (id, count, groups) in RINGS {
        write_programs(id, &window);
        go_around(&slots, code, count, small.then_some(groups))?;
    }
    Ok(())
}

fn go_around(slots: &Slots, code: Memory, count: usize, groups: Option<usize>) -> Result<()> {
    let quota = Quota(slot::QUOTA);
    let homes = &slots.homes[..groups.unwrap_or(0)];
    homes.iter().try_for_each(|home| quota.create_home(*home).map(|_| ()))?;
    for (index, (space, thread)) in slots.spaces.iter().zip(slots.threads).take(count).enumerate() {
        let space = quota.create_space(SLOTS, *space)?;
        map(space, CODE, code, 0, PAGE, Rights::READ.union(Rights::EXECUTE))?;
        if let Some(groups) = groups {
            Space(homes[index * groups / count]).take_in(index as u32 * SIZE, space, SIZE)?;
        }
        quota.create_thread(space, thread, None)?;
    }
    for index in 0..count {
        let space = Some(Space(slots.spaces[index]));
        copy(slots.threads[(index + 1) % count], space, NEXT, Rights::CALL, 0)?;
        copy(slots.starter, space, STARTER, Rights::CALL, 0)?;
        Thread(slots.threads[index]).start(if index == 0 { CODE + FIRST } else { CODE }, 0, 0)?;
    }
    for _ in 0..REPETITIONS {
        send(Thread(slots.threads[0]), Message::default())?;
        if receive(None)?.badge != BADGE {
            return Err(Error::BadArgument);
        }
    }
    slots.threads[..count]
        .iter()
        .chain(&slots.spaces[..count])
        .chain(homes)
        .try_for_each(|slot| delete(*slot))
}
