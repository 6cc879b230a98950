// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads.

use super::call::calls;
use crate::{Selector, UserAddr, Word};

calls! {
    /// Start a stopped native thread.
    ///
    /// All registers get their initial values, including TLS descriptors, debug registers and the
    /// FPU. The thread finds the address of its UTCB slot in the register of `r1` and its argument
    /// in that of `r2`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread is an alien, has no Space, or is neither stopped nor halted.
    /// * `BadAddress`: the entry is at or above `USER_END`, or the stack pointer above it.
    Start {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// The address that it starts at.
        entry: UserAddr,
        /// Its stack pointer.
        stack: UserAddr,
        /// The argument that it finds.
        argument: Word,
    }

    /// Stop a thread.
    ///
    /// A native thread stops; the IPC in which it waits, or the call that it has begun, fails with
    /// `Interrupted`. An alien that runs raises an event of vector `STOPPED`; an alien that does
    /// not run stays as it is.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread has no Space.
    Stop {
        /// Thread (`CONTROL`). It may be the caller.
        thread: Selector,
    }

    /// Take a thread out of its Space, and bind it to a Space again.
    ///
    /// Capabilities to it stay valid. The calls of threads that wait for it fail with
    /// `PeerRestarted`. Afterwards the thread is stopped; an alien waits as after `CreateThread`.
    ///
    /// # Returns
    /// * `r1`, `r2`: as `CreateThread`.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`, `space` or `home`.
    /// * `BadArgument`: `space` and `home` do not go together, or `space` is a home; or the thread
    ///   is the caller.
    /// * `QuotaExceeded`, `PoolExhausted`, `BadState`: of the UTCB slot, as for `CreateThread`. The
    ///   thread has no Space then; `Reset` can be called again.
    Reset {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// Space (`CONTROL`), where the thread will run.
        space: Selector,
        /// As `home` of `CreateThread`.
        home: Selector,
    }

    /// Set a thread's priority.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadArgument`: a priority above 255.
    /// * `BadPriority`: a priority above the highest that the caller may give.
    SetPriority {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// Priority, 0 to 255.
        priority: Word,
        /// The highest priority that the thread may give to others, 0 to 255.
        most: Word,
    }

    /// Name the thread that gets a thread's exceptions, or an alien's events.
    ///
    /// The kernel keeps a copy of the capability, which is deleted together with `handler`. A
    /// thread halts at an exception if it has no handler, is its own handler, or has a handler
    /// without a Space.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread` or `handler`.
    /// * `TooDeep`: the copy would lie deeper than 255 in its tree.
    SetHandler {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// Thread (`CALL`), the handler, which will see the badge of this capability; or 0 for
        /// none.
        handler: Selector,
    }

    /// Set a part of a thread's state that only this kind of processor has.
    ///
    /// On IA-32 there are these parts:
    /// * 0 to 2: TLS descriptors, with the selectors 0x33, 0x3b and 0x43. The first value is the
    ///   base. The second has the limit in bits 19 to 0; bit 20: the limit is in pages; bit 21:
    ///   read-only; bit 22: 16-bit; bit 23: present.
    /// * 16 to 19: the addresses of breakpoints, below `USER_END`, as the first value.
    /// * 23: the control register of breakpoints: local enable bits, conditions and lengths as the
    ///   first value.
    ///
    /// On x86-64 part 0 is the base of FS, and part 1 the base of GS, each below `USER_END`, as the
    /// first value; parts from 16 on are as on IA-32. A thread with a base of GS takes no fast path.
    ///
    /// # Returns
    /// * `r1`: for parts from 16 on the status register of breakpoints, as of the last debug
    ///   exception, which is then cleared; else 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread has no Space.
    /// * `BadArgument`: there is no such part; a limit has a bit above 23; an address is not the
    ///   user's; the control register has another bit, or a breakpoint on I/O ports.
    SetState {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// The part.
        part: Word,
        /// The values that it gets.
        values: [Word; 2],
    }

    /// Read the registers of a thread that does not run.
    ///
    /// # Returns
    /// A status. The registers are in the first words that are in no register (IA-32: UTCB words 3
    /// to 18), as a `Frame`.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread has no Space, or runs or is ready.
    GetRegisters {
        /// Thread (`CONTROL`).
        thread: Selector,
    }

    /// Write the registers of a stopped native thread, and let it run.
    ///
    /// Values that would give the thread more rights are masked. TLS descriptors, debug registers
    /// and the FPU stay as they are.
    ///
    /// # Arguments
    /// * UTCB: The first words that are in no register (IA-32: 3 to 18) are the registers, as a
    ///   `Frame`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread has no Space, is an alien, or is neither stopped nor halted.
    /// * `BadArgument`: `runs` is neither 0 nor 1.
    SetRegisters {
        /// Thread (`CONTROL`).
        thread: Selector,
        /// 1 to let it run, 0 to leave it stopped.
        runs: Word,
    }

    /// Put a thread's FPU registers into its UTCB slot.
    ///
    /// The area in the slot is valid until the thread uses the FPU again. `fpu` of the UTCB says
    /// whether this call is needed.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `thread`.
    /// * `BadState`: the thread has no Space.
    FpuSync {
        /// Thread (`CONTROL`).
        thread: Selector,
    }
}
