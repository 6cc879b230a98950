// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen of a description: what the screen server and each component with `screen` are given
//! (docs/screen.md).

use super::clients::Service;
use super::described::Wish;
use super::key::Key;
use super::screen::{self, Display, Part, Place, SCREEN, SECURE_KEY, Size};
use super::terminal::TERMINAL;
use super::{Component, Description, Pci, Peer, Share, SharedMemory, spanned};
use crate::linux::root;
use crate::machine::board::{self, Board};
use abi::PAGE_SIZE;
use abi::object::BADGE_MAX;
use anyhow::{Context, Result, anyhow};
use image::protocol::screen::{BIT_ATTACH, BIT_SCREEN, EVENTS_BYTES, PIXELS};
use page::Layout;
use toml::Spanned;

/// What a client calls the server to call, the server to notify, its pixels, and its events.
const GRANTS: [&str; 4] = ["screen", "screen-bell", "surface", "surface-events"];
const SERVICE: Service = Service { key: "screen", grants: &GRANTS };
/// The region that is the card's own memory, where a card has none.
const FRAME: &str = "screen-frame";
/// What the server calls a tablet, and the memory that this reads and writes.
const TABLET: &str = "tablet";
const TABLET_QUEUE: &str = "tablet-queue";
/// A server has no more clients: a word of notifications tells these apart, and one bit is the
/// interrupts'.
const MOST_CLIENTS: u32 = BADGE_MAX.ilog2() - 1;

impl Description {
    /// Gives each component with `screen` its part, in the order of the description.
    pub(super) fn share_screen(&mut self, wishes: &[Wish<Key<Part>>], board: &Board) -> Result<()> {
        let mut number = 0;
        let mut size = None;
        for Wish { component: index, key } in wishes {
            let index = *index;
            let part = match key.get_ref() {
                Key::No => continue,
                Key::Yes => None,
                Key::With(part) => Some(part),
            };
            let server =
                self.component.iter().position(|component| component.name.get_ref() == SCREEN);
            let server = server.ok_or_else(|| anyhow!("a screen without its server"))?;
            let screen = match size {
                Some(screen) => screen,
                None => *size.insert(self.set_up_screen(board, server)?),
            };
            number += 1;
            self.check_number(&SERVICE, key, (SCREEN, number, MOST_CLIENTS))?;
            let client = &self.component[index];
            self.check_names(&SERVICE, key, client, SCREEN)?;
            let name = client.name.get_ref().clone();
            let regions = [format!("screen-{name}"), format!("screen-{name}-events")];
            self.check_private(key, client, SCREEN, &regions)?;
            let [surface, events] = regions;
            let (place, kind) = self.place_on_screen(key, part, screen)?;
            let colour = self.colour_of(part, number)?;
            for (region, bytes) in
                [(&surface, PIXELS + place.size.bytes()), (&events, EVENTS_BYTES)]
            {
                let bytes = bytes.next_multiple_of(PAGE_SIZE);
                self.shared.insert(
                    region.clone(),
                    SharedMemory { size: spanned(format!("{}K", bytes >> 10)) },
                );
            }
            let [call, bell, pixels, happened] = GRANTS.map(String::from);
            let component = &mut self.component[index];
            component.calls.push(Peer::of(key, SCREEN, call, number));
            component.notifies.push(Peer::of(key, SCREEN, bell, 1 << number));
            component.shares.push(Share::of(key, &surface, pixels, false));
            component
                .shares
                .push(Share { writable: false, ..Share::of(key, &events, happened, false) });
            let component = &mut self.component[server];
            component.shares.push(Share {
                writable: false,
                ..Share::of(key, &surface, format!("client-{number}"), false)
            });
            component.shares.push(Share::of(key, &events, format!("events-{number}"), false));
            for (bell, bit) in [("bell", BIT_SCREEN), ("again", BIT_ATTACH)] {
                component.notifies.push(Peer::of(key, &name, format!("{bell}-{number}"), 1 << bit));
            }
            let Place { x, y, size } = place;
            component.arguments.push(format!(
                "client-{number}={name} {x},{y} {} {colour:06x} {kind}",
                size.text()
            ));
        }
        Ok(())
    }

