// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two of ARM's PrimeCell PL050 (technical reference manual, DDI 0143), one with a keyboard that
//! sends set 2, one with a mouse.

use super::ps2::{Line, Reports};
use macadamia::alloc::string::String;
use macadamia::region::{Region, Shared};
use macadamia::{Env, Irq, println};
use surface::{Input, Set2};

/// Offsets of registers.
const CONTROL: u32 = 0;
const STATUS: u32 = 4;
const DATA: u32 = 8;
/// In the control: on; what has come interrupts.
const ON: u32 = 1 << 2;
const INTERRUPT: u32 = 1 << 4;
/// In the status: a byte has come; there is room for one.
const ARRIVED: u32 = 1 << 4;
const ROOM: u32 = 1 << 6;
/// To the keyboard: report.
const REPORT: u8 = 0xf4;
/// Most bytes that are taken in a turn, of each.
const MOST: usize = 64;

/// One of them.
struct Device(Region);

impl Device {
    fn find(env: &Env, name: &str) -> Result<Self, String> {
        let device = Self(Region::find(env, name).ok_or("it needs the registers of both devices")?);
        device.0.write(CONTROL, ON);
        // What has come before is dropped.
        (0..MOST).map_while(|_| device.receive()).for_each(drop);
        Ok(device)
    }
}

impl Line for Device {
    fn send(&self, byte: u8) {
        self.until(|| self.0.read(STATUS) & ROOM != 0);
        self.0.write(DATA, byte.into());
    }

    fn receive(&self) -> Option<u8> {
        (self.0.read(STATUS) & ARRIVED != 0).then(|| self.0.read(DATA) as u8)
    }
}

/// Both, and their interrupts.
pub struct Inputs {
    devices: [Device; 2],
    keyboard: Set2,
    mouse: Option<Reports>,
    lines: [Irq; 2],
}

impl Inputs {
    /// Sets both up.
    ///
    /// # Errors
    /// A sentence that says what is wrong with what was granted.
    pub fn open(env: &Env) -> Result<Self, String> {
        let devices = [Device::find(env, "keyboard")?, Device::find(env, "mouse")?];
        if !devices[0].command(REPORT) {
            println!("no keyboard answers");
        }
        let mouse = Reports::begin(&devices[1]);
        if mouse.is_none() {
            println!("no mouse answers");
        }
        devices.iter().for_each(|device| device.0.write(CONTROL, ON | INTERRUPT));
        let lines =
            [env.open_irq("keyboard-irq", "interrupt")?, env.open_irq("mouse-irq", "interrupt")?];
        Ok(Self { devices, keyboard: Set2::default(), mouse, lines })
    }

    /// Names what was done at them. Whether there may be more already.
    pub fn take(&mut self, input: &mut impl FnMut(Input)) -> bool {
        let [keyboard, mouse] = &self.devices;
        let mut count = [0; 2];
        for byte in (0..MOST).map_while(|_| keyboard.receive()) {
            count[0] += 1;
            if let Some((code, pressed)) = self.keyboard.take(byte) {
                input(Input::Key(code, pressed));
            }
        }
        for byte in (0..MOST).map_while(|_| mouse.receive()) {
            count[1] += 1;
            if let Some(mouse) = &mut self.mouse {
                mouse.take(byte, input);
            }
        }
        count.contains(&MOST)
    }

    /// Lets them interrupt again.
    pub fn acknowledge(&self) {
        // A line that did not interrupt has nothing to take back.
        self.lines.iter().for_each(|line| _ = line.acknowledge());
    }
}
