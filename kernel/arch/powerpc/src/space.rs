// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address spaces: which VSIDs each has, which VSIDs are in the segment registers, and which
//! translations are removed.
//!
//! A space's tables are authoritative. The TLB has copies of their entries, and so has the hashed
//! table of a 604. A space that changes more than `CUT_OFF` pages gets another context: then no
//! space can use the old copies, and they need not be searched for.

use crate::cache::{Lines, on_lines};
use crate::layout::WINDOWS;
use crate::options::Options;
use crate::whole::{self, Finder, Whole, word};
use crate::{hash, regs, window};
use abi::arch::powerpc::kip::{COUNTS_OFFSET, Counts, VERSION_OFFSET};
use abi::{PAGE_SIZE, PhysAddr, Rights, UserAddr};
use core::array;
use core::ops::Range;
use kcore::port::FaultIn;
use kcore::space::HW_WORDS;
use kcore::{Cpu, Owner, Space, Table};
use mmu::Format;
use mmu::hash::{Group, remove, remove_all};
use mmu::powerpc::{NO_WRITE, PowerPc as Tables, bits, seen};
use mmu::sweep::{self, Sweep, Taken};
use mmu::vsid::{
    Contexts, Function, LOW, NO_TOKEN, SEGMENTS, SHOWS, Segments, USER_SEGMENTS, switch, token,
    vsid,
};
use pool::{Link, Pool, Ref};
use powerpc_context::hw;

/// The spaces, as far as the processor is concerned.
pub struct Spaces {
    /// Contexts, and which entries of the hashed table are zombies.
    sweep: Sweep<'static>,
    /// The function that makes VSIDs of contexts.
    function: Function,
    /// Whether the idle loop removes zombies.
    sweeps: bool,
    /// Ranges of up to this many pages are removed page by page.
    cut_off: u32,
    /// How many pages may still be removed page by page before the next check for interrupts.
    left: u32,
    /// Whether a space that gets another context leaves its entries.
    is_lazy: bool,
    /// Entries that were removed from the hashed table because a space changed its mappings.
    removed: u32,
    /// Where users read the counts.
    page: Option<PhysAddr>,
    /// How often all spaces lost their contexts, and 1.
    epoch: u64,
    /// The space whose tables the processor uses, and the one whose VSIDs are in the segment
    /// registers.
    entered: Link<Space>,
    /// The server that has its window open in that space: a thread of it runs.
    open: Link<Space>,
    /// The server whose VSIDs are to be in that window.
    shown: Link<Space>,
    /// Whether the segment registers have VSIDs that are no longer valid, and have to be written
    /// again.
    is_stale: bool,
    /// Which of them have a VSID that a space has or had.
    loaded: Segments,
    /// The hashed table, if the processor searches one.
    hash: Option<&'static mut [Group]>,
    /// Whether software fills the TLB.
    by_software: bool,
    /// Whether the code that looks for a page that a TLB lacks reads tables past the cache.
    uncached_tables: bool,
    /// Whether a BAT shows a block of a server's memory while its window is open.
    shows_blocks: bool,
    /// Which of the VSIDs that no space has is in the register of the last segment, where users
    /// have nothing.
    unused: u32,
}

