// SPDX-License-Identifier: MIT OR Apache-2.0
//! IPC, reply handles, notifications and the scheduler's order against a naive model:
//! after every system call the same thread runs, every thread is in the state that the model
//! says, and the thread that runs finds in its registers what the model delivered.

use crate::common;

use abi::tag::REGISTER_WORDS;
use abi::{Delivery, Error, MessageKind, Op, Rights, Word};
use arch_host::{ARGUMENTS, Host, HostRegisters, boot};
use common::{call, named, seed, slot, tag};
use kcore::port::Registers;
use kcore::thread::{SEQUENCE, gate};
use kcore::{Kernel, Thread};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, VecDeque};

/// Threads, half of them in the root server's space.
const THREADS: usize = 6;
/// Slot of thread `i` in the tables of both spaces; its badge is `i + 1`, and `BADGE` more in the
/// second.
const FIRST: Word = slot::FREE;
const BADGE: u32 = 0x100;

/// The words of a message, all of them in registers; and all registers of a system call.
type Words = [Word; REGISTER_WORDS as usize];
type Found = [Word; ARGUMENTS];

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Ready,
    Open,
    Closed(usize),
    Sending(usize),
    Reply(usize),
}

#[derive(Clone, Debug)]
struct Model {
    state: Vec<State>,
    priority: Vec<Word>,
    /// The message that a sender waits with: kind, badge, words.
    message: Vec<(MessageKind, u32, Words)>,
    senders: Vec<Vec<usize>>,
    handle: Vec<u32>,
    signals: Vec<u32>,
    /// What a thread finds when it runs next: delivery or status, second register, words; `None`:
    /// any values.
    found: Vec<Option<Found>>,
    queues: BTreeMap<Word, VecDeque<usize>>,
    current: Option<usize>,
    woken: Option<usize>,
}

/// Two spaces: even threads are in the root server's.
const fn same_space(a: usize, b: usize) -> bool {
    a % 2 == b % 2
}

/// The registers of a delivery; a failure's words are zero.
fn found(delivery: Delivery, handle: u32, words: Words) -> Found {
    let mut found = [0; ARGUMENTS];
    let (first, last) = found.split_at_mut(2);
    first.copy_from_slice(&[delivery.0 as Word, handle as Word]);
    last.copy_from_slice(&words);
    found
}

/// The registers of a notification of bit 0, the only one that is accepted.
fn notified() -> Found {
    let words = std::array::from_fn(|i| if i == 0 { 1 } else { 0 });
    found(Delivery::new(MessageKind::Notification, 0, 1, 0), 0, words)
}

