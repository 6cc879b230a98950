// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that run programs in Linux.

use super::alone::{Pins, abi_on, passed};
use super::latency;
use super::tally::{Test, test};
use crate::build;
use crate::guest::batch::Fetch;
use crate::guest::{Guest, Outcome, figures_with, insert, program};
use crate::machine::board;
use anyhow::{Context, Result, ensure};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.batch", batch),
    test("linux.abi", abi),
    test("linux.figures", figures),
    test("linux.random", random),
    test("linux.gateway", gateway),
    test("linux.mute", mute),
    test("linux.interrupts", interrupts),
    test("linux.memory", memory),
    test("linux.threads", threads),
    test("linux.bombs", bombs),
];

fn simple(command: &str) -> Result<Outcome> {
    Guest::default().run(command)
}

/// What programs expect of Linux, here as on Linux alone, on the processor that users have.
pub(super) fn abi() -> Result<()> {
    as_alone(&board::chosen().qemu.cpu, "abi")
}

/// The same by this command on a CPU model.
fn as_alone(cpu: &str, command: &str) -> Result<()> {
    let inserts = vec![program("abi")?];
    let pins = Pins::read()?;
    let o = Guest { cpu: Some(cpu), inserts, own_time: true, ..Guest::default() }.run(command)?;
    let here = o.text();
    ensure!(
        !here.contains("# no sse2\n"),
        "the usual processor has no SSE2, which programs of i686 use"
    );
    let (here, alone) = (passed(&here), pins.passes(&abi_on(cpu))?);
    ensure!(o.status == 0, "{} checks failed, {} passed:\n{}", o.status, here.len(), o.text());
    ensure!(here == *alone, "passes on one only: {:?}", here.symmetric_difference(alone));
    println!(
        "# {} checks of what programs expect of Linux, the same as pass on Linux alone",
        here.len()
    );
    Ok(())
}

/// Random numbers are there from the first program on, and are others in each run; measured runs
/// have the same.
fn random() -> Result<()> {
    let program = program("random")?;
    let run = |own_time, cpu| {
        let o = Guest { inserts: vec![program.clone()], own_time, cpu, ..Guest::default() }
            .succeed("random")?;
        anyhow::Ok(o.text())
    };
    let runs = [run(false, None)?, run(false, None)?, run(false, Some("max"))?, run(true, None)?];
    let mut different = runs.to_vec();
    different.sort();
    different.dedup();
    ensure!(different.len() == runs.len(), "two runs had the same random numbers: {runs:?}");
    ensure!(
        run(true, None)? == runs[3],
        "two runs in the machine's own time had other random numbers"
    );
    Ok(())
}

/// Interrupts reach a Linux that computes, and one that has just enabled them.
pub(super) fn interrupts() -> Result<()> {
    let o =
        Guest { system: "tests/systems/linux-selftest.toml", own_time: true, ..Guest::default() }
            .run("dmesg | grep selftest:")?;
    let text = o.text();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [ticks, latest, unmasked, soft] = numbers[..] else {
        anyhow::bail!("the self-test said: {text}")
    };
    println!(
        "# computing: {ticks} of 200 ticks, the latest by {latest} us; after unmasking: {unmasked} us; in a soft interrupt {soft} of 10"
    );
    ensure!(ticks >= 190 && latest < 2_000 && unmasked < 2_000 && soft >= 5, "{text}");
    Ok(())
}

/// Processes that want more memory than there is are killed, and Linux goes on.
pub(super) fn memory() -> Result<()> {
    // Each keeps what it has until the first was killed.
    let killed = "dmesg | grep -c 'Out of memory: Killed process'";
    let hog =
        "(head -c 30m /dev/zero | tail -c 30m | until [ -e /tmp/killed ]; do usleep 50000; done) &";
    // A Linux without memory looks for some again and again.
    let guest = Guest { timeout: Duration::from_secs(600), ..Guest::default() };
    let o = guest.run(&format!(
        "for i in 1 2 3 4; do {hog} done; until {killed} > /dev/null; do usleep 50000; done; touch /tmp/killed; wait; {killed}; echo alive"
    ))?;
    let text = o.text();
    let killed: u32 = text.lines().next().and_then(|line| line.parse().ok()).unwrap_or(0);
    ensure!(killed > 0 && text.ends_with("alive\n"), "{}", o.said());
    Ok(())
}

