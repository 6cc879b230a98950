// SPDX-License-Identifier: MIT OR Apache-2.0
//! A source tree from an archive and patches. After a patch was edited, only files whose contents
//! change are written again, so that `make` compiles only what depends on them.
//!
//! Next to the tree are a folder with the archive's version of each file that a patch touches
//! (`NAME.upstream`), and a stamp of what the tree was made from (`NAME.unpacked`).
//!
//! It does not know what it unpacks.

use crate::process::lock::Lock;
use crate::process::{aside, run};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes that a tree of Linux takes, with all that is made in it.
const TREE: u64 = 2 << 30;

/// Writes a file if its contents change, so that `make` sees only what is new.
pub fn put(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    aside(path, |making| {
        fs::write(making, contents)?;
        // A script stays one.
        if let Ok(old) = fs::metadata(path) {
            fs::set_permissions(making, old.permissions())?;
        }
        Ok(())
    })
}

/// Makes the folder `tree` the archive's contents, without their outermost folder, with the patches
/// in their order. `shared` is a folder for the contents as they are, of which all trees have hard
/// links. `version` is asked for the name of what the archive has, for a message.
pub fn unpack(
    tree: &Path,
    archive: &Path,
    shared: &Path,
    patches: &[PathBuf],
    version: impl Fn(&Path) -> String,
) -> Result<()> {
    let package =
        fs::metadata(archive).with_context(|| format!("{} is missing", archive.display()))?;
    let origin = format!("{} {:?}", package.len(), package.modified()?);
    let mut texts = String::new();
    for patch in patches {
        texts += &fs::read_to_string(patch)?;
    }
    let stamp_file = tree.with_extension("unpacked");
    let upstream = tree.with_extension("upstream");
    let old = fs::read_to_string(&stamp_file).unwrap_or_default();
    let (old_origin, old_texts) = old.split_once('\n').unwrap_or_default();
    if old_origin == origin && old_texts == texts {
        return Ok(());
    }
    let mut touched = touched(&texts);
    if old_origin == origin && upstream.exists() {
        touched.append(&mut self::touched(old_texts));
    } else {
        forget(&stamp_file)?;
        for folder in [tree, &upstream] {
            make_empty(folder)?;
        }
        let disk = rustix::fs::statvfs(tree)
            .with_context(|| format!("cannot ask how full the disk of {} is", tree.display()))?;
        has_room(tree, disk.f_bavail.saturating_mul(disk.f_frsize))?;
        let _unpacking = Lock::of(shared)?;
        unpack_shared(shared, archive, &origin)?;
        // What changes a file of a tree makes another one and renames it.
        run(Command::new("cp").arg("-al").arg(shared.join(".")).arg(tree))?;
    }
    let stage = stage(tree, &upstream, &touched, patches, version)?;
    forget(&stamp_file)?;
    for name in &touched {
        match fs::read(stage.join(name)) {
            Ok(contents) => put(&tree.join(name), &contents)?,
            Err(_) if tree.join(name).exists() => fs::remove_file(tree.join(name))?,
            Err(_) => {}
        }
    }
    fs::remove_dir_all(stage)?;
    fs::write(stamp_file, format!("{origin}\n{texts}"))?;
    Ok(())
}

/// Unpacks an archive, unless that was done: to decompress it takes as long as to compile a tenth of
/// it.
fn unpack_shared(shared: &Path, archive: &Path, origin: &str) -> Result<()> {
    let stamp_file = shared.with_extension("unpacked");
    if fs::read_to_string(&stamp_file).is_ok_and(|old| old == origin) {
        return Ok(());
    }
    forget(&stamp_file)?;
    make_empty(shared)?;
    eprintln!("unpacking {}", archive.display());
    run(Command::new("tar")
        .arg("-xf")
        .arg(archive)
        .args(["--strip-components=1", "-C"])
        .arg(shared))?;
    Ok(fs::write(stamp_file, origin)?)
}

