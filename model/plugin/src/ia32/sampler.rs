// SPDX-License-Identifier: GPL-2.0-or-later
//! Samples of what the processor executes: every N instructions the place and the stack.
//!
//! QEMU adds up the instructions of each block that begins, and calls the plugin when there are
//! enough. The block that then begins is the sample: so its share of samples is its share of
//! instructions.

use super::guest::Guest;
use crate::arguments::Sampling;
use model_core::ia32::{World, walk};
use model_core::{Marker, Privilege};
use model_profile::{CODE_BYTES, Sample, Samples, Space};

/// The most of a stack that is looked at: as much as Linux has for a thread of its kernel.
const STACK_BYTES: u32 = 8192;
/// The longest name of a component that is read.
const NAME_BYTES: u32 = 64;
const PAGE: u32 = abi::PAGE_SIZE;
/// Where a component finds its name in its start block: after the four words, its length first.
const NAME: u32 = 16;

/// A count up to 2^64 that is below this has passed it; one that stands at it is far from passing.
pub const SMALL: u64 = 1 << 63;

/// What was sampled.
pub struct Sampler {
    /// What to sample.
    pub sampling: Sampling,
    samples: Samples,
    on: bool,
    /// Instructions to go to the next sample while nothing is counted; nothing while something is.
    left: Option<u64>,
}

impl Sampler {
    /// Nothing has been sampled yet.
    pub fn new(mut sampling: Sampling) -> Self {
        sampling.code.sort_by_key(|range| range.start);
        let left = Some(sampling.every);
        let on = sampling.interval.is_none() && sampling.bounds.is_none();
        Self { sampling, samples: Samples::default(), on, left }
    }

    /// A block begins with which enough instructions have been executed for this many samples. Its
    /// code segment begins at linear address `segment`, and so do the space and the stack, if it is
    /// user mode's.
    pub fn sample(&mut self, guest: &mut Guest, times: u64, segment: u32) {
        let root = guest.paging().then(|| guest.root());
        let kernel = guest.privilege() == Privilege::Kernel;
        let eip = guest.eip();
        let component = component(guest, segment);
        let code = if component.is_some() || kernel {
            Vec::new()
        } else {
            guest.bytes(eip.wrapping_add(segment), CODE_BYTES as u32)
        };
        let space = match (component, root) {
            (Some(name), _) => Space::Component(name),
            (None, Some(root)) if guest.first_root().is_some_and(|first| first != root) => {
                Space::Process
            }
            _ => Space::First,
        };
        let stack = self.stack(guest, segment);
        self.samples.add(Sample { space, kernel, eip, code, stack }, times);
    }

    /// A marker is executed.
    pub fn mark(&mut self, marker: Marker) {
        match (self.sampling.interval, marker) {
            (Some(interval), Marker::Begin(id) | Marker::BeginFree(id)) if id == interval => {
                self.on = true
            }
            (Some(interval), Marker::End(id)) if id == interval => self.on = false,
            _ => {}
        }
    }

    /// One of the bounds is executed, or what is at its address in a process.
    pub fn cross(&mut self, guest: &mut Guest, address: u32) {
        if component(guest, 0).is_some() {
            self.on = self.sampling.bounds.as_ref().is_some_and(|bounds| bounds.start == address);
        }
    }

    /// Has QEMU count, up to 2^64, or not, as it is to be now. QEMU has counted the block in
    /// execution when it began: with this instruction and `rest` after it.
    pub fn switch(&mut self, until: &mut u64, rest: u64) {
        match (self.on, self.left) {
            (true, Some(left)) => {
                *until = rest.wrapping_sub(left);
                self.left = None;
            }
            (false, None) => {
                self.left = Some((rest + 1).wrapping_sub(*until));
                *until = SMALL;
            }
            (false, Some(_)) => *until = SMALL,
            (true, None) => {}
        }
    }

    /// The samples.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// The words on the stack that are addresses of code.
    fn stack(&self, guest: &Guest, segment: u32) -> Vec<u32> {
        let top = guest.general(4);
        let words = guest.bytes(top.wrapping_add(segment), STACK_BYTES - top % STACK_BYTES);
        let words = words
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        words.filter(|&word| self.sampling.code.iter().any(|range| range.contains(&word))).collect()
    }
}

/// The component that runs or, in the kernel, whose directory is in use: a process's directory
/// shows a server, but is not its own. A server at ring 1 and a component with a window have their
/// start block there; the root server has none. Its addresses begin at linear address `segment`.
fn component(guest: &mut Guest, segment: u32) -> Option<String> {
    use image::Places;
    use image::layout::WINDOW_START_BLOCK;
    if guest.privilege() == Privilege::Ring1 {
        return name(guest, WINDOW_START_BLOCK);
    }
    if guest.is_native(segment) {
        return Some(
            name(guest, segment.wrapping_add(Places::LOW.start_block))
                .unwrap_or_else(|| "root".into()),
        );
    }
    let root = guest.root();
    let own = guest.paging()
        && walk(guest, root, WINDOW_START_BLOCK, |_| ()).is_ok_and(|mapping| mapping.user);
    own.then(|| name(guest, WINDOW_START_BLOCK)).flatten()
}

/// The name in a start block.
fn name(guest: &Guest, block: u32) -> Option<String> {
    let name = guest.bytes(block + NAME, 1 + NAME_BYTES);
    let (&length, rest) = name.split_first()?;
    Some(std::str::from_utf8(rest.get(..usize::from(length))?).ok()?.into())
}

impl Guest {
    /// Up to `count` bytes from a linear address on, as far as pages are mapped.
    fn bytes(&self, address: u32, count: u32) -> Vec<u8> {
        let end = u64::from(address) + u64::from(count);
        let mut found = Vec::with_capacity(count as usize);
        let mut at = u64::from(address);
        while at < end {
            let part = (u64::from(PAGE) - at % u64::from(PAGE)).min(end - at);
            if !self.read_bytes(at as u32, part as usize, &mut found) {
                break;
            }
            at += part;
        }
        found
    }
}
