// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64.

use abi::state::{GS_BASE, THREAD_POINTER};
use abi::{Frame, Op, Tag, Word, call};
use core::mem::offset_of;
use macadamia::alloc::vec::Vec;
use macadamia::{Result, Thread, sys};

/// This many instructions of a nanosecond are this many ticks of the counter: the time-stamp
/// counter counts each.
pub const INSTRUCTIONS: (u64, u64) = (1, 1);
/// rax.
const RAX: usize = offset_of!(Frame, r);
/// Where a measurement has its pages, in each of its spaces.
#[must_use]
pub fn measured() -> Word {
    macadamia::map::own().start
}

/// The instruction pointer.
pub const PC: usize = offset_of!(Frame, rip);
/// The stack pointer.
pub const SP: usize = offset_of!(Frame, rsp);
/// The argument with which a native thread starts: rsi.
pub const ARGUMENT: usize = RAX + 4 * 8;
/// The status of a native thread's last system call.
pub const STATUS: usize = RAX;
/// The number of an alien's system call.
pub const NUMBER: usize = RAX;
/// Its result.
pub const RESULT: usize = RAX;
/// Its arguments: rdi, rsi, rdx, r10, r8, r9.
pub const ARGUMENTS: [usize; 6] =
    [RAX + 5 * 8, RAX + 4 * 8, RAX + 3 * 8, RAX + 9 * 8, RAX + 7 * 8, RAX + 8 * 8];

/// Whether a page that can be read need not be executable.
pub const FORBIDS_EXECUTION: bool = true;
/// The exception of [`code::invalid`].
pub const INVALID: Word = abi::frame::vector::INVALID_OPCODE;
/// Bytes of [`code::invalid`].
pub const INVALID_BYTES: Word = 2;
/// The exception of [`code::breakpoint`].
pub const BREAKPOINT: Word = 3;
/// The exceptions of a thread that accesses an address of the kernel: by its page, or because the
/// address is not canonical.
pub const KERNEL_REFUSED: [Word; 2] =
    [abi::frame::vector::PAGE_FAULT, abi::frame::vector::GENERAL_PROTECTION];
/// The error of a write to a page that a user can only read.
pub const WRITE_REFUSED: Word = WRITE_MISSED | abi::frame::fault::PROTECTION;
/// The error of a write to a missing page.
pub const WRITE_MISSED: Word = abi::frame::fault::USER | abi::frame::fault::WRITE;

/// Code of a native thread that answers each message with the message's first three words, on
/// processors where a test needs that.
pub const ANSWERS: Option<fn() -> Vec<u8>> = Some(code::answers);

/// Machine code. A thread starts with its UTCB's address in rdi and the argument in rsi, all else
/// zero.
pub mod code {
    code! {
        /// Raises the exception [`INVALID`](super::INVALID).
        invalid: "ud2";
        /// Raises the exception [`BREAKPOINT`](super::BREAKPOINT).
        breakpoint: "int3";
        /// Does nothing.
        nop: "nop";
        /// Reads the 32 bits that the argument names.
        read: "mov eax, [rsi]";
        /// Writes zeros there, if the thread has just started.
        write: "mov [rsi], eax";
        /// Reads there and executes an invalid instruction, repeatedly.
        reads: "1: mov eax, [rsi]", "ud2", "jmp 1b";
        /// Writes there and executes an invalid instruction, repeatedly.
        writes: "1: mov [rsi], eax", "ud2", "jmp 1b";
        /// Gives the registers of the number and of the first argument the value 0x1234.
        values: "mov eax, 0x1234", "mov edi, eax";
        /// An alien's system call.
        system_call: "syscall";
        /// Number 20 and arguments 1 to 6.
        arguments: "mov eax, 20", "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov r10d, 4", "mov r8d, 5", "mov r9d, 6";
        /// An alien's system calls, for ever.
        system_calls: "1: syscall", "jmp 1b";
        /// The same, and before each it uses its thread pointer.
        system_calls_with_pointer: "1: mov rdx, fs:[0]", "syscall", "jmp 1b";
        /// An alien writes 7 at the address in its first argument, and makes a system call.
        writes_seven: "mov dword ptr [rdi], 7", "syscall";
        /// An alien writes 32 bits of its fifth argument to where the first says.
        stores: "mov [rdi], r8d";
        /// Counts in the register of an alien's number, for ever.
        counts: "1: inc rax", "jmp 1b";
        /// Reads a word of every page from the argument on, for ever.
        reads_pages: "1: mov eax, [rsi]", "add rsi, 4096", "jmp 1b";
    }

