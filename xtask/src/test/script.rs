// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the script `macadamia`: what it does on a machine where packages are missing, with
//! programs that only pretend to install; and in a checkout that was copied to another folder.

use super::tally::{Test, test};
use crate::build;
use crate::machine::board;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// All of them.
pub const ALL: &[Test] = &[
    test("script.setup", quiet).reading(&["docs/setup.md"]),
    test("script.setup.failures", failures),
    test("script.setup.goes-on", goes_on),
    test("script.tool-chain", tool_chain),
    test("script.copied", copied),
];

/// Programs that take the place of the machine's. `$SCENE` has their state: `installed`, what they
/// were `calls`-ed with, and what is to go wrong.
const PROGRAMS: &[(&str, &str)] = &[
    ("rustc", "cat \"$SCENE/rustc\""),
    ("dpkg-query", "shift 3; for package; do grep \"^$package \" \"$SCENE/installed\"; done; true"),
    (
        "dpkg",
        "case $1 in --compare-versions) [ \"$2\" != 1:7.2 ] ;; *) echo \"dpkg $*\" >>\"$SCENE/calls\" ;; esac",
    ),
    (
        "apt-cache",
        r#". /etc/os-release
        case $* in
        "policy qemu-system-x86") echo "  Candidate: 1:7.2" ;;
        "policy base-files") echo "  500 http://deb.example.org/debian stable/main" ;;
        policy) [ -e "$SCENE/no-backports" ] || echo "release n=$VERSION_CODENAME-backports" ;;
        esac"#,
    ),
    (
        "apt-get",
        r#"echo "apt-get proxy=${http_proxy:-} $*" >>"$SCENE/calls"
        case " $* " in
        *" --print-uris "*)
            echo "Need to get 45.1 MB of archives."
            echo "After this operation, 197 MB of additional disk space will be used."
            exit ;;
        *" update "*) what=update ;;
        *) what=install ;;
        esac
        echo "noise of $what"
        echo "more noise of $what" >&2
        cat
        for failure in "$SCENE/$what.once" "$SCENE/$what.always"; do
            [ -e "$failure" ] || continue
            cat "$failure"
            case $failure in *.once) rm "$failure" ;; esac
            exit 100
        done
        if [ -e "$SCENE/$what.interrupted" ]; then
            rm "$SCENE/$what.interrupted"
            kill -INT 0
        fi
        echo "dlstatus:1:12.5000:Retrieving file 1 of 2"
        [ $what = install ] || exit 0
        echo "pmstatus:lld:50.0000:Installing lld"
        while [ "$1" != install ]; do shift; done
        shift
        for package; do echo "${package%/*} 1:10.0 installed" >>"$SCENE/installed"; done"#,
    ),
    ("tee", "echo \"tee $* $(cat)\" >>\"$SCENE/calls\""),
    ("sleep", "echo \"sleep $*\" >>\"$SCENE/calls\""),
    ("id", "if [ -e \"$SCENE/root\" ]; then echo 0; else echo 1000; fi"),
    (
        "sudo",
        r#"echo "sudo $*" >>"$SCENE/calls"
        case $1 in
        -n) [ ! -e "$SCENE/password" ] ;;
        -v) [ ! -e "$SCENE/refused" ] ;;
        *) exec "$@" ;;
        esac"#,
    ),
    ("cargo", "[ \"$*\" = 'build --quiet --bin xtask --examples' ]"),
];

/// What of the machine is used as it is: nothing else can be reached.
const TOOLS: &[&str] = &[
    "bash", "sh", "env", "cat", "grep", "sed", "head", "tail", "wc", "paste", "mkdir", "rm",
    "dirname", "readlink", "find", "mv", "stat", "cut", "sort",
];

/// The script in a checkout where nothing else is, on a machine that is played.
struct Scene(PathBuf);

/// What a run of the script left.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