    /// Tells the server about the screen itself. Returns its size.
    fn set_up_screen(&mut self, board: &Board, server: usize) -> Result<Size> {
        let display = self.screen.clone().unwrap_or_default();
        let Display { size, secure_key, input, keyboard } = &display;
        let card: &board::Display = board
            .display()
            .with_context(|| format!("the board `{}` has no screen", board.name()))?;
        let most = Size::of(&card.most)
            .with_context(|| format!("{}: `{}` is no size", board.name(), card.most))?;
        let screen = Size::of_screen(size.as_ref().map(|size| size.get_ref().as_str()), most);
        let screen = screen.map_err(|error| {
            size.as_ref()
                .map_or_else(|| anyhow!("{error}"), |size| self.wrong(size, &error.to_string()))
        })?;
        let key = secure_key.as_ref().map_or(SECURE_KEY, |key| key.get_ref());
        if let Some(key) = secure_key.as_ref().filter(|_| !screen::is_function_key(key)) {
            return Err(self.wrong(
                key,
                &format!(
                    "`{}` cannot be the secure key: write one of `F1` to `F12`",
                    key.get_ref()
                ),
            ));
        }
        if let Some(keyboard) = keyboard {
            self.lay_out_keyboard(keyboard)?;
        }
        if *input == screen::Input::Tablet {
            let tablet = card.tablet.as_ref().with_context(|| {
                format!(
                    "the board `{}` has no tablet: leave `input` out below `screen`",
                    board.name()
                )
            })?;
            let component = &mut self.component[server];
            component.pci.push(Pci { name: TABLET.into(), device: spanned(tablet.device.into()) });
            component.shares.push(Share::of(&spanned(()), TABLET_QUEUE, TABLET_QUEUE.into(), true));
            self.shared
                .insert(TABLET_QUEUE.into(), SharedMemory { size: spanned("16K".to_owned()) });
        }
        let arguments = [
            format!("size={}", screen.text()),
            format!("secure-key={key}"),
            format!("input={}", input.name()),
        ];
        self.component[server].arguments.extend(arguments);
        if let Some(frame) = self.shared.get_mut(FRAME) {
            frame.size = spanned(format!("{}K", screen.bytes().next_multiple_of(PAGE_SIZE) >> 10));
        }
        Ok(screen)
    }

    /// Tells the terminal which characters keys type. Other clients get the keys themselves.
    fn lay_out_keyboard(&mut self, keyboard: &Spanned<String>) -> Result<()> {
        let name = keyboard.get_ref();
        if Layout::named(name).is_none() {
            let known = Layout::ALL.map(|(known, _)| format!("`{known}`")).join(", ");
            let what = format!("`{name}` is no keyboard layout: write one of {known}");
            return Err(self.wrong(keyboard, &what));
        }
        let is_terminal = |component: &&mut Component| component.name.get_ref() == TERMINAL;
        let Some(terminal) = self.component.iter_mut().find(is_terminal) else {
            return Err(self.wrong(
                keyboard,
                "`keyboard` is the terminal's, and there is none: write `terminal = {}` below \
                 `[devices]`, or leave it out",
            ));
        };
        terminal.arguments.push(format!("keyboard={name}"));
        Ok(())
    }

    /// Where a client is on the screen, and how the server calls that.
    fn place_on_screen(
        &self,
        key: &Spanned<Key<Part>>,
        part: Option<&Part>,
        screen: Size,
    ) -> Result<(Place, &'static str)> {
        match part.map(|part| (&part.corner, &part.width, &part.height)) {
            None | Some((None, None, None)) => Ok((screen.full(), "full")),
            Some((Some(corner), Some(width), Some(height))) => {
                let size = Size { width: *width.get_ref(), height: *height.get_ref() };
                let place = screen.corner(*corner.get_ref(), size).ok_or_else(|| {
                    let room = screen.full().size.text();
                    self.wrong(width, &format!("{} has no room on the screen below its bar, which is {room}: write less", size.text()))
                })?;
                Ok((place, "corner"))
            }
            Some(_) => Err(self.wrong(
                key,
                "write `corner`, `width` and `height`, or none of them for the whole screen",
            )),
        }
    }

    /// The colour of a client.
    fn colour_of(&self, part: Option<&Part>, number: u32) -> Result<u32> {
        let Some(said) = part.and_then(|part| part.colour.as_ref()) else {
            return Ok(screen::usual_colour(number));
        };
        screen::colour(said.get_ref()).ok_or_else(|| {
            self.wrong(said, &format!("`{}` is no colour: write one as `#4070c0`", said.get_ref()))
        })
    }
}

