// SPDX-License-Identifier: MIT OR Apache-2.0
//! The book of an invented run, with the project's plan and papers.

use book::{Book, Counted, Cpus, Papers, Parts, Plan, Provenance, Results};
use model_core::{
    ByOwner, Cpu, Events, IntervalReport, LatencyReport, Report, Spread, VisitReport,
};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn bench() -> PathBuf {
    // Tests run in their package's folder.
    PathBuf::from("..")
}

fn spread(median: u64) -> Spread {
    Spread { median, min: median, max: median + 7 }
}

/// An interval of `instructions` in the kernel and half as many in user mode, with a TLB miss for
/// each hundred.
fn interval(instructions: u64) -> IntervalReport {
    let kernel = Events {
        instructions,
        dtlb_misses: instructions / 100,
        trace_misses: 5,
        ..Events::default()
    };
    let user = Events { instructions: instructions / 2, ..Events::default() };
    // The visits that `ipc` measures: as many instructions as the plan says where they go.
    let visit = |kernel_instructions| VisitReport {
        kernel_instructions,
        kernel_code_lines_32: 7,
        kernel_data_lines_32: 8,
        cr3_writes: 1,
    };
    IntervalReport {
        repetitions: 10,
        kernel_instructions: spread(instructions),
        user_instructions: spread(instructions / 2),
        server_instructions: spread(0),
        kernel_entries: spread(1),
        cr3_writes: spread(2),
        invlpg: spread(0),
        kernel_code_lines_32: spread(7),
        kernel_data_lines_32: spread(8),
        events: ByOwner { kernel, user, ..ByOwner::default() }
            .map(|events| events.map(|count| spread(*count))),
        apart: Some(kernel.map(|count| spread(*count / 2))),
        disturbed: 0,
        visits: vec![visit(52), visit(56)],
    }
}

/// Every interval that a section can ask for. Those that are subtracted are half as long.
fn report(plan: &Plan, instructions: u64) -> Report {
    let less =
        |id| plan.sections().flat_map(|section| &section.row).any(|row| row.less == Some(id));
    let interval = |id| interval(if less(id) { instructions / 2 } else { instructions });
    let latency = Some(LatencyReport { longest: instructions, ..LatencyReport::default() });
    Report {
        intervals: (0..1000).map(|id| (id, interval(id))).collect(),
        latency,
        ..Report::default()
    }
}

/// The book without variants, made once for all tests.
static BOOK: LazyLock<Book> = LazyLock::new(|| book_of(false, &[]));

fn book() -> &'static Book {
    &BOOK
}

/// Ours is three times Linux alone, and in small spaces, or with `flush=eager`, one and a half
/// times; with variants of CPU models, if there are any, four times. With other layouts of code
/// Linux takes as many instructions as `layouts` says for each, here and alone.
fn book_of(variants: bool, layouts: &[(u64, u64)]) -> Book {
    let plan = Plan::read(&bench()).expect("the plan is good");
    let papers = Papers::read(&bench().join("papers")).expect("the papers are good");
    let cpu = |name: &str| {
        let text = std::fs::read_to_string(
            bench().join("../model/cpus").join(name).with_extension("toml"),
        )
        .expect("a CPU model");
        Cpu::parse(&text).expect("a good CPU model")
    };
    let cpus: Cpus =
        plan.needed().into_iter().map(|(_, name)| (name.clone(), cpu(&name))).collect();
    let less = ["small", "eager"];
    let ours = |run: &str| {
        report(&plan, if less.iter().any(|end| run.ends_with(end)) { 300 } else { 600 })
    };
    let rows = plan.sections().flat_map(|section| &section.row);
    let parts: Parts = rows
        .filter_map(|row| Some(((row.interval?, row.part.clone()?), (300.0, Some(100.0)))))
        .collect();
    let native = |run: &str| {
        let run = &plan.runs[run];
        (run.program.is_some() && !run.one_layout).then(|| report(&plan, 200))
    };
    let counted =
        |run: &str| Counted { ours: ours(run), native: native(run), parts: parts.clone() };
    let mut results: Results = plan
        .needed()
        .into_iter()
        .map(|(run, model)| ((run.clone(), model), counted(&run)))
        .collect();
    for (run, model) in plan.ranged().into_iter().filter(|_| variants) {
        let counted = Counted { ours: report(&plan, 800), ..counted(&run) };
        let named = |variant| ((run.clone(), book::of_variant(&model, variant)), counted.clone());
        results.extend(cpus[&model].variants.iter().map(named));
    }
    let of_layout = |(ours, native): &(u64, u64)| -> Results {
        let counted = |run: &str| Counted {
            ours: report(&plan, *ours),
            native: Some(report(&plan, *native)),
            ..counted(run)
        };
        plan.laid_out()
            .into_iter()
            .map(|(run, model)| ((run.clone(), model), counted(&run)))
            .collect()
    };
    let layouts: Vec<Results> = layouts.iter().map(of_layout).collect();
    let provenance = Provenance {
        commit: "<unknown>".into(),
        models: cpus.values().map(Into::into).collect(),
        ..Provenance::default()
    };
    book::evaluate(&plan, &papers, &cpus, &results, &layouts, provenance).expect("a book")
}

