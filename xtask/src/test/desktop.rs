// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of Linux at the screen: its text console, the keyboard, and Debian's desktop.

use super::desk::{Desk, Pixel};
use super::tally::{Test, on_board, slow};
use super::{disk, screen};
use crate::build::{self, Built, Options, Seed, Wire};
use crate::linux::server::debian_expected;
use crate::machine::monitor::Picture;
use crate::machine::screen::Wanted;
use crate::process::session::PROMPT;
use anyhow::{Context, Result, ensure};
use image::protocol::screen::BAR;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    slow("linux.screen", "it builds the full Linux", console),
    slow("linux.screen.beside", "it builds the full Linux", beside),
    slow("linux.screen.two", "it builds the full Linux", two),
    slow("linux.debian.desktop", "it installs Debian", desktop),
    slow("linux.debian.desktop.two", "it installs Debian", two_desktops),
    slow("linux.debian.desktop.lives", "it installs Debian", lives),
    slow("versatilepb.linux.screen", "it builds another Linux", || on_board(console)),
];

/// What the desktop's background is made of (`linux/debian/desktop/customise`).
const BACKGROUND: u32 = 0x2f_4f6f;
const WHITE: u32 = 0xff_ffff;
/// The longest that Debian says nothing while it starts.
const START: Duration = Duration::from_secs(120);

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

/// What a program reads of the pointer: where a tablet has it, the button, and the wheel.
fn pointer(desk: &mut Desk) -> Result<()> {
    const AT: (usize, usize) = (300, 200);
    // A time of two words, and eight bytes.
    let bytes = 2 * debian_expected()?.pointer + 8;
    command(desk, "exec 3< /dev/input/event1")?;
    desk.point(AT.0, AT.1)?;
    desk.monitor.button(true)?;
    desk.monitor.button(false)?;
    desk.monitor.wheel_up()?;
    // Type, code, value: ABS_X, ABS_Y, which begins below the bar; BTN_LEFT is down, and up;
    // REL_WHEEL.
    let place = |code: u32, at: usize| format!("0003 {code:04x} {at:04x} 0000");
    let (x, y) = (place(0, AT.0), place(1, AT.1 - BAR as usize));
    let buttons = ["0001 0110 0001 0000", "0001 0110 0000 0000", "0002 0008 0001 0000"];
    for event in [&*x, &*y].into_iter().chain(buttons) {
        command(
            desk,
            &format!(
                "until dd bs={bytes} count=1 <&3 2> /dev/null | od -An -v -tx2 | grep -q ' {event}'; do :; done"
            ),
        )?;
    }
    command(desk, "exec 3<&-")
}

/// Linux has the keyboard layout that is loaded: one in which the keys of Y and Z have changed places.
fn layout(desk: &mut Desk) -> Result<()> {
    // A map begins with 7 letters and 256 flags; its first table has two bytes for each key.
    let [y, z] = [21, 44].map(|key| 7 + 256 + 2 * key);
    let copy = |from, to| {
        format!(
            "dd if=/tmp/usual of=/tmp/other bs=1 skip={from} seek={to} count=2 conv=notrunc 2> /dev/null"
        )
    };
    command(
        desk,
        &format!(
            "dumpkmap > /tmp/usual; cp /tmp/usual /tmp/other; {}; {}; loadkmap < /tmp/other",
            copy(y, z),
            copy(z, y)
        ),
    )?;
    desk.monitor.type_text("echo zebra > /dev/hvc0\n")?;
    desk.session.expect("yebra\n")?;
    command(desk, "")
}

/// What a program writes to the frame buffer is at its place on the screen, what the text console
/// says below the bar, and what is typed there reaches the shell on it; the same for the Linux
/// after one that panicked, which gets another keyboard layout.
pub(super) fn console() -> Result<()> {
    let mut desk = Desk::start(&with_tablet("systems/linux.toml")?)?;
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
    layout(&mut desk)?;
    desk.session.send(b"\rpoweroff -f\r")?;
    desk.session.end()
}