impl Model {
    fn badge(from: usize, to: usize) -> u32 {
        to as u32 + 1 + if from.is_multiple_of(2) { 0 } else { BADGE }
    }
    fn fail(&mut self, me: usize, error: Error, delivery: bool) {
        let failed = if delivery {
            Delivery::new(MessageKind::Failed, error as u32, 0, 0)
        } else {
            Delivery(error as u32)
        };
        self.found[me] = Some(found(failed, 0, Words::default()));
    }
    fn done(&mut self, me: usize) {
        self.found[me] = Some(Found::default());
    }
    fn takes(&self, thread: usize, from: usize) -> bool {
        matches!(self.state[thread], State::Open) || self.state[thread] == State::Closed(from)
    }
    fn wake(&mut self, thread: usize) {
        self.state[thread] = State::Ready;
        assert!(self.woken.replace(thread).is_none(), "one thread is woken by a call here");
    }
    /// Gives the message of `from` to `to`; a caller then waits for the reply.
    fn hand_over(&mut self, from: usize, to: usize) {
        let (kind, badge, words) = self.message[from];
        let mut handle = 0;
        if kind == MessageKind::Call {
            self.handle[from] = self.handle[from].wrapping_add(SEQUENCE);
            handle = self.handle[from];
            self.state[from] = State::Reply(to);
        }
        self.found[to] = Some(found(Delivery::new(kind, badge, REGISTER_WORDS, 0), handle, words));
    }
    fn send(&mut self, me: usize, to: usize, kind: MessageKind, words: Words) {
        let delivery = kind == MessageKind::Call;
        if me == to {
            return self.fail(me, Error::BadArgument, delivery);
        }
        self.message[me] = (kind, Self::badge(me, to), words);
        if self.takes(to, me) {
            self.hand_over(me, to);
            if kind == MessageKind::Send {
                self.done(me);
            }
            self.wake(to);
        } else {
            self.state[me] = State::Sending(to);
            let priority = self.priority[me];
            let at = self.senders[to]
                .iter()
                .position(|other| self.priority[*other] < priority)
                .unwrap_or(self.senders[to].len());
            self.senders[to].insert(at, me);
        }
    }
    fn reply(&mut self, me: usize, handle: Word, words: Words) -> Result<(), Error> {
        let waits = |t: &usize| {
            matches!(self.state[*t], State::Reply(server) if same_space(server, me))
                && self.handle[*t] as Word == handle
        };
        let caller = (0..THREADS).find(waits).ok_or(Error::BadHandle)?;
        self.found[caller] =
            Some(found(Delivery::new(MessageKind::Reply, 0, REGISTER_WORDS, 0), 0, words));
        self.wake(caller);
        Ok(())
    }
    fn receive(&mut self, me: usize, from: Option<usize>) {
        // Bit 0 is accepted by all.
        if self.signals[me] & 1 != 0 {
            self.signals[me] &= !1;
            self.found[me] = Some(notified());
            return;
        }
        let at = self.senders[me].iter().position(|sender| from.is_none_or(|from| from == *sender));
        match at {
            Some(at) => {
                let sender = self.senders[me].remove(at);
                self.hand_over(sender, me);
                if self.message[sender].0 == MessageKind::Send {
                    self.done(sender);
                    self.wake(sender);
                }
            }
            None => self.state[me] = from.map_or(State::Open, State::Closed),
        }
    }
    fn notify(&mut self, me: usize, to: usize) {
        self.done(me);
        // The bits are the badge; bit 0 is the one that is accepted.
        self.signals[to] |= Self::badge(me, to);
        if self.signals[to] & 1 != 0 && matches!(self.state[to], State::Open | State::Closed(_)) {
            self.signals[to] &= !1;
            self.found[to] = Some(notified());
            self.wake(to);
        }
    }
    fn top(&self) -> Option<Word> {
        self.queues.iter().rev().find(|(_, queue)| !queue.is_empty()).map(|(priority, _)| *priority)
    }
    fn queue(&mut self, thread: usize, front: bool) {
        let queue = self.queues.entry(self.priority[thread]).or_default();
        if front { queue.push_front(thread) } else { queue.push_back(thread) }
    }
    /// The thread that runs next: a woken one only if it is more urgent, or if this one waits.
    fn schedule(&mut self) {
        let running = self.current.filter(|me| self.state[*me] == State::Ready);
        let woken = self.woken.take();
        if let (None, Some(woken)) = (running, woken)
            && self.top().is_none_or(|top| self.priority[woken] >= top)
        {
            self.current = Some(woken);
            return;
        }
        if let Some(woken) = woken {
            let urgent = running.is_some_and(|me| self.priority[woken] > self.priority[me]);
            self.queue(woken, urgent);
        }
        let stays = running.filter(|me| self.top().is_none_or(|top| top <= self.priority[*me]));
        if stays.is_some() {
            return;
        }
        if let Some(me) = running {
            self.queue(me, true);
        }
        self.current =
            self.top().and_then(|top| self.queues.get_mut(&top).and_then(VecDeque::pop_front));
    }
}

fn state_of(kernel: &Kernel<Host>, threads: &[Ref<Thread>], thread: usize) -> State {
    let t = &kernel.pool[threads[thread]];
    let partner =
        || threads.iter().position(|other| t.partner.is(*other)).expect("a partner of the test");
    match t.state() {
        gate::READY => State::Ready,
        gate::OPEN => State::Open,
        gate::CLOSED => State::Closed(partner()),
        gate::SENDING => State::Sending(partner()),
        gate::REPLY => State::Reply(partner()),
        other => panic!("state {other}"),
    }
}

/// Makes the system; the root server's first thread then stops.
fn set_up(priorities: &[Word]) -> (Kernel<Host>, Vec<Ref<Thread>>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    let other = FIRST + 2 * THREADS as Word;
    let k = &mut kernel;
    assert_eq!(call(k, Op::CreateSpace, [slot::QUOTA, 128, other, 0])[0], 0);
    let spaces = [slot::SPACE, other];
    let originals = FIRST + THREADS as Word;
    for (i, priority) in (0..).zip(priorities) {
        let original = originals + i;
        assert_eq!(
            call(k, Op::CreateThread, [slot::QUOTA, spaces[i as usize % 2], original, 0])[0],
            0
        );
        assert_eq!(call(k, Op::SetPriority, [original, *priority, 100, 0])[0], 0);
        for (from, table) in [0, other].into_iter().enumerate() {
            let badge = Model::badge(from, i as usize) << Delivery::BADGE_SHIFT;
            let rights = Rights::CALL.0 | Rights::NOTIFY.0;
            assert_eq!(
                call(k, Op::Copy, [original, table, FIRST + i, (rights | badge) as Word])[0],
                0
            );
        }
    }
    let threads: Vec<Ref<Thread>> =
        (0..THREADS as Word).map(|i| named(&kernel, root, originals + i)).collect();
    for (i, thread) in (0..).zip(&threads) {
        let accept =
            kernel.pool[*thread].utcb + core::mem::offset_of!(abi::utcb::Utcb, accept) as u32;
        kernel.pool.bytes_mut(accept, 4).copy_from_slice(&1_u32.to_ne_bytes());
        assert_eq!(call(&mut kernel, Op::Start, [originals + i, 0x40_0000, 0x50_0000, 0])[0], 0);
    }
    call(&mut kernel, Op::Stop, [slot::THREAD, 0, 0, 0]);
    (kernel, threads)
}

