// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel debugger (feature `kdb`): a break on the first serial line stops the machine, and the
//! debugger then takes commands from that line. With this feature the kernel records every entry,
//! so it uses no fast paths.

use crate::platform::Platform;
use abi::Word;
use core::fmt::{Result, Write};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use kcore::{Kernel, Port};

/// What a processor and its board supply to the debugger.
pub trait Debugged: Platform {
    /// The port of the processor.
    type Port: Port;
    /// The names of the two registers of an [`Entry`].
    const REGISTERS: [&'static str; 2];

    /// Ticks of a clock: the one that is easiest to read.
    fn time() -> u64;
    /// Waits for a byte from the first serial line.
    fn get() -> u8;

    /// Writes what the port has counted since boot.
    ///
    /// # Errors
    /// Those of the writer.
    fn show_counts(_: &Kernel<Self::Port>, out: &mut dyn Write) -> Result {
        writeln!(out, "the port of this processor counts nothing")
    }
}

/// An entry of the kernel.
pub struct Entry {
    /// The number of the thread that entered.
    pub thread: u32,
    /// Why it entered.
    pub vector: Word,
    /// Two of its registers.
    pub registers: [Word; 2],
    /// Where the thread continues.
    pub pc: Word,
}

/// Digits of a word.
const DIGITS: usize = size_of::<Word>() * 2;
/// How many entries are kept.
const EVENTS: usize = 256;

/// The last entries, the oldest overwritten first: time (low, high), thread, vector, two registers,
/// PC.
static TRACE: [[AtomicUsize; 7]; EVENTS] = [const { [const { AtomicUsize::new(0) }; 7] }; EVENTS];
/// Entries so far.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Records an entry.
pub fn trace<D: Debugged>(entry: &Entry) {
    let Entry { thread, vector, registers: [first, second], pc } = *entry;
    let time = D::time();
    let parts = [time as u32, (time >> 32) as u32, thread].map(|part| part as usize);
    let words = [vector, first, second, pc].map(|word| word as usize);
    let number = COUNT.load(Ordering::Relaxed);
    COUNT.store(number.wrapping_add(1), Ordering::Relaxed);
    TRACE[number as usize % EVENTS]
        .iter()
        .zip(parts.into_iter().chain(words))
        .for_each(|(to, from)| to.store(from, Ordering::Relaxed));
}

fn show_trace<D: Debugged>(out: &mut dyn Write) -> Result {
    let [first, second] = D::REGISTERS;
    writeln!(out, "time              thread  vector  {first:DIGITS$}  {second:DIGITS$}  pc")?;
    let count = COUNT.load(Ordering::Relaxed) as usize;
    for number in count.saturating_sub(EVENTS)..count {
        let [low, high, thread, vector, first, second, pc] =
            TRACE[number % EVENTS].each_ref().map(|word| word.load(Ordering::Relaxed));
        let time = (high as u64) << 32 | low as u64;
        writeln!(
            out,
            "{time:16}  {thread:6}  {vector:#6x}  {first:0DIGITS$x}  {second:0DIGITS$x}  {pc:0DIGITS$x}"
        )?;
    }
    Ok(())
}

const HELP: &str = "t threads  s spaces and attachments  c ADDRESS capabilities of a space  q ready queues\n\
                    r last entries  n what the port has counted  k panic  x end the machine  g go on";

/// Takes commands until `g`.
pub fn enter<D: Debugged>(kernel: &mut Kernel<D::Port>) {
    let mut out = D::Console::default();
    // Writing to the serial line cannot fail.
    let _ = writeln!(out, "\nkernel debugger; h helps");
    loop {
        let _ = write!(out, "kdb> ");
        let mut buffer = [0; 32];
        let line = read_line::<D>(&mut out, &mut buffer);
        let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
        let _ = match command {
            "t" => kernel.show_threads(&mut out),
            "s" => kernel.show_spaces(&mut out),
            "c" => match u32::from_str_radix(argument.trim_start_matches("0x"), 16) {
                Ok(space) => kernel.show_capabilities(space, &mut out),
                Err(_) => writeln!(out, "c wants the address of a space: s shows them"),
            },
            "q" => kernel.show_queues(&mut out),
            "r" => show_trace::<D>(&mut out),
            "n" => D::show_counts(kernel, &mut out),
            "k" => panic!("asked for in the debugger"),
            "x" => D::power_off(),
            "g" => return,
            "" => Ok(()),
            _ => writeln!(out, "{HELP}"),
        };
    }
}

/// A line from the serial line, echoed.
fn read_line<'a, D: Debugged>(out: &mut dyn Write, buffer: &'a mut [u8; 32]) -> &'a str {
    let mut used = 0;
    loop {
        match D::get() {
            b'\r' | b'\n' => break,
            8 | 0x7f if used > 0 => {
                used -= 1;
                let _ = out.write_str("\x08 \x08");
            }
            byte @ b' '..=b'~' if used < buffer.len() => {
                buffer[used] = byte;
                used += 1;
                let _ = out.write_char(char::from(byte));
            }
            _ => {}
        }
    }
    let _ = writeln!(out);
    core::str::from_utf8(&buffer[..used]).unwrap_or("")
}
