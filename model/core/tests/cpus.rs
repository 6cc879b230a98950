// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPU models that exist, and texts that are no CPU model.

use model_core::{Cpu, Events, Source};

#[test]
fn every_cpu_model_is_read_and_bears_its_name() {
    // Tests run in their package's folder.
    let folder = "../cpus";
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("there are CPU models") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let cpu = Cpu::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(Some(&cpu.name[..]), path.file_stem().and_then(|stem| stem.to_str()));
        assert_ne!(cpu.costs.instructions.source, Source::NoCost, "{}", cpu.name);
        count += 1;
    }
    assert_eq!(count, 14);
}

/// What Linux alone takes for getpid and for a read was published: no doubt about a single constant
/// changes it.
#[test]
fn the_pentium_4_stays_calibrated_at_every_corner() {
    let text = std::fs::read_to_string("../cpus/pentium4-1400.toml").expect("a text");
    let cpu = Cpu::parse(&text).expect("a CPU model");
    let getpid = Events {
        instructions: 211,
        trap_entries: 1,
        far_returns: 1,
        segment_loads: 6,
        ..Events::default()
    };
    let read = Events { instructions: 211 + 1890, l1d_misses: 160, ..getpid };
    let corners = cpu.corners();
    assert_eq!(corners.len(), 64);
    for events in [getpid, read] {
        for corner in &corners {
            let change = corner.cycles(&events) / cpu.cycles(&events) - 1.0;
            assert!(change.abs() < 0.01, "{change}: {}", cpu.difference(corner));
        }
    }
}

#[test]
fn what_a_model_was_calibrated_on_comes_out() {
    for (name, expected) in [
        ("pentium-90", 2),
        ("pentium-133", 2),
        ("pentium-166", 2),
        ("ppc603e-133", 1),
        ("ppc603e-180", 1),
        ("ppc604-133", 2),
        ("ppc604e-185", 1),
        ("ppc604e-200", 1),
        ("r4600-100", 1),
    ] {
        let text = std::fs::read_to_string(format!("../cpus/{name}.toml")).expect("a text");
        let cpu = Cpu::parse(&text).expect("a CPU model");
        let calibrating: Vec<_> = cpu.published.iter().filter(|figure| figure.calibrates).collect();
        assert_eq!(calibrating.len(), expected, "{name}");
        for figure in calibrating {
            assert!(
                (cpu.cycles_of(&figure.events) - figure.cycles).abs() < 0.5,
                "{name}: {}",
                figure.what
            );
        }
    }
}

const SMALL: &str = "name = 'x'\nclock_mhz = 1\n[geometry.itlb]\nentries = 4\n[geometry.l1d]\nbytes = 1024\nline = 32\nways = 2\n[cycles]\n";

fn refusal(more: &str) -> String {
    match Cpu::parse(&(SMALL.to_string() + more)) {
        Ok(_) => panic!("accepted: {more}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn cycles_are_linear() {
    let text = "instructions = { cycles = 0.5, assumed = 'a' }\ndtlb_misses = { cycles = 25, published = 'p' }\n";
    let cpu = Cpu::parse(&(SMALL.to_string() + text)).expect("a CPU model");
    let events = Events { instructions: 10, dtlb_misses: 3, itlb_misses: 100, ..Events::default() };
    assert!((cpu.cycles(&events) - 80.0).abs() < 1e-9);
    let given = [("instructions".to_string(), 10.0), ("dtlb_misses".to_string(), 3.0)].into();
    assert!((cpu.cycles_of(&given) - 80.0).abs() < 1e-9);
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(
        refusal("miracles = { cycles = 1, assumed = 'a' }"),
        "no event is called `miracles`"
    );
    let one_source = "the cost of `l1d_misses` needs one of published, calibrated, assumed";
    assert_eq!(refusal("l1d_misses = { cycles = 1 }"), one_source);
    assert_eq!(refusal("l1d_misses = { cycles = 1, assumed = 'a', published = 'p' }"), one_source);
    assert_eq!(
        refusal("[[published]]\nwhat = 'w'\nsource = 's'\ncycles = 1\nevents = { sins = 1 }"),
        "no event is called `sins`"
    );
    assert!(
        refusal("[geometry.dtlb]\nentries = 48\nways = 4")
            .starts_with("dtlb: 48 entries with 4 ways")
    );
    assert!(
        refusal("[geometry.dtlb]\nentries = 64\nlarge.own = { entries = 8, ways = 3 }")
            .starts_with("dtlb: 8 entries with 3 ways")
    );
    assert!(
        refusal("[geometry.l1i]\nbytes = 1000\nline = 32\nways = 2").starts_with("l1i: 1000 bytes")
    );
    assert!(
        refusal("[geometry.trace]\nlines = 0\nways = 8\ninstructions = 4").starts_with("trace: ")
    );
    assert!(
        refusal("[geometry.l1i]\nbytes = 1024\nline = 32\nways = 2\ncolour = 3").contains("colour")
    );
}