fn figure<'a>(book: &'a Book, name: &str) -> &'a book::Figure {
    book.figures()
        .find(|figure| figure.name == name)
        .unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn ratios() {
    let book = book();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    close(figure(book, "linux.getpid_int80.large.instruction_ratio").value, 3.0);
    let getpid = figure(book, "linux.getpid_int80.large.cycles");
    // 900 instructions and 6 DTLB misses at 0.88 and 48, 5 trace-cache misses at 3.66.
    close(getpid.value, 900.0 * 0.88 + 6.0 * 48.0 + 5.0 * 3.66);
    close(getpid.native.expect("Linux alone"), 300.0 * 0.88 + 2.0 * 48.0 + 5.0 * 3.66);
    close(getpid.to_paper().expect("the paper has it"), getpid.value / 3837.0);
    close(
        figure(book, "pingpong.dtlb.48.small.large_ratio").value,
        (450.0 * 0.88 + 3.0 * 48.0 + 5.0 * 3.66) / getpid.value,
    );
    let ratio = figure(book, "linux.getpid_int80.large.ratio");
    close(ratio.value, getpid.to_native().expect("Linux alone"));
    close(ratio.paper.as_ref().expect("the paper has both").0, 3837.0 / 1540.0);
    close(figure(book, "linux.getpid_int80.large.ratio_without_trace_cache").value, 3.0);
    assert_eq!(ratio.reached(), Some(false));
    assert_eq!(figure(book, "ipc.call.large.kernel_instructions").reached(), Some(true));
    let frame = figure(book, "frame.receive.large.all.frame_instructions");
    close(frame.to_native().expect("Linux alone"), 3.0);
    // A megabyte at 1400 MHz.
    let bandwidth = figure(book, "lmbench.bw_mem.large.mb_per_s");
    close(bandwidth.value, 1_048_576.0 * 1400.0 / getpid.value);
    close(figure(book, "latency.linux.instructions").value, 600.0);
    // Without what has to be done anyway: half of it, of which a ring of two has two parts.
    close(figure(book, "arm.lat_ctx.2.instructions").value, (900.0 - 450.0) / 2.0);
    // Half of a round trip.
    close(figure(book, "ipc.large.bad.kernel_cycles").value, (600.0 * 0.535 + 6.0 * 25.0) / 2.0);
}

