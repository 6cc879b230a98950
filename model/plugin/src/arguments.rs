// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments.

use model_core::powerpc::Function;
use model_core::{Cpu, Latency, PerLine, Rule, Setup, Symbols, TraceGeometry};
use std::ops::Range;

/// The arguments.
#[derive(Default)]
pub struct Arguments {
    /// `out=FILE`: where the report goes.
    pub out: String,
    /// `server=FROM-TO`: where the code of the Linux server is.
    server: Range<u64>,
    /// `cpu=FILE` and, after it, `variant=NAME`: the CPU model whose TLBs and caches are modelled.
    cpu: Option<Cpu>,
    /// `check=on`: look for missing flushes, from the start.
    pub check: bool,
    /// `vsid=NAME`: what makes the kernel's VSIDs, as its boot word says (PowerPC).
    pub vsid: Function,
    /// `until=RULE`, any number of them: end the machine when one of these rules was broken once.
    pub until: Vec<Rule>,
    /// `latency=on`: measure how long the kernel does not check for interrupts. Needs its symbols.
    pub latency: bool,
    /// `look=ADDRESS`: a read at this physical address looks for interrupts (ARM, Alpha).
    pub look: Option<u64>,
    /// `user=FROM-TO`: what user code may access.
    user: Option<Range<u32>>,
    /// `window=LINEAR+BYTES`: where the kernel's part begins, and how much of physical memory
    /// appears there from 0 on.
    pub window: Range<u32>,
    /// `symbols=FILE`, any number of them: names for addresses in the report.
    pub symbols: Symbols,
    /// `sample=N` and, with it, `interval=N`, `bounds=FROM-TO`, and any number of `code=FROM-TO`:
    /// sample every N-th instruction, and count nothing.
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
            Some(("vsid", name)) => self.vsid = name.parse()?,
            Some(("until", rule)) => {
                self.until.push(rule.parse().map_err(|error| format!("{error}"))?)
            }
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
            Some(("sample", every)) => self.sampling.every = number(every)?,
            Some(("interval", id)) => self.sampling.interval = Some(number::<u32>(id)? as u16),
            Some(("bounds", range)) => self.sampling.bounds = Some(from_to(range)?),
            Some(("code", range)) => self.sampling.code.push(from_to(range)?),
            _ => {
                let known = "out=, server=, user=, window=, check=on, vsid=, until=, latency=on, look=, cpu=, variant=, symbols=, sample=, interval=, bounds=, code=";
                return Err(format!("is none of {known}"));
            }
        }
        Ok(())
    }

    fn model(&mut self, cpu: Cpu) {
        self.per_line =
            cpu.geometry.trace.as_ref().map_or_else(PerLine::default, TraceGeometry::per_line);
        self.cpu = Some(cpu);
    }

    /// What the latency needs of the kernel where it is told of interrupts by reading a register.
    /// Fails if it is to be measured and that is missing.
    pub fn check_look(&self) -> Result<(), String> {
        if self.latency && self.look.is_none() {
            return Err("latency=on needs look=ADDRESS of the interrupt controller's status".into());
        }
        Ok(())
    }

    /// Fails if TLBs and caches are to be modelled, or flushes checked.
    pub fn check_latency_only(&self) -> Result<(), String> {
        if self.cpu.is_some() || self.check {
            return Err("of this processor only the latency is measured".into());
        }
        Ok(())
    }

    /// Writes what there is to report to its file.
    pub fn write(&self, report: std::io::Result<String>) {
        if let Err(error) = report.and_then(|json| std::fs::write(&self.out, json)) {
            eprintln!("model: the report cannot be written to {}: {error}", self.out);
        }
    }

    /// What the counter is to do, with a processor's machine, checker and latency; takes the
    /// symbols along.
    pub fn setup<M, C>(
        &mut self,
        machine: impl FnOnce(&Cpu) -> M,
        checker: impl FnOnce(Option<&Cpu>) -> C,
        latency: impl FnOnce(&Symbols) -> Latency,
    ) -> Setup<M, C> {
        Setup {
            machine: self.cpu.as_ref().map(machine),
            checker: self.check.then(|| checker(self.cpu.as_ref())),
            server: self.server.clone(),
            kernel: self.window.start,
            window: self.user.clone(),
            latency: self.latency.then(|| latency(&self.symbols)),
            apart: None,
            until: std::mem::take(&mut self.until),
            symbols: std::mem::take(&mut self.symbols),
        }
    }
}

/// What to sample. Without an interval and without bounds everything is.
#[derive(Clone, Default)]
pub struct Sampling {
    /// Instructions from one sample to the next.
    pub every: u64,
    /// Only between the markers of this interval.
    pub interval: Option<u16>,
    /// Only from the execution of one address in a component to that of the other.
    pub bounds: Option<Range<u32>>,
    /// Where code is: what of a stack is kept.
    pub code: Vec<Range<u32>>,
}

/// Two hexadecimal numbers with a character between them.
fn numbers<T: TryFrom<u64>>(text: &str, between: char) -> Result<(T, T), String> {
    let (first, second) =
        text.split_once(between).ok_or_else(|| format!("no `{between}` between two numbers"))?;
    Ok((number(first)?, number(second)?))
}

fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = u64::from_str_radix(text, 16).map_err(|error| format!("`{text}`: {error}"))?;
    T::try_from(number).map_err(|_| format!("`{text}` is too large"))
}

fn from_to<T: TryFrom<u64>>(text: &str) -> Result<Range<T>, String> {
    let (from, to) = numbers(text, '-')?;
    Ok(from..to)
}
