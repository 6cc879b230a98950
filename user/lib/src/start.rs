// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the kernel's start of the first thread to the component's function, and
//! what happens when it ends or panics.

use crate::cap::identify;
use crate::ipc::{Message, call};
use crate::time::kip;
use crate::{Error, Irq, Memory, Result, Thread, sys, utcb};
use abi::Word;
use abi::kip::{Kip, MAGIC, VERSION};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use image::protocol::{ip, root};
use image::{Given, Start};
use linked_list_allocator::LockedHeap;

#[global_allocator]
static HEAP: LockedHeap = LockedHeap::empty();

/// Gives the allocator its memory.
///
/// # Safety
/// Once, with memory that nobody else uses.
pub unsafe fn init_heap(address: Word, bytes: Word) {
    // SAFETY: the caller's.
    unsafe { HEAP.lock().init(address as *mut u8, bytes as usize) };
}

/// Bytes of the heap that nobody has allocated.
#[must_use]
pub fn free_heap() -> usize {
    HEAP.lock().free()
}

/// What a server has of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Capability slots in use.
    pub slots: Word,
    /// Bytes of its heap that nobody has allocated.
    pub heap: Word,
}

impl Usage {
    /// The component's own, of whose slots there are so many.
    #[must_use]
    pub fn own(slots: Word) -> Self {
        Self {
            slots: (1..slots).filter(|slot| identify(*slot).is_ok()).count() as Word,
            heap: free_heap() as Word,
        }
    }

    /// The message that tells them.
    #[must_use]
    pub const fn message(self) -> Message {
        Message::new([0, self.slots, self.heap])
    }

    /// Those of the root server, if the description lets the component watch.
    ///
    /// # Errors
    /// `BadArgument` if it does not; what the kernel says.
    pub fn of_root() -> Result<Self> {
        Self::ask(ROOT, root::USAGE)
    }

    /// Those of the IP server, which this component may watch.
    ///
    /// # Errors
    /// `BadArgument` if it may not; what the kernel says.
    pub fn of_ip(server: Thread) -> Result<Self> {
        Self::ask(server, ip::USAGE)
    }

    fn ask(server: Thread, request: u32) -> Result<Self> {
        match server.ask([request as Word, 0, 0])? {
            [0, slots, heap] => Ok(Self { slots, heap }),
            _ => Err(Error::BadArgument),
        }
    }
}

/// What a component was given.
pub struct Env {
    /// The start block.
    pub start: Start,
    next_slot: Word,
}

impl Env {
    /// The grant of this name.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&Given> {
        self.start.grants.iter().find(|g| g.name == name)
    }
    /// What follows `NAME=` in the first argument that begins with it.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.start
            .arguments
            .iter()
            .find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
    }
    /// A file of the boot image that the description gives the component.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&'static [u8]> {
        let given = self.given(name).filter(|given| given.slot == 0 && given.bytes > 0)?;
        Some(bytes(given.address as Word, given.bytes as Word))
    }
    /// An argument as a number. Panics, naming it, if there is none.
    #[must_use]
    pub fn number(&self, name: &str) -> u32 {
        let number = self.argument(name).and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("write `{name}=N` as an argument of `{}`", self.start.name))
    }
    fn slot(&self, name: &str) -> Word {
        match self.given(name) {
            Some(given) if given.slot != 0 => given.slot as Word,
            _ => {
                panic!("the system description gives `{}` no capability `{name}`", self.start.name)
            }
        }
    }
    /// A thread to call or notify. Panics, naming it, if the description gives none.
    #[must_use]
    pub fn thread(&self, name: &str) -> Thread {
        Thread(self.slot(name))
    }
    /// The first of a range of I/O ports. Panics as [`thread`](Self::thread).
    #[must_use]
    pub fn ports(&self, name: &str) -> u16 {
        self.slot(name);
        let given = self.given(name).filter(|given| given.bytes != 0);
        given
            .and_then(|given| given.address.try_into().ok())
            .unwrap_or_else(|| panic!("`{name}` is no range of I/O ports"))
    }
    /// Opens an interrupt line: from now on it notifies the component's own thread, by the
    /// capability `notify`, and interrupts again when it is acknowledged.
    ///
    /// # Errors
    /// A sentence, if the description does not give both, or the kernel refuses.
    pub fn open_irq(&self, line: &str, notify: &str) -> core::result::Result<Irq, String> {
        let slot =
            |name| self.given(name).map(|given| given.slot as Word).filter(|slot| *slot != 0);
        let (Some(irq), Some(thread)) = (slot(line), slot(notify)) else {
            return Err(format!("it needs `{line}`, and `{notify}` to notify itself"));
        };
        let irq = Irq(irq);
        let opened = irq.bind(Some(Thread(thread))).and_then(|()| irq.acknowledge());
        opened.map(|()| irq).map_err(|error| format!("no interrupt: {}", error.text()))
    }
    /// A piece of RAM.
    #[must_use]
    pub fn memory(&self, name: &str) -> Memory {
        Memory(self.slot(name))
    }
    /// An empty slot. Panics when the table is full.
    pub fn free_slot(&mut self) -> Word {
        assert!(self.next_slot < self.start.slots as Word, "the capability table is full");
        self.next_slot += 1;
        self.next_slot - 1
    }
}

