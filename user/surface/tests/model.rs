// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rectangles, composition, focus and rings against models that are too simple to be wrong, and a
//! peer that writes anything.

use frames::Shared;
use image::protocol::screen::{
    BAR, DAMAGE_CONSUMED, DAMAGE_PRODUCED, EVENTS_BYTES, EVENTS_CONSUMED, EVENTS_PRODUCED,
    MOST_EVENTS, MOST_RECTANGLES, PIXELS,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use surface::{
    Client, Desk, Event, Input, Layer, Layout, Packet, Place, Rectangle, Scene, Server, Strips, key,
};

/// A small screen.
const SIDE: u32 = 48;

/// Memory that two sides have.
#[derive(Clone)]
struct Memory(Rc<RefCell<Vec<u32>>>);

impl Memory {
    fn new(bytes: u32) -> Self {
        Self(Rc::new(RefCell::new(vec![0; bytes as usize / 4])))
    }
}

impl Shared for Memory {
    fn bytes(&self) -> u32 {
        self.0.borrow().len() as u32 * 4
    }
    fn read(&self, offset: u32) -> u32 {
        self.0.borrow()[offset as usize / 4]
    }
    fn write(&self, offset: u32, value: u32) {
        self.0.borrow_mut()[offset as usize / 4] = value;
    }
    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32) {
        (0..bytes).step_by(4).for_each(|at| other.write(to + at, self.read(from + at)));
    }
    fn fence(&self) {}
}

fn sides() -> (Server<Memory>, Client<Memory>, [Memory; 2]) {
    let (surface, events) = (Memory::new(PIXELS), Memory::new(EVENTS_BYTES));
    let mut client = Client::new(surface.clone(), events.clone());
    client.begin();
    let mut server = Server::new(surface.clone(), events.clone());
    server.begin();
    (server, client, [surface, events])
}

fn rectangle() -> impl Strategy<Value = Rectangle> {
    (0..SIDE, 0..SIDE, 0..SIDE, 0..SIDE).prop_map(|(x, y, width, height)| Rectangle {
        x,
        y,
        width: width.min(SIDE - x),
        height: height.min(SIDE - y),
    })
}

/// A word that is small, near 2^32, or any.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![0..SIDE * 2, (0..SIDE).prop_map(|word| u32::MAX - word), any::<u32>()]
}

fn pixels(area: Rectangle) -> BTreeSet<(u32, u32)> {
    (0..SIDE)
        .flat_map(|y| (0..SIDE).map(move |x| (x, y)))
        .filter(|(x, y)| area.contains(*x, *y))
        .collect()
}

fn layout(areas: &[(Rectangle, bool)]) -> Layout {
    let below = Rectangle { x: 0, y: BAR, width: SIDE, height: SIDE - BAR };
    let place = |(area, is_full): &(Rectangle, bool)| {
        let area = if *is_full { below } else { area.intersection(below) };
        Place { name: "one".into(), area, colour: 0, is_full: *is_full }
    };
    let has_pixels = |place: &Place| !place.area.is_empty();
    let clients = areas.iter().map(place).filter(has_pixels).collect();
    Layout { size: [SIDE; 2], secure_key: key::F12, clients }
}

fn input() -> impl Strategy<Value = Input> {
    let code = prop_oneof![
        Just(key::F12),
        key::DIGIT_1..=key::DIGIT_0,
        Just(key::UP),
        Just(key::DOWN),
        30_u16..34,
        key::LEFT..=key::MIDDLE
    ];
    prop_oneof![
        4 => (code, any::<bool>()).prop_map(|(code, pressed)| Input::Key(code, pressed)),
        1 => (-60..60, -60..60).prop_map(|(right, down)| Input::Motion(right, down)),
        1 => (word(), word()).prop_map(|(x, y)| Input::Position([x, y])),
        1 => (-2..3).prop_map(Input::Wheel),
    ]
}

/// What a client knows by its events.
#[derive(Clone, Default)]
struct Seen {
    has_keyboard: bool,
    down: BTreeSet<u16>,
}

