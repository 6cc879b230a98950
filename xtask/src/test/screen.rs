// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the screen, without a window: QEMU's monitor types, moves the mouse, and takes
//! pictures. The tests wait until regions of a picture have the expected colours.

use super::desk::{Desk, Pixel};
use super::tally::{Test, on_board, on_pc64, slow, test};
use crate::build::{self, Options};
use crate::emulator::{self, Headless, Machine};
use crate::machine::monitor::Picture;
use crate::machine::xserver::{Room, XServer};
use crate::process::patience::Limit;
use crate::process::session::BREAK;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("screen.demo", demo),
    test("screen.tutorial", tutorial).reading(&["docs/tutorial-screen.md"]),
    test("screen.focus", focus),
    test("screen.restarts", || restarts(3)),
    slow("screen.restarts.many", "half a minute: a hundred deaths of the server", || restarts(100)),
    test("screen.hostile", hostile),
    slow("versatilepb.screen.hostile", "`screen.hostile` is the PC's", || on_board(hostile)),
    slow("screen.messages", "minutes: a million of them", messages),
    test("linux.attack.screen", taken_over),
    slow("versatilepb.linux.attack.screen", "`linux.attack.screen` is the PC's", || {
        on_board(taken_over)
    }),
    test("screen.tablet", tablet),
    test("versatilepb.screen.tablet", || on_board(tablet)),
    test("screen.terminal", terminal),
    test("versatilepb.screen.terminal", || on_board(terminal)),
    test("screen.bochs", on_bochs),
    test("screen.text", text),
    test("screen.panic", last_words),
    test("versatilepb.screen.focus", || on_board(focus)),
    slow("versatilepb.screen.restarts", "`screen.restarts` is the PC's", || {
        on_board(|| restarts(3))
    }),
    test("pc64.screen.demo", || on_pc64(demo)),
    test("pc64.screen.focus", || on_pc64(focus)),
    slow("pc64.screen.bochs", "`screen.bochs` is the PC's", || on_pc64(on_bochs)),
    slow("pc64.screen.restarts", "`screen.restarts` is the PC's", || on_pc64(|| restarts(3))),
    test("pc64.screen.tablet", || on_pc64(tablet)),
    test("pc64.screen.terminal", || on_pc64(terminal)),
    test("pc64.screen.text", || on_pc64(end_as_text)),
];

/// Colours of the clients of `tests/systems/screen-focus.toml`, and of the bar without one.
const FIRST: u32 = 0x90_2020;
const SECOND: u32 = 0x20_7020;
pub const KILLER: u32 = 0x20_20c0;
const NOBODY: u32 = 0x20_2428;
/// What `paint` shows in its field: that it has no keyboard, and its colours.
const FADED: u32 = 0xa0_a0a0;
const RED: u32 = 0xd0_3030;
const GREEN: u32 = 0x30_a040;
const BLUE: u32 = 0x30_50d0;
pub const PAPER: u32 = 0xe8_e4d8;
/// The place of a client that has ended.
const GREY: u32 = 0x50_5458;
/// What the killer shows, beside the number of kills.
const KILLS: u32 = 0x40_0000;

/// Places: in the bar; in the field of `paint`; on its paper; in the killer's corner, from its left
/// upper corner on.
const BAR: (usize, usize) = (600, 10);
const FIELD: (usize, usize) = (12, 32);
const SHEET: (usize, usize) = (700, 600);
const CORNER: (usize, usize) = (960, 20);

/// In the corner of the demo's clock.
pub const CLOCK: Pixel = ((870, 30), 0x10_2038);

/// Starts a system by its description.
fn start(system: &str) -> Result<Desk> {
    Desk::start(&build::system(Path::new(system))?)
}

/// Gives the keyboard to the client of this digit, whose colour the bar has then.
fn give(desk: &mut Desk, digit: &str, colour: u32) -> Result<()> {
    desk.choose(digit, &[(BAR, NOBODY)])?;
    desk.colours(&[(BAR, colour)]).map(|_| ())
}

/// The system that people start first.
fn demo() -> Result<()> {
    const INK: u32 = 0xf0_f0e0;
    let mut desk = start("systems/tutorial-screen.toml")?;
    desk.colours(&[(FIELD, RED), (SHEET, PAPER), CLOCK])?;
    // The clock has hands.
    let digits = |picture: &Picture| -> Vec<Option<u32>> {
        (864..1024)
            .flat_map(|x| (30..56).map(move |y| (x, y)))
            .map(|(x, y)| picture.at(x, y))
            .collect()
    };
    let then = digits(&desk.until("digits", |picture| digits(picture).contains(&Some(INK)))?);
    desk.until("another time", |picture| digits(picture) != then).map(|_| ())
}

