// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry area (`mmu::area`), for servers at ring 1: its pages, and the tables that have them.
//!
//! A space keeps its own highest table, which has the kernel's part. For entries and exits through
//! an area there is another table, the *shadow*: its entries for users are copies of those of the
//! first table, and its last entry leads to the area. Shadows are a cache: there are few of them,
//! and if an entry was added to the space's table since, the fault that follows copies it
//! (`repair`). The kernel drops what the TLB has of a shadow each time that it loads one, so a
//! change of mappings needs no more flushes than without areas.
//!
//! On a processor on which programs may find out what is on supervisor pages (Meltdown) all
//! components are entered through an area, too: one that they share.

use crate::gdt::{self, task};
use crate::interrupts::{self, VECTORS};
use crate::layout::{KERNEL_BASE, TSS};
use crate::paging::{self, Table, physical_of};
use crate::regs;
use abi::{Delivery, Error, Frame, MessageKind, PAGE_SIZE, USER_END, UserAddr};
use arch_common::place;
use arch_common::shared::{Page, Shared, at};
use core::mem::offset_of;
use kcore::fault::EVENT_WORDS;
use kcore::{Space, Thread};
use mmu::area::{self, Page as Part};
use mmu::pcid::KEEP;
use mmu::x86_64::X86_64 as Format;
use pool::{Link, Pool, Ref};
use x86_64_context::crossing::{Code, Pair, Who, Words};
use x86_64_context::hw::{AREA, LAST, SERVER, SHADOW};
use x86_64_context::{SAVED, word};

/// How many servers there can be, and how many shadows.
const SERVERS: usize = 4;
const SHADOWS: usize = 16;
/// The index of the area of all that is neither a server nor crosses to one, and the number of
/// areas.
const COMPONENTS: usize = SERVERS;
const AREAS: usize = SERVERS + 1;
/// The PCID of all shadows: no space has it.
const SHADOW_PCID: u64 = 0xfff;
/// The PCID of the kernel's own tables, where PCIDs are shown: no translation with it is kept.
const SHOWN_PCID: u64 = 0xffe;
/// In an entry: the processor has used it.
const ACCESSED: u64 = 1 << 5;
/// Entries of a table.
const ENTRIES: usize = 512;
/// Bits of an address below those that select an entry of the highest table.
const HIGHEST_SHIFT: u32 = 39;

/// What only the kernel writes of an area.
#[repr(C)]
pub struct Constants {
    /// The value of CR3 in the kernel.
    pub kernel: u64,
    /// Where the alien's frame is, in the server's window.
    pub frame: u64,
    /// Where its registers end.
    pub registers: u64,
    /// What the server is told of an event.
    pub delivery: u64,
    /// Where users' addresses end.
    pub users_end: u64,
}

/// What the server may write.
#[repr(C)]
pub struct Own {
    /// Which of the pair runs: [`RUNS`].
    pub runs: u32,
    /// The alien's handle.
    pub handle: u32,
    /// Where the server goes on.
    pub rip: u64,
    /// Its stack pointer.
    pub rsp: u64,
    /// A register, while there is no other place for it.
    pub scratch: u64,
}

/// Values of [`Own::runs`]: a server, an alien.
pub const RUNS: [u32; 2] = [1, 3];

type Saved = [u64; SAVED];

/// The most words that an exception and its stub push.
const PUSHED: usize = 7;

/// The last bytes of the page of words: the registers of an entry.
const SAVED_AT: usize = PAGE_SIZE as usize - size_of::<Saved>();
/// Where the stacks begin in that page that are for exceptions that may come at any time, and the
/// bytes of each.
const STACKS: u64 = 1024;
const STACK_BYTES: u64 = 512;

/// The stacks that exceptions have: their place in the task-state segment, from 1 on.
#[derive(Clone, Copy)]
enum Stack {
    /// For all exceptions but those below: they do not come while the area's code runs, or `mend`
    /// handles them.
    Entry = 1,
    /// The others.
    Debug = 2,
    Nmi = 3,
    DoubleFault = 4,
    MachineCheck = 5,
}

