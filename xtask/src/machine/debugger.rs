// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's connection for debuggers (*Debugging with GDB*, appendix E, remote serial protocol): it
//! stops a machine at an instruction, and does there what no program can. Only x86-64's registers
//! are known here.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that QEMU may take until it listens, and until it answers: a machine that is to stop
/// at an instruction may run that long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts to reach it.
const POLL: Duration = Duration::from_millis(20);

/// What stops a machine: it is no message.
const INTERRUPT: u8 = 3;
/// Numbers of registers.
const RAX: u32 = 0;
const RCX: u32 = 2;
const RDX: u32 = 3;
const RIP: u32 = 16;
/// The instruction that writes a model-specific register.
const WRMSR: [u8; 2] = [0x0f, 0x30];

/// The connection to a machine, which stands still while it is made.
pub struct Debugger {
    line: BufReader<UnixStream>,
}

impl Debugger {
    /// QEMU's arguments for a connection at this socket.
    pub fn arguments(socket: &Path) -> [String; 4] {
        let path = socket.display();
        let line = format!("socket,id=debugger,path={path},server=on,wait=off");
        ["-chardev".into(), line, "-gdb".into(), "chardev:debugger".into()]
    }

    /// Connects to a machine that was started just now with these arguments.
    ///
    /// # Errors
    /// If QEMU does not listen in time, or does not answer.
    pub fn connect(socket: &Path) -> Result<Self> {
        let start = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(_) if start.elapsed() <= PATIENCE => std::thread::park_timeout(POLL),
                Err(error) => bail!("QEMU does not listen at {}: {error}", socket.display()),
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut debugger = Self { line: BufReader::new(stream) };
        // QEMU tells single registers only to who asks for their description.
        let known = debugger.ask("qXfer:features:read:target.xml:0,400")?;
        ensure!(known.starts_with(['l', 'm']), "QEMU does not describe its registers: `{known}`");
        Ok(debugger)
    }

    fn send(&mut self, request: &str) -> Result<()> {
        write!(self.line.get_mut(), "${request}#{:02x}", sum(request.as_bytes()))
            .context("QEMU has closed the connection")
    }

    fn answer(&mut self) -> Result<String> {
        // Acknowledgements come before it.
        let (mut before, mut answer, mut check) = (Vec::new(), Vec::new(), [0; 2]);
        self.line.read_until(b'$', &mut before)?;
        self.line.read_until(b'#', &mut answer)?;
        self.line.read_exact(&mut check).context("QEMU did not answer")?;
        answer.pop();
        let expected = format!("{:02x}", sum(&answer));
        ensure!(check == expected.as_bytes(), "QEMU's answer was damaged on the way");
        self.line.get_mut().write_all(b"+")?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn ask(&mut self, request: &str) -> Result<String> {
        self.send(request)?;
        self.answer()
    }

    /// Has something done that has no result.
    fn order(&mut self, request: &str) -> Result<()> {
        let answer = self.ask(request)?;
        ensure!(answer == "OK", "QEMU refused `{request}`: `{answer}`");
        Ok(())
    }

    /// Lets the machine run until it stops.
    fn until_stop(&mut self, request: &str) -> Result<()> {
        let answer = self.ask(request).context("the machine did not stop")?;
        ensure!(answer.starts_with(['T', 'S']), "the machine did not stop: `{answer}`");
        Ok(())
    }

    /// Lets the machine run until the instruction at this address is due.
    ///
    /// # Errors
    /// If it does not get there in time.
    pub fn run_to(&mut self, address: u64) -> Result<()> {
        self.order(&format!("Z1,{address:x},1"))?;
        self.until_stop("c").with_context(|| format!("at {address:#x}"))?;
        self.order(&format!("z1,{address:x},1"))?;
        let at = self.register(RIP)?;
        ensure!(at == address, "the machine stopped at {at:#x}, not at {address:#x}");
        Ok(())
    }

    /// Lets the machine run.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn run(&mut self) -> Result<()> {
        self.send("c")
    }

