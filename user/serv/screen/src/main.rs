// SPDX-License-Identifier: MIT OR Apache-2.0
//! The screen server (docs/screen.md): it has the card, the keyboard and the mouse. It gives each
//! client a part of the screen, and the keyboard to one of them. The crate `surface` has the
//! decisions; this program has the devices.
//!
//! Client N, from 1 on, writes the memory `client-N` and reads `events-N`. `bell-N` notifies it of
//! events, `again-N` asks it to attach again. The arguments say where the client's part is
//! (`client-N=`), how large the screen is (`size=`), and which key no client gets (`secure-key=`).
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod card;
mod client;
mod input;
mod list;
mod paint;

use client::{Client, REFRESH};
use image::protocol::net::WATCHER;
use image::protocol::screen::{ATTACH, BAD_REQUEST, DRAWS_POINTER, PIXELS, STATISTICS, VERSION};
use input::Inputs;
use input::tablet::{self, Tablet};
use list::List;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::heartbeat::Heart;
use macadamia::ipc::{Message, poll, receive, reply};
use macadamia::region::{Region, Shared};
use macadamia::{Env, MessageKind, Received, Word, println, time, utcb};
use surface::{Canvas, Desk, Layer, Layout, Packet, Rectangle, Scene, Strips, View};

macadamia::main!(run);

/// Notification bits: of keyboard and mouse (the description's `interrupt`), and of the alarm.
/// Those between are the clients'.
const INTERRUPT: u32 = 1;
const ALARM: u32 = 1 << 31;
/// How long a client's pixels have to wait that asks for too many, in nanoseconds.
const PERIOD: u64 = 1_000_000_000 / REFRESH as u64;
/// How often it is looked whether a client has died, in nanoseconds.
const LOOK: u64 = 250_000_000;
/// Rectangles of the server's own that wait: one more is joined with the last one.
const OWN: usize = 16;

struct Server {
    layout: Layout,
    clients: Vec<Client>,
    desk: Desk,
    scene: Scene,
    list: List,
    frame: Region,
    inputs: Option<Inputs>,
    tablet: Option<Tablet>,
    heart: Heart,
    /// What is painted, whichever client is in front there: the part under way, and those that
    /// wait.
    under_way: Strips,
    own: Vec<Rectangle>,
    /// Where the pointer was painted last, if it was.
    pointer: Option<[u32; 2]>,
    /// The client that is looked at first in the next turn.
    turn: usize,
    /// When the next period begins, and when clients are looked at.
    period: u64,
    look: u64,
}

fn run(env: Env) {
    let mut server = match Server::new(&env) {
        Ok(server) => server,
        Err(reason) => panic!("no screen: {reason}"),
    };
    let count = server.clients.len();
    println!("{}x{}, clients: {count}", server.layout.size[0], server.layout.size[1]);
    if env.start.restarts > 0 {
        // What they had with the life before this one is gone.
        server.clients.iter().for_each(Client::ask_again);
    }
    utcb::accept(ALARM | ((1 << (count + 1)) - 1));
    let (mut more, mut has_input) = (true, true);
    loop {
        // Requests and keys have their turn between two strips: no client keeps others from them.
        if let Ok(received) = if more { poll() } else { receive(None) } {
            if received.kind == MessageKind::Notification {
                has_input |= received.words[0] as u32 & INTERRUPT != 0;
            } else {
                let answer = server.answer(&received);
                // If the client is gone it does not care.
                let _ = reply(received.handle, answer);
            }
        }
        has_input = has_input && server.input();
        more = server.round() || has_input;
    }
}

impl Server {
    fn new(env: &Env) -> Result<Self, String> {
        let bytes =
            |number| Region::find(env, &format!("client-{number}")).map(|region| region.bytes());
        let layout = Layout::of(|name| env.argument(name), bytes)?;
        let size = layout.size;
        let frame = card::open(env, size)?;
        let clients = layout.clients.iter().zip(1..).map(|(place, number)| {
            Client::find(env, number, place.name.clone(), place.area).ok_or_else(|| {
                format!("it needs the memory `client-{number}` and `events-{number}`")
            })
        });
        let clients: Vec<_> = clients.collect::<Result<_, _>>()?;
        let inputs = Inputs::open(env);
        if let Err(reason) = &inputs {
            println!("no keyboard and no mouse: {reason}");
        }
        let mut desk = Desk::new(&layout);
        if env.start.restarts > 0 {
            let kept = |which: fn((bool, bool)) -> bool| {
                clients.iter().position(|client| which(client.kept()))
            };
            desk.restore(kept(|kept| kept.0), kept(|kept| kept.1));
        }
        let mut server = Self {
            scene: Scene::new(&layout),
            layout,
            clients,
            desk,
            list: List::new(),
            frame,
            inputs: inputs.ok(),
            tablet: tablet::open(env, size),
            heart: Heart::new(env, ALARM as Word),
            under_way: Strips::default(),
            own: Vec::with_capacity(OWN),
            pointer: None,
            turn: 0,
            period: 0,
            look: 0,
        };
        server.arrange();
        server.damage(server.scene.screen());
        Ok(server)
    }

