// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be counted of an interval, by the names that sections use.

use crate::range::quotient;
use crate::row::Row;
use model_core::{ByOwner, Cpu, Events, IntervalReport, Report, Source, Spread, VisitReport};

/// A count over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The middle one.
    pub median: f64,
    /// The least and the most, where they are known.
    pub spread: Option<(f64, f64)>,
}

impl Value {
    /// The difference of two counts. Its least and most are unknown, because those of the two are
    /// of different repetitions.
    pub fn less(self, other: Self) -> Self {
        Self { median: self.median - other.median, spread: None }
    }

    /// Each divided by `divisor`.
    pub fn divided(self, divisor: f64) -> Self {
        Self {
            median: self.median / divisor,
            spread: self.spread.map(|(least, most)| (least / divisor, most / divisor)),
        }
    }
}

impl From<Spread> for Value {
    fn from(spread: Spread) -> Self {
        Self { median: spread.median as f64, spread: Some((spread.min as f64, spread.max as f64)) }
    }
}

/// A kind of count.
pub struct Kind {
    /// A description.
    pub what: String,
    /// Unit.
    pub unit: &'static str,
    /// Whether it depends on the CPU model.
    pub modelled: bool,
}

impl Kind {
    /// Whether it is a ratio of cycles.
    pub fn is_ratio(&self) -> bool {
        self.modelled && self.unit.is_empty()
    }
}

/// The prefix of the names of counts on Linux alone.
const NATIVE: &str = "native_";

/// If `count` is a value on Linux alone, the name of the count.
pub fn native(count: &str) -> Option<&str> {
    count.strip_prefix(NATIVE)
}

/// What a ratio of ours to Linux alone is a ratio of.
pub fn ratio_of(count: &str) -> Option<&'static str> {
    Some(match count {
        "ratio" => "cycles",
        "ratio_without_trace_cache" => "cycles_without_trace_cache",
        "instruction_ratio" => "instructions",
        _ => return None,
    })
}

/// Whether Linux alone has to be measured for it.
pub fn needs_alone(count: &str) -> bool {
    native(count).is_some() || ratio_of(count).is_some()
}

/// A ratio of the same program in small spaces and in large ones.
const LARGE_RATIO: &str = "large_ratio";

/// A ratio of cycles of the same program with a kernel that searches the hashed table for each
/// page, and with the usual kernel.
const CUT_OFF_RATIO: &str = "cutoff_ratio";
/// The same ratio of the kernel's instructions.
const CUT_OFF_INSTRUCTION_RATIO: &str = "cutoff_instruction_ratio";

/// A ratio of the same program with the boot words of the section's own run, and with those of the
/// other run.
const WORD_RATIO: &str = "word_ratio";

/// What a ratio of a section's two runs of the same program, `run` and `large`, is a ratio of.
pub fn of_two_runs(count: &str) -> Option<&'static str> {
    Some(match count {
        LARGE_RATIO | CUT_OFF_RATIO | WORD_RATIO => "cycles",
        CUT_OFF_INSTRUCTION_RATIO => "kernel_instructions",
        _ => return None,
    })
}

/// A ratio of an interval and of the one that its row names.
const OTHER_RATIO: &str = "other_ratio";

/// Whether it is a number of a part: of network frames, or of PowerPC's hashed table.
pub fn of_parts(count: &str) -> bool {
    const HASH: [&str; 5] = [USED, "left_percent", "points", "evict_percent", ENTRIES];
    ["frame_instructions", "frames"].contains(&count) || HASH.contains(&count)
}

/// As a part of the hashed table's places.
const USED: &str = "used_percent";
/// How many entries of the hashed table a space can use.
const ENTRIES: &str = "entries";
/// As a part of the searches of the hashed table.
const HITS: &str = "hash_hit_percent";

/// Whether more of it is better; of all other counts less is better.
pub fn is_gain(count: &str) -> bool {
    ["mb_per_s", USED, ENTRIES, HITS, CUT_OFF_RATIO].contains(&count)
}

