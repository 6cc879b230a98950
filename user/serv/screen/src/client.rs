// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client: its memory, which part of it is to be painted, and how much painting it may ask for.

use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::region::{Region, Shared};
use macadamia::{Env, Thread, start};
use surface::{Packet, Rectangle, Server, Strips};

/// How often a second a client may have its whole surface painted.
pub const REFRESH: u32 = 60;
/// Pixels that a rectangle counts as at least, whatever it has, and such rectangles that a client may
/// have painted beside its whole surface.
const LEAST: u64 = 1024;
const MOST: u64 = 64;
/// Offset in a client's events of what the next life of the server has to know of it, where no ring
/// and no index is: bits for whether it has the keyboard, and whether it is in front.
const KEPT: u32 = 192;

/// How it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not attached in this life of the server, or broke its ring.
    Waits,
    /// It has.
    Attached,
    /// It has died.
    Ended,
}

/// One of them.
pub struct Client {
    /// The component's name.
    pub name: String,
    /// Where it is on the screen.
    pub area: Rectangle,
    /// How it is.
    pub state: State,
    /// Whether it paints the pointer itself.
    pub draws_pointer: bool,
    /// How often it broke its ring.
    pub broken: u32,
    /// Rectangles that the server was done with.
    pub painted: u64,
    rings: Server<Region>,
    bell: Thread,
    again: Thread,
    /// How often the component had been started again when it attached.
    restarts: u32,
    /// All of it, as far as that is to be painted.
    whole: Strips,
    /// The rectangle that it published last, as far as that is to be painted; none is under way
    /// otherwise.
    current: Option<Strips>,
    /// Pixels that it may have painted until the next period.
    left: u64,
}

impl Client {
    /// Client `number`, from 1 on, of this name, in this part of the screen. `None` if the
    /// description does not give its memory.
    pub fn find(env: &Env, number: usize, name: String, area: Rectangle) -> Option<Self> {
        let region = |name| Region::find(env, &format!("{name}-{number}"));
        let thread = |name| env.thread(&format!("{name}-{number}"));
        Some(Self {
            name,
            area,
            state: State::Waits,
            draws_pointer: false,
            broken: 0,
            painted: 0,
            rings: Server::new(region("client")?, region("events")?),
            bell: thread("bell"),
            again: thread("again"),
            restarts: 0,
            whole: Strips::default(),
            current: None,
            left: 0,
        })
    }

    /// Its pixels.
    pub const fn surface(&self) -> &Region {
        self.rings.surface()
    }

    /// Whether it is attached.
    pub fn is_attached(&self) -> bool {
        self.state == State::Attached
    }

    /// It begins: its rings are empty, and all of it is to be painted.
    pub fn attach(&mut self, draws_pointer: bool) {
        self.rings.begin();
        self.state = State::Attached;
        self.draws_pointer = draws_pointer;
        self.restarts = start::status(&self.name).map_or(0, |status| status.restarts);
        self.current = None;
        self.whole = Strips::new(self.area);
    }

    /// Asks it to attach.
    pub fn ask_again(&self) {
        // If it is dead it attaches when it lives again.
        let _ = self.again.notify();
    }

    /// It wrote what cannot be.
    fn detach(&mut self) {
        self.state = State::Waits;
        self.broken = self.broken.saturating_add(1);
        (self.whole, self.current) = (Strips::default(), None);
        self.ask_again();
    }

    /// Sends it events, if it is attached.
    pub fn send(&mut self, packet: &Packet) {
        if self.is_attached() && self.rings.push(packet).is_err() {
            self.detach();
        }
    }

    /// Whether events for it were dropped and it has taken enough of the others since.
    pub fn may_resume(&mut self) -> bool {
        if !self.is_attached() {
            return false;
        }
        let resumes = self.rings.may_resume();
        if resumes.is_err() {
            self.detach();
        }
        resumes.unwrap_or(false)
    }

    /// Another period begins.
    pub const fn refill(&mut self) {
        self.left = self.area.pixels() + MOST * LEAST;
    }

    /// Whether something is to be painted in this period. `None` if it has to wait for the next one.
    pub fn has_work(&mut self) -> Option<bool> {
        if !self.is_attached() {
            return Some(false);
        }
        let has = match self.rings.waiting() {
            Ok(count) => count > 0 || self.current.is_some() || !self.whole.rest().is_empty(),
            Err(_) => {
                self.detach();
                false
            }
        };
        if has && self.left == 0 { None } else { Some(has) }
    }

    /// The next part of the screen to be painted for it, a strip; empty for what is not `seen`.
    pub fn strip(&mut self, seen: bool) -> Option<Rectangle> {
        if !self.is_attached() || self.left == 0 {
            return None;
        }
        // Who comes to the front is painted as a whole.
        self.whole = if seen { self.whole } else { Strips::default() };
        let strip = self.whole.next().or_else(|| self.published(seen))?;
        self.left = self.left.saturating_sub(strip.pixels().max(LEAST));
        Some(strip)
    }

    fn published(&mut self, seen: bool) -> Option<Rectangle> {
        if self.current.is_none() {
            let Ok(words) = self.rings.next() else {
                self.detach();
                return None;
            };
            let Rectangle { x, y, width, height } = self.area;
            let part = Rectangle::of_words(words?, [width, height]);
            self.current =
                Some(Strips::new(if seen { part.moved(x, y) } else { Rectangle::default() }));
        }
        Some(self.current.as_mut()?.next().unwrap_or_default())
    }

    /// What [`strip`](Self::strip) said last is on the screen.
    pub fn done(&mut self) {
        if self.current.is_some_and(|strips| strips.rest().is_empty()) {
            self.current = None;
            self.painted += 1;
            self.rings.done();
        }
    }

    /// Tells it what has been written for it.
    pub fn publish(&mut self) {
        if self.is_attached() && self.rings.publish() {
            // If it is dead it attaches when it lives again.
            let _ = self.bell.notify();
        }
    }

    /// Says that the server sleeps. Whether there is more to do already.
    pub fn sleep(&mut self) -> bool {
        if !self.is_attached() {
            return false;
        }
        let more = self.rings.sleep();
        if more.is_err() {
            self.detach();
        }
        more.unwrap_or(false)
    }

    /// Says that it does not.
    pub fn wake(&mut self) {
        self.rings.wake();
    }

    /// Looks whether it has died; one that is or was attached, whether it has since. Whether that is
    /// new.
    pub fn has_ended(&mut self) -> bool {
        if self.state == State::Ended {
            return false;
        }
        // One that broke its ring attaches in its next life, too.
        let was_attached = self.is_attached() || self.broken > 0;
        let is_another = |status: &start::Status| status.restarts != self.restarts;
        let ended = start::status(&self.name)
            .is_ok_and(|status| !status.lives || was_attached && is_another(&status));
        if ended {
            self.state = State::Ended;
            (self.whole, self.current) = (Strips::default(), None);
        }
        ended
    }

    /// Notes for the next life of the server whether it has the keyboard, and is in front.
    pub fn keep(&self, has_keyboard: bool, is_shown: bool) {
        self.rings.events().write(KEPT, u32::from(has_keyboard) | u32::from(is_shown) << 1);
    }

    /// What the last one noted.
    pub fn kept(&self) -> (bool, bool) {
        let kept = self.rings.events().read(KEPT);
        (kept & 1 != 0, kept & 2 != 0)
    }
}
