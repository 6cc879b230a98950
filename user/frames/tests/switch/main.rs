// SPDX-License-Identifier: MIT OR Apache-2.0
//! The switch and its rings: cases, and random acts.

mod net;
mod random;

use frames::{Address, CARD, Layout, Shared, Switch};
use image::protocol::net::*;
use net::*;
use std::ops::Range;

#[test]
fn clients_have_addresses_of_their_own() {
    assert_eq!(given(1), CARDS);
    assert_eq!(given(2), Address([0x52, 0x54, 0, 0x12, 0x35, 0]), "it carries");
    assert_eq!(Address([0, 1, 2, 3, 4, 5]).of_client(3), Address([2, 1, 2, 3, 4, 7]));
    assert_eq!(given(2).to_string(), "52:54:00:12:35:00");
}

#[test]
fn rings_need_room() {
    assert_eq!(Layout::of(ENTRIES + 2 * SLOT + 4 * ENTRY - 1), None);
    assert_eq!(Layout::of(0), None);
    assert_eq!(Layout::of(BYTES).map(Layout::slots), Some(RING));
    assert!(
        Switch::new(vec![Memory::new(RING); 20]).is_some()
            && Switch::new(vec![Memory::new(RING); 21]).is_none()
    );
    assert_eq!(Layout::of(ENTRIES + 7 * (2 * SLOT + 4 * ENTRY)).map(Layout::slots), Some(4));
    assert_eq!(Layout::of(u32::MAX).map(Layout::slots), Some(1024));
}

#[test]
fn who_is_not_known_is_behind_the_card() {
    let mut net = Net::new(3);
    let stranger = Address([2, 9, 9, 9, 9, 9]);
    assert!(net.clients[1].send(&frame(stranger, given(1), 1, 60)));
    net.settle();
    assert!(net.clients[CARD].receive().is_some() && net.clients[2].receive().is_none());
    // From there it answers; from another port it is not believed.
    assert!(net.clients[CARD].send(&frame(given(1), stranger, 2, 60)));
    net.settle();
    assert!(net.clients[1].receive().is_some());
    assert!(
        net.clients[2].send(&frame(given(1), stranger, 3, 60))
            && net.clients[2].send(&frame(EVERYBODY, given(1), 4, 60))
    );
    net.settle();
    assert!(net.clients[1].receive().is_none() && net.clients[CARD].receive().is_none());
    let counters = net.switch.counters(2).expect("a port");
    assert_eq!((counters.refused, counters.get(6), counters.get(8)), (2, Some(2), None));
    // Nor if the card's driver is attached again.
    net.attach(CARD);
    assert!(net.clients[2].send(&frame(given(1), stranger, 5, 60)));
    net.settle();
    assert!(net.clients[1].receive().is_none());
}

/// Those are numbers: their last two bytes.
fn others(number: u32) -> Address {
    let [.., a, b] = number.to_be_bytes();
    Address([2, 9, 9, 9, a, b])
}

#[test]
fn a_client_has_the_address_that_it_was_given_and_no_other() {
    let mut net = Net::new(3);
    let names = Address([0x52, 0x55, 10, 0, 2, 3]);
    // Not that of a host behind the card, though that has sent nothing yet; nor any of hosts that
    // there are not.
    let all: Vec<Address> = (0..300).map(others).chain([names]).collect();
    for from in &all {
        assert!(net.clients[2].send(&frame(EVERYBODY, *from, 0, 60)));
        net.settle();
    }
    assert_eq!(net.switch.counters(2).expect("a port").refused, 301);
    assert!(net.clients[1].receive().is_none() && net.clients[CARD].receive().is_none());
    for from in all {
        assert!(net.clients[CARD].send(&frame(given(1), from, 1, 60)));
        net.settle();
        assert!(net.clients[1].receive().is_some(), "it answers by the card");
    }
    // No host behind the card has what the switch gave.
    assert!(net.clients[CARD].send(&frame(given(1), given(2), 2, 60)));
    net.settle();
    assert!(net.clients[1].receive().is_none());
}

