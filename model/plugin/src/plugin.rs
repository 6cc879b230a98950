// SPDX-License-Identifier: GPL-2.0-or-later
//! What the callbacks work on: what they need of every processor, and a place for what they need of
//! one.

use crate::arguments::Arguments;
use crate::chunks::Chunks;
use crate::end::End;
use crate::scoreboard::{Scoreboard, Single};
use model_core::{Counter, Follow, Processor};
use qemu_plugin_sys as qemu;
use std::ffi::{c_uint, c_void};

/// A processor that a plugin follows.
pub trait Followed: Processor + 'static {
    /// What the counter asks of the emulator.
    type Guest;
    /// What only this processor's callbacks need.
    type Own;

    /// That of the machine.
    fn place() -> &'static Single<Plugin<Self>>;

    /// Whether everything is told.
    fn is_active(counter: &Counter<Self>) -> bool {
        counter.is_armed()
    }
}

/// What the callbacks work on.
pub struct Plugin<P: Followed> {
    /// The instrument.
    pub counter: Counter<P>,
    /// The guest, once the processor has started.
    pub guest: Option<P::Guest>,
    /// What is shared with QEMU's own code.
    pub board: Scoreboard,
    /// Code that was translated.
    pub chunks: Chunks,
    /// What the plugin was given.
    pub arguments: Arguments,
    /// What only this processor's callbacks need.
    pub own: P::Own,
    end: End,
}

impl<P: Followed> Plugin<P> {
    /// Puts the machine's into its place, while the plugin is installed.
    pub fn install(counter: Counter<P>, arguments: Arguments, own: P::Own) {
        let (board, chunks, end) = (Scoreboard::new(), Chunks::default(), End::default());
        *P::place().get() = Some(Self { counter, guest: None, board, chunks, arguments, own, end });
    }

    /// Instructions executed up to now.
    pub fn executed(&mut self) -> u64 {
        self.board.words().executed
    }

    /// Tells QEMU's code which callbacks are wanted.
    pub fn publish(&mut self) {
        let armed = P::is_active(&self.counter);
        let is_entry = self.counter.latency().map(|latency| latency.is_entry());
        let words = self.board.words();
        words.armed = armed.into();
        words.entering = (is_entry == Some(true)).into();
        words.inside = (is_entry == Some(false)).into();
    }

    /// A word of the scoreboard, for QEMU's code.
    pub fn word(&self, offset: usize) -> qemu::qemu_plugin_u64 {
        self.board.word(offset)
    }
}

/// What a callback does, until the machine's end. Callbacks do not nest.
pub fn with<P: Followed>(act: impl FnOnce(&mut Plugin<P>)) {
    if let Some(plugin) = P::place().get().as_mut() {
        act(plugin);
        if plugin.counter.is_enough() {
            plugin.end.ask();
        }
    }
}

/// What a callback does with the guest, once there is one.
pub fn with_guest<P: Followed>(act: impl FnOnce(&mut Plugin<P>, &mut P::Guest)) {
    with(|plugin: &mut Plugin<P>| {
        if let Some(mut guest) = plugin.guest.take() {
            act(plugin, &mut guest);
            plugin.guest = Some(guest);
        }
    });
}

/// The processor of this number starts, with a guest that is to be found.
pub fn start<P>(index: c_uint, find: impl FnOnce(&Arguments) -> Option<P::Guest>)
where
    P: Followed + Follow<P::Guest>,
{
    with(|plugin: &mut Plugin<P>| {
        plugin.board.start(index);
        let Some(guest) = find(&plugin.arguments) else {
            eprintln!("model: this QEMU does not tell a register that is needed");
            std::process::exit(1);
        };
        let guest = plugin.guest.insert(guest);
        if plugin.arguments.check {
            plugin.counter.arm(0, guest);
        }
        plugin.publish();
    });
}

/// The machine ends: what was counted is reported.
pub extern "C" fn machine_ends<P: Followed>(_: qemu::qemu_plugin_id_t, _: *mut c_void) {
    let Some(plugin) = P::place().take() else { return };
    plugin.arguments.write(plugin.counter.report().to_json().map_err(std::io::Error::from));
}
