// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address spaces: what their tables say. QEMU reads the tables of the core themselves. It has no
//! tags, so the TLB is emptied at each switch, and has translations of the space that runs.

use abi::UserAddr;
use alpha_context::{hw, tag};
use kcore::{Space, Table};
use mmu::Format;
use mmu::alpha::Alpha as Tables;
use pool::{Pool, Ref};

/// The tag of all spaces: the fast path goes to no space that has none.
const TAG: u64 = tag(1);

/// A space was made.
pub fn created(pool: &mut Pool, space: Ref<Space>) {
    let top = pool[space].region.top.value();
    let words = &mut pool[space].hw;
    (words[hw::TABLE], words[hw::TABLE + 1]) = (top, 0);
    (words[hw::TAG], words[hw::TAG + 1]) = (TAG as u32, (TAG >> 32) as u32);
}

/// Whether the tables of a space have a page at an address, by whatever rights.
pub fn is_there(pool: &Pool, space: Ref<Space>, address: UserAddr) -> bool {
    entries(pool, space, address).is_some_and(|(_, leaf)| Tables::decode(leaf).is_some())
}

/// The entry of a space's directory for an address, and that of its leaf table.
pub fn entries(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<(u64, u64)> {
    if address.0 >= abi::USER_END {
        return None;
    }
    let number = Tables::table_index(address);
    let mut table: Ref<Table> = pool[space].region.top.get()?;
    let mut entry = 0;
    for level in (1..Tables::LEVELS).rev() {
        let index = number / Tables::tables_of_entry(level) % Tables::ENTRIES;
        entry = *pool[table].entries::<Tables>().get(index)?;
        table = Ref::new(Tables::decode_table(entry)?.0.0 as u32);
    }
    let leaf = pool[table].entries::<Tables>().get(Tables::leaf_index(address))?;
    Some((entry, *leaf))
}
