// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debug registers of threads, on IA-32 and x86-64.

use crate::{Result, Thread, sys};
use abi::state::DEBUG;
use abi::{Error, Word, call};

impl Thread {
    /// Sets a debug register; returns the last status.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_debug(self, index: Word, value: Word) -> Result<Word> {
        let part = Word::from(DEBUG).checked_add(index).ok_or(Error::BadArgument)?;
        sys::call(call::SetState { thread: self.into(), part, values: [value, 0] })
            .map(|[status, _, _]| status)
    }
}