/// A system as `run --screen` has it: the pointer is a tablet.
fn with_tablet(system: &str) -> Result<Built> {
    let options = Options {
        screen: Some(&Wanted::Usual),
        seed: Seed::Fixed,
        wire: Wire::USER,
        ..Options::default()
    };
    build::plan(Path::new(system), options)?.carry_out()
}

/// The shell of a Linux and natives have the screen in turn: who has it, has the keyboard.
fn beside() -> Result<()> {
    let mut desk = Desk::start(&with_tablet("systems/screen.toml")?)?;
    desk.session.expect(PROMPT)?;
    let text = |picture: &Picture| picture.colours(0..WIDTH / 2, BAR as usize..BAR as usize + 160);
    desk.until("a text console", |picture| text(picture) > 1)?;
    desk.colours(&[screen::CLOCK, ((700, 600), 0)])?;
    desk.monitor.type_text("echo one > /dev/hvc0\n")?;
    desk.session.expect("one\n")?;
    for (digit, colour) in [("2", screen::PAPER), ("1", 0)] {
        desk.choose(digit, &[])?;
        desk.colours(&[screen::CLOCK, ((700, 600), colour)])?;
        // What is typed for the paper is none of the shell's.
        desk.monitor.type_text("echo two > /dev/hvc0\n")?;
    }
    desk.session.expect("two\n")?;
    command(&mut desk, "")?;
    let said = desk.session.said().matches("two\n").count();
    ensure!(said == 1, "the shell was typed to while another had the keyboard");
    desk.session.send(b"poweroff -f\r")?;
    desk.session.expect("Power down")?;
    Ok(())
}

/// A shell of one of two Linuxes: the digit that gives it the keyboard, the bar's colour then, a part
/// of the screen that only it writes, and what its terminal makes of colours 1, 2 and so on.
struct Shell {
    digit: &'static str,
    bar: u32,
    columns: Range<usize>,
    rows: Range<usize>,
    palette: [u32; 6],
}

/// Linux's own colours, and those of xterm.
const CONSOLE: [u32; 6] = [0xaa_0000, 0x00_aa00, 0xaa_5500, 0x00_00aa, 0xaa_00aa, 0x00_aaaa];
const XTERM: [u32; 6] = [0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd];
/// Colours of the bar for the first and the second client of a description that gives none.
const FIRST_BAR: u32 = 0x3b_6ea5;
const SECOND_BAR: u32 = 0x8f_5a9e;
/// In the bar.
const BAR_AT: (usize, usize) = (600, 10);

/// A shell on a text console, which is the second client.
const SECOND: Shell = Shell {
    digit: "2",
    bar: SECOND_BAR,
    columns: 100..800,
    rows: BAR as usize + 300..BAR as usize + 600,
    palette: CONSOLE,
};

impl Shell {
    /// Gives it the keyboard. It shows what it showed, in one of its colours, if it painted that.
    fn choose(&self, desk: &mut Desk, painted: Option<usize>) -> Result<()> {
        desk.choose(self.digit, &[])?;
        desk.colours(&[(BAR_AT, self.bar)])?;
        painted.map_or(Ok(()), |colour| self.shows(desk, self.palette[colour - 1]))
    }

    fn shows(&self, desk: &mut Desk, colour: u32) -> Result<()> {
        let (columns, rows) = (&self.columns, &self.rows);
        desk.until(&format!("{colour:06x} of shell {}", self.digit), |picture| {
            picture.is_all(columns.clone(), rows.clone(), colour)
        })
        .map(|_| ())
    }

    /// Has it paint its terminal, by what is typed.
    fn paint(&self, desk: &mut Desk, colour: usize) -> Result<()> {
        desk.monitor.type_text(&format!("printf '\\033[4{colour}m\\033[2J'\n"))?;
        self.shows(desk, self.palette[colour - 1])
    }
}

