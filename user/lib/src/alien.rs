// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alien threads, from their handler's side: every entry of theirs into the kernel is
//! a message to the handler, and their registers lie in the handler's space.

use crate::{Quota, Result, Space, Thread};
use abi::utcb::{FPU_OFFSET, FPU_SIZE};
use abi::{Frame, Word};

/// An alien that this component handles.
#[derive(Clone, Copy, Debug)]
pub struct Alien {
    /// The thread.
    pub thread: Thread,
    slot: Word,
}

impl Alien {
    /// Makes an alien in `space`, a space without capability table. Its capability goes to
    /// `slot`, its events to the thread of `handler`, which is a capability to a thread
    /// of this component. Returns it with the reply handle that lets it run for the
    /// first time, once its frame is set.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create(quota: Quota, space: Space, slot: Word, handler: Thread) -> Result<(Self, Word)> {
        let (thread, bound) =
            quota.create_thread(space, slot, Some(Space(image::slot::SPACE as Word)))?;
        thread.set_handler(Some(handler))?;
        Ok((Self { thread, slot: bound.utcb }, bound.handle))
    }

    /// Its registers, as of its last event.
    #[must_use]
    pub fn frame(&self) -> Frame {
        // SAFETY: the kernel maps the slot into this space for as long as the alien lives; no
        // Rust object lies in the kernel's area, and after the alien's end this is an exception.
        unsafe { (self.slot as *const Frame).read_volatile() }
    }

    /// Sets the registers with which it goes on when its event is replied to.
    pub fn set_frame(&self, frame: &Frame) {
        // SAFETY: as `frame`.
        unsafe { (self.slot as *mut Frame).write_volatile(*frame) };
    }

    /// A word of its FPU state (after [`Thread::fpu_sync`]), in the format that
    /// [`abi::utcb::FPU_OFFSET`] describes.
    #[must_use]
    pub fn fpu_word(&self, index: u32) -> u32 {
        // SAFETY: as `frame`.
        unsafe { self.fpu(index).read_volatile() }
    }

    /// Sets a word of its FPU state; it counts unless the state is in the processor
    /// ([`abi::utcb::Utcb::fpu`]).
    pub fn set_fpu_word(&self, index: u32, value: u32) {
        // SAFETY: as `frame`.
        unsafe { self.fpu(index).write_volatile(value) };
    }

    fn fpu(&self, index: u32) -> *mut u32 {
        assert!((0..FPU_SIZE / 4).contains(&index), "word {index} of the FPU state");
        (self.slot + (FPU_OFFSET + index * 4) as Word) as *mut u32
    }
}
