// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts executed instructions of the IPC fast path. Run with QEMU's `-icount shift=0` the
//! time-stamp counter counts instructions, so loops of known length tell exactly what
//! the kernel executed. Without that the figures are ticks and mean nothing.
#![no_std]
#![no_main]

use core::arch::global_asm;
use macadamia::cap::copy;
use macadamia::{Env, Rights, Thread, println, result, thread};

macadamia::main!(start);

/// Calls that are counted, after as many that warm up.
const CALLS: u32 = 1000;
/// Instructions that the caller executes around a call, `sysenter` included.
const CALLER: u32 = 7;
/// Instructions that the server executes around a reply, `sysenter` included.
const SERVER: u32 = 6;

global_asm!(
    ".section .text.figures, \"ax\", @progbits",
    // extern "C" fn figures_call(to, count) -> ticks of `count` calls with three words
    ".global figures_call",
    "figures_call:",
    "push ebx",
    "push esi",
    "push edi",
    "push ebp",
    "mov ecx, [esp + 24]",
    "mov eax, [esp + 20]",
    "push ecx",
    "push eax",
    "rdtsc",
    "push eax",
    // The stack: start, to, count.
    "figures_again:",
    "mov eax, {call}",
    "mov ebx, [esp + 4]",
    "mov ecx, esp",
    "mov edx, offset figures_called",
    "sysenter",
    "figures_called:",
    "dec dword ptr [esp + 8]",
    "jnz figures_again",
    "rdtsc",
    "pop ecx",
    "sub eax, ecx",
    "add esp, 8",
    "pop ebp",
    "pop edi",
    "pop esi",
    "pop ebx",
    "ret",
    // extern "C" fn figures_server(_) -> !: answers every call with its words
    ".global figures_server",
    "figures_server:",
    "xor ebx, ebx",
    "figures_next:",
    "mov eax, {reply_wait}",
    "mov ecx, esp",
    "mov edx, offset figures_received",
    "sysenter",
    "figures_received:",
    "nop",
    "jmp figures_next",
    call = const abi::Tag::new(abi::Op::Call, 3, 0).0,
    reply_wait = const abi::Tag::new(abi::Op::ReplyWait, 3, 0).0,
);

unsafe extern "C" {
    fn figures_call(to: u32, count: u32) -> u32;
    fn figures_server(argument: u32) -> !;
}

extern "C" fn serve(argument: u32) -> ! {
    // SAFETY: a loop of system calls that touches no memory.
    unsafe { figures_server(argument) }
}

/// Kernel instructions of one call and the reply to it.
fn round_trip(to: Thread) -> u32 {
    // SAFETY: a loop of system calls that touches only its own stack.
    let ticks = unsafe {
        figures_call(to.0, CALLS);
        figures_call(to.0, CALLS)
    };
    ticks / CALLS - CALLER - SERVER
}

fn report(name: &str, value: u32, most: u32) {
    println!("{name}: {value} kernel instructions for call and reply, at most {most}");
    result!("# {name}.kernel_instructions = {value} (at most {most})");
    result!("{} {name}: {value} kernel instructions, at most {most}", if value <= most { "ok" } else { "not ok" });
}

fn start(mut env: Env) {
    if env.start.arguments.iter().any(|a| a == "server") {
        serve(0);
    }
    let (slot, weak) = (env.free_slot(), env.free_slot());
    let near = match thread::spawn(serve, 0, slot) {
        Ok(near) => near,
        Err(error) => panic!("no second thread: {}", error.text()),
    };
    if let Err(error) = copy(near.0, None, weak, Rights::CALL, 9) {
        panic!("no capability to it: {}", error.text());
    }
    report("ipc.round_trip.across", round_trip(env.thread("server")), 64 + 70);
    report("ipc.round_trip.within", round_trip(Thread(weak)), 56 + 62);
    result!("done");
}
