// SPDX-License-Identifier: GPL-2.0-or-later
//! What a translation callback looks at and registers, whatever the processor.

use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::ffi::{c_uint, c_void};

/// An instruction of a block that is being translated.
pub struct Instruction {
    /// Valid until the translation callback ends.
    pub handle: *mut qemu::qemu_plugin_insn,
    /// Linear.
    pub address: u32,
    /// Its encoding.
    pub bytes: Vec<u8>,
}

/// Those of a block: at least one.
pub fn instructions(tb: *mut qemu::qemu_plugin_tb) -> Vec<Instruction> {
    // SAFETY: `tb` is the block being translated, for only callbacks of `translate` have one; the buffer is as long as said.
    unsafe {
        let one = |index| {
            let handle = qemu::qemu_plugin_tb_get_insn(tb, index);
            let mut bytes = [0_u8; 15];
            let length = qemu::qemu_plugin_insn_data(handle, bytes.as_mut_ptr().cast(), bytes.len());
            let address = qemu::qemu_plugin_insn_vaddr(handle) as u32;
            Instruction { handle, address, bytes: bytes[..length.min(15)].to_vec() }
        };
        (0..qemu::qemu_plugin_tb_n_insns(tb)).map(one).collect()
    }
}

/// Before an instruction, whatever is armed.
pub fn always(instruction: *mut qemu::qemu_plugin_insn, callback: extern "C" fn(c_uint, *mut c_void), registers: flags, data: usize) {
    // SAFETY: the instruction is of the block being translated, for `translate` is the only caller; the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, Some(callback), registers, data as *mut c_void);
    }
}

/// Before an instruction, if a word is not 0.
pub fn conditional(
    instruction: *mut qemu::qemu_plugin_insn,
    callback: extern "C" fn(c_uint, *mut c_void),
    registers: flags,
    word: qemu::qemu_plugin_u64,
    data: usize,
) {
    let ne = cond::QEMU_PLUGIN_COND_NE;
    // SAFETY: the instruction is of the block being translated, for `translate` is the only caller; the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_insn_exec_cond_cb(instruction, Some(callback), registers, ne, word, 0, data as *mut c_void);
    }
}
