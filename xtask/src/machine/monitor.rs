// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's monitor for programs (QEMU, docs/interop/qmp-spec.rst): it takes pictures of a machine's
//! screen, and operates its keyboard and its mouse.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest that QEMU may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts to reach it.
const POLL: Duration = Duration::from_millis(20);

/// The monitor of a machine that runs.
pub struct Monitor {
    line: BufReader<UnixStream>,
    picture: PathBuf,
}

/// What a screen shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    /// Red in bits 16 to 23.
    pixels: Vec<u32>,
}

impl Monitor {
    /// QEMU's arguments for a monitor at this socket.
    pub fn arguments(socket: &Path) -> [String; 2] {
        ["-qmp".into(), format!("unix:{},server=on,wait=off", socket.display())]
    }

    /// That of a machine that was started with these arguments; `None` if it does not listen yet.
    ///
    /// # Errors
    /// If it does not answer.
    fn open(socket: &Path) -> Result<Option<Self>> {
        let Ok(stream) = UnixStream::connect(socket) else { return Ok(None) };
        let mut monitor =
            Self { line: BufReader::new(stream), picture: socket.with_extension("ppm") };
        monitor.answer()?;
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(Some(monitor))
    }

    /// The same, of one that was started just now.
    ///
    /// # Errors
    /// If it does not listen in time, or does not answer.
    pub fn connect(socket: &Path) -> Result<Self> {
        let start = Instant::now();
        loop {
            if let Some(monitor) = Self::open(socket)? {
                return Ok(monitor);
            }
            let late = start.elapsed() > PATIENCE;
            ensure!(!late, "QEMU does not listen at {}", socket.display());
            std::thread::park_timeout(POLL);
        }
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.line.read_line(&mut line)? > 0, "QEMU has closed its monitor");
        serde_json::from_str(&line).context("QEMU's monitor said what is no JSON")
    }

    /// Has a command carried out.
    fn execute(&mut self, command: &str, arguments: &Value) -> Result<()> {
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(self.line.get_mut(), "{request}")?;
        loop {
            // Events come in between.
            let answer = self.answer()?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU refused `{command}`: {error}");
            }
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }

    fn input(&mut self, events: &Value) -> Result<()> {
        self.execute("input-send-event", &json!({ "events": events }))
    }

    /// Presses a key, by QEMU's name for it, or lets it go.
    ///
    /// # Errors
    /// If QEMU has no such key.
    pub fn key(&mut self, name: &str, down: bool) -> Result<()> {
        let key = json!({ "type": "qcode", "data": name });
        self.input(&json!([{ "type": "key", "data": { "down": down, "key": key } }]))
    }

    /// Presses a key and lets it go.
    ///
    /// # Errors
    /// As [`Monitor::key`].
    pub fn press(&mut self, name: &str) -> Result<()> {
        self.key(name, true)?;
        self.key(name, false)
    }

    /// Types a text on an American keyboard; `\n` is its large key.
    ///
    /// # Errors
    /// If a character is not on it, or as [`Monitor::key`].
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        for char in text.chars() {
            let (key, shift) = key_of(char).with_context(|| format!("no key types {char:?}"))?;
            if shift {
                self.key("shift", true)?;
            }
            self.press(&key)?;
            if shift {
                self.key("shift", false)?;
            }
        }
        Ok(())
    }

    /// Presses the left button, or lets it go.
    ///
    /// # Errors
    /// If QEMU refuses.
    pub fn button(&mut self, down: bool) -> Result<()> {
        self.input(&json!([{ "type": "btn", "data": { "down": down, "button": "left" } }]))
    }

    /// Moves the mouse to the right and down.
    ///
    /// # Errors
    /// If QEMU refuses.
    pub fn moved(&mut self, right: i32, down: i32) -> Result<()> {
        let axis =
            |name: &str, by: i32| json!({ "type": "rel", "data": { "axis": name, "value": by } });
        self.input(&json!([axis("x", right), axis("y", down)]))
    }

    /// Has a tablet at a place of the screen: 32,768ths of it from the left and from above.
    ///
    /// # Errors
    /// If QEMU refuses.
    pub fn pointed(&mut self, right: u32, down: u32) -> Result<()> {
        let axis =
            |name: &str, at: u32| json!({ "type": "abs", "data": { "axis": name, "value": at } });
        self.input(&json!([axis("x", right), axis("y", down)]))
    }

    /// Turns the wheel of a mouse or a tablet up by one.
    ///
    /// # Errors
    /// If QEMU refuses.
    pub fn wheel_up(&mut self) -> Result<()> {
        let turn =
            |down: bool| json!({ "type": "btn", "data": { "down": down, "button": "wheel-up" } });
        self.input(&json!([turn(true), turn(false)]))
    }

    /// What the screen shows.
    ///
    /// # Errors
    /// If QEMU has no screen.
    pub fn picture(&mut self) -> Result<Picture> {
        let file = self.picture.to_string_lossy().into_owned();
        self.execute("screendump", &json!({ "filename": file }))?;
        Picture::parse(&std::fs::read(&self.picture)?).context("QEMU's picture is none")
    }

    /// Writes what the screen shows to a file, in PNG. The machine stands still meanwhile: it could
    /// end.
    ///
    /// # Errors
    /// If QEMU has no screen, or cannot write there.
    pub fn save(&mut self, file: &Path) -> Result<()> {
        self.execute("stop", &json!({}))?;
        self.execute("screendump", &json!({ "filename": file, "format": "png" }))?;
        self.execute("cont", &json!({}))
    }
}