/// The tutorial's page has the files as they are; `screen.demo` runs them.
fn tutorial() -> Result<()> {
    let page = std::fs::read_to_string("docs/tutorial-screen.md")?;
    for (path, language) in [
        ("user/demo/clock-face/Cargo.toml", "toml"),
        ("user/demo/clock-face/src/main.rs", "rust"),
        ("systems/tutorial-screen.toml", "toml"),
    ] {
        let file = std::fs::read_to_string(path)?;
        let block = format!("`{path}`:\n\n```{language}\n{file}```\n");
        ensure!(page.contains(&block), "docs/tutorial-screen.md does not have {path} as it is");
    }
    Ok(())
}

/// Keys go to who has the keyboard, and the secure key to nobody; the mouse is where it was moved;
/// a client that dies is grey.
fn focus() -> Result<()> {
    let mut desk = start("tests/systems/screen-focus.toml")?;
    desk.colours(&[(BAR, FIRST), (FIELD, RED), (SHEET, PAPER), (CORNER, KILLS)])?;
    desk.monitor.press("g")?;
    desk.colours(&[(FIELD, GREEN)])?;
    // While the list is open nobody has the keyboard.
    desk.monitor.key("f12", true)?;
    desk.colours(&[(BAR, NOBODY), (FIELD, FADED)])?;
    desk.monitor.press("r")?;
    desk.monitor.press("2")?;
    desk.monitor.key("f12", false)?;
    desk.colours(&[(BAR, SECOND), (FIELD, RED)])?;
    desk.monitor.press("b")?;
    desk.colours(&[(FIELD, BLUE)])?;
    // A key that is held at a change is none of the next one's.
    desk.monitor.key("r", true)?;
    desk.colours(&[(FIELD, RED)])?;
    give(&mut desk, "1", FIRST)?;
    desk.colours(&[(FIELD, GREEN)])?;
    desk.monitor.key("r", false)?;
    desk.monitor.press("b")?;
    desk.colours(&[(FIELD, BLUE)])?;
    // The pointer begins in the middle of the screen, and the brush has 8 pixels.
    let dab = |x: usize, y: usize| ((x - 3, y - 3), BLUE);
    desk.monitor.moved(60, 40)?;
    desk.monitor.button(true)?;
    desk.colours(&[dab(572, 424)])?;
    desk.monitor.moved(-100, -90)?;
    desk.colours(&[dab(472, 334)])?;
    desk.monitor.button(false)?;
    // Nobody paints the bar, though the mouse goes there.
    desk.monitor.moved(0, -2000)?;
    desk.monitor.button(true)?;
    desk.monitor.moved(200, 0)?;
    desk.monitor.button(false)?;
    desk.monitor.press("g")?;
    desk.colours(&[(FIELD, GREEN), (BAR, FIRST), ((660, 12), FIRST)])?;
    give(&mut desk, "2", SECOND)?;
    give(&mut desk, "3", KILLER)?;
    desk.colours(&[(FIELD, FADED), (SHEET, PAPER)])?;
    desk.monitor.press("x")?;
    desk.colours(&[(SHEET, GREY), (FIELD, GREY), (BAR, KILLER), (CORNER, KILLS)])?;
    give(&mut desk, "1", FIRST)?;
    desk.colours(&[(FIELD, GREEN), (SHEET, PAPER)]).map(|_| ())
}

/// The server dies so often, and the screen is the same afterwards: who has the keyboard, and all
/// that the clients show.
fn restarts(kills: u32) -> Result<()> {
    let mut desk = start("tests/systems/screen-focus.toml")?;
    desk.colours(&[(BAR, FIRST), (FIELD, RED), (SHEET, PAPER), (CORNER, KILLS)])?;
    give(&mut desk, "2", SECOND)?;
    desk.monitor.press("b")?;
    desk.colours(&[(FIELD, BLUE)])?;
    give(&mut desk, "3", KILLER)?;
    let masked = |picture: Picture| picture.without(CORNER.0, CORNER.1, 64, 32);
    let before = masked(desk.colours(&[(FIELD, FADED), (SHEET, PAPER), (CORNER, KILLS)])?);
    for kill in 1..=kills {
        desk.monitor.press("k")?;
        desk.colours(&[(CORNER, KILLS + kill)])
            .with_context(|| format!("after death {kill} of the server"))?;
        desk.until("the same as before", |picture| masked(picture.clone()) == before)
            .with_context(|| format!("after death {kill} of the server"))?;
    }
    give(&mut desk, "2", SECOND)?;
    desk.colours(&[(FIELD, BLUE)]).map(|_| ())
}

