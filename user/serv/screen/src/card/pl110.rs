// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARM's PrimeCell PL110 (technical reference manual, DDI 0161), as the Versatile baseboard has it:
//! there the registers of control and of the interrupt mask have changed places (DUI 0225, 4.6). It
//! reads memory past the caches; the tool makes that memory as large as the screen.

use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::region::{Region, Shared};
use macadamia::{Env, dma};

const GRANT: &str = "pl110";
const FRAME: &str = "frame";
/// Offsets of registers: pixels in a row and pulses of the line; rows and pulses of the frame; where
/// the pixels are; control.
const ROW: u32 = 0;
const ROWS: u32 = 4;
const BASE: u32 = 0x10;
const CONTROL: u32 = 0x18;
/// On; 24 bits in a word for each pixel; a panel of transistors; red is above blue; with power.
const ON: u32 = 1 | 5 << 1 | 1 << 5 | 1 << 8 | 1 << 11;

/// Sets the size, and returns the pixels.
///
/// # Errors
/// A sentence that says what is wrong with what was granted.
pub fn open(env: &Env, [width, height]: [u32; 2]) -> Result<Region, String> {
    dma::uncached(env, FRAME)?;
    let (Some(given), Some(frame)) = (env.given(FRAME), Region::find(env, FRAME)) else {
        return Err(format!("it needs the memory `{FRAME}`"));
    };
    let registers = Region::find(env, GRANT).ok_or("it needs the registers `pl110`")?;
    if u64::from(width) * u64::from(height) * 4 > u64::from(frame.bytes()) {
        return Err(format!("`{FRAME}` has no room for {width}x{height}"));
    }
    let Ok(physical) = u32::try_from(given.physical) else {
        return Err(format!("`{FRAME}` lies where the card does not reach"));
    };
    registers.write(ROW, (width / 16 - 1) << 2);
    registers.write(ROWS, height - 1);
    registers.write(BASE, physical);
    registers.write(CONTROL, ON);
    Ok(frame)
}