    /// Takes what was typed and pointed at. Whether there may be more already.
    fn input(&mut self) -> bool {
        let before = self.desk.view();
        let Self { inputs, tablet, desk, clients, .. } = self;
        let send = |client: usize, packet: Packet| {
            if let Some(client) = clients.get_mut(client) {
                client.send(&packet);
            }
        };
        let mut send = send;
        let mut take = |input| desk.take(input, &mut send);
        let mut more = false;
        if let Some(inputs) = inputs {
            more = inputs.take(&mut take);
            inputs.acknowledge();
            // What has come in between does not interrupt again.
            more |= inputs.take(&mut take);
        }
        match tablet.as_mut().map(|tablet| tablet.take(&mut take)) {
            Some(Ok(has)) => more |= has,
            Some(Err(_)) => {
                println!(
                    "the tablet returned a buffer that it was not given: it is not used any more"
                );
                *tablet = None;
            }
            None => {}
        }
        self.show(before);
        more
    }

    /// Shows what has changed since.
    fn show(&mut self, before: View) {
        let now = self.desk.view();
        let bar = Rectangle { height: image::protocol::screen::BAR, ..self.scene.screen() };
        if now.list.is_some() != before.list.is_some() {
            if now.list.is_some() {
                self.list.ask();
            }
            self.arrange();
            self.damage(paint::list_area(&self.list, self.scene.screen()));
        } else if now.list != before.list {
            self.damage(paint::list_area(&self.list, self.scene.screen()));
        }
        if now.shown != before.shown {
            self.arrange();
            self.damage(self.scene.screen());
        } else if now.focus != before.focus {
            self.arrange();
            self.damage(bar);
        }
    }

    /// Which client is in front of which.
    fn arrange(&mut self) {
        let View { focus, shown, list, .. } = self.desk.view();
        let area = list.map(|_| paint::list_area(&self.list, self.scene.screen()));
        self.scene.set(&self.layout, shown, area);
        for (index, client) in self.clients.iter().enumerate() {
            client.keep(focus.or(list) == Some(index), shown == Some(index));
        }
    }

    /// Whatever is in front there is to be painted.
    fn damage(&mut self, area: Rectangle) {
        let area = area.intersection(self.scene.screen());
        if area.is_empty() || self.own.iter().any(|one| one.intersection(area) == area) {
            return;
        }
        let is_full = self.own.len() == OWN;
        match self.own.last_mut() {
            Some(last) if is_full => *last = last.union(area),
            _ => self.own.push(area),
        }
    }

    /// Answers a request.
    fn answer(&mut self, received: &Received) -> Message {
        let bad = Message::new([BAD_REQUEST as Word, 0, 0]);
        let [request, first, second] = received.words;
        let client = |number: u32| {
            (number as usize).checked_sub(1).filter(|index| *index < self.clients.len())
        };
        match (received.kind, received.badge, request as u32) {
            (MessageKind::Call, WATCHER, STATISTICS) => {
                client(second as u32).map_or(bad, |index| self.statistics(index))
            }
            (MessageKind::Call, badge, ATTACH) if first as u32 & 0xffff == VERSION => client(badge)
                .map_or(bad, |index| self.attach(index, first as u32 & DRAWS_POINTER != 0)),
            _ => bad,
        }
    }

    fn statistics(&self, index: usize) -> Message {
        let Some(client) = self.clients.get(index) else { return Message::default() };
        let view = self.desk.view();
        utcb::set_word(3, client.painted as u32 as Word);
        utcb::set_word(4, (client.painted >> 32) as u32 as Word);
        utcb::set_word(5, client.broken as Word);
        let words = [0, Word::from(client.is_attached()), Word::from(view.focus == Some(index))];
        Message { words, count: 6, caps: 0 }
    }

    fn attach(&mut self, index: usize, draws_pointer: bool) -> Message {
        let Self { clients, desk, .. } = self;
        let Some(client) = clients.get_mut(index) else { return Message::default() };
        client.attach(draws_pointer);
        let Rectangle { width, height, .. } = client.area;
        desk.begin(index, &mut |_, packet| client.send(&packet));
        utcb::set_word(3, REFRESH as Word);
        Message { words: [0, width as Word, height as Word], count: 4, caps: 0 }
    }

