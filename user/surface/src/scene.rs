// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which pixels of the screen are whose.

use crate::layout::Layout;
use crate::rectangle::Rectangle;
use alloc::vec::Vec;
use image::protocol::screen::BAR;

/// Most rows that are painted in a turn.
pub const ROWS: u32 = 64;

/// Who paints a part of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// The server: who has the keyboard.
    Bar,
    /// The server: who may get it.
    List,
    /// The client at this index of the layout.
    Client(usize),
    /// Nobody: the server, in one colour.
    Empty,
}

/// What is on the screen, from the front to the back.
#[derive(Clone, Debug)]
pub struct Scene {
    screen: Rectangle,
    layers: Vec<(Layer, Rectangle)>,
}

impl Scene {
    /// Of a screen with this layout, whose bar is all that is there.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        let [width, height] = layout.size;
        let screen = Rectangle::of_size(width, height);
        // It has room for all: nothing is allocated later.
        let mut scene = Self { screen, layers: Vec::with_capacity(layout.clients.len() + 2) };
        scene.layers.push((Layer::Bar, Rectangle { height: BAR, ..screen }));
        scene
    }

    /// Shows the list, if it has a place; the corners; and of the others the one at this index.
    pub fn set(&mut self, layout: &Layout, shown: Option<usize>, list: Option<Rectangle>) {
        self.layers.truncate(1);
        self.layers.extend(list.map(|area| (Layer::List, area)));
        let clients = || layout.clients.iter().enumerate();
        let corners = clients().filter(|(_, place)| !place.is_full);
        let behind = clients().filter(|(index, place)| place.is_full && shown == Some(*index));
        let areas = corners.chain(behind).map(|(index, place)| (Layer::Client(index), place.area));
        self.layers.extend(areas);
    }

    /// All of the screen.
    #[must_use]
    pub const fn screen(&self) -> Rectangle {
        self.screen
    }

    /// Names each part of an area with the layer that is in front there: every pixel of the screen
    /// that is in the area once.
    pub fn pieces(&self, area: Rectangle, paint: &mut impl FnMut(Layer, Rectangle)) {
        pieces(&self.layers, area.intersection(self.screen), paint);
    }
}

fn pieces(
    layers: &[(Layer, Rectangle)],
    area: Rectangle,
    paint: &mut impl FnMut(Layer, Rectangle),
) {
    if area.is_empty() {
        return;
    }
    let Some(((layer, place), behind)) = layers.split_first() else {
        return paint(Layer::Empty, area);
    };
    let own = area.intersection(*place);
    if own.is_empty() {
        return pieces(behind, area, paint);
    }
    paint(*layer, own);
    for rest in area.without(own) {
        pieces(behind, rest, paint);
    }
}

/// A rectangle in turns, from top to bottom.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Strips {
    rest: Rectangle,
}

impl Strips {
    /// Of this rectangle.
    #[must_use]
    pub const fn new(rest: Rectangle) -> Self {
        Self { rest }
    }

    /// What is left.
    #[must_use]
    pub const fn rest(&self) -> Rectangle {
        self.rest
    }
}

impl Iterator for Strips {
    type Item = Rectangle;

    /// The next strip: at most [`ROWS`] rows.
    fn next(&mut self) -> Option<Rectangle> {
        if self.rest.is_empty() {
            return None;
        }
        let strip = Rectangle { height: self.rest.height.min(ROWS), ..self.rest };
        self.rest.y += strip.height;
        self.rest.height -= strip.height;
        Some(strip)
    }
}