/// Two shells have screen and keyboard in turn: what is typed reaches the one that is shown, and
/// leaves the other one as it was.
fn take_turns(desk: &mut Desk, shells: [&Shell; 2]) -> Result<()> {
    let mut painted = [None; 2];
    for colours in [[1, 2], [4, 6], [2, 5]] {
        for ((shell, before), colour) in shells.into_iter().zip(&mut painted).zip(colours) {
            shell.choose(desk, *before)?;
            shell.paint(desk, colour)?;
            *before = Some(colour);
        }
    }
    for (shell, painted) in shells.into_iter().zip(painted) {
        shell.choose(desk, painted)?;
    }
    Ok(())
}

/// Two Linuxes with a text console each.
fn two() -> Result<()> {
    let mut desk = Desk::start(&with_tablet("tests/systems/linux-two-screens.toml")?)?;
    let first = Shell { digit: "1", bar: FIRST_BAR, ..SECOND };
    desk.colours(&[(BAR_AT, first.bar)])?;
    for shell in [&SECOND, &first] {
        shell.choose(&mut desk, None)?;
        desk.until("a prompt", |picture| {
            picture.colours(0..WIDTH / 2, BAR as usize..BAR as usize + 160) > 1
        })?;
    }
    take_turns(&mut desk, [&first, &SECOND])
}

/// The system `desktop`: Debian's, and a text console.
fn two_desktops() -> Result<()> {
    let mut desk = start_debian("systems/desktop.toml")?;
    desk.click(IN_TERMINAL.0, IN_TERMINAL.1)?;
    desk.colours(&[(TERMINAL_TITLE, ACTIVE)])?;
    // Left of the pointer, which X paints where it was clicked, and right of what is typed.
    let (x, y) = IN_TERMINAL;
    let (columns, rows) = (x - 50..x - 20, y - 5..y + 5);
    let debian = Shell { digit: "1", bar: FIRST_BAR, columns, rows, palette: XTERM };
    take_turns(&mut desk, [&debian, &SECOND])
}

/// Places of the desktop: in its terminal, in the browser's page, of the background.
const IN_TERMINAL: (usize, usize) = (350, BAR as usize + 300);
const IN_PAGE: (usize, usize) = (485, BAR as usize + 500);
const NOWHERE: (usize, usize) = (200, BAR as usize + 600);
/// In their title bars; the window that is typed to has another one than others.
const TERMINAL_TITLE: (usize, usize) = (100, BAR as usize + 64);
const PAGE_TITLE: (usize, usize) = (560, BAR as usize + 225);
const ACTIVE: u32 = 0xcf_cfff;
/// What a page is on (`linux/debian/desktop/customise`).
const PAGE: u32 = 0xf0_f0e0;

/// Waits for the desktop: a window manager, a terminal, and a browser with a page.
fn wait_for_desktop(desk: &mut Desk) -> Result<Picture> {
    let around = |picture: &Picture, (x, y): (usize, usize), colour| {
        picture.is_all(x - 5..x + 5, y - 5..y + 5, colour)
    };
    desk.until("a desktop", |picture| {
        around(picture, NOWHERE, BACKGROUND)
            && around(picture, IN_TERMINAL, WHITE)
            && around(picture, IN_PAGE, PAGE)
    })
}

/// Debian's prompt to root.
const ROOT: &str = "root@macadamia:~# ";

/// Root logs in on the console.
fn log_in(desk: &mut Desk) -> Result<()> {
    desk.session.send(b"root\r")?;
    desk.session.expect(ROOT)?;
    as_root(desk, "bind 'set enable-bracketed-paste off'; stty columns 1000; export DISPLAY=:0")?;
    Ok(())
}

/// What a command of root's on the console prints.
fn as_root(desk: &mut Desk, command: &str) -> Result<String> {
    desk.session.send(format!("{command}\r").as_bytes())?;
    desk.session.expect("\n")?;
    desk.session.until(ROOT)
}

/// Debian's desktop, whose disk is made now, until it shows all that it starts with.
fn start_debian(system: &str) -> Result<Desk> {
    let name = Path::new(system).file_stem().context("a name")?.to_string_lossy().into_owned();
    disk::forget(disk::image_of(&name))?;
    let mut desk = Desk::start(&with_tablet(system)?)?;
    (desk.session.patience, desk.patience) = (START, START);
    desk.session.expect("macadamia login: ")?;
    wait_for_desktop(&mut desk)?;
    Ok(desk)
}