impl Stack {
    const ALL: [Self; 5] =
        [Self::Entry, Self::Debug, Self::Nmi, Self::DoubleFault, Self::MachineCheck];

    /// Its top: the first word is pushed below that address.
    const fn top(self) -> u64 {
        match self {
            Self::Entry => Part::Words.address() + PAGE_SIZE,
            other => Part::Words.address() + STACKS + (other as u64 - 1) * STACK_BYTES,
        }
    }
}
const _: () =
    assert!(size_of::<Own>() as u64 <= STACKS && STACKS + 4 * STACK_BYTES < SAVED_AT as u64);

static TABLES: [[Table; 3]; AREAS] =
    [const { [const { Shared::new(Page([0; ENTRIES])) }; 3] }; AREAS];
static CONSTANTS: [Shared<Page<[u64; ENTRIES]>>; AREAS] =
    [const { Shared::new(Page([0; ENTRIES])) }; AREAS];
static WORDS: [Shared<Page<[u64; ENTRIES]>>; AREAS] =
    [const { Shared::new(Page([0; ENTRIES])) }; AREAS];
static HIGHEST: [Table; SHADOWS] = [const { Shared::new(Page([0; ENTRIES])) }; SHADOWS];
static IDT: Shared<Page<[[u64; 2]; 256]>> = Shared::new(Page([[0; 2]; 256]));
/// Servers' and components': only the second has an I/O bitmap.
static TASK: [Shared<Page<[u32; 1024]>>; 2] = [const { Shared::new(Page([0; 1024])) }; 2];

unsafe extern "C" {
    static area_text: u8;
    static area_call: u8;
    static area_server_call: u8;
    static area_call_slow: u8;
    static area_vectors: u8;
    static area_text_end: u8;
    static syscall_entry: u8;
}

/// Where the area's code has a symbol.
fn place_of(symbol: *const u8) -> u64 {
    Part::Text.address() + (symbol as u64 - &raw const area_text as u64)
}

fn text_physical() -> u64 {
    u64::from(&raw const area_text as u32 - KERNEL_BASE)
}

/// Where `syscall` enters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// In the kernel.
    Kernel,
    /// At the area's fast path.
    Fast,
    /// At the area's code that enters the kernel.
    Slow,
}

/// How the kernel was left through an area.
#[derive(Clone, Copy)]
pub struct Left {
    /// Which one.
    index: usize,
    /// The pair, if it may cross, and which of the two ran first.
    pub pair: Option<(Pair, Who)>,
}

/// Servers, and the tables with which they and their processes run.
pub struct Areas {
    /// Whether there can be any.
    is_on: bool,
    /// Whether components, too, are entered through an area.
    isolates: bool,
    /// What CR3 has besides the address of the kernel's own tables, and besides that of a shadow.
    kernel: u64,
    pcid: u64,
    servers: [Link<Space>; SERVERS],
    /// Each server's thread that resumed an alien last, and that alien.
    pairs: [[Link<Thread>; 2]; SERVERS],
    shadows: [Link<Space>; SHADOWS],
    next: usize,
    /// Whether the processor has to drop its predictions of branches when another server runs than
    /// the last one, which is this one.
    drops_predictions: bool,
    trained: Link<Space>,
    entry: Entry,
    /// The space whose shadow was loaded when the kernel was left; null: it was left in another
    /// way.
    shown: Link<Space>,
    left: Option<Left>,
}

impl Areas {
    /// There are no servers yet; there can be some if `is_on`. If the processor has no PCIDs, they
    /// may still be shown (`Spaces::new`).
    pub const fn new(is_on: bool, has_pcids: bool, shows: bool) -> Self {
        Self {
            is_on,
            isolates: false,
            kernel: match (has_pcids, shows) {
                (true, _) => KEEP,
                (false, true) => SHOWN_PCID,
                (false, false) => 0,
            },
            pcid: if has_pcids || shows { SHADOW_PCID } else { 0 },
            servers: [Link::NULL; SERVERS],
            pairs: [[Link::NULL; 2]; SERVERS],
            shadows: [Link::NULL; SHADOWS],
            next: 0,
            drops_predictions: false,
            trained: Link::NULL,
            entry: Entry::Kernel,
            shown: Link::NULL,
            left: None,
        }
    }

