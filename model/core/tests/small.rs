// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small spaces next to each other in one directory: which code belongs to which space, and what it
//! may use.

use model_core::ia32::{Checker, Class, Counter, SegmentRegister, Setup, World};
use model_core::{Chunk, Marker, PerLine, Physical, Privilege};

const KERNEL: u32 = 0xe000_0000;
/// Linear address of the global descriptor table.
const TABLE: u32 = KERNEL + 0x20_0000;
/// The directories of a home and of a large space.
const HOME: u32 = 0x1000;
const LARGE: u32 = 0x2000;
/// Where the small space lies that runs, and its bytes.
const BASE: u32 = 0x0200_0000;
const SIZE: u32 = 0x0100_0000;
/// An instruction pointer in any space.
const EIP: u32 = 0x1_0000;

/// Selectors of ring 3's code and data in large spaces, in small ones, and of TLS: indexes of
/// [`Guest::table`].
const USER_CODE: u16 = 0xb;
const USER_DATA: u16 = 0x13;
const SMALL_CODE: u16 = 0x1b;
const SMALL_DATA: u16 = 0x23;
const TLS: u16 = 0x2b;

/// Access bytes of ring 3's code and data.
const CODE: u32 = 0xfb;
const DATA: u32 = 0xf3;

/// A segment of pages.
fn segment(base: u32, bytes: u32, access: u32) -> [u32; 2] {
    let limit = (bytes >> 12) - 1;
    [
        base << 16 | limit & 0xffff,
        base & 0xff00_0000 | 0xc0_0000 | limit & 0xf_0000 | access << 8 | base >> 16 & 0xff,
    ]
}

struct Guest {
    root: u32,
    table: Vec<[u32; 2]>,
    code: u16,
    data: [u16; 4],
    /// Where a space has an information page.
    native: u32,
}

impl Guest {
    /// A small space goes on.
    fn small() -> Self {
        Self::small_at(BASE)
    }

    /// One that lies there.
    fn small_at(base: u32) -> Self {
        let table = vec![
            [0; 2],
            segment(0, KERNEL, 0),
            segment(0, KERNEL, 0),
            segment(base, SIZE, CODE),
            segment(base, SIZE, DATA),
            segment(base + 0x5000, 0x1000, DATA),
        ];
        Self {
            root: HOME,
            table,
            code: SMALL_CODE,
            data: [SMALL_DATA, SMALL_DATA, 0, TLS],
            native: base,
        }
    }

    /// A large one does, below these tables.
    fn large(root: u32) -> Self {
        let mut guest =
            Self { root, code: USER_CODE, data: [USER_DATA; 4], native: 0, ..Self::small() };
        (guest.table[1], guest.table[2]) = (segment(0, KERNEL, CODE), segment(0, KERNEL, DATA));
        guest
    }
}

impl Physical for Guest {
    fn read(&mut self, _: u32) -> Option<u32> {
        None
    }
}

impl World for Guest {
    fn root(&mut self) -> u32 {
        self.root
    }
    fn paging(&mut self) -> bool {
        false
    }
    fn is_native(&mut self, base: u32) -> bool {
        base == self.native
    }
    fn selector(&mut self, register: SegmentRegister) -> u16 {
        let data = SegmentRegister::DATA.iter().position(|data| *data == register);
        data.map_or(self.code, |index| self.data[index])
    }
    fn read_linear(&mut self, address: u32, count: usize) -> Option<Vec<u8>> {
        if address == BASE + EIP {
            return Some(STORE_BY_FS.iter().chain([NOP; 15].iter()).take(count).copied().collect());
        }
        let bytes: Vec<u8> =
            self.table.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        (address == TABLE && count == bytes.len()).then_some(bytes)
    }
}

/// `mov [fs:0], eax`.
const STORE_BY_FS: [u8; 6] = [0x64, 0xa3, 0, 0, 0, 0];
const NOP: u8 = 0x90;

/// Feeds a counter as a processor would.
struct Stream {
    counter: Counter,
    executed: u64,
    guest: Guest,
}

impl Stream {
    fn new() -> Self {
        Self::with(Setup::default())
    }

    fn with(setup: Setup) -> Self {
        let setup = Setup { kernel: KERNEL, checker: Some(Checker::default()), ..setup };
        let mut stream = Self { counter: Counter::new(setup), executed: 0, guest: Guest::small() };
        stream.counter.arm(0, &mut stream.guest);
        stream.step(Privilege::Kernel, Class::LoadTable, 0, KERNEL);
        let limit = stream.guest.table.len() as u32 * 8 - 1;
        stream.counter.access(0, KERNEL, 2, false, || limit, &mut stream.guest);
        stream.counter.access(0, KERNEL + 2, 4, false, || TABLE, &mut stream.guest);
        stream
    }

    fn step(&mut self, privilege: Privilege, class: Class, segment: u32, address: u32) {
        let chunk = Chunk { segment, ..Chunk::new(privilege, &[4], PerLine::Instructions(4)) };
        self.counter.chunk(&chunk, address, self.executed, &mut self.guest);
        if class != Class::Plain {
            self.counter.special(class, 0, 0);
        }
        self.executed += 1;
    }

