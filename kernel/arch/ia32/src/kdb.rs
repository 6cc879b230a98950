// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel debugger (feature `kdb`): a break on the first serial line stops the
//! machine and takes commands there. With it every entry is traced, so the fast paths are left out.

use crate::contract::Ia32;
use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};
use ia32_context::word;
use kcore::{Kernel, Thread};
use plat_pc::uart::{self, Console};
use pool::Ref;

/// Entries that are remembered.
const EVENTS: usize = 256;

/// The last entries, the oldest overwritten first: time-stamp (low, high), thread, vector, EAX, EBX, EIP.
static TRACE: [[AtomicU32; 7]; EVENTS] = [const { [const { AtomicU32::new(0) }; 7] }; EVENTS];
/// Entries so far.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Notes an entry of the current thread.
pub fn trace(kernel: &Kernel<Ia32>, current: Ref<Thread>) {
    let c = &kernel.pool[current].context;
    let time = plat_pc::tsc::read();
    let words =
        [time as u32, (time >> 32) as u32, kernel.threads.index(current), c[word::VECTOR], c[word::EAX], c[word::EBX], c[word::EIP]];
    let number = COUNT.fetch_add(1, Ordering::Relaxed) as usize;
    TRACE[number % EVENTS].iter().zip(words).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
}

fn show_trace(out: &mut dyn Write) -> core::fmt::Result {
    writeln!(out, "time-stamp        thread  vector  eax       ebx       eip")?;
    let count = COUNT.load(Ordering::Relaxed) as usize;
    for number in count.saturating_sub(EVENTS)..count {
        let [low, high, thread, vector, eax, ebx, eip] = TRACE[number % EVENTS].each_ref().map(|word| word.load(Ordering::Relaxed));
        let time = u64::from(high) << 32 | u64::from(low);
        writeln!(out, "{time:16}  {thread:6}  {vector:#6x}  {eax:08x}  {ebx:08x}  {eip:08x}")?;
    }
    Ok(())
}

const HELP: &str = "t threads  s spaces and attachments  c ADDRESS capabilities of a space  q ready queues\n\
                    r last entries  k panic  x end the machine  g go on";

/// Takes commands until `g`.
pub fn enter(kernel: &mut Kernel<Ia32>) {
    let mut out = Console;
    // Writing to the serial line cannot fail.
    let _ = writeln!(out, "\nkernel debugger; h helps");
    loop {
        let _ = write!(out, "kdb> ");
        let mut buffer = [0; 32];
        let line = read_line(&mut buffer);
        let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
        let _ = match command {
            "t" => kernel.show_threads(&mut out),
            "s" => kernel.show_spaces(&mut out),
            "c" => match u32::from_str_radix(argument.trim_start_matches("0x"), 16) {
                Ok(space) => kernel.show_capabilities(space, &mut out),
                Err(_) => writeln!(out, "c wants the address of a space: s shows them"),
            },
            "q" => kernel.show_queues(&mut out),
            "r" => show_trace(&mut out),
            "k" => panic!("asked for in the debugger"),
            "x" => plat_pc::power_off(),
            "g" => return,
            "" => Ok(()),
            _ => writeln!(out, "{HELP}"),
        };
    }
}

/// A line from the serial line, echoed.
fn read_line(buffer: &mut [u8; 32]) -> &str {
    let mut used = 0;
    loop {
        match uart::get() {
            b'\r' | b'\n' => break,
            8 | 0x7f if used > 0 => {
                used -= 1;
                let _ = write!(Console, "\x08 \x08");
            }
            byte @ b' '..=b'~' if used < buffer.len() => {
                buffer[used] = byte;
                used += 1;
                uart::put(byte);
            }
            _ => {}
        }
    }
    let _ = writeln!(Console);
    core::str::from_utf8(&buffer[..used]).unwrap_or("")
}
