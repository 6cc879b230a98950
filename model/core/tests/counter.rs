// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter against streams of events whose counts are known.

use model_core::{Class, Counter, IntervalReport, Marker, Privilege, Site, Spread, VisitReport};

const IRET_TO_USER: [u32; 5] = [0x40_0000, 0x1b, 0x202, 0x80_0000, 0x23];

/// Feeds a counter as a processor would.
#[derive(Default)]
struct Stream {
    counter: Counter,
}

impl Stream {
    fn begin(&mut self, id: u16) {
        self.counter.mark(Marker::Begin(id), Privilege::User);
    }

    fn end(&mut self, id: u16) {
        self.counter.mark(Marker::End(id), Privilege::User);
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
        self.counter.execute(Site { privilege, class, offset: 0, bytes: 4, server: false }, address);
    }

    fn iret(&mut self, address: u32, frame: &[u32]) {
        self.kernel(Class::FarReturn, address);
        for (word, &value) in (0_u32..).zip(frame) {
            self.counter.access(0xf000_0000 + word * 4, 4, value);
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
    let visit = VisitReport { kernel_instructions: 16, kernel_code_lines_32: 2, kernel_data_lines_32: 1, cr3_writes: 0 };
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
            disturbed: 0,
            visits: vec![visit],
        }
    );
    assert!(stream.counter.report().errors.is_empty());
}

#[test]
fn a_server_is_counted_apart() {
    let mut stream = Stream::default();
    stream.begin(1);
    stream.user(2);
    for _ in 0..5 {
        stream.counter.execute(Site { privilege: Privilege::User, class: Class::Plain, offset: 0, bytes: 4, server: true }, 0);
    }
    stream.end(1);
    let report = stream.interval(1);
    assert_eq!((report.user_instructions, report.server_instructions), (always(7), always(5)));
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
    let instructions: Vec<u64> = report.visits.iter().map(|visit| visit.kernel_instructions).collect();
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
    let instructions: Vec<u64> = report.visits.iter().map(|visit| visit.kernel_instructions).collect();
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
    let counts = |id| (stream.interval(id).user_instructions.median, stream.interval(id).kernel_instructions.median);
    assert_eq!(counts(1), (2, 3));
    assert_eq!(counts(2), (2, 8));
    assert_eq!(counts(3), (0, 0));
    assert!(!stream.counter.is_counting());
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
    stream.counter.mark(Marker::Unknown(9, 8), Privilege::User);
    stream.counter.mark(Marker::Begin(9), Privilege::Kernel);
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
        "disturbed": 0,
        "visits": [{ "kernel_instructions": 2, "kernel_code_lines_32": 1, "kernel_data_lines_32": 1, "cr3_writes": 0 }],
    });
    assert_eq!(value, serde_json::json!({ "intervals": { "9": interval, "10": interval }, "errors": ["interval 1: END without BEGIN"] }));
    assert!(json.find("\"9\"") < json.find("\"10\""), "in the order of numbers");
}
