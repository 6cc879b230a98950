// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are made once in a run of this tool: a caller that asks for one again, on any
//! thread, gets the first result.

use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Things of one kind, by their names.
pub struct Once<T>(Mutex<BTreeMap<String, Place<T>>>);

/// Where a thing is when it was made. Who makes it has the lock.
type Place<T> = Arc<Mutex<Option<T>>>;

impl<T: Clone> Once<T> {
    /// None of them.
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The thing of this name, which `make` makes if it is not there; who asks for the same
    /// meanwhile waits.
    ///
    /// # Errors
    /// Those of `make`: then it is not there.
    pub fn get(&self, name: &str, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let place = locked(&self.0).entry(name.into()).or_default().clone();
        let mut made = locked(&place);
        if let Some(thing) = &*made {
            return Ok(thing.clone());
        }
        Ok(made.insert(make()?).clone())
    }
}

/// A test that panicked has left nothing half made.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn what_was_made_is_not_made_again() {
        let once = Once::new();
        assert!(once.get("a", || bail!("no")).is_err());
        let made = [("a", 1), ("a", 2), ("b", 3)]
            .map(|(name, number)| once.get(name, || Ok(number)).expect("a number"));
        assert_eq!(made, [1, 1, 3]);
    }
}
