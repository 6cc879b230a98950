// SPDX-License-Identifier: GPL-2.0-or-later
//! What the plugin is told when it is loaded.

use crate::sampler::Sampling;
use model_core::{Checker, Cpu, Latency, Machine, PerLine, Setup, Symbols, TraceGeometry, arm};
use std::ops::Range;

/// The arguments.
#[derive(Default)]
pub struct Arguments {
    /// `out=FILE`: where the report goes.
    pub out: String,
    /// `server=FROM-TO`: where the code of the Linux server is.
    server: Range<u32>,
    /// `cpu=FILE` and, after it, `variant=NAME`: the CPU model whose TLBs and caches are modelled.
    cpu: Option<Cpu>,
    /// `check=on`: look for missing flushes, from the start.
    pub check: bool,
    /// `latency=on`: measure how long the kernel looks at no interrupts. Needs its symbols.
    latency: bool,
    /// `look=ADDRESS`: a read at this physical address looks for interrupts (ARM).
    pub look: Option<u32>,
    /// `user=FROM-TO`: what user code may access.
    user: Option<Range<u32>>,
    /// `window=LINEAR+BYTES`: where the kernel's part begins, and how much of physical memory appears there from 0 on.
    pub window: Range<u32>,
    /// `symbols=FILE`, any number of them: names for addresses in the report.
    symbols: Symbols,
    /// `sample=N` and, with it, `interval=N`, `bounds=FROM-TO`, and any number of `code=FROM-TO`: sample every
    /// N-th instruction, and count nothing.
    pub sampling: Sampling,
    /// What is in a line of the CPU model's trace cache.
    pub per_line: PerLine,
}

impl Arguments {
    /// From `NAME=VALUE` each; numbers are hexadecimal.
    pub fn parse(given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        for argument in given {
            arguments.take(&argument).map_err(|why| format!("`{argument}`: {why}"))?;
        }
        if arguments.out.is_empty() {
            return Err("no out=FILE for the report".into());
        }
        Ok(arguments)
    }

    fn take(&mut self, argument: &str) -> Result<(), String> {
        let read = |file: &str| std::fs::read_to_string(file).map_err(|error| error.to_string());
        match argument.split_once('=') {
            Some(("out", file)) => self.out = file.into(),
            Some(("server", range)) => self.server = from_to(range)?,
            Some(("user", range)) => self.user = Some(from_to(range)?),
            Some(("window", range)) => {
                let (linear, bytes) = numbers(range, '+')?;
                self.window = linear..linear.saturating_add(bytes);
            }
            Some(("check", "on")) => self.check = true,
            Some(("latency", "on")) => self.latency = true,
            Some(("look", address)) => self.look = Some(number(address)?),
            Some(("cpu", file)) => {
                self.model(Cpu::parse(&read(file)?).map_err(|error| error.to_string())?);
            }
            Some(("variant", name)) => {
                let variant = self.cpu.as_ref().and_then(|cpu| cpu.variant(name));
                self.model(variant.ok_or("the CPU model, which comes first, has no such variant")?);
            }
            Some(("symbols", file)) => self.symbols.add(&read(file)?),
            Some(("sample", every)) => self.sampling.every = u64::from(number(every)?),
            Some(("interval", id)) => self.sampling.interval = Some(number(id)? as u16),
            Some(("bounds", range)) => self.sampling.bounds = Some(from_to(range)?),
            Some(("code", range)) => self.sampling.code.push(from_to(range)?),
            _ => {
                let known = "out=, server=, user=, window=, check=on, latency=on, look=, cpu=, variant=, symbols=, sample=, interval=, bounds=, code=";
                return Err(format!("is none of {known}"));
            }
        }
        Ok(())
    }

    fn model(&mut self, cpu: Cpu) {
        self.per_line = cpu.geometry.trace.as_ref().map_or_else(PerLine::default, TraceGeometry::per_line);
        self.cpu = Some(cpu);
    }

    /// Writes what there is to report to its file.
    pub fn write(&self, report: std::io::Result<String>) {
        if let Err(error) = report.and_then(|json| std::fs::write(&self.out, json)) {
            eprintln!("model: the report cannot be written to {}: {error}", self.out);
        }
    }

    /// What the counter of ARM is to do; takes the symbols along. What user code may access is not looked at there: the emulator
    /// has the rights of pages and domains.
    ///
    /// # Errors
    /// Samples are not taken there. The latency needs to know what a look is.
    pub fn arm_setup(&mut self) -> Result<arm::Setup, String> {
        if self.sampling.every > 0 {
            return Err("samples are taken of IA-32 only".into());
        }
        if self.latency && self.look.is_none() {
            return Err("latency=on needs look=ADDRESS of the interrupt controller's status".into());
        }
        self.symbols.add(arm::VECTOR_NAMES);
        // Without a CPU model: some processor makes a line for a write that misses.
        let allocates = self.cpu.as_ref().is_none_or(|cpu| cpu.geometry.l1d.write_allocate);
        Ok(arm::Setup {
            machine: self.cpu.as_ref().map(|cpu| arm::Machine::new(&cpu.geometry)),
            checker: self.check.then(|| arm::Checker::new(allocates)),
            server: self.server.clone(),
            kernel: self.window.start,
            latency: self.latency.then(Latency::arm),
            symbols: std::mem::take(&mut self.symbols),
        })
    }

    /// What the counter is to do; takes the symbols along.
    pub fn setup(&mut self) -> Setup {
        Setup {
            machine: self.cpu.as_ref().map(|cpu| Machine::new(&cpu.geometry)),
            checker: self.check.then(Checker::default),
            server: self.server.clone(),
            kernel: self.window.start,
            window: self.user.clone(),
            latency: self.latency.then(|| Latency::new(&self.symbols)),
            symbols: std::mem::take(&mut self.symbols),
        }
    }
}

/// Two hexadecimal numbers with a character between them.
fn numbers(text: &str, between: char) -> Result<(u32, u32), String> {
    let (first, second) = text.split_once(between).ok_or_else(|| format!("no `{between}` between two numbers"))?;
    Ok((number(first)?, number(second)?))
}

fn number(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 16).map_err(|error| format!("`{text}`: {error}"))
}

fn from_to(text: &str) -> Result<Range<u32>, String> {
    let (from, to) = numbers(text, '-')?;
    Ok(from..to)
}
