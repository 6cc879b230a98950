// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a system spends its instructions: the command `profile` (docs/model.md, *Profiles*).
//!
//! It owns the folder `profile` of a system. It does not know how samples become call paths:
//! `model_profile` does.

use crate::build::{self, Built, Model, Options, Seed, Wire};
use crate::emulator::{self, Machine};
use crate::guest::batch::Batch;
use crate::linux::root::Insert;
use crate::linux::{FOLDER, server};
use crate::machine::board;
use crate::process::patience::Limit;
use crate::{catalogue, description};
use anyhow::{Context, Result, bail, ensure};
use model_profile::{Part, Profile, Program, Programs, Samples, flame_graph};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Instructions from one sample to the next, unless asked otherwise: a prime, so that no loop keeps
/// step with it.
pub const EVERY: u32 = 1009;
/// The longest that a system may take to end by itself.
pub const TIMEOUT: Duration = Duration::from_secs(600);
/// Lines of the table on the terminal, and paths in the text.
pub const HEAD: usize = 20;
const PATHS: usize = 30;
/// Where the batch driver begins and ends a command (linux/os-L4/batch.c).
const BOUNDS: [&str; 2] = ["batch_run", "batch_end"];

/// What to profile.
pub struct Request<'a> {
    /// The system's name.
    pub system: &'a str,
    /// A command in Linux; without one the system must end by itself.
    pub command: Option<String>,
    /// Files for Linux.
    pub files: &'a [Insert],
    /// Only the interval of this number.
    pub interval: Option<u16>,
    /// Instructions from one sample to the next.
    pub every: u32,
    /// The longest that it may take, in the emulator's own time.
    pub timeout: Option<Duration>,
    /// What its network card is connected to.
    pub wire: Wire<'a>,
}

/// A profile, and the folder of its files.
pub struct Outcome {
    /// The profile.
    pub profile: Profile,
    /// Where its files are.
    pub folder: PathBuf,
    /// The command's exit status.
    pub status: u8,
}

/// Profiles, prints the table's head. Returns the command's exit status.
pub fn run(request: &Request<'_>) -> Result<u8> {
    let outcome = take(request, &mut std::io::stdout())?;
    // The command's output is on the standard output, and may go elsewhere.
    eprint!("{}", outcome.profile.table(HEAD));
    eprintln!("profile.txt, flame.svg, folded.txt: {}", outcome.folder.display());
    Ok(outcome.status)
}

/// Runs the system with the sampler, and writes what was found. The command's output goes to `out`.
pub fn take(request: &Request<'_>, out: &mut dyn Write) -> Result<Outcome> {
    let board = board::chosen();
    ensure!(
        board.processor.has_samples,
        "no samples can be taken of the board `{0}`: leave out `--board {0}`",
        board.name()
    );
    let path = catalogue::any_system(request.system)?;
    let timeout = request.timeout.unwrap_or(TIMEOUT);
    let limit = Some(Limit::Own(timeout));
    let batch =
        request.command.as_ref().map(|command| Batch { timeout: limit, ..Batch::of(command) });
    let command = batch.as_ref().map(Batch::inserts);
    let command = command.as_ref().map(|inserts| build::Command { component: None, inserts });
    let folder = Path::new(request.system).join("profile");
    let folder = folder.to_str().context("a name that is no text")?;
    let options = Options {
        inserts: request.files,
        folder: Some(folder),
        command,
        seed: Seed::Fixed,
        wire: request.wire,
        ..Options::default()
    };
    let built = build::plan(&path, options)?.carry_out()?;
    let (mut programs, bounds) =
        programs(&built, &description::read(&path, built.board)?, request.files, batch.is_some())?;
    let mut sampling = format!("sample={:x}", request.every);
    sampling
        .extend(programs.ranges().map(|range| format!(",code={:x}-{:x}", range.start, range.end)));
    match (request.interval, bounds) {
        (Some(interval), _) => sampling += &format!(",interval={interval:x}"),
        (None, Some([from, to])) => sampling += &format!(",bounds={from:x}-{to:x}"),
        (None, None) => {}
    }
    let model = Model { sampling: Some(sampling), ..build::model()? };
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let status = match &batch {
        Some(batch) => batch.run(&built, machine, out, &mut std::io::stderr())?,
        None => {
            let transcript = emulator::batch(&built, machine, timeout)?;
            ensure!(
                transcript.ended,
                "{} did not end in {} s; a Linux needs --batch",
                built.name,
                timeout.as_secs()
            );
            0
        }
    };
    let folder = built.image.parent().context("no folder")?.to_path_buf();
    let text = std::fs::read_to_string(emulator::report(&built))
        .context("the plugin left no samples: the system did not end by itself")?;
    let profile = sum(&mut programs, &Samples::from_json(&text)?);
    ensure!(
        profile.samples() > 0,
        "there are no samples: it was too short, or the interval did not begin"
    );
    let title = format!(
        "{}: {}",
        built.name,
        request.command.as_deref().unwrap_or("from power-on to its end")
    );
    let text = format!(
        "{title}\na sample every {} instructions, {}\n{}",
        request.every,
        profile.table(usize::MAX),
        profile.hottest(PATHS)
    );
    let files = [
        ("profile.txt", text),
        ("flame.svg", flame_graph(&profile, &title)),
        ("folded.txt", profile.folded()),
    ];
    for (name, contents) in files {
        std::fs::write(folder.join(name), contents)?;
    }
    Ok(Outcome { profile, folder, status })
}