/// Frames a second that a client gets beside one that breaks all rules.
const LEAST: u64 = 30;

/// Beside a client that breaks all rules another one has its frames, by the machine's own time, and
/// a third its keys; the bar stays.
fn hostile() -> Result<()> {
    let built = build::system(Path::new("tests/systems/screen-hostile.toml"))?;
    let mut desk = Desk::start_with(&built, &emulator::OWN_TIME)?;
    desk.colours(&[(BAR, FIRST), (FIELD, RED), (SHEET, PAPER)])?;
    for (key, colour) in [("g", GREEN), ("b", BLUE), ("r", RED)] {
        desk.session.expect("[hostile] ")?;
        desk.session.expect("[frames] ")?;
        let line = desk.session.until(" ms")?;
        let (count, time) = line
            .split_once(" frames in ")
            .and_then(|(count, time)| Some((count.parse::<u64>().ok()?, time.parse::<u64>().ok()?)))
            .with_context(|| format!("`{line}` is no number of frames"))?;
        println!("# {} frames a second beside a hostile client", count * 1000 / time.max(1));
        ensure!(count * 1000 >= LEAST * time, "{count} frames in {time} ms");
        desk.monitor.press(key)?;
        let picture = desk.colours(&[(FIELD, colour), (BAR, FIRST), (SHEET, PAPER)])?;
        bar_is_whole(&picture)?;
    }
    Ok(())
}

/// Nobody but the server painted the bar of the first client: its name stands in the left of it.
fn bar_is_whole(picture: &Picture) -> Result<()> {
    ensure!(
        (200..900).all(|x| (0..20).all(|y| picture.at(x, y) == Some(FIRST))),
        "somebody painted the bar"
    );
    Ok(())
}

/// Characters on the screen: rows above the first one's, pixels of a character, how many rows there
/// are, and what they are on.
struct Page {
    top: usize,
    cell: [usize; 2],
    rows: usize,
    paper: u32,
}

/// That of the firmware, and how many characters a row has.
const FIRMWARE: Page = Page { top: 0, cell: [9, 16], rows: 25, paper: 0 };
const COLUMNS: usize = 80;
/// That of the component `terminal`.
const TERMINAL: Page =
    Page { top: image::protocol::screen::BAR as usize, cell: [8, 13], rows: 57, paper: 0x10_1418 };

/// Whether a page has a row that begins so, in whatever font: its characters are equal where those
/// of the text are, and a blank is paper.
fn says(picture: &Picture, page: &Page, text: &str) -> bool {
    let [width, height] = page.cell;
    let cell = |column: usize, row: usize| -> Vec<bool> {
        let (x, y) = (column * width, page.top + row * height);
        let pixels = (y..y + height).flat_map(|y| (x..x + width).map(move |x| (x, y)));
        pixels.map(|(x, y)| picture.at(x, y).is_none_or(|pixel| pixel != page.paper)).collect()
    };
    let text = text.as_bytes();
    let row_has = |row: usize| {
        let cells: Vec<_> = (0..text.len()).map(|column| cell(column, row)).collect();
        text.iter().zip(&cells).all(|(byte, cell)| (*byte != b' ') == cell.contains(&true))
            && (0..text.len()).all(|one| {
                (0..one).all(|other| (text[one] == text[other]) == (cells[one] == cells[other]))
            })
    };
    (0..page.rows).any(row_has)
}

/// The same of a screen that shows nothing but text.
fn is_text(picture: &Picture, text: &str) -> bool {
    picture.at(COLUMNS * FIRMWARE.cell[0], 0).is_none() && says(picture, &FIRMWARE, text)
}

/// What the kernel says before anything else, and the root server without a console, is on the
/// screen as the firmware leaves it.
fn text() -> Result<()> {
    let built = build::system(Path::new("systems/hello.toml"))?;
    // The machine ends, and its screen stays.
    let mut desk = Desk::start_with(&built, &["-no-shutdown", "-append", "smallspaces=some"])?;
    const REFUSED: &str = "the kernel's command line is wrong: ";
    desk.until("a refusal", |picture| is_text(picture, REFUSED))?;
    drop(desk);
    end_as_text()
}

