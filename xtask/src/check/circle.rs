// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a circle in a graph of arrows. It does not know what the arrows mean.

use std::collections::{BTreeMap, BTreeSet};

/// A circle of arrows, if there is one; the first is the last, too.
pub fn find<T: Ord + Clone>(arrows: &BTreeMap<T, BTreeSet<T>>) -> Option<Vec<T>> {
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|from| walk(arrows, from, &mut Vec::new(), &mut done))
}

/// Goes along the arrows until one comes that is on the way.
fn walk<T: Ord + Clone>(
    arrows: &BTreeMap<T, BTreeSet<T>>,
    from: &T,
    way: &mut Vec<T>,
    done: &mut BTreeSet<T>,
) -> Option<Vec<T>> {
    if let Some(at) = way.iter().position(|other| other == from) {
        return Some([&way[at..], std::slice::from_ref(from)].concat());
    }
    if !done.insert(from.clone()) {
        return None;
    }
    way.push(from.clone());
    let circle = arrows.get(from)?.iter().find_map(|next| walk(arrows, next, way, done));
    way.pop();
    circle
}
