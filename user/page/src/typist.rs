// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes that keys type. Keys have Linux's codes (`linux/input-event-codes.h`).

use pc_keyboard::layouts::{
    AnyLayout, Azerty, Colemak, DVP104Key, De105Key, Dvorak104Key, FiSe105Key, Jis109Key, No105Key,
    Uk105Key, Us104Key,
};
use pc_keyboard::{
    DecodedKey, EventDecoder, HandleControl, KeyCode, KeyEvent, KeyState, ScancodeSet, ScancodeSet1,
};

/// The last key whose code is what an AT keyboard sends for it (scan code set 1).
const LAST_PLAIN: u16 = 88;
/// Keys with another code: what an AT keyboard sends for them after [`EXTENDED`].
const OTHERS: [(u16, u8); 13] = [
    (96, 0x1c),
    (97, 0x1d),
    (98, 0x35),
    (100, 0x38),
    (102, 0x47),
    (103, 0x48),
    (104, 0x49),
    (105, 0x4b),
    (106, 0x4d),
    (107, 0x4f),
    (108, 0x50),
    (109, 0x51),
    (111, 0x53),
];
const EXTENDED: u8 = 0xe0;

/// Which character each key types.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Layout {
    /// American.
    #[default]
    Us,
    /// British.
    Uk,
    /// German.
    De,
    /// French.
    Fr,
    /// Norwegian.
    No,
    /// Finnish and Swedish.
    Se,
    /// Japanese.
    Jp,
    /// American, by Dvorak.
    Dvorak,
    /// Dvorak's for programmers.
    DvorakProgrammer,
    /// American, by Colemak.
    Colemak,
}

impl Layout {
    /// All of them, by their names.
    pub const ALL: [(&'static str, Self); 10] = [
        ("us", Self::Us),
        ("uk", Self::Uk),
        ("de", Self::De),
        ("fr", Self::Fr),
        ("no", Self::No),
        ("se", Self::Se),
        ("jp", Self::Jp),
        ("dvorak", Self::Dvorak),
        ("dvorak-programmer", Self::DvorakProgrammer),
        ("colemak", Self::Colemak),
    ];

    /// The layout of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, layout)| *layout)
    }

    const fn keys(self) -> AnyLayout {
        match self {
            Self::Us => AnyLayout::Us104Key(Us104Key),
            Self::Uk => AnyLayout::Uk105Key(Uk105Key),
            Self::De => AnyLayout::De105Key(De105Key),
            Self::Fr => AnyLayout::Azerty(Azerty),
            Self::No => AnyLayout::No105Key(No105Key),
            Self::Se => AnyLayout::FiSe105Key(FiSe105Key),
            Self::Jp => AnyLayout::Jis109Key(Jis109Key),
            Self::Dvorak => AnyLayout::Dvorak104Key(Dvorak104Key),
            Self::DvorakProgrammer => AnyLayout::DVP104Key(DVP104Key),
            Self::Colemak => AnyLayout::Colemak(Colemak),
        }
    }
}

/// Which keys are down that change what others type.
pub struct Typist {
    decoder: EventDecoder<AnyLayout>,
    control: [bool; 2],
    typed: [u8; 4],
}

impl Typist {
    /// No key is down.
    #[must_use]
    pub const fn new(layout: Layout) -> Self {
        let decoder = EventDecoder::new(layout.keys(), HandleControl::Ignore);
        Self { decoder, control: [false; 2], typed: [0; 4] }
    }

