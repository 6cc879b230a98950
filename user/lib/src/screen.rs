// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of the screen (docs/screen.md): memory that is shared with the screen server. It is a
//! draw target of the crate `embedded-graphics`.

use crate::ipc::{self, Message, call};
use crate::region::Region;
use crate::{Env, Error, Result, Thread, Word};
use core::convert::Infallible;
use frames::{Broken, Shared};
use image::protocol::screen::{ATTACH, BIT_ATTACH, BIT_SCREEN, DRAWS_POINTER, PIXELS, VERSION};
pub use surface::embedded_graphics;
use surface::embedded_graphics::geometry::{Dimensions, OriginDimensions, Size};
use surface::embedded_graphics::pixelcolor::Rgb888;
use surface::embedded_graphics::prelude::{DrawTarget, Pixel};
use surface::embedded_graphics::primitives;
use surface::{Canvas, Client};
pub use surface::{Event, Rectangle, colour, key};

/// Notification bit by which the server says that there are events, or that it has painted.
const SCREEN: u32 = 1 << BIT_SCREEN;
/// And that its client has to attach again.
const AGAIN: u32 = 1 << BIT_ATTACH;

/// The component's part of the screen: the memory `surface` and `surface-events`, and the server,
/// which it calls as `screen` and notifies as `screen-bell`. What is drawn appears on the screen
/// after [`Screen::show`] or [`Screen::wait`].
#[derive(Debug)]
pub struct Screen {
    rings: Client<Region>,
    server: Thread,
    bell: Thread,
    flags: u32,
    size: [u32; 2],
}

impl Screen {
    /// Attaches to the part of the screen that the description gives the component, and clears it;
    /// `None` if the description gives none. With `draws_pointer` the server paints no pointer
    /// there.
    ///
    /// # Errors
    /// `BadArgument` if the server refuses; what the kernel says.
    pub fn open(env: &Env, draws_pointer: bool) -> Result<Option<Self>> {
        let given = |name| env.given(name).map(|given| Thread(given.slot as Word));
        let (Some(surface), Some(events), Some(server), Some(bell)) = (
            Region::find(env, "surface"),
            Region::find(env, "surface-events"),
            given("screen"),
            given("screen-bell"),
        ) else {
            return Ok(None);
        };
        // What a life before this one has left.
        (PIXELS..surface.bytes()).step_by(4).for_each(|pixel| surface.write(pixel, 0));
        let flags = if draws_pointer { DRAWS_POINTER } else { 0 };
        let mut screen =
            Self { rings: Client::new(surface, events), server, bell, flags, size: [0; 2] };
        screen.attach()?;
        Ok(Some(screen))
    }

    /// Attaches again: pending events are lost, the whole surface is painted, and the first event
    /// says whether the component has the keyboard.
    fn attach(&mut self) -> Result<()> {
        self.rings.begin();
        let request = Message::new([ATTACH as Word, (VERSION | self.flags) as Word, 0]);
        loop {
            match call(self.server, request) {
                // It lives again, and has not taken this.
                Err(Error::PeerRestarted) => {}
                Err(error) => return Err(error),
                Ok(reply) => {
                    let [error, width, height] = reply.words.map(|word| word as u32);
                    let bytes = u64::from(PIXELS) + u64::from(width) * u64::from(height) * 4;
                    if error != 0 || bytes > u64::from(self.rings.surface().bytes()) {
                        return Err(Error::BadArgument);
                    }
                    self.size = [width, height];
                    return Ok(());
                }
            }
        }
    }

    /// What the rings say; if the server broke them the client begins again.
    fn sound<T: Default>(&mut self, said: core::result::Result<T, Broken>) -> Result<T> {
        match said {
            Ok(value) => Ok(value),
            Err(Broken) => self.attach().map(|()| T::default()),
        }
    }

    /// All of the surface.
    #[must_use]
    pub const fn area(&self) -> Rectangle {
        Rectangle::of_size(self.size[0], self.size[1])
    }

    fn canvas(&self, area: Rectangle) -> Canvas<'_, Region> {
        Canvas::new(self.rings.surface(), PIXELS, self.size[0], area.intersection(self.area()))
    }

    /// Gives all pixels of a rectangle one colour, with red in bits 16 to 23.
    pub fn fill(&mut self, area: Rectangle, colour: u32) {
        self.canvas(area).fill(area, colour);
        self.rings.damage(area.intersection(self.area()));
    }

    /// Asks the server to paint what was drawn so far. It does not wait.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn show(&mut self) -> Result<()> {
        let published = self.rings.publish();
        if self.sound(published)? {
            // A server that is dead asks for all of it when it lives again.
            let _ = self.bell.notify();
        }
        Ok(())
    }

    /// Whether everything that was drawn before [`Screen::show`] is on the screen, as far as it is
    /// visible there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn is_shown(&mut self) -> Result<bool> {
        let under_way = self.rings.under_way();
        self.sound(under_way).map(|count| count == 0)
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn event(&mut self) -> Result<Option<Event>> {
        let event = self.rings.event();
        self.sound(event)
    }

    /// Asks the server to paint what was drawn, and waits for events or for one of these
    /// notification bits. It returns the bits that have arrived; 0 if there are only events. It may
    /// also return without either.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&mut self, bits: u32) -> Result<u32> {
        self.show()?;
        let slept = self.rings.sleep();
        let came = if self.sound(slept)? { 0 } else { ipc::wait(SCREEN | AGAIN | bits)? };
        self.rings.wake();
        if came & AGAIN != 0 {
            self.attach()?;
        }
        Ok(came & bits)
    }
}

impl OriginDimensions for Screen {
    fn size(&self) -> Size {
        Size::new(self.size[0], self.size[1])
    }
}

impl DrawTarget for Screen {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> core::result::Result<(), Infallible> {
        let mut drawn = Rectangle::default();
        let noted = pixels.into_iter().inspect(|Pixel(at, _)| {
            if let (Ok(x), Ok(y)) = (u32::try_from(at.x), u32::try_from(at.y)) {
                drawn = drawn.union(Rectangle { x, y, width: 1, height: 1 });
            }
        });
        let result = self.canvas(self.area()).draw_iter(noted);
        self.rings.damage(drawn.intersection(self.area()));
        result
    }

    fn fill_solid(
        &mut self,
        area: &primitives::Rectangle,
        colour: Rgb888,
    ) -> core::result::Result<(), Infallible> {
        let seen = area.intersection(&self.bounding_box());
        let (x, y) = (seen.top_left.x as u32, seen.top_left.y as u32);
        let Size { width, height } = seen.size;
        self.rings.damage(Rectangle { x, y, width, height });
        self.canvas(self.area()).fill_solid(area, colour)
    }
}
