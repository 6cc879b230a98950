// SPDX-License-Identifier: MIT OR Apache-2.0
//! The build tool: it builds, makes images, runs and tests. The script `./macadamia` calls it.
//!
//! This file calls the modules as `arguments` says. It has no build logic of its own. Which module may use which is the `order` in `Cargo.toml`.
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod build;
mod calibration;
mod catalogue;
mod check;
mod description;
mod emulator;
#[cfg(test)]
mod fuzz;
mod guest;
mod linux;
mod machine;
mod manual;
mod pages;
mod process;
mod profile;
mod quotes;
mod test;
mod top;

use anyhow::{Context, Result, ensure};
use arguments::{Arguments, Command};
use build::Wire;
use clap::Parser;
use guest::batch;
use machine::accel;
use machine::screen::{self, Wanted};
use machine::spaces;
use machine::{Emulator, board, cpus, words};
use process::patience::Limit;
use process::show;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The project's root: the nearest folder from `folder` upwards that is a checkout. The script goes
/// to its own folder first: nothing of a place is compiled in, so that a copy of a checkout works
/// in the copy.
fn root(folder: &Path) -> Result<PathBuf> {
    let is_root = |folder: &&Path| {
        ["macadamia", "xtask/Cargo.toml"].iter().all(|file| folder.join(file).is_file())
    };
    let root = folder.ancestors().find(is_root).map(Path::to_path_buf);
    root.with_context(|| {
        format!(
            "{} is in no checkout of Macadamia: run the script `macadamia` of one",
            folder.display()
        )
    })
}

fn main() -> std::process::ExitCode {
    if let Some(status) = process::tether::stand_between() {
        return status;
    }
    match carry_out() {
        Ok(status) => status.into(),
        // The reader has enough, as `head` does.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) =>
        {
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            say(&error);
            std::process::ExitCode::FAILURE
        }
    }
}

fn say(error: &anyhow::Error) {
    eprintln!("macadamia: {error:#}");
}

/// A system to run, and how.
struct Run<'a> {
    system: &'a str,
    on: Emulator,
    /// What is to execute instructions in QEMU.
    accel: accel::Wanted,
    /// Who runs the command of a batch.
    component: Option<&'a str>,
    dry_run: bool,
    /// What else is asked for.
    options: build::Options<'a>,
}

impl Run<'_> {
    fn plan(
        &self,
        folder: Option<&str>,
        command: Option<build::Command<'_>>,
    ) -> Result<build::Plan> {
        let board = board::chosen();
        let kvm = || {
            if self.dry_run {
                accel::opens()
            } else {
                accel::executes(&board.qemu.program, &board.out())
            }
        };
        let accel::Choice { accel, said } = self.accel.choose(self.on, board, kvm)?;
        said.into_iter().for_each(|said| eprintln!("macadamia: {said}"));
        if let Some(cpu) = self.options.cpu.filter(|_| self.on == Emulator::Qemu && !self.dry_run) {
            cpus::check(&board.qemu.program, cpu)?;
        }
        let options =
            build::Options { accel, folder, command, apart: folder.is_none(), ..self.options };
        let system = if options.screen.is_some() {
            let besides = board::chosen().linux().is_ok_and(|linux| !linux.cross);
            catalogue::with_screen(self.system, besides)?
        } else {
            catalogue::system(self.system)?
        };
        ensure!(
            options.folders.is_empty() || self.on == Emulator::Qemu,
            "Bochs shares no folders: leave --share out, or `--on bochs`"
        );
        let plan = build::plan(&system, options)?;
        // A build may take minutes: first what would end the run after it.
        if let Some(network) = plan.built.network.as_ref().filter(|_| self.on == Emulator::Bochs) {
            network.bochs()?;
        }
        if !self.dry_run {
            plan.built.check()?;
        }
        Ok(plan)
    }

    fn interactive(&self) -> Result<u8> {
        if let Some(Wanted::Picture(file)) = self.options.screen {
            anyhow::bail!("{}", no_end_of_batch(file));
        }
        let plan = self.plan(None, None)?;
        if let Some(screen) = plan.built.screen.as_ref().filter(|_| self.on == Emulator::Bochs) {
            screen::x_server(screen)?;
        }
        if self.dry_run {
            show(&format!("{}\n{}\n", plan.command(), emulator::describe(&plan.built, self.on)?))?;
        } else {
            let built = plan.carry_out()?;
            emulator::interactive(&built, self.on)?;
            built.forget()?;
        }
        Ok(0)
    }

    fn batch(&self, batch: &batch::Batch) -> Result<u8> {
        let inserts = batch.inserts();
        let command = build::Command { component: self.component, inserts: &inserts };
        let folder = format!("batch-{}", std::process::id());
        let built = self.plan(Some(&folder), Some(command))?.carry_out()?;
        let machine = emulator::Machine::of(self.on, &built, None);
        let status = batch.run(&built, machine, &mut std::io::stdout(), &mut std::io::stderr())?;
        if status < batch::TIMED_OUT {
            std::fs::remove_dir_all(built.board.out().join(folder))?;
        }
        Ok(status)
    }
}

/// Why there is no picture without a command of Linux's, and how else there can be one.
fn no_end_of_batch(file: &Path) -> String {
    let file = file.display();
    format!(
        "--screen={file} writes a picture when the command of --batch has ended: add --batch, if the system has a Linux; else leave the file out, type Ctrl-A C while the system runs, then `screendump {file} -f png`"
    )
}

