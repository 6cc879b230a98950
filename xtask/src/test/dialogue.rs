// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that talk to a system: input and focus, the tutorial's output, the kernel debugger, the
//! kernel's messages at its end.

use super::tally::{ONE_MORE_COMPILER, Test, on_clipper, on_malta, on_pc64, slow, test};
use crate::build::{self, Built, Options};
use crate::description::Interface;
use crate::emulator;
use crate::guest::program;
use crate::linux::server::expected;
use crate::process::patience::stretched;
use crate::process::session::{BREAK, PROMPT, Session};
use anyhow::{Result, bail, ensure};
use std::path::Path;
use std::time::{Duration, Instant};

/// All of them.
pub const ALL: &[Test] = &[
    test("dialogue.boot", boot_checks),
    test("dialogue.focus", focus),
    test("pc64.dialogue.focus", || on_pc64(focus)),
    test("malta.dialogue.focus", || on_malta(focus)),
    slow("clipper.dialogue.focus", ONE_MORE_COMPILER, || on_clipper(focus)),
    test("dialogue.tutorial", tutorial).reading(&["docs/tutorial.md"]),
    test("dialogue.clock", wrong_clock),
    test("dialogue.kdb", debugger),
    test("pc64.kdb", || on_pc64(debugger)),
    test("dialogue.panic", last_words),
    test("linux.shell", shell),
    test("linux.paste", paste),
    test("linux.reboot", reboot),
    test("linux.two", two),
    test("linux.two.rhythm", rhythm),
    test("linux.attack", attack),
];

fn built(system: &str, kdb: bool) -> Result<Built> {
    build::plan(
        &Path::new("systems").join(system).with_extension("toml"),
        Options { kdb, ..Options::default() },
    )?
    .carry_out()
}

/// A machine that lacks what the kernel or a component needs is told so.
fn boot_checks() -> Result<()> {
    let hello = built("hello", false)?;
    let threads =
        build::plan(Path::new("tests/systems/threads.toml"), Options::default())?.carry_out()?;
    for (change, sentence) in [
        (
            Built { cpu: "486".into(), ..hello.clone() },
            "this processor lacks what the kernel needs: time-stamp counter (TSC)",
        ),
        (Built { memory: 4, ..hello.clone() }, "too little memory: no free 8 MiB for the kernel"),
        (
            Built { memory: 64, ..threads },
            "cannot make `hello`: it is to have 256 KiB of kernel memory and 1500 threads, but",
        ),
    ] {
        let mut session = emulator::session(&change)?;
        session.expect(sentence)?;
        session.end()?;
    }
    Ok(())
}

/// Two components read; each gets what was typed while it had the focus. What was typed before
/// anybody could read it is the first one's. What they print is text, whatever is in it; the
/// console itself does not read.
pub(super) fn focus() -> Result<()> {
    let mut session = emulator::session(&built("echo", false)?)?;
    session.send(b"typed before there is a console\r")?;
    session.expect_all(&["[first] typed before there is a console", "[second] > "])?;
    session.send(b"\x142one\r")?;
    session.expect("[first] one")?;
    session.send(b"\x143two\x1b[2J\x7f\r")?;
    session.expect("[second] two^[[2J\\u{7f}\n")?;
    session.send(b"\x141")?;
    session.expect("Ctrl-T and the number of a component that may read")?;
    session.send(b"\x14nthree\r")?;
    session.expect("[first] three")?;
    session.send(b"\r\x143\r")?;
    session.end()
}

/// The tutorial's page promises this output.
fn tutorial() -> Result<()> {
    let page = std::fs::read_to_string("docs/tutorial.md")?;
    // What the client says depends on how soon it calls again.
    let mut session = emulator::session_in_own_time(&built("tutorial", false)?)?;
    let promised = page
        .lines()
        .skip_while(|line| *line != "$ ./macadamia run tutorial")
        .skip(1)
        .take_while(|line| *line != "```");
    let promised: Vec<&str> = promised.collect();
    ensure!(promised.len() > 5, "the tutorial shows no output");
    for line in promised {
        session.expect(line)?;
    }
    session.end()
}

