// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watching: deaths, ends, restarts, the end of the system.

use crate::arch;
use crate::component::{self, Running};
use crate::machine::{power_off, said, say, tell};
use crate::resources::Resources;
use crate::watchdog::{self, HANG};
use abi::boot::slot;
use image::layout::STACK_BYTES;
use image::protocol::console::shown::BIT_WORDS;
use image::{Component, OnDeath, Places, System};
use macadamia::alloc::vec::Vec;
use macadamia::ipc::{Message, Received, receive, reply};
use macadamia::start::Usage;
use macadamia::{Error, MessageKind, Result, Rights, Thread, Word, cap, start, time, utcb};

/// Notification bit of the alarm for restarts.
const RESTART: Word = 1 << 31;
/// Its priority once everything runs: burying and starting a component takes
/// milliseconds, which drivers and components that keep a rhythm must not feel.
const PRIORITY: Word = 128;
const PRIORITIES: Word = abi::PRIORITIES as Word;
const MILLISECOND: u64 = 1_000_000;
/// A component that dies within this many of its delays is put off twice as long.
const SOON: u64 = 10;

/// What a console that a screen shows is given.
const TEXT: &str = "text";

/// First word of an answer that says why there is none.
const REFUSED: Word = u32::MAX as Word;

/// The system that is watched.
struct Watch<'a> {
    resources: &'a mut Resources,
    system: &'a System,
    all: Vec<Running<'a>>,
    /// When to start which component again, in nanoseconds since boot: each at most once, as it is
    /// dead.
    due: Vec<(u64, usize)>,
}

/// Serves for ever. Ends the machine when the description says so, or when nothing
/// but services is left.
pub fn serve(resources: &mut Resources, system: &System, all: Vec<Running<'_>>) -> ! {
    settle();
    if let Err(error) = listen(resources, system, &all) {
        say(format_args!("the console does not hear of this: {}", error.text()));
    }
    let mut watch = Watch { resources, system, all, due: Vec::new() };
    utcb::accept(RESTART as u32 | HANG);
    loop {
        let Ok(received) = receive(None) else { continue };
        match received.kind {
            MessageKind::Notification => {
                if received.words[0] & HANG as Word != 0 {
                    watch.bury_hung();
                }
                watch.restart_due();
            }
            _ => watch.message(&received),
        }
        watch.program();
        if !watch.is_busy() {
            say(format_args!("every component has ended"));
            power_off();
        }
    }
}

