// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resources that only one kind of processor has, such as I/O ports. Here they are a range of
//! numbers: as for everything that is mapped, a Memory says who may have which numbers. An object
//! of the port ([`Special`]) records which of them a Space has; the Space gets this object with its
//! first number, and its Quota pays.

use crate::port::{Port, Special};
use crate::{Kernel, Memory, Owner, Result, Space};
use abi::{Error, Kind, MapRecord, Rights};
use pool::Ref;

impl<P: Port> Kernel<P> {
    /// A record of `map` that names a Memory of the class `SPECIAL`, to which the capability allows
    /// `allowed`.
    pub(crate) fn map_special(
        &mut self,
        caller: Ref<Space>,
        record: &MapRecord,
        memory: Ref<Memory>,
        allowed: Rights,
    ) -> Result<()> {
        let space: Ref<Space> =
            self.object(caller, record.space(), Kind::Space, Rights::CONTROL)?;
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
        if open && self.pool[space].special == 0 {
            let made: Ref<P::Special> = Ref::new(self.allocate(quota, Self::SPECIAL_BYTES)?);
            if let Err(error) = self.note_use(memory, owner) {
                self.release(quota.link(), made.address(), Self::SPECIAL_BYTES);
                return Err(error);
            }
            self.pool[made].close_all();
            self.pool[space].special = made.address();
        } else if open {
            self.note_use(memory, owner)?;
        }
        self.set_special(space, (base.0 + offset) as u32, count as u32, open);
        Ok(())
    }

    /// Opens a range of them, at least one, to a space, or closes it, if the space has any.
    pub(crate) fn set_special(&mut self, space: Ref<Space>, first: u32, count: u32, open: bool) {
        let at = self.pool[space].special;
        if at != 0 {
            self.pool[Ref::<P::Special>::new(at)].set(first, count, open);
        }
    }

    /// Frees what a space has of them.
    pub(crate) fn discard_special(&mut self, space: Ref<Space>) {
        let Space { special, region, .. } = self.pool[space];
        if special != 0 {
            self.release(region.header.quota, special, Self::SPECIAL_BYTES);
        }
    }

    const SPECIAL_BYTES: u32 = size_of::<P::Special>() as u32;
}