    /// The processor has to drop its predictions of branches when another server runs, or need not.
    pub const fn set_barrier(&mut self, drops_predictions: bool) {
        self.drops_predictions = drops_predictions;
    }

    /// From now on no thread is entered by tables that have more of the kernel than an area.
    pub fn isolate(&mut self) {
        set_up(COMPONENTS, self.kernel);
        self.isolates = true;
    }

    /// A space becomes a server.
    ///
    /// # Errors
    /// `Unsupported`: there can be no servers, or no more.
    pub fn serve(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<(), Error> {
        let free = self.servers.iter().position(|server| server.is_null()).filter(|_| self.is_on);
        let index = free.ok_or(Error::Unsupported)?;
        self.servers[index] = space.link();
        pool[space].hw[AREA] = index as u32 + 1;
        set_up(index, self.kernel);
        Ok(())
    }

    /// A space shows another server than before, or none.
    pub fn show(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        self.forget(pool, space);
        pool[space].hw[SERVER] = server.value();
    }

    /// A space ends, or its entries for a server have changed.
    pub fn forget(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let hw = &mut pool[space].hw;
        let (shadow, area) = (core::mem::take(&mut hw[SHADOW]), hw[AREA]);
        if shadow != 0 {
            self.shadows[shadow as usize - 1] = Link::NULL;
        }
        if let Some(server) = Link::<Space>::from_value(hw[SERVER]).get()
            && pool[server].hw[LAST] == space.address()
        {
            pool[server].hw[LAST] = 0;
        }
        if self.shown.is(space) {
            self.shown = Link::NULL;
        }
        if area != 0 && self.servers[area as usize - 1].is(space) {
            let index = area as usize - 1;
            if self.trained.is(space) {
                self.trained = Link::NULL;
            }
            (self.servers[index], self.pairs[index]) = (Link::NULL, [Link::NULL; 2]);
        }
    }

    /// Makes `syscall` enter there.
    pub fn set_entry(&mut self, entry: Entry) {
        if entry != self.entry {
            let was_kernel = self.entry == Entry::Kernel;
            self.entry = entry;
            let address = match entry {
                Entry::Kernel => &raw const syscall_entry as u64,
                Entry::Fast => place_of(&raw const area_call),
                Entry::Slow => place_of(&raw const area_call_slow),
            };
            // SAFETY: the tables that are loaded next have that code, and it is ready.
            unsafe { regs::write_msr(regs::LSTAR, address) };
            if was_kernel != (entry == Entry::Kernel) {
                // No code of 32 bits enters where there is nothing, either.
                let address =
                    if was_kernel { place_of(&raw const area_call_slow) } else { address };
                // SAFETY: as above.
                unsafe { regs::write_msr(regs::CSTAR, address) };
            }
        }
    }

    /// The kernel is left in another way.
    pub fn pass_by(&mut self) {
        (self.shown, self.left) = (Link::NULL, None);
        self.set_entry(Entry::Kernel);
    }

    /// The area through which a thread has to be entered, if it is a server's thread or a server's
    /// alien: the area's index, the space whose tables are used, and which of the pair the thread
    /// is. An alien and its server's thread are recorded as a pair.
    pub fn way(&mut self, pool: &mut Pool, next: Ref<Thread>) -> Option<(usize, Ref<Space>, Who)> {
        let own = pool[next].space.get().filter(|_| self.is_on)?;
        if let Some(index) = pool[own].hw[AREA].checked_sub(1) {
            let last = Link::<Space>::from_value(pool[own].hw[LAST]).get();
            return Some((index as usize, last.unwrap_or(own), Who::Server));
        }
        let server = Link::<Space>::from_value(pool[own].hw[SERVER]).get()?;
        let index = pool[server].hw[AREA].checked_sub(1)? as usize;
        pool[server].hw[LAST] = own.address();
        let t = &pool[next];
        let handler: Ref<Thread> = t.handler.object();
        let is_its = t.is_alien()
            && !t.handler.is_empty()
            && pool[handler].space.is(server)
            && t.home.is(server);
        if is_its {
            self.pairs[index] = [handler.link(), next.link()];
        }
        is_its.then_some((index, own, Who::Alien))
    }

    /// The area through which all other threads have to be entered, if there is one. It is as for an
    /// alien that cannot cross.
    pub fn other_way(&self, pool: &Pool, next: Ref<Thread>) -> Option<(usize, Ref<Space>, Who)> {
        let own = pool[next].space.get().filter(|_| self.isolates)?;
        Some((COMPONENTS, own, Who::Alien))
    }

    /// The pair of an area of which this thread is to run with these tables, if there is one.
    pub fn pair(
        &self,
        pool: &Pool,
        index: usize,
        (tables, next, who): (Ref<Space>, Ref<Thread>, Who),
    ) -> Option<Pair> {
        let [server, alien] = *self.pairs.get(index)?;
        let pair = Pair { server: server.get()?, alien: alien.get()? };
        let is_there = pair.of(who) == next
            && pool[pair.alien].space.is(tables)
            && pool[pair.alien].home.is(self.servers.get(index)?.get()?);
        is_there.then_some(pair)
    }

    /// Prepares the exit to a thread whose registers are complete. Returns the value for CR3. If a
    /// pair is given, it may cross.
    pub fn leave(
        &mut self,
        pool: &mut Pool,
        (index, tables, who): (usize, Ref<Space>, Who),
        next: Ref<Thread>,
        pair: Option<Pair>,
    ) -> u64 {
        let server = self.servers.get(index).and_then(|server| server.get());
        if let Some(server) = server.filter(|_| self.drops_predictions)
            && !self.trained.is(server)
        {
            self.trained = server.link();
            regs::drop_predictions();
        }
        if let Some(pair) = pair {
            let (server, alien) = (&pool[pair.server], &pool[pair.alien]);
            let badge = alien.handler.badge();
            let frame = alien.utcb_address.0;
            let constants = constants(index);
            constants.frame = frame;
            constants.registers = frame + offset_of!(Frame, fs_base) as u64;
            constants.delivery = Delivery::new(MessageKind::Alien, badge, EVENT_WORDS, 0).0.into();
            let own = own(index);
            own.runs = RUNS[usize::from(who == Who::Alien)];
            own.handle = alien.handle;
            (own.rip, own.rsp) = (server.context[word::RIP], server.context[word::RSP]);
        }
        if index == COMPONENTS {
            // Nobody finds there what another component had in its registers: the other stacks
            // end the machine.
            let end = (Stack::Debug.top() % PAGE_SIZE) as usize / 8;
            own(index).scratch = 0;
            // SAFETY: the page is integers; the kernel runs, so no area's code does.
            let words = unsafe { &mut (*WORDS[index].get()).0 };
            words[end - PUSHED..end].fill(0);
        }
        saved(index).copy_from_slice(&pool[next].context[word::GENERAL..=word::SS]);
        self.set_entry(if pair.is_some() { Entry::Fast } else { Entry::Slow });
        self.left = Some(Left { index, pair: pair.map(|pair| (pair, who)) });
        self.shown = tables.link();
        let shadow = self.shadow(pool, index, tables);
        u64::from(physical_of(&HIGHEST[shadow])) | self.pcid
    }

    /// The kernel was entered through an area. Returns how it had been left, which of the pair
    /// runs, the registers, and the pair's words.
    pub fn entered(&mut self) -> Option<(Left, Who, Saved, Words)> {
        let left = self.left.take()?;
        let own = own(left.index);
        let who = if own.runs == RUNS[1] { Who::Alien } else { Who::Server };
        let Own { handle, rip, rsp, scratch, .. } = *own;
        let words = Words { handle, rip, rsp, scratch };
        Some((left, who, *saved(left.index), words))
    }

    /// A thread had a translation fault. Copies the entry to the shadow with which it runs, and
    /// returns whether that changed anything.
    pub fn repair(&mut self, pool: &Pool, address: UserAddr) -> bool {
        let index = (address.0 >> HIGHEST_SHIFT) as usize;
        let Some(space) = self.shown.get().filter(|_| index < ENTRIES - 1) else { return false };
        let (Some(shadow), Some(top)) =
            (pool[space].hw[SHADOW].checked_sub(1), pool[space].region.top.get())
        else {
            return false;
        };
        let entry = pool[top].entries::<Format>()[index];
        // SAFETY: the processor does not run by it, and nobody else has a reference.
        let place = unsafe { &mut (*HIGHEST[shadow as usize].get()).0[index] };
        let is_late = (*place ^ entry) & !ACCESSED != 0;
        *place = entry;
        is_late
    }

    /// The shadow of a space, made if there is none, with this area.
    fn shadow(&mut self, pool: &mut Pool, index: usize, space: Ref<Space>) -> usize {
        let shadow = self.shadow_of(pool, space);
        // A space's threads may be entered by different areas.
        // SAFETY: the processor does not run by it, and nobody else has a reference.
        unsafe {
            (*HIGHEST[shadow].get()).0[ENTRIES - 1] =
                area::table(physical_of(&TABLES[index][0]).into());
        }
        shadow
    }

    /// The shadow of a space, made if there is none: its last entry is not set.
    fn shadow_of(&mut self, pool: &mut Pool, space: Ref<Space>) -> usize {
        if let Some(shadow) = pool[space].hw[SHADOW].checked_sub(1) {
            return shadow as usize;
        }
        let shadow = self.next;
        self.next = (shadow + 1) % SHADOWS;
        if let Some(loser) = core::mem::replace(&mut self.shadows[shadow], space.link()).get() {
            pool[loser].hw[SHADOW] = 0;
        }
        pool[space].hw[SHADOW] = shadow as u32 + 1;
        if let Some(top) = pool[space].region.top.get() {
            // SAFETY: the processor does not run by it, and nobody else has a reference.
            let entries = unsafe { &mut (*HIGHEST[shadow].get()).0 };
            entries.copy_from_slice(pool[top].entries::<Format>());
        }
        shadow
    }
}

/// An area's constants.
fn constants(index: usize) -> &'static mut Constants {
    // SAFETY: the page begins with them; they are integers. The kernel runs, so no area's code
    // does, and no reference is kept.
    unsafe { &mut *at(CONSTANTS[index].address()) }
}

