// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the command line may say.

use crate::guest::batch;
use crate::linux::order::LAYOUTS;
use crate::linux::root::Insert;
use crate::machine::accel;
use crate::machine::folders::Folder;
use crate::machine::network::{Forward, Nic};
use crate::machine::processor::MOST_MIB;
use crate::machine::screen::{self, Wanted};
use crate::machine::spaces::Spaces;
use crate::machine::{Emulator, board};
use crate::{catalogue, description, profile, test};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Macadamia: build, run and test systems.
#[derive(Parser)]
#[command(name = "macadamia", bin_name = "./macadamia", version)]
pub struct Arguments {
    /// The board to build for and to run on: boards/NAME.toml.
    #[arg(long, global = true, value_name = "NAME", default_value = board::DEFAULT)]
    pub board: String,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the tool does.
#[derive(Subcommand)]
pub enum Command {
    /// Build a system and run it; Ctrl-A X leaves.
    Run {
        /// Its name, of systems/NAME.toml, or a description's path.
        #[arg(default_value = "linux", value_parser = system)]
        system: String,
        /// Where to run it.
        #[arg(long, value_enum, default_value = "qemu")]
        on: Emulator,
        /// CPU model for QEMU, as its `-cpu help` lists them.
        #[arg(long)]
        cpu: Option<String>,
        /// What executes instructions in QEMU: the host's processor by KVM, or QEMU (tcg).
        #[arg(long, value_enum, default_value = "tcg")]
        accel: accel::Wanted,
        /// MiB of RAM, instead of what the description says.
        #[arg(long, value_parser = clap::value_parser!(u32).range(8..=i64::from(MOST_MIB)))]
        memory: Option<u32>,
        /// How QEMU attaches the disks, instead of what the description says.
        #[arg(long, value_enum)]
        disk: Option<description::Interface>,
        /// Whether Linux runs in the spaces of its processes, instead of what the machine allows.
        #[arg(long, value_enum)]
        spaces: Option<Spaces>,
        /// Words of the kernel's command line, such as `contexts=64` on PowerPC.
        #[arg(long, value_name = "WORDS")]
        words: Option<String>,
        /// Build the kernel with its debugger: a break on the serial line (Ctrl-A B) enters it.
        #[arg(long)]
        kdb: bool,
        /// Put a file of this machine into Linux's root file system.
        #[arg(long, value_name = "HOST:GUEST")]
        file: Vec<Insert>,
        /// Let Linux see a folder of this machine at a path of its own, read-only, or to be written
        /// with `:rw`; may be given four times, on `pc` and `pc64` in QEMU. If there are several
        /// Linuxes, the first one sees it.
        #[arg(long, value_name = "HOST:GUEST[:ro|rw]")]
        share: Vec<Folder>,
        /// Run this command in Linux's shell, without a terminal, and end. `run` has its output and
        /// its exit status (124 after --timeout, 125 if Linux failed).
        #[arg(long, value_name = "COMMAND", conflicts_with = "dry_run")]
        batch: Option<String>,
        /// Which Linux runs the command of --batch, if there are several.
        #[arg(long, value_name = "NAME", requires = "batch")]
        component: Option<String>,
        /// After the command of --batch, copy a file out of Linux.
        #[arg(long, value_name = "GUEST:HOST", requires = "batch")]
        get: Vec<batch::Fetch>,
        /// The most seconds that --batch may take.
        #[arg(long, value_name = "SECONDS", requires = "batch")]
        timeout: Option<u64>,
        /// Forward a port of this machine's 127.0.0.1 to a port of the system, in QEMU; may be
        /// given several times. It is a port of TCP, or of UDP after `udp/`: `--forward 2222:22
        /// --forward udp/5353:53`. If several components share the card, the address of one may be
        /// given, as in `2222:10.0.2.16:22`; otherwise it is the first address that DHCP assigned
        /// (10.0.2.15).
        #[arg(long, value_name = "HOST:[ADDRESS:]GUEST", conflicts_with = "no_network")]
        forward: Vec<Forward>,
        /// The network card that QEMU has, if the description asks for a network; Bochs always has
        /// an e1000.
        #[arg(long, value_enum, conflicts_with = "no_network")]
        card: Option<Nic>,
        /// Run without the network card that the description asks for.
        #[arg(long)]
        no_network: bool,
        /// Give each Linux a part of the machine's screen, and show the screen: in a window if this
        /// QEMU can open one, else by VNC on a port of 127.0.0.1, which is printed; Bochs has a
        /// window of X. `--screen=vnc` uses VNC; `--screen=FILE.png` writes a picture when the
        /// command of --batch has ended. If there is a system `NAME-screen`, it runs instead of
        /// NAME.
        #[arg(
            long,
            value_name = "vnc|FILE.png",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = screen::USUAL
        )]
        screen: Option<Wanted>,
        /// Print what would be executed, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Build what a machine boots from, an ISO image or images for U-Boot, and print where it is.
    Build {
        /// Its name, of systems/NAME.toml, or a description's path.
        #[arg(value_parser = system)]
        system: String,
        /// Only print the description, with everything that it leaves to the board and to this
        /// tool. The output is a description of the same system.
        #[arg(long)]
        explain: bool,
    },
    /// Run a system that has the web server `http`, and show a table of its components and its
    /// network every second; Ctrl-C leaves.
    Top {
        /// Its name: systems/NAME.toml.
        #[arg(default_value = "net")]
        system: String,
        /// Forward a port of this machine to a port of the system, as `run` does.
        #[arg(long, value_name = "HOST:[ADDRESS:]GUEST")]
        forward: Vec<Forward>,
        /// End after this number of tables.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        count: Option<u32>,
    },
    /// List the systems, with a sentence about each.
    List {
        /// List the tests instead.
        #[arg(long)]
        tests: bool,
    },
    /// Run the tests whose names contain FILTER.
    Test {
        /// A name, or a part of names.
        filter: Option<String>,
        /// Also run the slow tests, such as those that install Debian. A slow test also runs if it is
        /// named in full.
        #[arg(long)]
        all: bool,
        /// Run only this part of all tests. Results are kept under the commit: a test that ran
        /// before at this commit does not run again.
        #[arg(long, value_name = "I/N", requires = "all", conflicts_with = "filter")]
        shard: Option<test::Shard>,
        /// Also run tests that passed before with the same inputs.
        #[arg(long, conflicts_with_all = ["shard", "table"])]
        fresh: bool,
        /// Write the results that are kept here into docs/results.md.
        #[arg(long, requires = "all", conflicts_with_all = ["filter", "shard"])]
        table: bool,
        /// Whether Linux runs in the spaces of its processes, instead of what the machine allows.
        #[arg(long, value_enum, conflicts_with_all = ["shard", "table"])]
        spaces: Option<Spaces>,
        /// Words of the kernel's command line, such as `contexts=64` on PowerPC.
        #[arg(long, value_name = "WORDS", conflicts_with_all = ["shard", "table"])]
        words: Option<String>,
    },
    /// Measure what the papers measured, and write the benchmark book (docs/bench.md).
    Bench {
        /// Measure only the section of this name, or those whose names, or figures' names, contain
        /// this. `wall` measures operations of Linux, here and on Linux alone, by the clock, in
        /// QEMU; `wall-net` does so for streams of TCP, `wall-echo` for datagrams. `hash` shows how
        /// VSIDs fill PowerPC's hashed table. `order` makes the list linux/order/functions again,
        /// by which functions of Linux lie next to each other, here and on Linux alone.
        filter: Option<String>,
        /// Write the figures to this file, one flat JSON object; `-` is the standard output.
        #[arg(long, value_name = "FILE", value_parser = output)]
        json: Option<PathBuf>,
        /// Also write the tables of what was measured to docs/figures.md, and keep those of other
        /// sections.
        #[arg(long)]
        table: bool,
        /// Measure what depends on where Linux's code lies with this number of layouts; the figures
        /// are medians. The default is 5 for the whole book, and 1 for a part.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(LAYOUTS)))]
        layouts: Option<u8>,
        /// Whether Linux runs in the spaces of its processes, instead of what the machine allows.
        #[arg(long, value_enum, conflicts_with = "table")]
        spaces: Option<Spaces>,
    },
    /// Profile a system that ends by itself, or a command in its Linux: by function and call path,
    /// as text and as a flame graph, in out/SYSTEM/profile.
    Profile {
        /// Its name, of systems/NAME.toml, or a description's path.
        #[arg(value_parser = system)]
        system: String,
        /// Profile this command in Linux's shell; its output is this command's output.
        #[arg(long, value_name = "COMMAND")]
        batch: Option<String>,
        /// Put a file of this machine into Linux's root file system.
        #[arg(long, value_name = "HOST:GUEST")]
        file: Vec<Insert>,
        /// Profile only what is executed between the markers of this interval.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=0xfff))]
        interval: Option<u16>,
        /// Instructions from one sample to the next; a prime number does not fall into step with a
        /// loop.
        #[arg(long, value_name = "N", default_value_t = profile::EVERY, value_parser = clap::value_parser!(u32).range(1..))]
        every: u32,
        /// The longest that it may take, in seconds of the emulator's own time; 600 if absent.
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
    },
    /// Print the machine model's constants with their sources, and published figures next to the
    /// model's.
    Model {
        /// CPU model: model/cpus/NAME.toml; all of them if absent.
        cpu: Option<String>,
    },
    /// Write docs/system-calls.md and docs/contract.md from the comments of the source, and correct
    /// the numbers that documents quote.
    Manual,
    /// Build the book of docs/, and print where its first page is: docs/book/index.html.
    Book {
        /// Add the documentation of all crates, for the host and for each board, and print where the
        /// list of them is: docs/book/rust/index.html. It takes some minutes.
        #[arg(long)]
        rust: bool,
    },
    /// Delete what was built.
    Clean,
    /// Say which tools are there.
    Doctor,
}