impl Scene {
    /// A machine where nothing is installed, made again.
    fn new(name: &str) -> Result<Self> {
        let folder = std::path::absolute(Path::new("out/script").join(name))?;
        remove(&folder)?;
        let scene = Self(folder);
        let programs = scene.0.join("bin");
        // The build tool is there, as after a first run.
        for folder in [&programs, &scene.0.join("checkout/target/debug")] {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy("macadamia", scene.0.join("checkout/macadamia"))?;
        for file in ["installed", "calls"] {
            scene.put(file, "")?;
        }
        let tool = scene.0.join("checkout/target/debug/xtask");
        std::fs::write(&tool, "#!/bin/sh\necho output of the command; exit 3\n")?;
        std::fs::set_permissions(tool, PermissionsExt::from_mode(0o755))?;
        for (name, text) in PROGRAMS {
            let file = programs.join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{text}\n"))?;
            std::fs::set_permissions(file, PermissionsExt::from_mode(0o755))?;
        }
        let path = std::env::var_os("PATH").context("no PATH")?;
        for tool in TOOLS {
            let found = std::env::split_paths(&path)
                .map(|folder| folder.join(tool))
                .find(|file| file.is_file());
            symlink(found.with_context(|| format!("there is no `{tool}`"))?, programs.join(tool))?;
        }
        Ok(scene)
    }

    fn put(&self, file: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.0.join(file), text)?)
    }

    fn read(&self, file: &str) -> Result<String> {
        std::fs::read_to_string(self.0.join(file))
            .with_context(|| format!("{file} in {}", self.0.display()))
    }

    fn run(&self, arguments: &[&str]) -> Result<Ran> {
        // Who starts tests in the background lets them ignore interrupts, which a shell could not
        // undo.
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal=INT")
            .arg(self.0.join("checkout/macadamia"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.0.join("bin"))
            .env("SCENE", &self.0);
        command
            .env("MACADAMIA_RUSTUP", "1")
            .env("http_proxy", "http://proxy:3128")
            .stdin(Stdio::null());
        // A group of its own, as a terminal's: one of them interrupts it.
        let output = command.process_group(0).output().context("cannot run the script")?;
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Ran { status: output.status.code(), out, err })
    }

    /// A run that must come to the command, with nothing but its output on the standard output.
    /// Returns what was said, too.
    fn comes_to_the_command(&self) -> Result<String> {
        let ran = self.run(&["run", "--batch", "anything --help"])?;
        ensure!(ran.out == "output of the command\n", "on the standard output: {}", ran.out);
        ensure!(ran.status == Some(3), "status {:?}: {}", ran.status, ran.err);
        Ok(ran.err)
    }
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn has(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "`{part}` is not in: {text}");
    }
    Ok(())
}

/// A compiler that is too old is refused, a newer one is named, and both say what to do.
fn tool_chain() -> Result<()> {
    let scene = Scene::new("tool-chain")?;
    scene.comes_to_the_command()?;
    for fits in ["rustc 1.96.1 (31fca3adb 2026-06-26)\n", "rustc 1.98.0-nightly (0 2026-05-24)\n"] {
        scene.put("rustc", fits)?;
        let said = scene.comes_to_the_command()?;
        ensure!(!said.contains("rustc is"), "{said}");
    }
    scene.put("rustc", "rustc 1.100.0 (0 2026-12-24)\n")?;
    has(&scene.comes_to_the_command()?, &["rustc is 1.100.0", "is tested with", "docs/setup.md"])?;
    scene.put("rustc", "rustc 1.63.0 (4b91a6ea7 2022-08-08)\n")?;
    let ran = scene.run(&["run", "hello"])?;
    ensure!(ran.status == Some(1) && ran.out.is_empty(), "status {:?}: {}", ran.status, ran.out);
    has(&ran.err, &["rustc is 1.63.0, and this tree needs", "apt-get install rustc-web"])
}

/// What comes with QEMU, and is named only because it must be of the same release.
const QEMU_PARTS: &[&str] = &["qemu-system-common", "qemu-system-data", "seabios"];

/// The most lines that a set-up may say which is not on a terminal, and takes no time.
const MOST_LINES: usize = 10;

