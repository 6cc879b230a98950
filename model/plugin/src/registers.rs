// SPDX-License-Identifier: GPL-2.0-or-later
//! The processor's registers, by QEMU's names for them, and its memory.

use qemu_plugin_sys as qemu;
use std::ffi::{CStr, c_char};

/// Bytes of a case's name that are read, at most.
pub const LONGEST_NAME: usize = 64;

/// A register, as QEMU names it.
pub type Handle = *mut qemu::qemu_plugin_register;

/// What reads registers and memory, and the buffer that it reads into.
///
/// Its functions are called where QEMU permits it: in translation callbacks and in those
/// registered with the right to read registers, both on the processor's thread; memory in memory
/// callbacks, too.
pub struct Reader {
    buffer: *mut qemu::GByteArray,
}

unsafe extern "C" {
    // Of the GLib that QEMU itself is linked with.
    fn g_byte_array_new() -> *mut qemu::GByteArray;
    fn g_byte_array_set_size(array: *mut qemu::GByteArray, length: u32) -> *mut qemu::GByteArray;
    fn g_array_free(array: *mut qemu::GArray, free_segment: i32) -> *mut c_char;
}

/// The registers of these names; `None` if one is missing. To be called in the processor's
/// initialisation callback.
pub fn find<const N: usize>(names: [&str; N]) -> Option<[Handle; N]> {
    // SAFETY: QEMU returns an array of descriptors whose names live for ever; the array is ours to
    // free. (On a thread that is no processor's it ends itself.)
    unsafe {
        let array = qemu::qemu_plugin_get_registers();
        let all = std::slice::from_raw_parts(
            (*array).data as *const qemu::qemu_plugin_reg_descriptor,
            (*array).len as usize,
        );
        let handle = |name: &str| {
            all.iter()
                .find(|r| CStr::from_ptr(r.name).to_bytes() == name.as_bytes())
                .map(|r| r.handle)
        };
        let found = names.map(handle);
        g_array_free(array, 1);
        found.into_iter().collect::<Option<Vec<Handle>>>()?.try_into().ok()
    }
}

impl Reader {
    /// With a buffer that lives as long as QEMU.
    pub fn new() -> Self {
        // SAFETY: GLib makes a new array.
        Self { buffer: unsafe { g_byte_array_new() } }
    }

    /// The lower 32 bits of a register.
    pub fn register(&self, register: Handle) -> u32 {
        self.wide(register) as u32
    }

    /// The lower 64 bits of a register, or what it has of them.
    pub fn wide(&self, register: Handle) -> u64 {
        // SAFETY: called where QEMU permits it (the type's rule); the handle is QEMU's, the buffer
        // ours, and QEMU appends to it.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            match qemu::qemu_plugin_read_register(register, self.buffer) {
                ..4 => 0,
                4..8 => (*self.buffer).data.cast::<u32>().read_unaligned().into(),
                _ => (*self.buffer).data.cast::<u64>().read_unaligned(),
            }
        }
    }

    /// What `act` makes of bytes from a linear address on, if the present tables map them.
    pub fn memory<T>(
        &self,
        address: impl Into<u64>,
        count: usize,
        act: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        // SAFETY: as in `register`; QEMU sets the buffer's size when it succeeds, and nobody else
        // has the buffer while `act` looks at it.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            let read = qemu::qemu_plugin_read_memory_vaddr(address.into(), self.buffer, count);
            (read && (*self.buffer).len as usize >= count)
                .then(|| act(std::slice::from_raw_parts((*self.buffer).data, count)))
        }
    }
}