proptest! {
    #[test]
    fn rectangles_are_sets_of_pixels(one in rectangle(), other in rectangle()) {
        let [a, b] = [one, other].map(pixels);
        prop_assert_eq!(pixels(one.intersection(other)), &a & &b);
        let union = pixels(one.union(other));
        prop_assert!(a.is_subset(&union) && b.is_subset(&union));
        prop_assert_eq!(one.pixels(), a.len() as u64);
        let parts = one.without(other).map(pixels);
        prop_assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), (&a - &b).len());
        prop_assert_eq!(parts.into_iter().flatten().collect::<BTreeSet<_>>(), &a - &b);
    }

    #[test]
    fn what_others_say_is_clipped(words in [word(), word(), word(), word()]) {
        let clipped = Rectangle::of_words(words, [SIDE; 2]);
        let [x, y, width, height] = words.map(u64::from);
        for row in 0..u64::from(SIDE) {
            for column in 0..u64::from(SIDE) {
                let said = (x..x + width).contains(&column) && (y..y + height).contains(&row);
                prop_assert_eq!(clipped.contains(column as u32, row as u32), said);
            }
        }
        prop_assert!(clipped.is_empty() || clipped.right() <= SIDE && clipped.bottom() <= SIDE);
        let strips: Vec<_> = Strips::new(clipped).collect();
        prop_assert_eq!(strips.iter().map(|strip| strip.pixels()).sum::<u64>(), clipped.pixels());
    }

    #[test]
    fn each_pixel_is_painted_once_by_who_is_in_front(
        areas in prop::collection::vec((rectangle(), any::<bool>()), 0..5),
        shown in prop::option::of(0_usize..5), list in prop::option::of(rectangle()),
        area in rectangle(),
    ) {
        let layout = layout(&areas);
        let mut scene = Scene::new(&layout);
        scene.set(&layout, shown, list);
        let mut screen = vec![None; (SIDE * SIDE) as usize];
        scene.pieces(area, &mut |layer, part| {
            for (x, y) in pixels(part) {
                let before = screen[(y * SIDE + x) as usize].replace(layer);
                assert_eq!(before, None, "{x},{y} is painted twice");
            }
        });
        for (at, layer) in (0_u32..).zip(screen) {
            let (x, y) = (at % SIDE, at / SIDE);
            let corner = layout.clients.iter().position(|place| !place.is_full && place.area.contains(x, y));
            let full = shown.filter(|index| layout.clients.get(*index).is_some_and(|place| place.is_full && place.area.contains(x, y)));
            let front = if y < BAR {
                Layer::Bar
            } else if list.is_some_and(|list| list.contains(x, y)) {
                Layer::List
            } else {
                corner.or(full).map_or(Layer::Empty, Layer::Client)
            };
            prop_assert_eq!(layer, area.contains(x, y).then_some(front));
        }
    }

    #[test]
    fn keys_are_of_one_client_and_none_is_left_down(
        areas in prop::collection::vec((rectangle(), any::<bool>()), 1..5),
        inputs in prop::collection::vec(input(), 0..80),
    ) {
        let layout = layout(&areas);
        let mut desk = Desk::new(&layout);
        let mut seen = vec![Seen::default(); layout.clients.len()];
        if let Some(first) = desk.view().focus {
            seen[first].has_keyboard = true;
        }
        for input in inputs {
            let before = desk.view();
            desk.take(input, &mut |client, packet: Packet| {
                let known = &mut seen[client];
                for event in packet.events() {
                    match *event {
                        Event::Focus(has) => known.has_keyboard = has,
                        Event::Key(code, pressed) => {
                            assert_ne!(code, key::F12, "no client gets the secure key");
                            assert!(known.has_keyboard || code >= key::LEFT, "{code} without the keyboard");
                            let changed = if pressed { known.down.insert(code) } else { known.down.remove(&code) };
                            assert!(changed, "{code} is {pressed} already");
                        }
                        Event::Column(x) => assert!(x < layout.clients[client].area.width),
                        Event::Row(y) => assert!(y < layout.clients[client].area.height),
                        _ => {}
                    }
                }
            });
            let now = desk.view();
            let keyboards = seen.iter().filter(|known| known.has_keyboard).count();
            prop_assert_eq!(keyboards, usize::from(now.focus.is_some()));
            prop_assert!(now.focus.is_none_or(|index| seen[index].has_keyboard));
            prop_assert!(now.pointer[0] < SIDE && now.pointer[1] < SIDE);
            // Who has the keyboard changes by the secure key, or by a click on who gets it, and
            // nothing is down for others.
            let is_click = matches!(input, Input::Key(key::LEFT..=key::MIDDLE, true));
            let is_clicked = is_click && now.focus.is_some() && now.focus == desk.under(now.pointer);
            prop_assert!(now.focus == before.focus || is_clicked || matches!(input, Input::Key(key::F12, _)));
            if let Input::Position([x, y]) = input {
                prop_assert_eq!(now.pointer, [x.min(SIDE - 1), y.min(SIDE - 1)]);
            }
            for (index, known) in seen.iter().enumerate().filter(|(index, _)| now.focus != Some(*index)) {
                prop_assert!(known.down.iter().all(|code| *code >= key::LEFT), "{index}");
                prop_assert!(now.list.is_none() || known.down.is_empty(), "{index}");
            }
        }
    }

    #[test]
    fn rectangles_and_events_arrive_in_order(steps in prop::collection::vec(0_u8..6, 0..600)) {
        let (mut server, mut client, _) = sides();
        let (mut next, mut expected) = (0_u32, std::collections::VecDeque::new());
        let mut damage = Rectangle::default();
        for (number, step) in (0_u32..).zip(steps) {
            match step {
                0 | 1 => {
                    let one = Rectangle { x: number, y: 0, width: 1, height: 1 };
                    client.damage(one);
                    damage = damage.union(one);
                    let full = client.under_way() == Ok(MOST_RECTANGLES);
                    client.publish().expect("sound");
                    if !full {
                        expected.push_back(core::mem::take(&mut damage));
                    }
                }
                2 => {
                    let words = server.next().expect("sound");
                    prop_assert_eq!(words, expected.pop_front().map(Rectangle::words));
                    if words.is_some() {
                        server.done();
                    }
                }
                3 | 4 => {
                    server.push(&Packet::one(Event::Column(number))).expect("sound");
                    let _ = server.publish();
                }
                _ => {
                    while let Some(event) = client.event().expect("sound") {
                        if let Event::Column(number) = event {
                            prop_assert!(number >= next);
                            next = number + 1;
                        }
                    }
                }
            }
            let _ = server.publish();
        }
    }

    #[test]
    fn no_peer_breaks_a_side(writes in prop::collection::vec((0_u8..2, 0..1024_u32, word()), 0..300)) {
        let (mut server, mut client, memories) = sides();
        for (which, at, value) in writes {
            // Half of them are indices.
            let indices = [[DAMAGE_PRODUCED, EVENTS_CONSUMED], [EVENTS_PRODUCED, DAMAGE_CONSUMED]];
            let at = if at < 512 { indices[which as usize][at as usize % 2] } else { at * 4 % EVENTS_BYTES };
            memories[which as usize].write(at, value);
            if server.next().is_ok_and(|words| words.is_some()) {
                server.done();
            }
            prop_assert!(server.waiting().is_err() || server.waiting().is_ok_and(|count| count <= MOST_RECTANGLES));
            let _ = (server.push(&Packet::one(Event::Focus(true))), server.may_resume(), server.sleep());
            let _ = server.publish();
            server.wake();
            client.damage(Rectangle::of_size(1, 1));
            let _ = (client.publish(), client.sleep());
            client.wake();
            let taken = (0..=MOST_EVENTS).map_while(|_| client.event().ok().flatten()).count();
            prop_assert!(taken as u32 <= MOST_EVENTS);
            if server.waiting().is_err() {
                client.begin();
                server.begin();
                prop_assert_eq!(server.next(), Ok(None));
                prop_assert_eq!(client.event(), Ok(None));
            }
        }
    }
}

