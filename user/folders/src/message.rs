// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of 9P2000.L to a server, as its client may send them. Their fields are those of QEMU's
//! documentation of the protocol and of Linux's `include/net/9p/9p.h`; numbers have the low byte
//! first, and a text is its bytes after their number in two bytes.
//!
//! A message that is checked here has all of its fields, and nothing else: QEMU stops a device that
//! is given half of one. What a folder refuses, such as names that lead out of it, is not looked at.

use image::protocol::folder::{HEAD, MESSAGE, MOST_FIDS};

/// Why a message is refused: an error number of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub u32);

impl Errno {
    /// It would make a device node.
    pub const PERM: Self = Self(1);
    /// The device had to be reset, and forgot it.
    pub const IO: Self = Self(5);
    /// A session begins, and others are under way.
    pub const BUSY: Self = Self(16);
    /// There is no such folder.
    pub const NODEV: Self = Self(19);
    /// It is no message.
    pub const INVALID: Self = Self(22);
    /// Its number of a file is too large.
    pub const TOO_MANY: Self = Self(24);
    /// A name in it is too long.
    pub const NAME_TOO_LONG: Self = Self(36);
    /// No client needs it.
    pub const UNSUPPORTED: Self = Self(95);
    /// The session was not begun, or is over.
    pub const STALE: Self = Self(116);
}

/// A field of a message.
#[derive(Clone, Copy)]
enum Field {
    Byte,
    Half,
    Word,
    Long,
    /// A number of a file.
    Fid,
    /// No number of a file.
    NoFid,
    /// The most bytes of a message: made less if a slot has less.
    Most,
    /// How many bytes the answer may have after its own fields.
    Count,
    /// Rights and kind of a new file. Its owner's rights are nobody else's: the two bits that would
    /// give them away are not kept.
    Mode,
    Name,
    /// The name of an attribute that is set.
    Attribute,
    Target,
    Version,
    /// As many names as the half before them says.
    Names,
}

/// Bytes of size, type and tag.
pub(crate) const HEADER: u32 = 7;
/// Bytes before the data of a message that writes.
pub(crate) const WRITE_HEAD: u32 = HEADER + 16;
/// Bytes of an answer that has an error.
pub(crate) const ERROR_BYTES: u32 = HEADER + 4;

/// Types of messages that something depends on, and of the answer that has an error.
pub(crate) mod kind {
    pub const ERROR: u8 = 7;
    pub const MAKE_NODE: u8 = 18;
    pub const VERSION: u8 = 100;
    pub const WRITE: u8 = 118;
}

/// The longest name, and the longest target of a link.
const LONGEST_NAME: u32 = 255;
const LONGEST_TARGET: u32 = 4095;
/// Most names of a walk.
const MOST_NAMES: u32 = 16;
/// The least that QEMU takes for the most bytes of a message.
const LEAST_MOST: u32 = 4096;
/// The number that says that there is no file.
const NO_FID: u32 = u32::MAX;
/// Of a mode: set-user-ID and set-group-ID; and the kind, of devices.
const SET_IDS: u32 = 0o6000;
const KIND: u32 = 0o170_000;
const DEVICES: [u32; 2] = [0o020_000, 0o060_000];

/// The fields of a message of this type after the header; `None` if no client needs it.
const fn fields(kind: u8) -> Option<&'static [Field]> {
    use Field::{
        Attribute, Byte, Count, Fid, Half, Long, Mode, Most, Name, Names, NoFid, Target, Version,
        Word,
    };
    Some(match kind {
        // statfs, readlink, clunk, remove
        8 | 22 | 120 | 122 => &[Fid],
        // lopen: flags; fsync: whether data only
        12 | 50 => &[Fid, Word],
        // lcreate: flags, mode, group
        14 => &[Fid, Name, Word, Mode, Word],
        // symlink: target, group
        16 => &[Fid, Name, Target, Word],
        // mknod: mode, major, minor, group
        kind::MAKE_NODE => &[Fid, Name, Mode, Word, Word, Word],
        // rename, xattrwalk: another file, name
        20 | 30 => &[Fid, Fid, Name],
        // getattr: which
        24 => &[Fid, Long],
        // setattr: which, mode, owner, group, size, two times
        26 => &[Fid, Word, Mode, Word, Word, Long, Long, Long, Long, Long],
        // xattrcreate: size, flags
        32 => &[Fid, Attribute, Long, Word],
        // readdir, read: offset, count
        40 | 116 => &[Fid, Long, Count],
        // lock: type, flags, start, length, process, client
        52 => &[Fid, Byte, Word, Long, Long, Word, Name],
        // getlock: without flags
        54 => &[Fid, Byte, Long, Long, Word, Name],
        // link: of a file, name
        70 => &[Fid, Fid, Name],
        // mkdir: mode, group
        72 => &[Fid, Name, Mode, Word],
        // renameat
        74 => &[Fid, Name, Fid, Name],
        // unlinkat: flags
        76 => &[Fid, Name, Word],
        kind::VERSION => &[Most, Version],
        // attach: no authentication, user, tree, user's number
        104 => &[Fid, NoFid, Name, Name, Word],
        // flush: a tag
        108 => &[Half],
        // walk: the new file, how many names
        110 => &[Fid, Fid, Half, Names],
        // write: offset, how many bytes follow
        kind::WRITE => &[Fid, Long, Word],
        _ => return None,
    })
}

