// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address spaces: which VSIDs each has, whose are in the segment registers, and what becomes of translations.
//!
//! A space's tables are the truth. Of them the TLB has copies and, on a 604, the hashed table. A space that changes more than
//! `CUT_OFF` pages gets another context: what was copied is nobody's then, and nothing has to be searched.

use crate::options::Options;
use crate::{hash, regs, window};
use abi::arch::powerpc::kip::{COUNTS_OFFSET, Counts, VERSION_OFFSET};
use abi::{PAGE_SIZE, PhysAddr, Rights, UserAddr};
use core::ops::Range;
use kcore::port::FaultIn;
use kcore::space::HW_WORDS;
use kcore::{Cpu, Space, Table};
use mmu::Format;
use mmu::hash::{Group, remove, remove_all};
use mmu::powerpc::{PowerPc as Tables, bits, seen};
use mmu::sweep::{self, Sweep, Taken};
use mmu::vsid::{Contexts, LOW, NO_TOKEN, SEGMENTS, Segments, of_address, switch, token, vsid};
use pool::{Link, Pool, Ref};
use powerpc_context::hw;

/// What the processor has of spaces.
pub struct Spaces {
    /// Contexts, and which entries of the hashed table are nobody's.
    sweep: Sweep<'static>,
    /// Whether the idle loop takes zombies out.
    sweeps: bool,
    /// So many pages of a range are taken out page by page.
    cut_off: u32,
    /// Whether a space that gets another context leaves its entries.
    is_lazy: bool,
    /// Entries of the hashed table that were taken out by whoever lost them.
    removed: u32,
    /// Where users see the counts.
    page: Option<PhysAddr>,
    /// How often all spaces lost their contexts, and 1.
    epoch: u64,
    /// Whose tables the processor has, and whose VSIDs the segment registers.
    entered: Link<Space>,
    /// The server that has its window open in that space: a thread of it runs.
    open: Link<Space>,
    /// The server whose VSIDs are to be in that window.
    shown: Link<Space>,
    /// The segment registers have VSIDs that do not count, and are to be written again.
    is_stale: bool,
    /// Which of them have a VSID that a space has or had.
    loaded: Segments,
    /// The hashed table, if the processor walks one.
    hash: Option<&'static mut [Group]>,
    /// Which of the VSIDs that no space has the last segment has, where users have nothing.
    unused: u32,
}

