// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtio tablet. It writes the memory `tablet-queue` by DMA, and nothing restricts it to that
//! memory.

use macadamia::alloc::string::String;
use macadamia::pci::Failed;
use macadamia::virtio;
use macadamia::{Env, Irq, println};
use surface::Input;

const GRANT: &str = "tablet";
const QUEUE: &str = "tablet-queue";
/// Types and codes of its events (Linux's `linux/input-event-codes.h`).
const SYNC: u16 = 0;
const KEY: u16 = 1;
const RELATIVE: u16 = 2;
const ABSOLUTE: u16 = 3;
const WHEEL: u16 = 8;
/// Most events that are taken in a turn.
const MOST: usize = 64;

/// The tablet, and where it has been last.
pub struct Tablet {
    device: virtio::Tablet,
    line: Irq,
    size: [u32; 2],
    at: [u32; 2],
    has_moved: bool,
}

impl Tablet {
    /// Starts it, for a screen of this size. `None` if the machine has none.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it or with what was granted.
    pub fn open(env: &Env, size: [u32; 2]) -> Result<Option<Self>, String> {
        let Some(device) = virtio::Tablet::open(env, GRANT, QUEUE)? else { return Ok(None) };
        let line = env.open_irq(GRANT, "interrupt")?;
        Ok(Some(Self { device, line, size, at: [0; 2], has_moved: false }))
    }

    /// Names what was done with it. Whether there may be more already; an error if it is not to be
    /// trusted any more.
    pub fn take(&mut self, input: &mut impl FnMut(Input)) -> Result<bool, Failed> {
        self.device.acknowledge();
        // A line that did not interrupt has nothing to take back.
        let _ = self.line.acknowledge();
        for _ in 0..MOST {
            let Some((kind, code, value)) = self.device.take()? else { return Ok(false) };
            match (kind, code) {
                (ABSOLUTE, axis @ 0..=1) => {
                    let axis = usize::from(axis);
                    let (most, last) =
                        (self.device.most()[axis], self.size[axis].saturating_sub(1));
                    let scaled = u64::from(value.min(most)) * u64::from(last) / u64::from(most);
                    self.at[axis] = scaled as u32;
                    self.has_moved = true;
                }
                // A button is pressed where the tablet is.
                (KEY, code) => {
                    self.tell(input);
                    input(Input::Key(code, value != 0));
                }
                (RELATIVE, WHEEL) => input(Input::Wheel(value as i32)),
                (SYNC, _) => self.tell(input),
                _ => {}
            }
        }
        Ok(true)
    }

    fn tell(&mut self, input: &mut impl FnMut(Input)) {
        if core::mem::take(&mut self.has_moved) {
            input(Input::Position(self.at));
        }
    }
}

/// The tablet, if the description asks for one and the machine has it.
pub fn open(env: &Env, size: [u32; 2]) -> Option<Tablet> {
    if env.argument("input") != Some(GRANT) {
        return None;
    }
    let tablet = Tablet::open(env, size)
        .and_then(|tablet| tablet.ok_or_else(|| "the machine has none".into()));
    tablet.map_err(|reason| println!("no tablet: {reason}")).ok()
}
