// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Linux at the screen: its text console, the keyboard, and Debian's desktop.

use super::desk::Desk;
use super::disk;
use super::tally::{Test, on_board, slow};
use crate::build::{self, Options};
use crate::machine::monitor::Picture;
use crate::machine::screen::Wanted;
use crate::process::session::PROMPT;
use anyhow::Result;
use image::protocol::screen::BAR;
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    slow("linux.screen", "it builds the full Linux", console),
    slow("linux.debian.desktop", "it installs Debian", desktop),
    slow("versatilepb.linux.screen", "it builds another Linux", || on_board(console)),
];

/// What the desktop's background is made of (`linux/debian/desktop/customise`).
const BACKGROUND: u32 = 0x2f_4f6f;
const WHITE: u32 = 0xff_ffff;
/// The longest that Debian says nothing while it starts.
const START: Duration = Duration::from_secs(300);

/// Rows of the frame buffer that a shell writes, and their left and right halves.
struct Stripe {
    rows: usize,
    at: usize,
    left: u32,
    right: u32,
}

const RED: u32 = 0xff_0000;
const GREEN: u32 = 0x00_ff00;
const BLUE: u32 = 0x00_00ff;
const YELLOW: u32 = 0xff_ff00;
const STRIPES: [Stripe; 2] = [
    Stripe { rows: 50, at: 300, left: RED, right: GREEN },
    Stripe { rows: 20, at: 700, left: BLUE, right: YELLOW },
];
/// Pixels in a row of the surface.
const WIDTH: usize = 1024;

impl Stripe {
    /// The shell's command that writes it: each half is doubled from one pixel, as XRGB8888 has it
    /// in memory.
    fn command(&self) -> String {
        let pixel = |colour: u32| colour.to_le_bytes().map(|byte| format!("\\{byte:03o}")).concat();
        let (left, right) = (pixel(self.left), pixel(self.right));
        let (rows, at) = (self.rows, self.at);
        // At once: Linux 6.12 shows nothing of a write of just one whole row
        // (`drm_fb_helper_memory_range_to_clip`).
        let (bytes, block) = (WIDTH * 4 * rows, at / rows);
        format!(
            "l='{left}'; r='{right}'; for i in 1 2 3 4 5 6 7 8 9; do l=$l$l; r=$r$r; done; printf \"$l$r\" > /tmp/row; \
             for i in $(seq {rows}); do cat /tmp/row; done | dd of=/dev/fb0 bs={bytes} seek={block} iflag=fullblock 2> /dev/null"
        )
    }

    /// Whether a picture of the whole screen shows it.
    fn is_in(&self, picture: &Picture) -> bool {
        let top = BAR as usize + self.at;
        let rows = top..top + self.rows;
        picture.is_all(0..WIDTH / 2, rows.clone(), self.left)
            && picture.is_all(WIDTH / 2..WIDTH, rows, self.right)
    }
}

/// A command at the serial line's shell.
fn command(desk: &mut Desk, command: &str) -> Result<()> {
    desk.session.send(format!("{command}\r").as_bytes())?;
    desk.session.expect(PROMPT)
}

/// The pointer's moves and its button are events of Linux's.
fn pointer(desk: &mut Desk) -> Result<()> {
    command(desk, "exec 3< /dev/input/event1")?;
    desk.monitor.moved(5, 3)?;
    desk.monitor.button(true)?;
    desk.monitor.button(false)?;
    // Type, code, value: ABS_X is anywhere; BTN_LEFT is down, and up.
    for event in ["0003 0000", "0001 0110 0001 0000", "0001 0110 0000 0000"] {
        command(
            desk,
            &format!(
                "until dd bs=16 count=1 <&3 2> /dev/null | od -An -v -tx2 | grep -q ' {event}'; do :; done"
            ),
        )?;
    }
    command(desk, "exec 3<&-")
}

/// What a program writes to the frame buffer is at its place on the screen, what the text console
/// says below the bar, and what is typed there reaches the shell on it; the same for the Linux
/// after one that panicked.
fn console() -> Result<()> {
    let path = Path::new("systems/linux.toml");
    let options = Options { screen: Some(&Wanted::Usual), ..Options::default() };
    let mut desk = Desk::start(&build::plan(path, options)?.carry_out()?)?;
    for life in ["first", "second"] {
        desk.session.expect(PROMPT)?;
        // Nothing blinks.
        command(&mut desk, "printf '\\033[?25l' > /dev/tty1")?;
        for stripe in &STRIPES {
            command(&mut desk, &stripe.command())?;
            desk.until("what a program wrote", |picture| stripe.is_in(picture))?;
        }
        desk.monitor.type_text(&format!("echo {life} > /dev/hvc0\n"))?;
        desk.session.expect(&format!("{life}\n"))?;
        command(&mut desk, "")?;
        // A login shell says two empty lines first; then the prompt, and what was typed.
        desk.until("what was typed", |picture| {
            picture.colours(0..WIDTH / 2, BAR as usize..BAR as usize + 160) > 1
        })?;
        pointer(&mut desk)?;
        if life == "first" {
            desk.session.send(b"\recho c > /proc/sysrq-trigger\r")?;
            desk.session.expect("Kernel panic - not syncing: sysrq triggered crash")?;
            desk.session.expect("Linux version")?;
        }
    }
    desk.session.send(b"\rpoweroff -f\r")?;
    desk.session.end()
}

/// Debian starts X by itself, with a window manager, a terminal and eyes; what is typed there
/// reaches the shell in the terminal.
fn desktop() -> Result<()> {
    disk::forget(disk::image_of("debian-screen"))?;
    let mut desk = Desk::start(&build::system(Path::new("systems/debian-screen.toml"))?)?;
    desk.session.patience = START;
    desk.session.expect("macadamia login: ")?;
    desk.patience = START;
    let terminal = |picture: &Picture| {
        let row = BAR as usize + 400;
        picture.is_all(400..500, row..row + 20, WHITE)
    };
    desk.until("a desktop", |picture| {
        picture.is_all(2..20, 300..400, BACKGROUND) && terminal(picture)
    })?;
    desk.monitor.type_text("echo typed > /dev/hvc0\n")?;
    desk.session.expect("typed\n")?;
    desk.monitor.type_text("poweroff\n")?;
    desk.session.expect("Power down")?;
    desk.session.end()
}