#[test]
fn a_client_that_bridges_has_others_behind_it() {
    let mut net = Net::new(4);
    net.switch.let_bridge(1);
    net.switch.let_bridge(2);
    let inner = others(1);
    assert!(net.clients[1].send(&frame(given(3), inner, 0, 60)));
    net.settle();
    assert!(
        net.clients[3].receive().is_some() && net.clients[3].send(&frame(inner, given(3), 1, 60))
    );
    // It is not another one's, ...
    assert!(
        net.clients[2].send(&frame(given(3), inner, 2, 60))
            && net.clients[3].send(&frame(inner, given(3), 3, 60))
    );
    net.settle();
    assert!(
        (0..2).all(|_| net.clients[1].receive().is_some()) && net.clients[2].receive().is_none()
    );
    assert!(net.clients[3].receive().is_none());
    // ... unless it is behind the card, which has it from its first frame on, and keeps it.
    assert!(net.clients[CARD].send(&frame(given(3), inner, 4, 60)));
    net.settle();
    assert!(
        net.clients[1].send(&frame(given(3), inner, 5, 60))
            && net.clients[3].send(&frame(inner, given(3), 6, 60))
    );
    net.settle();
    assert!(net.clients[3].receive().is_some() && net.clients[3].receive().is_none());
    assert!(net.clients[CARD].receive().is_some() && net.clients[1].receive().is_none());
    assert_eq!([1, 2].map(|port| net.switch.counters(port).expect("a port").refused), [1, 1]);
    // What was given to others it cannot have.
    assert!(net.clients[1].send(&frame(EVERYBODY, given(3), 7, 60)));
    net.settle();
    assert!(net.clients[CARD].receive().is_none());
    // What it used is free when it is attached again.
    let moved = others(2);
    assert!(net.clients[1].send(&frame(given(2), moved, 8, 60)));
    net.settle();
    net.attach(1);
    assert!(
        net.clients[2].receive().is_some() && net.clients[2].send(&frame(given(1), moved, 9, 60))
    );
    net.settle();
    assert!(net.clients[1].receive().is_some());
}

#[test]
fn a_client_that_takes_nothing_loses_its_own_frames_only() {
    let mut net = Net::new(3);
    for number in 0..4 * RING {
        assert!(net.clients[CARD].send(&frame(
            EVERYBODY,
            Address([2, 0, 0, 0, 0, 1]),
            number,
            100
        )));
        net.settle();
        let got = net.clients[2].receive().expect("every frame");
        assert_eq!(got, frame(EVERYBODY, Address([2, 0, 0, 0, 0, 1]), number, 100));
    }
    assert_eq!(net.switch.counters(1).expect("a port").lost, u64::from(3 * RING));
    assert_eq!(net.switch.counters(2).expect("a port").lost, 0);
}

#[test]
fn a_card_that_is_slow_is_waited_for_and_one_that_is_stuck_is_not() {
    let mut net = Net::new(3);
    let out = Address([2, 9, 9, 9, 9, 9]);
    for number in 0..RING {
        assert!(net.clients[1].send(&frame(out, given(1), number, 60)));
    }
    assert!(net.switch.round(0).look.is_none());
    assert!(
        net.clients[1].send(&frame(out, given(1), RING, 60))
            && net.clients[1].send(&frame(given(2), given(1), RING + 1, 60))
    );
    let outcome = net.switch.round(0);
    assert!(outcome.look.is_some() && !outcome.again);
    // Another client's frames go on, and it is heard.
    assert!(net.clients[2].send(&frame(given(1), given(2), 0, 60)));
    net.settle();
    assert!(net.clients[1].receive().is_some() && net.clients[2].receive().is_none());
    // The driver makes room, and is asked to say so.
    assert!(net.clients[CARD].receive().is_some());
    net.settle();
    assert!(net.clients[2].receive().is_some(), "the frame after it");
    (1..=RING).for_each(|_| assert!(net.clients[CARD].receive().is_some()));
    assert!(net.clients[CARD].receive().is_none());
    // It does no more.
    for number in 0..RING {
        assert!(net.clients[1].send(&frame(out, given(1), number, 60)));
    }
    net.settle();
    assert!(
        net.clients[1].send(&frame(out, given(1), 0, 60))
            && net.clients[1].send(&frame(given(2), given(1), 1, 60))
    );
    assert!(net.switch.round(5).look.is_some());
    assert!(net.switch.round(1_000_000_004).look.is_some());
    assert!(net.switch.round(1_000_000_005).look.is_none());
    assert!(net.clients[2].receive().is_some());
    assert_eq!(net.switch.counters(CARD).expect("a port").lost, 1);
}