/// The clock server says so if time does not pass as the real-time clock has it: here nobody works
/// and time is the machine's own, which goes from one alarm to the next at once.
fn wrong_clock() -> Result<()> {
    let clock = build::system(Path::new("tests/systems/clock-alone.toml"))?;
    let mut session =
        emulator::session_with(&clock, &["-icount", "shift=0,sleep=off", "-rtc", "clock=host"])?;
    session.expect("[clock] time is wrong: ")?;
    session.expect(" s by the kernel's counter, ")?;
    session.expect(" s by the real-time clock")
}

/// A break stops the machine; threads, spaces, queues and the last entries can be looked at; it
/// goes on.
pub(super) fn debugger() -> Result<()> {
    debugger_with("counts nothing")
}

/// The same on a processor whose port has counted what is said so.
pub(super) fn debugger_with(counted: &str) -> Result<()> {
    let mut session = emulator::session(&built("echo", true)?)?;
    session.expect("[second] > ")?;
    session.send(BREAK)?;
    session.expect("kdb> ")?;
    for (command, expected) in [
        ("t\r", "reply"),
        ("s\r", "capabilities"),
        ("s\r", "quota"),
        ("q\r", "top "),
        ("r\r", "vector"),
        ("n\r", counted),
        ("h\r", "ready queues"),
    ] {
        session.send(command.as_bytes())?;
        session.expect(expected)?;
        session.expect("kdb> ")?;
    }
    session.send(b"g\r")?;
    session.send(b"\x142still here\r")?;
    session.expect("[first] still here")
}

/// A kernel panic names cause and thread and shows the way to it by symbols.
fn last_words() -> Result<()> {
    let mut session = emulator::session(&built("echo", true)?)?;
    session.expect("[second] > ")?;
    session.send(BREAK)?;
    session.expect("kdb> ")?;
    session.send(b"k\r")?;
    session.expect("KERNEL PANIC: panicked at kernel/arch/common/src/kdb.rs")?;
    session.expect("asked for in the debugger")?;
    session.expect("thread: 0x")?;
    session.expect("backtrace:")?;
    session.expect("arch_ia32::trap::interrupt+")?;
    session.end()
}

/// Types a command at Linux's prompt; what it prints must contain `expected`.
fn command(session: &mut Session, command: &str, expected: &str) -> Result<()> {
    session.send(command.as_bytes())?;
    session.send(b"\r")?;
    session.expect(command)?;
    session.expect(expected)?;
    session.expect(PROMPT)
}

/// Linux boots to a shell in time; processes, job control, Ctrl-C, time and `poweroff` work.
fn shell() -> Result<()> {
    let linux = built("linux", false)?;
    let mut session = emulator::session(&linux)?;
    session.expect(PROMPT)?;
    let boot = session.own_time();
    ensure!(
        boot < stretched(Duration::from_secs(5)),
        "Linux took {} ms to its prompt",
        boot.as_millis()
    );
    command(&mut session, "echo $((6 * 7))", "42")?;
    command(&mut session, "uname -sm", "Linux i686")?;
    command(&mut session, "ps", "init")?;
    command(&mut session, "seq 1000 | sort -n | tail -n 1", "1000")?;

    // The shell gives the terminal back before it runs the first command of a line.
    session.send(b"echo re'a'dy; cat\r")?;
    session.expect("ready")?;
    session.send(b"over and over\r")?;
    session.expect("over and over\nover and over")?;
    session.send(b"\x03")?;
    session.expect(PROMPT)?;
    session.send(b"echo re'a'dy; while true; do true; done\r")?;
    session.expect("ready")?;
    session.send(b"\x03")?;
    session.expect(PROMPT)?;

    session.send(b"echo re'a'dy; cat\r")?;
    session.expect("ready")?;
    session.send(b"once\r")?;
    session.expect("once\nonce")?;
    session.send(b"\x1a")?;
    session.expect("Stopped")?;
    session.expect(PROMPT)?;
    command(&mut session, "jobs", "Stopped")?;
    session.send(b"fg\r")?;
    session.expect("fg\ncat")?;
    session.send(b"again\r")?;
    session.expect("again\nagain")?;
    session.send(b"\x04")?;
    session.expect(PROMPT)?;
    command(&mut session, "sh -c 'sleep 100 & kill $!; wait $!; echo status $?'", "status 143")?;

    session.send(b"top\r")?;
    session.expect("Load average")?;
    session.expect("init")?;
    session.send(b"q")?;
    session.expect(PROMPT)?;

    let (wall, start, busy) = (Instant::now(), session.own_time(), session.processor_time()?);
    command(&mut session, "sleep 5", "")?;
    let (wall, slept) = (wall.elapsed(), session.own_time() - start);
    let busy = session.processor_time()? - busy;
    ensure!(
        busy < Duration::from_secs(1),
        "an idle Linux kept the processor busy for {} ms of 5 s",
        busy.as_millis()
    );
    // By the host's clock, which a busy host makes longer: then without what it gave to others.
    let (wall, slept) = (wall.as_millis(), slept.as_millis());
    ensure!(
        wall >= 4_900 && slept < 7_000,
        "`sleep 5` took {wall} ms, {slept} ms of the emulator's own"
    );

    session.send(b"poweroff\r")?;
    session.expect("Power down")?;
    session.end()
}