/// What is known of a count that has a name.
pub fn kind(count: &str) -> Option<Kind> {
    if let Some(of) = native(count) {
        let kind = kind(of)?;
        return Some(Kind { what: format!("{}, Linux alone", kind.what), ..kind });
    }
    let (what, unit, modelled) = match count {
        "instructions" => ("instructions in all", "instructions", false),
        "frame_instructions" => ("instructions for each frame", "instructions", false),
        "frames" => ("for each frame", "frames", false),
        "kernel_instructions" => ("instructions in the kernel", "instructions", false),
        "server_instructions" => ("instructions of the Linux server", "instructions", false),
        "kernel_entries" => ("entries into the kernel", "entries", false),
        "cr3_writes" => ("writes of CR3", "writes", false),
        "flushes" => ("flushes of TLBs and caches, or of parts of them", "flushes", false),
        "code_lines_32" => ("cache lines of kernel code", "lines", false),
        "data_lines_32" => ("cache lines of kernel data", "lines", false),
        "cache_lines_32" => ("cache lines of the kernel", "lines", false),
        "instruction_ratio" => ("instructions, ours to Linux alone", "", false),
        "cycles" => ("cycles", "cycles", true),
        "cycles_without_trace_cache" => ("cycles without trace-cache misses", "cycles", true),
        "kernel_cycles" => ("cycles of the kernel", "cycles", true),
        "enter_cycles" => ("of these to enter the kernel", "cycles", true),
        "exit_cycles" => ("of these to leave the kernel", "cycles", true),
        "segment_cycles" => ("of these to load segment registers", "cycles", true),
        "switch_cycles" => ("of these to write CR3", "cycles", true),
        "code_cycles" => ("of these to execute instructions", "cycles", true),
        "tlb_miss_cycles" => ("of these for TLB misses", "cycles", true),
        "cache_miss_cycles" => ("of these for cache misses", "cycles", true),
        "itlb_misses" => ("ITLB misses", "misses", true),
        "dtlb_misses" => ("DTLB misses", "misses", true),
        "tlb_misses" => ("TLB misses", "misses", true),
        "kernel_tlb_misses" => ("TLB misses of the kernel", "misses", true),
        "cache_misses" => ("misses of the first-level caches", "misses", true),
        "l2_misses" => ("misses of the second-level cache", "misses", true),
        "hash_loads" => ("entries of the hashed table that searches read", "entries", true),
        "hash_misses" => ("searches of the hashed table that find nothing", "misses", true),
        HITS => ("of TLB misses that the hashed table has", "%", true),
        "faults" => ("faults of pages and domains", "faults", true),
        "trace_misses" => ("trace-cache misses", "misses", true),
        "ratio" => ("cycles, ours to Linux alone", "", true),
        OTHER_RATIO => ("cycles, to those of another interval", "", true),
        LARGE_RATIO => ("cycles, small spaces to large ones", "", true),
        CUT_OFF_RATIO => ("cycles, to those with the cut-off", "", true),
        WORD_RATIO => ("cycles, to those with the other boot words", "", true),
        CUT_OFF_INSTRUCTION_RATIO => {
            ("instructions in the kernel, to those with the cut-off", "", false)
        }
        "ratio_without_trace_cache" => {
            ("cycles without trace-cache misses, ours to Linux alone", "", true)
        }
        "handler_instructions" => {
            ("instructions of the handler of a TLB miss", "instructions", true)
        }
        USED => ("used of the hashed table's places", "%", false),
        "left_percent" => ("left free of the hashed table's places", "%", false),
        "points" => ("from what the paper has", "points", false),
        "evict_percent" => ("of reloads that replace an entry", "%", false),
        ENTRIES => ("entries of the hashed table in use", "entries", false),
        "mb_per_s" => ("bandwidth", "MB/s", true),
        "microseconds" => ("time", "µs", true),
        _ => return None,
    };
    Some(Kind { what: what.into(), unit, modelled })
}