/// A component of one version of the contract does not start on a kernel of another.
fn check_version() {
    let Kip { magic, version, .. } = kip();
    assert!(
        magic == MAGIC && version == VERSION,
        "the kernel has version {version} of the contract, this was built for {VERSION}"
    );
}

/// Reads the start block, makes the heap.
///
/// # Safety
/// Called once, by [`main!`](crate::main), with what the root server passed.
#[must_use]
pub unsafe fn init(block: Word) -> Env {
    // SAFETY: the root server maps the block read-only: two words of heap, two lengths, and the
    // bytes.
    let [heap, heap_bytes, bytes, _] = unsafe { (block as *const [Word; 4]).read() };
    // SAFETY: the root server mapped the heap for this.
    unsafe { init_heap(heap, heap_bytes) };
    // SAFETY: see above.
    let bytes = unsafe {
        core::slice::from_raw_parts(
            (block + 4 * size_of::<Word>() as Word) as *const u8,
            bytes as usize,
        )
    };
    check_version();
    match postcard::from_bytes::<Start>(bytes) {
        Ok(start) => {
            crate::map::settle(&start.places);
            let env = Env { next_slot: start.free_slot as Word, start };
            crate::net::settle(&env);
            env
        }
        Err(error) => panic!("start block unreadable: {error}"),
    }
}

pub use image::protocol::root::{COMPONENT, EXIT, STATUS, USAGE, WORDS};

/// The state of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Whether it lives.
    pub lives: bool,
    /// How often it was restarted.
    pub restarts: u32,
    /// Bytes of kernel memory that are charged to it.
    pub used: Word,
}

/// Asks the root server about a component.
///
/// # Errors
/// `NoRight` if the description does not let this one watch; `BadArgument` if there is none of that
/// name; what the kernel says.
pub fn status(name: &str) -> Result<Status> {
    match call(ROOT, Message::text(STATUS as Word, name.as_bytes()))?.words {
        [lives @ 0..=1, restarts, used] => {
            Ok(Status { lives: lives == 1, restarts: restarts as u32, used })
        }
        [_, error, _] => Err(sys::error(error)),
    }
}

/// A component of the system, as the root server sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// How it is.
    pub status: Status,
    /// Most bytes of kernel memory that it may use.
    pub quota: Word,
    /// The messages that it says it has sent since it was started, modulo 2^32 ([`crate::ipc`]).
    pub messages: Word,
}