/// What the root server says at the end.
fn end_as_text() -> Result<()> {
    let built = build::system(Path::new("systems/hello.toml"))?;
    let mut desk = Desk::start_with(&built, &["-no-shutdown"])?;
    desk.until("the end", |picture| is_text(picture, "[root] every component has ended"))
        .map(|_| ())
}

/// What the kernel says at a panic is on the screen, whichever client had it: it is set to text,
/// whose font is the firmware's.
fn last_words() -> Result<()> {
    let options = Options { kdb: true, ..Options::default() };
    let built = build::plan(Path::new("systems/tutorial-screen.toml"), options)?.carry_out()?;
    let mut desk = Desk::start_with(&built, &["-no-shutdown"])?;
    desk.colours(&[(FIELD, RED), (SHEET, PAPER)])?;
    desk.session.send(BREAK)?;
    desk.session.expect("kdb> ")?;
    desk.session.send(b"k\r")?;
    desk.session.expect("backtrace:")?;
    for line in ["KERNEL PANIC: panicked at kernel/", "asked for in the debugger", "backtrace:"] {
        desk.until(line, |picture| is_text(picture, line))?;
    }
    Ok(())
}

/// What the console says is on the screen, and what is typed there a component reads; a terminal
/// that is new shows what was said before it.
fn terminal() -> Result<()> {
    let mut desk = start("tests/systems/screen-terminal.toml")?;
    desk.colours(&[(BAR, SECOND), ((700, 700), TERMINAL.paper)])?;
    let rows = |picture: &Picture| {
        let row = TERMINAL.cell[1];
        let inked = |at: &usize| {
            picture.colours(0..500, TERMINAL.top + at * row..TERMINAL.top + (at + 1) * row) > 1
        };
        (0..20).filter(inked).count()
    };
    desk.session.expect("[echo] ")?;
    let before = rows(&desk.until("what was said", |picture| rows(picture) > 1)?);
    desk.monitor.type_text("One-two\n")?;
    desk.session.expect("One-two")?;
    desk.until("what was typed", |picture| rows(picture) > before)?;
    // What the root server says is on the serial line once, and here, too.
    const WORDS: &str = "[root] `paint` died: ";
    give(&mut desk, "3", KILLER)?;
    desk.monitor.press("x")?;
    desk.session.expect(WORDS)?;
    desk.until("the root server's words", |picture| says(picture, &TERMINAL, WORDS))?;
    let said = desk.session.said().matches(WORDS).count();
    ensure!(said == 1, "the serial line has the root server's words {said} times");
    Ok(())
}

/// Bochs' card, whose registers are at ports only, and its keyboard: its window shows what the
/// clients paint, who has the keyboard, and that nobody has while the list is open. The X server
/// that the tool starts for it is too small for them, and the screen server says so.
fn on_bochs() -> Result<()> {
    const LOOK: Duration = Duration::from_millis(100);
    const PATIENCE: Limit = Limit::Own(Duration::from_secs(120));
    const REFUSED: &str = "no screen: the card shows 720x430 with 32 bits at most, and no 1024x768";
    /// Rows of the window's own above the screen.
    const ABOVE: usize = 32;
    const F12: u8 = 88;
    const G: u8 = 34;
    let built = build::system(Path::new("systems/tutorial-screen.toml"))?;
    let said = |run: &Headless| std::fs::read_to_string(&run.log).unwrap_or_default();
    let mut run = emulator::headless(&built, Machine::Bochs { cpu: None, window: None })?;
    let mut deadline = run.deadline(PATIENCE);
    while !said(&run).contains(REFUSED) {
        ensure!(!deadline.is_over(), "`{REFUSED}` does not come: {}", said(&run));
        std::thread::park_timeout(LOOK);
    }
    // Beside the X server of that run.
    let mut server = XServer::start(Room::Pixels)?;
    run.end()?;
    ensure!(!server.lets_strangers_in()?, "other users of this host see the window");
    let window = server.display();
    let window = Some(&window);
    let mut run = emulator::headless(&built, Machine::Bochs { cpu: None, window })?;
    let shows = |server: &mut XServer, wanted: &[Pixel]| -> Result<()> {
        let mut deadline = run.deadline(PATIENCE);
        loop {
            let picture = server.picture()?;
            if wanted.iter().all(|((x, y), colour)| picture.at(*x, y + ABOVE) == Some(*colour)) {
                return Ok(());
            }
            ensure!(!deadline.is_over(), "the window shows no {wanted:x?}: {}", said(&run));
            std::thread::park_timeout(LOOK);
        }
    };
    shows(&mut server, &[(FIELD, RED), (SHEET, PAPER), CLOCK])?;
    server.key(G, true)?;
    server.key(G, false)?;
    shows(&mut server, &[(FIELD, GREEN), (SHEET, PAPER), CLOCK])?;
    server.key(F12, true)?;
    shows(&mut server, &[(BAR, NOBODY), (FIELD, FADED)])?;
    server.key(F12, false)?;
    shows(&mut server, &[(FIELD, GREEN), (SHEET, PAPER), CLOCK])?;
    run.end()
}