    /// A key is pressed, or released. What that types: a character as UTF-8, or a control sequence.
    pub fn take(&mut self, code: u16, pressed: bool) -> &[u8] {
        let Some(code) = key(code) else { return &[] };
        match code {
            KeyCode::LControl => self.control[0] = pressed,
            KeyCode::RControl => self.control[1] = pressed,
            _ => {}
        }
        let state = if pressed { KeyState::Down } else { KeyState::Up };
        let Some(decoded) = self.decoder.process_keyevent(KeyEvent { code, state }) else {
            return &[];
        };
        // A layout says what a printer would do; a terminal sends other bytes for these keys.
        match code {
            KeyCode::Return | KeyCode::NumpadEnter => return b"\r",
            KeyCode::Backspace => return b"\x7f",
            KeyCode::Delete => return b"\x1b[3~",
            _ => {}
        }
        match decoded {
            DecodedKey::Unicode(character) => self.character(character),
            DecodedKey::RawKey(code) => match code {
                KeyCode::Home => b"\x1b[H",
                KeyCode::End => b"\x1b[F",
                KeyCode::ArrowUp => b"\x1b[A",
                KeyCode::ArrowDown => b"\x1b[B",
                KeyCode::ArrowRight => b"\x1b[C",
                KeyCode::ArrowLeft => b"\x1b[D",
                KeyCode::PageUp => b"\x1b[5~",
                KeyCode::PageDown => b"\x1b[6~",
                _ => b"",
            },
        }
    }

    fn character(&mut self, character: char) -> &[u8] {
        // As ASCII has it: the letter's number.
        let has_number = self.control.contains(&true) && ('@'..='~').contains(&character);
        let typed = if has_number { char::from(character as u8 & 0x1f) } else { character };
        typed.encode_utf8(&mut self.typed).as_bytes()
    }
}

/// The key with one of Linux's codes, if a layout knows it.
fn key(code: u16) -> Option<KeyCode> {
    let mut decoder = ScancodeSet1::new();
    let sent = if let Some((_, sent)) = OTHERS.iter().find(|(other, _)| *other == code) {
        decoder.advance_state(EXTENDED).ok()?;
        *sent
    } else {
        u8::try_from(code).ok().filter(|_| (1..=LAST_PLAIN).contains(&code))?
    };
    Some(decoder.advance_state(sent).ok()??.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SHIFT: u16 = 42;
    const CONTROL: u16 = 29;
    const ALT_GR: u16 = 100;

    fn typed(layout: Layout, keys: &[(u16, bool)]) -> Vec<u8> {
        let mut typist = Typist::new(layout);
        keys.iter().flat_map(|(code, pressed)| typist.take(*code, *pressed).to_vec()).collect()
    }

    #[test]
    fn keys_type() {
        let typed = |keys: &[(u16, bool)]| typed(Layout::Us, keys);
        assert_eq!(typed(&[(30, true), (30, false), (2, true), (57, true), (28, true)]), b"a1 \r");
        assert_eq!(
            typed(&[(SHIFT, true), (44, true), (11, true), (SHIFT, false), (53, true)]),
            b"Z)/"
        );
        assert_eq!(
            typed(&[(CONTROL, true), (46, true), (20, true), (57, true), (CONTROL, false)]),
            b"\x03\x14 "
        );
        assert_eq!(
            typed(&[(103, true), (14, true), (111, true), (59, true), (0, true), (u16::MAX, true)]),
            b"\x1b[A\x7f\x1b[3~"
        );
        assert_eq!(typed(&[(43, true), (41, true), (40, true), (27, true), (13, true)]), b"\\`']=");
        assert_eq!(typed(&[(96, true), (79, true), (1, true), (15, true)]), b"\r1\x1b\t");
    }

    #[test]
    fn layouts_differ() {
        // The same keys: Q, Y, the first after P, and Q with AltGr.
        let keys = [(16, true), (21, true), (26, true), (ALT_GR, true), (16, true)];
        assert_eq!(typed(Layout::De, &keys), "qzü@".as_bytes());
        assert_eq!(typed(Layout::Us, &keys[..3]), b"qy[");
        assert_eq!(typed(Layout::Fr, &keys[..2]), b"ay");
        // Control goes by the character, not by the key: AZERTY's A.
        assert_eq!(typed(Layout::Fr, &[(CONTROL, true), (16, true)]), b"\x01");
    }

    #[test]
    fn each_layout_has_its_name_and_types() {
        for (name, layout) in Layout::ALL {
            assert_eq!(Layout::named(name), Some(layout));
            let digits = typed(layout, &[(SHIFT, false), (57, true)]);
            assert_eq!(digits, b" ", "{name}");
            (0..=u16::from(u8::MAX)).for_each(|code| _ = typed(layout, &[(code, true)]));
        }
        assert_eq!(Layout::named("xx"), None);
    }
}