/// The entries of a space's directory and of its leaf table that say what is at an address.
fn entries(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<(u32, u32)> {
    let top = pool[space].region.top.get()?;
    let directory = *pool[top].entries::<Tables>().get(Tables::table_index(address))?;
    let leaf = match Tables::decode_table(directory) {
        Some((table, _)) => pool[Ref::<Table>::new(table.0)].entries::<Tables>()[Tables::leaf_index(address)],
        None => 0,
    };
    Some((directory, leaf))
}

/// What the processor may see at an address of a space: the second word of a PTE.
pub fn page(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let (directory, leaf) = entries(pool, space, address)?;
    // What a space that shows a server has of that is not for the space.
    if directory & bits::SUPERVISOR != 0 && !window::is_server(pool, space) { None } else { seen(directory, leaf, address.0) }
}

/// The physical address of what is at an address of a space. The kernel may reach it by [`regs::untranslated`] only.
pub fn place(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let page = page(pool, space, address)? & bits::ADDRESS;
    Some(page + address.0 % PAGE_SIZE)
}

/// Whether such a page allows an access.
const fn allows(page: u32, access: Rights) -> bool {
    !access.contains(Rights::WRITE) || page & bits::READ_ONLY == bits::READ_WRITE
}

impl Spaces {
    /// Nobody has a context, and no space was entered.
    pub fn new(options: &Options, contexts: Contexts, tables: Option<hash::Tables>) -> Self {
        let (hash, live) = tables.map_or_else(Default::default, |tables| (Some(tables.table), tables.live));
        let [entered, open, shown] = [Link::NULL; 3];
        let sweep = Sweep::new(contexts, live, hash.as_ref().map_or(0, |table| table.len()));
        Self {
            sweep,
            sweeps: options.sweep,
            cut_off: options.cut_off,
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

    /// A thread of this space entered the kernel: a fast path may have switched to it. None changes tables to or from those of a server, or of a
    /// space that shows one.
    pub fn came_from(&mut self, pool: &Pool, space: Ref<Space>) {
        (self.entered, self.open) = match self.tables(pool, space) {
            tables if tables == space => (space.link(), Link::NULL),
            tables => (tables.link(), space.link()),
        };
    }

    /// By whose tables a thread of this space runs: a server's by those of a space that shows it, if they are there.
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
        self.leave(space);
    }

    /// A space ends.
    pub fn dropped(&mut self, pool: &mut Pool, space: Ref<Space>) {
        self.forget(pool, space);
        for link in [&mut self.entered, &mut self.open, &mut self.shown] {
            if link.is(space) {
                *link = Link::NULL;
            }
        }
    }

    /// A space loses its context: what there was of its pages is nobody's. The context is not another's before that was swept.
    pub fn forget(&mut self, pool: &mut Pool, space: Ref<Space>) {
        if let Some(context) = self.context(pool, space) {
            self.sweep.forget(context, self.hash.as_deref().unwrap_or_default());
            if !self.is_lazy {
                self.search(context);
            }
        }
        let hw = &mut pool[space].hw;
        [hw[hw::EPOCH], hw[hw::EPOCH_HIGH], hw[hw::SIMPLE]] = [0; 3];
        self.leave(space);
    }

    /// Takes all entries of a context out of the hashed table, as was done before flushes were lazy.
    fn search(&mut self, context: u32) {
        let removed = remove_all(self.hash.as_deref_mut().unwrap_or_default(), |vsid| mmu::vsid::context(vsid) == context);
        self.removed = self.removed.wrapping_add(removed);
    }

    /// If the segment registers are a space's, they are to be written again.
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

    /// Entries of a space's directory were written: it uses the segments in which it has any.
    pub fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        let Some(top) = pool[space].region.top.get() else { return };
        let entries = pool[top].entries::<Tables>();
        let written = range.filter(|index| entries.get(*index).is_some_and(|entry| *entry != 0));
        let used = written.fold(0, |used, index| used | 1 << (Tables::table_start(index).0 >> 28));
        let hw = &mut pool[space].hw;
        if hw[hw::SEGMENTS] | used != hw[hw::SEGMENTS] {
            hw[hw::SEGMENTS] |= used;
            hw[hw::SIMPLE] = 0;
            self.leave(space);
        }
    }

    /// The context of a space, if it has one.
    fn context(&self, pool: &Pool, space: Ref<Space>) -> Option<u32> {
        let hw = &pool[space].hw;
        let epoch = u64::from(hw[hw::EPOCH_HIGH]) << 32 | u64::from(hw[hw::EPOCH]);
        (epoch == self.epoch).then_some(hw[hw::CONTEXT])
    }

    /// A context for a space that has none.
    fn take(&mut self, pool: &mut Pool, space: Ref<Space>) -> u32 {
        let Taken { context, is_turn } = self.sweep.take(self.hash.as_deref_mut().unwrap_or_default());
        if is_turn {
            self.begin_epoch();
            regs::drop_all();
        }
        let hw = &mut pool[space].hw;
        [hw[hw::CONTEXT], hw[hw::EPOCH], hw[hw::EPOCH_HIGH]] = [context, self.epoch as u32, (self.epoch >> 32) as u32];
        context
    }

    /// Makes a space the one whose addresses user mode has.
    pub fn enter(&mut self, cpu: &mut Cpu, pool: &mut Pool, space: Ref<Space>) {
        let tables = self.tables(pool, space);
        if self.is_stale || !self.entered.is(tables) {
            self.load(cpu, pool, tables);
        }
        let open = if tables == space { Link::NULL } else { space.link() };
        if let Some(server) = self.shown.get().filter(|_| self.open != open) {
            window::set(pool, server, if open.is_null() { None } else { self.context(pool, server) });
        }
        self.open = open;
    }

    /// Makes a space's tables those of the processor. If it shows a server, the window is shut.
    fn load(&mut self, cpu: &mut Cpu, pool: &mut Pool, space: Ref<Space>) {
        let server = window::shown(pool, space);
        let shown = server.map(|server| (server, self.certain(pool, server)));
        let context = self.certain(pool, space);
        // That one's was the last: the server's was taken back.
        let shown = shown.map(|(server, _)| (server, self.certain(pool, server)));
        let window = server.map_or(0, |server| window::segments(pool, server));
        let hw = &mut pool[space].hw;
        let used = hw[hw::SEGMENTS] as Segments & !window;
        switch(self.loaded, used, context).for_each(|(segment, vsid)| regs::set_segment(segment, vsid));
        regs::set_directory(hw[hw::DIRECTORY]);
        // A fast path switches between two spaces with one token.
        let token = token(self.epoch).filter(|_| used == LOW && window == 0);
        [hw[hw::SIMPLE], hw[hw::VSID_0], hw[hw::VSID_1]] = [token.unwrap_or_default(), vsid(context, 0), vsid(context, 1)];
        cpu.port = token.unwrap_or(NO_TOKEN);
        if let Some(server) = server {
            window::set(pool, server, None);
        }
        window::tell(pool, space, shown);
        self.loaded = used | window;
        (self.entered, self.open, self.shown) = (space.link(), Link::NULL, Link::from_value(server.map_or(0, Ref::address)));
        self.is_stale = false;
    }

    /// The context of a space, which gets one if it has none.
    fn certain(&mut self, pool: &mut Pool, space: Ref<Space>) -> u32 {
        self.context(pool, space).unwrap_or_else(|| self.take(pool, space))
    }

    /// What the processor may see at an address while a thread of this space runs, as [`page`], and whose VSID it has.
    pub fn seen(&self, pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<(Ref<Space>, u32)> {
        let tables = self.tables(pool, space);
        if tables == space {
            return Some((space, page(pool, space, address)?));
        }
        let (directory, leaf) = entries(pool, tables, address)?;
        let owner = if address < pool[space].window { tables } else { space };
        Some((owner, seen(directory, leaf, address.0)?))
    }

    /// No translation of this range is used any more.
    pub fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) {
        let Some(context) = self.context(pool, space) else { return };
        if (range.end.0 - range.start.0) / PAGE_SIZE > self.cut_off {
            self.forget(pool, space);
            return;
        }
        for address in (range.start.0..range.end.0).step_by(PAGE_SIZE as usize) {
            if let Some(table) = &mut self.hash {
                let is_out = remove(table, of_address(context, UserAddr(address)), UserAddr(address));
                self.removed = self.removed.wrapping_add(u32::from(is_out));
            }
            regs::drop_page(address);
        }
        regs::dropped();
        if self.hash.is_none() {
            self.empty_emulators_tlb();
        }
    }

    /// Looks for entries of nobody in the hashed table, as the processor has nothing else to do. Whether there is more to be looked at.
    pub fn sweep(&mut self) -> bool {
        let goes_on = self.sweep.step(self.hash.as_deref_mut().unwrap_or_default(), self.sweeps);
        if !goes_on {
            self.show_counts();
        }
        goes_on
    }

    /// Users see the processor's version and the counts at this page from now on.
    pub fn show_at(&mut self, page: PhysAddr) {
        self.page = Some(page);
        // SAFETY: the kernel information page, of which the portable kernel writes the first bytes only.
        unsafe { ((page.0 + VERSION_OFFSET) as *mut u32).write_volatile(regs::processor_version()) };
        self.show_counts();
    }

    fn show_counts(&self) {
        let Some(page) = self.page else { return };
        let sweep::Counts { swept, live, zombies, turns } = self.sweep.counts();
        let evicts = hash::evicts();
        // What was put in was lost to others, was taken out, or is still there: whoever puts in need not count.
        let reloads = [evicts, self.removed, swept, live, zombies].into_iter().fold(0u32, u32::wrapping_add);
        let counts = Counts { reloads, evicts, swept, live, zombies, turns };
        // SAFETY: the kernel information page, of which the portable kernel writes the first bytes only, and at boot.
        unsafe { ((page.0 + COUNTS_OFFSET) as *mut Counts).write_volatile(counts) };
    }

    /// QEMU keeps translations for itself that a 603's TLB lost to others, and its `tlbie` does not find them there. A segment register
    /// that gets another value makes it forget all of them on the way to user mode. No processor needs that.
    fn empty_emulators_tlb(&mut self) {
        self.unused = (self.unused + 1) % SEGMENTS;
        regs::set_segment(SEGMENTS - 1, vsid(0, self.unused));
    }

    /// A thread of the space that was entered could not access a page. If its tables allow that, the processor has the translation
    /// afterwards.
    pub fn fault_in(&mut self, pool: &Pool, space: Ref<Space>, address: UserAddr, access: Rights) -> FaultIn {
        let Some((owner, page)) = self.seen(pool, space, address).filter(|(_, page)| allows(*page, access)) else { return FaultIn::Report };
        let context = self.context(pool, owner);
        if let (Some(table), Some(context)) = (&mut self.hash, context) {
            hash::insert(table, of_address(context, address), address, page);
        }
        // The TLB may have one that allows less.
        regs::drop_page(address.0);
        regs::dropped();
        FaultIn::Repaired
    }
}