/// A system by its name, or a description from the caller's folder.
fn system(name: &str) -> std::io::Result<String> {
    if catalogue::is_path(name) {
        Ok(std::path::absolute(name)?.to_string_lossy().into_owned())
    } else {
        Ok(name.into())
    }
}

/// A file to write, from the caller's folder; `-` is no file.
fn output(path: &str) -> std::io::Result<PathBuf> {
    if path == "-" { Ok(path.into()) } else { std::path::absolute(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages;
    use clap::CommandFactory;
    use clap::error::ErrorKind;
    use std::path::Path;

    /// Helps of a command and of all below it.
    fn helps(command: &mut clap::Command) -> Vec<String> {
        let own = command.render_long_help().to_string();
        std::iter::once(own).chain(command.get_subcommands_mut().flat_map(helps)).collect()
    }

    #[test]
    fn help_names_the_script() {
        let mut command = Arguments::command();
        command.build();
        let helps = helps(&mut command);
        assert!(helps.len() > 8, "{} helps", helps.len());
        for help in helps {
            assert!(help.contains("Usage: ./macadamia") && !help.contains("xtask"), "{help}");
        }
        let error = Arguments::command()
            .try_get_matches_from(["target/debug/xtask", "run", "--on", "paper"])
            .map(|_| ());
        let error = error.map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(
            error.contains("[possible values: qemu, bochs]") && !error.contains("xtask"),
            "{error}"
        );
        let error = Arguments::command()
            .try_get_matches_from(["target/debug/xtask", "model", "--on"])
            .map(|_| ());
        let error = error.map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(error.contains("Usage: ./macadamia model"), "{error}");
    }

    #[test]
    fn a_file_to_write_is_where_the_caller_is() {
        assert!(
            output("figures.json")
                .is_ok_and(|path| path.is_absolute() && path.ends_with("xtask/figures.json"))
        );
        assert_eq!(output("-").ok(), Some(PathBuf::from("-")));
    }

    /// The words of a command, which may be in quotes.
    fn words(command: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for char in command.chars() {
            match (quote, char) {
                (Some(open), _) if char == open => quote = None,
                (None, '\'' | '"') => quote = Some(char),
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().expect("it begins with one").push(char),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// What the manual says can be typed can be typed.
    #[test]
    fn commands_of_the_manual_are_ours() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project");
        let pages = std::fs::read_dir(root.join("docs"))
            .expect("a manual")
            .map(|page| page.expect("a page").path());
        let pages = pages
            .chain(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|page| root.join(page)));
        let (mut seen, mut wrong) = (0, Vec::new());
        for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md"))
        {
            let text = std::fs::read_to_string(&page).expect("a page");
            for command in pages::commands(&text) {
                // What stands for something else is in capitals or brackets; a shell has its own
                // words.
                let stands = |word: &str| {
                    word.len() > 1
                        && word
                            .chars()
                            .all(|char| char.is_ascii_uppercase() || "-=/[].".contains(char))
                };
                let words = words(command);
                if words
                    .iter()
                    .any(|word| stands(word) || word.contains(['<', '>', '|', '[', '\n']))
                {
                    continue;
                }
                let parsed =
                    Arguments::try_parse_from(std::iter::once("macadamia".into()).chain(words));
                // A command may be named without what it needs.
                let is_fine = |error: &clap::Error| {
                    matches!(
                        error.kind(),
                        ErrorKind::DisplayHelp | ErrorKind::MissingRequiredArgument
                    )
                };
                if let Some(error) = parsed.err().filter(|error| !is_fine(error)) {
                    wrong.push(format!("{}: {command}: {error}", page.display()));
                }
                seen += 1;
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 100, "{seen} commands");
    }
}