/// The ends of a trace-cache miss, 2.44 and 4.88, are those of the ratio's range: events of the
/// other doubts were not counted, or as often as instructions.
#[test]
fn a_ratio_of_cycles_has_a_range_and_says_what_it_rests_on() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    let book = book();
    let ratio = figure(book, "linux.getpid_int80.large.ratio");
    let range = ratio.range.as_ref().expect("a range");
    let text = std::fs::read_to_string("../../model/cpus/pentium4-1400.toml").expect("a CPU model");
    let corners = Cpu::parse(&text).expect("a good CPU model").corners();
    let by = |cpu: &Cpu, instructions: f64| {
        let of = |events: [(&str, f64); 3]| {
            cpu.cycles_of(
                &events.into_iter().map(|(name, count)| (name.to_string(), count)).collect(),
            )
        };
        of([
            ("instructions", instructions),
            ("dtlb_misses", instructions / 150.0),
            ("trace_misses", 5.0),
        ])
    };
    let ratios: Vec<f64> = corners.iter().map(|cpu| by(cpu, 900.0) / by(cpu, 300.0)).collect();
    close(range.low, ratios.iter().copied().fold(f64::MAX, f64::min));
    close(range.high, ratios.iter().copied().fold(0.0, f64::max));
    assert!(range.low < ratio.value && ratio.value < range.high, "{range:?}");
    close(range.instructions.expect("they were counted"), 3.0);
    assert!(range.rests_on.iter().any(|(what, _, _)| what == "a trace-cache miss"), "{range:?}");
    let line = format!(
        "| `linux.getpid_int80.large.ratio` | {:.2} ({:.2} to {:.2}) |",
        ratio.value, range.low, range.high
    );
    assert!(book::summary(book).contains(&line), "{line}");
    assert!(book::page(book).expect("a page").contains("a trace-cache miss ("));
    assert!(
        figure(book, "linux.getpid_int80.large.cycles").range.is_none(),
        "only ratios have one"
    );
    assert!(
        figure(book, "linux.getpid_int80.large.instruction_ratio").range.is_none(),
        "it rests on nothing"
    );
}

#[test]
fn a_variant_of_the_model_that_was_run_is_in_the_range() {
    let range = |variants| {
        figure(&book_of(variants, &[]), "linux.getpid_int80.large.ratio")
            .range
            .clone()
            .expect("a range")
    };
    let (without, with) = (range(false), range(true));
    assert!(without.high < 3.1 && with.high > 3.6, "{with:?}");
    assert!(with.rests_on[0].0.contains("12 KiB of code"), "{with:?}");
}

/// The median of 500, 600 and 800 instructions is the first layout's value; that of 200, 300 and
/// 400 on Linux alone is not.
#[test]
fn a_figure_of_cycles_is_a_median_of_layouts() {
    let book = book_of(false, &[(800, 400), (500, 300)]);
    let (one, all) = (
        figure(self::book(), "linux.getpid_int80.large.cycles"),
        figure(&book, "linux.getpid_int80.large.cycles"),
    );
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    let cycles = |instructions: f64| {
        instructions * 1.5 * 0.88 + (instructions / 100.0).floor() * 48.0 + 5.0 * 3.66
    };
    close(all.value, one.value);
    let (least, most) = all.layouts.expect("three layouts");
    close(least, cycles(500.0));
    close(most, cycles(800.0));
    close(all.native.expect("Linux alone"), cycles(300.0));
    let ratio = figure(&book, "linux.getpid_int80.large.ratio");
    // 5/3 and 2 are less than 3, which the first layout has.
    close(ratio.value, cycles(800.0) / cycles(400.0));
    assert!(ratio.layouts.is_some_and(|(least, most)| least < ratio.value && ratio.value < most));
    let line = format!("`linux.getpid_int80.large.ratio` | {:.2} (", ratio.value);
    let summary = book::summary(&book);
    let cell = summary.lines().find(|text| text.contains(&line)).expect("a line of it");
    assert!(
        cell.contains(&format!(", layouts {:.2} to ", ratio.layouts.expect("three layouts").0)),
        "{cell}"
    );
    assert!(
        figure(&book, "linux.getpid_int80.large.instruction_ratio").layouts.is_none(),
        "instructions are the same wherever code lies"
    );
    assert!(
        figure(&book, "ipc.large.bad.kernel_cycles").layouts.is_none(),
        "components have one layout"
    );
    assert!(one.layouts.is_none());
}