    // For cases that are this processor's own.
    code! {
        /// Divides by zero.
        divides: "xor ecx, ecx", "div ecx";
        /// Privileged instructions.
        halt: "hlt";
        /// See [`halt`].
        close_interrupts: "cli";
        /// See [`halt`].
        load_tables: "mov cr3, rax";
        /// See [`halt`].
        read_special: "rdmsr";
        /// See [`halt`].
        write_special: "wrmsr";
        /// See [`halt`].
        swap_base: "swapgs";
        /// See [`halt`].
        return_from_call: "sysretq";
        /// A port that only the kernel may use.
        read_port: "in al, 0x60";
        /// An interrupt that is not for users.
        interrupt: "int 0x41";
        /// See [`halt`].
        read_counts: "rdpmc";
        /// An instruction that is disabled for users.
        read_base: "rdfsbase rax";
        /// The way into the kernel for 32-bit processes.
        other_call: "sysenter";
        /// Reads the time-stamp counter, then 64 bits at the argument by GS, and executes an
        /// invalid instruction.
        reads_by_gs: "rdtsc", "mov rdx, gs:[rsi]", "ud2";
        /// Jumps to the argument.
        branch: "jmp rsi";
        /// A system call, as the last instruction of users' addresses: its return address is beyond
        /// them.
        last_call: "syscall";
        /// Reads the first word by FS and executes an invalid instruction, repeatedly.
        reads_pointer: "1: mov rdx, fs:[0]", "ud2", "jmp 1b";
        /// Reads the first words by GS and FS and executes an invalid instruction, repeatedly.
        reads_by_both: "1: mov rdx, gs:[0]", "mov rcx, fs:[0]", "ud2", "jmp 1b";
        /// An alien's system calls, for ever, and before each it reads the first word by GS.
        system_calls_with_gs: "1: mov rdx, gs:[0]", "syscall", "jmp 1b";
        /// Loads a selector into FS and DS, and executes an invalid instruction.
        loads_selector: "mov eax, 0x23", "mov fs, eax", "mov ds, eax", "ud2";
        /// Loads a selector into DS, makes a system call, reads the first word by FS, and executes
        /// an invalid instruction.
        loads_data_selector: "mov eax, 0x23", "mov ds, eax", "xor eax, eax", "syscall", "mov rdx, fs:[0]", "ud2";
        /// Loads CS, which no processor allows and QEMU 10 does; then a system call from there.
        loads_code_selector: "xor eax, eax", ".byte 0x8e, 0xc8", "syscall", "ud2";
        /// Returns (`iret`) with the 32-bit words on the stack.
        returns_by_stack: ".byte 0xcf";
        /// Writes the selector of SS at the argument, and executes an invalid instruction; then
        /// loads it from there, and makes a system call at once.
        loads_stack_selector: "mov eax, ss", "mov [rsi], ax", "ud2", "mov ss, [rsi]", "syscall", "ud2";
        /// Reads the selectors of DS and FS, and executes an invalid instruction.
        reads_selectors: "xor eax, eax", "xor edx, edx", "mov eax, fs", "mov edx, ds", "ud2";
        /// Reads the processor's features, and executes an invalid instruction.
        features: "mov eax, 1", "cpuid", "ud2";
        /// Like [`floats`] with a register of AVX, and 32 bytes.
        wide_floats: "vmovups ymm7, [rsi]", "ud2", "1: vmovups [rsi + 32], ymm7", "ud2", "jmp 1b";
        /// Reads which registers the kernel lets users have (XCR0).
        user_parts: "xor ecx, ecx", "xgetbv", "ud2";
        /// Reads features that leaf 7 of CPUID has.
        more_features: "mov eax, 7", "xor ecx, ecx", "cpuid", "ud2";
        /// Like [`floats`] with registers of AVX-512, and 64 bytes: one that AVX has, too, and one that
        /// it has not, which is stored after the first; and after both a mask of 16 bits.
        widest_floats: "vmovdqu64 zmm7, [rsi]", "vmovdqu64 zmm23, [rsi]", "kmovw k3, [rsi]", "ud2",
            "1: vmovdqu64 [rsi + 64], zmm7", "vmovdqu64 [rsi + 128], zmm23", "kmovw [rsi + 192], k3", "ud2", "jmp 1b";
        /// Loads a register of SSE from the argument, then stores it 16 bytes after it, repeatedly,
        /// with an invalid instruction after each.
        floats: "movups xmm7, [rsi]", "ud2", "1: movups [rsi + 16], xmm7", "ud2", "jmp 1b";
    }

