// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces of RAM against a map of who has which page.

use free_ram::{Free, Place, Range, parts};
use proptest::prelude::*;

const PAGE: u64 = 4096;
/// Areas of RAM: first page, and pages.
const AREAS: [(u64, u64); 2] = [(3, 21), (40, 24)];

/// The free pages of each area.
type Map = [Vec<bool>; 2];

fn all() -> Free {
    let mut free = Free::new();
    for (area, (first, pages)) in (0..).zip(AREAS) {
        free.give(Range { area, start: first * PAGE, bytes: pages * PAGE });
    }
    free
}

/// The piece that is to be taken: of all places that are free the last one that is allowed; but of
/// the last free range that has one, which is the same, as ranges are in order.
fn expected(map: &Map, pages: u64, place: Place) -> Option<(u32, u64)> {
    let places = (0..2_u32).flat_map(|area| {
        let (first, count) = AREAS[area as usize];
        (first..first + count).map(move |page| (area, page))
    });
    let is_free = |area: u32, page: u64| {
        let (first, _) = AREAS[area as usize];
        page.checked_sub(first)
            .and_then(|page| map[area as usize].get(page as usize))
            .is_some_and(|free| *free)
    };
    places
        .filter(|(_, page)| page * PAGE % place.period == place.phase)
        .rfind(|(area, page)| pages > 0 && (*page..page + pages).all(|page| is_free(*area, page)))
}

fn set(map: &mut Map, (area, page): (u32, u64), pages: u64, free: bool) {
    let first = (page - AREAS[area as usize].0) as usize;
    for page in &mut map[area as usize][first..first + pages as usize] {
        assert_ne!(*page, free, "a page is given twice");
        *page = free;
    }
}

/// Runs of free pages.
fn runs(map: &Map) -> Vec<Range> {
    let mut runs: Vec<Range> = Vec::new();
    for (area, (first, _)) in (0_u32..).zip(AREAS) {
        for (page, _) in (first..).zip(&map[area as usize]).filter(|(_, free)| **free) {
            match runs.last_mut() {
                Some(run) if run.area == area && run.start + run.bytes == page * PAGE => {
                    run.bytes += PAGE;
                }
                _ => runs.push(Range { area, start: page * PAGE, bytes: PAGE }),
            }
        }
    }
    runs
}

proptest! {
    #[test]
    fn pieces_are_where_they_are_to_be(
        steps in proptest::collection::vec((0..4_u8, 0..6_u64, 0..4_u32, 0..8_u64), 1..80)
    ) {
        let (mut free, mut map) = (all(), AREAS.map(|(_, pages)| vec![true; pages as usize]));
        let mut taken: Vec<Range> = Vec::new();
        for (what, pages, period, phase) in steps {
            if what == 0 && !taken.is_empty() {
                let piece = taken.swap_remove(phase as usize % taken.len());
                set(&mut map, (piece.area, piece.start / PAGE), piece.bytes / PAGE, true);
                free.give(piece);
            } else {
                let period = PAGE << period;
                let place = Place { period, phase: phase * PAGE % period };
                let piece = free.take(pages * PAGE, place);
                let found = piece.map(|piece| (piece.area, piece.start / PAGE));
                prop_assert_eq!(found, expected(&map, pages, place));
                if let Some(piece) = piece {
                    prop_assert_eq!(piece.bytes, pages * PAGE);
                    set(&mut map, (piece.area, piece.start / PAGE), pages, false);
                    taken.push(piece);
                }
            }
            prop_assert_eq!(free.ranges(), runs(&map));
        }
        taken.into_iter().for_each(|piece| free.give(piece));
        let whole = all();
        prop_assert_eq!(free.ranges(), whole.ranges());
    }

    /// Two memories whose colours differ: no frame of one lies where a frame of the other does in a
    /// cache of so many colours. What cannot be had is not taken.
    #[test]
    fn colours_have_no_set_of_a_cache_in_common(
        split in 1..8_u64,
        wanted in proptest::collection::vec((any::<bool>(), 1..20_u64), 1..8),
    ) {
        const OF: u64 = 8;
        let mut free = all();
        let mut taken: Vec<(bool, Range)> = Vec::new();
        for (lower, pages) in wanted {
            let colours = if lower { 0..split } else { split..OF };
            let place = Place { period: OF * PAGE, phase: colours.start * PAGE };
            let (before, run) = (free.ranges().to_vec(), (colours.end - colours.start) * PAGE);
            let Some(pieces) = free.take_pieces(pages * PAGE, run, place) else {
                prop_assert_eq!(free.ranges(), before);
                continue;
            };
            prop_assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<u64>(), pages * PAGE);
            let (_, whole) = pieces.split_last().expect("a piece");
            prop_assert!(whole.iter().all(|piece| piece.bytes == run));
            taken.extend(pieces.into_iter().map(|piece| (lower, piece)));
        }
        for (lower, piece) in taken {
            let pages = piece.start / PAGE..(piece.start + piece.bytes) / PAGE;
            prop_assert!(pages.clone().all(|page| (page % OF < split) == lower), "{lower}: {pages:?}");
        }
    }

    #[test]
    fn parts_are_the_range(offset in 0..50_u64, bytes in 0..50_u64, piece in 1..20_u64) {
        let all: Vec<_> = parts(offset, bytes, piece).collect();
        let mut next = offset;
        for (number, from, bytes) in all {
            prop_assert_eq!(number * piece + from, next);
            prop_assert!(bytes > 0 && from + bytes <= piece);
            next += bytes;
        }
        prop_assert_eq!(next, offset + bytes);
    }
}