#[test]
fn names_are_stable() {
    let object: serde_json::Value =
        serde_json::from_str(&book::object(book()).expect("an object")).expect("JSON");
    let object = object.as_object().expect("an object");
    let found: String = object.keys().map(|name| format!("{name}\n")).collect();
    let file = Path::new("tests/names.txt");
    if std::env::var_os("MACADAMIA_BLESS").is_some() {
        std::fs::write(file, &found).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(file).expect("the names");
    assert!(
        found == expected,
        "figures came, went or were renamed; if that is meant, MACADAMIA_BLESS=1 writes {}",
        file.display()
    );
    for entry in object.values() {
        let keys: Vec<&String> = entry.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["layouts", "model", "native", "paper", "range", "unit", "value"]);
        assert!(entry["value"].is_number());
    }
}

#[test]
fn the_page_is_well_formed_and_stands_alone() {
    assert!(
        !scraper::Html::parse_document("<!DOCTYPE html><p></td>").errors.is_empty(),
        "the check finds nothing"
    );
    let page = book::page(book()).expect("a page");
    let parsed = scraper::Html::parse_document(&page);
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let count = |selector: &str| {
        parsed.select(&scraper::Selector::parse(selector).expect("a selector")).count()
    };
    for (selector, least) in [("section", 10), ("svg", 6), ("table", 20), ("svg polyline", 9)] {
        assert!(count(selector) >= least, "{} of `{selector}`", count(selector));
    }
    for selector in ["script", "link", "img", "iframe", "[src]", "[onclick]"] {
        assert_eq!(count(selector), 0, "`{selector}`");
    }
    let targets = scraper::Selector::parse("a[href]").expect("a selector");
    for link in parsed.select(&targets) {
        let to = link
            .value()
            .attr("href")
            .and_then(|href| href.strip_prefix('#'))
            .expect("a link within the page");
        assert_eq!(count(&format!("[id=\"{to}\"]")), 1, "{to}");
    }
}

/// If only one section of the book was measured now, the other sections' tables stay, each with its
/// commit.
#[test]
fn tables_of_one_section_are_renewed_without_the_others() {
    let plan = Plan::read(&bench()).expect("the plan is good");
    let then = book::summary(book());
    assert_eq!(book::renewed(&plan, "", book()), then, "of nothing");
    assert_eq!(book::renewed(&plan, &then, book()), then, "of the same");
    let mut now = book().clone();
    now.provenance.commit = "later".into();
    for chapter in &mut now.chapters {
        chapter.sections.retain(|section| section.name == "pager");
    }
    now.chapters.retain(|chapter| !chapter.sections.is_empty());
    let fault = now.chapters[0].sections[0]
        .figures
        .iter_mut()
        .find(|figure| figure.name == "pager.fault.cycles")
        .expect("its figure");
    fault.value = 123.0;
    let renewed = book::renewed(&plan, &then, &now);
    let changed: Vec<(&str, &str)> =
        then.lines().zip(renewed.lines()).filter(|(then, now)| then != now).collect();
    assert_eq!(then.lines().count(), renewed.lines().count());
    // The goal, the section's commit, and its row.
    assert_eq!(changed.len(), 3, "{changed:?}");
    assert!(changed[0].1.starts_with("| `pager.fault.cycles` | 123 cycles | "), "{changed:?}");
    assert_eq!(changed[1], ("Commit <unknown>.", "Commit later."));
    // What the plan has no more is left out.
    let fewer = plan.only(|section| section.name == "pager");
    let only = book::renewed(&fewer, &then, &now);
    assert!(only.contains("`pager.fault.cycles`") && !only.contains("`ipc.call."), "{only}");
}

