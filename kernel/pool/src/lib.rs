// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed blocks of kernel memory by address-sized index.
//!
//! The pool is one contiguous range, fixed at boot, in which every kernel object
//! lives. A [`Ref<T>`] is the object's *kernel address*, so that assembly can use
//! it as it stands; for a type with an [`Object::ANCHOR`] it points that many
//! bytes into the object. All types are plain old data: a stale reference reads
//! wrong values, which is a bug, but never breaks Rust's rules. This crate is the
//! only place where an index becomes a pointer.
#![no_std]
#![deny(clippy::unwrap_used, clippy::expect_used)]

mod buddy;

use bytemuck::{Pod, Zeroable};
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

pub use buddy::{Buddy, MAX_ORDER, MIN_BYTES, order_of};

/// A type that lives in the pool: plain old data, aligned to at most 16 bytes.
pub trait Object: Pod {
    /// Distance from the object's first byte to where a [`Ref`] points.
    const ANCHOR: u32 = 0;
}

/// Names an object in the pool; never null.
#[repr(transparent)]
pub struct Ref<T>(u32, PhantomData<fn() -> T>);

/// Names an object in the pool or nothing (zero); may be stored in objects.
#[repr(transparent)]
pub struct Link<T>(u32, PhantomData<fn() -> T>);

impl<T> Ref<T> {
    /// The reference with this value. Any value may be given: access is checked.
    #[must_use]
    pub const fn new(address: u32) -> Self {
        Self(address, PhantomData)
    }
    /// Its value: the kernel address.
    #[must_use]
    pub const fn address(self) -> u32 {
        self.0
    }
    /// As a link.
    #[must_use]
    pub const fn link(self) -> Link<T> {
        Link(self.0, PhantomData)
    }
}

impl<T> Link<T> {
    /// Names nothing.
    pub const NULL: Self = Self(0, PhantomData);
    /// What it names.
    #[must_use]
    pub const fn get(self) -> Option<Ref<T>> {
        if self.0 == 0 { None } else { Some(Ref::new(self.0)) }
    }
    /// Whether it names nothing.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
    /// Whether it names `r`.
    #[must_use]
    pub const fn is(self, r: Ref<T>) -> bool {
        self.0 == r.0
    }
    /// Its value: an address or 0.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }
    /// The link with this value.
    #[must_use]
    pub const fn from_value(value: u32) -> Self {
        Self(value, PhantomData)
    }
}

impl<T> Default for Link<T> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T> From<Option<Ref<T>>> for Link<T> {
    fn from(r: Option<Ref<T>>) -> Self {
        r.map_or(Self::NULL, Ref::link)
    }
}

macro_rules! plain {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        impl<T> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }
        impl<T> Eq for $name<T> {}
        impl<T> core::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}
plain!(Ref);
plain!(Link);

// SAFETY: a `Link` is a `u32` (`repr(transparent)`, the marker has no size), and every value of it
// is meaningful.
unsafe impl<T> Zeroable for Link<T> {}
// SAFETY: as above; the marker is a function pointer type, so `Link<T>` is `'static` data exactly
// if `T` is.
unsafe impl<T: 'static> Pod for Link<T> {}

/// Kernel address of the pool's first byte: its lower 32 bits, as references have them.
pub const BASE: u32 = sizes::POOL_BASE;
/// The rest of a kernel address. With 64 bits the kernel lives in the last 4 GiB.
const WINDOW: usize = !(u32::MAX as usize);

/// Bytes of the largest object. So many are left unused at the pool's end: an object that begins
/// inside ends inside, and one comparison checks it.
const LARGEST: u32 = 2 * abi::PAGE_SIZE as u32;

/// The kernel's memory for objects.
pub struct Pool {
    memory: *mut u8,
    bytes: u32,
    /// Where blocks can be seen a second time: address and bytes.
    window: (u32, u32),
    buddy: Buddy,
}

impl Pool {
    /// Takes over `bytes` at `memory`, which references will call [`BASE`].
    /// The first `reserved` bytes are not allocated from: they hold tables that
    /// the caller places. All of it is cleared.
    ///
    /// # Safety
    /// On the machine itself `memory` is at [`BASE`]. It is valid for reads and writes of `bytes`
    /// bytes for as long as the pool exists, aligned to a page, and while any reference obtained
    /// from the pool is alive nothing else accesses it. (The kernel guarantees the last by
    /// borrowing the pool only between entry and exit, on one CPU.)
    ///
    /// # Panics
    /// If `bytes` or `reserved` are not multiples of a page, or there are too few.
    pub unsafe fn new(memory: *mut u8, bytes: u32, reserved: u32) -> Self {
        let page = abi::PAGE_SIZE as u32;
        assert!(bytes > LARGEST, "a pool that is too small");
        assert!(
            cfg!(not(target_os = "none")) || memory.expose_provenance() == WINDOW | BASE as usize,
            "the pool is elsewhere"
        );
        assert!(
            bytes.is_multiple_of(page) && reserved.is_multiple_of(page),
            "pool not page aligned"
        );
        // SAFETY: the caller gives us all of it.
        unsafe { memory.write_bytes(0, bytes as usize) };
        let mut pool = Self { memory, bytes: bytes - LARGEST, window: (0, 0), buddy: Buddy::new() };
        Buddy::start(&mut pool, reserved);
        pool
    }