/// The count with this name of a row; `None` if its interval does not have it.
pub fn value(count: &str, report: &Report, row: &Row, cpu: &Cpu) -> Option<Value> {
    let Some(interval) = row.interval else { return of_run(count, report) };
    let interval = report.intervals.get(&interval)?;
    let value = match row.visit {
        _ if row.apart => of_function(count, &interval.apart.unwrap_or_default(), cpu)?,
        Some(visit) => of_visit(count, interval.visits.get(visit)?)?,
        None if count == OTHER_RATIO => {
            let other = of_interval("cycles", report.intervals.get(&row.other?)?, cpu)?;
            return Some(of_interval("cycles", interval, cpu)?.divided(other.median));
        }
        None if count == "mb_per_s" => {
            return bandwidth(of_interval("cycles", interval, cpu)?, row, cpu);
        }
        None => of_interval(count, interval, cpu)?,
    };
    let value = match row.less {
        Some(less) => value.less(of_interval(count, report.intervals.get(&less)?, cpu)?),
        None => value,
    };
    Some(value.divided(f64::from(row.per)))
}

/// The count with this name of a whole run: its instructions are the most that the kernel executed
/// between two checks for interrupts.
fn of_run(count: &str, report: &Report) -> Option<Value> {
    let latency = report.latency.as_ref().filter(|_| count == "instructions")?;
    Some(Value { median: latency.longest as f64, spread: None })
}

fn of_visit(count: &str, visit: &VisitReport) -> Option<Value> {
    let (code, data) = (visit.kernel_code_lines_32, visit.kernel_data_lines_32);
    let value = match count {
        "kernel_instructions" => visit.kernel_instructions,
        "code_lines_32" => code,
        "data_lines_32" => data,
        "cache_lines_32" => code + data,
        "cr3_writes" => visit.cr3_writes,
        _ => return None,
    };
    Some(Value { median: value as f64, spread: None })
}

fn of_interval(count: &str, interval: &IntervalReport, cpu: &Cpu) -> Option<Value> {
    let counted = match count {
        "instructions" => sum(interval.user_instructions, interval.kernel_instructions),
        "kernel_instructions" => interval.kernel_instructions.into(),
        "server_instructions" => interval.server_instructions.into(),
        "kernel_entries" => interval.kernel_entries.into(),
        "cr3_writes" => interval.cr3_writes.into(),
        "code_lines_32" => interval.kernel_code_lines_32.into(),
        "data_lines_32" => interval.kernel_data_lines_32.into(),
        "cache_lines_32" => sum(interval.kernel_code_lines_32, interval.kernel_data_lines_32),
        _ => return of_events(&interval.events, |events| of(count, events, cpu)),
    };
    Some(counted)
}

/// A count of the kernel's function that is counted apart.
fn of_function(count: &str, events: &Events<Spread>, cpu: &Cpu) -> Option<Value> {
    if count == "kernel_instructions" {
        return Some(events.instructions.into());
    }
    let by_owner = ByOwner { kernel: *events, ..ByOwner::default() };
    of_events(&by_owner, |events| of(count, events, cpu))
}

/// `value` of the medians of all events, of the least and of the most.
fn of_events(
    events: &ByOwner<Events<Spread>>,
    value: impl Fn(&ByOwner<Events>) -> Option<f64>,
) -> Option<Value> {
    let each = |pick: fn(&Spread) -> u64| value(&events.map(|part| part.map(pick)));
    let spread = (each(|spread| spread.min)?, each(|spread| spread.max)?);
    Some(Value { median: each(|spread| spread.median)?, spread: Some(spread) })
}