/// Reading the project's own tables gives what was written.
#[test]
fn the_tables_that_there_are_have_sections_of_the_plan() {
    let plan = Plan::read(&bench()).expect("the plan is good");
    let tables = std::fs::read_to_string("../../docs/figures.md").expect("the tables");
    let nothing = Book { chapters: Vec::new(), provenance: Provenance::default() };
    assert_eq!(book::renewed(&plan, &tables, &nothing), tables);
}

#[test]
fn the_summary_has_every_section() {
    let book = book();
    let summary = book::summary(book);
    for section in book.chapters.iter().flat_map(|chapter| &chapter.sections) {
        assert!(summary.contains(&section.title), "{}", section.title);
    }
    let (_, sections) = summary.split_once("\n### ").expect("a section");
    let columns: Vec<usize> = sections
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.matches('|').count())
        .collect();
    assert!(columns.iter().all(|count| *count == 10), "{columns:?}");
}

/// A row of another run than its section's has that run's account.
#[test]
fn where_cycles_go_is_of_the_rows_own_run() {
    let mut sections = book().chapters.iter().flat_map(|chapter| &chapter.sections);
    let section = sections.find(|section| section.name == "ppc-table-2-603").expect("the section");
    let instructions = |title: &str| {
        let account = section.accounts.iter().find(|account| account.title == title);
        let lines = &account.unwrap_or_else(|| panic!("no account of {title}")).lines;
        lines.iter().find(|(event, _)| event == "instructions").expect("instructions").1[0]
    };
    assert_eq!(instructions("pipe latency").to_bits(), 600.0_f64.to_bits());
    assert_eq!(instructions("pipe latency, each page searched").to_bits(), 300.0_f64.to_bits());
}

#[test]
fn what_was_not_measured_is_named() {
    let plan =
        Plan::read(&bench()).expect("the plan is good").only(|section| section.name == "pager");
    let papers = Papers::read(&bench().join("papers")).expect("the papers are good");
    let why = |results: &Results| match book::evaluate(
        &plan,
        &papers,
        &Cpus::new(),
        results,
        &[],
        Provenance::default(),
    ) {
        Ok(_) => panic!("a book of nothing"),
        Err(error) => format!("{error:#}"),
    };
    assert_eq!(why(&Results::new()), "there is no CPU model `pentium-166`");
}

#[test]
fn the_parts_of_the_paths_add_up() {
    let book = book();
    let paths: Vec<(&str, &book::Path)> = book
        .chapters
        .iter()
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| section.paths.iter().map(|path| (&*section.name, path)))
        .collect();
    assert_eq!(
        paths.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["ipc", "ipc", "mips-ipc", "mips-ipc", "alpha-ipc", "alpha-ipc"]
    );
    for (name, path) in paths {
        // What is made up has as many instructions as the paths of `ipc`.
        assert!(
            name != "ipc" || path.adds_up(),
            "{}: {} of {}",
            path.title,
            path.sum(),
            path.measured
        );
        // All parts, and the one instruction that user mode executes.
        assert_eq!(path.rows.iter().map(|(_, ours, _)| ours).sum::<u32>(), path.sum() + 1);
    }
}

#[test]
fn who_is_behind_says_why() {
    let mut book = book().clone();
    for section in book.chapters.iter_mut().flat_map(|chapter| &mut chapter.sections) {
        section.why.clear();
    }
    // Three times Linux alone misses the goals; no bandwidth of the made-up run is compared.
    assert!(book.unexplained().contains(&"linux"));
    assert!(figure(&book, "linux.gettimeofday.large.ratio").worse);
    assert!(!figure(&book, "linux.getpid_int80.large.native_cycles").worse);
    for section in book.chapters.iter_mut().flat_map(|chapter| &mut chapter.sections) {
        section.why = "because".into();
    }
    assert!(book.unexplained().is_empty());
    assert!(book::summary(&book).contains("Where ours is worse: because"));
    assert!(book::page(&book).expect("a page").contains("Where ours is worse: </strong>because"));
}