/// A first run installs, says so shortly and on standard error only; a second says nothing. What
/// needs no tool installs nothing.
fn quiet() -> Result<()> {
    let scene = Scene::new("quiet")?;
    for arguments in [
        &["list"][..],
        &["doctor"],
        &["run", "hello", "--dry-run"],
        &["test", "--help"],
        &["--version"],
        &[],
    ] {
        scene.run(arguments)?;
        ensure!(scene.read("calls")?.is_empty(), "{arguments:?}: {}", scene.read("calls")?);
    }
    let said = scene.comes_to_the_command()?;
    let release = Command::new("sh")
        .args(["-c", ". /etc/os-release && echo $VERSION_CODENAME"])
        .output()?
        .stdout;
    let qemu = format!("qemu-system-x86/{}-backports", String::from_utf8_lossy(&release).trim());
    has(
        &said,
        &[
            "packages are missing: rustc-web cargo-web",
            "45.1 MB to download, 197 MB on disk",
            "out/setup.log",
            "installing, 50 %",
        ],
    )?;
    by_hand(&said)?;
    let calls = scene.read("calls")?;
    let installs = calls.lines().filter(|call| {
        call.starts_with("apt-get") && call.contains(" install ") && !call.contains("--print-uris")
    });
    ensure!(installs.count() == 1, "asking for the size must install nothing: {calls}");
    has(&calls, &["sudo env", "proxy=http://proxy:3128", " update\n", &qemu])?;
    has(
        &scene.read("checkout/out/setup.log")?,
        &["noise of update", "more noise of update", "noise of install", "more noise of install"],
    )?;
    ensure!(
        !said.contains("noise") && said.lines().count() <= MOST_LINES,
        "{} lines: {said}",
        said.lines().count()
    );
    scene.put("calls", "")?;
    // An Alpha is only for what asks for one.
    for asks in [
        &["test", "host"][..],
        &["test", "host", "--words", "alpha"],
        &["test", "differential"],
        &["test", "--board", "pc64"],
        &["bench", "ipc"],
    ] {
        scene.run(asks)?;
        ensure!(scene.read("calls")?.is_empty(), "{asks:?}: {}", scene.read("calls")?);
    }
    for asks in [
        &["test"][..],
        &["test", "ipc"],
        &["test", "--all", "--shard", "1/3"],
        &["test", "alpha.core"],
        &["test", "clipper.systems"],
        &["run", "hello", "--board", "clipper"],
        &["bench"],
        &["bench", "cache_lines_32"],
    ] {
        let before = scene.read("installed")?;
        let said = scene.run(asks)?.err;
        // What is compiled for Alpha is slow: only who asks for that needs a compiler.
        // So is Linux alone on pc64, which the book measures, too, and a compiler in Linux.
        let compilers = match asks {
            [_, "--all", ..] => " gcc-alpha-linux-gnu libelf-dev g++ g++-powerpc-linux-gnu",
            [.., "alpha.core" | "clipper" | "clipper.systems"] => " gcc-alpha-linux-gnu",
            ["bench"] => " libelf-dev g++ g++-powerpc-linux-gnu",
            _ => "",
        };
        let missing = format!("binutils-alpha-linux-gnu qemu-system-misc{compilers}");
        has(&said, &[&format!("are missing: {missing}\n")])?;
        scene.put("installed", &before)?;
    }
    has(&scene.read("calls")?, &["binutils-alpha-linux-gnu", "qemu-system-misc/"])?;
    scene.put("calls", "")?;
    let again = scene.comes_to_the_command()?;
    ensure!(
        again.is_empty() && scene.read("calls")?.is_empty(),
        "the second time: {again}{}",
        scene.read("calls")?
    );
    // A package that is not complete is missing.
    let half =
        scene.read("installed")?.replace("lld 1:10.0 installed", "lld 1:10.0 half-configured");
    scene.put("installed", &half)?;
    has(&scene.comes_to_the_command()?, &["these packages are missing: lld\n"])?;
    // The old QEMU of this release.
    scene.put(
        "installed",
        &scene.read("installed")?.replace("qemu-system-x86 1:10.0", "qemu-system-x86 1:7.2"),
    )?;
    scene.put("root", "")?;
    scene.put("no-backports", "")?;
    scene.put("calls", "")?;
    has(
        &scene.comes_to_the_command()?,
        &["are missing: qemu-system-x86\n", "-backports to the package sources"],
    )?;
    let calls = scene.read("calls")?;
    has(
        &calls,
        &[
            "tee /etc/apt/sources.list.d/macadamia-backports.list deb http://deb.example.org/debian",
            &qemu,
        ],
    )?;
    ensure!(!calls.contains("sudo"), "root needs no sudo: {calls}");
    Ok(())
}