/// What comes faster than it is read, all at once, arrives whole; so does what comes before there
/// is a console, and is more than all buffers on its way hold.
fn paste() -> Result<()> {
    let mut session = emulator::session(&built("linux", false)?)?;
    let lines: Vec<String> = (1..=2000).map(|number| format!("line {number}\n")).collect();
    session.send(b"stty -echo; cat > /tmp/pasted\n")?;
    session.send(lines.concat().as_bytes())?;
    session.send(b"\x04stty echo; echo re'a'dy\n")?;
    session.expect("ready\n")?;
    session.expect(PROMPT)?;
    command(
        &mut session,
        "seq 2000 | sed 's/^/line /' | cmp - /tmp/pasted && echo wh'o'le",
        "\nwhole",
    )?;

    // Of an empty line the echo is longer than what was typed.
    session.send(b"echo re'a'dy; cat > /tmp/pasted\r")?;
    session.expect("ready")?;
    session.send(format!("{}end\r", "\r".repeat(3000)).as_bytes())?;
    session.expect("end\n")?;
    session.send(b"\x04")?;
    session.expect(PROMPT)?;
    command(&mut session, "wc -l < /tmp/pasted", "3001")?;
    session.send(b"poweroff\r")?;
    session.end()
}

/// `reboot` starts Linux again, and so does the root server after a panic.
pub(super) fn reboot() -> Result<()> {
    let mut session = emulator::session(&built("linux", false)?)?;
    session.expect(PROMPT)?;
    session.send(b"touch /tmp/here; reboot\r")?;
    session.expect("Restarting system")?;
    session.expect("Linux version")?;
    session.expect(PROMPT)?;
    command(&mut session, "ls /tmp/here", "No such file")?;
    session.send(b"echo c > /proc/sysrq-trigger\r")?;
    session.expect("Kernel panic - not syncing: sysrq triggered crash")?;
    session.expect("Linux version")?;
    session.expect(PROMPT)?;
    session.send(b"poweroff -f\r")?;
    session.end()
}

/// Linux servers that were taken over: each attempt ends that Linux or is refused, and the IPC of
/// others goes on without a mistake.
pub(super) fn attack() -> Result<()> {
    attack_with(true)
}

/// The same; where nothing keeps Linux off the kernel it can read there.
pub(super) fn attack_with(limits: bool) -> Result<()> {
    let mut session =
        emulator::session(&build::system(Path::new("tests/systems/linux-attack.toml"))?)?;
    session.patience = Duration::from_secs(60);
    let mut attacked = Attacked::new(limits)?;
    while !attacked.is_done() {
        attacked.hear(&session.line()?)?;
    }
    session.end()
}