/// Makes an empty folder, whatever was there.
fn make_empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Whether a folder whose disk has so many free bytes has room for a tree: what is said is better
/// than a thousand lines of `tar`.
fn has_room(tree: &Path, free: u64) -> Result<()> {
    let (free, room) = (free >> 20, TREE >> 20);
    ensure!(
        free >= room,
        "no room for Linux: its source and what is made of it take {room} MiB in {}, and {free} MiB are free on that disk; free some there, \
         or move the checkout",
        tree.display()
    );
    Ok(())
}

/// The files that patches change, make or delete, as they name them.
fn touched(patches: &str) -> BTreeSet<String> {
    let named = |line: &str| {
        line.strip_prefix("--- a/").or_else(|| line.strip_prefix("+++ b/")).map(String::from)
    };
    patches.lines().filter_map(named).collect()
}

/// What is begun and not finished is no tree.
fn forget(stamp_file: &Path) -> Result<()> {
    if stamp_file.exists() {
        fs::remove_file(stamp_file)?;
    }
    Ok(())
}

/// A folder with copies of the archive's files, patched.
fn stage(
    tree: &Path,
    upstream: &Path,
    touched: &BTreeSet<String>,
    patches: &[PathBuf],
    version: impl Fn(&Path) -> String,
) -> Result<PathBuf> {
    let stage = tree.with_extension("patching");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    fs::create_dir_all(&stage)?;
    for name in touched {
        let original = upstream.join(name);
        // The archive's, unless an earlier set of patches made it: then its mark says that there is
        // none.
        let none = upstream.join(format!("{name}.none"));
        if !original.exists() && !none.exists() {
            match fs::read(tree.join(name)) {
                Ok(contents) => put(&original, &contents)?,
                Err(_) => put(&none, &[])?,
            }
        }
        if original.exists() {
            put(&stage.join(name), &fs::read(&original)?)?;
        }
    }
    for patch in patches {
        let mut command = Command::new("patch");
        command
            .args(["-p1", "--silent", "--forward", "--fuzz=0", "-d"])
            .arg(&stage)
            .stdin(fs::File::open(patch)?);
        let output = command.output().context("cannot run patch")?;
        ensure!(
            output.status.success(),
            "{} does not fit this version ({}): {}",
            patch.display(),
            version(tree),
            String::from_utf8_lossy(&output.stdout).trim()
        );
    }
    Ok(stage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::SystemTime;

    const CHANGES: &str = "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+I\n";
    const CHANGES_OTHERWISE: &str = "--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+i\n";
    const CHANGES_TWO: &str = "--- a/two\n+++ b/two\n@@ -1 +1 @@\n-2\n+II\n";
    const MAKES: &str = "--- /dev/null\n+++ b/sub/three\n@@ -0,0 +1 @@\n+3\n";

    #[test]
    fn a_full_disk_is_named_before_anything_is_unpacked() {
        has_room(Path::new("a/source"), TREE).expect("that is enough");
        let error = has_room(Path::new("a/source"), 5 << 20).expect_err("it is not").to_string();
        assert!(
            error.contains(
                "take 2048 MiB in a/source, and 5 MiB are free on that disk; free some there"
            ),
            "{error}"
        );
    }

    /// A folder with an archive of the files `one` and `two`.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let place = std::env::temp_dir()
                .join(format!("macadamia-patched-{name}-{}", std::process::id()));
            fs::create_dir_all(place.join("in")).expect("a folder");
            fs::write(place.join("in/one"), "1\n").expect("a file");
            fs::write(place.join("in/two"), "2\n").expect("a file");
            run(Command::new("tar")
                .arg("-C")
                .arg(&place)
                .arg("-cf")
                .arg(place.join("archive"))
                .arg("in"))
            .expect("an archive");
            Self(place)
        }

        /// Unpacks with these patches; what one, two and sub/three have then.
        fn unpack(&self, patches: &[&str]) -> Result<[Option<String>; 3]> {
            let write = |(i, text): (usize, &&str)| {
                let path = self.0.join(format!("{i}.patch"));
                fs::write(&path, text).expect("a file");
                path
            };
            let patches: Vec<PathBuf> = patches.iter().enumerate().map(write).collect();
            unpack(&self.tree(), &self.0.join("archive"), &self.shared(), &patches, |_| {
                "1".into()
            })?;
            Ok(["one", "two", "sub/three"]
                .map(|name| fs::read_to_string(self.tree().join(name)).ok()))
        }

        fn tree(&self) -> PathBuf {
            self.0.join("tree")
        }

        fn shared(&self) -> PathBuf {
            self.0.join("shared")
        }

        fn written(&self, name: &str) -> SystemTime {
            fs::metadata(self.tree().join(name)).and_then(|file| file.modified()).expect("a time")
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn files(contents: [&str; 3]) -> [Option<String>; 3] {
        contents.map(|text| (!text.is_empty()).then(|| format!("{text}\n")))
    }

    #[test]
    fn the_tree_is_as_if_unpacked_anew() {
        let place = Place::new("again");
        for (patches, expected) in [
            (&[CHANGES][..], ["I", "2", ""]),
            (&[CHANGES_OTHERWISE, MAKES], ["i", "2", "3"]),
            (&[MAKES, CHANGES_TWO], ["1", "II", "3"]),
            (&[CHANGES_TWO], ["1", "II", ""]),
            (&[MAKES], ["1", "2", "3"]),
            (&[], ["1", "2", ""]),
        ] {
            assert_eq!(place.unpack(patches).expect("the patches fit"), files(expected));
        }
    }

    #[test]
    fn what_trees_share_stays_as_it_was_unpacked() {
        let place = Place::new("shared");
        place.unpack(&[CHANGES, MAKES]).expect("the patches fit");
        let of = |name: &str| fs::metadata(place.shared().join(name)).expect("a file").ino();
        let shared = fs::read_to_string(place.shared().join("one")).expect("a file");
        assert_eq!((shared.as_str(), place.shared().join("sub").exists()), ("1\n", false));
        let two = fs::metadata(place.tree().join("two")).expect("a file");
        assert_eq!(two.ino(), of("two"), "it is unpacked once");
        put(&place.tree().join("two"), b"other\n").expect("a file");
        let shared = fs::read_to_string(place.shared().join("two")).expect("a file");
        assert_eq!(shared, "2\n");
        // Another archive of the same name.
        fs::write(place.0.join("in/two"), "second\n").expect("a file");
        run(Command::new("tar")
            .arg("-C")
            .arg(&place.0)
            .arg("-cf")
            .arg(place.0.join("archive"))
            .arg("in"))
        .expect("an archive");
        assert_eq!(place.unpack(&[CHANGES]).expect("it fits"), files(["I", "second", ""]));
    }

    #[test]
    fn what_does_not_change_is_not_written() {
        let place = Place::new("kept");
        place.unpack(&[CHANGES]).expect("the patch fits");
        let before = place.written("one");
        place.unpack(&[CHANGES, CHANGES_TWO]).expect("the patches fit");
        assert_eq!(place.written("one"), before);
    }

    #[test]
    fn a_script_stays_one() {
        let place = Place::new("script");
        let one = place.0.join("in/one");
        fs::set_permissions(&one, fs::Permissions::from_mode(0o755)).expect("a file");
        run(Command::new("tar")
            .arg("-C")
            .arg(&place.0)
            .arg("-cf")
            .arg(place.0.join("archive"))
            .arg("in"))
        .expect("an archive");
        place.unpack(&[CHANGES]).expect("the patch fits");
        let mode = fs::metadata(place.tree().join("one")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn a_patch_that_does_not_fit_is_named_and_changes_nothing() {
        let place = Place::new("misfit");
        place.unpack(&[CHANGES]).expect("the patch fits");
        let before = place.written("one");
        let error =
            place.unpack(&[CHANGES, CHANGES_OTHERWISE]).expect_err("`one` is changed twice");
        assert!(
            format!("{error:#}").contains("1.patch does not fit this version (1)"),
            "{error:#}"
        );
        assert_eq!(place.unpack(&[CHANGES]).expect("the patch fits"), files(["I", "2", ""]));
        assert_eq!(place.written("one"), before);
        assert_eq!(
            place.unpack(&[CHANGES_OTHERWISE]).expect("the patch fits"),
            files(["i", "2", ""])
        );
    }
}
