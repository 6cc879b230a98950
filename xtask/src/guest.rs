// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that run programs in Linux.

use crate::Emulator;
use crate::batch::{Batch, Fetch};
use crate::build::{self, Options};
use crate::description::Interface;
use crate::emulator::{self, Machine};
use crate::linux::{self, Insert};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A test: its name, and what it does.
pub type Test = (&'static str, fn() -> Result<()>);

/// All of them.
pub const ALL: &[Test] = &[
    ("linux.batch", batch),
    ("linux.abi", abi),
    ("linux.figures", figures),
    ("linux.gateway", gateway),
    ("linux.interrupts", interrupts),
    ("linux.memory", memory),
    ("linux.bochs", on_bochs),
];

/// The longest that a run may take if nobody says another.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What a run left.
pub struct Outcome {
    /// The command's exit status.
    pub status: u8,
    /// Its standard output.
    pub out: Vec<u8>,
    /// Its standard error.
    pub err: Vec<u8>,
    /// What the machine model counted, if it was asked to.
    pub report: Option<model_core::Report>,
}

impl Outcome {
    /// Its standard output.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

/// A program for a run, or a file.
pub fn insert(guest: &str, contents: Vec<u8>) -> Insert {
    Insert { guest: guest.into(), contents, mode: 0o755 }
}

/// How to run a command in Linux.
pub struct Guest<'a> {
    /// The system's description.
    pub system: &'a str,
    /// Where it runs.
    pub on: Emulator,
    /// QEMU's CPU model, instead of the usual one.
    pub cpu: Option<&'a str>,
    /// How QEMU attaches disks, instead of what the description says.
    pub interface: Option<Interface>,
    /// Files for it.
    pub inserts: Vec<Insert>,
    /// Files out of it.
    pub gets: Vec<Fetch>,
    /// The longest that it may take.
    pub timeout: Duration,
    /// Whether time is the machine's own, in QEMU: instructions, however busy the host is.
    pub own_time: bool,
    /// The machine model, if it is to count.
    pub model: Option<&'a build::Model>,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            system: "systems/linux.toml",
            on: Emulator::Qemu,
            interface: None,
            cpu: None,
            inserts: Vec::new(),
            gets: Vec::new(),
            timeout: TIMEOUT,
            own_time: false,
            model: None,
        }
    }
}

impl Guest<'_> {
    /// Builds the system, runs the command in it.
    pub fn run(mut self, command: &str) -> Result<Outcome> {
        let batch = Batch { command: command.into(), gets: self.gets, timeout: Some(self.timeout) };
        self.inserts.extend(batch.inserts());
        let options = Options {
            cpu: self.cpu,
            inserts: &self.inserts,
            interface: self.interface,
            folder: Some("linux-test"),
            stop: true,
            ..Options::default()
        };
        let built = build::plan(Path::new(self.system), options)?.carry_out()?;
        let mut machine = Machine::of(self.on, &built, self.model);
        if let Machine::Qemu { icount, .. } = &mut machine {
            *icount |= self.own_time;
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = batch.run(&built, machine, &mut out, &mut err)?;
        let report = self.model.map(|_| emulator::read_report(&built.image.with_file_name("model.json"))).transpose()?;
        Ok(Outcome { status, out, err, report })
    }
}

fn simple(command: &str) -> Result<Outcome> {
    Guest::default().run(command)
}

/// Compiles a test program, a file or a folder of files, statically, for i386.
pub fn compile(source: impl AsRef<Path>) -> Result<Vec<u8>> {
    let source = source.as_ref();
    let name = source.file_stem().context("a source without a name")?;
    let program = Path::new("target/linux").join(name);
    let mut gcc = Command::new("i686-linux-gnu-gcc");
    gcc.args(["-static", "-O2", "-pthread", "-Wall", "-Wno-unused-result", "-o"]).arg(&program);
    if source.is_dir() {
        let mut files = std::fs::read_dir(source)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
        files.sort();
        gcc.args(files);
    } else {
        gcc.arg(source);
    }
    build::run(&mut gcc)?;
    Ok(std::fs::read(program)?)
}

/// What programs expect of Linux, here and on Linux alone.
fn abi() -> Result<()> {
    let inserts = vec![insert("/bin/abi", compile("tests/linux/abi")?)];
    let reference = native("abi", inserts.clone(), None, TIMEOUT)?;
    let o = Guest { inserts, ..Guest::default() }.run("abi")?;
    let passed = |text: &str| text.lines().filter(|line| line.starts_with("ok ")).count();
    let here = o.text();
    ensure!(o.status == 0, "{} checks failed, {} passed:\n{here}", o.status, passed(&here));
    ensure!(
        passed(&reference.out) == passed(&here),
        "on Linux alone {} checks pass, here {}:\n{}",
        passed(&reference.out),
        passed(&here),
        reference.out
    );
    println!("# {} checks of what programs expect of Linux, the same on Linux alone", passed(&here));
    Ok(())
}

