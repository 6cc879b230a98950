// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads in two spaces, made by the portable kernel: the fast path works on its objects.

use abi::frame::vector;
use abi::{Delivery, Error, MessageKind, Op, Rights, Tag};
use alpha_context::{Alpha, hw, tag, word};
use anyhow::{Context as _, Result, ensure};
use arch_host::{Host, WINDOWS, boot_port, slot};
use kcore::port::{Context, Processor};
use kcore::{Space, Thread};
use pool::Ref;

/// The portable kernel with Alpha's registers and translation tables. The two spaces run with
/// tables that `run.rs` makes: the fast path only loads a word that names them.
type Kernel = kcore::Kernel<Host<Alpha, mmu::alpha::Alpha>>;

/// Bytes of the pool.
const POOL_BYTES: u32 = 1 << 20;
/// The client's selector of the server.
pub const SELECTOR: u32 = 1;
/// The badge that the server sees.
const BADGE: u32 = 0xabcde;
/// Words of each message.
const WORDS: u32 = abi::tag::REGISTER_WORDS;
/// Their priority, and that of the third thread, which is ready while they call each other.
const PRIORITIES: [u32; 2] = [50, 40];
/// Tags of the spaces: one with all bits set, and one with some.
const TAGS: [u64; 2] = [0x7f, 0x2a];

/// What the client sends, and what each receives.
pub const CLIENT_TAG: u32 = Tag::new(Op::Call, WORDS, 0).0;
/// See above.
pub const SERVER_TAG: u32 = Tag::new(Op::ReplyWait, WORDS, 0).0;
/// See above.
pub const CLIENT_DELIVERY: u32 = Delivery::new(MessageKind::Reply, 0, WORDS, 0).0;
/// See above.
pub const SERVER_DELIVERY: u32 = Delivery::new(MessageKind::Call, BADGE, WORDS, 0).0;

/// Where a thread is in user mode.
#[derive(Clone, Copy)]
pub struct Place {
    /// Where its code begins, and where the server continues after its wait.
    pub entry: u64,
    /// The address after its system call.
    pub goes_on: u64,
    /// Its stack pointer.
    pub sp: u64,
}

/// The kernel and the two threads.
pub struct System {
    kernel: Kernel,
    /// The client.
    pub client: Ref<Thread>,
    server: Ref<Thread>,
    places: [Place; 2],
}