/// Debian starts X by itself, with a window manager, a terminal, eyes, and the page of the native
/// web server in a browser; who is clicked on is typed to.
fn desktop() -> Result<()> {
    let mut desk = start_debian("systems/debian-screen.toml")?;
    desk.colours(&[screen::CLOCK])?;
    log_in(&mut desk)?;
    let titles = as_root(&mut desk, "xwininfo -root -tree | grep -o '\"Dillo[^\"]*\"'")?;
    ensure!(titles.contains("Macadamia"), "the browser shows no page of ours: {titles}");
    desk.click(IN_PAGE.0, IN_PAGE.1)?;
    desk.colours(&[(PAGE_TITLE, ACTIVE)])?;
    desk.monitor.type_text("x")?;
    desk.click(IN_TERMINAL.0, IN_TERMINAL.1)?;
    desk.colours(&[(TERMINAL_TITLE, ACTIVE)])?;
    desk.monitor.type_text("echo typed > /dev/hvc0\n")?;
    desk.session.expect("typed\n")?;
    desk.monitor.type_text("poweroff\n")?;
    desk.session.expect("Power down")?;
    desk.session.end()
}

/// How often the screen's server dies while x11perf draws.
const KILLS: u32 = 100;

/// The server of the screen dies while programs draw, and the desktop is as it was; Linux panics,
/// is restarted and is switched off while its desktop is open.
fn lives() -> Result<()> {
    /// In the killer's corner; its colour in the bar, and what it shows beside the number of kills.
    const CORNER: (usize, usize) = (960, 20);
    const KILLER: Pixel = ((600, 10), screen::KILLER);
    const SHOWN: u32 = 0x40_0000;
    let mut desk = start_debian("tests/systems/linux-desktop.toml")?;
    log_in(&mut desk)?;
    let masked = |picture: Picture| picture.without(CORNER.0, CORNER.1, 64, 32);
    // The pointer, which the eyes look at, was at one place of Linux's last: x11perf moves it, and
    // Linux tells nobody of a place that a tablet says twice.
    let at_rest = |desk: &mut Desk| -> Result<Picture> {
        desk.point(NOWHERE.0 + 40, NOWHERE.1)?;
        desk.point(NOWHERE.0, NOWHERE.1)?;
        as_root(desk, "settled")?;
        desk.click(CORNER.0 + 30, CORNER.1 + 16)?;
        Ok(masked(desk.colours(&[KILLER])?))
    };
    let before = at_rest(&mut desk)?;
    as_root(
        &mut desk,
        "until [ -e /tmp/enough ]; do x11perf -repeat 1 -time 1 -copywinwin500 -rect100 -f8text; done > /tmp/drawn 2>&1 &",
    )?;
    for kill in 1..=KILLS {
        desk.monitor.press("k")?;
        desk.colours(&[(CORNER, SHOWN + kill), KILLER])
            .with_context(|| format!("after death {kill} of the server"))?;
    }
    let drawn = as_root(&mut desk, "touch /tmp/enough; wait; grep -c 'reps @' /tmp/drawn")?;
    let drawn: u32 = drawn.trim().lines().last().unwrap_or_default().trim().parse()?;
    ensure!(drawn > 0, "x11perf drew nothing meanwhile");
    println!("# {KILLS} deaths of the server while x11perf had {drawn} results");
    let after = at_rest(&mut desk)?;
    ensure!(after == before, "the desktop is another than before");
    let again = |desk: &mut Desk, command: &str| -> Result<()> {
        desk.session.send(format!("{command}\r").as_bytes())?;
        desk.session.expect("Linux version")?;
        desk.session.expect("macadamia login: ")?;
        wait_for_desktop(desk)?;
        log_in(desk)
    };
    again(&mut desk, "echo c > /proc/sysrq-trigger")?;
    again(&mut desk, "reboot")?;
    desk.session.send(b"poweroff\r")?;
    desk.session.expect("Power down")?;
    desk.session.end()
}
