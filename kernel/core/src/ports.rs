// SPDX-License-Identifier: MIT OR Apache-2.0
//! I/O ports: a map for each Space that was ever given one, a bit each. The processor reads the map
//! itself, so a bit counts at once; a port lets a thread use the map when that first asks for it.

use crate::port::Port;
use crate::{Kernel, Memory, Owner, Result, Space};
use abi::syscall::MapRecord;
use abi::{Error, Kind, Rights, Word};
use bytemuck::{Pod, Zeroable};
use pool::{Object, Ref};

/// I/O ports a space may use, a bit each, set where it may not.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct PortMap(pub [u32; 2048]);
impl Object for PortMap {}

/// Bytes of a [`PortMap`].
pub const PORT_MAP_BYTES: u32 = 8192;

impl<P: Port> Kernel<P> {
    /// A record of `map` that names a Memory of ports, to which the capability allows `allowed`.
    pub(crate) fn map_ports(&mut self, caller: Ref<Space>, record: &MapRecord, memory: Ref<Memory>, allowed: Rights) -> Result<()> {
        let space: Ref<Space> = self.object(caller, record.space() as Word, Kind::Space, Rights::CONTROL)?;
        let owner = Owner::Space(space);
        let quota = self.quota_of(owner)?;
        let Memory { base, bytes: size, .. } = self.pool[memory];
        let (offset, count) = (record.offset(), record.length());
        if count == 0 || offset > size || count > size - offset {
            return Err(Error::BadArgument);
        }
        let open = record.op() == MapRecord::MAP;
        if open && !allowed.contains(Rights::WRITE) {
            return Err(Error::NoRight);
        }
        if open && self.pool[space].ports.is_null() {
            let map: Ref<PortMap> = Ref::new(self.allocate(quota, PORT_MAP_BYTES)?);
            if let Err(error) = self.note_use(memory, owner) {
                self.release(quota.link(), map.address(), PORT_MAP_BYTES);
                return Err(error);
            }
            self.pool[map].0.fill(u32::MAX);
            self.pool[space].ports = map.link();
        } else if open {
            self.note_use(memory, owner)?;
        }
        self.set_ports(space, (base.0 + offset) as u32, count as u32, open);
        Ok(())
    }

    /// Marks ports of a space, at least one, as open or closed, if it has a map.
    pub(crate) fn set_ports(&mut self, space: Ref<Space>, first: u32, count: u32, open: bool) {
        let Some(map) = self.pool[space].ports.get() else { return };
        let last = first + (count - 1);
        let words = self.pool[map].0.get_mut((first / 32) as usize..=(last / 32) as usize).unwrap_or_default();
        let (low, high) = (u32::MAX << (first % 32), u32::MAX >> (31 - last % 32));
        let change = |word: &mut u32, bits: u32| if open { *word &= !bits } else { *word |= bits };
        match words {
            [] => {}
            [word] => change(word, low & high),
            [head, whole @ .., tail] => {
                change(head, low);
                whole.fill(if open { 0 } else { u32::MAX });
                change(tail, high);
            }
        }
    }
}
