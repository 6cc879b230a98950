// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter against streams of events whose counts are known.

use model_core::ia32::{Class, Counter, SegmentRegister, Setup, World};
use model_core::{
    ByOwner, Chunk, Events, IntervalReport, Marker, PerLine, Physical, Privilege, Spread,
    VisitReport,
};

const IRET_TO_USER: [u32; 5] = [0x40_0000, 0x1b, 0x202, 0x80_0000, 0x23];

/// A guest without paging, whose spaces are told apart by the root.
#[derive(Default)]
struct Guest {
    root: u32,
    native: bool,
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
    fn is_native(&mut self, _: u32) -> bool {
        self.native
    }
    fn selector(&mut self, register: SegmentRegister) -> u16 {
        match register {
            SegmentRegister::Cs => 0x1b,
            SegmentRegister::Fs | SegmentRegister::Gs => 0,
            _ => 0x23,
        }
    }
    fn read_linear(&mut self, _: u32, _: usize) -> Option<Vec<u8>> {
        None
    }
}

/// Feeds a counter as a processor would.
#[derive(Default)]
struct Stream {
    counter: Counter,
    executed: u64,
    guest: Guest,
}

impl Stream {
    fn begin(&mut self, id: u16) {
        self.mark(Marker::Begin(id), Privilege::User);
    }

    fn end(&mut self, id: u16) {
        self.mark(Marker::End(id), Privilege::User);
    }

    fn mark(&mut self, marker: Marker, privilege: Privilege) {
        self.counter.mark(marker, privilege, self.executed, &mut self.guest);
    }

    fn user(&mut self, count: u32) {
        for _ in 0..count {
            self.step(Privilege::User, Class::Plain, 0x40_0000);
        }
    }

