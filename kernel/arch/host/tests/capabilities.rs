// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capability tables and quotas against a naive model: a plain list of nodes with parents.

use crate::common;

use abi::{Kind, Op, PAGE_SIZE, Rights, Word};
use arch_host::{Host, boot};
use common::{PAGE, call, derive, low, named, seed, slot, slot_of, used};
use kcore::{Kernel, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Slots of the root server's table that this plays with, and of every other table.
const FIRST: Word = slot::FREE;
const SLOTS: Word = 16;
/// A slot that no table here has; the kernel rounds their sizes up.
const BEYOND: Word = 1000;

/// A capability of the model. A table is named by its Space's object; 0 is the root server's.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    table: u32,
    slot: Word,
    parent: Option<u32>,
    id: u32,
    object: u32,
    original: bool,
    kind: Kind,
    rights: u32,
    badge: u32,
}

/// All capabilities, and the object numbers given out so far.
#[derive(Default)]
struct Model {
    nodes: Vec<Node>,
    next: u32,
}

impl Model {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
    fn at(&self, table: u32, slot: Word) -> Option<&Node> {
        self.nodes.iter().find(|n| n.table == table && n.slot == slot)
    }
    fn add(
        &mut self,
        table: u32,
        slot: Word,
        parent: Option<u32>,
        like: (u32, bool, Kind, u32, u32),
    ) {
        let id = self.fresh();
        let (object, original, kind, rights, badge) = like;
        self.nodes.push(Node { table, slot, parent, id, object, original, kind, rights, badge });
    }
    /// A node, what derives from it, and, if it is an original, what its object holds.
    fn remove(&mut self, id: u32) {
        let Some(node) = self.nodes.iter().find(|n| n.id == id).cloned() else { return };
        self.remove_children(id);
        self.nodes.retain(|n| n.id != id);
        if node.original && node.kind == Kind::Space {
            while let Some(inside) =
                self.nodes.iter().find(|n| n.table == node.object).map(|n| n.id)
            {
                self.remove(inside);
            }
        }
    }
    fn remove_children(&mut self, id: u32) {
        while let Some(child) = self.nodes.iter().find(|n| n.parent == Some(id)).map(|n| n.id) {
            self.remove(child);
        }
    }
}

/// Which Space's table each object number stands for.
fn table(
    kernel: &Kernel<Host>,
    model: &Model,
    root: Ref<Space>,
    object: u32,
) -> Option<Ref<Space>> {
    if object == 0 {
        return Some(root);
    }
    let original = model.nodes.iter().find(|n| n.original && n.object == object)?;
    Some(named(kernel, root, original.slot))
}

fn compare(kernel: &Kernel<Host>, model: &Model, root: Ref<Space>) {
    let tables: Vec<u32> = [0]
        .into_iter()
        .chain(model.nodes.iter().filter(|n| n.original && n.kind == Kind::Space).map(|n| n.object))
        .collect();
    for object in tables {
        let space = table(kernel, model, root, object).expect("a table of the model");
        let range = if object == 0 { FIRST..FIRST + SLOTS } else { 1..SLOTS };
        for slot in range {
            let found = slot_of(kernel, space, slot);
            let found =
                (!found.is_empty()).then(|| (found.kind(), found.rights().0, found.badge()));
            let expected = model.at(object, slot).map(|n| (n.kind, n.rights, n.badge));
            assert_eq!(found, expected, "slot {slot} of table {object}");
        }
    }
}

