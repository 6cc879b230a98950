// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian on Macadamia: work that checks itself, and verified file operations.

use super::tally::{Test, slow};
use super::{disk, spaces};
use crate::build::{self, Built};
use crate::emulator;
use crate::guest::batch::{FAILED, Fetch, TIMED_OUT};
use crate::guest::{Guest, Outcome, compile, insert};
use crate::linux::server::debian_expected;
use crate::machine::Emulator;
use crate::process::session::Session;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// All of them.
pub const ALL: &[Test] = &[
    slow("linux.debian", "it installs Debian", debian),
    slow("linux.debian.build", "it builds the full Linux, which `linux.debian` runs", systems),
    slow("linux.debian.batch", "it installs Debian", batch),
    slow("linux.debian.bochs", "it installs Debian", on_bochs),
    slow("linux.debian.bombs", "it installs Debian", bombs),
    slow("linux.debian.full", "it installs Debian", full),
    slow("linux.project", "it installs Debian", project),
    slow("linux.stress", "it installs Debian", stress),
];

const SYSTEM: &str = "tests/systems/linux-debian.toml";

/// What users run with Debian can be built.
fn systems() -> Result<()> {
    for system in ["systems/debian.toml", "systems/desktop.toml"] {
        build::system(Path::new(system))?;
    }
    Ok(())
}

/// Its disk's image.
fn image() -> PathBuf {
    disk::image_of("linux-debian")
}

/// The prompt of root's shell.
const PROMPT: &str = "root@macadamia:~# ";

/// A new Debian disk, and what runs it.
fn debian_system() -> Result<Built> {
    disk::forget(image())?;
    build::system(Path::new(SYSTEM))
}

/// A Debian in which root is logged in on the console.
struct Debian(Session);

impl Debian {
    fn start(built: &Built) -> Result<Self> {
        let mut session = emulator::session(built)?;
        session.patience = Duration::from_secs(120);
        session.expect("macadamia login: ")?;
        session.send(b"root\r")?;
        session.expect(PROMPT)?;
        // A terminal so wide that what is typed is not broken into lines.
        session.send(b"bind 'set enable-bracketed-paste off'; stty columns 1000\r")?;
        session.expect(PROMPT)?;
        Ok(Self(session))
    }

    /// Types a command; returns its exit status and what it printed.
    fn run(&mut self, command: &str) -> Result<(u8, String)> {
        self.0.send(format!("{command}; echo \"exit status\" $?\r").as_bytes())?;
        self.0.expect("$?\n")?;
        let printed = self.0.until("exit status ")?;
        let status = self.0.until("\n")?;
        self.0.expect(PROMPT)?;
        Ok((status.parse().with_context(|| format!("`{command}` ended with {status}"))?, printed))
    }

    /// Types a command that must succeed; returns what it printed.
    fn succeed(&mut self, command: &str) -> Result<String> {
        let (status, printed) = self.run(command)?;
        ensure!(status == 0, "`{command}` ended with status {status}:\n{printed}");
        Ok(printed)
    }

    /// Types a command that must succeed and print just this.
    fn prints(&mut self, command: &str, expected: &str) -> Result<()> {
        let printed = self.succeed(command)?;
        ensure!(printed.trim() == expected, "`{command}` printed {printed:?}, not {expected:?}");
        Ok(())
    }

    /// Checks that Linux found no fault.
    fn quiet(&mut self) -> Result<()> {
        let complaints = self.succeed("dmesg --level=emerg,alert,crit,err")?;
        ensure!(complaints.trim().is_empty(), "Linux says: {complaints}");
        Ok(())
    }

    fn power_off(mut self) -> Result<()> {
        self.0.send(b"poweroff\r")?;
        self.0.expect("Power down")?;
        self.0.end()
    }
}