    fn kernel(&mut self, class: Class, address: u32) {
        self.step(Privilege::Kernel, class, address);
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

    fn iret(&mut self, address: u32, frame: &[u32]) {
        self.kernel(Class::FarReturn, address);
        for (word, &value) in (0_u32..).zip(frame) {
            self.counter.access(0, 0xf000_0000 + word * 4, 4, false, || value, &mut self.guest);
        }
    }

    /// `plain` instructions from 0xe000_0000 on, 4 bytes each, then `iret`.
    fn call(&mut self, plain: u32) {
        self.user(1);
        for index in 0..plain {
            self.kernel(Class::Plain, 0xe000_0000 + index * 4);
        }
        self.iret(0xe000_0000 + plain * 4, &IRET_TO_USER);
    }

    fn interval(&self, id: u16) -> IntervalReport {
        self.counter.report().intervals.remove(&id).expect("the interval is in the report")
    }
}

fn always(value: u64) -> Spread {
    Spread { median: value, min: value, max: value }
}

#[test]
fn a_call_is_one_visit() {
    let mut stream = Stream::default();
    for _ in 0..10 {
        stream.begin(3);
        stream.call(15);
        stream.user(2);
        stream.end(3);
    }
    let visit = VisitReport {
        kernel_instructions: 16,
        kernel_code_lines_32: 2,
        kernel_data_lines_32: 1,
        cr3_writes: 0,
    };
    assert_eq!(
        stream.interval(3),
        IntervalReport {
            repetitions: 10,
            kernel_instructions: always(16),
            user_instructions: always(3),
            server_instructions: always(0),
            kernel_entries: always(1),
            cr3_writes: always(0),
            invlpg: always(0),
            kernel_code_lines_32: always(2),
            kernel_data_lines_32: always(1),
            events: ByOwner {
                kernel: Events {
                    instructions: always(16),
                    fault_entries: always(1),
                    far_returns: always(1),
                    ..Events::default()
                },
                user: Events { instructions: always(3), ..Events::default() },
                ..ByOwner::default()
            },
            apart: None,
            disturbed: 0,
            visits: vec![visit],
        }
    );
    assert!(stream.counter.report().errors.is_empty());
}

#[test]
fn owners_are_counted_apart() {
    let setup = Setup { server: 0x1000_0000..0x3e00_0000, ..Setup::default() };
    let mut stream = Stream { counter: Counter::new(setup), ..Stream::default() };
    let switch = |stream: &mut Stream, root: u32, native: bool| {
        stream.kernel(Class::WriteCr3, 0xe000_0000);
        stream.guest = Guest { root, native };
        stream.kernel(Class::Sysexit, 0xe000_0004);
    };
    stream.begin(1);
    stream.step(Privilege::User, Class::Plain, 0x1000_0000);
    stream.step(Privilege::User, Class::Sysenter, 0x1000_0000);
    switch(&mut stream, 0x1000, true);
    (0..5).for_each(|_| stream.step(Privilege::User, Class::Plain, 0x1000_0000));
    (0..3).for_each(|_| stream.step(Privilege::User, Class::Plain, 0x40_0000));
    stream.step(Privilege::User, Class::Int, 0x40_0000);
    switch(&mut stream, 0x1000, true);
    stream.step(Privilege::User, Class::Plain, 0x40_0000);
    stream.end(1);
    let report = stream.interval(1);
    let medians = report.medians();
    let instructions = medians.parts().map(|part| part.instructions);
    assert_eq!(instructions, [4, 5, 5, 2], "kernel, server, components, user");
    assert_eq!((report.user_instructions, report.server_instructions), (always(12), always(5)));
    assert_eq!(
        (
            medians.kernel.sysenter_entries,
            medians.kernel.trap_entries,
            medians.kernel.fault_entries
        ),
        (1, 1, 0)
    );
    assert_eq!(
        (medians.kernel.space_switches, medians.kernel.tlb_flushes),
        (1, 1),
        "the second is to the same tables"
    );
    assert_eq!(medians.total().instructions, 16);
}

#[test]
fn an_interval_declared_free_is_free() {
    let mut stream = Stream::default();
    stream.mark(Marker::BeginFree(4), Privilege::User);
    stream.call(3);
    stream.end(4);
    assert!(stream.counter.report().violations.is_empty());
    for (class, operand) in [
        (Class::WriteCr3, 0),
        (Class::WriteCr4, 0),
        (Class::Invlpg, 0x5000),
        (Class::FlushCaches, 0),
    ] {
        stream.mark(Marker::BeginFree(5), Privilege::User);
        stream.step(Privilege::Kernel, Class::Plain, 0xe000_1000 + class as u32 * 16);
        stream.counter.special(class, 2, operand);
        stream.kernel(Class::Sysexit, 0xe000_2000);
        stream.end(5);
        stream.kernel(Class::Invlpg, 0xe000_3000);
    }
    let found = stream.counter.report().violations;
    let instructions: Vec<&str> =
        found.iter().map(|violation| &violation.instruction[..]).collect();
    assert_eq!(
        instructions,
        ["0xe0001012", "0xe0001032", "0xe0001042", "0xe0001052"],
        "and none of those outside"
    );
    assert!(found.iter().all(|violation| violation.address == "0x00000005"
        && violation.owner == "kernel"
        && violation.times == 1));
}

#[test]
fn user_code_stays_in_its_window() {
    let setup = Setup { window: Some(0x1000..0xc000_0000), ..Setup::default() };
    let mut stream = Stream { counter: Counter::new(setup), ..Stream::default() };
    stream.begin(1);
    let access = |stream: &mut Stream, class, address| {
        stream.step(Privilege::User, class, 0x40_0000);
        stream.counter.access(0, address, 4, false, || 0, &mut stream.guest);
    };
    access(&mut stream, Class::Plain, 0x1000);
    access(&mut stream, Class::Plain, 0xbfff_fffc);
    access(&mut stream, Class::LoadSegment, 0xe000_0000);
    assert!(
        stream.counter.report().violations.is_empty(),
        "the processor itself reads the descriptor"
    );
    access(&mut stream, Class::Plain, 0xbfff_fffe);
    access(&mut stream, Class::Plain, 0xffc);
    stream.kernel(Class::Plain, 0xe000_0000);
    stream.counter.access(0, 0xe000_0000, 4, false, || 0, &mut stream.guest);
    let found = stream.counter.report().violations;
    let addresses: Vec<&str> = found.iter().map(|violation| &violation.address[..]).collect();
    assert_eq!(addresses, ["0x00000ffc", "0xbffffffe"]);
}

#[test]
fn visits_are_split_and_share_lines_of_the_interval() {
    let mut stream = Stream::default();
    stream.begin(1);
    stream.call(3);
    stream.user(1);
    stream.kernel(Class::WriteCr3, 0xe000_0000);
    stream.kernel(Class::Invlpg, 0xe000_0100);
    stream.kernel(Class::Invlpg, 0xe000_0104);
    stream.kernel(Class::Sysexit, 0xe000_0108);
    stream.user(1);
    stream.end(1);
    let report = stream.interval(1);
    assert_eq!(report.kernel_entries, always(2));
    assert_eq!(report.cr3_writes, always(1));
    assert_eq!(report.invlpg, always(2));
    assert_eq!(report.kernel_code_lines_32, always(2));
    let instructions: Vec<u64> =
        report.visits.iter().map(|visit| visit.kernel_instructions).collect();
    let lines: Vec<u64> = report.visits.iter().map(|visit| visit.kernel_code_lines_32).collect();
    let cr3: Vec<u64> = report.visits.iter().map(|visit| visit.cr3_writes).collect();
    assert_eq!((instructions, lines, cr3), (vec![4, 4], vec![1, 2], vec![0, 1]));
}

#[test]
fn reentry_before_a_user_instruction_is_an_entry() {
    let mut stream = Stream::default();
    stream.begin(1);
    stream.call(1);
    stream.kernel(Class::Plain, 0xe000_0040);
    stream.kernel(Class::Sysexit, 0xe000_0044);
    stream.kernel(Class::Plain, 0xe000_0080);
    stream.iret(0xe000_0084, &[0xe000_0000, 0x8, 0x2]);
    stream.kernel(Class::Plain, 0xe000_0088);
    stream.iret(0xe000_008c, &IRET_TO_USER);
    stream.end(1);
    let report = stream.interval(1);
    assert_eq!(report.kernel_entries, always(3), "iret to the kernel does not end a visit");
    let instructions: Vec<u64> =
        report.visits.iter().map(|visit| visit.kernel_instructions).collect();
    assert_eq!(instructions, [2, 2, 4]);
}

#[test]
fn disturbed_repetitions_are_counted_apart() {
    let mut stream = Stream::default();
    for repetition in 0..9 {
        stream.begin(1);
        stream.call(5);
        if repetition % 4 == 0 {
            stream.call(100);
        }
        stream.end(1);
    }
    let report = stream.interval(1);
    assert_eq!((report.repetitions, report.disturbed), (9, 3));
    assert_eq!(report.kernel_instructions, Spread { median: 6, min: 6, max: 107 });
    assert_eq!(report.visits.len(), 1);
    assert_eq!(report.visits[0].kernel_instructions, 6);
}

#[test]
fn equally_common_shapes_choose_the_smaller() {
    let mut stream = Stream::default();
    for calls in [2, 1] {
        stream.begin(1);
        (0..calls).for_each(|_| stream.call(1));
        stream.end(1);
    }
    let report = stream.interval(1);
    assert_eq!((report.visits.len(), report.disturbed), (1, 1));
}

#[test]
fn nested_and_overlapping_intervals_are_independent() {
    let mut stream = Stream::default();
    stream.begin(1);
    stream.user(1);
    stream.begin(2);
    stream.call(2);
    stream.begin(3);
    stream.end(3);
    stream.end(1);
    stream.call(4);
    stream.end(2);
    let counts = |id| {
        (
            stream.interval(id).user_instructions.median,
            stream.interval(id).kernel_instructions.median,
        )
    };
    assert_eq!(counts(1), (2, 3));
    assert_eq!(counts(2), (2, 8));
    assert_eq!(counts(3), (0, 0));
}

#[test]
fn misplaced_markers_are_reported() {
    let mut stream = Stream::default();
    stream.end(5);
    stream.end(5);
    stream.begin(6);
    stream.user(100);
    stream.begin(6);
    stream.user(1);
    stream.end(6);
    stream.begin(7);
    stream.mark(Marker::Unknown(9, 8), Privilege::User);
    stream.mark(Marker::Begin(9), Privilege::Kernel);
    assert_eq!(stream.interval(6).user_instructions, always(1));
    assert_eq!(stream.interval(6).repetitions, 1);
    assert_eq!(
        stream.counter.report().errors,
        [
            "interval 5: END without BEGIN (2 times)",
            "interval 6: BEGIN while open, the repetition so far is dropped",
            "interval 7: still open when the machine stopped, the repetition is dropped",
            "interval 8: marker of unknown kind 9 ignored",
            "interval 9: marker in kernel mode ignored",
        ]
    );
}

#[test]
fn json_has_the_tools_schema() {
    let mut stream = Stream::default();
    for id in [10, 9] {
        stream.begin(id);
        stream.call(1);
        stream.end(id);
    }
    stream.end(1);
    let json = stream.counter.report().to_json().expect("a report is JSON");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let spread = |value: u64| serde_json::json!({ "median": value, "min": value, "max": value });
    let none = serde_json::to_value(Events::<Spread>::default()).expect("JSON");
    let with = |counts: &[(&str, u64)]| {
        let mut events = none.clone();
        counts.iter().for_each(|&(name, count)| events[name] = spread(count));
        events
    };
    let interval = serde_json::json!({
        "repetitions": 1,
        "kernel_instructions": spread(2),
        "user_instructions": spread(1),
        "server_instructions": spread(0),
        "kernel_entries": spread(1),
        "cr3_writes": spread(0),
        "invlpg": spread(0),
        "kernel_code_lines_32": spread(1),
        "kernel_data_lines_32": spread(1),
        "events": {
            "kernel": with(&[("instructions", 2), ("fault_entries", 1), ("far_returns", 1)]),
            "server": none,
            "components": none,
            "user": with(&[("instructions", 1)]),
        },
        "disturbed": 0,
        "visits": [{ "kernel_instructions": 2, "kernel_code_lines_32": 1, "kernel_data_lines_32": 1, "cr3_writes": 0 }],
    });
    let whole = serde_json::json!({
        "intervals": { "9": interval, "10": interval },
        "errors": ["interval 1: END without BEGIN"],
        "violations": [],
        "further_violations": 0,
        "instructions": 6,
        "checked": null,
        "latency": null,
    });
    assert_eq!(value, whole);
    assert!(json.find("\"9\"") < json.find("\"10\""), "in the order of numbers");
}