/// What the console is to say of Linux servers that were taken over, and of others.
pub(super) struct Attacked(Vec<&'static str>);

impl Attacked {
    /// Whether reading the kernel's memory is an attack that fails.
    pub(super) fn new(limits: bool) -> Result<Self> {
        let memory = if limits { "`memory` died: " } else { "`memory` ended with code 8" };
        let [ports, interrupts] = expected()?.attacks;
        Ok(Self(vec![
            memory,
            ports,
            interrupts,
            "`registers` ended with code 7",
            "`calls` ended with code 7",
            "within a space: ",
            "across spaces: ",
        ]))
    }

    /// A line of the console: no other attack must succeed, and nobody else notice.
    pub(super) fn hear(&mut self, line: &str) -> Result<()> {
        let before = self.0.len();
        self.0.retain(|text| !line.contains(text));
        ensure!(
            self.0.len() < before || !line.contains("ended with code 8"),
            "an attack succeeded: {line}"
        );
        ensure!(
            !line.contains(" wrong") || line.contains(" 0 wrong"),
            "somebody else noticed: {line}"
        );
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.is_empty()
    }
}

/// Two Linux servers: one's panic is no concern of the other, nor of its disk, and it comes back.
pub(super) fn two() -> Result<()> {
    drop(two_with(Interface::Ata)?);
    two_beside(Interface::Virtio)
}

/// The same, with disks of this interface.
pub(super) fn two_beside(interface: Interface) -> Result<()> {
    let mut session = two_with(interface)?;
    // One counts and writes while two panics and starts again.
    command(
        &mut session,
        "dd if=/dev/urandom of=/mnt/0 bs=64k count=4 && sync",
        "4+0 records out",
    )?;
    session.send(b"i=0; while [ $i -lt 40 ]; do usleep 100000; i=$((i+1)); cat /mnt/0 > /mnt/$i; sync; done; echo steady $i; uptime\r")?;
    session.expect("uptime\n")?;
    panic_of_two(&mut session)?;
    command(&mut session, "cat /mnt/name", "\ntwo")?;
    session.send(b"\x143")?;
    session.expect("steady 40")?;
    session.expect(PROMPT)?;
    command(&mut session, "hostname", "\nlinux-one")?;
    command(&mut session, "umount /mnt && mount /dev/l4a /mnt", "")?;
    command(&mut session, "md5sum /mnt/[0-9]* | cut -c 1-32 | uniq -c", " 41 ")?;
    command(&mut session, "cat /mnt/name", "\none")?;
    session.send(b"poweroff -f\r")?;
    session.expect("Power down")?;
    session.send(b"\x144poweroff -f\r")?;
    session.end()
}

/// Lets two panic; ends at its next life's prompt.
fn panic_of_two(session: &mut Session) -> Result<()> {
    session.focus(4, "two")?;
    session.send(b"\recho c > /proc/sysrq-trigger\r")?;
    session.expect("sysrq triggered crash")?;
    session.expect("`two` ended with code 125")?;
    session.expect("Linux version")?;
    session.expect(PROMPT)?;
    command(session, "hostname", "\nmacadamia")
}

/// How much longer than 10 ms a pause may be, in microseconds: the other Linux and its programs
/// take time slices.
const LATEST: u64 = 100_000;

/// One Linux keeps a rhythm while the other panics and starts again, in the machine's own time.
fn rhythm() -> Result<()> {
    let inserts = [program("pauses")?];
    let options = Options { inserts: &inserts, folder: Some("linux-rhythm"), ..Options::default() };
    let built = build::plan(Path::new("systems/two-linuxes.toml"), options)?
        .carry_out()?
        .with_new_disks("linux-rhythm")?;
    let mut session = emulator::session_in_own_time(&built)?;
    session.expect(PROMPT)?;
    session.shell(3, "one")?;
    command(&mut session, "pauses /tmp/stop > /tmp/pauses &", "\n")?;
    panic_of_two(&mut session)?;
    session.focus(3, "one")?;
    session.send(b"touch /tmp/stop; wait; cat /tmp/pauses\r")?;
    session.expect("pauses: ")?;
    let line = session.line()?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [pauses, latest] = numbers[..] else { bail!("the program said: {line}") };
    println!("# {pauses} pauses of 10 ms, the longest {latest} us too long");
    ensure!(pauses >= 10 && latest <= LATEST, "of {pauses} pauses one was {latest} us too long");
    Ok(())
}

/// Starts two Linux servers with new disks and lets each write its name on its own, as its host's
/// name, too.
fn two_with(interface: Interface) -> Result<Session> {
    let options = Options { interface: Some(interface), ..Options::default() };
    let built = build::plan(Path::new("systems/two-linuxes.toml"), options)?
        .carry_out()?
        .with_new_disks("two-linuxes-test")?;
    let mut session = emulator::session(&built)?;
    session.expect(PROMPT)?;
    for (number, name) in [(4, "two"), (3, "one")] {
        session.shell(number, name)?;
        command(
            &mut session,
            &format!("hostname linux-{name}; hostname"),
            &format!("\nlinux-{name}"),
        )?;
        command(
            &mut session,
            &format!("ls /mnt; echo {name} > /mnt/name; sync"),
            "\nlost+found\n",
        )?;
    }
    Ok(session)
}