    /// Stops a machine that runs.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn stop(&mut self) -> Result<()> {
        self.line.get_mut().write_all(&[INTERRUPT])?;
        let answer = self.answer()?;
        ensure!(answer.starts_with(['T', 'S']), "the machine did not stop: `{answer}`");
        Ok(())
    }

    /// Has a command of QEMU's monitor carried out.
    ///
    /// # Errors
    /// If there is none.
    pub fn monitor(&mut self, command: &str) -> Result<()> {
        let mut answer = self.ask(&format!("qRcmd,{}", hex(command.as_bytes())))?;
        // What it prints comes first.
        while answer != "OK" {
            ensure!(answer.starts_with('O'), "QEMU refused `{command}`: `{answer}`");
            answer = self.answer()?;
        }
        Ok(())
    }

    fn register(&mut self, number: u32) -> Result<u64> {
        let answer = self.ask(&format!("p{number:x}"))?;
        let value = u64::from_str_radix(&answer, 16);
        value.map(u64::swap_bytes).with_context(|| format!("register {number}: `{answer}`"))
    }

    fn set_register(&mut self, number: u32, value: u64) -> Result<()> {
        self.order(&format!("P{number:x}={}", hex(&value.to_le_bytes())))
    }

    /// Executes `wrmsr` where the machine stands, as if it had been done before.
    ///
    /// # Errors
    /// If the processor does not take the value.
    pub fn write_msr(&mut self, register: u32, value: u64) -> Result<()> {
        const SAVED: [u32; 4] = [RAX, RCX, RDX, RIP];
        let mut saved = [0; SAVED.len()];
        for (number, value) in SAVED.into_iter().zip(&mut saved) {
            *value = self.register(number)?;
        }
        let at = saved[3];
        let code = self.ask(&format!("m{at:x},{:x}", WRMSR.len()))?;
        self.order(&format!("M{at:x},{:x}:{}", WRMSR.len(), hex(&WRMSR)))?;
        for (number, value) in
            [(RAX, value & 0xffff_ffff), (RCX, register.into()), (RDX, value >> 32)]
        {
            self.set_register(number, value)?;
        }
        self.until_stop("s")?;
        let after = self.register(RIP)?;
        ensure!(after == at + WRMSR.len() as u64, "`wrmsr` of {register:#x} came to {after:#x}");
        self.order(&format!("M{at:x},{:x}:{code}", WRMSR.len()))?;
        SAVED
            .into_iter()
            .zip(saved)
            .try_for_each(|(number, value)| self.set_register(number, value))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a message is checked by.
fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::{Debugger, hex, sum};
    use std::io::{BufReader, Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn messages_have_their_sum() {
        assert_eq!((sum(b"OK"), sum(b""), hex(b"nmi")), (0x9a, 0, "6e6d69".to_owned()));
    }

    #[test]
    fn answers_come_after_acknowledgements() {
        let (ours, mut qemus) = UnixStream::pair().unwrap();
        let mut debugger = Debugger { line: BufReader::new(ours) };
        qemus.write_all(b"+$4f#9a+$0807060504030201#24+$OK#9a").unwrap();
        assert!(debugger.monitor("nmi").is_err(), "neither output nor the end of it");
        assert_eq!(debugger.register(16).unwrap(), 0x0102_0304_0506_0708);
        debugger.set_register(0, 1).unwrap();
        qemus.write_all(b"+$O0a#e0$OK#9a$OK#9b").unwrap();
        debugger.monitor("nmi").unwrap();
        assert!(debugger.answer().is_err(), "a wrong sum");
        drop(debugger);
        let mut said = String::new();
        qemus.read_to_string(&mut said).unwrap();
        assert!(said.contains("$p10#d1+") && said.contains("$P0=0100000000000000#"), "{said}");
    }
}