fn check(kernel: &mut Kernel<Host>, model: &mut Model, threads: &[Ref<Thread>]) {
    let current = kernel
        .current()
        .map(|current| threads.iter().position(|t| *t == current).expect("a thread of the test"));
    assert_eq!(current, model.current, "who runs");
    for i in 0..THREADS {
        assert_eq!(state_of(kernel, threads, i), model.state[i], "thread {i}");
        assert_eq!(kernel.pool[threads[i]].signals, model.signals[i], "bits of thread {i}");
    }
    if let Some(me) = current
        && let Some(expected) = model.found[me].take()
    {
        let found: Found =
            std::array::from_fn(|i| HostRegisters::argument(&kernel.pool[threads[me]].context, i));
        // A status has three results after it; the other registers have no meaning.
        let registers = if expected[0] < 32 { 4 } else { ARGUMENTS };
        assert_eq!(found[..registers], expected[..registers], "what thread {me} finds");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn messages_go_as_the_model_says(priorities in prop::collection::vec(10..13 as Word, THREADS), steps in prop::collection::vec(any::<[Word; 3]>(), 1..150)) {
        let (mut kernel, threads) = set_up(&priorities);
        let mut model = Model {
            state: vec![State::Ready; THREADS],
            priority: priorities,
            message: vec![(MessageKind::Send, 0, Words::default()); THREADS],
            senders: vec![Vec::new(); THREADS],
            handle: threads.iter().map(|t| kernel.pool[*t].handle).collect(),
            signals: vec![0; THREADS],
            found: vec![None; THREADS],
            queues: BTreeMap::new(),
            current: None,
            woken: None,
        };
        (0..THREADS).for_each(|i| model.queue(i, false));
        model.schedule();
        check(&mut kernel, &mut model, &threads);
        for [what, a, b] in steps {
            let Some(me) = model.current else { break };
            let to = a as usize % THREADS;
            let words = std::array::from_fn(|i| [what, a, b, !what, !a, !b, what ^ a, a ^ b][i]);
            // Mostly a handle under which a thread waits.
            let waiting: Vec<usize> = (0..THREADS).filter(|t| matches!(model.state[*t], State::Reply(_))).collect();
            let good = waiting.get(a as usize % waiting.len().max(1)).map_or(0, |t| model.handle[*t]);
            let handle = match b % 8 {
                0 => b,
                1 => good.wrapping_sub(SEQUENCE) as Word,
                // More than a handle has is not overlooked.
                2 => good as Word | (1 as Word).unbounded_shl(u32::BITS),
                _ => good as Word,
            };
            let (op, first) = match what % 16 {
                0..=3 => (Op::Call, FIRST + to as Word),
                4..=5 => (Op::Send, FIRST + to as Word),
                6..=8 => (Op::Receive, 0),
                9 => (Op::Receive, FIRST + to as Word),
                10..=11 => (Op::Reply, handle),
                12..=14 => (Op::ReplyWait, handle),
                _ => (Op::Notify, FIRST + to as Word),
            };
            match op {
                Op::Call => model.send(me, to, MessageKind::Call, words),
                Op::Send => model.send(me, to, MessageKind::Send, words),
                Op::Receive if first == 0 => model.receive(me, None),
                Op::Receive if to == me => model.fail(me, Error::BadArgument, true),
                Op::Receive => model.receive(me, Some(to)),
                Op::Reply => match model.reply(me, handle, words) {
                    Ok(()) => model.done(me),
                    Err(error) => model.fail(me, error, false),
                },
                Op::ReplyWait if handle == 0 => model.receive(me, None),
                Op::ReplyWait => match model.reply(me, handle, words) {
                    // The receive that follows may wake a second thread: the more urgent is offered
                    // the processor.
                    Ok(()) => {
                        let first = model.woken.take();
                        model.receive(me, None);
                        if let (Some(first), Some(second)) = (first, model.woken) {
                            let offered = if model.priority[first] >= model.priority[second] { first } else { second };
                            model.queue(first + second - offered, false);
                            model.woken = Some(offered);
                        } else if first.is_some() {
                            model.woken = first;
                        }
                    }
                    Err(error) => model.fail(me, error, true),
                },
                _ => model.notify(me, to),
            }
            model.schedule();
            let arguments = [tag(op, REGISTER_WORDS, 0), first].into_iter().chain(words);
            let context = &mut kernel.pool[threads[me]].context;
            arguments.enumerate().for_each(|(i, argument)| HostRegisters::set_result(context, i, argument));
            kernel.system_call();
            check(&mut kernel, &mut model, &threads);
        }
    }
}