/// What is installed by hand is what the script finds missing on a bare machine.
fn by_hand(said: &str) -> Result<()> {
    let page = std::fs::read_to_string("docs/setup.md")?;
    let (_, command) = page
        .split_once("apt-get install --no-install-recommends")
        .context("docs/setup.md has no command")?;
    let (command, _) =
        command.split_once("\n\n").context("the command in docs/setup.md has no end")?;
    let is_part = |package: &&str| *package != "\\" && !QEMU_PARTS.contains(package);
    let listed: BTreeSet<&str> = command
        .split_whitespace()
        .map(|word| word.split('/').next().unwrap_or(word))
        .filter(is_part)
        .collect();
    let (_, missing) = said.split_once("are missing: ").context("nothing is missing")?;
    let missing: BTreeSet<&str> = missing.lines().next().unwrap_or_default().split(' ').collect();
    ensure!(
        listed == missing,
        "docs/setup.md and the script differ: {:?}",
        listed.symmetric_difference(&missing)
    );
    Ok(())
}

/// A set-up that fails shows the whole log, then cause and cure, and has a status that is not the
/// command's.
fn failures() -> Result<()> {
    for (says, cure) in [
        (
            "Err:1 http://mirror stable\n  Temporary failure resolving 'mirror'\nE: Unable to locate package lld",
            "mirror cannot be reached: connect",
        ),
        (
            "E: You don't have enough free space in /var/cache/apt/archives/.",
            "a disk is full: free",
        ),
        ("dpkg: error: failed to write: No space left on device", "a disk is full: free"),
        ("E: Unable to locate package rustc-web", "the package sources lack what is named above"),
        ("E: Release file for x is not valid yet", "set the clock"),
        (
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7",
            "another package manager has the lock",
        ),
        (
            " lld : Depends: x\nE: Unable to correct problems, you have held broken packages.",
            "--fix-broken install",
        ),
        (
            "The following signatures couldn't be verified: NO_PUBKEY 6ED0E7B8",
            "install debian-archive-keyring",
        ),
        ("something else", "the reason stands above"),
    ] {
        let scene = Scene::new("failures")?;
        scene.put("install.always", &format!("{says}\n"))?;
        let run = |arguments: &[&str], status: i32| -> Result<()> {
            let ran = scene.run(arguments)?;
            ensure!(
                ran.out.is_empty() && ran.status == Some(status),
                "{says}: status {:?}, {}",
                ran.status,
                ran.out
            );
            has(&ran.err, &["noise of update", "more noise of install", says])?;
            has(
                ran.err.lines().last().unwrap_or_default(),
                &["macadamia: ", cure, "run the same command again", "out/setup.log"],
            )
        };
        run(&["run", "hello"], 1)?;
        run(&["run", "--batch", "true"], 125)?;
    }
    let scene = Scene::new("failures")?;
    for file in ["password", "refused"] {
        scene.put(file, "")?;
    }
    let ran = scene.run(&["test", "host"])?;
    ensure!(
        ran.out.is_empty() && ran.status == Some(1) && !scene.read("calls")?.contains("apt-get"),
        "{}",
        ran.err
    );
    has(&ran.err, &["sudo asks for your password", "sudo did not let you in"])?;
    std::fs::remove_file(scene.0.join("bin/sudo"))?;
    let ran = scene.run(&["test", "host"])?;
    ensure!(ran.out.is_empty() && ran.status == Some(1), "{}", ran.err);
    has(
        &ran.err,
        &[
            "there is no sudo; as root",
            "apt-get install --no-install-recommends rustc-web",
            "-backports seabios/",
        ],
    )?;
    std::fs::remove_file(scene.0.join("bin/apt-get"))?;
    has(&scene.run(&["test", "host"])?.err, &["this is no Debian system; docs/setup.md"])
}

/// A set-up waits for another package manager, completes what was interrupted, and goes on after an
/// interrupt.
fn goes_on() -> Result<()> {
    let scene = Scene::new("goes-on")?;
    scene.put(
        "update.once",
        "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7\n",
    )?;
    scene.put("install.once", "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.\n")?;
    let said = scene.comes_to_the_command()?;
    has(
        &said,
        &["waiting for another package manager", "completing an installation that was interrupted"],
    )?;
    let calls = scene.read("calls")?;
    has(&calls, &["sleep 5\n", "dpkg --configure -a\n"])?;
    let updates =
        calls.lines().filter(|call| call.starts_with("apt-get") && call.ends_with(" update"));
    ensure!(updates.count() == 2, "{calls}");
    for what in ["update", "install"] {
        let scene = Scene::new("goes-on")?;
        scene.put(&format!("{what}.interrupted"), "")?;
        let ran = scene.run(&["run", "hello"])?;
        ensure!(
            ran.out.is_empty() && ran.status == Some(130),
            "{what}: status {:?}: {}",
            ran.status,
            ran.err
        );
        has(&ran.err, &["interrupted; the same command goes on"])?;
        has(&scene.comes_to_the_command()?, &["everything is installed"])?;
    }
    Ok(())
}

