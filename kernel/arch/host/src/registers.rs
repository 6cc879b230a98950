// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the imaginary processor: those of a system call, and a frame.

use abi::{Error, Frame, UserAddr, Word};
use bytemuck::{Zeroable, cast_slice, cast_slice_mut};
use kcore::Thread;
use kcore::port::{CONTEXT_WORDS, Context, Registers};

/// Registers of a system call: the tag and arguments, then the results.
pub const ARGUMENTS: usize = 2 + abi::tag::REGISTER_WORDS as usize;
/// Words of a frame.
const FRAME_WORDS: usize = size_of::<Frame>() / size_of::<Word>();
/// Where the frame begins in a [`Context`]. If there is no room for both, the last words of a
/// message are the frame's first registers.
const FRAME: usize =
    if ARGUMENTS + FRAME_WORDS <= CONTEXT_WORDS { ARGUMENTS } else { CONTEXT_WORDS - FRAME_WORDS };

/// The layout of a thread's registers on the host.
#[derive(Clone, Copy, Debug)]
pub struct HostRegisters;

fn saved(context: &mut Context) -> &mut Frame {
    let (_, words) = context.split_at_mut(FRAME);
    let (frame, _) = cast_slice_mut::<Word, u8>(words).split_at_mut(size_of::<Frame>());
    bytemuck::from_bytes_mut(frame)
}

/// Writes why a thread stops, as its processor would.
pub fn set_vector(context: &mut Context, vector: Word) {
    saved(context).vector = vector;
}

impl Registers for HostRegisters {
    fn argument(context: &Context, index: usize) -> Word {
        context[..ARGUMENTS][index]
    }
    fn set_result(context: &mut Context, index: usize, value: Word) {
        context[..ARGUMENTS][index] = value;
    }
    fn frame(thread: &Thread) -> Frame {
        let bytes = &cast_slice::<Word, u8>(&thread.context[FRAME..])[..size_of::<Frame>()];
        Frame { address: thread.fault_address.0, changed: 0, ..bytemuck::pod_read_unaligned(bytes) }
    }
    fn load_frame(thread: &mut Thread, frame: &Frame) {
        *saved(&mut thread.context) = *frame;
    }
    fn start(
        context: &mut Context,
        entry: UserAddr,
        stack: UserAddr,
        utcb: UserAddr,
        argument: Word,
    ) {
        *context = [0; CONTEXT_WORDS];
        *saved(context) = Frame { vector: abi::frame::vector::CREATED, ..Frame::zeroed() };
        context[..4].copy_from_slice(&[entry.0, stack.0, utcb.0, argument]);
    }
    fn resumes_fast(thread: &Thread) -> bool {
        thread.lazy == 0 && !thread.is_alien()
    }
    fn set_state(thread: &mut Thread, item: Word, values: [Word; 2]) -> Result<Word, Error> {
        let part = thread.lazy_state.get_mut(item as usize).ok_or(Error::BadArgument)?;
        let before = std::mem::replace(part, values[0]);
        thread.lazy = u32::from(thread.lazy_state.iter().any(|word| *word != 0));
        Ok(before)
    }
}
