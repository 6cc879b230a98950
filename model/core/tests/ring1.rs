// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server at ring 1 in the spaces of its processes: which code belongs to whom, and what it may
//! use.

use model_core::ia32::{Checker, Class, Counter, SegmentRegister, Setup, World};
use model_core::{Chunk, Marker, PerLine, Physical, Privilege, Report};
use std::collections::BTreeMap;
use std::ops::Range;

/// The kernel's part begins here.
const KERNEL: u32 = 0xe000_0000;
/// The image of a server that lies high, and of one that does not.
const HIGH: Range<u32> = 0xc040_0000..0xdc00_0000;
const LOW: Range<u32> = 0x1000_0000..0x3e00_0000;
/// In it; on a page that its processes cannot use.
const SERVER: u32 = HIGH.start + 0x10_0000;
/// Code and data of a process.
const PROCESS: u32 = 0x40_0000;

/// Physical address of the directory. All pages are large ones, and linear addresses are physical
/// ones.
const ROOT: u32 = 0x1000;
const PRESENT_WRITABLE_LARGE: u32 = 0x83;
const USER: u32 = 4;
const GLOBAL: u32 = 0x100;

/// Linear address of the global descriptor table.
const TABLE: u32 = KERNEL + 0x20_0000;
/// Words of descriptors: ring 0's flat data, data of ring 1 and of ring 3 up to the kernel, flat
/// data of ring 3.
const FLAT: [u32; 2] = [0x0000_ffff, 0x00cf_9300];
const RING1: [u32; 2] = [0x0000_ffff, 0x00cd_b300];
const RING3: [u32; 2] = [0x0000_ffff, 0x00cd_f300];
const FLAT_RING3: [u32; 2] = [0x0000_ffff, 0x00cf_f300];
/// Selectors of the third, and of the fourth if there is one.
const DATA: u16 = 0x1b;
const TLS: u16 = 0x23;

/// A process's space with its server in it.
struct Guest {
    /// Entries of the directory that differ from [`Guest::entry`].
    entries: BTreeMap<u32, u32>,
    /// The words of the global descriptor table.
    table: Vec<u32>,
    /// DS, ES, FS and GS.
    selectors: [u16; 4],
}

impl Guest {
    /// Supervisor pages from the server's on, the kernel's global ones.
    fn entry(index: u32) -> u32 {
        let address = index << 22;
        let flags = match address {
            KERNEL.. => GLOBAL,
            0xc000_0000.. => 0,
            _ => USER,
        };
        address | PRESENT_WRITABLE_LARGE | flags
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let index = (address.checked_sub(ROOT)? / 4 < 1024).then_some((address - ROOT) / 4)?;
        Some(self.entries.get(&index).copied().unwrap_or_else(|| Self::entry(index)))
    }
}

impl World for Guest {
    fn root(&mut self) -> u32 {
        ROOT
    }
    fn paging(&mut self) -> bool {
        true
    }
    fn is_native(&mut self, _: u32) -> bool {
        false
    }
    fn selector(&mut self, register: SegmentRegister) -> u16 {
        SegmentRegister::DATA
            .iter()
            .position(|data| *data == register)
            .map_or(0x1b, |index| self.selectors[index])
    }
    fn read_linear(&mut self, address: u32, count: usize) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = self.table.iter().flat_map(|word| word.to_le_bytes()).collect();
        (address == TABLE && count <= bytes.len()).then(|| bytes[..count].to_vec())
    }
}

/// Feeds a counter as a processor would.
struct Stream {
    counter: Counter,
    executed: u64,
    guest: Guest,
}

impl Stream {
    /// With a server whose image is there, and the checker on.
    fn new(server: Range<u32>) -> Self {
        let setup = Setup {
            server: server.start.into()..server.end.into(),
            kernel: KERNEL,
            window: Some(0..0xc000_0000),
            checker: Some(Checker::default()),
            ..Setup::default()
        };
        let table = [[0; 2], FLAT, RING1, RING3].concat();
        let guest = Guest { entries: BTreeMap::new(), table, selectors: [DATA, DATA, 0, 0] };
        let mut stream = Self { counter: Counter::new(setup), executed: 0, guest };
        stream.counter.arm(0, &mut stream.guest);
        stream.load_table(TABLE);
        stream
    }

    fn step(&mut self, privilege: Privilege, class: Class, address: u32) {
        self.counter.chunk(
            &Chunk::new(privilege, &[4], PerLine::Instructions(4)),
            address,
            self.executed,
            &mut self.guest,
        );
        if class != Class::Plain {
            self.counter.special(class, 0, 0);
        }
        self.executed += 1;
    }

    fn ring1(&mut self, address: u32) {
        self.step(Privilege::Ring1, Class::Plain, address);
    }

    fn user(&mut self) {
        self.step(Privilege::User, Class::Plain, PROCESS);
    }

    /// The instruction in execution reads or writes this many bytes.
    fn access(&mut self, address: u32, bytes: u32, write: bool) {
        self.counter.access(0, address, bytes, write, || 0, &mut self.guest);
    }

