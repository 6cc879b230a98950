// SPDX-License-Identifier: GPL-2.0-or-later
//! The processor's registers, by QEMU's names for them.

use qemu_plugin_sys as qemu;
use std::ffi::{CStr, c_char};

/// Handles of the registers that are read, and the buffer that they are read into.
pub struct Registers {
    eip: *mut qemu::qemu_plugin_register,
    cs: *mut qemu::qemu_plugin_register,
    eflags: *mut qemu::qemu_plugin_register,
    cr0: *mut qemu::qemu_plugin_register,
    buffer: *mut qemu::GByteArray,
}

// SAFETY: QEMU runs all callbacks of its one processor on one thread, and the
// buffer is used by nobody else.
unsafe impl Send for Registers {}

unsafe extern "C" {
    // Of the GLib that QEMU itself is linked with.
    fn g_byte_array_new() -> *mut qemu::GByteArray;
    fn g_byte_array_set_size(array: *mut qemu::GByteArray, length: u32) -> *mut qemu::GByteArray;
    fn g_array_free(array: *mut qemu::GArray, free_segment: i32) -> *mut c_char;
}

impl Registers {
    /// Looks the registers up; `None` if one is missing.
    ///
    /// # Safety
    /// To be called in the processor's initialisation callback.
    pub unsafe fn find() -> Option<Self> {
        // SAFETY: the caller's promise. QEMU returns an array of descriptors whose
        // names live for ever; the array is ours to free.
        unsafe {
            let array = qemu::qemu_plugin_get_registers();
            let all = std::slice::from_raw_parts((*array).data as *const qemu::qemu_plugin_reg_descriptor, (*array).len as usize);
            let handle = |name: &str| all.iter().find(|r| CStr::from_ptr(r.name).to_bytes() == name.as_bytes()).map(|r| r.handle);
            let found = (handle("eip"), handle("cs"), handle("eflags"), handle("cr0"));
            g_array_free(array, 1);
            let (Some(eip), Some(cs), Some(eflags), Some(cr0)) = found else { return None };
            Some(Self { eip, cs, eflags, cr0, buffer: g_byte_array_new() })
        }
    }

    /// # Safety
    /// To be called in a translation callback, or in one registered with the right to read registers.
    unsafe fn read(&self, register: *mut qemu::qemu_plugin_register) -> u32 {
        // SAFETY: the caller's promise; the handle is QEMU's, the buffer ours, and QEMU appends to it.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            let length = qemu::qemu_plugin_read_register(register, self.buffer);
            if length < 4 {
                return 0;
            }
            (*self.buffer).data.cast::<u32>().read_unaligned()
        }
    }

    /// The instruction pointer.
    ///
    /// # Safety
    /// As `read`.
    pub unsafe fn eip(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.read(self.eip) }
    }
    /// The code segment's selector.
    ///
    /// # Safety
    /// As `read`.
    pub unsafe fn cs(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.read(self.cs) }
    }
    /// The flags.
    ///
    /// # Safety
    /// As `read`.
    pub unsafe fn eflags(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.read(self.eflags) }
    }
    /// Control register 0.
    ///
    /// # Safety
    /// As `read`.
    pub unsafe fn cr0(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { self.read(self.cr0) }
    }
}