    // For servers. Their stack pointer starts one page above their `DATA`.
    code! {
        /// Reads its code segment, its stack segment and its flags.
        tells_its_ring: "mov eax, cs", "mov ebx, ss", "pushfq", "pop rsi", "ud2";
        /// Writes zeros at the argument.
        writes_there: "mov qword ptr [rsi], 0";
        /// Jumps to the argument, up to three times if that returns here.
        branches_three_times: "inc dword ptr [rip + 3f]", "cmp dword ptr [rip + 3f], 3", "ja 2f", "jmp rsi", "2: ud2", "3: .long 0";
        /// An unknown system call of a native thread.
        invalid_call: "mov eax, 0x3f", "syscall";
        /// Fills the page at the argument, and makes an unknown system call; then loads rax, and
        /// executes an invalid instruction.
        scribbles: "mov rdi, rsi", "mov ecx, 4096", "mov al, 0xa5", "cld", "rep stosb", "mov eax, 0x3f", "syscall", "mov eax, 0x1234", "ud2";
        /// The argument becomes its stack pointer.
        moves_stack: "mov rsp, rsi";
        /// The argument becomes its flags.
        sets_flags: "push rsi", "popfq";
        /// Counts in rbx and makes a system call, for ever.
        counts_calls: "1: inc rbx", "syscall", "jmp 1b";
        /// The same with all flags that a user can set except those of steps.
        counts_calls_with_flags: "1: inc rbx", "push 0x254cd5", "popfq", "syscall", "jmp 1b";
        /// The same with a stack pointer that is not canonical.
        counts_calls_with_stack: "mov rsp, 0x8000000000000000", "1: inc rbx", "syscall", "jmp 1b";
        /// The same with selectors.
        counts_calls_with_selectors: "1: inc rbx", "mov eax, 0x23", "mov ds, eax", "mov es, eax", "mov fs, eax", "mov gs, eax", "syscall", "jmp 1b";
        /// The same by breakpoints.
        counts_calls_by_breakpoints: "1: inc rbx", "int3", "jmp 1b";
        /// The same, each call a single step.
        counts_calls_by_steps: "1: inc rbx", "push 0x302", "popfq", "syscall", "jmp 1b";
        /// The same, right after SS was loaded from 64 bytes below the stack.
        counts_calls_after_stack_selector: "mov eax, ss", "mov [rsp - 64], ax", "1: inc rbx", "mov ss, [rsp - 64]", "syscall", "jmp 1b";
        /// Does nothing for ever.
        waits: "1: jmp 1b";
        /// Does nothing for ever, but loads an FPU register with the argument, if that is not zero.
        keeps: "test rsi, rsi", "1: jz 1b", "movq xmm0, rsi", "jmp 1b";
        /// Uses its stack for ever.
        pushes: "1: push 8", "pop rax", "jmp 1b";
        /// Continues at the argument in ring 3, with its stack there.
        leaves_to_ring_3: "push 0x23", "push rsi", "push 0x202", "push 0x2b", "push rsi", "iretq";
        /// Serves its alien by the orders at the start of the data: handle, frame, count, the
        /// alien's start address, the tag of `run`. Ends with the alien's rbx in rax.
        serves: "mov rbp, [rsp - 0xff8]", "mov rax, [rsp - 0xfe8]",
            "mov [rbp + 128], rax", "mov [rbp + 16], rax", "mov qword ptr [rbp + 136], 0x202", "mov qword ptr [rbp + 80], 0x202", "add rax, 4096", "mov [rbp + 120], rax",
            "mov rdi, [rsp - 0x1000]",
            "1: mov rax, [rsp - 0xfe0]", "syscall", "dec qword ptr [rsp - 0xff0]", "jnz 1b",
            "mov rbp, [rsp - 0xff8]", "mov rax, [rbp + 8]", "ud2";
        /// The same for ever, with an unknown system call after each event.
        serves_and_calls: "mov rbp, [rsp - 0xff8]", "mov rax, [rsp - 0xfe8]",
            "mov [rbp + 128], rax", "mov [rbp + 16], rax", "mov qword ptr [rbp + 136], 0x202", "mov qword ptr [rbp + 80], 0x202", "add rax, 4096", "mov [rbp + 120], rax",
            "mov rdi, [rsp - 0x1000]",
            "1: mov rax, [rsp - 0xfe0]", "syscall", "mov rbp, rdi", "mov eax, 0x3f", "syscall", "mov rdi, rbp", "jmp 1b";
        /// The same once, and continues with the code after it.
        serves_once: "mov rbp, [rsp - 0xff8]", "mov rax, [rsp - 0xfe8]",
            "mov [rbp + 128], rax", "mov [rbp + 16], rax", "mov qword ptr [rbp + 136], 0x202", "mov qword ptr [rbp + 80], 0x202", "add rax, 4096", "mov [rbp + 120], rax",
            "mov rdi, [rsp - 0x1000]", "mov rax, [rsp - 0xfe0]", "syscall";
        /// Then the same again.
        runs_again: "mov rax, [rsp - 0xfe0]", "syscall";
        /// Changes an FPU register, runs its alien again, and ends with the alien's rbx in rax.
        computes_and_runs: "mov eax, 0x5ec4e7", "movq xmm0, rax", "mov rax, [rsp - 0xfe0]", "syscall",
            "mov rbp, [rsp - 0xff8]", "mov rax, [rbp + 8]", "ud2";
        /// Has an FPU register in rbx at each system call except the first, for ever.
        tells_fpu: "syscall", "1: movq rbx, xmm0", "syscall", "jmp 1b";
        /// Writes the last of the orders at rsi, and runs its alien again.
        forges_and_runs: "mov rax, [rsp - 0xfd8]", "mov [rsi], rax", "mov rax, [rsp - 0xfe0]", "syscall", "ud2";
    }

