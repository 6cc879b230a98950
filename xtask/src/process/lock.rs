// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks that one process holds at a time. Each file says who holds it. The kernel releases a lock
//! when its process ends, however that ends.

use anyhow::{Context, Error, Result, anyhow};
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};

/// The lock of a file, which is another file beside it. Ends with this, or with the process.
pub struct Lock(File);

/// Somebody else has it.
#[derive(Debug)]
pub struct Taken {
    /// The lock's file.
    file: PathBuf,
    /// Who: a process, and what it does.
    by: String,
}

/// The file that is the lock of another. Not `.lock`: a disk's image that has a file of that name
/// beside it is one that Bochs does not open.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(".user");
    name.into()
}

/// What this process was asked to do, for others to read.
pub fn asked() -> String {
    let words: Vec<_> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

impl Lock {
    fn open(file: &Path) -> Result<(PathBuf, File)> {
        let path = beside(file);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        Ok((path.clone(), lock.with_context(|| format!("cannot write {}", path.display()))?))
    }

    /// The lock of a file for a process that was asked to do `what`, or the process that has it.
    ///
    /// # Errors
    /// If the lock's file cannot be made.
    pub fn try_of(file: &Path, what: &str) -> Result<Result<Self, Taken>> {
        let (path, lock) = Self::open(file)?;
        match lock.try_lock() {
            Ok(()) => Ok(Ok(Self(lock).named(what)?)),
            Err(TryLockError::WouldBlock) => {
                Ok(Err(Taken { file: file.into(), by: reader(&lock) }))
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }

    /// The lock of a file for this process as soon as nobody else has it; says for which process it
    /// waits.
    ///
    /// # Errors
    /// If the lock's file cannot be made.
    pub fn of(file: &Path) -> Result<Self> {
        match Self::try_of(file, &asked())? {
            Ok(lock) => return Ok(lock),
            Err(taken) => eprintln!("waiting for {}, which builds, too; Ctrl-C ends", taken.by),
        }
        let (path, lock) = Self::open(file)?;
        lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Self(lock).named(&asked())
    }

    fn named(mut self, what: &str) -> Result<Self> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        write!(self.0, "process {} (`{what}`)", std::process::id())?;
        Ok(self)
    }

    /// Leaves it to the program that this process becomes.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn hand_on(self) -> Result<()> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        let _ = self.0.into_raw_fd();
        Ok(())
    }
}

/// Whose a lock is. It is written after it is taken, so it may not be said yet.
fn reader(mut lock: &File) -> String {
    let mut by = String::new();
    match lock.read_to_string(&mut by) {
        Ok(1..) => by,
        _ => "another process".into(),
    }
}

/// What to say to a user who cannot have a lock.
pub fn refusal(taken: Taken) -> Error {
    anyhow!(
        "{} is in use by {}: end that first, or wait until it has ended",
        taken.file.display(),
        taken.by
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it() {
        let file = std::env::temp_dir().join(format!("macadamia-lock-{}", std::process::id()));
        let first = Lock::try_of(&file, "run x").expect("a file").expect("nobody has it");
        let taken = Lock::try_of(&file, "run y").expect("a file").err().expect("it is taken");
        let sentence = format!(
            "{} is in use by process {} (`run x`): end that first",
            file.display(),
            std::process::id()
        );
        assert!(refusal(taken).to_string().starts_with(&sentence));
        drop(first);
        assert!(Lock::try_of(&file, "run y").expect("a file").is_ok());
        std::fs::remove_file(beside(&file)).expect("a file");
    }
}