/// What a message is that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Its type.
    pub kind: u8,
    /// Its tag.
    pub tag: u16,
    /// Bytes after those that were checked: data for a file.
    pub data: u32,
}

/// Where the next field is.
struct Reader<'a> {
    message: &'a mut [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let bytes = self.message.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or(Errno::INVALID)?;
        self.at += N;
        Ok(bytes)
    }

    fn half(&mut self) -> Result<u16, Errno> {
        self.take().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_le_bytes)
    }

    /// Writes another word in place of the one that was just read.
    fn replace(&mut self, word: u32) {
        if let Some(place) = self.at.checked_sub(4).and_then(|at| self.message.get_mut(at..self.at))
        {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// A text of at most so many bytes, which nobody takes for a shorter one.
    fn text(&mut self, longest: u32) -> Result<&[u8], Errno> {
        let bytes = self.half()?;
        if u32::from(bytes) > longest {
            return Err(Errno::NAME_TOO_LONG);
        }
        let from = self.at;
        self.at += usize::from(bytes);
        let text = self.message.get(from..self.at).ok_or(Errno::INVALID)?;
        if text.contains(&0) { Err(Errno::INVALID) } else { Ok(text) }
    }
}

/// Checks a message of so many bytes, of which those before the data of a write are here, or else
/// all; changes in it what a client may ask for and does not get.
///
/// # Errors
/// Why it is refused.
pub fn check(message: &mut [u8], bytes: u32) -> Result<Checked, Errno> {
    let mut reader = Reader { message, at: 0 };
    let size = reader.word()?;
    let [kind] = reader.take()?;
    let tag = reader.half()?;
    if size != bytes || bytes > MESSAGE {
        return Err(Errno::INVALID);
    }
    let fields = fields(kind).ok_or(Errno::UNSUPPORTED)?;
    let data = if kind == kind::WRITE { bytes.checked_sub(WRITE_HEAD) } else { Some(0) };
    let data = data.ok_or(Errno::INVALID)?;
    if bytes - data > HEAD {
        return Err(Errno::INVALID);
    }
    let mut last = 0;
    for field in fields {
        last = reader.check(*field, kind, last)?;
    }
    // A write says last how many bytes follow.
    let is_whole = reader.at == reader.message.len() && reader.at as u32 == bytes - data;
    if !is_whole || kind == kind::WRITE && last != data {
        return Err(Errno::INVALID);
    }
    Ok(Checked { kind, tag, data })
}

impl Reader<'_> {
    /// Checks a field; `last` is the number in the one before. Returns that in this one.
    fn check(&mut self, field: Field, kind: u8, last: u32) -> Result<u32, Errno> {
        match field {
            Field::Byte => self.take().map(|[byte]| byte.into()),
            Field::Half => self.half().map(u32::from),
            Field::Word => self.word(),
            Field::Long => self.take::<8>().map(|_| 0),
            Field::Fid => match self.word()? {
                fid if fid < MOST_FIDS => Ok(fid),
                _ => Err(Errno::TOO_MANY),
            },
            Field::NoFid => match self.word()? {
                NO_FID => Ok(NO_FID),
                _ => Err(Errno::UNSUPPORTED),
            },
            Field::Most => {
                let most = self.word()?.min(MESSAGE);
                self.replace(most);
                if most < LEAST_MOST { Err(Errno::INVALID) } else { Ok(most) }
            }
            Field::Count => match self.word()? {
                count if count <= MESSAGE - ERROR_BYTES => Ok(count),
                _ => Err(Errno::INVALID),
            },
            Field::Mode => {
                let mode = self.word()? & !SET_IDS;
                self.replace(mode);
                let is_device = kind == kind::MAKE_NODE && DEVICES.contains(&(mode & KIND));
                if is_device { Err(Errno::PERM) } else { Ok(mode) }
            }
            Field::Name => self.text(LONGEST_NAME).map(|_| 0),
            Field::Attribute => match self.text(LONGEST_NAME)? {
                name if name.starts_with(b"user.") => Ok(0),
                _ => Err(Errno::UNSUPPORTED),
            },
            Field::Target => self.text(LONGEST_TARGET).map(|_| 0),
            Field::Version => match self.text(LONGEST_NAME)? {
                b"9P2000.L" => Ok(0),
                _ => Err(Errno::UNSUPPORTED),
            },
            Field::Names if last > MOST_NAMES => Err(Errno::INVALID),
            Field::Names => {
                (0..last).try_for_each(|_| self.text(LONGEST_NAME).map(drop)).map(|()| 0)
            }
        }
    }
}