    /// A jump that ends this many bytes after its start.
    #[must_use]
    pub fn jump(distance: u64) -> Vec<u8> {
        const BYTES: u32 = 5;
        [&[0xe9][..], &(distance as u32).wrapping_sub(BYTES).to_le_bytes()].concat()
    }

    /// A native thread's system call: tag, then `a0` to `a3`.
    #[must_use]
    pub fn native_call(registers: [u64; 5]) -> Vec<u8> {
        // mov to rax, rdi, rsi, rdx, r8
        let moves: [[u8; 2]; 5] =
            [[0x48, 0xb8], [0x48, 0xbf], [0x48, 0xbe], [0x48, 0xba], [0x49, 0xb8]];
        let mut code: Vec<u8> = moves
            .into_iter()
            .zip(registers)
            .flat_map(|(mov, value)| mov.into_iter().chain(value.to_le_bytes()))
            .collect();
        code.extend(system_call());
        code
    }

    /// Writes 32 bits of the UTCB. It must be before any system call.
    #[must_use]
    pub fn set_utcb(offset: usize, value: u32) -> Vec<u8> {
        // mov dword [rdi + offset], value: rdi names the UTCB at the start
        [&[0xc7, 0x87][..], &(offset as u32).to_le_bytes(), &value.to_le_bytes()].concat()
    }

    /// A native thread answers each message with the first three of its words.
    #[must_use]
    pub fn answers() -> Vec<u8> {
        // xor edi, edi: there is no caller yet. mov eax, tag
        let tag = Tag::new(Op::ReplyWait, 3, 0).0.to_le_bytes();
        let answers = [&[0xb8][..], &tag, system_call()].concat();
        [&[0x31, 0xff][..], &answers, &jump((answers.len() as u64).wrapping_neg())].concat()
    }

    use super::{Op, Tag, Vec};
}

/// Gives a thread a thread pointer: the base of FS.
///
/// # Errors
/// What the kernel says.
pub fn set_thread_pointer(thread: Thread, address: Word) -> Result<()> {
    set_state(thread, THREAD_POINTER, address)
}

/// Gives a thread its base of GS.
///
/// # Errors
/// What the kernel says.
pub fn set_gs_base(thread: Thread, address: Word) -> Result<()> {
    set_state(thread, GS_BASE, address)
}

fn set_state(thread: Thread, part: u32, address: Word) -> Result<()> {
    let (thread, part) = (thread.into(), part.into());
    sys::call(call::SetState { thread, part, values: [address, 0] }).map(|_| ())
}