/// Debian with systemd: everything starts, a C program is compiled, traced and debugged; one logs
/// in on the console and by ssh; what was written is there after a restart.
pub(super) fn debian() -> Result<()> {
    let built = debian_system()?;
    let mut debian = Debian::start(&built)?;
    debian.prints("systemctl is-system-running --wait", "running")?;
    debian.succeed("printf '#include <stdio.h>\\nint main(void) { return printf(\"six times seven: %%d\\\\n\", 42) < 0; }\\n' > a.c")?;
    debian.prints("gcc -g -o a a.c && ./a", "six times seven: 42")?;
    debian.prints("strace ./a 2>&1 | grep -c execve", "1")?;
    let traced =
        debian.succeed("gdb -batch -ex 'break main' -ex run -ex 'info line' -ex continue ./a")?;
    ensure!(traced.contains("exited normally"), "gdb said: {traced}");
    if debian_expected()?.has_breakpoints {
        by_hardware(&mut debian)?;
    }
    debian.prints(
        "python3 -c 'import sys, struct; print(sys.byteorder, struct.calcsize(\"P\"), sum(i * i for i in range(1000)))'",
        &format!("little {} 332833500", debian_expected()?.pointer),
    )?;
    tells_of_itself(&mut debian)?;
    debian.prints("df --output=avail -B 1M / | tail -n 1 | awk '{ print ($1 > 1024) ? \"roomy\" : \"full\" }'", "roomy")?;
    by_ssh(&mut debian)?;
    on_console(&mut debian)?;
    debian.quiet()?;
    debian.power_off()?;
    let mut debian = Debian::start(&built)?;
    debian.prints("./a; systemctl --failed --no-legend | wc -l", "six times seven: 42\n0")?;
    debian.power_off()
}

/// gdb stops a program by the processor's breakpoints: where it writes a variable, and where it
/// gets to.
fn by_hardware(debian: &mut Debian) -> Result<()> {
    debian.succeed(
        "printf 'int watched = 1;\\nint main(void)\\n{\\n\\twatched = 42;\\n\\treturn watched - 42;\\n}\\n' > w.c && gcc -g -o w w.c",
    )?;
    let mut says = |commands: &str, expected: &[&str]| -> Result<()> {
        let said = debian.succeed(&format!("gdb -batch {commands} ./w"))?;
        let mut rest = said.as_str();
        for text in expected {
            (_, rest) = rest
                .split_once(text)
                .with_context(|| format!("`{text}` is missing, or too early: {said}"))?;
        }
        Ok(())
    };
    says(
        "-ex start -ex 'watch watched' -ex continue -ex continue",
        &[
            "Hardware watchpoint 2: watched",
            "Old value = 1\nNew value = 42\n",
            "w.c:5",
            "exited normally",
        ],
    )?;
    says(
        "-ex start -ex 'hbreak w.c:5' -ex continue -ex 'print watched' -ex continue",
        &[
            "Hardware assisted breakpoint 2 at",
            "Breakpoint 2, main () at w.c:5",
            "$1 = 42\n",
            "exited normally",
        ],
    )
}

/// What people ask a system first: each answers with what is so, and has nothing to complain of.
fn tells_of_itself(debian: &mut Debian) -> Result<()> {
    let mut says = |command: &str, patterns: &[&str]| -> Result<()> {
        let said = debian.succeed(&format!(
            "{command} 2> complaints > answer; echo status $?; cat complaints; echo; cat answer"
        ))?;
        let answer =
            said.strip_prefix("status 0\n\n").with_context(|| format!("`{command}`: {said}"))?;
        for pattern in patterns {
            debian
                .succeed(&format!("grep -Eq '{pattern}' answer"))
                .with_context(|| format!("`{command}` says: {answer}"))?;
        }
        Ok(())
    };
    says(
        "ps aux",
        &[
            "^USER +PID ",
            "^root +1 .* /sbin/init",
            "/lib/systemd/systemd-journald$",
            "^root .* ps aux$",
        ],
    )?;
    let [memory, architecture, flags] = debian_expected()?.shown;
    let mem = format!("^MiB Mem : +{memory}\\.[0-9] total");
    says("top -b -n1", &["^Tasks: +[1-9][0-9]* total, +[1-9]", &mem, "^ +1 root .* systemd$"])?;
    says("vmstat", &["^ r +b +swpd", "^( +[0-9]+){17}$"])?;
    let (architecture, flags) =
        (format!("^Architecture: +{architecture}$"), format!("^Flags: .* {flags}"));
    says("lscpu", &[&architecture, "^CPU\\(s\\): +1$", "^Model name: +[A-Z].*[a-z]", &flags])?;
    debian.prints("diff <(sed -n 's/^model name.*: //p' /proc/cpuinfo) <(sed -n 's/^Model name: *//p' answer)", "")
}

