// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts executed instructions of the IPC fast path. Run with QEMU's `-icount shift=0` the
//! time-stamp counter counts instructions, so loops of known length tell exactly what
//! the kernel executed. Without that the figures are ticks and mean nothing.
#![no_std]
#![no_main]

use core::arch::global_asm;
use macadamia::cap::copy;
use macadamia::map::map;
use macadamia::start::fill;
use macadamia::{Env, Frame, Quota, Rights, Space, Thread, println, result, thread};

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
    // extern "C" fn figures_run(handle, count) -> ticks of `count` times `run`
    ".global figures_run",
    "figures_run:",
    "push ebx",
    "push esi",
    "push edi",
    "push ebp",
    "mov ecx, [esp + 24]",
    "mov ebx, [esp + 20]",
    "push ecx",
    "rdtsc",
    "push eax",
    "figures_run_again:",
    "mov eax, {run}",
    "mov ecx, esp",
    "mov edx, offset figures_ran",
    "sysenter",
    "figures_ran:",
    "dec dword ptr [esp + 4]",
    "jnz figures_run_again",
    "rdtsc",
    "pop ecx",
    "sub eax, ecx",
    "add esp, 4",
    "pop ebp",
    "pop edi",
    "pop esi",
    "pop ebx",
    "ret",
    // extern "C" fn figures_leg(to) -> ticks from the caller's rdtsc to the server's
    ".global figures_leg",
    "figures_leg:",
    "push ebx",
    "push esi",
    "push edi",
    "push ebp",
    "mov ebx, [esp + 20]",
    "rdtsc",
    "mov esi, eax",
    "mov eax, {call}",
    "mov ecx, esp",
    "mov edx, offset figures_leg_done",
    "sysenter",
    "figures_leg_done:",
    "mov eax, esi",
    "pop ebp",
    "pop edi",
    "pop esi",
    "pop ebx",
    "ret",
    // extern "C" fn figures_stamp(_) -> !: answers with the ticks since word 0
    ".global figures_stamp",
    "figures_stamp:",
    "xor ebx, ebx",
    "figures_stamp_next:",
    "mov eax, {reply_wait}",
    "mov ecx, esp",
    "mov edx, offset figures_stamped",
    "sysenter",
    "figures_stamped:",
    "rdtsc",
    "sub eax, esi",
    "mov esi, eax",
    "jmp figures_stamp_next",
    run = const abi::Tag::new(abi::Op::Run, 0, 0).0,
    call = const abi::Tag::new(abi::Op::Call, 3, 0).0,
    reply_wait = const abi::Tag::new(abi::Op::ReplyWait, 3, 0).0,
);

unsafe extern "C" {
    fn figures_call(to: u32, count: u32) -> u32;
    fn figures_server(argument: u32) -> !;
    fn figures_leg(to: u32) -> u32;
    fn figures_stamp(argument: u32) -> !;
    fn figures_run(handle: u32, count: u32) -> u32;
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

/// Instructions from the caller's `rdtsc` to its `sysenter`, both counted.
const BEFORE_CALL: u32 = 6;

/// Kernel instructions of the call alone.
fn call_leg(to: Thread) -> u32 {
    // SAFETY: a system call that touches only its own stack.
    let ticks = unsafe {
        figures_leg(to.0);
        figures_leg(to.0)
    };
    ticks - BEFORE_CALL
}

/// Instructions of handler and alien around a `run` and the system call that ends it:
/// six (`sysenter` among them) and two (`int 0x80` and a jump).
const AROUND_RUN: u32 = 6 + 2;

/// Kernel instructions of an alien's system call and of the `run` before it.
fn alien_round_trip(env: &mut Env) -> macadamia::Result<u32> {
    const PLACE: u32 = 0x6000_0000;
    let own = Space(image::slot::SPACE);
    let ram = env.memory("ram");
    map(own, PLACE, ram, 0, abi::PAGE_SIZE, Rights::RWX)?;
    // int 0x80; jmp back
    fill(PLACE, abi::PAGE_SIZE, &[0xcd, 0x80, 0xeb, 0xfc]);
    let quota = Quota(image::slot::QUOTA);
    let space = quota.create_space(0, env.free_slot())?;
    map(space, PLACE, ram, 0, abi::PAGE_SIZE, Rights(5))?;
    let (thread, bound) = quota.create_thread(space, env.free_slot(), Some(own))?;
    thread.set_handler(Some(Thread(image::slot::THREAD)))?;
    thread.set_priority(90, 90)?;
    fill(bound.utcb + core::mem::offset_of!(Frame, eip) as u32, 4, &PLACE.to_le_bytes());
    let first = macadamia::ipc::run(bound.handle)?;
    // SAFETY: a loop of system calls that touches only its own stack.
    let ticks = unsafe { figures_run(first.handle, CALLS) };
    Ok(ticks / CALLS - AROUND_RUN)
}

fn report(name: &str, value: u32, most: u32) {
    println!("{name}: {value} kernel instructions, at most {most}");
    result!("# {name}.kernel_instructions = {value} (at most {most})");
    result!("{} {name}: {value} kernel instructions, at most {most}", if value <= most { "ok" } else { "not ok" });
}

fn start(mut env: Env) {
    if env.start.arguments.iter().any(|a| a == "server") {
        serve(0);
    }
    if env.start.arguments.iter().any(|a| a == "stamp") {
        // SAFETY: as `serve`.
        unsafe { figures_stamp(0) }
    }
    let (slot, weak) = (env.free_slot(), env.free_slot());
    let near = match thread::spawn(serve, 0, slot) {
        Ok(near) => near,
        Err(error) => panic!("no second thread: {}", error.text()),
    };
    if let Err(error) = copy(near.0, None, weak, Rights::CALL, 9) {
        panic!("no capability to it: {}", error.text());
    }
    let (both, there) = (round_trip(env.thread("server")), call_leg(env.thread("stamp")));
    report("ipc.call.across", there, 64);
    report("ipc.reply_wait.across", both - there, 70);
    report("ipc.round_trip.within", round_trip(Thread(weak)), 56 + 62);
    match alien_round_trip(&mut env) {
        Ok(value) => report("ipc.alien.round_trip", value, 90 + 90),
        Err(error) => panic!("no alien: {}", error.text()),
    }
    result!("done");
}
