// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry area's code as it was linked: how many instructions lead an alien to its server and
//! back, and that they access only the area and the alien's frame.

use super::code::ONES;
use crate::elf::Elf;
use crate::x86::has_memory;
use anyhow::{Context, Result, bail, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use mmu::area::BASE;

/// Instructions from an alien's system call to its server, and back.
const INSTRUCTIONS: [usize; 2] = [36, 42];

/// Checks both ways.
pub fn check(elf: &Elf) -> Result<()> {
    let [start, end] = ["area_call", "area_call_slow"].map(|name| elf.symbol(name));
    let (start, end) = (start?, end?);
    let place = ONES | u64::from(start);
    let code: Vec<Instruction> =
        Decoder::with_ip(64, elf.bytes(start, end)?, place, DecoderOptions::NONE)
            .into_iter()
            .collect();
    // The first test distinguishes the two; no other test jumps.
    for (turns, ends, count) in
        [(false, Mnemonic::Retf, INSTRUCTIONS[0]), (true, Mnemonic::Sysretq, INSTRUCTIONS[1])]
    {
        let way = way(&code, place, turns)?;
        way.iter().try_for_each(look)?;
        let last = way.last().map(Instruction::mnemonic);
        ensure!(last == Some(ends), "the way ends with {last:?} and not {ends:?}");
        ensure!(way.len() == count, "{} instructions and not {count}", way.len());
    }
    Ok(())
}

/// The instructions from an address to the end, of which only the first conditional jump may jump.
fn way(code: &[Instruction], start: u64, turns: bool) -> Result<Vec<Instruction>> {
    let (mut way, mut at, mut turns) = (Vec::new(), start, turns);
    loop {
        let i = *code.iter().find(|i| i.ip() == at).context("the way leaves the code")?;
        way.push(i);
        at = i.next_ip();
        match i.flow_control() {
            FlowControl::Next => {}
            FlowControl::ConditionalBranch => {
                if std::mem::take(&mut turns) {
                    at = i.near_branch_target();
                }
            }
            FlowControl::Return => return Ok(way),
            other => bail!("{i}: {other:?}"),
        }
    }
}

/// Checks that an instruction uses only general registers, and only memory of the area's words, of
/// the frame or of the stack.
fn look(i: &Instruction) -> Result<()> {
    let is_general = |r: Register| r.is_gpr64() || r.is_gpr32();
    let registers = (0..i.op_count()).filter(|operand| i.op_kind(*operand) == OpKind::Register);
    for operand in registers {
        ensure!(is_general(i.op_register(operand)), "{i} names a register of the machine's");
    }
    let is_areas = i.memory_base() == Register::None && i.memory_displacement64() >= BASE;
    let is_frames = matches!(i.memory_base(), Register::RBP | Register::RSP);
    ensure!(!has_memory(i) || is_areas || is_frames, "{i} is an access to something else");
    Ok(())
}