/// An area's words.
fn own(index: usize) -> &'static mut Own {
    // SAFETY: as above.
    unsafe { &mut *at(WORDS[index].address()) }
}

/// The registers of an area's last entry, or of the next exit.
fn saved(index: usize) -> &'static mut Saved {
    // SAFETY: as above: they end with the page.
    unsafe { &mut *at(WORDS[index].address() + SAVED_AT as u32) }
}

/// The registers at an exception that ends the machine, while an area's tables were loaded: those
/// that the entry saved at this address of the area.
pub fn ended(areas: &Areas, address: u64) -> Saved {
    let offset = (address % PAGE_SIZE) as usize / 8;
    let index = areas.left.map_or(0, |left| left.index);
    // SAFETY: the page is the kernel's, and integers.
    let page = unsafe { &(*WORDS[index].get()).0 };
    core::array::from_fn(|word| page.get(offset + word).copied().unwrap_or_default())
}

/// Where the code is in which exceptions may occur (`crossing::mend`).
pub fn code() -> Code {
    let [call, server_call, end] =
        [&raw const area_call, &raw const area_server_call, &raw const area_call_slow]
            .map(place_of);
    Code { call, server_call, end }
}

/// Where each page of an area is.
fn physical(index: usize, page: Part) -> u64 {
    let address = match page {
        Part::Text => return text_physical(),
        Part::Interrupts => physical_of(&IDT),
        Part::Segments => gdt::physical(),
        Part::Constants => physical_of(&CONSTANTS[index]),
        Part::Words => physical_of(&WORDS[index]),
        Part::Task => physical_of(&TASK[usize::from(index == COMPONENTS)]),
    };
    address.into()
}