impl Description {
    /// QEMU's arguments for the machine's screen, if that is used.
    pub fn screen_arguments(&self, board: &Board) -> Option<Vec<String>> {
        let display = board.display().filter(|_| self.devices.contains(SCREEN))?;
        let input = self.screen.as_ref().map_or_else(screen::Input::default, |screen| screen.input);
        let tablet = display.tablet.iter().filter(|_| input == screen::Input::Tablet);
        Some(display.qemu.iter().chain(tablet.flat_map(|tablet| &tablet.qemu)).cloned().collect())
    }
}

impl Component {
    /// Whether it has a part of the screen.
    pub(super) fn has_screen(&self) -> bool {
        self.shares.iter().any(|share| share.label() == GRANTS[3])
    }

    /// Whether it is a Linux whose shell is on its part of the screen, too.
    pub fn has_shell_on_screen(&self) -> bool {
        self.has_screen() && self.files.iter().any(|file| root::has_shell(file.from.get_ref()))
    }
}

#[cfg(test)]
mod tests {
    use crate::description::samples::{error, parse, parse_for};
    use crate::description::{Component, Description};

    fn component(name: &str, keys: &str) -> String {
        format!("[[component]]\nname = \"{name}\"\n{keys}\n")
    }

    fn find<'a>(description: &'a Description, name: &str) -> &'a Component {
        description
            .component
            .iter()
            .find(|component| component.name.get_ref() == name)
            .expect("a component")
    }

    /// What it shares, and whether it may write there.
    fn shares(component: &Component) -> Vec<(&str, &str, bool)> {
        component
            .shares
            .iter()
            .map(|share| (share.region.get_ref().as_str(), share.label(), share.writable))
            .collect()
    }

    #[test]
    fn a_line_is_a_screen() {
        let text = component("one", "screen = true")
            + &component("none", "screen = false")
            + &component(
                "two",
                "screen = { corner = \"top-right\", width = 160, height = 60, colour = \"#102030\" }",
            );
        let description = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = description
            .component
            .iter()
            .map(|component| component.name.get_ref().as_str())
            .collect();
        assert_eq!(names, ["one", "none", "two", "screen"]);
        assert_eq!(
            shares(find(&description, "one")),
            [("screen-one", "surface", true), ("screen-one-events", "surface-events", false)]
        );
        assert!(find(&description, "none").grants().is_empty());
        let screen = find(&description, "screen");
        assert_eq!(
            shares(screen),
            [
                ("screen-one", "client-1", false),
                ("screen-one-events", "events-1", true),
                ("screen-two", "client-2", false),
                ("screen-two-events", "events-2", true)
            ]
        );
        assert_eq!(
            screen.arguments,
            [
                "size=1024x768",
                "secure-key=F12",
                "input=ps2",
                "client-1=one 0,20 1024x748 3b6ea5 full",
                "client-2=two 864,20 160x60 102030 corner"
            ]
        );
        let calls: Vec<_> = ["one", "two"]
            .map(|name| &find(&description, name).calls[0])
            .map(|peer| (peer.label().to_owned(), *peer.badge.as_ref().expect("one").get_ref()))
            .into();
        assert_eq!(calls, [("screen".into(), 1), ("screen".into(), 2)]);
        let sizes: Vec<_> = description
            .shared
            .iter()
            .map(|(name, region)| (name.as_str(), region.size.get_ref().as_str()))
            .collect();
        assert_eq!(
            sizes,
            [
                ("screen-one", "2996K"),
                ("screen-one-events", "4K"),
                ("screen-two", "44K"),
                ("screen-two-events", "4K")
            ]
        );
    }

    #[test]
    fn a_card_without_memory_has_some_of_the_screens_size() {
        let text = "[devices]\nscreen = { size = \"640x480\" }\n".to_owned()
            + &component("one", "screen = true");
        let description = parse_for("versatilepb", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(description.shared["screen-frame"].size.get_ref(), "1200K");
        assert_eq!(description.shared["screen-one"].size.get_ref(), "1156K");
    }

    /// What is said of a description for a board.
    fn refused(board: &str, text: &str) -> String {
        parse_for(board, text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn refuses_what_a_boards_card_does_not_show() {
        let text = |size: &str| {
            format!("[devices]\nscreen = {{ size = \"{size}\" }}\n")
                + &component("one", "screen = true")
        };
        for (board, fits, most) in
            [("pc", "1920x1200", "1920x1200"), ("versatilepb", "1024x768", "1024x768")]
        {
            assert_eq!(refused(board, &text(fits)), "", "{board}");
            for size in ["1936x1200", "1024x1201", "304x200"] {
                let said =
                    format!("x.toml:2: the board's card shows 320x200 to {most}, and no `{size}`");
                assert_eq!(refused(board, &text(size)), said, "{board}");
            }
        }
        let corner = |size: &str, width: u32, height: u32| {
            let part =
                format!("screen = {{ corner = \"top-left\", width = {width}, height = {height} }}");
            text(size) + &component("two", &part)
        };
        assert_eq!(refused("versatilepb", &corner("640x480", 640, 460)), "");
        for (width, height) in [(656, 100), (100, 461)] {
            let said = refused("versatilepb", &corner("640x480", width, height));
            assert_eq!(
                said,
                format!(
                    "x.toml:8: {width}x{height} has no room on the screen below its bar, which is 640x460: write less"
                )
            );
        }
    }

    #[test]
    fn what_it_explains_is_the_same() {
        let text = "[devices]\nscreen = { size = \"640x480\", secure-key = \"F11\" }\n".to_owned()
            + &component("one", "screen = true\npackage = \"hello\"");
        let description = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let explained = description.explain().unwrap_or_else(|error| panic!("{error}"));
        let again = parse(&explained).unwrap_or_else(|error| panic!("{error}: {explained}"));
        assert_eq!(again.explain().unwrap_or_else(|error| panic!("{error}")), explained);
        assert_eq!(find(&again, "screen").arguments, find(&description, "screen").arguments);
    }

    #[test]
    fn refuses_what_no_screen_shows() {
        let sized = |size: &str| {
            error(
                &(format!("[devices]\nscreen = {{ size = \"{size}\" }}\n")
                    + &component("one", "screen = true")),
            )
        };
        assert_eq!(sized("wide"), "x.toml:2: `wide` is no size: write one as `1024x768`");
        assert_eq!(
            sized("1030x768"),
            "x.toml:2: the width must be a multiple of 16: that of `1030x768` is not"
        );
        assert!(sized("64000x768").ends_with("and no `64000x768`"), "{}", sized("64000x768"));
        assert!(sized("16x16").contains("shows 320x200 to"), "{}", sized("16x16"));
        let part = |braces: &str| error(&component("one", &format!("screen = {{ {braces} }}")));
        assert_eq!(
            part("corner = \"top-left\""),
            "x.toml:3: write `corner`, `width` and `height`, or none of them for the whole screen"
        );
        assert_eq!(
            part("corner = \"top-left\", width = 1025, height = 1"),
            "x.toml:3: 1025x1 has no room on the screen below its bar, which is 1024x748: write less"
        );
        assert_eq!(
            part("colour = \"red\""),
            "x.toml:3: `red` is no colour: write one as `#4070c0`"
        );
        assert!(part("cornre = 1").ends_with("; did you mean `corner`?"), "{}", part("cornre = 1"));
        let key = error(
            &("[devices]\nscreen = { secure-key = \"Esc\" }\n".to_owned()
                + &component("one", "screen = true")),
        );
        assert_eq!(key, "x.toml:2: `Esc` cannot be the secure key: write one of `F1` to `F12`");
    }

    #[test]
    fn the_terminal_has_the_keyboards_layout() {
        let of = |layout: &str, terminal: &str| {
            format!("[devices]\nconsole = {{}}\n{terminal}screen = {{ keyboard = \"{layout}\" }}\n")
                + &component("one", "screen = true")
        };
        let description =
            parse(&of("de", "terminal = {}\n")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(find(&description, "terminal").arguments, ["keyboard=de"]);
        let known = error(&of("xx", "terminal = {}\n"));
        assert!(
            known.starts_with("x.toml:4: `xx` is no keyboard layout: write one of `us`, `uk`"),
            "{known}"
        );
        let nobody = error(&of("de", ""));
        assert!(
            nobody.starts_with("x.toml:3: `keyboard` is the terminal's, and there"),
            "{nobody}"
        );
    }

    #[test]
    fn refuses_who_would_see_anothers_pixels() {
        let text = component("one", "screen = true")
            + &component("spy", "shares = [{ region = \"screen-one\" }]");
        assert_eq!(
            error(&text),
            "x.toml:3: only `one` and the screen may share `screen-one`, and `spy` does: give one another name"
        );
        let taken =
            component("one", "calls = [{ to = \"one\", as = \"screen-bell\" }]\nscreen = true");
        assert!(error(&taken).contains("it has a `screen-bell` already"), "{}", error(&taken));
        assert_eq!(
            refused("amigaone", &component("one", "screen = true")),
            "x.toml:3: boards/amigaone.toml has no device `screen`, so there is no screen: leave `screen` out, or choose another board"
        );
    }
}