/// The pointer is where a tablet says, also after a death of the server that drives it; who is
/// clicked on has the keyboard; the wheel reaches who is under the pointer.
fn tablet() -> Result<()> {
    let mut desk = start("tests/systems/screen-tablet.toml")?;
    let first = [(BAR, FIRST), (FIELD, RED), (SHEET, PAPER), (CORNER, KILLS)];
    desk.colours(&first)?;
    desk.click(500, 300)?;
    desk.colours(&[((498, 298), RED), ((520, 320), PAPER)])?;
    // The corner's field begins 8 pixels from its own corner.
    const SECOND_FIELD: (usize, usize) = (12, 768 - 240 + 12);
    desk.colours(&[(SECOND_FIELD, FADED)])?;
    desk.click(200, 700)?;
    desk.colours(&[(BAR, SECOND), (SECOND_FIELD, RED), ((198, 698), RED), (FIELD, FADED)])?;
    desk.monitor.press("g")?;
    desk.colours(&[(SECOND_FIELD, GREEN)])?;
    // Four pixels more of the brush.
    desk.monitor.wheel_up()?;
    desk.monitor.wheel_up()?;
    desk.click(250, 700)?;
    desk.colours(&[((245, 695), GREEN), ((198, 698), RED)])?;
    desk.click(1000, 36)?;
    desk.colours(&[(BAR, KILLER), (SECOND_FIELD, FADED)])?;
    desk.monitor.press("k")?;
    desk.colours(&[(BAR, KILLER), (CORNER, KILLS + 1)])?;
    desk.click(700, 200)?;
    desk.colours(&[(BAR, FIRST), ((698, 198), RED), (SECOND_FIELD, FADED)]).map(|_| ())
}

/// A Linux that was taken over spoils what it shares with the server, and asks it for anything.
/// Another client keeps its colours and gets its keys meanwhile, nobody paints the bar, and the
/// server lives. The memory that only the server writes is not for that Linux to write.
pub(super) fn taken_over() -> Result<()> {
    /// In the corner of that Linux.
    const TAKEN: (usize, usize) = (1016, 760);
    let mut desk = start("tests/systems/linux-attack-screen.toml")?;
    let painted = |colour| [(BAR, FIRST), (FIELD, colour), (SHEET, PAPER)];
    desk.colours(&painted(RED))?;
    for (part, (key, colour)) in (1..).zip([("g", GREEN), ("b", BLUE), ("r", RED), ("g", GREEN)]) {
        desk.session.expect(&format!("attack: the screen, part {part} of 4"))?;
        desk.monitor.press(key)?;
        let picture = desk.colours(&painted(colour))?;
        bar_is_whole(&picture)?;
    }
    desk.session.expect("`taken` ")?;
    let end = desk.session.until("\n")?;
    ensure!(end.starts_with("died: "), "it wrote what only the server may: it {end}");
    desk.colours(&[(TAKEN, GREY)])?;
    desk.monitor.press("b")?;
    desk.colours(&painted(BLUE))?;
    let said = desk.session.said();
    ensure!(said.matches("[screen] ").count() == 1, "the server began again: {said}");
    Ok(())
}

/// A million messages of any words do the server no harm: it has not died, and another client gets
/// its keys.
fn messages() -> Result<()> {
    let mut desk = start("tests/systems/screen-messages.toml")?;
    desk.colours(&[(BAR, FIRST), (FIELD, RED), (SHEET, PAPER)])?;
    for tenth in 1..=10 {
        desk.session.expect(&format!("[hostile] {} messages", tenth * 100_000))?;
    }
    desk.monitor.press("g")?;
    desk.colours(&[(FIELD, GREEN), (BAR, FIRST), (SHEET, PAPER)])?;
    let said = desk.session.said();
    ensure!(said.matches("[screen] ").count() == 1, "the server began again: {said}");
    Ok(())
}