#[test]
fn events_that_do_not_fit_are_lost_and_said_to_be() {
    let (mut server, mut client, _) = sides();
    let packet = Packet::one(Event::Wheel(1));
    let pushed = (0..MOST_EVENTS).filter(|_| server.push(&packet) == Ok(true)).count() as u32;
    assert_eq!(pushed, MOST_EVENTS / 2);
    assert_eq!(server.may_resume(), Ok(false));
    let _ = server.publish();
    let taken = std::iter::from_fn(|| client.event().expect("sound")).count() as u32;
    assert_eq!(taken, MOST_EVENTS);
    assert_eq!(server.may_resume(), Ok(true));
    assert_eq!(server.push(&packet), Ok(true));
    let _ = server.publish();
    let events: Vec<_> = std::iter::from_fn(|| client.event().expect("sound")).collect();
    assert_eq!(events, [Event::Dropped, Event::Wheel(1), Event::End]);
}

#[test]
fn who_sleeps_is_told_once_and_wakes_by_itself() {
    let (mut server, mut client, _) = sides();
    client.damage(Rectangle::of_size(1, 1));
    assert_eq!(client.publish(), Ok(false));
    assert_eq!(server.sleep(), Ok(true));
    server.done();
    assert_eq!(server.sleep(), Ok(false));
    client.damage(Rectangle::of_size(1, 1));
    assert_eq!(client.publish(), Ok(true));
    server.wake();
    assert!(!server.publish());
    assert_eq!(client.sleep(), Ok(true));
    assert_eq!(client.sleep(), Ok(false));
    server.done();
    assert!(server.publish());
    assert!(!server.publish());
    client.wake();
}
