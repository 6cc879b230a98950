// SPDX-License-Identifier: MIT OR Apache-2.0
//! UTCBs: the slots of a space's threads, in pages that the kernel maps there.

use crate::port::Port;
use crate::{Kernel, Owner, PAGE, Result, Space, Thread};
use abi::utcb::{SLOT_SIZE, SLOT_START, SLOT_USED, SLOTS, SLOTS_A_PAGE, Utcb, slot_offset};
use abi::{Error, PAGE_SIZE, Rights, UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;
use mmu::Format;
use pool::{Object, Ref};

/// Which UTCB slots of a space are taken, a bit each.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct SlotMap(pub [u32; SLOT_MAP_WORDS]);
impl Object for SlotMap {}

/// Words of a [`SlotMap`].
pub const SLOT_MAP_WORDS: usize = SLOTS.div_ceil(SLOTS_A_WORD) as usize;

/// Slots of a word of a [`SlotMap`]: those of whole pages.
pub const SLOTS_A_WORD: u32 = u32::BITS / SLOTS_A_PAGE * SLOTS_A_PAGE;

/// A word of a [`SlotMap`] of which all slots are taken.
const fn full(word: usize) -> u32 {
    let left = SLOTS - word as u32 * SLOTS_A_WORD;
    u32::MAX >> (u32::BITS - if left < SLOTS_A_WORD { left } else { SLOTS_A_WORD })
}

impl<P: Port> Kernel<P> {
    /// 32 bits of a thread's UTCB.
    pub(crate) fn utcb_word(&self, thread: Ref<Thread>, offset: usize) -> u32 {
        let bytes = self.pool.bytes_at(self.pool[thread].utcb + offset as u32, 4);
        bytes.try_into().map_or(0, u32::from_ne_bytes)
    }

    /// A word of the message in a thread's UTCB.
    pub(crate) fn message_word(&self, thread: Ref<Thread>, index: u32) -> Word {
        let bytes = size_of::<Word>() as u32;
        let at = self.pool[thread].utcb + offset_of!(Utcb, words) as u32 + index * bytes;
        bytemuck::pod_read_unaligned(self.pool.bytes_at(at, bytes))
    }

    /// Writes 32 bits of a thread's UTCB.
    pub(crate) fn set_utcb_word(&mut self, thread: Ref<Thread>, offset: usize, value: u32) {
        let at = self.pool[thread].utcb + offset as u32;
        self.pool.bytes_mut(at, 4).copy_from_slice(&value.to_ne_bytes());
    }

    /// Takes a free UTCB slot of a native space; returns its address there and in the kernel.
    pub(crate) fn take_utcb_slot(&mut self, home: Ref<Space>) -> Result<(UserAddr, u32)> {
        let map = self.pool[home].utcb_map.get().ok_or(Error::BadArgument)?;
        let words = &self.pool[map].0;
        let (word, bits) = words
            .iter()
            .enumerate()
            .find(|(word, bits)| **bits != full(*word))
            .ok_or(Error::PoolExhausted)?;
        let bit = bits.trailing_ones();
        let address = self.pool[home].first_slot + slot_offset(word as u32 * SLOTS_A_WORD + bit);
        let page_at = address.align_down(PAGE_SIZE);
        let page = match self.area_page(home, page_at) {
            Some(page) => page,
            None => self.add_utcb_page(home, page_at)?,
        };
        let page = self.port.utcb_page(page, page_at);
        if let Some(bits) = self.pool[map].0.get_mut(word) {
            *bits |= 1 << bit;
        }
        let utcb = page + (address - page_at) as u32;
        self.pool.bytes_mut(utcb, SLOT_USED).fill(0);
        Ok((address, utcb))
    }

    /// Address in the pool of a page of a space's UTCB area.
    fn area_page(&self, space: Ref<Space>, address: UserAddr) -> Option<u32> {
        let table = self.own_table(Owner::Space(space), P::Format::table_index(address))?;
        self.entry(table, P::Format::leaf_index(address))
            .and_then(P::Format::decode)
            .map(|leaf| self.port.pool_address(leaf.physical))
    }

    fn add_utcb_page(&mut self, home: Ref<Space>, address: UserAddr) -> Result<u32> {
        let quota = self.pool[home].region.header.quota.get().ok_or(Error::BadState)?;
        let page = self.allocate(quota, PAGE)?;
        let physical = self.port.physical(page);
        self.set_kernel_leaf(home, address, physical, Rights::READ.union(Rights::WRITE))
            .inspect_err(|_| {
                self.release(quota.link(), page, PAGE);
            })?;
        Ok(page)
    }

    /// Gives a thread's UTCB slot back, and the page with the last slot in it.
    pub(crate) fn free_utcb_slot(&mut self, thread: Ref<Thread>) {
        let Thread { home, utcb_address: address, .. } = self.pool[thread];
        let Some(home) = home.get() else { return };
        let Some(map) = self.pool[home].utcb_map.get() else { return };
        let offset = (address - self.pool[home].first_slot) as u32;
        let first = offset / PAGE * SLOTS_A_PAGE;
        let Some(bits) = self.pool[map].0.get_mut((first / SLOTS_A_WORD) as usize) else { return };
        let of_page = first % SLOTS_A_WORD;
        *bits &= !(1 << (of_page + (offset % PAGE - SLOT_START) / SLOT_SIZE));
        if *bits >> of_page & ((1 << SLOTS_A_PAGE) - 1) == 0 {
            let (quota, address) =
                (self.pool[home].region.header.quota, address.align_down(PAGE_SIZE));
            if let Some(page) = self.area_page(home, address) {
                self.clear_leaf(home, address);
                self.release(quota, page, PAGE);
            }
        }
    }
}