/// What one step's four random numbers mean.
fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 4]) {
    let [what, a, b, c] = numbers;
    let (a, b) = (FIRST + a % SLOTS, FIRST + b % SLOTS);
    let source = model.at(0, a).cloned();
    let free = model.at(0, b).is_none();
    match what % 9 {
        0 if free => {
            let object = model.fresh();
            assert_eq!(call(kernel, Op::CreateSpace, [slot::QUOTA, SLOTS, b, 0])[0], 0);
            model.add(0, b, None, (object, true, Kind::Space, Rights::of(Kind::Space).0, 0));
        }
        1 if free => {
            let object = model.fresh();
            assert_eq!(call(kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, b, 0])[0], 0);
            model.add(0, b, None, (object, true, Kind::Thread, Rights::of(Kind::Thread).0, 0));
        }
        2 if free => {
            let object = model.fresh();
            assert_eq!(call(kernel, Op::CreateQuota, [slot::QUOTA, PAGE_SIZE, b, 0])[0], 0);
            model.add(0, b, None, (object, true, Kind::Quota, Rights::of(Kind::Quota).0, 0));
        }
        3 if free => {
            // A part of a Memory: of RAM, or of a part.
            let from =
                source.filter(|n| n.kind == Kind::Memory && n.rights & Rights::CONTROL.0 != 0);
            let (selector, parent, rights) = from
                .map_or((slot::RAM, None, Rights::of(Kind::Memory).0), |n| {
                    (a, Some(n.id), n.rights)
                });
            let object = model.fresh();
            assert_eq!(derive(kernel, selector, 0, PAGE_SIZE, b), 0);
            model.add(0, b, parent, (object, true, Kind::Memory, rights, 0));
        }
        4 => {
            assert_eq!(call(kernel, Op::Delete, [a, 0, 0, 0])[0] == 0, source.is_some());
            if let Some(node) = source {
                model.remove(node.id);
            }
        }
        5 => {
            assert_eq!(call(kernel, Op::Revoke, [a, 0, 0, 0])[0] == 0, source.is_some());
            if let Some(node) = source {
                model.remove_children(node.id);
            }
        }
        _ => copy(kernel, model, source, a, b, c),
    }
}

/// To the own table, or to that of a Space which slot `b` names, if it may be used.
fn copy(
    kernel: &mut Kernel<Host>,
    model: &mut Model,
    source: Option<Node>,
    a: Word,
    b: Word,
    c: Word,
) {
    let away = model
        .at(0, b)
        .filter(|n| n.kind == Kind::Space && n.rights & Rights::CONTROL.0 != 0)
        .map(|n| n.object);
    let (target, to, selector) = match away {
        Some(object) => (object, if c.is_multiple_of(11) { BEYOND } else { c % SLOTS }, b),
        None => (0, b, 0),
    };
    let what = low(c);
    let (rights, badge) = (what & 63, if what & 64 == 0 { 0 } else { what >> 12 });
    let outside = to == 0 || (target != 0 && to == BEYOND);
    let occupied = outside || model.at(target, to).is_some();
    let status = call(kernel, Op::Copy, [a, selector, to, (rights | badge << 12) as Word])[0];
    let badge_is_wrong = |n: &Node| badge != 0 && (n.badge != 0 || n.kind != Kind::Thread);
    // Deeper than the limit these few slots cannot go.
    let good = source.as_ref().is_some_and(|n| !badge_is_wrong(n)) && !occupied;
    assert_eq!(status == 0, good, "copy of {source:?} to {to} of {target}: status {status}");
    if let Some(n) = source.filter(|_| good) {
        let badge = if badge == 0 { n.badge } else { badge };
        model.add(target, to, Some(n.id), (n.object, false, n.kind, n.rights & rights, badge));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn tables_are_what_the_model_says(steps in prop::collection::vec(any::<[Word; 4]>(), 1..120)) {
        let mut kernel = boot();
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let before = used(&mut kernel);
        let mut model = Model::default();
        for numbers in steps {
            step(&mut kernel, &mut model, numbers);
            compare(&kernel, &model, root);
        }
        for slot in FIRST..FIRST + SLOTS {
            call(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        // The UTCB page of the first thread made in the root server's space stays with that.
        prop_assert!(used(&mut kernel) <= before + PAGE, "all was deleted and {} bytes stayed", used(&mut kernel) - before);
    }
}