#[test]
fn a_client_that_takes_nothing_delays_who_sends_to_it_for_a_while() {
    let mut net = Net::new(4);
    for number in 0..RING {
        assert!(net.clients[1].send(&frame(given(2), given(1), number, 60)));
    }
    assert!(net.switch.round(0).look.is_none());
    assert!(
        net.clients[1].send(&frame(given(2), given(1), RING, 60))
            && net.clients[1].send(&frame(given(3), given(1), RING + 1, 60))
    );
    assert!(net.switch.round(7).look.is_some() && net.clients[3].receive().is_none());
    // Others do not notice.
    assert!(
        net.clients[3].send(&frame(given(1), given(3), 0, 60))
            && net.clients[CARD].send(&frame(given(3), own(CARD), 1, 60))
    );
    assert!(net.switch.round(8).look.is_some());
    assert!(net.clients[1].receive().is_some() && net.clients[3].receive().is_some());
    // Nor if the card has something for it, or somebody has for all.
    assert!(
        net.clients[CARD].send(&frame(given(2), own(CARD), 2, 60))
            && net.clients[3].send(&frame(EVERYBODY, given(3), 3, 60))
    );
    assert!(net.switch.round(9).look.is_some());
    assert!(net.clients[1].receive().is_some() && net.clients[CARD].receive().is_some());
    assert_eq!(net.switch.counters(2).expect("a port").lost, 2);
    // It makes room in time, and is asked to say so.
    assert!(net.clients[2].receive().is_some());
    net.settle();
    assert!(net.clients[3].receive().is_some(), "the frame after it");
    // It does no more.
    assert!(
        net.clients[1].send(&frame(given(2), given(1), 0, 60))
            && net.clients[1].send(&frame(given(3), given(1), 1, 60))
    );
    assert!(
        net.switch.round(10).look.is_some()
            && net.switch.round(20_000_009).look.is_some()
            && net.switch.round(20_000_010).look.is_none()
    );
    assert!(net.clients[3].receive().is_some());
    assert_eq!(net.switch.counters(2).expect("a port").lost, 3);
    // It is not waited for again, not for a slot that it gives back now and then, nor because it
    // attaches, ...
    let next = |net: &mut Net, lost: u64| {
        for number in 0..=RING {
            let _ = net.clients[1].send(&frame(given(2), given(1), number, 60));
            assert!(net.switch.round(20_000_011).look.is_none());
        }
        assert_eq!(net.switch.counters(2).expect("a port").lost, lost);
    };
    assert!(net.clients[2].receive().is_some());
    next(&mut net, 3 + u64::from(RING));
    net.attach(2);
    next(&mut net, 4 + u64::from(RING));
    // ... before it goes on.
    for _ in 0..RING / 4 {
        assert!(net.clients[2].receive().is_some());
    }
    for number in 0..=RING / 4 {
        assert!(net.clients[1].send(&frame(given(2), given(1), number, 60)));
    }
    assert!(net.switch.round(20_000_012).look.is_some());
    // What others send to it, and what it answers, does not make the wait longer.
    for now in 20_000_013..20_000_020 {
        assert!(
            net.clients[3].send(&frame(given(1), given(3), 0, 60))
                && net.switch.round(now).look.is_some()
        );
        assert!(net.clients[1].receive().is_some());
    }
    assert!(
        net.switch.round(40_000_011).look.is_some() && net.switch.round(40_000_012).look.is_none()
    );
}