/// A key opens a shell over the loopback, another key does not.
fn by_ssh(debian: &mut Debian) -> Result<()> {
    const SSH: &str =
        "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes";
    debian
        .succeed("for key in good bad; do ssh-keygen -q -t ed25519 -N '' -f $key || break; done")?;
    debian.succeed("mkdir -p .ssh && chmod 700 .ssh && cp good.pub .ssh/authorized_keys")?;
    let answer = debian.succeed(&format!(
        "{SSH} -i good root@localhost 'id -un; echo $SSH_CONNECTION; cat; exit 0' < a.c"
    ))?;
    ensure!(
        answer.contains("root\n127.0.0.1 ") && answer.contains("six times seven: %d"),
        "by ssh: {answer}"
    );
    let (status, _) = debian.run(&format!("{SSH} -i good root@localhost 'exit 7'"))?;
    ensure!(status == 7, "by ssh: status {status} instead of 7");
    let terminal = debian.succeed(&format!("{SSH} -tt -i good root@localhost tty 2> /dev/null"))?;
    ensure!(terminal.contains("/dev/pts/"), "by ssh with a terminal: {terminal}");
    let (status, answer) = debian.run(&format!("{SSH} -i bad root@localhost true"))?;
    ensure!(
        status == 255 && answer.contains("Permission denied"),
        "a key that nobody allowed: status {status}, {answer}"
    );
    Ok(())
}

/// A user logs in on the console with a password, and not with another.
fn on_console(debian: &mut Debian) -> Result<()> {
    debian.succeed("useradd -m -s /bin/bash guest && echo guest:macadamia | chpasswd")?;
    let session = &mut debian.0;
    session.send(b"exit\r")?;
    for (password, answer) in
        [("pistachio", "Login incorrect"), ("macadamia", "guest@macadamia:~$ ")]
    {
        session.expect("macadamia login: ")?;
        session.send(b"guest\r")?;
        session.expect("Password: ")?;
        session.send(format!("{password}\r").as_bytes())?;
        session.expect(answer)?;
    }
    session.send(b"id -un; cat /etc/shadow\r")?;
    session.expect("guest\ncat: /etc/shadow: Permission denied\n")?;
    session.send(b"exit\r")?;
    session.expect("macadamia login: ")?;
    session.send(b"root\r")?;
    session.expect(PROMPT)?;
    session.send(b"bind 'set enable-bracketed-paste off'; stty columns 1000\r")?;
    session.expect(PROMPT)
}

/// The file system was unmounted, and has no fault.
fn clean_disk() -> Result<()> {
    let header = disk::superblock(image())?;
    ensure!(
        header.contains("Filesystem state:         clean\n") && !header.contains("needs_recovery"),
        "it was not unmounted: {header}"
    );
    disk::check(image())
}

/// One command in Debian.
fn guest() -> Guest<'static> {
    Guest { system: SYSTEM, timeout: Duration::from_secs(300), ..Guest::default() }
}

fn failed(what: &str, o: &Outcome) -> String {
    format!("{what}: {}", o.said())
}

/// A service that says on the disk how it was ended.
const WITNESS: &str = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecStop=/bin/sh -c 'echo in order > /root/ended'\n";