    /// Lets raw bytes be named by these addresses, too: for blocks that the port maps a second time
    /// there. (On the host they are the pool's in the same order.)
    ///
    /// # Safety
    /// On the machine itself whatever is named there is mapped, and is memory of the pool. While it
    /// is named there it is not named by its address in the pool.
    pub const unsafe fn add_window(&mut self, address: u32, bytes: u32) {
        self.window = (address, bytes);
    }

    /// Bytes in the pool.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Bytes not allocated.
    #[must_use]
    pub const fn free_bytes(&self) -> u32 {
        self.buddy.free_bytes
    }

    /// Allocates a zeroed block of at least `bytes`, a power of two, aligned to its size.
    pub fn allocate(&mut self, bytes: u32) -> Option<u32> {
        let address = self.allocate_uncleared(bytes)?;
        self.bytes_mut(address, 1 << order_of(bytes)?).fill(0);
        Some(address)
    }

    /// As [`allocate`](Self::allocate), but the block holds what was there before: the caller
    /// clears all of it before anything reads it. For blocks that are too large to clear in one
    /// piece.
    pub fn allocate_uncleared(&mut self, bytes: u32) -> Option<u32> {
        Buddy::allocate(self, order_of(bytes)?)
    }

    /// Gives a block back. `bytes` as in [`allocate`](Self::allocate).
    ///
    /// # Panics
    /// If no such block was allocated: a kernel bug.
    #[expect(clippy::expect_used, reason = "a mistake of the kernel")]
    pub fn free(&mut self, address: u32, bytes: u32) {
        let order = order_of(bytes).expect("freed a block of impossible size");
        Buddy::free(self, address, order);
    }

    /// Where an address of the pool really is.
    #[inline]
    fn at(&self, address: u32) -> *mut u8 {
        if cfg!(target_os = "none") {
            core::ptr::with_exposed_provenance_mut(WINDOW | address as usize)
        } else {
            self.memory.wrapping_add(address.wrapping_sub(BASE) as usize)
        }
    }

    #[inline]
    fn range(&self, address: u32, bytes: u32) -> *mut u8 {
        if bytes > self.bytes || address.wrapping_sub(BASE) > self.bytes - bytes {
            return self.in_window(address, bytes);
        }
        self.at(address)
    }

    #[cold]
    #[inline(never)]
    fn in_window(&self, address: u32, bytes: u32) -> *mut u8 {
        let (start, most) = self.window;
        if bytes > most || address.wrapping_sub(start) > most - bytes {
            outside(address);
        }
        if cfg!(target_os = "none") {
            self.at(address)
        } else {
            self.range(BASE + (address - start), bytes)
        }
    }

    #[inline]
    fn pointer<T: Object>(&self, r: Ref<T>) -> *mut T {
        const { assert!(size_of::<T>() <= LARGEST as usize) };
        let start = r.0.wrapping_sub(T::ANCHOR);
        if start.wrapping_sub(BASE) >= self.bytes
            || !start.is_multiple_of(const { align_of::<T>() as u32 })
        {
            outside(start);
        }
        self.at(start).cast()
    }

    /// Raw bytes of the pool.
    #[must_use]
    #[inline]
    pub fn bytes_at(&self, address: u32, bytes: u32) -> &[u8] {
        let start = self.range(address, bytes);
        // SAFETY: `range` checked against the memory given to `new`.
        unsafe { core::slice::from_raw_parts(start, bytes as usize) }
    }

    /// Raw bytes of the pool, for writing.
    #[inline]
    pub fn bytes_mut(&mut self, address: u32, bytes: u32) -> &mut [u8] {
        let start = self.range(address, bytes);
        // SAFETY: `range` checked; `self` is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(start, bytes as usize) }
    }
}

/// A reference to what is no object: a kernel bug.
#[cold]
#[inline(never)]
fn outside(address: u32) -> ! {
    panic!("kernel address {address:#x} is outside the pool or misaligned")
}

impl<T: Object> Index<Ref<T>> for Pool {
    type Output = T;
    #[inline]
    fn index(&self, r: Ref<T>) -> &T {
        // SAFETY: in the pool and aligned (`pointer`), plain data, shared borrow of the pool.
        unsafe { &*self.pointer(r) }
    }
}

impl<T: Object> IndexMut<Ref<T>> for Pool {
    #[inline]
    fn index_mut(&mut self, r: Ref<T>) -> &mut T {
        // SAFETY: in the pool and aligned (`pointer`), plain data, exclusive borrow of the pool.
        unsafe { &mut *self.pointer(r) }
    }
}