/// The exact emulator boots Linux, too, and runs the checks that do not measure time.
fn on_bochs() -> Result<()> {
    let inserts = vec![insert("/bin/abi", compile("tests/linux/abi")?)];
    // Building Linux, if it is not built, is not Bochs's time.
    build::system(Path::new(Guest::default().system))?;
    let start = Instant::now();
    let checks = "int80 sysenter vdso exceptions write_barrier fpu_frames x87 fpu_fork threads processes copy_on_write file_mappings \
                  debugging futexes signals proc";
    let command = format!("for check in {checks}; do abi $check || exit 1; done");
    let o = Guest { on: Emulator::Bochs, inserts, ..Guest::default() }.run(&command)?;
    ensure!(o.status == 0, "status {}: {}{}", o.status, o.text(), String::from_utf8_lossy(&o.err));
    ensure!(start.elapsed() < Duration::from_secs(90), "it took {} s", start.elapsed().as_secs());
    Ok(())
}

/// Interrupts reach a Linux that computes, and one that has just enabled them.
fn interrupts() -> Result<()> {
    let o = Guest { system: "tests/systems/linux-selftest.toml", own_time: true, ..Guest::default() }.run("dmesg | grep selftest:")?;
    let text = o.text();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [ticks, latest, unmasked, soft] = numbers[..] else { anyhow::bail!("the self-test said: {text}") };
    println!(
        "# computing: {ticks} of 200 ticks, the latest by {latest} us; after unmasking: {unmasked} us; in a soft interrupt {soft} of 10"
    );
    ensure!(ticks >= 190 && latest < 2_000 && unmasked < 2_000 && soft >= 5, "{text}");
    Ok(())
}

/// Processes that want more memory than there is are killed, and Linux goes on.
fn memory() -> Result<()> {
    let hog = "(head -c 40m /dev/zero | tail -c 30m | sleep 4) &";
    let o = simple(&format!("for i in 1 2 3 4; do {hog} done; wait; dmesg | grep -c 'Out of memory: Killed process'; echo alive"))?;
    let text = o.text();
    let killed: u32 = text.lines().next().and_then(|line| line.parse().ok()).unwrap_or(0);
    ensure!(killed > 0 && text.ends_with("alive\n"), "status {}: {text}", o.status);
    Ok(())
}

/// A program asks a native component to sign; RFC 4231 has the answer.
fn gateway() -> Result<()> {
    let guest = || Guest { system: "systems/gateway.toml", ..Guest::default() };
    let o = guest().run("sign 'what do ya want for nothing?'; for i in 1 2 3; do sign $i | wc -c; done")?;
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\n65\n65\n65\n";
    ensure!(o.status == 0 && o.text() == expected, "status {}: {}{}", o.status, o.text(), String::from_utf8_lossy(&o.err));
    let o = guest().run("head -c 300 /dev/zero > /dev/macadamia/signer")?;
    ensure!(o.err.ends_with(b"Message too long\n"), "too long: {}", String::from_utf8_lossy(&o.err));
    let o = guest().run("exec 3<> /dev/macadamia/signer; exec 4<> /dev/macadamia/signer")?;
    ensure!(o.err.ends_with(b"Device or resource busy\n"), "twice: {}", String::from_utf8_lossy(&o.err));
    Ok(())
}

/// Output apart and byte-exact, exit statuses, files in and out, what happens on failure.
fn batch() -> Result<()> {
    // Bytes that look like frames among others; a generator of which each run has the same.
    let random = (0..1 << 20).scan(1u32, |state, _| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    });
    let random: Vec<u8> = random.collect();
    let fetched = Path::new("out/linux-test.fetched");
    let inserts = vec![insert("/data/random", random.clone())];
    let gets = vec![Fetch { guest: "/tmp/copy".into(), host: fetched.into() }];
    let o = Guest { inserts, gets, ..Guest::default() }.run("cat /data/random; echo complaint >&2; cp /data/random /tmp/copy; exit 7")?;
    ensure!(o.out == random, "standard output is not what was written: {} bytes", o.out.len());
    ensure!(o.err == b"complaint\n", "standard error: {:?}", String::from_utf8_lossy(&o.err));
    ensure!(o.status == 7, "exit status {}", o.status);
    ensure!(std::fs::read(fetched).context("nothing was brought out")? == random, "the file that was brought out differs");
    std::fs::remove_file(fetched)?;

    let o = simple("printf '\\0\\4\\0\\0\\0\\0\\0' > /dev/stdout; echo > /dev/macadamia/batch || kill -9 $$")?;
    ensure!(o.status == 137 && o.out == [0, 4, 0, 0, 0, 0, 0], "a forged end: status {}, {:?}", o.status, o.out);
    let o = Guest { timeout: Duration::from_secs(5), ..Guest::default() }.run("sleep 1000")?;
    ensure!(o.status == 124, "out of time: status {}", o.status);
    let o = simple("echo c > /proc/sysrq-trigger")?;
    ensure!(o.status == 125, "a panic: status {}", o.status);
    ensure!(String::from_utf8_lossy(&o.err).contains("sysrq triggered crash"), "the log was not shown");
    Ok(())
}