/// A count that is made of events.
fn of(count: &str, by_owner: &ByOwner<Events>, cpu: &Cpu) -> Option<f64> {
    let (total, kernel) = (by_owner.total(), by_owner.kernel);
    let cycles = |events: Events| cpu.cycles(&as_the_processor_would(events, cpu));
    let some = Events::default();
    Some(match count {
        "cycles" => cycles(total),
        "microseconds" => cycles(total) / cpu.clock_mhz,
        "cycles_without_trace_cache" => cycles(Events { trace_misses: 0, ..total }),
        "kernel_cycles" => cycles(kernel),
        "enter_cycles" => {
            let Events { sysenter_entries, trap_entries, fault_entries, .. } = kernel;
            cycles(Events { sysenter_entries, trap_entries, fault_entries, ..some })
        }
        "exit_cycles" => {
            cycles(Events { sysexits: kernel.sysexits, far_returns: kernel.far_returns, ..some })
        }
        "segment_cycles" => cycles(Events { segment_loads: kernel.segment_loads, ..some }),
        "switch_cycles" => cycles(Events {
            space_switches: kernel.space_switches,
            tlb_flushes: kernel.tlb_flushes,
            ..some
        }),
        "code_cycles" => cycles(Events { instructions: kernel.instructions, ..some }),
        "tlb_miss_cycles" => cycles(Events {
            itlb_misses: kernel.itlb_misses,
            dtlb_misses: kernel.dtlb_misses,
            walks: kernel.walks,
            walk_loads: kernel.walk_loads,
            ..some
        }),
        "cache_miss_cycles" => {
            let Events { l1i_misses, l1d_misses, l2_misses, trace_misses, .. } = kernel;
            cycles(Events { l1i_misses, l1d_misses, l2_misses, trace_misses, ..some })
        }
        // None is none of a miss.
        "handler_instructions" => {
            quotient(total.reload_instructions as f64, total.software_reloads as f64)
                .unwrap_or_default()
        }
        "itlb_misses" => total.itlb_misses as f64,
        "dtlb_misses" => total.dtlb_misses as f64,
        "flushes" => total.flushes() as f64,
        "tlb_misses" => (total.itlb_misses + total.dtlb_misses) as f64,
        "kernel_tlb_misses" => (kernel.itlb_misses + kernel.dtlb_misses) as f64,
        "cache_misses" => (total.l1i_misses + total.l1d_misses) as f64,
        "l2_misses" => total.l2_misses as f64,
        "faults" => kernel.fault_entries as f64,
        "hash_loads" => total.hash_loads as f64,
        "hash_misses" => total.hash_misses as f64,
        // An access whose search finds nothing misses the TLB once more when the entry is there,
        // and only then the model counts that. None has missed.
        HITS => {
            let found = (total.itlb_misses + total.dtlb_misses) as f64;
            quotient(found, found + total.hash_misses as f64).unwrap_or(1.0) * 100.0
        }
        "trace_misses" => total.trace_misses as f64,
        _ => return None,
    })
}

/// The events as on a processor without `sysenter` and `sysexit`, which enters by `int` and leaves
/// by `iret`.
pub fn as_the_processor_would(events: Events, cpu: &Cpu) -> Events {
    if cpu.costs.sysenter_entries.source != Source::NoCost {
        return events;
    }
    let (trap_entries, far_returns) =
        (events.trap_entries + events.sysenter_entries, events.far_returns + events.sysexits);
    Events { trap_entries, far_returns, sysenter_entries: 0, sysexits: 0, ..events }
}

/// MB (a million bytes) per second, from cycles.
fn bandwidth(cycles: Value, row: &Row, cpu: &Cpu) -> Option<Value> {
    let of = |cycles: f64| quotient(f64::from(row.bytes) * cpu.clock_mhz, cycles);
    let spread = cycles.spread.and_then(|(least, most)| Some((of(most)?, of(least)?)));
    Some(Value { median: of(cycles.median)?, spread })
}

fn sum(a: Spread, b: Spread) -> Value {
    Spread { median: a.median + b.median, min: a.min + b.min, max: a.max + b.max }.into()
}
