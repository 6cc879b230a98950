// SPDX-License-Identifier: MIT OR Apache-2.0
//! IPC, reply handles, notifications and the scheduler's order against a naive model:
//! after every system call the same thread runs, every thread is in the state that the model
//! says, and whoever runs finds in its registers what the model delivered.

mod common;

use abi::{Delivery, Error, MessageKind, Op, Rights, Tag};
use arch_host::{Host, boot, results, set_arguments, slot};
use common::{call, seed};
use kcore::thread::{SEQUENCE, gate};
use kcore::{Kernel, Thread};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, VecDeque};

/// Threads, half of them in the root server's space.
const THREADS: usize = 6;
/// Slot of thread `i` in the tables of both spaces; its badge is `i + 1`, and `BADGE` more in the second.
const FIRST: u32 = slot::FREE;
const BADGE: u32 = 0x100;

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
    priority: Vec<u32>,
    /// The message that a sender waits with: kind, tag, badge, words.
    message: Vec<(MessageKind, u32, [u32; 3])>,
    senders: Vec<Vec<usize>>,
    handle: Vec<u32>,
    signals: Vec<u32>,
    /// What a thread finds when it runs next: delivery or status, second register, words; `None`: whatever.
    found: Vec<Option<[u32; 5]>>,
    queues: BTreeMap<u32, VecDeque<usize>>,
    current: Option<usize>,
    woken: Option<usize>,
}

/// Two spaces: even threads are in the root server's.
const fn same_space(a: usize, b: usize) -> bool {
    a % 2 == b % 2
}

impl Model {
    fn badge(from: usize, to: usize) -> u32 {
        to as u32 + 1 + if from.is_multiple_of(2) { 0 } else { BADGE }
    }
    fn fail(&mut self, me: usize, error: Error, delivery: bool) {
        let code = if delivery { Delivery::new(MessageKind::Failed, error as u32, 0, 0).0 } else { error as u32 };
        self.found[me] = Some([code, 0, 0, 0, 0]);
    }
    fn done(&mut self, me: usize) {
        // A status has three results behind it; the fifth register is nobody's.
        self.found[me] = Some([0; 5]);
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
        let [a, b, c] = words;
        self.found[to] = Some([Delivery::new(kind, badge, 3, 0).0, handle, a, b, c]);
    }
    fn send(&mut self, me: usize, to: usize, kind: MessageKind, words: [u32; 3]) {
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
            let at = self.senders[to].iter().position(|other| self.priority[*other] < priority).unwrap_or(self.senders[to].len());
            self.senders[to].insert(at, me);
        }
    }
    fn reply(&mut self, me: usize, handle: u32, words: [u32; 3]) -> Result<(), Error> {
        let waits = |t: &usize| matches!(self.state[*t], State::Reply(server) if same_space(server, me)) && self.handle[*t] == handle;
        let caller = (0..THREADS).find(waits).ok_or(Error::BadHandle)?;
        let [a, b, c] = words;
        self.found[caller] = Some([Delivery::new(MessageKind::Reply, 0, 3, 0).0, 0, a, b, c]);
        self.wake(caller);
        Ok(())
    }
    fn receive(&mut self, me: usize, from: Option<usize>) {
        // Bit 0 is accepted by all.
        if self.signals[me] & 1 != 0 {
            self.signals[me] &= !1;
            self.found[me] = Some([Delivery::new(MessageKind::Notification, 0, 1, 0).0, 0, 1, 0, 0]);
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
            self.found[to] = Some([Delivery::new(MessageKind::Notification, 0, 1, 0).0, 0, 1, 0, 0]);
            self.wake(to);
        }
    }
    fn top(&self) -> Option<u32> {
        self.queues.iter().rev().find(|(_, queue)| !queue.is_empty()).map(|(priority, _)| *priority)
    }
    fn queue(&mut self, thread: usize, front: bool) {
        let queue = self.queues.entry(self.priority[thread]).or_default();
        if front { queue.push_front(thread) } else { queue.push_back(thread) }
    }
    /// Who runs next: a woken thread only if it is more urgent, or this one waits.
    fn settle(&mut self) {
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
        self.current = self.top().and_then(|top| self.queues.get_mut(&top).and_then(VecDeque::pop_front));
    }
}