/// The key that types a character, as QEMU calls it, and whether with shift.
fn key_of(char: char) -> Option<(String, bool)> {
    const OTHERS: [(char, &str, bool); 8] = [
        (' ', "spc", false),
        ('\n', "ret", false),
        ('-', "minus", false),
        ('/', "slash", false),
        ('>', "dot", true),
        ('\'', "apostrophe", false),
        ('\\', "backslash", false),
        ('[', "bracket_left", false),
    ];
    match char {
        'a'..='z' | '0'..='9' => Some((char.to_string(), false)),
        'A'..='Z' => Some((char.to_ascii_lowercase().to_string(), true)),
        _ => OTHERS
            .iter()
            .find(|(typed, ..)| *typed == char)
            .map(|(_, key, shift)| ((*key).to_string(), *shift)),
    }
}

impl Picture {
    /// So many pixels in a row, and all of them.
    pub(super) fn of(width: usize, pixels: Vec<u32>) -> Self {
        Self { width, pixels }
    }

    /// A portable pixel map with bytes.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.splitn(4, |byte| *byte == b'\n');
        let (kind, size, most, pixels) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (width, height) = std::str::from_utf8(size).ok()?.split_once(' ')?;
        let (width, height): (usize, usize) = (width.parse().ok()?, height.parse().ok()?);
        let is_sound = kind == b"P6" && most == b"255" && pixels.len() == width * height * 3;
        let word = |pixel: &[u8]| pixel.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        is_sound.then(|| Self::of(width, pixels.chunks_exact(3).map(word).collect()))
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.pixels.len() / self.width.max(1)
    }

    /// A pixel.
    pub fn at(&self, x: usize, y: usize) -> Option<u32> {
        self.pixels.get(y * self.width + x).copied().filter(|_| x < self.width)
    }

    /// Whether all of these columns and rows has a colour.
    pub fn is_all(&self, x: Range<usize>, y: Range<usize>, colour: u32) -> bool {
        y.into_iter().all(|y| x.clone().all(|x| self.at(x, y) == Some(colour)))
    }

    /// How many colours they have.
    pub fn colours(&self, x: Range<usize>, y: Range<usize>) -> usize {
        let pixels = y.flat_map(|y| x.clone().filter_map(move |x| self.at(x, y)));
        pixels.collect::<BTreeSet<_>>().len()
    }

    /// The same picture, one colour in a part of it.
    #[must_use]
    pub fn without(mut self, x: usize, y: usize, width: usize, height: usize) -> Self {
        for row in self.pixels.chunks_exact_mut(self.width).skip(y).take(height) {
            row.iter_mut().skip(x).take(width).for_each(|pixel| *pixel = 0);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Picture, key_of};

    #[test]
    fn pictures_are_read() {
        let picture = Picture::parse(b"P6\n2 1\n255\n\x01\x02\x03\n\x05\x06").expect("a picture");
        assert_eq!([0, 1, 2].map(|x| picture.at(x, 0)), [Some(0x01_0203), Some(0x0a_0506), None]);
        assert_eq!(picture.at(0, 1), None);
        assert!(picture.is_all(1..2, 0..1, 0x0a_0506) && !picture.is_all(0..2, 0..1, 0x0a_0506));
        assert_eq!(picture.colours(0..2, 0..1), 2);
        assert_eq!(picture.without(1, 0, 9, 9).at(1, 0), Some(0));
        assert!(Picture::parse(b"P6\n2 1\n255\n\x01").is_none());
        assert!(Picture::parse(b"").is_none());
    }

    #[test]
    fn characters_have_keys() {
        let key = |name: &str, shift| Some((name.to_string(), shift));
        assert_eq!(
            ['a', 'A', '7', '>'].map(key_of),
            [key("a", false), key("a", true), key("7", false), key("dot", true)]
        );
        assert_eq!(key_of('ä'), None);
    }
}