/// The entries of a space's directory and of its leaf table that say what is at an address.
fn entries(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<(u32, u32)> {
    let top = pool[space].region.top.get()?;
    let directory = *pool[top].entries::<Tables>().get(Tables::table_index(address))?;
    let leaf = match Tables::decode_table(directory) {
        Some((table, _)) => {
            pool[Ref::<Table>::new(table.0)].entries::<Tables>()[Tables::leaf_index(address)]
        }
        None => 0,
    };
    Some((directory, leaf))
}

/// What the processor may see at an address of a space: the second word of a PTE.
pub fn page(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let (directory, leaf) = entries(pool, space, address)?;
    // What a space that shows a server has of that is not for the space.
    if directory & bits::SUPERVISOR != 0 && !window::is_server(pool, space) {
        None
    } else {
        seen(directory, leaf, address.0)
    }
}

/// The physical address of what is at an address of a space. The kernel may reach it by
/// [`regs::untranslated`] only.
pub fn place(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let page = page(pool, space, address)? & bits::ADDRESS;
    Some(page + address.0 % PAGE_SIZE)
}

/// Whether such a page allows an access.
const fn allows(page: u32, access: Rights) -> bool {
    !access.contains(Rights::WRITE) || page & bits::READ_ONLY == bits::READ_WRITE
}

/// How many pages are removed page by page between two checks for interrupts. A page without an
/// entry takes 115 instructions, and a change of a Segment's pages concerns several spaces.
const fn at_once(cut_off: u32) -> u32 {
    const PAGES: u32 = 40;
    if cut_off < PAGES { PAGES } else { cut_off }
}

/// Which segment an address is in.
const fn number(address: UserAddr) -> u32 {
    address.0 >> 28
}

/// Where a segment begins.
const fn start(number: u32) -> UserAddr {
    UserAddr(number << 28)
}

/// The words for the context of a space or a Segment: its number, and its epoch in two words.
fn tag(pool: &Pool, owner: Owner) -> [u32; 3] {
    match owner {
        Owner::Space(space) => {
            [hw::CONTEXT, hw::EPOCH, hw::EPOCH_HIGH].map(|word| pool[space].hw[word])
        }
        Owner::Segment(segment) => {
            [word::CONTEXT, word::EPOCH, word::EPOCH_HIGH].map(|word| pool[segment].hw[word])
        }
    }
}

fn set_tag(pool: &mut Pool, owner: Owner, [context, low, high]: [u32; 3]) {
    match owner {
        Owner::Space(space) => {
            let hw = &mut pool[space].hw;
            [hw[hw::CONTEXT], hw[hw::EPOCH], hw[hw::EPOCH_HIGH]] = [context, low, high];
        }
        Owner::Segment(segment) => {
            let hw = &mut pool[segment].hw;
            [hw[word::CONTEXT], hw[word::EPOCH], hw[word::EPOCH_HIGH]] = [context, low, high];
        }
    }
}

/// The owner whose VSIDs a space has in a segment, the number of the owner's segment, and the key.
fn of_segment(
    pool: &Pool,
    space: Ref<Space>,
    number: u32,
    wholes: &mut Finder,
) -> (Owner, u32, u32) {
    match wholes.noted(pool, space, number) {
        Some(Whole { segment, part, key }) => (Owner::Segment(segment), part, key),
        None => (Owner::Space(space), number, 0),
    }
}

/// The segments to be shut in a space that shows no server, but is about to: its directory has
/// some of the server's entries. A 603 fills its TLB by the directory in any segment that is
/// not shut.
fn in_part(pool: &mut Pool, space: Ref<Space>) -> Segments {
    if pool[space].hw[hw::SEGMENTS] & hw::IN_PART == 0 {
        return 0;
    }
    let has_servers = |number: &u32| {
        let entries = pool[space]
            .region
            .top
            .get()
            .and_then(|top| pool[top].entries::<Tables>().get(whole::entries_of(*number)));
        entries.is_some_and(|some| some.iter().any(|entry| entry & bits::SUPERVISOR != 0))
    };
    let Some(first) = (number(UserAddr(WINDOWS))..USER_SEGMENTS).find(has_servers) else {
        // It was taken away meanwhile.
        pool[space].hw[hw::SEGMENTS] &= !hw::IN_PART;
        return 0;
    };
    (first..USER_SEGMENTS).fold(0, |all, segment| all | 1 << segment)
}

/// As [`page`], but with the rights that the attachment of a Segment removes. For a large page
/// those rights cannot be distinguished.
fn unrestricted(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let (directory, leaf) = entries(pool, space, address)?;
    seen(
        if directory & bits::LARGE == 0 { directory & !NO_WRITE } else { directory },
        leaf,
        address.0,
    )
}

impl Spaces {
    /// No space has a context, and none was entered.
    pub fn new(options: &Options, contexts: Contexts, tables: Option<hash::Tables>) -> Self {
        let (hash, live) =
            tables.map_or_else(Default::default, |tables| (Some(tables.table), tables.live));
        let [entered, open, shown] = [Link::NULL; 3];
        let sweep = Sweep::new(
            contexts,
            options.function,
            live,
            hash.as_ref().map_or(0, |table| table.len()),
        );
        Self {
            sweep,
            function: options.function,
            sweeps: options.sweep,
            cut_off: options.cut_off,
            left: at_once(options.cut_off),
            is_lazy: options.lazy_flush,
            removed: 0,
            page: None,
            epoch: 1,
            entered,
            open,
            shown,
            is_stale: false,
            loaded: 0,
            hash,
            by_software: regs::fills_tlb_by_software(),
            uncached_tables: options.uncached_tables,
            shows_blocks: options.shows_blocks,
            unused: 0,
        }
    }

    /// A space has no context yet.
    pub fn created(pool: &mut Pool, space: Ref<Space>) {
        let directory = pool[space].region.top.value();
        let hw = &mut pool[space].hw;
        *hw = [0; HW_WORDS];
        (hw[hw::DIRECTORY], hw[hw::SEGMENTS]) = (directory, LOW.into());
    }

    /// A thread of this space entered the kernel: a fast path may have switched to it. If the
    /// tables that were left, or the new ones, are of a space that shows a server, both spaces show
    /// the same one.
    pub fn came_from(&mut self, pool: &Pool, space: Ref<Space>) {
        self.looked();
        let tables = window::tables();
        if !tables.is_null() {
            self.entered = tables;
        }
        (self.entered, self.open) = match self.tables(pool, space) {
            tables if tables == space => (space.link(), Link::NULL),
            tables => (tables.link(), space.link()),
        };
    }

    /// The space with whose tables a thread of this space runs: a server's thread runs with the
    /// tables of a space that shows the server, if they are loaded.
    fn tables(&self, pool: &Pool, space: Ref<Space>) -> Ref<Space> {
        match self.entered.get() {
            Some(entered) if window::shown(pool, entered) == Some(space) => entered,
            _ => space,
        }
    }

    /// A space shows a server from now on, or none any more.
    pub fn server_shown(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        let hw = &mut pool[space].hw;
        (hw[hw::SERVER], hw[hw::SIMPLE]) = (server.value(), 0);
        hw[hw::SEGMENTS] &= !hw::IN_PART;
        self.leave(space);
    }

    /// A space ends, to which no Segment is attached any more.
    pub fn dropped(&mut self, pool: &mut Pool, space: Ref<Space>) {
        self.forget(pool, Owner::Space(space));
        for link in [&mut self.entered, &mut self.open, &mut self.shown] {
            if link.is(space) {
                *link = Link::NULL;
            }
        }
    }

    /// A space or a Segment loses its context. From then on entries of its pages belong to no
    /// space. The context is not given out again before these entries have been swept.
    pub fn forget(&mut self, pool: &mut Pool, owner: Owner) {
        if let Some(context) = self.context(pool, owner) {
            self.sweep.forget(context, self.hash.as_deref().unwrap_or_default());
            if !self.is_lazy {
                self.search(context);
            }
        }
        set_tag(pool, owner, [0; 3]);
        match owner {
            Owner::Space(space) => {
                pool[space].hw[hw::SIMPLE] = 0;
                self.leave(space);
            }
            // Which spaces have it is looked up only when one of them is entered.
            Owner::Segment(_) => self.is_stale = true,
        }
    }

    /// Removes all entries of a context from the hashed table: the flush that is not lazy.
    fn search(&mut self, context: u32) {
        let function = self.function;
        let removed = remove_all(self.hash.as_deref_mut().unwrap_or_default(), |vsid| {
            function.context(vsid) == context
        });
        self.removed = self.removed.wrapping_add(removed);
    }

    /// If the segment registers have a space's VSIDs, they have to be written again.
    fn leave(&mut self, space: Ref<Space>) {
        self.is_stale |= self.entered.is(space) || self.shown.is(space);
    }

    /// All spaces lose their contexts.
    pub fn forget_all(&mut self) {
        self.sweep.forget_all(self.hash.as_deref().unwrap_or_default());
        self.begin_epoch();
    }

    /// All spaces have lost their contexts.
    const fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.is_stale = true;
    }

    /// Entries of a space's directory were written: it uses the segments in which it has any, and a
    /// Segment may have some of them as a whole, or no more.
    pub fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        let Some(top) = pool[space].region.top.get() else { return };
        let had = pool[space].hw[hw::SEGMENTS];
        let mut wholes = Finder::default();
        let [first, last] = [range.start, range.end.saturating_sub(1)]
            .map(|index| number(Tables::table_start(index)));
        for number in first..=last {
            let own = whole::entries_of(number);
            let begin = own.start.max(range.start);
            let entries = pool[top]
                .entries::<Tables>()
                .get(begin..own.end.min(range.end))
                .unwrap_or_default();
            let all = entries.iter().fold(0, |all, entry| all | entry);
            let used = u32::from(all != 0) << number;
            let has_servers = all & bits::SUPERVISOR != 0;
            let may_change = if whole::noted(pool, space) & 1 << number == 0 {
                // It is attached from its first entry on.
                begin == own.start
            } else {
                whole::is_other(entries)
                    || begin != own.start && whole::begins(pool, space, begin, entries)
            };
            if may_change {
                self.note_whole(pool, space, number, &mut wholes);
            }
            pool[space].hw[hw::SEGMENTS] |= used;
            if has_servers
                && !window::is_server(pool, space)
                && window::shown(pool, space).is_none()
            {
                pool[space].hw[hw::SEGMENTS] |= hw::IN_PART;
            }
        }
        let hw = &mut pool[space].hw;
        let is_other = hw[hw::SEGMENTS] != had;
        if is_other {
            hw[hw::SIMPLE] = 0;
        }
        // A server's block is found again then.
        if is_other || self.shows_blocks {
            self.leave(space);
        }
    }

    /// Notes whether a Segment has a segment of a space as a whole.
    fn note_whole(&mut self, pool: &mut Pool, space: Ref<Space>, number: u32, wholes: &mut Finder) {
        let (had, has) = (wholes.noted(pool, space, number), wholes.found(pool, space, number));
        let bit = 1 << (16 + number);
        match (had, has) {
            (None, Some(Whole { segment, .. })) => {
                if pool[space].hw[hw::SEGMENTS] & 1 << number != 0 {
                    // What it has under its own VSID is not kept up to date from now on. (Today the
                    // core says after each change of a Segment's directory that all translations
                    // are old, so nothing is lost by this.)
                    self.forget(pool, Owner::Space(space));
                }
                pool[segment].hw[word::USES] += 1;
                pool[space].hw[hw::SEGMENTS] |= bit;
            }
            (Some(Whole { segment, .. }), None) => {
                pool[segment].hw[word::USES] -= 1;
                if pool[segment].hw[word::USES] == 0 {
                    // Of changes from now on nobody says that they concern its VSIDs.
                    self.forget(pool, Owner::Segment(segment));
                }
                pool[space].hw[hw::SEGMENTS] &= !bit;
            }
            _ => {}
        }
    }

    /// The context of a space or a Segment, if it has one.
    fn context(&self, pool: &Pool, owner: Owner) -> Option<u32> {
        let [context, low, high] = tag(pool, owner);
        (u64::from(high) << 32 | u64::from(low) == self.epoch).then_some(context)
    }

    /// Gives a context to an owner that has none.
    fn take(&mut self, pool: &mut Pool, owner: Owner) -> u32 {
        let Taken { context, is_turn } =
            self.sweep.take(self.hash.as_deref_mut().unwrap_or_default());
        if is_turn {
            self.begin_epoch();
            regs::drop_all();
        }
        set_tag(pool, owner, [context, self.epoch as u32, (self.epoch >> 32) as u32]);
        context
    }

    /// Makes a space the one with whose addresses user mode runs.
    pub fn enter(&mut self, cpu: &mut Cpu, pool: &mut Pool, space: Ref<Space>) {
        let tables = self.tables(pool, space);
        if self.is_stale || !self.entered.is(tables) {
            self.load(cpu, pool, tables);
        }
        let open = if tables == space { Link::NULL } else { space.link() };
        if let Some(server) = self.shown.get().filter(|_| self.open != open) {
            let context =
                if open.is_null() { None } else { self.context(pool, Owner::Space(server)) };
            window::set(pool, server, context, self.function);
            if self.shows_blocks {
                window::show_block(context.is_some());
            }
        }
        self.open = open;
    }

    /// Makes a space's tables those of the processor. If it shows a server, the window is shut.
    fn load(&mut self, cpu: &mut Cpu, pool: &mut Pool, space: Ref<Space>) {
        let server = window::shown(pool, space);
        let window = match server {
            Some(server) => window::segments(pool, server),
            None => in_part(pool, space),
        };
        let is_fast = server.is_some_and(|server| window::is_fast(pool, server))
            && whole::noted(pool, space) == 0;
        // A fast path between two such spaces writes all these.
        let used = if is_fast {
            window::BELOW
        } else {
            pool[space].hw[hw::SEGMENTS] as Segments & !window
        };
        let (context, servers, registers) = loop {
            let epoch = self.epoch;
            let servers = server.map(|server| (server, self.certain(pool, Owner::Space(server))));
            let context = self.certain(pool, Owner::Space(space));
            let mut wholes = Finder::default();
            let registers =
                array::from_fn(|number| self.register(pool, space, number as u32, &mut wholes));
            // The last one's may have been the first of its half: those before it were taken back.
            if self.epoch == epoch {
                break (context, servers, registers);
            }
        };
        let registers: [u32; USER_SEGMENTS as usize] = registers;
        switch(self.loaded, used, |number| registers[number as usize])
            .for_each(|(segment, value)| regs::set_segment(segment, value));
        let hw = &mut pool[space].hw;
        regs::set_directory(hw[hw::DIRECTORY]);
        // A fast path switches between two spaces with one token.
        let token = token(self.epoch);
        let simple = token.filter(|_| used == LOW && window == 0 && hw[hw::SEGMENTS] >> 16 == 0);
        // That path knows how far VSIDs of one context are apart.
        let knows = is_fast && self.function == Function::Scattered;
        let shows = token.filter(|_| knows).map(|token| token | SHOWS);
        [hw[hw::SIMPLE], hw[hw::VSID_0], hw[hw::VSID_1]] = [
            simple.or(shows).unwrap_or_default(),
            self.function.vsid(context, 0),
            self.function.vsid(context, 1),
        ];
        cpu.port = simple.unwrap_or(NO_TOKEN);
        window::shut(window);
        window::tell(pool, space, servers, (shows, self.function));
        if self.shows_blocks {
            window::find_block(pool, server);
        }
        self.loaded = used | window;
        (self.entered, self.open, self.shown) =
            (space.link(), Link::NULL, Link::from_value(server.map_or(0, Ref::address)));
        self.is_stale = false;
    }

    /// The value of a segment register for a space that uses the segment: with a VSID of the space,
    /// or with one of a Segment, which gets a context if it has none.
    fn register(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        number: u32,
        wholes: &mut Finder,
    ) -> u32 {
        let (owner, part, key) = of_segment(pool, space, number, wholes);
        self.function.vsid(self.certain(pool, owner), part) | key
    }

    /// The context of an owner, which gets one if it has none.
    fn certain(&mut self, pool: &mut Pool, owner: Owner) -> u32 {
        self.context(pool, owner).unwrap_or_else(|| self.take(pool, owner))
    }

    /// What the processor may see at an address while a thread of this space runs, as [`page`]
    /// returns it, and the space whose VSIDs are used for it.
    pub fn seen(
        &self,
        pool: &Pool,
        space: Ref<Space>,
        address: UserAddr,
    ) -> Option<(Ref<Space>, u32)> {
        let tables = self.tables(pool, space);
        if tables == space {
            return Some((space, page(pool, space, address)?));
        }
        let (directory, leaf) = entries(pool, tables, address)?;
        let owner = if address < pool[space].window { tables } else { space };
        Some((owner, seen(directory, leaf, address.0)?))
    }

    /// The kernel has checked for interrupts.
    pub const fn looked(&mut self) {
        self.left = at_once(self.cut_off);
    }

    /// Whether there is time to remove this many more pages before the next check for interrupts.
    const fn has_time(&mut self, pages: u32) -> bool {
        let left = self.left.checked_sub(pages);
        if let Some(left) = left {
            self.left = left;
        }
        left.is_some()
    }

    /// No translation of this range is used any more. The model counts this function apart, so it
    /// has a name in the image.
    #[inline(never)]
    pub fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) {
        // Of a long change the first part has taken the context away: there is nothing more.
        if whole::noted(pool, space) != 0 || self.context(pool, Owner::Space(space)).is_some() {
            self.drop_range(pool, space, range);
        }
    }

    /// The same for a space that may have some: a function of its own, because it saves more
    /// registers.
    #[inline(never)]
    fn drop_range(&mut self, pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) {
        let is_long = (range.end.0 - range.start.0) / PAGE_SIZE > self.cut_off;
        let (mut at, mut wholes) = (range.start.0, Finder::default());
        while at < range.end.0 {
            let end = range.end.0.min(start(number(UserAddr(at))).0 + (1 << 28));
            let (owner, part, _) = of_segment(pool, space, number(UserAddr(at)), &mut wholes);
            match self.context(pool, owner) {
                Some(context) if !is_long && self.has_time((end - at) / PAGE_SIZE) => {
                    self.drop_pages(self.function.vsid(context, part), at..end);
                }
                Some(_) => self.forget(pool, owner),
                None => {}
            }
            at = end;
        }
    }

    /// Removes pages with this VSID from the hashed table and the TLB.
    fn drop_pages(&mut self, vsid: u32, addresses: Range<u32>) {
        for address in addresses.step_by(PAGE_SIZE as usize) {
            if let Some(table) = &mut self.hash {
                let is_out = remove(table, vsid, UserAddr(address));
                self.removed = self.removed.wrapping_add(u32::from(is_out));
            }
            regs::drop_page(address);
        }
        regs::dropped();
        if self.by_software {
            self.empty_emulators_tlb();
        }
    }

    /// Entries of a table were written.
    pub fn entries_written(&self, table: Ref<Table>, range: &Range<usize>) {
        if self.uncached_tables {
            let [start, end] = [range.start, range.end]
                .map(|index| table.address() + (index * size_of::<u32>()) as u32);
            on_lines(start, end - start, Lines::Drop);
        }
    }

    /// Sweeps a part of the hashed table, because no thread runs. Returns whether there is more to
    /// sweep.
    pub fn sweep(&mut self) -> bool {
        self.sweep.step(self.hash.as_deref_mut().unwrap_or_default(), self.sweeps)
    }

    /// Users see the processor's version and the counts at this page from now on.
    pub fn show_at(&mut self, page: PhysAddr) {
        self.page = Some(page);
        // SAFETY: the kernel information page, of which the portable kernel writes the first bytes
        // only.
        unsafe {
            ((page.0 + VERSION_OFFSET) as *mut u32).write_volatile(regs::processor_version())
        };
        self.show_counts(0);
    }

    /// The counts, with this many pages cleared.
    pub fn counts(&self, cleared: u32) -> Counts {
        let sweep::Counts { swept, live, zombies, turns } = self.sweep.counts();
        let evicts = hash::evicts();
        // What was put in was lost to others, was taken out, or is still there: code that puts in
        // need not count.
        let reloads =
            [evicts, self.removed, swept, live, zombies].into_iter().fold(0u32, u32::wrapping_add);
        Counts { reloads, evicts, swept, live, zombies, turns, cleared }
    }

    /// Shows the counts to users, and that this many pages were cleared.
    pub fn show_counts(&self, cleared: u32) {
        let Some(page) = self.page else { return };
        let counts = self.counts(cleared);
        // SAFETY: the kernel information page, of which the portable kernel writes the first bytes
        // only, and at boot.
        unsafe { ((page.0 + COUNTS_OFFSET) as *mut Counts).write_volatile(counts) };
    }

    /// QEMU keeps translations that a 603's TLB has already replaced, and its `tlbie` does not
    /// remove them. If a segment register gets another value, QEMU drops all of them on the way to
    /// user mode. No processor needs that.
    fn empty_emulators_tlb(&mut self) {
        self.unused = (self.unused + 1) % SEGMENTS;
        regs::set_segment(SEGMENTS - 1, vsid(0, self.unused));
    }

    /// A thread of the space that was entered could not access a page. If its tables allow that,
    /// the processor has the translation afterwards.
    pub fn fault_in(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        access: Rights,
    ) -> FaultIn {
        let Some((space, page)) =
            self.seen(pool, space, address).filter(|(_, page)| allows(*page, access))
        else {
            return FaultIn::Report;
        };
        let (owner, part, key) = of_segment(pool, space, number(address), &mut Finder::default());
        let context = self.context(pool, owner);
        if let (Some(table), Some(context)) = (&mut self.hash, context) {
            // By the key the segment register says what this space may not do.
            let page = if key == 0 { Some(page) } else { unrestricted(pool, space, address) };
            hash::insert(
                table,
                self.function.vsid(context, part),
                address,
                page.unwrap_or_default(),
            );
        }
        // The TLB may have one that allows less.
        regs::drop_page(address.0);
        regs::dropped();
        FaultIn::Repaired
    }
}