    /// The kernel writes CR3 and leaves so for what `guest` says, whose code segment begins at
    /// `base`.
    fn go_on(&mut self, guest: Guest, by: Class, base: u32) {
        self.guest = guest;
        self.step(Privilege::Kernel, Class::WriteCr3, 0, KERNEL);
        self.step(Privilege::Kernel, by, 0, KERNEL + 0x100);
        self.step(Privilege::User, Class::Plain, base, base + EIP);
    }

    /// Rule and address of all violations.
    fn found(&self) -> Vec<(String, String)> {
        let report = self.counter.report();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        report.violations.into_iter().map(|v| (v.rule, v.address)).collect()
    }
}

/// What is found when a small space goes on, and `change` was done before.
fn entered(change: impl FnOnce(&mut Guest)) -> Vec<(String, String)> {
    let mut stream = Stream::new();
    let mut guest = Guest::small();
    change(&mut guest);
    stream.go_on(guest, Class::FarReturn, BASE);
    stream.found()
}

fn expect(rule: &str, address: u32) -> Vec<(String, String)> {
    vec![(rule.into(), format!("{address:#010x}"))]
}

#[test]
fn a_small_space_is_known_by_its_base() {
    let mut stream = Stream::new();
    stream.go_on(Guest::small(), Class::FarReturn, BASE);
    stream.counter.mark(Marker::Begin(1), Privilege::User, stream.executed, &mut stream.guest);
    (0..3).for_each(|_| stream.step(Privilege::User, Class::Plain, BASE, BASE + EIP));
    // Its neighbour below the same directory has no information page.
    (0..5).for_each(|_| stream.step(Privilege::User, Class::Plain, BASE + SIZE, BASE + SIZE + EIP));
    stream.counter.mark(Marker::End(1), Privilege::User, stream.executed, &mut stream.guest);
    let medians = stream.counter.report().intervals[&1].medians();
    assert_eq!([medians.components.instructions, medians.user.instructions], [3, 5]);
}

#[test]
fn small_spaces_stay_in_their_regions() {
    const RULE: &str = "small space beyond its region";
    let touched = |address, bytes| {
        let mut stream = Stream::new();
        stream.go_on(Guest::small(), Class::FarReturn, BASE);
        stream.counter.access(0, address, bytes, true, || 0, &mut stream.guest);
        stream.found()
    };
    assert_eq!(touched(BASE, 4), []);
    assert_eq!(touched(BASE + SIZE - 4, 4), []);
    assert_eq!(touched(BASE - 1, 1), expect(RULE, BASE - 1));
    assert_eq!(touched(BASE - 2, 4), expect(RULE, BASE - 2));
    assert_eq!(touched(BASE + SIZE - 2, 4), expect(RULE, BASE + SIZE + 1));
    assert_eq!(touched(u32::MAX, 1), expect(RULE, u32::MAX));
    let mut stream = Stream::new();
    stream.go_on(Guest::small(), Class::FarReturn, BASE);
    stream.step(Privilege::User, Class::Plain, BASE, BASE + SIZE - 2);
    assert_eq!(stream.found(), expect(RULE, BASE + SIZE + 1), "execution");
    // The kernel and large spaces have no region.
    let mut stream = Stream::new();
    stream.go_on(Guest::small(), Class::FarReturn, BASE);
    stream.step(Privilege::Kernel, Class::Plain, 0, KERNEL);
    stream.counter.access(0, BASE + SIZE, 4, true, || 0, &mut stream.guest);
    stream.go_on(Guest::large(LARGE), Class::Sysexit, 0);
    stream.counter.access(0, BASE + SIZE, 4, true, || 0, &mut stream.guest);
    assert_eq!(stream.found(), []);
}

/// A home of components has small spaces up to the kernel, also where a server is in the spaces
/// that show it.
#[test]
fn components_may_be_small_above_the_window() {
    const OUTSIDE: &str = "user access outside the window";
    const WINDOW: u32 = 0xc000_0000;
    const HIGH: u32 = KERNEL - SIZE;
    let touched = |native, address| {
        let mut stream = Stream::with(Setup {
            window: Some(0..WINDOW),
            server: WINDOW.into()..KERNEL.into(),
            ..Setup::default()
        });
        let guest = Guest::small_at(HIGH);
        stream.go_on(
            Guest { native: if native { HIGH } else { 0 }, ..guest },
            Class::FarReturn,
            HIGH,
        );
        stream.counter.access(0, address, 4, true, || 0, &mut stream.guest);
        stream.found()
    };
    assert_eq!(touched(true, HIGH), []);
    assert_eq!(touched(true, KERNEL - 4), []);
    assert_eq!(touched(true, HIGH - 4), expect("small space beyond its region", HIGH - 4));
    let [kernel, beyond] =
        [OUTSIDE, "small space beyond its region"].map(|rule| expect(rule, KERNEL));
    assert_eq!(touched(true, KERNEL), [kernel, beyond].concat());
    assert_eq!(
        touched(false, HIGH),
        expect(OUTSIDE, HIGH),
        "a process's home shows the server there"
    );
}