    /// The kernel loads the table at an address; then it does something else with memory.
    fn load_table(&mut self, base: u32) {
        let limit = self.guest.table.len() as u32 * 4 - 1;
        self.step(Privilege::Kernel, Class::LoadTable, KERNEL);
        self.counter.access(0, KERNEL, 2, false, || 0x1234 << 16 | limit, &mut self.guest);
        self.counter.access(0, KERNEL + 2, 4, false, || base, &mut self.guest);
        self.counter.access(3, KERNEL, 4, false, || 0, &mut self.guest);
    }

    /// The kernel has done something and goes to the server at ring 1.
    fn enter(&mut self) {
        self.step(Privilege::Kernel, Class::FarReturn, KERNEL + 0x100);
        self.ring1(SERVER);
    }

    /// The kernel changes an entry of the directory.
    fn change(&mut self, address: u32, entry: u32) {
        self.step(Privilege::Kernel, Class::Plain, KERNEL);
        self.guest.entries.insert(address >> 22, entry);
        self.access(ROOT + (address >> 22) * 4, 4, true);
    }

    fn report(&self) -> Report {
        self.counter.report()
    }

    /// Rule, instruction, address and owner of all violations.
    fn found(&self) -> Vec<[String; 4]> {
        let report = self.report();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        report.violations.into_iter().map(|v| [v.rule, v.instruction, v.address, v.owner]).collect()
    }
}

/// Instructions of server, components and processes when ring 1, ring 3 and the kernel have
/// executed some.
fn owners(server: Range<u32>) -> [u64; 3] {
    let mut stream = Stream::new(server);
    stream.counter.mark(Marker::Begin(1), Privilege::User, stream.executed, &mut stream.guest);
    (0..3).for_each(|_| stream.user());
    stream.step(Privilege::Kernel, Class::FarReturn, KERNEL);
    (0..5).for_each(|_| stream.ring1(SERVER));
    stream.ring1(HIGH.end);
    stream.step(Privilege::Kernel, Class::FarReturn, KERNEL);
    (0..7).for_each(|_| stream.step(Privilege::User, Class::Plain, SERVER));
    stream.counter.mark(Marker::End(1), Privilege::User, stream.executed, &mut stream.guest);
    let interval = &stream.report().intervals[&1];
    assert_eq!(interval.kernel_entries.median, 2, "from ring 3, and from ring 1");
    let medians = interval.medians();
    assert_eq!(medians.kernel.instructions, 2);
    [medians.server, medians.components, medians.user].map(|part| part.instructions)
}

#[test]
fn a_server_is_found_by_privilege_and_range() {
    assert_eq!(owners(HIGH), [13, 0, 3], "at ring 1 wherever it is, at ring 3 at its addresses");
    assert_eq!(owners(LOW), [0, 0, 16], "one that lies low is found only by its space");
    assert_eq!(owners(HIGH.start..KERNEL + 1), [0, 0, 16], "nor does one reach into the kernel");
}

#[test]
fn ring_1_may_use_supervisor_pages() {
    for (privilege, stale) in [(Privilege::Ring1, false), (Privilege::User, true)] {
        let mut stream = Stream::new(HIGH);
        stream.user();
        stream.access(PROCESS, 4, true);
        stream.access(PROCESS + 0x40_0000, 4, true);
        // Both pages become the supervisor's, without a flush.
        for page in [PROCESS, PROCESS + 0x40_0000] {
            stream.change(page, page | PRESENT_WRITABLE_LARGE);
        }
        stream.step(privilege, Class::Plain, PROCESS);
        stream.access(PROCESS + 0x40_0000, 4, true);
        let found: Vec<String> =
            stream.found().into_iter().map(|[.., address, _]| address).collect();
        let expected = if stale { vec!["0x00400000", "0x00800000"] } else { vec![] };
        assert_eq!(found, expected, "{privilege:?}: fetched and written");
    }
}

#[test]
fn a_server_s_own_part_is_no_violation() {
    let mut stream = Stream::new(HIGH);
    for privilege in [Privilege::Ring1, Privilege::User] {
        stream.guest.entries.insert(SERVER >> 22, Guest::entry(SERVER >> 22) | USER);
        stream.step(privilege, Class::Plain, SERVER);
        stream.access(SERVER, 4, true);
        stream.access(KERNEL - 4, 4, false);
        stream.access(PROCESS, 4, false);
    }
    assert_eq!(stream.found(), [[""; 4]; 0]);
    stream.user();
    stream.access(SERVER, 4, false);
    let expected = ["user access outside the window", "0x00400000", "0xc0500000", "user"];
    assert_eq!(stream.found(), [expected], "a process has its window");
}