/// A command in the running Debian: output, exit status, files in and out; then services end in
/// order, and the disk is clean, whatever the command left running or did to what runs it.
pub(super) fn batch() -> Result<()> {
    disk::forget(image())?;
    let random = insert(
        "/opt/random",
        (0..1 << 18).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect(),
    );
    let fetched = image().with_file_name("fetched");
    let gets = || vec![Fetch { guest: "/root/copy".into(), host: fetched.clone() }];
    let inserts = vec![
        random.clone(),
        insert("/etc/systemd/system/witness.service", WITNESS.into()),
        insert(
            "/etc/systemd/system/multi-user.target.d/witness.conf",
            "[Unit]\nWants=witness.service\n".into(),
        ),
    ];
    let left = "(trap '' TERM; while :; do echo noise; echo >> /root/busy; done) & until [ -s /root/busy ]; do :; done";
    let command = format!(
        "systemctl is-system-running --wait; {left}; cat /opt/random > /root/copy; echo complaint >&2; exit 7"
    );
    let o = Guest { inserts, gets: gets(), ..guest() }.run(&command)?;
    ensure!(
        o.status == 7 && o.text().starts_with("running\n") && o.text().ends_with("noise\n"),
        "{}",
        failed("the first command", &o)
    );
    ensure!(o.err == b"complaint\n", "standard error: {}", String::from_utf8_lossy(&o.err));
    ensure!(std::fs::read(&fetched)? == random.contents, "the file that was brought out differs");
    std::fs::remove_file(&fetched)?;
    clean_disk()?;

    // What was there stays, but for the command; who takes the descriptor can do nothing with it.
    let inserts = vec![insert("/usr/local/bin/forge", compile("tests/linux/forge.c")?)];
    let command = "cmp /opt/random /root/copy && cat /root/ended; PATH=$PATH:/usr/local/bin; forge; wc -l < /run/batch/command";
    let o = Guest { inserts, ..guest() }.run(command)?;
    let said = String::from_utf8_lossy(&o.err).into_owned();
    ensure!(
        o.text() == "in order\n1\n"
            && said.contains("forge: Device or resource busy")
            && o.status == 0,
        "{}",
        failed("the second", &o)
    );
    clean_disk()?;

    let o = Guest { gets: gets(), ..guest() }
        .run("rm /root/ended; systemctl kill -s KILL batch.service; exit 8")?;
    ensure!(o.status == 8, "{}", failed("without what runs it", &o));
    ensure!(
        std::fs::read(&fetched)? == random.contents,
        "the file that was brought out after a kill differs"
    );
    std::fs::remove_file(&fetched)?;
    clean_disk()?;
    let o = Guest { gets: gets(), ..guest() }.run("cat /root/ended; rm /root/copy")?;
    ensure!(
        o.status == FAILED && o.text() == "in order\n",
        "{}",
        failed("no file to bring out", &o)
    );

    let o = Guest { inserts: vec![insert("/var/lock/x", vec![])], ..guest() }.run("true")?;
    let said = String::from_utf8_lossy(&o.err).into_owned();
    ensure!(
        o.status == FAILED && said.contains("--file /var/lock/x: one of its folders is a link"),
        "{}",
        failed("out of the disk", &o)
    );

    in_emergency()?;

    let o = Guest { timeout: Duration::from_secs(5), ..guest() }.run("true")?;
    ensure!(o.status == TIMED_OUT, "{}", failed("out of time", &o));
    // Not unmounted this time: the journal is for that.
    let o = guest().run("cat /root/ended")?;
    ensure!(o.status == 0 && o.text() == "in order\n", "{}", failed("after that", &o));
    clean_disk()
}

/// A file system that cannot be mounted: the run ends, says why, and its advice helps.
fn in_emergency() -> Result<()> {
    let root = "/dev/l4a / ext4 errors=remount-ro 0 1\n";
    let with =
        |fstab: String| Guest { inserts: vec![insert("/etc/fstab", fstab.into())], ..guest() };
    let o = with(format!("{root}nothing /srv nosuchfs defaults 0 0\n")).run("echo never")?;
    let said = String::from_utf8_lossy(&o.err).into_owned();
    for text in [
        "so COMMAND was not run. What failed:\n",
        "srv.mount loaded failed failed /srv\n",
        "--file puts a file in the place",
    ] {
        ensure!(said.contains(text), "`{text}` is missing: {}", failed("in emergency mode", &o));
    }
    ensure!(o.status == FAILED && o.text().is_empty(), "{}", failed("in emergency mode", &o));
    clean_disk()?;
    let o = with(root.into()).run("echo mended")?;
    ensure!(o.status == 0 && o.text() == "mended\n", "{}", failed("after emergency mode", &o));
    clean_disk()
}

