// SPDX-License-Identifier: MIT OR Apache-2.0
//! What spaces have mapped.

use super::call::calls;
use super::packed::SizedRights;
use crate::{Selector, UserAddr, Word};

calls! {
    /// Map, unmap, change rights, or clean caches, by up to 16 records.
    ///
    /// The records are carried out in order until one fails. What was done of the failed record
    /// stays done. `MapRecord` in `abi/src/map_record.rs` has the layout:
    /// * `MAP` puts a part of a Memory into a Space or Segment, or opens I/O ports to a Space. What
    ///   was there is replaced.
    /// * `UNMAP` removes what is mapped, or closes I/O ports. It is no error if nothing is mapped.
    /// * `PROTECT` changes rights. It gives no right that the mapping did not have when it was
    ///   made.
    /// * `CACHE` and the four operations after it do what `Cache` does. So one call can clean the
    ///   lines of a page at one address before it maps the page at another.
    ///
    /// The rights of a record are those of a capability: `READ`, `WRITE`, `EXECUTE`. I/O ports need
    /// `WRITE`.
    ///
    /// `MAP` with the flag `UNCACHED` maps RAM so that reads and writes go to memory, for a device
    /// that does not see the caches. What was written through another, cached mapping reaches
    /// memory when that mapping is removed, or by `Cache`. `PROTECT` keeps the flag. For device
    /// registers the flag changes nothing: they are never cached.
    ///
    /// # Arguments
    /// * UTCB: The records, in words 0 to 63. Each names a Space or Segment (`CONTROL`) and, to
    ///   map, a Memory. If the call is executed in steps, the kernel writes into a record what is
    ///   left of it.
    ///
    /// # Returns
    /// * `r1`: the number of records done, after an error, too.
    ///
    /// # Errors
    /// * `BadArgument`: the number of records is not 1 to 16. Of a record: there is no such
    ///   operation; the length is 0 or no multiple of a page; `MAP` asks for no right, or the
    ///   offset is no multiple of a page, or the part is not within the Memory, or the Memory is
    ///   one of addresses.
    /// * `NoCapability`, `WrongKind`: of the Space or Segment, or of the Memory to map. `WrongKind`
    ///   also if ports are mapped into a Segment.
    /// * `NoRight`: the Space or Segment lacks `CONTROL`, or the Memory a right that the record
    ///   asks for.
    /// * `BadAddress`: the range is not within the Segment, or not within the part of the Space
    ///   that is the user's. In a native Space the kernel's part is not the user's (IA-32: 4 MiB
    ///   from the place on that `CreateSpace` was given). In a server only the window is; in a
    ///   small Space nothing from its size on is.
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
    /// A server is a Space that [`Serve`] has made one. If a Space shows a server, the server can
    /// access everything that the Space's threads can access, but these threads cannot access the
    /// server. The addresses of the server's window no longer belong to the Space.
    ///
    /// A Space that is attached to a home is *small*: its addresses end at its size. Its threads
    /// see addresses from 0 on as before, and continue. But they run with the home's page tables,
    /// in which the Space's addresses begin at `address`. So a switch between two small Spaces of
    /// one home changes no tables. A Space is in at most one home.
    ///
    /// If the caller is stopped before the call ends, a part of the Segment may be attached;
    /// `Detach` removes it. If a part of a server is attached, the server does not run in the
    /// Space; and a Space that is attached to a home in part is not small yet.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space` or `source`.
    /// * `BadArgument`: the rights lack `READ`, or have a bit that is none of the three; or
    ///   `source` is a Space, and the rights are not all three; or the size is not allowed.
    /// * `BadAddress`: the address is no multiple of `TABLE_SPAN`, or the Segment would not lie
    ///   within the part of the Space that is the user's; or the server's window is not there; or
    ///   the small Space would not lie in the home.
    /// * `Occupied`: page tables, large pages, another Segment or a server are there. (If there is
    ///   another server whose window begins elsewhere, the error is `BadAddress`. Where a server's
    ///   window takes entries above directories, a table that leads to page tables is there as soon
    ///   as something was mapped or attached, and stays as long as the Space.) Or the small Space is in a
    ///   home already, or has something beyond its size, or shows a server whose window begins below
    ///   its size.
    /// * `BadState`: the Segment, server or small Space is being deleted; or the Quota of `space`
    ///   was deleted; or `source` is a Space that is no server, and there is no size; or `space` is
    ///   a server, to which nothing can be attached; or there is a size, and `space` is no home, or
    ///   `source` is a home or a server.
    /// * `Unsupported`: a Space cannot be small on this machine.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota of the Space pays.
    Attach {
        /// Space (`CONTROL`). To make another Space small, it is a home.
        space: Selector,
        /// Address, a multiple of `TABLE_SPAN`, and of a small Space's size.
        address: UserAddr,
        /// Segment, with all rights of `rights`; or Space (`CONTROL`), a server, whose window is at
        /// the address; or Space (`CONTROL`) that becomes small.
        source: Selector,
        /// Rights that the Space gets: `READ`, with or without `WRITE` and `EXECUTE`; for a server
        /// and a small Space all three. For a small Space its size is added, a power of two from
        /// `TABLE_SPAN` to 1 GiB.
        rights: SizedRights,
    }

    /// Detach a Segment or a server from a Space, or make a small Space large again.
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
    /// The call does nothing where caches are physical and coherent, as on IA-32.
    ///
    /// # Returns
    /// * `r1`: for operation 5, how many pages of the range that the Space named last were cleared;
    ///   for other operations 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `space`.
    /// * `BadAddress`: the range ends above `USER_END`, in the window of a server that the Space
    ///   shows, or beyond a small Space's size. If lines are to be locked, also: nothing can be
    ///   read there, or it is not cached.
    /// * `BadArgument`: `operation` is above 5; or the lines to be locked are not in one page, or
    ///   are a part of another range that is locked; or the pages to be cleared are not whole
    ///   pages, or are those of a record of `Map`.
    /// * `Unsupported`: lines are to be locked or unlocked, or pages cleared, and this machine
    ///   cannot.
    /// * `QuotaExceeded`: lines are to be locked, and the Quota of the Space has no range left.
    /// * `NotThere`: lines are to be unlocked, and none of the range is locked.
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
    /// The call returns no physical address.
    ///
    /// # Returns
    /// * `r1`: the rights in bits 5 to 0, or 0 if nothing can be accessed there; bit 6 says that
    ///   the mapping is not cached.
    /// * `r2`: how many bytes the entry for this address maps, beginning at a multiple of that
    ///   number: `PAGE_SIZE` or `TABLE_SPAN`. Where nothing is mapped and the processor has more
    ///   than two levels of tables, it may be what an entry of a higher level spans.
    /// * `r3`: the page's offset in the Memory; all ones if the page is none of that Memory, or
    ///   `memory` is 0.
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
        /// Memory that may have the page; or 0.
        memory: Selector,
    }

    /// Make a Space a server, which other Spaces can show (`Attach`).
    ///
    /// A server runs with the tables of a Space that shows it, without a switch to its own tables,
    /// and can access what the Space's threads can access. These threads cannot access the server.
    /// (IA-32, x86-64: the server runs at ring 1, on supervisor pages. PowerPC: its window consists
    /// of whole segments, which are open while the server runs.) The server can map only in its
    /// window, which ends at `USER_END`. It is a server until it is deleted.
    ///
    /// Below the window, a server's thread finds the memory of the Space whose thread ran last, if
    /// that Space shows the server; otherwise nothing is there. Other threads may run between any
    /// two instructions. So while a server's thread works on a Space's memory, another Space that
    /// shows the server may take that Space's place. A server can use these addresses only if a
    /// single thread of the server resumes (`Run`) all threads of the Spaces that show it: then
    /// this thread finds the Space that it resumed last, or nothing. A server with several such
    /// threads maps what it needs into its window.
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
        /// 1 if this is the only server as long as it lives, else 0. With 1 its translations stay
        /// in the TLB when tables are changed. Then a Space that does not show the server, but maps
        /// something at the window's addresses, may find the server's translations there, and
        /// faults.
        alone: Word,
    }
}