#[test]
fn what_the_card_has_received_waits_for_who_reads() {
    let mut net = Net::with(3, 128);
    let send = |net: &mut Net, numbers: Range<u32>| {
        numbers.for_each(|number| assert!(net.clients[CARD].send(&long(1, number))))
    };
    let is_next =
        |net: &mut Net, number| assert_eq!(net.clients[1].receive(), Some(long(1, number)));
    send(&mut net, 0..30);
    net.settle();
    assert_eq!(filled(&mut net, 1), 13);
    // Others do not wait, and the card gets their slots; what is after the first one has its turn.
    assert!(
        net.clients[CARD].send(&long(2, 0))
            && net.clients[CARD].send(&frame(given(1), own(CARD), 30, 60))
    );
    net.settle();
    assert!(net.clients[2].receive().is_some());
    let card = &mut net.clients[CARD];
    assert_eq!(card.output.room(&card.memory), Ok(128 - 18));
    // For each that it has read it is given one more, as it is asked to say so.
    for (read, given) in [(0..3, 16), (3..16, 29)] {
        read.for_each(|number| is_next(&mut net, number));
        net.settle();
        assert_eq!(net.switch.counters(1).expect("a port").given, given);
    }
    (16..29).for_each(|number| is_next(&mut net, number));
    assert!(net.clients[1].receive().is_none() && net.switch.round(1).look.is_none());
    (29..30).for_each(|number| is_next(&mut net, number));
    assert_eq!(net.clients[1].receive(), Some(frame(given(1), own(CARD), 30, 60)));
    // It does not: it is given all the same, after a while, and then at once.
    send(&mut net, 0..40);
    assert_eq!(net.switch.round(5).look, Some(1_000_005));
    assert_eq!(net.switch.round(1_000_004).look, Some(1_000_005));
    assert_eq!(net.switch.round(1_000_005).look, None);
    send(&mut net, 40..60);
    assert_eq!(net.switch.round(1_000_006).look, None);
    // Once it reads that is not held against it: it may have what another of its programs does not
    // read.
    (0..2).for_each(|number| is_next(&mut net, number));
    send(&mut net, 60..80);
    assert_eq!(net.switch.round(1_000_007).look, Some(2_000_007));
    (2..80).for_each(|number| {
        is_next(&mut net, number);
        net.settle();
    });
    // More than a quarter of the card's slots does not wait.
    send(&mut net, 0..80);
    net.settle();
    assert!(net.switch.round(0).look.is_some());
    assert_eq!(net.clients[CARD].output.room(&net.memories[CARD]), Ok(128 - 32));
    // Who begins again has lost it; the card gets the slots.
    net.attach(1);
    net.settle();
    assert_eq!(net.clients[CARD].output.room(&net.memories[CARD]), Ok(128));
    assert_eq!(net.switch.counters(1).expect("a port").lost, 32);
    // So it has if the card does.
    send(&mut net, 0..40);
    net.settle();
    net.attach(CARD);
    net.settle();
    assert_eq!(filled(&mut net, 1), 13);
    assert!(net.clients[CARD].send(&long(1, 99)));
    (0..13).for_each(|number| is_next(&mut net, number));
    net.settle();
    is_next(&mut net, 99);
    // What the driver makes of a frame that waits harms nobody.
    send(&mut net, 0..40);
    net.settle();
    (0..128).for_each(|slot| {
        net.memories[CARD]
            .write(Layout::of(bytes(128)).expect("room").first() + (128 + slot) * SLOT, u32::MAX)
    });
    (0..13).for_each(|number| is_next(&mut net, number));
    net.settle();
    assert!(net.clients[1].receive().is_none());
    assert_eq!(net.switch.counters(CARD).expect("a port").malformed, 27);
}