/// What samples are of, together.
pub fn sum(programs: &mut Programs, samples: &Samples) -> Profile {
    let mut profile = Profile::default();
    samples.iter().for_each(|(sample, times)| profile.add(programs.path(sample), times));
    profile
}

/// Everything that a system executes, and where its Linux begins and ends a command.
fn programs(
    built: &Built,
    description: &description::Description,
    files: &[Insert],
    batch: bool,
) -> Result<(Programs, Option<[u32; 2]>)> {
    let mut programs = Programs::default();
    let mut bounds = None;
    programs.add(Part::Kernel, read("kernel", &std::fs::read(&built.kernel)?)?);
    programs.add(Part::Component, read("root", &std::fs::read(build::elf("root"))?)?);
    for component in &description.component {
        let program =
            read(component.name.get_ref(), &std::fs::read(build::elf(component.package()))?)?;
        if batch && server::is_server(component.package()) {
            let [Some(from), Some(to)] = BOUNDS.map(|name| program.address(name)) else {
                bail!("`{}` has no {BOUNDS:?}", program.name);
            };
            bounds = Some([from, to]);
        }
        programs.add(Part::Component, program);
    }
    for file in files.iter().filter(|file| file.contents.starts_with(b"\x7fELF")) {
        let name = file.guest.rsplit('/').next().unwrap_or(&file.guest);
        programs.add(Part::Process, read(name, &file.contents)?);
    }
    let busybox = Path::new(FOLDER).join("busybox");
    if busybox.exists() {
        programs.add(Part::Process, read("busybox", &std::fs::read(busybox)?)?);
    }
    Ok((programs, bounds))
}

/// A program's code and functions.
pub fn read(name: &str, data: &[u8]) -> Result<Program> {
    let file = object::File::parse(data)
        .with_context(|| format!("`{name}` is no ELF file that can be read"))?;
    let mut code = Vec::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        code.push((section.address() as u32, section.data()?.to_vec()));
    }
    // Assembly's labels have no kind. Without symbols a section is one function.
    let is_function =
        |kind| matches!(kind, SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown);
    let mut symbols: Vec<(u32, String)> = file
        .symbols()
        .filter(|symbol| is_function(symbol.kind()))
        .filter_map(|symbol| {
            Some((
                symbol.address() as u32,
                format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?)),
            ))
        })
        .filter(|(_, name)| !name.is_empty())
        .collect();
    if symbols.is_empty() {
        symbols.extend(code.iter().map(|(address, _)| (*address, format!("[{name}]"))));
    }
    Ok(Program::new(name, code, symbols))
}