/// A Linux that has used up its threads makes no more processes and threads, and goes on.
fn threads() -> Result<()> {
    let inserts = vec![program("forks")?];
    let o = Guest { system: "tests/systems/linux-threads.toml", inserts, ..Guest::default() }.succeed(
        "forks && dmesg | grep -q 'l4: forks.*: no user thread: error 7, give this Linux more `quota` or `threads` (4088 at most)'",
    )?;
    println!(
        "# of 24 threads there were left for a program: {}",
        o.text().trim().replace('\n', ", ")
    );
    Ok(())
}

/// Users and root use up what there is; `linux.alone` does the same on Linux alone. A user's kernel
/// memory does not end the shell of `--batch`.
pub(super) fn bombs() -> Result<()> {
    let inserts = vec![program("bombs")?];
    let timeout = Duration::from_secs(300);
    let o = Guest { inserts, timeout, ..Guest::default() }.succeed("bombs && bombs filters")?;
    print!("{}", o.text());
    Ok(())
}

/// A program asks a native component to sign; RFC 4231 has the answer.
pub(super) fn gateway() -> Result<()> {
    let guest = || Guest { system: "systems/gateway.toml", ..Guest::default() };
    let o = guest()
        .run("sign 'what do ya want for nothing?'; for i in 1 2 3; do sign $i | wc -c; done")?;
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\n65\n65\n65\n";
    ensure!(o.status == 0 && o.text() == expected, "{}", o.said());
    let o = guest().run("head -c 300 /dev/zero > /dev/macadamia/signer")?;
    ensure!(
        o.err.ends_with(b"Message too long\n"),
        "too long: {}",
        String::from_utf8_lossy(&o.err)
    );
    let o = guest().run("exec 3<> /dev/macadamia/signer; exec 4<> /dev/macadamia/signer")?;
    ensure!(
        o.err.ends_with(b"Device or resource busy\n"),
        "twice: {}",
        String::from_utf8_lossy(&o.err)
    );
    Ok(())
}

/// Nobody waits for a component that does not answer, unless they want to: the channel closes, an
/// answer that comes later is dropped, and until then nobody else has the channel.
fn mute() -> Result<()> {
    let channel = "/dev/macadamia/mute";
    let busy = format!("(exec 4<> {channel}) 2> /dev/null || echo busy");
    let late = format!(
        "exec 3<> {channel}; printf late >&3; exec 3>&-; {busy}; until (exec 3<> {channel}) 2> /dev/null; do usleep 10000; done;          exec 3<> {channel}; printf now >&3; head -c 3 <&3; echo"
    );
    let never =
        format!("printf never >&3; cat <&3 & kill -9 $!; wait $!; echo $?; exec 3>&-; {busy}");
    let guest =
        Guest { system: "tests/systems/linux-mute.toml", own_time: true, ..Guest::default() };
    let o = guest.run(&format!("{late}; {never}"))?;
    ensure!(o.status == 0 && o.text() == "busy\nnow\n137\nbusy\n", "{}", o.said());
    Ok(())
}

