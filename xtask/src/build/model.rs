// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine model's plugin for QEMU: how it is built, and what QEMU tells it.

use crate::linux::server::Layout;
use crate::machine::words;
use crate::process::cargo;
use crate::process::once::Once;
use crate::process::tether::run_group;
use anyhow::Result;
use model_core::Rule;
use std::path::{Path, PathBuf};

/// The machine model's plugin for QEMU, and what it is to look at (docs/model.md).
#[derive(Clone)]
pub struct Model {
    /// The plugin.
    pub plugin: PathBuf,
    /// The CPU model whose TLBs and caches are modelled: `model/cpus/NAME.toml`, or a variant of it
    /// as `NAME:VARIANT`.
    pub cpu: Option<String>,
    /// Whether it looks for missing flushes, from the machine's start.
    pub check: bool,
    /// Rules of which one that is broken is enough: then it ends the machine.
    pub until: Vec<Rule>,
    /// Arguments that make it take samples instead of counting (`profile`).
    pub sampling: Option<String>,
}

impl Model {
    /// The argument that makes QEMU load it. `report` is where its report goes, `place` where the
    /// kernel's part of the linear addresses begins and how much of physical memory appears there,
    /// `server` where a watched server is, `symbols` the kernel's, and where it checks for
    /// interrupts.
    pub fn argument(
        &self,
        report: &Path,
        place: (u32, u32),
        server: Option<Layout>,
        symbols: Option<(&Path, Option<u64>)>,
    ) -> String {
        let (base, bytes) = place;
        let mut text =
            format!("{},out={},window={base:x}+{bytes:x}", self.plugin.display(), report.display());
        if let Some(range) = server.map(|server| server.range()) {
            text += &format!(",server={:08x}-{:08x}", range.start, range.end);
        }
        if let Some(cpu) = &self.cpu {
            let (cpu, variant) = cpu
                .split_once(':')
                .map_or((cpu.as_str(), None), |(cpu, variant)| (cpu, Some(variant)));
            text += &format!(",cpu={}", Self::cpu_file(cpu).display());
            text += &variant.map_or_else(String::new, |variant| format!(",variant={variant}"));
        }
        if self.check {
            // Processes end where the server's window begins; those of Linux alone at 3 GiB, and so
            // does what the tool maps for others. Of x86-64 it is not looked at.
            let end = server.map_or(0xc000_0000, |server| server.window);
            text += &format!(",check=on,user=0-{end:08x}");
            // Whose a VSID is the checker tells by what made it.
            let words = words::words();
            if let Some(name) = words.split_whitespace().find_map(|word| word.strip_prefix("vsid="))
            {
                text += &format!(",vsid={name}");
            }
        }
        self.until.iter().for_each(|rule| text += &format!(",until={rule:?}"));
        if let Some(sampling) = &self.sampling {
            text += &format!(",{sampling}");
        }
        if let Some((symbols, look)) = symbols {
            // Where the symbols are known the kernel is ours, which opens interrupts only by
            // `sti`, or checks for them.
            text += &format!(",symbols={},latency=on", symbols.display());
            if let Some(address) = look {
                text += &format!(",look={address:08x}");
            }
        }
        text
    }

    /// The file of a CPU model.
    pub fn cpu_file(name: &str) -> PathBuf {
        Path::new("model/cpus").join(name).with_extension("toml")
    }
}

/// Builds the machine model's plugin for QEMU, once in a run. It counts what needs no CPU model and
/// checks nothing.
pub fn model() -> Result<Model> {
    static BUILT: Once<()> = Once::new();
    BUILT.get("model-plugin", || {
        run_group(cargo().args([
            "build",
            "--quiet",
            "--release",
            "--target-dir",
            "target",
            "-p",
            "model-plugin",
        ]))
    })?;
    Ok(Model {
        plugin: "./target/release/libmodel_plugin.so".into(),
        cpu: None,
        check: false,
        until: Vec::new(),
        sampling: None,
    })
}