    /// Paints a strip. Whether there is more to do already.
    fn round(&mut self) -> bool {
        let now = time::now();
        self.clients.iter_mut().for_each(Client::wake);
        if now >= self.period {
            self.period = now + PERIOD;
            self.clients.iter_mut().for_each(Client::refill);
        }
        if now >= self.look {
            self.look = now + LOOK;
            self.look_after();
        }
        self.point();
        let painted = self.paint_own() || self.paint_client();
        self.clients.iter_mut().for_each(Client::publish);
        let mut waits = false;
        let mut more = painted;
        for client in &mut self.clients {
            match client.has_work() {
                None => waits = true,
                Some(true) => more = true,
                Some(false) => {}
            }
        }
        if !more {
            more = self
                .clients
                .iter_mut()
                .any(|client| client.has_work() == Some(false) && client.sleep());
        }
        // Without the alarm what waits does so until something else comes.
        let _ = self.heart.alarm(Some(if waits { self.period.min(self.look) } else { self.look }));
        more
    }

    /// Looks whether clients have died, which the root server knows, and whether those that were
    /// told too much can be told again.
    fn look_after(&mut self) {
        for index in 0..self.clients.len() {
            let Self { clients, desk, .. } = self;
            let Some(client) = clients.get_mut(index) else { continue };
            if client.may_resume() {
                desk.resume(index, &mut |_, packet| client.send(&packet));
            }
            if client.has_ended() {
                let area = client.area;
                self.damage(area);
            }
        }
        if self.desk.view().list.is_some() && self.list.ask() {
            self.arrange();
            self.damage(paint::list_area(&self.list, self.scene.screen()));
        }
    }

    /// Where the pointer is to be painted, if it is.
    fn wanted_pointer(&self) -> Option<[u32; 2]> {
        let View { list, pointer, .. } = self.desk.view();
        let draws = |index: usize| {
            self.clients
                .get(index)
                .is_some_and(|client| client.is_attached() && client.draws_pointer)
        };
        let is_drawn = list.is_none() && self.desk.under(pointer).is_some_and(draws);
        (!is_drawn).then_some(pointer)
    }

    /// Paints the pointer again if it has moved.
    fn point(&mut self) {
        let wanted = self.wanted_pointer();
        if wanted != self.pointer {
            let before = core::mem::replace(&mut self.pointer, wanted);
            let screen = self.scene.screen();
            for at in before.into_iter().chain(wanted) {
                self.damage(paint::pointer_area(at, screen));
            }
        }
    }

    /// Paints a strip of the server's own. Whether there was one.
    fn paint_own(&mut self) -> bool {
        if self.under_way.rest().is_empty() && !self.own.is_empty() {
            self.under_way = Strips::new(self.own.swap_remove(0));
        }
        let strip = self.under_way.next();
        if let Some(strip) = strip {
            self.paint(strip, None);
        }
        strip.is_some()
    }

    /// Paints a strip of the next client that has one. Whether there was one.
    fn paint_client(&mut self) -> bool {
        let count = self.clients.len();
        let shown = self.desk.view().shown;
        for index in (0..count).map(|offset| (self.turn + offset) % count) {
            let seen = shown == Some(index)
                || self.layout.clients.get(index).is_some_and(|place| !place.is_full);
            let Some(strip) = self.clients.get_mut(index).and_then(|client| client.strip(seen))
            else {
                continue;
            };
            self.paint(strip, Some(index));
            self.clients.get_mut(index).into_iter().for_each(Client::done);
            self.turn = (index + 1) % count;
            return true;
        }
        false
    }

    /// Paints what is in front in this area; only the pixels of one client, if it is for that.
    fn paint(&self, area: Rectangle, only: Option<usize>) {
        let columns = self.layout.size[0];
        let View { focus, list, .. } = self.desk.view();
        let screen = self.scene.screen();
        self.scene.pieces(area, &mut |layer, part| {
            if only.is_some_and(|only| layer != Layer::Client(only)) {
                return;
            }
            let mut canvas = Canvas::new(&self.frame, 0, columns, part);
            match layer {
                Layer::Bar => {
                    let area = Rectangle { height: image::protocol::screen::BAR, ..screen };
                    paint::bar(&mut canvas, area, &self.layout, focus);
                }
                Layer::List => {
                    let area = paint::list_area(&self.list, screen);
                    paint::list(&mut canvas, area, &self.layout, (&self.list, list));
                }
                Layer::Client(index) => self.paint_surface(&mut canvas, index, part),
                Layer::Empty => canvas.fill(part, paint::EMPTY),
            }
        });
        if let Some(at) = self.pointer
            && !paint::pointer_area(at, screen).intersection(area).is_empty()
        {
            paint::pointer(&Canvas::new(&self.frame, 0, columns, area.intersection(screen)), at);
        }
    }

    fn paint_surface(&self, canvas: &mut Canvas<'_, Region>, index: usize, part: Rectangle) {
        let Some(client) = self.clients.get(index) else { return };
        let Rectangle { x, y, width, .. } = client.area;
        if client.is_attached() {
            canvas.copy(client.surface(), PIXELS, width, [part.x - x, part.y - y], part);
        } else {
            paint::gone(canvas, client.area, &client.name, client.state);
        }
    }
}
