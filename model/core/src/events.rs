// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of which a processor's time consists.

use serde::{Deserialize, Serialize};

/// The owner of the code that the processor executes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// Ring 0.
    Kernel,
    /// The Linux server: ring 1, or user mode at its addresses.
    Server,
    /// Any other native component: a space with a kernel information page.
    Components,
    /// Everything else: processes of Linux.
    User,
}

/// A value for each owner.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct ByOwner<T> {
    /// [`Owner::Kernel`].
    pub kernel: T,
    /// [`Owner::Server`].
    pub server: T,
    /// [`Owner::Components`].
    pub components: T,
    /// [`Owner::User`].
    pub user: T,
}

impl<T> ByOwner<T> {
    /// The owner's part.
    pub fn of(&mut self, owner: Owner) -> &mut T {
        match owner {
            Owner::Kernel => &mut self.kernel,
            Owner::Server => &mut self.server,
            Owner::Components => &mut self.components,
            Owner::User => &mut self.user,
        }
    }

    /// All parts, in the order of [`Owner`].
    pub fn parts(&self) -> [&T; 4] {
        [&self.kernel, &self.server, &self.components, &self.user]
    }

    /// Each part changed by `change`.
    pub fn map<U>(&self, mut change: impl FnMut(&T) -> U) -> ByOwner<U> {
        ByOwner {
            kernel: change(&self.kernel),
            server: change(&self.server),
            components: change(&self.components),
            user: change(&self.user),
        }
    }

    /// `combine` of each part and `other`'s.
    pub fn zip<U>(&mut self, other: &ByOwner<U>, mut combine: impl FnMut(&mut T, &U)) {
        combine(&mut self.kernel, &other.kernel);
        combine(&mut self.server, &other.server);
        combine(&mut self.components, &other.components);
        combine(&mut self.user, &other.user);
    }
}