/// The card's driver need not bring more as long as each client has much to read; it learns that by
/// slots that it does not get back, and gets them before it has to bring more.
#[test]
fn the_card_is_waited_for_unless_each_client_has_enough() {
    let mut net = Net::with(3, 64);
    let waits = |net: &Net| net.clients[CARD].output.is_awaited(&net.memories[CARD]);
    let send = |net: &mut Net, to| {
        (0..24).for_each(|number| assert!(net.clients[CARD].send(&long(to, number))))
    };
    net.settle();
    assert!(waits(&net));
    send(&mut net, 1);
    net.settle();
    assert!(waits(&net), "the other client is to be given what is for it");
    send(&mut net, 2);
    net.settle();
    assert!(!waits(&net));
    let card = &mut net.clients[CARD];
    assert_eq!(
        (card.output.room(&card.memory), card.output.wait(&card.memory)),
        (Ok(64 - 22 - 13), Ok(true))
    );
    let read =
        |net: &mut Net, count| (0..count).for_each(|_| assert!(net.clients[1].receive().is_some()));
    read(&mut net, 8);
    assert!(net.switch.round(0).look.is_some() && !waits(&net), "it has as much again");
    read(&mut net, 4);
    let outcome = net.switch.round(0);
    assert!(waits(&net) && outcome.notify >> CARD & 1 != 0);
    let card = &mut net.clients[CARD];
    assert_eq!(card.output.room(&card.memory), Ok(64 - 11));
}

/// Who always has enough, and reads all the same, does not keep the card's slots: no more than half
/// of them are held back.
#[test]
fn slots_that_are_held_back_are_not_too_many() {
    let mut net = Net::with(2, 64);
    (0..20).for_each(|number| assert!(net.clients[CARD].send(&long(1, number))));
    net.settle();
    for number in 0..200 {
        assert_eq!(net.clients[1].receive(), Some(long(1, number)));
        net.settle();
        assert!(!net.clients[CARD].output.is_awaited(&net.memories[CARD]), "it has enough");
        assert!(net.clients[CARD].send(&long(1, number + 20)), "no slot after {number} frames");
        net.settle();
    }
}

/// Large frames go whole from one client that takes them to another, and to nobody else.
#[test]
fn large_frames_are_for_who_takes_them() {
    const LONG: usize = 3 * MOST_BYTES as usize + 5;
    let mut net = Net::new(4);
    let addresses = |memory: &Memory| memory.read(NEIGHBOURS);
    for port in [1, 2] {
        net.switch.attach(port, Some(given(port)), true);
        net.clients[port] = Client::new(&net.memories[port]);
    }
    assert_eq!([1, 2, 3].map(|port| addresses(&net.memories[port])), [2, 2, 0]);
    assert_eq!(
        [0, 4].map(|at| net.memories[1].read(NEIGHBOURS + 4 + NEIGHBOUR + at)),
        given(2).words()
    );
    let header = [7, 8, 9];
    let send = |net: &mut Net, to: Address, from: usize, number: u32, bytes: usize| {
        let frame = frame(to, given(from), number, bytes);
        let client = &mut net.clients[from];
        assert!(
            client.output.room(&client.memory).expect("sound")
                >= frame.len().div_ceil(MOST_BYTES as usize) as u32
        );
        for (part, bytes) in frame.chunks(MOST_BYTES as usize).enumerate() {
            let slot = client.output.take().expect("room");
            if part == 0 {
                client.memory.write(slot, frame.len() as u32);
                (0..).zip(header).for_each(|(word, value)| {
                    client.memory.write(slot + SLOT_OWN + word * 4, value)
                });
            }
            client.memory.put(slot + SLOT_FRAME, bytes);
            client.output.push(&client.memory, slot);
        }
        let _ = client.output.publish(&client.memory);
        net.settle();
        frame
    };
    for number in 0..20 {
        let frame = send(&mut net, given(2), 1, number, LONG);
        let client = &mut net.clients[2];
        assert_eq!(client.input.available(&client.memory), Ok(4));
        let slots: Vec<u32> =
            (0..4).map(|part| client.input.slot(&client.memory, part).expect("sound")).collect();
        assert_eq!(client.memory.read(slots[0]), LONG as u32);
        assert_eq!([0, 4, 8].map(|at| client.memory.read(slots[0] + SLOT_OWN + at)), header);
        let parts = slots.iter().zip(frame.chunks(MOST_BYTES as usize));
        for (slot, part) in parts {
            assert_eq!(client.memory.get(slot + SLOT_FRAME, part.len() as u32), part);
            client.input.take();
            client.input.give_back(&client.memory, *slot);
        }
        let _ = client.input.publish(&client.memory);
    }
    // A short one has the header, too; a client that takes none gets neither, and one that did not
    // say so can send none.
    send(&mut net, given(3), 1, 0, LONG);
    send(&mut net, given(3), 1, 1, 60);
    send(&mut net, Address([2, 9, 9, 9, 9, 9]), 1, 2, LONG);
    assert!(net.clients[3].receive().is_none() && net.clients[CARD].receive().is_none());
    assert_eq!([CARD, 3].map(|port| net.switch.counters(port).expect("a port").lost), [1, 2]);
    send(&mut net, given(1), 3, 3, 60);
    let client = &mut net.clients[1];
    let slot = client.input.slot(&client.memory, 0).expect("sound");
    assert_eq!(
        [0, 4, 8].map(|at| client.memory.read(slot + SLOT_OWN + at)),
        [0; 3],
        "no header of who may have none"
    );
    send(&mut net, given(1), 3, 4, LONG);
    assert_eq!(net.switch.counters(3).expect("a port").malformed, 4, "each of its slots");
    // One that is not there whole breaks the ring.
    let client = &mut net.clients[1];
    assert!(client.output.room(&client.memory).expect("sound") > 0);
    let slot = client.output.take().expect("room");
    client.memory.write(slot, LONG as u32);
    client.output.push(&client.memory, slot);
    let _ = client.output.publish(&client.memory);
    assert_eq!(net.switch.round(0).broken, 1 << 1);
}

