// SPDX-License-Identifier: MIT OR Apache-2.0
//! The controller of keyboard and mouse of a PC, an Intel 8042 (IBM Personal System/2 Hardware
//! Interface Technical Reference, *Keyboard and auxiliary device controller*). It translates what
//! the keyboard sends to scan code set 1.

use super::ps2::{Line, Reports};
use macadamia::alloc::string::String;
use macadamia::port::{read8, write8};
use macadamia::{Env, Irq, println};
use surface::{Input, Set1};

/// In the status: a byte has come; the last one was not taken yet; it has come from the mouse.
const ARRIVED: u8 = 1;
const BUSY: u8 = 1 << 1;
const OF_MOUSE: u8 = 1 << 5;
/// Commands: read and write the configuration; mouse off and on; keyboard off and on; the next byte
/// is for the mouse.
const READ: u8 = 0x20;
const WRITE: u8 = 0x60;
const MOUSE_OFF: u8 = 0xa7;
const MOUSE_ON: u8 = 0xa8;
const KEYBOARD_OFF: u8 = 0xad;
const KEYBOARD_ON: u8 = 0xae;
const TO_MOUSE: u8 = 0xd4;
/// In the configuration: both interrupt; both are off; set 1.
const INTERRUPTS: u8 = 3;
const OFF: u8 = 3 << 4;
const SET_1: u8 = 1 << 6;
/// To the keyboard: report.
const REPORT: u8 = 0xf4;
/// Most bytes that are taken in a turn.
const MOST: usize = 64;

/// The controller's two ports.
#[derive(Clone, Copy)]
struct Controller {
    data: u16,
    status: u16,
}

impl Controller {
    fn command(self, byte: u8) {
        self.until(|| read8(self.status) & BUSY == 0);
        write8(self.status, byte);
    }

    /// A byte, and whether it is of the mouse.
    fn take(self) -> Option<(u8, bool)> {
        let status = read8(self.status);
        (status & ARRIVED != 0).then(|| (read8(self.data), status & OF_MOUSE != 0))
    }
}

/// The keyboard's line.
impl Line for Controller {
    fn send(&self, byte: u8) {
        self.until(|| read8(self.status) & BUSY == 0);
        write8(self.data, byte);
    }

    fn receive(&self) -> Option<u8> {
        self.take().filter(|(_, of_mouse)| !of_mouse).map(|(byte, _)| byte)
    }
}

/// That of the mouse, while the keyboard is off.
struct MouseLine(Controller);

impl Line for MouseLine {
    fn send(&self, byte: u8) {
        self.0.command(TO_MOUSE);
        Line::send(&self.0, byte);
    }

    fn receive(&self) -> Option<u8> {
        self.0.take().filter(|(_, of_mouse)| *of_mouse).map(|(byte, _)| byte)
    }
}

/// Both, and their interrupts.
pub struct Inputs {
    controller: Controller,
    keyboard: Set1,
    mouse: Option<Reports>,
    lines: [Irq; 2],
}

impl Inputs {
    /// Sets both up.
    ///
    /// # Errors
    /// A sentence that says what is wrong with what was granted.
    pub fn open(env: &Env) -> Result<Self, String> {
        let controller =
            Controller { data: env.ports("i8042"), status: env.ports("i8042-control") };
        controller.command(KEYBOARD_OFF);
        controller.command(MOUSE_OFF);
        // What has come before is dropped.
        (0..MOST).map_while(|_| controller.take()).for_each(drop);
        controller.command(READ);
        let configuration = Line::wait(&controller).unwrap_or_default();
        controller.command(WRITE);
        controller.send(configuration & !OFF & !INTERRUPTS | SET_1);
        controller.command(KEYBOARD_OFF);
        controller.command(MOUSE_ON);
        let mouse = Reports::begin(&MouseLine(controller));
        if mouse.is_none() {
            println!("no mouse answers");
        }
        controller.command(KEYBOARD_ON);
        if !Line::command(&controller, REPORT) {
            println!("no keyboard answers");
        }
        controller.command(WRITE);
        controller.send(configuration & !OFF | SET_1 | INTERRUPTS);
        let lines =
            [env.open_irq("keyboard-irq", "interrupt")?, env.open_irq("mouse-irq", "interrupt")?];
        Ok(Self { controller, keyboard: Set1::default(), mouse, lines })
    }

    /// Names what was done at them. Whether there may be more already.
    pub fn take(&mut self, input: &mut impl FnMut(Input)) -> bool {
        for _ in 0..MOST {
            let Some((byte, of_mouse)) = self.controller.take() else { return false };
            if of_mouse {
                if let Some(mouse) = &mut self.mouse {
                    mouse.take(byte, input);
                }
            } else if let Some((code, pressed)) = self.keyboard.take(byte) {
                input(Input::Key(code, pressed));
            }
        }
        true
    }

    /// Lets them interrupt again.
    pub fn acknowledge(&self) {
        // A line that did not interrupt has nothing to take back.
        self.lines.iter().for_each(|line| _ = line.acknowledge());
    }
}