/// Output apart and byte-exact, exit statuses, files in and out, what happens on failure.
pub(super) fn batch() -> Result<()> {
    // Bytes that look like frames among others; a generator of which each run has the same.
    let random = (0..1 << 20).scan(1u32, |state, _| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    });
    let random: Vec<u8> = random.collect();
    let fetched = &board::chosen().out().join("linux-test.fetched");
    let inserts = vec![insert("/data/random", random.clone())];
    let gets = vec![Fetch { guest: "/tmp/copy".into(), host: fetched.into() }];
    let o = Guest { inserts, gets, ..Guest::default() }
        .run("cat /data/random; echo complaint >&2; cp /data/random /tmp/copy; exit 7")?;
    ensure!(o.out == random, "standard output is not what was written: {} bytes", o.out.len());
    ensure!(o.err == b"complaint\n", "standard error: {:?}", String::from_utf8_lossy(&o.err));
    ensure!(o.status == 7, "exit status {}", o.status);
    ensure!(
        std::fs::read(fetched).context("nothing was brought out")? == random,
        "the file that was brought out differs"
    );
    std::fs::remove_file(fetched)?;

    let o = simple(
        "printf '\\0\\4\\0\\0\\0\\0\\0' > /dev/stdout; echo > /dev/macadamia/batch || kill -9 $$",
    )?;
    ensure!(
        o.status == 137 && o.out == [0, 4, 0, 0, 0, 0, 0],
        "a forged end: status {}, {:?}",
        o.status,
        o.out
    );
    let inserts = vec![program("forge")?];
    let o = Guest { inserts, ..Guest::default() }.run("forge; exit 7")?;
    let said = String::from_utf8_lossy(&o.err).into_owned();
    ensure!(
        o.status == 7 && o.out.is_empty() && said.contains("Device or resource busy"),
        "a taken descriptor: status {}, {said}",
        o.status
    );

    let gets = vec![Fetch { guest: "/tmp/copy".into(), host: fetched.into() }];
    let o = Guest { gets, ..Guest::default() }.run(
        "while :; do echo noise; touch /tmp/noisy; done & until [ -e /tmp/noisy ]; do :; done; head -c 100000 /dev/zero > /tmp/copy",
    )?;
    ensure!(o.status == 0 && o.text().starts_with("noise\n"), "{}", o.said());
    ensure!(
        std::fs::read(fetched)? == vec![0; 100_000],
        "what the command left running is in the file that was brought out"
    );
    std::fs::remove_file(fetched)?;
    let gets = vec![Fetch { guest: "/tmp/nothing".into(), host: fetched.into() }];
    let o = Guest { gets, ..Guest::default() }.run("true")?;
    ensure!(
        o.status == 125
            && o.err.starts_with(
                b"macadamia: --get: Linux cannot read its file /tmp/nothing: No such file"
            ),
        "no file: status {}",
        o.status
    );
    let o = simple(
        "for i in /proc/[0-9]*; do [ \"$(readlink $i/fd/9)\" != /dev/macadamia/batch ] || kill -9 ${i#/proc/}; done; exit 8",
    )?;
    ensure!(o.status == 8, "without the start script: status {}", o.status);

    let o = Guest { timeout: Duration::from_secs(5), ..Guest::default() }.run("sleep 1000")?;
    ensure!(o.status == 124, "out of time: status {}", o.status);
    let o = simple("echo c > /proc/sysrq-trigger")?;
    ensure!(o.status == 125, "a panic: status {}", o.status);
    ensure!(
        String::from_utf8_lossy(&o.err).contains("sysrq triggered crash"),
        "the log was not shown"
    );
    Ok(())
}

/// The operations of `tests/linux/figures.c`, in the order of their intervals; the most
/// instructions that each may take in all, and the most times as many as on Linux alone. Where a
/// process and the next one's program lie is random: of fork and exec single ones differ by some
/// hundredths, and the median by one when anything in the system changes. In a ring of two a woken
/// process runs at once, or when the other one waits: Linux's scheduler goes on as it began (7,758
/// or 8,103 instructions).
const OPERATIONS: [(&str, u64, f64); 16] = [
    ("getpid by int 0x80", 238, 1.13),
    ("gettimeofday by int 0x80", 405, 1.4),
    ("read 4K", 2_250, 1.07),
    ("write 4K", 2_700, 1.1),
    ("pipe round trip", 1_930, 1.08),
    ("page fault", 2_740, 1.18),
    ("fork+exit+wait", 124_000, 1.17),
    ("vfork+exec+wait", 318_000, 1.19),
    ("ring of 2", 8_200, 1.15),
    ("ring of 8", 44_500, 1.1),
    ("gettimeofday by the vDSO", 210, 1.1),
    ("signal and return", 4_050, 1.2),
    ("file mapped and touched", 70_000, 1.2),
    ("page fault, warm frame", 2_740, 1.18),
    ("getppid by the vDSO", 310, 1.37),
    ("read 4K by the vDSO", 2_340, 1.08),
];

/// What operations of Linux cost in instructions: program, Linux server, microkernel; and on
/// Linux alone.
fn figures() -> Result<()> {
    let pins = Pins::read()?;
    let report = figures_with(&build::model()?)?;
    println!(
        "# operation                  total   program    server    kernel  entries  CR3   Linux alone  ratio"
    );
    let mut above = Vec::new();
    for (id, (name, most, most_ratio)) in (1..).zip(OPERATIONS) {
        let i = report.intervals.get(&id).with_context(|| format!("{name} was not measured"))?;
        let alone = pins.takes(id)?;
        let (user, server, kernel) = (
            i.user_instructions.median,
            i.server_instructions.median,
            i.kernel_instructions.median,
        );
        let total = user + kernel;
        let ratio = total as f64 / alone as f64;
        println!(
            "# {name:24} {total:>9} {:>9} {server:>9} {kernel:>9} {:>8} {:>4} {alone:>13} {:>6.2}",
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
    latency::check("linux.figures", &report)
}
