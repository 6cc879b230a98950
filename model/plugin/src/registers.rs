// SPDX-License-Identifier: GPL-2.0-or-later
//! The processor's registers, by QEMU's names for them, and its memory.

use model_core::SegmentRegister;
use qemu_plugin_sys as qemu;
use std::ffi::{CStr, c_char};

/// A register, as QEMU names it.
pub type Handle = *mut qemu::qemu_plugin_register;

/// What reads registers and memory, and the buffer that it reads into.
///
/// Its functions are called where QEMU permits it: in translation callbacks and in those
/// registered with the right to read registers, both on the processor's thread; memory in memory callbacks, too.
pub struct Reader {
    buffer: *mut qemu::GByteArray,
}

/// Handles of the registers that are read. Its functions are called where [`Reader`]'s are.
pub struct Registers {
    eip: Handle,
    eflags: Handle,
    cr0: Handle,
    cr3: Handle,
    /// In the order of their numbers in encodings.
    segments: [Handle; 6],
    /// In the order of their numbers in encodings.
    general: [Handle; 8],
    reader: Reader,
}

unsafe extern "C" {
    // Of the GLib that QEMU itself is linked with.
    fn g_byte_array_new() -> *mut qemu::GByteArray;
    fn g_byte_array_set_size(array: *mut qemu::GByteArray, length: u32) -> *mut qemu::GByteArray;
    fn g_array_free(array: *mut qemu::GArray, free_segment: i32) -> *mut c_char;
}

/// The registers of these names; `None` if one is missing. To be called in the processor's initialisation callback.
pub fn find<const N: usize>(names: [&str; N]) -> Option<[Handle; N]> {
    // SAFETY: QEMU returns an array of descriptors whose names live for ever; the array is ours to free. (On a thread that is no
    // processor's it ends itself.)
    unsafe {
        let array = qemu::qemu_plugin_get_registers();
        let all = std::slice::from_raw_parts((*array).data as *const qemu::qemu_plugin_reg_descriptor, (*array).len as usize);
        let handle = |name: &str| all.iter().find(|r| CStr::from_ptr(r.name).to_bytes() == name.as_bytes()).map(|r| r.handle);
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
        // SAFETY: called where QEMU permits it (the type's rule); the handle is QEMU's, the buffer
        // ours, and QEMU appends to it.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            let length = qemu::qemu_plugin_read_register(register, self.buffer);
            if length < 4 {
                return 0;
            }
            (*self.buffer).data.cast::<u32>().read_unaligned()
        }
    }

    /// What `act` makes of bytes from a linear address on, if the present tables map them.
    pub fn memory<T>(&self, address: u32, count: usize, act: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // SAFETY: as in `register`; QEMU sets the buffer's size when it succeeds, and nobody else
        // has the buffer while `act` looks at it.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            let read = qemu::qemu_plugin_read_memory_vaddr(u64::from(address), self.buffer, count);
            (read && (*self.buffer).len as usize >= count).then(|| act(std::slice::from_raw_parts((*self.buffer).data, count)))
        }
    }
}

impl Registers {
    /// Looks the registers up, as [`find`] does.
    pub fn find() -> Option<Self> {
        let names =
            ["eip", "eflags", "cr0", "cr3", "es", "cs", "ss", "ds", "fs", "gs", "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"];
        let [eip, eflags, cr0, cr3, es, cs, ss, ds, fs, gs, general @ ..] = find(names)?;
        let segments = [es, cs, ss, ds, fs, gs];
        Some(Self { eip, eflags, cr0, cr3, segments, general, reader: Reader::new() })
    }

    fn read(&self, register: Handle) -> u32 {
        self.reader.register(register)
    }

    /// The word at a linear address, if the present tables map it.
    pub fn memory(&self, address: u32) -> Option<u32> {
        let read = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
        self.reader.memory(address, 4, read).flatten()
    }

    /// Appends bytes from a linear address on; false if the present tables do not map all of them.
    pub fn bytes(&self, address: u32, count: usize, to: &mut Vec<u8>) -> bool {
        self.reader.memory(address, count, |bytes| to.extend_from_slice(bytes)).is_some()
    }

    /// The instruction pointer.
    pub fn eip(&self) -> u32 {
        self.read(self.eip)
    }
    /// The code segment's selector.
    pub fn cs(&self) -> u32 {
        self.selector(SegmentRegister::Cs).into()
    }
    /// The selector in a segment register. A memory callback may ask for it, too: QEMU keeps selectors nowhere else than in the
    /// processor's state.
    pub fn selector(&self, register: SegmentRegister) -> u16 {
        self.read(self.segments[register as usize]) as u16
    }
    /// The flags.
    pub fn eflags(&self) -> u32 {
        self.read(self.eflags)
    }
    /// Control register 0.
    pub fn cr0(&self) -> u32 {
        self.read(self.cr0)
    }
    /// Control register 3.
    pub fn cr3(&self) -> u32 {
        self.read(self.cr3)
    }
    /// A general register by its number in encodings, 0 to 7.
    pub fn general(&self, number: u8) -> u32 {
        self.read(self.general[usize::from(number & 7)])
    }
}