#[test]
fn an_access_beyond_a_region_is_reported_with_its_segment() {
    let segments = |eip| {
        let mut stream = Stream::new();
        stream.go_on(
            Guest { data: [SMALL_DATA, SMALL_DATA, TLS, 0], ..Guest::small() },
            Class::FarReturn,
            BASE,
        );
        stream.step(Privilege::User, Class::Plain, BASE, BASE + eip);
        stream.counter.access(0, BASE + SIZE, 4, true, || 0, &mut stream.guest);
        let report = stream.counter.report();
        report.violations.into_iter().map(|violation| violation.segment).collect::<Vec<_>>()
    };
    assert_eq!(segments(EIP), [Some(format!("FS {TLS:#06x}"))]);
    assert_eq!(segments(EIP + 0x1000), [None], "its code cannot be read");
    let mut stream = Stream::new();
    stream.go_on(Guest::small(), Class::FarReturn, BASE);
    stream.step(Privilege::User, Class::Plain, BASE, BASE + SIZE);
    assert_eq!(
        stream.counter.report().violations[0].segment,
        Some(format!("CS {SMALL_CODE:#06x}")),
        "execution"
    );
}

#[test]
fn regions_have_sizes_and_places_of_their_own() {
    const RULE: &str = "code segment of a small space is no region";
    let region = |base, bytes| {
        entered(|guest| {
            guest.table[3] = segment(base, bytes, CODE);
            guest.table[4] = segment(base, 0x1000, DATA);
            guest.data = [SMALL_DATA; 4];
            guest.table.truncate(5);
            guest.table.push([0; 2]);
        })
    };
    assert_eq!(region(BASE, SIZE), []);
    assert_eq!(region(BASE, 4 << 20), []);
    assert_eq!(region(BASE, SIZE + 0x1000), expect(RULE, SMALL_CODE.into()), "a page more");
    assert_eq!(region(BASE, SIZE - 0x1000), expect(RULE, SMALL_CODE.into()), "a page less");
    assert_eq!(region(BASE, 2 << 20), expect(RULE, SMALL_CODE.into()), "too small");
    assert_eq!(region(BASE, 2 * SIZE), [], "a multiple of it");
    assert_eq!(region(BASE, 4 * SIZE), expect(RULE, SMALL_CODE.into()), "no multiple of it");
}

#[test]
fn what_a_small_space_can_load_ends_with_it() {
    const DESCRIPTOR: &str = "descriptor for a small space reaches beyond its region";
    const REGISTER: &str = "segment register of a small space may reach beyond its region";
    assert_eq!(entered(|_| ()), []);
    assert_eq!(
        entered(|guest| guest.table[2] = segment(0, KERNEL, DATA)),
        expect(DESCRIPTOR, (USER_DATA & !3).into())
    );
    assert_eq!(entered(|guest| guest.table[2] = segment(0, KERNEL, 0xb3)), [], "ring 1's");
    assert_eq!(entered(|guest| guest.data = [SMALL_DATA, SMALL_DATA, 3, 0]), [], "null");
    for place in 0..4 {
        let left = entered(|guest| guest.data[place] = USER_DATA);
        assert_eq!(
            left,
            expect(REGISTER, USER_DATA.into()),
            "a descriptor that is gone, in register {place}"
        );
    }
    for (base, bytes) in [
        (BASE + SIZE - 0x1000, 0x2000),
        (BASE - 0x1000, 0x1000),
        (BASE + 0x5000, SIZE),
        (BASE + SIZE, 0x1000),
    ] {
        let tls = |guest: &mut Guest| guest.table[5] = segment(base, bytes, DATA);
        let both = [expect(DESCRIPTOR, (TLS & !3).into()), expect(REGISTER, TLS.into())].concat();
        assert_eq!(entered(tls), both, "TLS at {base:#x}");
    }
}

#[test]
fn nobody_runs_large_in_a_home() {
    const RULE: &str = "segments of a large space in a home";
    let then = |guest, by| {
        let mut stream = Stream::new();
        stream.go_on(Guest::large(LARGE), Class::Sysexit, 0);
        stream.go_on(Guest::small(), Class::FarReturn, BASE);
        stream.go_on(guest, by, 0);
        stream.found()
    };
    assert_eq!(then(Guest::large(LARGE), Class::Sysexit), []);
    for by in [Class::Sysexit, Class::FarReturn] {
        assert_eq!(then(Guest::large(HOME), by), expect(RULE, USER_CODE.into()), "{by:?}");
    }
}

#[test]
fn a_table_that_is_not_known_is_an_error() {
    let mut stream = Stream::new();
    let mut guest = Guest::small();
    guest.table.pop();
    stream.go_on(guest, Class::FarReturn, BASE);
    assert_eq!(
        stream.counter.report().errors,
        ["the descriptor table was not known at 1 returns to ring 1 or small spaces"]
    );
}