/// Lets a console that a screen shows fetch what is printed here.
fn listen(resources: &mut Resources, system: &System, all: &[Running<'_>]) -> Result<()> {
    let Some(index) = component::console(system) else { return Ok(()) };
    let (Some(console), Some(running)) = (system.components.get(index), all.get(index)) else {
        return Ok(());
    };
    if console.grants.iter().any(|grant| grant.name == TEXT) {
        let slot = resources.slot()?;
        cap::copy(running.thread.0, None, slot, Rights::NOTIFY, 1 << BIT_WORDS)?;
        tell(Thread(slot));
    }
    Ok(())
}

/// Takes the priority that the root server has while everything runs.
fn settle() {
    if let Err(error) = Thread(slot::THREAD as Word).set_priority(PRIORITY, PRIORITIES - 1) {
        say(format_args!("cannot lower the own priority: {}", error.text()));
    }
}

impl Watch<'_> {
    fn name(&self, index: usize) -> &str {
        self.system.components.get(index).map_or("?", |component| &component.name)
    }

    fn watches(&self, index: usize) -> bool {
        self.system.components.get(index).is_some_and(|component| component.watches)
    }

    /// Whether a component that is no service lives or will live again.
    fn is_busy(&self) -> bool {
        let lives = self
            .system
            .components
            .iter()
            .zip(&self.all)
            .any(|(component, running)| running.is_alive() && !component.service);
        lives || !self.due.is_empty()
    }

    fn message(&mut self, received: &Received) {
        const EXIT: Word = start::EXIT as Word;
        const STATUS: Word = start::STATUS as Word;
        const COMPONENT: Word = start::COMPONENT as Word;
        const USAGE: Word = start::USAGE as Word;
        const WORDS: Word = start::WORDS as Word;
        // Badges are indices plus one: nobody else has a capability to this thread.
        let index = (received.badge as usize).wrapping_sub(1);
        // What is dead says nothing: it is buried once.
        if !self.all.get(index).is_some_and(Running::is_alive) {
            return;
        }
        let [request, argument, _] = received.words;
        match (received.kind, request) {
            (MessageKind::Exception, vector)
                if arch::wants_large(vector) && self.grow(index, vector) =>
            {
                // The instruction runs again.
                let _ = reply(received.handle, Message::default());
            }
            (MessageKind::Exception, vector) => {
                let [_, address, error] = received.words;
                let places =
                    self.system.components.get(index).map_or(Places::LOW, Component::places);
                say(format_args!(
                    "`{}` died: {} (exception {vector}, error {error:#x}), address {address:#x}, at {:#x}",
                    self.name(index),
                    cause(vector, error, (address, places.stack_end)),
                    arch::place(&cap::frame())
                ));
                self.bury(index, true);
            }
            (MessageKind::Call, EXIT) => {
                if argument != 0 {
                    say(format_args!("`{}` ended with code {argument}", self.name(index)));
                }
                self.bury(index, argument != 0);
            }
            (MessageKind::Call, WORDS) if component::console(self.system) == Some(index) => {
                let _ = reply(received.handle, said(argument as u32));
            }
            (MessageKind::Call, STATUS | COMPONENT | USAGE | WORDS) if !self.watches(index) => {
                // A caller that died in the meantime needs no answer.
                let _ = reply(received.handle, Message::new([REFUSED, Error::NoRight as Word, 0]));
            }
            (MessageKind::Call, STATUS) => {
                let answer = self.status(&received.text());
                let _ = reply(received.handle, Message::new(answer));
            }
            (MessageKind::Call, COMPONENT) => {
                let _ = reply(received.handle, self.component(argument as usize));
            }
            (MessageKind::Call, USAGE) => {
                let _ = reply(received.handle, Usage::own(self.resources.slots()).message());
            }
            _ => {
                let _ =
                    reply(received.handle, Message::new([REFUSED, Error::BadOperation as Word, 0]));
            }
        }
    }

    /// Makes a component's space large, if it is small: its instruction may want an address that
    /// only a large one has. Whether it was.
    fn grow(&mut self, index: usize, vector: Word) -> bool {
        let grown = self.all.get_mut(index).map_or(Ok(false), Running::grow);
        match grown {
            Ok(true) => say(format_args!(
                "`{}` is large from now on: exception {vector} at {:#x}",
                self.name(index),
                arch::place(&cap::frame())
            )),
            Ok(false) => {}
            Err(error) => {
                say(format_args!("cannot make `{}` large: {}", self.name(index), error.text()))
            }
        }
        grown == Ok(true)
    }

    /// What [`start::STATUS`] is answered with.
    fn status(&self, name: &str) -> [Word; 3] {
        match self
            .system
            .components
            .iter()
            .zip(&self.all)
            .find(|(component, _)| component.name == name)
        {
            Some((_, running)) => [
                running.is_alive().into(),
                running.restarts.into(),
                running.quota.info().map_or(0, |(used, _)| used),
            ],
            None => [REFUSED, Error::BadArgument as Word, 0],
        }
    }

    /// What [`start::COMPONENT`] is answered with.
    fn component(&self, index: usize) -> Message {
        let Some((component, running)) = self.system.components.get(index).zip(self.all.get(index))
        else {
            return Message::new([REFUSED, Error::BadArgument as Word, 0]);
        };
        let (used, limit) = running.quota.info().unwrap_or_default();
        // To look needs the UTCB, too: before the text is put there.
        let messages = running.messages(component).unwrap_or_default();
        let text = Message::text(running.is_alive().into(), component.name.as_bytes());
        let words = [text.words[0], text.words[1], running.restarts.into()];
        let more = [used, limit, messages.into()];
        (text.count..).zip(more).for_each(|(index, word)| utcb::set_word(index as usize, word));
        Message { words, count: text.count + more.len() as u32, caps: 0 }
    }

    /// Takes down what the watch-dog found to hang, above whatever spins there.
    fn bury_hung(&mut self) {
        for index in watchdog::hung(self.system) {
            say(format_args!("`{}` hangs: it sent no heartbeat", self.name(index)));
            self.bury(index, true);
        }
        settle();
    }

    /// Takes a component down and does what the description says.
    fn bury(&mut self, index: usize, failed: bool) {
        let (Some(component), Some(running)) =
            (self.system.components.get(index), self.all.get_mut(index))
        else {
            return;
        };
        watchdog::ends(watchdog::bit(self.system, index));
        let again = failed && matches!(component.on_death, OnDeath::Restart { .. });
        match component::take_down(self.resources, running, again) {
            Ok([0, 0, 0]) => {}
            Ok([bytes, threads, slots]) => say(format_args!(
                "`{}` is gone, but {bytes} bytes of kernel memory, {threads} threads and {slots} slots of relocation are still charged to it",
                component.name
            )),
            Err(error) => {
                say(format_args!("cannot take `{}` down: {}", component.name, error.text()))
            }
        }
        match component.on_death {
            OnDeath::Stop if failed => {
                say(format_args!("`{}` stops the system", component.name));
                power_off();
            }
            OnDeath::Restart { first_ms, most_ms } if failed => {
                let lived = time::now() - running.started;
                let soon = running.delay_ms != 0
                    && lived < u64::from(running.delay_ms) * SOON * MILLISECOND;
                running.delay_ms =
                    if soon { running.delay_ms.saturating_mul(2).min(most_ms) } else { first_ms };
                running.restarts += 1;
                self.due.push((time::now() + u64::from(running.delay_ms) * MILLISECOND, index));
            }
            _ => {}
        }
    }

    fn restart_due(&mut self) {
        let now = time::now();
        let ready: Vec<usize> =
            self.due.iter().filter(|(at, _)| *at <= now).map(|(_, index)| *index).collect();
        self.due.retain(|(at, _)| *at > now);
        for index in ready {
            if let Err(error) = component::start(self.resources, self.system, &mut self.all, index)
            {
                say(format_args!("cannot start `{}` again: {}", self.name(index), error.text()));
                // Who controls its thread has stopped it before it began: that is a death.
                // Otherwise what was made of it is of no use, and it stays dead.
                self.bury(index, error == Error::BadState);
            }
        }
    }

    fn program(&self) {
        if let Some(at) = self.due.iter().map(|(at, _)| *at).min() {
            // The kernel refuses no time: one that has passed fires at once.
            let _ = time::alarm(at, RESTART);
        }
    }
}

/// An exception in words.
fn cause(vector: Word, error: Word, (address, stack_end): (Word, u32)) -> &'static str {
    use abi::frame::fault;
    use abi::frame::vector::PAGE_FAULT;
    let [stack_end, stack] = [stack_end, STACK_BYTES].map(Word::from);
    let below_stack = stack_end - 2 * stack..stack_end - stack;
    match vector {
        PAGE_FAULT if below_stack.contains(&address) => "stack overflow",
        PAGE_FAULT if error & fault::PROTECTION == 0 => "access to memory that it does not have",
        PAGE_FAULT if error & fault::WRITE == 0 => "read of memory that it may not read",
        PAGE_FAULT => "write to memory that it may not write",
        _ => arch::cause(vector),
    }
}