/// Not copied, nor looked at: the trees of Linux are large, and have no part in this.
const WITHOUT: &[&str] = &[
    "./.git",
    "./target/linux",
    "./target/debug/incremental",
    "./target/release",
    "./out",
    "./bench/report",
    "./docs/book",
];

/// All files below a folder, but for those of [`WITHOUT`].
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if WITHOUT.iter().any(|without| path == Path::new(without)) {
            continue;
        }
        if kind.is_dir() { files(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// When each of these files was written, and how long it is.
fn state(files: &[PathBuf]) -> Result<BTreeMap<&Path, (SystemTime, u64)>> {
    let of = |file: &PathBuf| {
        std::fs::symlink_metadata(file).and_then(|data| Ok((data.modified()?, data.len())))
    };
    files.iter().map(|file| Ok((file.as_path(), of(file)?))).collect()
}

/// Copies a file with its time. Compiled libraries and programs are never written again in place:
/// they are shared.
fn copy(file: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to.parent().context("no folder")?)?;
    let is_compiled = file.parent().is_some_and(|folder| folder.ends_with("deps"))
        && file.extension().is_none_or(|kind| kind != "d");
    if is_compiled {
        std::fs::hard_link(file, to)?;
        return Ok(());
    }
    std::fs::copy(file, to)?;
    let modified = std::fs::metadata(file)?.modified()?;
    // Who may not write a file may still set its time here.
    let permissions = std::fs::metadata(to)?.permissions();
    std::fs::set_permissions(to, PermissionsExt::from_mode(0o644))?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)?;
    Ok(std::fs::set_permissions(to, permissions)?)
}

/// Puts other text into a file of the copy.
fn change(file: &Path, from: &str, to: &str) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    ensure!(text.contains(from), "{} has no `{from}`", file.display());
    Ok(std::fs::write(file, text.replace(from, to))?)
}

/// A built checkout that is copied, to a folder with a space in its name, works with the copy's
/// files, called from wherever; of the original nothing is written.
fn copied() -> Result<()> {
    build::system(Path::new("systems/hello.toml"))?;
    let place = std::path::absolute("out/script/a copy")?;
    remove(&place)?;
    let mut all = Vec::new();
    files(Path::new("."), &mut all)?;
    let kept =
        ["image.bin", "kernel.elf"].map(|name| board::chosen().out().join("hello").join(name));
    all.iter().try_for_each(|file| {
        copy(file, &place.join(file)).with_context(|| file.display().to_string())
    })?;
    let watched = [&all[..], &kept].concat();
    let before = state(&watched)?;
    change(&place.join("user/demo/hello/src/main.rs"), "Hello from", "Greetings of the copy from")?;
    change(&place.join("systems/hello.toml"), "# Says hello", "# Says greetings")?;
    change(&place.join("kernel/arch/ia32/kernel.ld"), "ENTRY", "linked_by_the_copy = 1;\nENTRY")?;
    let run = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new(place.join("macadamia"));
        command.args(arguments).current_dir("/").env("MACADAMIA_SETUP", "no").stdin(Stdio::null());
        let output = command.output().context("cannot run the copy's script")?;
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ensure!(output.status.success(), "{arguments:?}: {out}{err}");
        Ok(out)
    };
    has(&run(&["list"])?, &["Says greetings"])?;
    has(&run(&["run", "hello"])?, &["Greetings of the copy from hello"])?;
    let kernel = std::fs::read(place.join("out/hello/kernel.elf"))?;
    let name = b"linked_by_the_copy";
    ensure!(
        kernel.windows(name.len()).any(|bytes| bytes == name),
        "the copy's kernel is not linked by the copy's script"
    );
    let after = state(&watched)?;
    if let Some((file, _)) = before.iter().find(|(file, state)| after.get(*file) != Some(state)) {
        bail!("{} of the original was written", file.display());
    }
    remove(&place)
}