/// What programs of Debian, which are glibc's, answer, with what they complain of.
const ANSWERS: [(&str, &str); 10] = [
    ("systemctl is-system-running --wait || systemctl --failed --no-legend", "running"),
    ("systemctl is-active dbus ssh systemd-journald systemd-udevd | uniq -c", "      4 active"),
    ("getconf GNU_LIBC_VERSION", "glibc 2.36"),
    ("dpkg -l systemd libc6 gdb | grep -c ^ii", "3"),
    ("perl -e 'print join(\" \", map { $_ * $_ } 1 .. 5), \"\\n\"'", "1 4 9 16 25"),
    (
        "seq 20000 | sort -rn | tac | paste -sd+ | tr + '\\n' | awk '{ sum += $1 } END { print sum }'",
        "200010000",
    ),
    (
        "printf '#include <stdio.h>\\nint main(void) { return printf(\"six times seven: %%d\\\\n\", 42) < 0; }\\n' > /root/a.c && \
         gcc -o /root/a /root/a.c && /root/a && strace /root/a 2>&1 | grep -c ^execve",
        "six times seven: 42\n1",
    ),
    // Python, a thread of it and its variables.
    (
        "gdb -batch -ex 'python import threading; t = threading.Thread(target=print, args=(6 * 7,)); t.start(); t.join()'",
        "42",
    ),
    ("sh -c 'kill -SEGV $$'; echo $?", "Segmentation fault\n139"),
    ("dmesg --level=emerg,alert,crit,err", ""),
];

/// Between two answers.
const NEXT: &str = "-- next\n";

/// Debian at ring 1, in the emulator that checks segment limits: systemd starts everything,
/// programs answer, services end, the machine switches itself off.
fn on_bochs() -> Result<()> {
    disk::forget(image())?;
    let command: String = ANSWERS
        .iter()
        .map(|(command, _)| {
            format!("{{ {command}; }} 2>&1 || echo status $?; echo {}; ", NEXT.trim())
        })
        .collect();
    let o = Guest { on: Emulator::Bochs, timeout: Duration::from_secs(600), ..guest() }
        .succeed(&command)
        .context("Debian in Bochs")?;
    let log = spaces::at_ring_1()?;
    let text = o.text();
    let mut answers = text.split_terminator(NEXT);
    for (command, expected) in ANSWERS {
        let answer =
            answers.next().with_context(|| format!("`{command}` answers nothing: {}", o.said()))?;
        ensure!(answer.trim_end() == expected, "`{command}` answers {answer:?}, not {expected:?}");
    }
    ensure!(log.contains("reboot: Power down"), "Linux did not switch off: {log}");
    clean_disk()
}

/// Users and root use up what there is: services keep their processes, Linux has nothing to report.
pub(super) fn bombs() -> Result<()> {
    disk::forget(image())?;
    let inserts = vec![insert("/usr/local/bin/bombs", compile("tests/linux/bombs.c")?)];
    let services = "systemctl show --property=Id,MainPID,NRestarts $(systemctl list-units --type=service --state=running --plain --no-legend | cut -d ' ' -f 1)";
    let command = format!(
        "systemctl is-system-running --wait; {services} > /run/before; /usr/local/bin/bombs || exit; {services} | diff /run/before - && \
         systemctl is-system-running && dmesg --level=emerg,alert,crit,err"
    );
    let o = Guest { inserts, timeout: Duration::from_secs(900), ..guest() }.run(&command)?;
    let text = o.text();
    let bombs = text.strip_prefix("running\n").and_then(|text| text.strip_suffix("running\n"));
    let bombs = bombs.filter(|_| o.status == 0).with_context(|| failed("bombs", &o))?;
    ensure!(bombs.lines().all(|line| line.starts_with("# ")), "{bombs}");
    print!("{bombs}");
    clean_disk()
}

/// What the configuration `full` is for: limits of units, capabilities and ACLs, file systems,
/// containers, the network.
pub(super) fn full() -> Result<()> {
    disk::forget(image())?;
    let script = insert("/usr/local/bin/full", std::fs::read("tests/linux/full.sh")?);
    let inserts = vec![script, insert("/usr/local/bin/bombs", compile("tests/linux/bombs.c")?)];
    let besides = if debian_expected()?.has_podman { "podman" } else { "" };
    let command =
        format!("systemctl is-system-running --wait; PATH=$PATH:/usr/local/bin full {besides}");
    let o = Guest { inserts, timeout: Duration::from_secs(900), ..guest() }.run(&command)?;
    ensure!(o.status == 0 && o.text().starts_with("running\n"), "{}", failed("the checks", &o));
    println!("# {} checks of what an administrator asks for", o.text().matches("\nok ").count());
    clean_disk()
}

