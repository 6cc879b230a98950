// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processors that QEMU can emulate: the option `--cpu`.

use crate::catalogue::near;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// Looks whether QEMU has a processor; features may follow its name.
///
/// # Errors
/// If it has none of this name, or cannot be asked.
pub fn check(program: &str, cpu: &str) -> Result<()> {
    let output = Command::new(program).args(["-cpu", "help"]).output();
    let output = output.with_context(|| {
        format!("cannot run {program}: `./macadamia doctor` says what is missing")
    })?;
    is_known(program, cpu, &String::from_utf8_lossy(&output.stdout))
}

/// The same by what QEMU lists.
fn is_known(program: &str, cpu: &str, list: &str) -> Result<()> {
    let wanted = cpu.split(',').next().unwrap_or(cpu);
    let lines = list.lines().skip(1).take_while(|line| !line.trim().is_empty());
    let mut known = lines.filter_map(|line| line.split_whitespace().next());
    if known.clone().any(|name| name == wanted) {
        return Ok(());
    }
    let meant = near(wanted, &mut known)
        .map_or_else(|| ":".into(), |name| format!("; did you mean `{name}`?"));
    bail!("QEMU has no processor `{wanted}`{meant} `{program} -cpu help` lists them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_qemu() {
        let list = "Available CPUs:\n  486   (alias configured by machine type)\n  pentium3-v1\n  pentium3   (alias)\n\nRecognized CPUID flags:\n  3dnow abm\n";
        let said = |cpu: &str| is_known("qemu", cpu, list).err().map(|error| error.to_string());
        assert_eq!((said("486"), said("pentium3,-fxsr")), (None, None));
        assert_eq!(
            said("foo").as_deref(),
            Some("QEMU has no processor `foo`: `qemu -cpu help` lists them")
        );
        let meant =
            "QEMU has no processor `pentum3`; did you mean `pentium3`? `qemu -cpu help` lists them";
        assert_eq!(said("pentum3").as_deref(), Some(meant));
        assert!(said("3dnow").is_some());
    }
}