fn state_of(kernel: &Kernel<Host>, threads: &[Ref<Thread>], thread: usize) -> State {
    let t = &kernel.pool[threads[thread]];
    let partner = || threads.iter().position(|other| t.partner.is(*other)).expect("a partner of the test");
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
fn set_up(priorities: &[u32]) -> (Kernel<Host>, Vec<Ref<Thread>>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    let other = FIRST + 2 * THREADS as u32;
    let k = &mut kernel;
    assert_eq!(call(k, Op::CreateSpace, [slot::QUOTA, 128, other, 0])[0], 0);
    let spaces = [slot::SPACE, other];
    let originals = FIRST + THREADS as u32;
    for (i, priority) in (0..).zip(priorities) {
        let original = originals + i;
        assert_eq!(call(k, Op::CreateThread, [slot::QUOTA, spaces[i as usize % 2], original, 0])[0], 0);
        assert_eq!(call(k, Op::SetPriority, [original, *priority, 100, 0])[0], 0);
        let rights = Rights::CALL.0 | Rights::NOTIFY.0;
        assert_eq!(call(k, Op::Copy, [original, 0, FIRST + i, rights | (i + 1) << 12])[0], 0);
        assert_eq!(call(k, Op::Copy, [original, other, FIRST + i, rights | (i + 1 + BADGE) << 12])[0], 0);
    }
    let threads: Vec<Ref<Thread>> =
        (0..THREADS as u32).map(|i| kernel.pool[kcore::Space::slot(root, originals + i)].object::<Thread>()).collect();
    for (i, thread) in (0..).zip(&threads) {
        let accept = kernel.pool[*thread].utcb + core::mem::offset_of!(abi::utcb::Utcb, accept) as u32;
        kernel.pool.bytes_mut(accept, 4).copy_from_slice(&1_u32.to_ne_bytes());
        assert_eq!(call(&mut kernel, Op::Start, [originals + i, 0x40_0000, 0x50_0000, 0])[0], 0);
    }
    call(&mut kernel, Op::Stop, [slot::THREAD, 0, 0, 0]);
    (kernel, threads)
}

fn check(kernel: &mut Kernel<Host>, model: &mut Model, threads: &[Ref<Thread>]) {
    let current = kernel.current().map(|current| threads.iter().position(|t| *t == current).expect("a thread of the test"));
    assert_eq!(current, model.current, "who runs");
    for i in 0..THREADS {
        assert_eq!(state_of(kernel, threads, i), model.state[i], "thread {i}");
        assert_eq!(kernel.pool[threads[i]].signals, model.signals[i], "bits of thread {i}");
    }
    if let Some(me) = current
        && let Some(expected) = model.found[me].take()
    {
        let found = results(&kernel.pool[threads[me]]);
        let registers = if Delivery(expected[0]).kind() == MessageKind::Call && expected[0] < 32 { 4 } else { 5 };
        assert_eq!(found[..registers], expected[..registers], "what thread {me} finds");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn messages_go_as_the_model_says(priorities in prop::collection::vec(10u32..13, THREADS), steps in prop::collection::vec(any::<[u32; 3]>(), 1..150)) {
        let (mut kernel, threads) = set_up(&priorities);
        let mut model = Model {
            state: vec![State::Ready; THREADS],
            priority: priorities,
            message: vec![(MessageKind::Send, 0, [0; 3]); THREADS],
            senders: vec![Vec::new(); THREADS],
            handle: threads.iter().map(|t| kernel.pool[*t].handle).collect(),
            signals: vec![0; THREADS],
            found: vec![None; THREADS],
            queues: BTreeMap::new(),
            current: None,
            woken: None,
        };
        (0..THREADS).for_each(|i| model.queue(i, false));
        model.settle();
        check(&mut kernel, &mut model, &threads);
        for [what, a, b] in steps {
            let Some(me) = model.current else { break };
            let to = a as usize % THREADS;
            let words = [what, a, b];
            // Mostly a handle that somebody waits under.
            let waiting: Vec<usize> = (0..THREADS).filter(|t| matches!(model.state[*t], State::Reply(_))).collect();
            let good = waiting.get(a as usize % waiting.len().max(1)).map_or(0, |t| model.handle[*t]);
            let handle = match b % 8 {
                0 => b,
                1 => good.wrapping_sub(SEQUENCE),
                _ => good,
            };
            let (op, first) = match what % 16 {
                0..=3 => (Op::Call, FIRST + to as u32),
                4..=5 => (Op::Send, FIRST + to as u32),
                6..=8 => (Op::Receive, 0),
                9 => (Op::Receive, FIRST + to as u32),
                10..=11 => (Op::Reply, handle),
                12..=14 => (Op::ReplyWait, handle),
                _ => (Op::Notify, FIRST + to as u32),
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
                    // The receive that follows may wake a second thread: the more urgent is offered the processor.
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
            model.settle();
            set_arguments(&mut kernel.pool[threads[me]], [Tag::new(op, 3, 0).0, first, words[0], words[1], words[2]]);
            kernel.system_call();
            check(&mut kernel, &mut model, &threads);
        }
    }
}