fn carry_out() -> Result<u8> {
    let root = root(&std::env::current_dir()?)?;
    // The script left the caller's folder: that is where the arguments' paths begin.
    if let Some(caller) = std::env::var_os("MACADAMIA_FROM") {
        std::env::set_current_dir(&caller)
            .with_context(|| format!("cannot enter the folder {}", caller.display()))?;
    }
    let Arguments { board, command } = Arguments::parse();
    std::env::set_current_dir(root)?;
    board::choose(&board)?;
    if let Command::Run { spaces, .. }
    | Command::Test { spaces, .. }
    | Command::Bench { spaces, .. } = &command
    {
        spaces::choose(*spaces)?;
    }
    if let Command::Run { words, .. } | Command::Test { words, .. } = &command {
        words::choose(words.as_deref())?;
    }
    match command {
        Command::Run {
            system,
            on,
            cpu,
            accel,
            memory,
            disk,
            spaces: _,
            words: _,
            kdb,
            file,
            share,
            batch,
            component,
            get,
            timeout,
            forward,
            card,
            no_network,
            screen,
            dry_run,
        } => {
            let component = component.as_deref();
            let wire = if no_network {
                Wire::Out
            } else {
                Wire::Card { forwards: &forward, options: &[] }
            };
            let options = build::Options {
                memory,
                interface: disk,
                kdb,
                cpu: cpu.as_deref(),
                nic: card.unwrap_or_default(),
                wire,
                inserts: &file,
                screen: screen.as_ref(),
                folders: &share,
                ..build::Options::default()
            };
            let run = Run { system: &system, on, accel, component, dry_run, options };
            let Some(command) = batch else { return run.interactive() };
            let timeout = timeout.map(|seconds| Limit::Wall(Duration::from_secs(seconds)));
            // A status below is the command's own.
            let picture = screen.as_ref().and_then(Wanted::picture).map(Into::into);
            return Ok(run
                .batch(&batch::Batch { command, gets: get, picture, timeout, notices: true })
                .unwrap_or_else(|error| {
                    say(&error);
                    batch::FAILED
                }));
        }
        Command::Build { system, explain: true } => {
            show(&description::read(&catalogue::system(&system)?, board::chosen())?.explain()?)?;
        }
        Command::Build { system, .. } => {
            let options = build::Options { seed: build::Seed::None, ..build::Options::default() };
            let built = build::plan(&catalogue::system(&system)?, options)?.carry_out()?;
            let files = match &built.board.flat {
                Some(flat) => {
                    built.flat.wrap(&built.name, built.board.processor, flat.address)?.to_vec()
                }
                None => vec![emulator::iso(&built)?],
            };
            for file in files {
                show(&format!("{}\n", std::path::absolute(file)?.display()))?;
            }
        }
        Command::Top { system, forward, count } => {
            top::run(&system, &forward, count, &mut std::io::stdout())?
        }
        Command::List { tests: true } => show(&catalogue::columns(&test::names()?))?,
        Command::List { .. } => {
            // Elsewhere only those that do not ask for what the board lacks.
            let board = board::chosen();
            let fits = |path: &Path| board.is_default() || description::read(path, board).is_ok();
            show(&catalogue::columns(&catalogue::systems(fits)?))?;
        }
        Command::Test { shard: Some(shard), .. } => test::shard(shard)?,
        Command::Test { table: true, .. } => test::table()?,
        Command::Test { filter, all, fresh, .. } => {
            test::all(filter.as_deref().unwrap_or(""), all, fresh)?
        }
        Command::Bench { filter, json, table, layouts, spaces: _ } => {
            bench::run(filter.as_deref().unwrap_or(""), json.as_deref(), table, layouts)?;
        }
        Command::Profile { system, batch, file, interval, every, timeout } => {
            let timeout = timeout.map(Duration::from_secs);
            let wire = Wire::default();
            return profile::run(&profile::Request {
                system: &system,
                command: batch,
                files: &file,
                interval,
                every,
                timeout,
                wire,
            });
        }
        Command::Model { cpu } => calibration::run(cpu.as_deref())?,
        Command::Manual => {
            manual::write()?;
            quotes::renew()?;
        }
        Command::Book { rust } => {
            show(&format!("{}\n", pages::make()?.display()))?;
            if rust {
                show(&format!("{}\n", pages::add_crates()?.display()))?;
            }
        }
        Command::Clean => {
            for folder in ["target", "out"] {
                if Path::new(folder).exists() {
                    std::fs::remove_dir_all(folder)?;
                }
            }
        }
        Command::Doctor => check::doctor()?,
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_without_a_command_is_the_monitors() {
        let said = no_end_of_batch(Path::new("out/clock.png"));
        assert!(said.contains("add --batch") && said.contains("Ctrl-A C"), "{said}");
        assert!(said.contains("`screendump out/clock.png -f png`"), "{said}");
    }

    #[test]
    fn the_root_is_the_nearest_checkout() {
        let here = std::env::current_dir()
            .and_then(|folder| folder.join("..").canonicalize())
            .unwrap_or_default();
        assert_eq!(root(&here.join("xtask/src")).ok(), Some(here));
        let error = root(Path::new("/")).map_err(|error| error.to_string()).err();
        assert_eq!(
            error.as_deref(),
            Some("/ is in no checkout of Macadamia: run the script `macadamia` of one")
        );
    }
}