/// Makes an area's tables and the initial contents of its pages; `kernel` is what CR3 has besides
/// the address of the kernel's tables.
fn set_up(index: usize, kernel: u64) {
    let [upper, directory, leaf] = &TABLES[index];
    // SAFETY: no processor runs by these tables, and nobody else has a reference.
    let leaf_entries = unsafe { &mut (*leaf.get()).0 };
    area::fill(leaf_entries, |page| physical(index, page));
    assert!(area::stray(leaf_entries, |page| physical(index, page)).is_none(), "a stray page");
    for (table, below) in [(upper, directory), (directory, leaf)] {
        // SAFETY: as above.
        unsafe { (*table.get()).0[ENTRIES - 1] = area::table(physical_of(below).into()) };
    }
    // An earlier server's are nothing for this one.
    // SAFETY: as above, and the pages are integers.
    unsafe {
        (*WORDS[index].get()).0.fill(0);
        (*CONSTANTS[index].get()).0.fill(0);
    }
    let constants = constants(index);
    constants.kernel = u64::from(paging::top_physical()) | kernel;
    constants.users_end = USER_END;
}

/// Makes what all areas have, at boot. The kernel's tables have the code, too.
pub fn init() {
    let code = &raw const area_text_end as u64 - &raw const area_text as u64;
    assert!(code <= PAGE_SIZE, "the area's code has grown over its page");
    paging::map_area(Part::Text as usize, text_physical() as u32, true);
    // SAFETY: boot; nobody else has a reference.
    let idt = unsafe { &mut (*IDT.get()).0 };
    for (vector, gate) in idt.iter_mut().enumerate().take(VECTORS) {
        let stack = match vector {
            interrupts::DEBUG => Stack::Debug,
            interrupts::NMI => Stack::Nmi,
            interrupts::DOUBLE_FAULT => Stack::DoubleFault,
            interrupts::MACHINE_CHECK => Stack::MachineCheck,
            _ => Stack::Entry,
        };
        let handler = place_of(&raw const area_vectors) + 16 * vector as u64;
        *gate = interrupts::gate(vector, handler, stack as u64);
    }
    for segment in &TASK {
        // SAFETY: as above.
        let words = unsafe { &mut (*segment.get()).0 };
        let mut set = |word: usize, value: u64| {
            let at = TASK_WORD + word;
            (words[at], words[at + 1]) = (value as u32, (value >> 32) as u32);
        };
        for stack in Stack::ALL {
            set(task::IST1 + 2 * (stack as usize - 1), stack.top());
        }
        set(task::RSP0, Stack::Entry.top());
        words[TASK_WORD + task::IO] = gdt::io_word(false);
    }
}

/// The first word of a task-state segment in its page.
const TASK_WORD: usize = (TSS as usize % PAGE_SIZE as usize) / 4;

/// Maps the two pages of the I/O bitmap, from this address of the pool on, in the area of
/// components. What the TLB has of them is dropped when their tables are loaded.
pub fn map_io_bitmap(map: u32) {
    let [.., leaf] = &TABLES[COMPONENTS];
    let pages = [map, map + PAGE_SIZE as u32].map(place::physical);
    let [first, second] = pages.map(u64::from);
    // SAFETY: the processor does not run by this table, and nobody else has a reference.
    let entries = unsafe { &mut (*leaf.get()).0 };
    area::show_ports(entries, [first, second, paging::ones_physical().into()]);
}

/// Shows components the I/O bitmap, or hides it.
pub fn open_io(open: bool) {
    let [_, components] = &TASK;
    // SAFETY: the kernel runs, so the processor reads another segment; nobody else has a reference.
    unsafe { (*components.get()).0[TASK_WORD + task::IO] = gdt::io_word(open) };
}
