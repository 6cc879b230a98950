// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel refuses on a processor that cannot lock lines of a cache.

use crate::{ADDRESS, Bed, Case, PAGE, SPACE, Why, check, fails, good};
use abi::{CacheOp, Error, MapRecord};
use macadamia::map::Batch;

/// The cases.
pub const CASES: &[Case] = &[
    ("lines_are_not_locked", |_| {
        fails(SPACE.cache(ADDRESS, PAGE, CacheOp::Lock), Error::Unsupported)
    }),
    ("lines_are_not_locked_by_a_batch", not_by_a_batch),
];

fn not_by_a_batch(_: &mut Bed) -> Result<(), Why> {
    let mut batch = Batch::new();
    good(batch.push(MapRecord::cache(CacheOp::Clean, SPACE.0, ADDRESS, PAGE)))?;
    good(batch.push(MapRecord::cache(CacheOp::Lock, SPACE.0, ADDRESS, PAGE)))?;
    check("the second of two is refused", batch.commit() == Err((1, Error::Unsupported)))
}