#[test]
fn ring_1_ends_where_the_kernel_begins() {
    const RULE: &str = "ring 1 in the kernel's part";
    let mut stream = Stream::new(HIGH);
    stream.ring1(SERVER);
    stream.access(KERNEL - 4, 4, true);
    assert_eq!(stream.found(), [[""; 4]; 0]);
    for (address, bytes, write) in
        [(KERNEL, 1, false), (u32::MAX - 3, 4, true), (u32::MAX, 4, false)]
    {
        stream.access(address, bytes, write);
    }
    stream.ring1(SERVER + 4);
    stream.access(KERNEL - 2, 4, true);
    let expected = [
        [RULE, "0xc0500000", "0xe0000000", "server"],
        [RULE, "0xc0500000", "0xfffffffc", "server"],
        [RULE, "0xc0500000", "0xffffffff", "server"],
        [RULE, "0xc0500004", "0xe0000000", "server"],
    ];
    assert_eq!(stream.found(), expected, "reads and writes, at its edge as well");

    let mut stream = Stream::new(HIGH);
    stream.ring1(KERNEL - 4);
    assert_eq!(stream.found(), [[""; 4]; 0]);
    stream.ring1(KERNEL - 2);
    stream.ring1(KERNEL + 0x1000);
    let expected = [
        [RULE, "0xdffffffe", "0xe0000000", "server"],
        [RULE, "0xe0001000", "0xe0001000", "server"],
    ];
    assert_eq!(stream.found(), expected, "execution");
}

#[test]
fn others_may_reach_the_kernel() {
    let mut stream = Stream::new(HIGH);
    stream.step(Privilege::Ring1, Class::LoadSegment, SERVER);
    stream.access(TABLE, 4, false);
    stream.step(Privilege::Kernel, Class::Plain, KERNEL);
    stream.access(KERNEL, 4, true);
    assert_eq!(stream.found(), [[""; 4]; 0], "the processor itself, and the kernel");

    let mut stream = Stream::new(LOW);
    stream.ring1(KERNEL);
    stream.access(KERNEL, 4, true);
    assert_eq!(stream.found(), [[""; 4]; 0], "no server lies high");
}

#[test]
fn global_pages_are_supervisor_pages() {
    let touched = |server, flags| {
        let mut stream = Stream::new(server);
        stream.change(PROCESS, PROCESS | PRESENT_WRITABLE_LARGE | flags);
        stream.user();
        stream.access(PROCESS + 0x1234, 4, true);
        stream.found()
    };
    let found = |address| ["global translation of a user page used", "0x00400000", address, "user"];
    assert_eq!(touched(HIGH, USER | GLOBAL), [found("0x00400000"), found("0x00401000")]);
    assert_eq!(touched(HIGH, USER), [[""; 4]; 0]);
    assert_eq!(touched(LOW, USER | GLOBAL), [[""; 4]; 0], "no server lies high");
    let mut stream = Stream::new(HIGH);
    stream.guest.entries.insert(SERVER >> 22, Guest::entry(SERVER >> 22) | GLOBAL);
    stream.ring1(SERVER);
    stream.access(SERVER, 4, true);
    assert_eq!(stream.found(), [[""; 4]; 0], "a server's pages may be global");
}

/// What is found when the kernel has changed something before it goes to ring 1.
fn entered(server: Range<u32>, change: impl FnOnce(&mut Guest)) -> Vec<[String; 4]> {
    let mut stream = Stream::new(server);
    stream.enter();
    stream.user();
    assert_eq!(stream.found(), [[""; 4]; 0]);
    change(&mut stream.guest);
    stream.load_table(TABLE);
    stream.step(Privilege::Kernel, Class::FarReturn, KERNEL + 0x100);
    stream.user();
    assert_eq!(stream.found(), [[""; 4]; 0], "ring 3 may have such");
    stream.enter();
    stream.ring1(SERVER + 4);
    stream.found()
}

#[test]
fn segments_of_ring_1_end_below_the_kernel() {
    let descriptor =
        ["descriptor for ring 1 reaches the kernel's part", "0xe0000100", "0x00000020", "kernel"];
    let register = |selector| {
        ["segment register of ring 1 may reach the kernel's part", "0xe0000100", selector, "kernel"]
    };
    assert_eq!(entered(HIGH, |_| ()), [[""; 4]; 0]);
    let left = |guest: &mut Guest| guest.table.extend(FLAT_RING3);
    assert_eq!(entered(HIGH, left), [descriptor], "a flat descriptor of TLS");
    for place in 0..4 {
        let loaded = |guest: &mut Guest| guest.selectors[place] = TLS;
        let both = |guest: &mut Guest| {
            left(guest);
            loaded(guest);
        };
        assert_eq!(
            entered(HIGH, both),
            [descriptor, register("0x00000023")],
            "in register {place}"
        );
        assert_eq!(
            entered(HIGH, loaded),
            [register("0x00000023")],
            "not in the table, and in register {place}"
        );
        assert_eq!(entered(LOW, both), [[""; 4]; 0], "no server lies high");
    }
}

#[test]
fn a_table_that_is_not_known_is_an_error() {
    let mut stream = Stream::new(HIGH);
    stream.load_table(TABLE + 8);
    stream.enter();
    stream.enter();
    assert_eq!(
        stream.report().errors,
        ["the descriptor table was not known at 2 returns to ring 1 or small spaces"]
    );
    let mut stream = Stream::new(LOW);
    stream.load_table(TABLE + 8);
    stream.enter();
    assert!(stream.report().errors.is_empty());
}
