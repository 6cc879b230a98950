// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sources leave open of a CPU model.

use model_core::{Cpu, Events, PerLine};

const MODEL: &str = "name = 'x'\nclock_mhz = 1\n[geometry.itlb]\nentries = 4\n[geometry.l1d]\nbytes = 1024\nline = 32\nways = 2\n[geometry.trace]\nlines = 16\nways = 8\ninstructions = 4\n\
    [cycles]\ninstructions = { cycles = 1, assumed = 'a' }\ntrap_entries = { cycles = 70, assumed = 'a' }\n\
    far_returns = { cycles = 30, assumed = 'a' }\nsegment_loads = { cycles = 10, assumed = 'a' }\n";

fn doubt(what: &str, ends: &str) -> String {
    format!("[[doubt]]\nwhat = '{what}'\nsource = 's'\nends = {ends}\n")
}

fn parse(more: &str) -> Cpu {
    Cpu::parse(&(MODEL.to_string() + more)).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(more: &str) -> String {
    Cpu::parse(&(MODEL.to_string() + more)).expect_err(more).to_string()
}

/// The way in and the way out are known together; a segment load is dearer or cheaper.
fn open() -> Cpu {
    parse(
        &(doubt("in and out", "[{ trap_entries = 30, far_returns = 70 }]")
            + &doubt("segments", "[{ segment_loads = 5 }, { segment_loads = 20 }]")),
    )
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn corners_are_all_combinations_of_ends() {
    let costs = |cpu: Cpu| {
        (
            cpu.costs.trap_entries.cycles,
            cpu.costs.far_returns.cycles,
            cpu.costs.segment_loads.cycles,
        )
    };
    let corners: Vec<_> = open().corners().into_iter().map(costs).collect();
    assert_eq!(
        corners,
        [(70.0, 30.0, 5.0), (30.0, 70.0, 5.0), (70.0, 30.0, 20.0), (30.0, 70.0, 20.0)]
    );
    assert_eq!(parse("").corners().len(), 1, "without a doubt there is only the model");
}

#[test]
fn two_doubts_of_one_cost_add_up() {
    let cpu =
        parse(&(doubt("a", "[{ trap_entries = 60 }]") + &doubt("b", "[{ trap_entries = 90 }]")));
    let costs: Vec<f64> =
        cpu.corners().into_iter().map(|cpu| cpu.costs.trap_entries.cycles).collect();
    assert_eq!(costs, [70.0, 60.0, 90.0, 80.0]);
}

/// No quotient within what the doubts allow is beyond those of the corners.
#[test]
fn the_extremes_of_a_quotient_are_at_corners() {
    let cpu = open();
    let ours = Events {
        instructions: 100,
        trap_entries: 1,
        far_returns: 2,
        segment_loads: 9,
        ..Events::default()
    };
    let alone = Events {
        instructions: 200,
        trap_entries: 1,
        far_returns: 1,
        segment_loads: 6,
        ..Events::default()
    };
    let quotient = |cpu: &Cpu| cpu.cycles(&ours) / cpu.cycles(&alone);
    let corners: Vec<f64> = cpu.corners().iter().map(quotient).collect();
    let (low, high) = corners
        .iter()
        .fold((f64::MAX, 0.0f64), |(low, high), &corner| (low.min(corner), high.max(corner)));
    assert!(close(low, (100.0 + 70.0 + 60.0 + 45.0) / (200.0 + 100.0 + 30.0)), "{low}");
    assert!(close(high, (100.0 + 30.0 + 140.0 + 180.0) / (200.0 + 100.0 + 120.0)), "{high}");
    for step in 0..=40 {
        for load in 5..=20 {
            let mut within = cpu.clone();
            within.costs.trap_entries.cycles = 70.0 - f64::from(step);
            within.costs.far_returns.cycles = 30.0 + f64::from(step);
            within.costs.segment_loads.cycles = f64::from(load);
            let quotient = quotient(&within);
            assert!((low - 1e-9..=high + 1e-9).contains(&quotient), "{quotient}");
        }
    }
}

#[test]
fn a_model_of_instructions_alone_counts_them() {
    let events = Events { instructions: 7, trap_entries: 3, ..Events::default() };
    assert!(close(open().instructions_alone().cycles(&events), 7.0));
}

#[test]
fn a_variant_has_its_own_trace_cache() {
    let cpu = parse(
        "[[variant]]\nname = 'v'\nwhat = 'w'\nsource = 's'\ntrace = { lines = 16, ways = 8, bytes = 6 }\n",
    );
    let per_line = |cpu: &Cpu| cpu.geometry.trace.map(|trace| trace.per_line());
    assert_eq!(per_line(&cpu), Some(PerLine::Instructions(4)));
    assert_eq!(per_line(&cpu.variant("v").expect("it is there")), Some(PerLine::Bytes(6)));
    assert!(cpu.variant("w").is_none());
}

#[test]
fn what_is_no_doubt_is_said() {
    assert_eq!(refusal(&doubt("d", "[]")), "the doubt `d`: 0 ends where there may be one or two");
    assert_eq!(refusal(&doubt("d", "[{ sins = 1 }]")), "no event is called `sins`");
    assert_eq!(
        refusal(&doubt("d", "[{ sysexits = 1 }]")),
        "the doubt `d`: `sysexits` costs nothing in this model"
    );
    let twice = doubt("a", "[{ far_returns = 10 }]") + &doubt("b", "[{ far_returns = 10 }]");
    assert_eq!(refusal(&twice), "the doubt `all together`: `far_returns` costs -10 at a corner");
    assert_eq!(
        refusal(&doubt("d", "[{ far_returns = 10 }]").repeat(9)),
        "the doubt `d`: a model has 8 doubts at most"
    );
    let variant = "[[variant]]\nname = 'v'\nwhat = 'w'\nsource = 's'\n";
    let either = "trace: a line has either `instructions` or `bytes`";
    assert_eq!(refusal(&format!("{variant}trace = {{ lines = 16, ways = 8 }}")), either);
    assert_eq!(
        refusal(&format!(
            "{variant}trace = {{ lines = 16, ways = 8, bytes = 6, instructions = 4 }}"
        )),
        either
    );
}
