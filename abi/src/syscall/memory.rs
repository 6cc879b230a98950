// SPDX-License-Identifier: MIT OR Apache-2.0
//! What spaces have mapped.

use super::call::calls;
use super::packed::SizedRights;
use crate::{Selector, UserAddr, Word};

calls! {
    /// Map, unmap, change rights, or clean caches, by up to 16 records.
    ///
    /// The records are carried out in order until one fails. What was done of that one stays done.
    /// `MapRecord` in `abi/src/map_record.rs` has the layout:
    /// * `MAP` puts a part of a Memory into a Space or Segment, or opens I/O ports to a Space. What
    ///   was there is replaced.
    /// * `UNMAP` takes away what is there, or closes I/O ports. It is no error if nothing is there.
    /// * `PROTECT` changes rights. It gives none that the mapping did not have when it was made.
    /// * `CACHE` and the four after it do to a Space's pages what `Cache` does: so a batch can
    ///   clean one address of a page before it maps the page at another.
    ///
    /// Rights that a record asks for are those of a capability: `READ`, `WRITE`, `EXECUTE`. Ports
    /// take `WRITE`.
    ///
    /// `MAP` with the flag `UNCACHED` maps RAM so that reads and writes go to memory, for a device
    /// that does not see the caches. What was written through another, cached mapping comes to
    /// memory when that is unmapped or by `Cache`. `PROTECT` keeps the flag. Of a Memory of device
    /// registers it changes nothing: they are never cached.
    ///
    /// # Arguments
    /// * UTCB: The records, in words 0 to 63. Each names a Space or Segment (`CONTROL`) and, to
    ///   map, a Memory. If the call goes in steps, the kernel writes into a record what is left of
    ///   it.
    ///
    /// # Returns
    /// * `r1`: the number of records done, after an error, too.
    ///
    /// # Errors
    /// * `BadArgument`: the number of records is not 1 to 16. Of a record: there is no such
    ///   operation; the length is 0 or no multiple of a page; `MAP` asks for no right, or the
    ///   offset is no multiple of a page, or the part is not within the Memory, or that is of
    ///   addresses.
    /// * `NoCapability`, `WrongKind`: of the Space or Segment, or of the Memory to map. `WrongKind`
    ///   also if ports are mapped into a Segment.
    /// * `NoRight`: the Space or Segment lacks `CONTROL`, or the Memory a right that the record
    ///   asks for.
    /// * `BadAddress`: the range is not within the Segment, or not within the part of the Space
    ///   that is the user's. In a native Space the kernel's part is not (IA-32: 4 MiB from the
    ///   place on that `CreateSpace` was given). Of a server only its window is; of a small Space
    ///   nothing from its size on.
    /// * `BadState`: the Memory or Segment is being deleted; or the Quota that would pay was
    ///   deleted.
    /// * `Occupied`: a Segment is attached where a page is to be mapped.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota of the Space or Segment pays.
    Map {
        /// Number of records, 1 to 16.
        count: Word,
    }

    /// Attach a Segment to a Space, show a server in it, or make a Space small.
    ///
    /// A server is a Space that [`Serve`] made one. Who shows it gives it all that the Space's
    /// threads can reach, and the Space nothing. The addresses of its window are not the Space's
    /// any more.
    ///
    /// A Space that is attached to a home is *small*: its addresses end at its size. It has them
    /// from 0 on as before, and its threads go on. But they run by the home's page tables, where
    /// these addresses begin at `address`. So a switch between two small Spaces of one home costs
    /// no change of tables. It is in one home at most.
    ///
    /// If the caller is stopped before the call ends, the Segment may be there in part; `Detach`
    /// takes it away. A server that is there in part does not run in the Space, and a small Space
    /// not in its home.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space` or `source`.
    /// * `BadArgument`: the rights lack `READ`, or have another bit than these three; or they are
    ///   not all three of a Space; or there is no such size.
    /// * `BadAddress`: the address is no multiple of `TABLE_SPAN`, or the Segment would not lie
    ///   within the part of the Space that is the user's; or the server's window is not there; or
    ///   the small Space would not lie in the home.
    /// * `Occupied`: page tables, large pages, another Segment or a server are there. (A second
    ///   server whose window begins elsewhere is `BadAddress`. Where a server's window takes entries
    ///   above directories, a table that leads to page tables is there from the first page on that
    ///   was mapped, as long as the Space.) Or the small Space is in a home
    ///   already, or has something beyond its size, or shows a server whose window begins below
    ///   that.
    /// * `BadState`: the Segment, server or small Space is being deleted; or the Quota of `space`
    ///   was deleted; or `source` is a Space that is no server, and there is no size; or `space` is
    ///   a server: it has nothing attached; or there is a size, and `space` is no home, or `source`
    ///   a home or server.
    /// * `Unsupported`: a Space cannot be small on this machine.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota of the Space pays.
    Attach {
        /// Space (`CONTROL`). It is a home to make another small.
        space: Selector,
        /// Address, a multiple of `TABLE_SPAN`, and of a small Space's size.
        address: UserAddr,
        /// Segment, with all rights of `rights`; or Space (`CONTROL`), a server, whose window is at
        /// the address; or Space (`CONTROL`) that becomes small.
        source: Selector,
        /// Rights that the Space gets: `READ`, and `WRITE` and `EXECUTE` at choice; of a server and
        /// of a small Space all three. For a small Space its size is added, a power of two from
        /// `TABLE_SPAN` to 1 GiB.
        rights: SizedRights,
    }

    /// Detach a Segment from a Space, show a server in it no more, or make a small Space large
    /// again.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space`.
    /// * `NotThere`: nothing was attached at this address.
    Detach {
        /// Space (`CONTROL`); the home of a small Space.
        space: Selector,
        /// The address where the Segment, server or small Space was attached.
        address: UserAddr,
    }

    /// Write back or empty caches for a range of a Space.
    ///
    /// It is free where caches are physical and coherent, as on IA-32.
    ///
    /// # Returns
    /// * `r1`: of pages that are to be cleared, how many were that the Space wanted last to be; of
    ///   other operations 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space`.
    /// * `BadAddress`: the range ends above `USER_END`, in the window of a server that the Space
    ///   shows, or beyond a small Space's size. Of lines to be locked also: nothing can be read
    ///   there, or it is not cached.
    /// * `BadArgument`: `operation` is above 5, or lines to be locked are not in one page, or a
    ///   part of another range that is locked, or pages to be cleared are not whole, or are a
    ///   record's of `Map`.
    /// * `Unsupported`: lines are to be locked or unlocked, or pages cleared, and this machine
    ///   cannot.
    /// * `QuotaExceeded`: lines are to be locked, and the Quota of the Space has no range left.
    /// * `NotThere`: no lines of the range are locked that are to be unlocked.
    Cache {
        /// Space (`CONTROL`).
        space: Selector,
        /// The address where the range begins.
        address: UserAddr,
        /// Its length in bytes.
        bytes: Word,
        /// 0 to clean, 1 to clean and invalidate, 2 for that and for instructions, too, 3 to lock
        /// lines, 4 to unlock them, 5 to clear pages later (`CacheOp`).
        operation: Word,
    }

    /// Read what is mapped at an address, as the threads of a Space find it.
    ///
    /// It tells no physical address.
    ///
    /// # Returns
    /// * `r1`: the rights in bits 5 to 0, 0 if nothing can be reached there; bit 6: what is there
    ///   is not cached.
    /// * `r2`: how many bytes the same entry is for, at a multiple of that: `PAGE_SIZE` or
    ///   `TABLE_SPAN`; where nothing is and the processor has more than two levels of tables, also
    ///   what an entry of a higher level is for.
    /// * `r3`: the page's offset in the Memory; all ones if it is no page of that, or `memory` is 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`: of `space` or `memory`.
    /// * `NoRight`: of `space`.
    /// * `BadAddress`: the address is at or above `USER_END`, in the window of a server that the
    ///   Space shows, or beyond a small Space's size.
    /// * `BadArgument`: the Memory is of I/O ports or addresses.
    Lookup {
        /// Space (`CONTROL`).
        space: Selector,
        /// The address.
        address: UserAddr,
        /// Memory, in which the page is looked for; or 0.
        memory: Selector,
    }

    /// Make a Space a server, which others can show: `Attach`.
    ///
    /// A server runs in the Spaces that show it without a switch to its own tables, and reaches
    /// what their threads reach. They do not reach it. (IA-32: it runs at ring 1, on pages of the
    /// supervisor's. PowerPC: its window is whole segments, open while it runs.) It maps in its
    /// window only, which ends at `USER_END`. It is a server until it is deleted.
    ///
    /// Below its window a server's thread finds the Space whose thread ran last, if that shows the
    /// server; otherwise nothing is there. Other threads may run between any two instructions. So a
    /// thread that works at a Space's addresses may go on at those of another Space that shows the
    /// server. A server can use these addresses only if one thread of it resumes (`Run`) all threads
    /// of the Spaces that show it: then it finds the Space that it resumed last, or nothing. A
    /// server with other threads maps what it needs into its window.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space` or `window`.
    /// * `BadArgument`: the Memory is not of addresses; or `alone` is above 1.
    /// * `Occupied`: there is another server, and it or this one is to be the only one.
    /// * `BadAddress`: the window does not begin where the kernel's part does, or does not end at
    ///   `USER_END`; or it is not of whole segments (PowerPC). Or it takes more entries than a
    ///   translation table has: of the highest level of which one begins where the window does.
    /// * `BadState`: the Space or Memory is being deleted; or the Space is for aliens, a server
    ///   already, has threads, or something is mapped or attached.
    /// * `Unsupported`: this machine has no servers: `FEATURE_SERVERS` is missing in the
    ///   information page.
    Serve {
        /// Space (`CONTROL`), native, without threads, with nothing mapped or attached. The
        /// kernel's part is at the window's start.
        space: Selector,
        /// Memory (`CONTROL`) of addresses: the window.
        window: Selector,
        /// 1 if it is the only server as long as it lives, else 0. Then a change of tables leaves
        /// its translations in the TLB. A Space that does not show it and maps something in its
        /// window may find the server's pages in the place: it faults.
        alone: Word,
    }
}