#[test]
fn who_sleeps_is_notified_once() {
    let mut net = Net::new(2);
    net.settle();
    assert!(!net.clients[1].input.wait(&net.memories[1]).expect("sound"));
    for number in 0..3 {
        // The switch sleeps: the first frame wakes it.
        let client = &mut net.clients[CARD];
        assert!(client.output.room(&client.memory).expect("sound") > 0);
        client.put(&frame(given(1), Address([2, 0, 0, 0, 0, 1]), number, 60));
        assert_eq!(client.output.publish(&client.memory), number == 0);
    }
    assert_eq!(net.switch.round(0).notify, 1 << 1);
    assert!(net.clients[CARD].send(&frame(given(1), Address([2, 0, 0, 0, 0, 1]), 3, 60)));
    assert_eq!(net.switch.round(0).notify, 0, "it was notified, and has not slept since");
}

#[test]
fn who_breaks_its_ring_is_told_once() {
    let mut net = Net::new(3);
    net.memories[2].write(OUT + PRODUCED, RING + 1);
    assert_eq!(net.switch.round(0).broken, 1 << 2);
    assert_eq!(net.switch.round(0).broken, 0);
    net.attach(2);
    assert_eq!(net.switch.round(0).broken, 0);
    assert_eq!(net.switch.counters(2).expect("a port").broken, 1);
}

#[test]
fn an_address_flood_drives_out_nobody_else() {
    let mut net = Net::new(3);
    net.switch.let_bridge(2);
    let at_card = Address([2, 0, 0, 0, 0, 1]);
    assert!(net.clients[CARD].send(&frame(given(1), at_card, 0, 60)));
    for number in 0..2000_u32 {
        let [a, b, ..] = number.to_le_bytes();
        while !net.clients[2].send(&frame(given(1), Address([6, 0, 0, 0, a, b]), number, 60)) {
            net.settle();
            while net.clients[1].receive().is_some() {}
        }
    }
    net.settle();
    while net.clients[1].receive().is_some() {}
    assert!(
        net.clients[1].send(&frame(at_card, given(1), 0, 60))
            && net.clients[1].send(&frame(Address([6, 0, 0, 0, 207, 7]), given(1), 1, 60))
    );
    net.settle();
    assert!(net.clients[CARD].receive().is_some() && net.clients[CARD].receive().is_none());
    assert!(net.clients[2].receive().is_some(), "the last one that it used");
}
