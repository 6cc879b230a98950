// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables, and what the processor has of them.

use crate::{Charge, Segment, Space, Table};
use abi::{PhysAddr, Rights, UserAddr};
use core::ops::Range;
use mmu::Format;
use pool::{Pool, Ref};

/// What the port did about a translation fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultIn {
    /// The processor uses only a cache of the space's tables, and the cache has the entry now: the
    /// thread tries again.
    Repaired,
    /// The space's tables do not have the entry either: the fault goes to the thread's handler.
    Report,
}

/// Translation tables, and what the processor has of them: TLBs, hashed tables, copies of entries,
/// tags of spaces.
///
/// The core writes the tables, which are authoritative, and reports what it has written. The bodies
/// here are right if the processor walks the tables themselves, through its caches.
pub trait Translation {
    /// Layout of translation tables.
    type Format: Format;

    /// Physical address of a block of the pool.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | the pool is mapped at a constant distance | as IA-32 | RAM is one to one | as IA-32 | the pool is in kseg0 | RAM is one to one |
    fn physical(&self, address: u32) -> PhysAddr;
    /// Address in the pool of a physical address in it.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as [`physical`](Self::physical) | the same | the same | the same | the same | the same |
    fn pool_address(&self, physical: PhysAddr) -> u32;
    /// A space was made. Its highest table is empty. Afterwards [`Space::hw`] and the kernel's part
    /// of that table are filled in: its threads can run.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | copies the kernel's entries; `hw` is the directory's physical address | picks a slot for the PID, no domain yet | no context yet | as IA-32, of the highest table, where the kernel has one entry | `hw` is the highest table's address; no ASID yet | `hw` is the highest table's address, and the one tag of all spaces |
    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>);
    /// A space's tables are about to be freed. No thread runs in the space any more. Afterwards the
    /// processor has no reference to these tables, no cache has a line at the addresses of the
    /// space's pages, and the space's tags may be given to another space.
    /// [`before_change`](crate::port::Caches::before_change) is not called any more for what the
    /// space still maps. The function may be called twice, and
    /// [`directory_written`](Self::directory_written) may follow it while the tables go.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | loads the directory of the boot if this one is loaded; drops all translations if it is a server, whose may be global | takes its entries out of the caching page directory; domain and slot become free | loses its context: what has its VSIDs matches nobody until all contexts are taken back | as IA-32; its PCID, its shadow and its entry area become free | its ASID becomes free: it is another's after the TLB was emptied | the processor reads no tables until a thread runs |
    ///
    /// Returns what the space's Quota has paid for and gets back: a slot, if this was its last
    /// space ([`give_slot`](crate::port::Placement::give_slot)), and ranges of lines that it had
    /// locked ([`lock_lines`](crate::port::Caches::lock_lines)).
    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge;
    /// A Segment was made. It has no tables yet, and is attached to no space. It may get tags of
    /// its own.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: Segments have no tags | no domain yet | no context yet | as it is | as it is | as it is |
    fn segment_created(&mut self, _pool: &mut Pool, _segment: Ref<Segment>) {}
    /// A Segment ends. It is attached to no space, and has no tables any more except its empty
    /// directory. Afterwards its tags may be given to another Segment or space.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | its domain becomes free | it loses its context | as it is | as it is | as it is |
    fn segment_dropped(&mut self, _pool: &mut Pool, _segment: Ref<Segment>) {}
    /// These entries of a table were written; if the table is new, all of its entries. Afterwards
    /// the processor finds them in memory. Whether it may still use older entries is
    /// [`invalidate`](Self::invalidate)'s matter. A fast path that writes an entry itself has to do
    /// what this does.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: the walker reads through the caches | cleans the entries' lines: the walker reads memory | nothing, unless `tables=uncached` has the tables read past the cache | as it is | as it is | as it is |
    fn entries_written(&mut self, _pool: &Pool, _table: Ref<Table>, _range: Range<usize>) {}
    /// These of the entries that name a space's leaf tables were written, where there are
    /// directories for them. Where there is no directory any more, all entries are gone, too. It is
    /// not called for a space that shows a server by entries above directories, about the server's
    /// tables.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: this is the level that the processor walks | the old ones go from the caching page directory | notes which segments it uses, and which of them a Segment has as a whole | as it is | as it is | as it is |
    fn directory_written(&mut self, _pool: &mut Pool, _space: Ref<Space>, _range: Range<usize>) {}
    /// Mappings in this range of a space were removed, replaced, or lost rights. Afterwards the
    /// processor uses no older translation. For a small space
    /// ([`space_moved`](crate::port::Placement::space_moved)) this is true at its place in its
    /// home, too, whichever space of the home runs. It is not called if nothing was mapped there.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | `invlpg`, or a write of CR3 for more than 32 pages, if the directory is loaded; else nothing, as its load empties the TLB | TLB operations by address | takes entries out of the hash table and the TLB, or gives the space another context | as IA-32 if the space is entered; else the next load of its CR3 drops what its PCID has | drops entries of the TLB, one by one or by looking at all, if it has an ASID | empties the TLB |
    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>);
    /// As [`invalidate`](Self::invalidate), for any translation of any space.
    ///
    /// It is called instead of that if a Segment is attached to more than 16 spaces, and when an
    /// entry of a Segment's directory has changed in all of its spaces.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | loads the same directory again | drops the TLB | gives all spaces other contexts | writes CR4, for all PCIDs | empties the TLB | empties the TLB |
    fn invalidate_all(&mut self);
    /// Entries of a server's directory for this range were changed, and so were all copies of them
    /// in spaces that show the server, if these spaces have copies of them and not of higher ones.
    /// Afterwards the processor uses no older translation of the range, in any space. By default
    /// this is [`invalidate_all`](Self::invalidate_all).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | as it is: there are no servers | the server's translations, which are its own wherever it is shown | as it is | as it is: there are no servers | as it is: there are no servers |
    fn invalidate_shown(&mut self, _pool: &mut Pool, _server: Ref<Space>, _range: Range<UserAddr>) {
        self.invalidate_all();
    }
    /// A thread of the space had a translation fault at an address. If the processor uses only a
    /// cache of the tables, and the cache lacked the entry, the port puts the entry there.
    ///
    /// It is called at each translation fault in user mode.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: there is no such cache | the caching page directory gets the entry; the data cache is cleaned if the section was another's | the hash table gets the entry, or the TLB loses one that allows less | the shadow of its highest table gets the entry, if it runs by that | the TLB gets the entry that its handler of misses leaves to the kernel, or that allows more | a copy of the tables gets the entry, where a Segment is attached by fewer rights than it has |
    fn fault_in(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _address: UserAddr,
        _access: Rights,
    ) -> FaultIn {
        FaultIn::Report
    }
}
