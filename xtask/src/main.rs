// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build, image, run, test: all build logic there is. `./macadamia` calls it.
#![forbid(unsafe_code)]

mod bench;
mod build;
mod check;
mod description;
mod dialogue;
mod emulator;
mod linux;
mod pack;
mod session;
mod test;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Macadamia: build, run and test systems.
#[derive(Parser)]
#[command(name = "macadamia", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build a system and run it; Ctrl-A X leaves.
    Run {
        /// Its name: systems/NAME.toml.
        #[arg(default_value = "linux")]
        system: String,
        /// Where to run it.
        #[arg(long, value_enum, default_value = "qemu")]
        on: Emulator,
        /// CPU model for QEMU (`qemu-system-i386 -cpu help`).
        #[arg(long)]
        cpu: Option<String>,
        /// MiB of RAM, instead of what the description says.
        #[arg(long, value_parser = clap::value_parser!(u32).range(8..=3072))]
        memory: Option<u32>,
        /// Build the kernel with its debugger: a break on the serial line (Ctrl-A B) enters it.
        #[arg(long)]
        kdb: bool,
        /// Put a file of this machine into Linux's first root file system.
        #[arg(long, value_name = "HOST:GUEST")]
        file: Vec<linux::Insert>,
        /// Print what would be executed, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Build a bootable ISO image and print its path.
    Build {
        /// Its name: systems/NAME.toml.
        system: String,
    },
    /// List the systems.
    List,
    /// Run the tests whose names contain FILTER.
    Test {
        /// A part of a name.
        filter: Option<String>,
    },
    /// Count what the fast paths cost, by the machine model.
    Bench {
        /// Only figures whose names contain this.
        filter: Option<String>,
        /// Write the figures to this file, one flat JSON object; `-` is the standard output.
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Delete what was built.
    Clean,
    /// Say which tools are there.
    Doctor,
}

/// An emulator.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emulator {
    /// QEMU: fast.
    Qemu,
    /// Bochs: exact.
    Bochs,
}

/// The project's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn list() -> Result<()> {
    let mut names: Vec<_> =
        std::fs::read_dir(root().join("systems"))?.filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(String::from)).collect();
    names.sort();
    names.iter().for_each(|name| println!("{name}"));
    Ok(())
}

fn main() -> std::process::ExitCode {
    match carry_out() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("macadamia: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn carry_out() -> Result<()> {
    std::env::set_current_dir(root())?;
    match Arguments::parse().command {
        Command::Run { system, on, cpu, memory, kdb, file, dry_run } => {
            let plan = build::plan(&description::path(&system)?, build::Options { memory, kdb, cpu: cpu.as_deref(), inserts: &file })?;
            if dry_run {
                println!("{}\n{}", plan.command(), emulator::describe(&plan.built, on));
                return Ok(());
            }
            emulator::interactive(&plan.carry_out()?, on)
        }
        Command::Build { system } => {
            let built = build::system(&description::path(&system)?)?;
            println!("{}", emulator::iso(&built)?.display());
            Ok(())
        }
        Command::List => list(),
        Command::Test { filter } => test::all(filter.as_deref().unwrap_or("")),
        Command::Bench { filter, json } => bench::run(filter.as_deref().unwrap_or(""), json.as_deref()),
        Command::Clean => {
            for folder in ["target", "out"] {
                if std::path::Path::new(folder).exists() {
                    std::fs::remove_dir_all(folder)?;
                }
            }
            Ok(())
        }
        Command::Doctor => check::doctor(),
    }
}