/// A C project of some 37,000 lines is compiled in Debian, and passes its own tests.
pub(super) fn project() -> Result<()> {
    let mut debian = Debian::start(&debian_system()?)?;
    debian.0.patience = Duration::from_secs(600);
    debian.succeed("cd /usr/src/jimtcl && PS1='root@macadamia:~# '")?;
    let mut step = |command: &str| -> Result<(String, Duration)> {
        let start = Instant::now();
        let printed = debian.succeed(&format!(
            "{command} < /dev/null > log 2>&1 || {{ tail -n 40 log; false; }}; tail -n 2 log"
        ))?;
        Ok((printed, start.elapsed()))
    };
    let (_, configured) = step("CFLAGS=-O1 ./configure --full")?;
    let (_, compiled) = step("make")?;
    let (tail, tested) = step("make test")?;
    let totals = tail
        .lines()
        .find(|line| line.contains("Totals:"))
        .with_context(|| format!("no totals: {tail}"))?;
    let number = |name: &str| -> Result<u32> {
        let mut words = totals.split_whitespace().skip_while(|word| *word != name).skip(1);
        words
            .next()
            .and_then(|word| word.parse().ok())
            .with_context(|| format!("no `{name}` in: {totals}"))
    };
    let (total, passed, skipped, failed) =
        (number("Total")?, number("Passed")?, number("Skipped")?, number("Failed")?);
    println!(
        "# configured in {} s, compiled in {} s, tested in {} s",
        configured.as_secs(),
        compiled.as_secs(),
        tested.as_secs()
    );
    println!("# {total} tests: {passed} passed, {skipped} skipped, {failed} failed");
    ensure!(
        failed == 0 && debian_expected()?.jimtcl == Some(passed) && passed + skipped == total,
        "{totals}"
    );
    debian.power_off()
}

/// Each run of `tests/linux/stress` does the operations that it was asked for, and verifies them.
pub(super) fn stress() -> Result<()> {
    let mut debian = Debian::start(&debian_system()?)?;
    // Where each switch opens other domains the emulator empties its TLB.
    debian.0.patience = Duration::from_secs(600);
    let list = std::fs::read_to_string("tests/linux/stress")?;
    for options in list.lines().filter(|line| !line.starts_with('#')) {
        let start = Instant::now();
        let (status, printed) =
            debian.run(&format!("stress-ng --verify --metrics-brief {options}"))?;
        ensure!(
            status == 0 && printed.contains("successful run completed"),
            "`{options}`: status {status}\n{printed}"
        );
        for (stressor, wanted) in operations(options) {
            let done = metric(&printed, stressor);
            ensure!(
                done.is_some_and(|done| done >= wanted),
                "`{stressor}` did {done:?} of {wanted} operations:\n{printed}"
            );
        }
        println!("# {:5.1} s: {options}", start.elapsed().as_secs_f32());
    }
    debian.quiet()?;
    debian.power_off()
}

/// The stressors that options name, and how many operations each is to do.
fn operations(options: &str) -> Vec<(&str, u64)> {
    let words: Vec<&str> = options.split_whitespace().collect();
    let pairs = words.windows(2).filter_map(|pair| {
        Some((pair[0].strip_prefix("--")?.strip_suffix("-ops")?, pair[1].parse().ok()?))
    });
    pairs.collect()
}

/// How many operations stress-ng says that a stressor did.
fn metric(printed: &str, stressor: &str) -> Option<u64> {
    printed.lines().find_map(|line| {
        let (_, row) = line.split_once("metrc: ")?;
        let mut words = row.split_whitespace().skip(1);
        (words.next()? == stressor).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stress_ng_did() {
        let options = "--cpu 2 --cpu-ops 800 --vm 1 --vm-ops 20 --vm-bytes 32M";
        assert_eq!(operations(options), [("cpu", 800), ("vm", 20)]);
        let printed = "stress-ng: metrc: [91] stressor       bogo ops real time\n\
                       stress-ng: metrc: [91] vm   21.5 nanosecs\nstress-ng: metrc: [91] cpu  800  0.15\nstress-ng: metrc: [91] vm  20  1.0\n";
        assert_eq!(metric(printed, "cpu"), Some(800));
        assert_eq!(metric(printed, "fork"), None);
    }
}