/// All components, in the order in which they were started; none if the description does not let
/// this one watch.
pub fn components() -> impl Iterator<Item = Component> {
    (0..).map_while(|index| {
        let reply = call(ROOT, Message::new([COMPONENT as Word, index, 0])).ok()?;
        let [lives @ 0..=1, _, restarts] = reply.words else { return None };
        let [used, quota, messages] =
            [3, 2, 1].map(|behind| utcb::word(reply.count as usize - behind));
        Some(Component {
            name: reply.text(),
            status: Status { lives: lives == 1, restarts: restarts as u32, used },
            quota,
            messages,
        })
    })
}

/// What the root server has said and the console does not have yet. `taken` is how much that has.
pub fn words(taken: &mut u32) -> Vec<u8> {
    let mut words = Vec::new();
    while let Ok(reply) = call(ROOT, Message::new([WORDS as Word, *taken as Word, 0])) {
        let bytes = reply.bytes();
        if bytes.is_empty() {
            break;
        }
        *taken = reply.words[0] as u32;
        words.extend(bytes);
    }
    words
}

const ROOT: Thread = Thread(image::slot::ROOT as Word);

/// Ends the component.
pub fn exit(code: Word) -> ! {
    let _ = call(ROOT, Message::new([EXIT as Word, code, 0]));
    // The root server does not answer; if there is none, this is an exception.
    loop {
        crate::arch::raise();
    }
}

/// The component's entry: `main!(function)` with `fn function(env: Env)`.
#[macro_export]
macro_rules! main {
    ($function:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn macadamia_main(block: $crate::Word) -> ! {
            // SAFETY: the one call, by `_start`.
            let env = unsafe { $crate::start::init(block) };
            $function(env);
            $crate::start::exit(0)
        }

        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::start::report_panic(info)
        }
    };
}

/// The root server's entry: `root!(function)` with `fn function(info: abi::boot::Info) -> !`.
#[macro_export]
macro_rules! root {
    ($function:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn macadamia_main(info: $crate::Word) -> ! {
            // SAFETY: the one call, by `_start`, with what the kernel passed.
            let info = unsafe { $crate::start::init_root(info) };
            $function(info)
        }

        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            say(format_args!("{info}"));
            power_off()
        }
    };
}

/// Bytes of the root server's heap, which is part of its image.
const ROOT_HEAP: usize = 512 << 10;

/// Makes the root server's heap and reads what the kernel tells.
///
/// # Safety
/// Called once, by [`root!`](crate::root).
#[must_use]
pub unsafe fn init_root(info: Word) -> abi::boot::Info {
    static mut MEMORY: [u64; ROOT_HEAP / 8] = [0; ROOT_HEAP / 8];
    // SAFETY: the one use of this memory.
    unsafe { init_heap(&raw mut MEMORY as Word, ROOT_HEAP as Word) };
    // SAFETY: the kernel wrote it to the words of the UTCB.
    unsafe { (info as *const abi::boot::Info).read_volatile() }
}

/// Memory that is mapped read-only for good, such as the boot image in the root server.
#[must_use]
pub fn bytes(address: Word, bytes: Word) -> &'static [u8] {
    // SAFETY: nobody writes it; if it is not mapped the component gets an exception at the first
    // use.
    unsafe { core::slice::from_raw_parts(address as *const u8, bytes as usize) }
}

/// Fills memory that was mapped for this with a copy of `with` and zeros.
pub fn fill(address: Word, bytes: Word, with: &[u8]) {
    let count = with.len().min(bytes as usize);
    let to = address as *mut u8;
    // SAFETY: the caller mapped `bytes` there at an address that no object of its own has; if not,
    // it gets an exception.
    unsafe {
        to.copy_from_nonoverlapping(with.as_ptr(), count);
        to.add(count).write_bytes(0, bytes as usize - count);
    }
}

/// Says why, and ends the component.
pub fn report_panic(info: &core::panic::PanicInfo<'_>) -> ! {
    // Without a console there is nobody to tell but the root server, which sees the end.
    crate::println!("{info}");
    exit(101)
}

/// The arguments as one line.
#[must_use]
pub fn arguments(env: &Env) -> String {
    env.start.arguments.join(" ")
}
