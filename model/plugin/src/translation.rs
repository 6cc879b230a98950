// SPDX-License-Identifier: GPL-2.0-or-later
//! What a translation callback examines and registers, whatever the processor is.

use qemu_plugin_sys as qemu;
use qemu_plugin_sys::{qemu_plugin_cb_flags as flags, qemu_plugin_cond as cond};
use std::ffi::{c_uint, c_void};

/// An instruction of a block that is being translated.
pub struct Instruction {
    /// Valid until the translation callback ends.
    pub handle: *mut qemu::qemu_plugin_insn,
    /// Linear; of 64 bits the lower half.
    pub address: u32,
    /// Its encoding.
    pub bytes: Vec<u8>,
}

/// Those of a block: at least one.
pub fn instructions(tb: *mut qemu::qemu_plugin_tb) -> Vec<Instruction> {
    // SAFETY: `tb` is the block being translated, for only callbacks of `translate` have one; the
    // buffer is as long as said.
    unsafe {
        let one = |index| {
            let handle = qemu::qemu_plugin_tb_get_insn(tb, index);
            let mut bytes = [0_u8; 15];
            let length =
                qemu::qemu_plugin_insn_data(handle, bytes.as_mut_ptr().cast(), bytes.len());
            let address = qemu::qemu_plugin_insn_vaddr(handle) as u32;
            Instruction { handle, address, bytes: bytes[..length.min(15)].to_vec() }
        };
        (0..qemu::qemu_plugin_tb_n_insns(tb)).map(one).collect()
    }
}

/// Before an instruction, whatever is armed.
pub fn always(
    instruction: *mut qemu::qemu_plugin_insn,
    callback: extern "C" fn(c_uint, *mut c_void),
    registers: flags,
    data: usize,
) {
    // SAFETY: the instruction is of the block being translated, for `translate` is the only caller;
    // the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_insn_exec_cb(
            instruction,
            Some(callback),
            registers,
            data as *mut c_void,
        );
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
    // SAFETY: the instruction is of the block being translated, for `translate` is the only caller;
    // the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_insn_exec_cond_cb(
            instruction,
            Some(callback),
            registers,
            ne,
            word,
            0,
            data as *mut c_void,
        );
    }
}

/// The block that is being translated, and instructions of it: handles that end with the
/// translation callback.
pub type Block = *mut qemu::qemu_plugin_tb;

/// Where the block begins, with all 64 bits of the address.
pub fn block_address(tb: Block) -> u64 {
    // SAFETY: `tb` is the block being translated, for only callbacks of `translate` have one.
    unsafe { qemu::qemu_plugin_tb_vaddr(tb) }
}

/// Has QEMU tell of its processor's start, of each block that is translated, and of the machine's
/// end.
pub fn register(
    id: qemu::qemu_plugin_id_t,
    starts: extern "C" fn(qemu::qemu_plugin_id_t, c_uint),
    translates: extern "C" fn(qemu::qemu_plugin_id_t, Block),
    ends: extern "C" fn(qemu::qemu_plugin_id_t, *mut c_void),
) {
    // SAFETY: functions of the interface, called while the plugin is installed; the callbacks
    // are functions, so they live as long as the plugin is loaded.
    unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, Some(starts));
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translates));
        qemu::qemu_plugin_register_atexit_cb(id, Some(ends), std::ptr::null_mut());
    }
}

/// Before a block, whatever is armed.
pub fn block_always(tb: Block, callback: extern "C" fn(c_uint, *mut c_void), data: usize) {
    // SAFETY: `tb` is the block being translated, for `translate` is the only caller; the data is a
    // number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_exec_cb(
            tb,
            Some(callback),
            flags::QEMU_PLUGIN_CB_R_REGS,
            data as *mut c_void,
        )
    }
}

/// Before a block, if a word compares so with a number.
pub fn block_if(
    tb: Block,
    callback: extern "C" fn(c_uint, *mut c_void),
    (condition, word, number): (cond, qemu::qemu_plugin_u64, u64),
    data: usize,
) {
    let registers = flags::QEMU_PLUGIN_CB_R_REGS;
    // SAFETY: as above.
    unsafe {
        qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(
            tb,
            Some(callback),
            registers,
            condition,
            word,
            number,
            data as *mut c_void,
        )
    }
}

/// Adds to a word with each beginning of a block.
pub fn block_adds(tb: Block, word: qemu::qemu_plugin_u64, number: u64) {
    let add = qemu::qemu_plugin_op::QEMU_PLUGIN_INLINE_ADD_U64;
    // SAFETY: as above.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, add, word, number) }
}

/// Adds 1 to a word before an instruction.
pub fn counts(instruction: *mut qemu::qemu_plugin_insn, word: qemu::qemu_plugin_u64) {
    let add = qemu::qemu_plugin_op::QEMU_PLUGIN_INLINE_ADD_U64;
    // SAFETY: the instruction is of the block being translated, for `translate` is the only caller.
    unsafe { qemu::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, add, word, 1) }
}

/// What tells of an access.
pub type OnAccess = extern "C" fn(c_uint, qemu::qemu_plugin_meminfo_t, u64, *mut c_void);

/// After each access of an instruction.
pub fn accesses(instruction: *mut qemu::qemu_plugin_insn, callback: OnAccess, data: usize) {
    let (none, all) = (flags::QEMU_PLUGIN_CB_NO_REGS, qemu::qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW);
    // SAFETY: as above; the data is a number.
    unsafe {
        qemu::qemu_plugin_register_vcpu_mem_cb(
            instruction,
            Some(callback),
            none,
            all,
            data as *mut c_void,
        )
    }
}

/// An access that a callback tells of, while it does.
#[derive(Clone, Copy)]
pub struct Told {
    info: qemu::qemu_plugin_meminfo_t,
    address: u64,
}

impl Told {
    /// From a memory callback's arguments.
    pub fn new(info: qemu::qemu_plugin_meminfo_t, address: u64) -> Self {
        Self { info, address }
    }

    /// How many bytes, and whether they are written.
    pub fn bytes(self) -> (u32, bool) {
        // SAFETY: `info` is the callback's.
        unsafe {
            (
                1 << qemu::qemu_plugin_mem_size_shift(self.info),
                qemu::qemu_plugin_mem_is_store(self.info),
            )
        }
    }

    /// What was read or written: its first 8 bytes, little endian.
    pub fn value(self) -> u64 {
        let bytes = self.bytes().0;
        // SAFETY: `info` is the callback's; the member is that of the access's size.
        unsafe {
            let data = qemu::qemu_plugin_mem_get_value(self.info).data;
            match bytes {
                1 => data.u8_.into(),
                2 => data.u16_.into(),
                4 => data.u32_.into(),
                8 => data.u64_,
                _ => data.u128_.low,
            }
        }
    }

    /// The physical address, if it is RAM.
    pub fn physical(self) -> Option<u32> {
        self.place().filter(|(_, is_device)| !is_device).map(|(address, _)| address as u32)
    }

    /// The physical address, if it is a device's.
    pub fn device(self) -> Option<u64> {
        self.place().filter(|(_, is_device)| *is_device).map(|(address, _)| address)
    }

    fn place(self) -> Option<(u64, bool)> {
        // SAFETY: `info` and the address are the callback's, and so is what QEMU makes of them.
        unsafe {
            let place = qemu::qemu_plugin_get_hwaddr(self.info, self.address);
            let address = |place| {
                (qemu::qemu_plugin_hwaddr_phys_addr(place), qemu::qemu_plugin_hwaddr_is_io(place))
            };
            (!place.is_null()).then(|| address(place))
        }
    }
}