impl System {
    /// The client runs, and the server waits. Spaces have their tables at these physical addresses.
    ///
    /// # Errors
    /// If the portable kernel does something else.
    pub fn new(places: [Place; 2], tables: [u32; 2]) -> Result<Self> {
        let mut kernel: Kernel = boot_port(Host::default(), WINDOWS, POOL_BYTES);
        let root = kernel.current().context("nobody runs")?;
        let own = kernel.pool[root].space.get().context("the root server has no space")?;
        let next = slot::FREE;
        let [client, server, third] =
            [0, 1, 2].map(|index| [next + 2 * index, next + 2 * index + 1]);
        for [space, thread] in [client, server, third] {
            call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 8, space, 0])?;
            call(&mut kernel, Op::CreateThread, [slot::QUOTA, space, thread, 0])?;
        }
        let rights = Rights::CALL.0 | BADGE << 12;
        call(&mut kernel, Op::Copy, [server[1], client[0], SELECTOR, rights])?;
        for ([_, thread], priority) in [(client, 0), (server, 0), (third, 1)] {
            call(&mut kernel, Op::SetPriority, [thread, PRIORITIES[priority], 100, 0])?;
        }
        let object = |kernel: &Kernel, selector| kernel.pool[Space::slot(own, selector)];
        for ([space, _], (table, number)) in
            [client, server].into_iter().zip(tables.into_iter().zip(TAGS))
        {
            let space: Ref<Space> = object(&kernel, space).object();
            let words = &mut kernel.pool[space].hw;
            words[hw::TABLE] = table;
            let tag = tag(number);
            (words[hw::TAG], words[hw::TAG + 1]) = (tag as u32, (tag >> 32) as u32);
        }
        let threads = [client, server].map(|[_, thread]| object(&kernel, thread).object());
        let mut system = Self { kernel, client: threads[0], server: threads[1], places };
        for ([_, thread], place) in
            [client, server, third].into_iter().zip([places[0], places[1], places[0]])
        {
            let start = [thread, place.entry as u32, place.sp as u32, 0];
            call(&mut system.kernel, Op::Start, start)?;
        }
        // The root server waits, and the client waits for the server's sake.
        for (thread, op) in
            [(root, Op::Receive), (system.client, Op::Yield), (system.server, Op::Receive)]
        {
            system.runs(thread)?;
            system.enter(
                places[usize::from(thread == system.server)].entry,
                [Tag::new(op, 0, 0).0, 0],
            );
        }
        system.runs(system.client)?;
        Ok(system)
    }

    fn runs(&mut self, thread: Ref<Thread>) -> Result<()> {
        ensure!(self.kernel.current() == Some(thread), "another thread runs");
        Ok(())
    }

    /// The thread that runs makes a system call, which the portable kernel handles, and would
    /// continue at this address.
    fn enter(&mut self, goes_on: u64, [tag, first]: [u32; 2]) {
        let Some(me) = self.kernel.current() else { return };
        let context: &mut Context = &mut self.kernel.pool[me].context;
        context[word::VECTOR] = vector::SYSTEM_CALL;
        context[word::PC] = goes_on;
        arch_host::set_arguments::<Alpha>(
            &mut self.kernel.pool[me],
            [tag, first, 0, 0, 0].map(u64::from),
        );
        self.kernel.system_call();
    }

    /// A round trip that the portable kernel handles: a call, and the reply to it.
    ///
    /// # Errors
    /// If it does something else.
    pub fn round_trip(&mut self) -> Result<()> {
        self.runs(self.client)?;
        self.enter(self.places[0].goes_on, [CLIENT_TAG, SELECTOR]);
        self.runs(self.server)?;
        let [delivery, handle, ..] = arch_host::results::<Alpha>(&self.kernel.pool[self.server]);
        ensure!(delivery == u64::from(SERVER_DELIVERY), "the server has {delivery:#x}");
        self.enter(self.places[1].goes_on, [SERVER_TAG, handle as u32]);
        self.runs(self.client)?;
        let [delivery, ..] = arch_host::results::<Alpha>(&self.kernel.pool[self.client]);
        ensure!(delivery == u64::from(CLIENT_DELIVERY), "the client has {delivery:#x}");
        Ok(())
    }

    /// The kernel's memory.
    #[must_use]
    pub fn pool(&self) -> &[u8] {
        self.kernel.pool.bytes_at(pool::BASE, self.kernel.pool.bytes())
    }

    /// The values that a port keeps in registers of PALmode, in the order of `ipc.S`.
    pub fn processor(&mut self) -> [u64; 5] {
        let cpu = self.kernel.port.cpu();
        let (current, top) = (cpu.current.value(), cpu.top);
        let table = self.kernel.threads;
        [
            current.into(),
            0,
            u64::from(top) << 32 | u64::from(kcore::thread::gate::OPEN),
            (table.start + kcore::thread::ANCHOR).into(),
            (table.count - 1).into(),
        ]
    }

    /// Tag and tables of the client's space.
    ///
    /// # Errors
    /// If it has no space.
    pub fn space(&self) -> Result<[u64; 2]> {
        let space = self.kernel.pool[self.client].space.get().context("the client has no space")?;
        let words = &self.kernel.pool[space].hw;
        Ok([hw::TAG, hw::TABLE].map(|at| u64::from(words[at]) | u64::from(words[at + 1]) << 32))
    }

    /// Compares another memory with the kernel's own: everything but words that have no meaning in
    /// the state of the two threads.
    ///
    /// # Errors
    /// Names the first word that differs.
    pub fn compare(&self, other: &[u8]) -> Result<()> {
        let (mut ours, mut theirs) = (self.pool().to_vec(), other.to_vec());
        for memory in [&mut ours, &mut theirs] {
            for thread in [self.client, self.server] {
                let start = (thread.address() - kcore::thread::ANCHOR - pool::BASE) as usize;
                let bytes = start..start + size_of::<Thread>();
                let mut known: Thread = bytemuck::pod_read_unaligned(&memory[bytes.clone()]);
                // Who runs has its registers in the processor, and who waits in a system call needs
                // these two.
                let kept = [word::SP, word::PC].map(|word| known.context[word]);
                known.context = [0; kcore::port::CONTEXT_WORDS];
                if thread == self.server {
                    (known.context[word::SP], known.context[word::PC]) = (kept[0], kept[1]);
                }
                known.partner = pool::Link::NULL;
                known.badge = 0;
                memory[bytes].copy_from_slice(bytemuck::bytes_of(&known));
            }
        }
        let words = ours.chunks_exact(4).zip(theirs.chunks_exact(4));
        let differs = words.enumerate().find(|(_, (ours, theirs))| ours != theirs);
        let Some((index, (ours, theirs))) = differs else { return Ok(()) };
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        anyhow::bail!(
            "at {:#x} the portable kernel has {:#x}, and the fast path {:#x}",
            pool::BASE as usize + 4 * index,
            word(ours),
            word(theirs)
        )
    }
}

/// A system call of the root server's that succeeds.
fn call(kernel: &mut Kernel, op: Op, arguments: [u32; 4]) -> Result<()> {
    let me = kernel.current().context("nobody runs")?;
    let [a0, a1, a2, a3] = arguments;
    let words = [Tag::new(op, 0, 0).0, a0, a1, a2, a3].map(u64::from);
    arch_host::set_arguments::<Alpha>(&mut kernel.pool[me], words);
    kernel.pool[me].context[word::VECTOR] = vector::SYSTEM_CALL;
    kernel.system_call();
    while kernel.carry_on() {}
    let [status, ..] = arch_host::results::<Alpha>(&kernel.pool[me]);
    let error = Error::from_code(status as u32);
    ensure!(error.is_none(), "{op:?}: {error:?}");
    Ok(())
}
