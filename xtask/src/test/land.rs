// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the disks of programs and of a compiler that are built from Debian's source: each program
//! does what it is for.

use crate::guest::{Guest, compile, insert};
use crate::machine::board;
use anyhow::{Context, Result, ensure};
use std::process::Command;
use std::time::Duration;

/// What is asked.
struct Check {
    /// Its name.
    name: &'static str,
    /// A script for bash.
    script: &'static str,
    /// All that it writes to the standard output.
    says: &'static str,
}

const CHECKS: &[Check] = &[
    Check {
        name: "bash: arrays and pipes",
        script: "a=(3 1 2); declare -A m=([x]=7)\nprintf '%s\\n' \"${a[@]}\" | sort | paste -sd,\necho $((m[x] * ${#a[@]}))",
        says: "1,2,3\n21",
    },
    Check {
        name: "bash: jobs and signals",
        script: "sleep 1000 & kill $!; wait $!; echo $?; bash -c 'kill -SEGV $$'; echo $?",
        says: "143\n139",
    },
    Check {
        name: "coreutils",
        script: "sort --version | head -n 1; seq 100000 | sort -rn | sha256sum",
        // The sum is the host's.
        says: "sort (GNU coreutils) 9.1\nbe33f4b44bc224c0caf0abb0be9ac87ec08da023c4b56b7459848eef46d57021  -",
    },
    Check {
        name: "strace",
        script: "strace -f -o trace sh -c 'uname -m; exit 3'; echo $?\n\
                 grep -m 1 -c 'uname({sysname=\"Linux\", .*}) *= 0$' trace; grep -m 1 -c 'exit_group(3) *= ?$' trace",
        says: "ppc\n3\n1\n1",
    },
    Check {
        name: "dropbear: keys and a session",
        script: "exec 2> /dev/null; dropbearkey -t ed25519 -f host > /dev/null; dropbearkey -t ecdsa -f own > /dev/null\n\
                 mkdir -p -m 700 .ssh; dropbearkey -y -f own | grep ^ecdsa- > .ssh/authorized_keys; chmod 600 .ssh/authorized_keys\n\
                 dropbearkey -y -f host | grep -c '^ssh-ed25519 AAAA'\n\
                 dropbear -r host -p 127.0.0.1:2222; dbclient -y -i own -p 2222 127.0.0.1 'echo in $((6 * 7))'",
        says: "1\nin 42",
    },
    Check {
        name: "as and ld",
        script: "as -o a.o <<'END' && ld -o a a.o && ./a\n\
                 .globl _start\n_start: li 0, 4; li 3, 1; lis 4, word@ha; la 4, word@l(4); li 5, 10; sc; li 0, 1; li 3, 0; sc\n\
                 .data\nword: .ascii \"assembled\\n\"\nEND",
        says: "assembled",
    },
    Check {
        name: "the C library, as Debian built it",
        script: "/lib/libc.so.6 | grep -o '^GNU C Library (Debian GLIBC 2.36'; /lib/ld.so.1 --list /bin/bash | grep -c ' => /lib/libc.so.6 ('",
        says: "GNU C Library (Debian GLIBC 2.36\n1",
    },
];

/// All of them, on all processors, each in one boot.
pub(super) fn all() -> Result<()> {
    for cpu in &board::chosen().qemu.tested {
        let scripts = CHECKS
            .iter()
            .enumerate()
            .map(|(at, check)| insert(&format!("/root/{at}"), check.script.into()));
        let guest = Guest {
            system: "systems/programs.toml",
            cpu: Some(cpu),
            inserts: scripts.collect(),
            ..Guest::default()
        };
        let last = CHECKS.len() - 1;
        let o = guest.run(&format!("export HOME=/root; cd; for check in $(seq 0 {last}); do echo \"== $check\"; bash $check; done"))?;
        let text = o.text();
        for (at, check) in CHECKS.iter().enumerate() {
            let said = text
                .split("== ")
                .nth(at + 1)
                .and_then(|said| said.split_once('\n'))
                .with_context(|| o.said())?
                .1
                .trim_end();
            ensure!(
                said == check.says,
                "{cpu}, {}: expected `{}`, not `{said}`; {}",
                check.name,
                check.says,
                o.said()
            );
        }
    }
    Ok(())
}

/// What is compiled in Linux.
const COMPILED: &str = "tests/linux/compiled.c";
/// A program that has headers and the library of mathematics, linked with shared libraries.
const SHARED: &str = "#include <math.h>\n#include <stdio.h>\nint main(int count, char **words) { printf(\"%.3f %s\\n\", sqrt(count + 1), words[1]); return 3; }\n";
/// As much optimisation as a compile has.
const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-Os"];
/// Seconds that all of it may take.
const COMPILING: Duration = Duration::from_secs(1200);

/// A compiler in Linux makes the assembly that Debian's cross compiler of the same version makes
/// here, and a program of it that says what the program says that was compiled here. It compiles,
/// assembles and links by itself.
pub(super) fn compiler() -> Result<()> {
    let cross = |level: &str| -> Result<String> {
        let mut gcc = Command::new(board::chosen().linux()?.compiler());
        let output =
            gcc.args([level, "-S", "-o", "-", COMPILED]).output().context("no compiler")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    let inserts = vec![
        insert("/root/compiled.c", std::fs::read(COMPILED)?),
        insert("/root/shared.c", SHARED.into()),
        insert("/root/cross", compile(COMPILED)?),
    ];
    let guest =
        Guest { system: "systems/compiler.toml", inserts, timeout: COMPILING, ..Guest::default() };
    let o = guest.succeed(&format!(
        "cd /root; for level in {}; do echo \"== $level\"; gcc $level -S -o - compiled.c || exit 1; done; \
         echo '== own'; gcc -O2 -static -o own compiled.c && ./own; \
         echo '== cross'; ./cross; \
         echo '== shared'; cc -o shared shared.c -lm && ./shared one; echo $?",
        LEVELS.join(" ")
    ))?;
    let text = o.text();
    let part = |name: &str| {
        let part = text.split("== ").filter_map(|part| part.split_once('\n'));
        part.into_iter()
            .find(|(named, _)| *named == name)
            .map(|(_, part)| part)
            .with_context(|| format!("nothing of {name}: {}", o.said()))
    };
    for level in LEVELS {
        let (here, there) = (cross(level)?, part(level)?);
        let (here, there): (Vec<_>, Vec<_>) = (code(&here).collect(), code(there).collect());
        let differs = here.iter().zip(&there).position(|(here, there)| here != there);
        ensure!(
            here == there && here.len() > 1000,
            "{level}: {} lines of assembly here and {} there, which differ from line {differs:?} on",
            here.len(),
            there.len()
        );
        println!("# {level}: {} lines of assembly are those of the cross compiler", here.len());
    }
    let (own, cross) = (part("own")?, part("cross")?);
    ensure!(
        own == cross && own.lines().count() == 9,
        "compiled there it says `{own}`, and compiled here `{cross}`"
    );
    let shared = part("shared")?;
    ensure!(shared == "1.732 one\n3\n", "the program with shared libraries says `{shared}`");
    Ok(())
}

/// Assembly without what names its compiler and its source.
fn code(assembly: &str) -> impl Iterator<Item = &str> {
    assembly.lines().filter(|line| !line.starts_with("\t.ident") && !line.starts_with("\t.file"))
}
