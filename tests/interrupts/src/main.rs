// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two devices of a PC that interrupt all the time, by lines of the second controller: the
//! real-time clock 8,192 times a second, and the mouse whenever its last interrupt is acknowledged.
//! So both are pending at the same time again and again, and neither may be lost.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::port::{read8, write8};
use macadamia::{Env, Irq, ipc, result, time};

macadamia::main!(run);

/// Notification bits: of both interrupts (the description's), and of the alarm.
const CLOCK: u32 = 1;
const MOUSE: u32 = 2;
const ALARM: u32 = 4;
/// The test waits for this many interrupts of the clock, a quarter of a second.
const TICKS: u32 = 2048;
/// The longest time that it may take, in nanoseconds.
const PATIENCE: u64 = 10_000_000_000;

/// Registers of the real-time clock (MC146818), and their values.
const STATUS_A: u8 = 10;
const STATUS_B: u8 = 11;
const STATUS_C: u8 = 12;
const OFTEN: u8 = 0x23;
const PERIODIC: u8 = 0x42;

/// Commands of the keyboard's controller (8042): a byte of configuration follows; a byte follows
/// that the mouse is to have sent.
const CONFIGURE: u8 = 0x60;
const FROM_MOUSE: u8 = 0xd3;
/// In the configuration: the mouse interrupts.
const MOUSE_INTERRUPTS: u8 = 2;

fn run(env: Env) {
    let lines = env
        .open_irq("clock-irq", "clock-bit")
        .and_then(|clock| Ok((clock, env.open_irq("mouse-irq", "mouse-bit")?)));
    let (clock, mouse) = match lines {
        Ok(lines) => lines,
        Err(reason) => panic!("{reason}"),
    };
    let devices = Devices { clock: env.ports("clock"), keyboard: env.ports("keyboard") };
    match devices.count(clock, mouse) {
        Ok([ticks, others]) if ticks >= TICKS && others > 0 => {
            result!("ok interrupts.two # {ticks} and {others}")
        }
        Ok([ticks, others]) => {
            result!("not ok interrupts.two: {ticks} of the clock and {others} of the mouse")
        }
        Err(error) => result!("not ok interrupts.two: {}", error.text()),
    }
    result!("done");
}

struct Devices {
    clock: u16,
    keyboard: u16,
}

impl Devices {
    /// Lets both interrupt until there were enough of the clock's, or until the time is up. Returns
    /// how many there were of each.
    fn count(&self, clock: Irq, mouse: Irq) -> macadamia::Result<[u32; 2]> {
        self.set(STATUS_A, OFTEN);
        self.set(STATUS_B, PERIODIC);
        self.tell(CONFIGURE, MOUSE_INTERRUPTS);
        time::alarm(time::now() + PATIENCE, ALARM)?;
        let [mut ticks, mut others] = [0; 2];
        self.tell(FROM_MOUSE, 0);
        while ticks < TICKS {
            let bits = ipc::wait(CLOCK | MOUSE | ALARM)?;
            if bits & ALARM != 0 {
                break;
            }
            if bits & CLOCK != 0 {
                ticks += 1;
                write8(self.clock, STATUS_C);
                let _ = read8(self.clock + 1);
                clock.acknowledge()?;
            }
            if bits & MOUSE != 0 {
                others += 1;
                let _ = read8(self.keyboard);
                // The next one is already pending when the line is enabled again.
                self.tell(FROM_MOUSE, 0);
                mouse.acknowledge()?;
            }
        }
        Ok([ticks, others])
    }

    fn set(&self, register: u8, value: u8) {
        write8(self.clock, register);
        write8(self.clock + 1, value);
    }

    fn tell(&self, command: u8, value: u8) {
        write8(self.keyboard + 4, command);
        write8(self.keyboard, value);
    }
}