/// The operations of `tests/linux/figures.c`, in the order of their intervals; the most instructions that
/// each may take in all, and the most times as many as on Linux alone.
const OPERATIONS: [(&str, u64, f64); 10] = [
    ("getpid by int 0x80", 330, 1.45),
    ("gettimeofday", 510, 1.65),
    ("read 4K", 2_400, 1.15),
    ("write 4K", 2_850, 1.15),
    ("pipe round trip", 2_150, 1.2),
    ("page fault", 3_700, 1.6),
    ("fork+exit+wait", 147_000, 1.35),
    ("vfork+exec+wait", 390_000, 1.1),
    ("ring of 2", 9_600, 1.3),
    ("ring of 8", 51_000, 1.25),
];

/// What the operations of [`OPERATIONS`] take on the Linux server.
pub fn figures_with(model: &build::Model) -> Result<model_core::Report> {
    let inserts = vec![insert("/bin/figures", compile("tests/linux/figures.c")?)];
    let o = Guest { inserts, model: Some(model), ..Guest::default() }.run("figures")?;
    ensure!(o.status == 0, "the program failed: {}{}", o.text(), String::from_utf8_lossy(&o.err));
    o.report.context("no report")
}

/// What they take on Linux alone.
pub fn native_figures(model: &build::Model) -> Result<model_core::Report> {
    let inserts = vec![insert("/bin/figures", compile("tests/linux/figures.c")?)];
    native("figures", inserts, Some(model), TIMEOUT)?.report.context("no report of Linux alone")
}

/// What operations of Linux cost in instructions: program, Linux server, microkernel; and on
/// Linux alone.
fn figures() -> Result<()> {
    let model = build::model()?;
    let reference = native_figures(&model)?;
    let report = figures_with(&model)?;
    println!("# operation              total   program    server    kernel  entries  CR3   Linux alone  ratio");
    let mut above = Vec::new();
    for (id, (name, most, most_ratio)) in (1..).zip(OPERATIONS) {
        let i = report.intervals.get(&id).with_context(|| format!("{name} was not measured"))?;
        let alone = reference.intervals.get(&id).with_context(|| format!("{name} was not measured on Linux alone"))?;
        let alone = alone.user_instructions.median + alone.kernel_instructions.median;
        let (user, server, kernel) = (i.user_instructions.median, i.server_instructions.median, i.kernel_instructions.median);
        let total = user + kernel;
        let ratio = total as f64 / alone as f64;
        println!(
            "# {name:20} {total:>9} {:>9} {server:>9} {kernel:>9} {:>8} {:>4} {alone:>13} {:>6.2}",
            user - server,
            i.kernel_entries.median,
            i.cr3_writes.median,
            ratio,
        );
        if total > most || ratio > most_ratio {
            above.push(format!("{name}: {total} instructions, ratio {ratio:.2}; at most {most} and {most_ratio} are allowed"));
        }
    }
    ensure!(above.is_empty(), "{}", above.join("; "));
    Ok(())
}

/// What a run on Linux alone left.
pub struct Reference {
    /// The command's output, on the console.
    pub out: String,
    /// What the machine model counted, if it was asked to.
    pub report: Option<model_core::Report>,
}

/// Runs a command on Linux of the same source and with the same root file system, on the machine itself.
pub fn native(command: &str, mut inserts: Vec<Insert>, model: Option<&build::Model>, timeout: Duration) -> Result<Reference> {
    let batch = Batch { command: command.into(), gets: Vec::new(), timeout: None };
    inserts.extend(batch.inserts());
    let kernel = linux::native()?;
    let initrd = linux::root_with(&inserts)?;
    let (console, report) = emulator::native(&kernel, &initrd, model, timeout)?;
    let (_, rest) = console.split_once("batch begins\n").with_context(|| format!("Linux alone did not run the command: {console}"))?;
    let (out, status) = rest.split_once("batch ends: ").with_context(|| format!("the command did not end: {console}"))?;
    ensure!(status.starts_with('0'), "on Linux alone the command failed: {out}{status}");
    Ok(Reference { out: out.into(), report })
}