impl ByOwner<Events> {
    /// The sum over all owners.
    #[must_use]
    pub fn total(&self) -> Events {
        let mut sum = Events::default();
        self.parts().into_iter().for_each(|part| sum.zip(part, |a, b| *a += b));
        sum
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One value for each kind of event: counts, their spreads, or their costs.
        #[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[serde(deny_unknown_fields)]
        pub struct Events<T = u64> {
            $($(#[$doc])* pub $name: T,)*
        }

        impl<T> Events<T> {
            /// Each value changed by `change`.
            pub fn map<U>(&self, mut change: impl FnMut(&T) -> U) -> Events<U> {
                Events { $($name: change(&self.$name),)* }
            }

            /// `combine` of each value and `other`'s.
            pub fn zip<U>(&mut self, other: &Events<U>, mut combine: impl FnMut(&mut T, &U)) {
                $(combine(&mut self.$name, &other.$name);)*
            }

            /// The sum of what `product` makes of each value and `other`'s.
            pub fn product<U>(&self, other: &Events<U>, mut product: impl FnMut(&T, &U) -> f64) -> f64 {
                let mut sum = 0.0;
                $(sum += product(&self.$name, &other.$name);)*
                sum
            }

            /// The values with their names.
            pub fn named(&self) -> Vec<(&'static str, &T)> {
                vec![$((stringify!($name), &self.$name),)*]
            }

            /// Changes each value, by its name.
            pub fn each(&mut self, mut change: impl FnMut(&'static str, &mut T)) {
                $(change(stringify!($name), &mut self.$name);)*
            }

            /// As [`map`](Self::map); if there is no value for a name, the error has the name.
            pub(crate) fn from_names<E>(mut value: impl FnMut(&'static str) -> Result<T, E>) -> Result<Self, E> {
                Ok(Self { $($name: value(stringify!($name))?,)* })
            }
        }
    };
}

events! {
    /// Instructions; each iteration of a repeated one counts (as with QEMU's `-icount`). Markers do
    /// not count.
    instructions,
    /// Pages of code whose translation was not in the instruction TLB.
    itlb_misses,
    /// Pages of data whose translation was not in the data TLB.
    dtlb_misses,
    /// Lines of code that were not in the first-level instruction cache.
    l1i_misses,
    /// Lines of data that were not in the first-level data cache.
    l1d_misses,
    /// Lines of decoded instructions that were not in the trace cache.
    trace_misses,
    /// Lines of either that were not in the second-level cache.
    l2_misses,
    /// Translations that the second-level TLB did not have either (x86-64).
    walks,
    /// Entries of tables that were read for these (x86-64).
    walk_loads,
    /// Changes from user mode to kernel mode by `sysenter` or `syscall`.
    sysenter_entries,
    /// Changes by `int`, `swi`.
    trap_entries,
    /// Changes by an exception or an interrupt.
    fault_entries,
    /// `iret` and far `ret`, returns from exceptions.
    far_returns,
    /// `sysexit`, `sysret`.
    sysexits,
    /// Loads of the translation root (CR3, ARM's c2) with another value.
    space_switches,
    /// Flushes of the whole TLB otherwise: CR3 with the same value, any write of CR4, ARM's c8; of
    /// all that a PCID has, by a load of CR3 (x86-64).
    tlb_flushes,
    /// Flushes of one page's translation (`invlpg`, ARM's c8, `tlbie`; of MIPS, of two pages').
    page_flushes,
    /// Flushes of a whole cache (`wbinvd`, `invd`; of ARM and PowerPC, invalidations of code's, of
    /// data's, or of both).
    cache_flushes,
    /// Loads of a segment register by an instruction for that (PowerPC: `mtsr`, `mtsrin`).
    segment_loads,
    /// Accesses to I/O ports.
    port_accesses,
    /// Writes of the domain access control (ARM).
    domain_writes,
    /// Writes of the process identifier (ARM).
    process_writes,
    /// Reads of data that may not be in a cache (ARM, PowerPC).
    uncached_reads,
    /// Writes that went past the cache: its line was not there and none was made, or may not be, or
    /// memory was written as well (ARM, PowerPC).
    memory_writes,
    /// Lines written back to memory: displaced or cleaned (ARM, PowerPC).
    write_backs,
    /// Cleanings of one line of data (ARM; `dcbst`).
    line_cleans,
    /// The same with invalidation (ARM; `dcbf`).
    line_flushes,
    /// Invalidations of one line of data without cleaning (ARM; `dcbi`).
    line_invalidations,
    /// Invalidations of one line of code (ARM; `icbi`).
    code_line_invalidations,
    /// Lines made without reading memory (XScale; `dcbz`).
    line_allocations,
    /// Turns of the loop that cleans the whole cache (ARM926).
    test_cleans,
    /// Waits until what was written is in memory (ARM; `sync`).
    drains,
    /// Flushes of branch predictions (XScale).
    branch_flushes,
    /// Entries of the hashed table that searches read after misses of a TLB (604).
    hash_loads,
    /// Searches that found no entry: each is an exception (604).
    hash_misses,
    /// Misses of a TLB that software fills (603, MIPS).
    software_reloads,
    /// Instructions of the handler that fills it; they are not among `instructions` (603, MIPS).
    reload_instructions,
}

impl<T: Copy + std::iter::Sum<T>> Events<T> {
    /// Changes from user mode to kernel mode, by any way.
    pub fn kernel_entries(&self) -> T {
        [self.sysenter_entries, self.trap_entries, self.fault_entries].into_iter().sum()
    }

    /// Flushes of TLBs and caches, or of parts of them, by any way.
    pub fn flushes(&self) -> T {
        [
            self.tlb_flushes,
            self.page_flushes,
            self.cache_flushes,
            self.line_cleans,
            self.line_flushes,
            self.line_invalidations,
            self.code_line_invalidations,
            self.line_allocations,
            self.test_cleans,
        ]
        .into_iter()
        .sum()
    }
}
