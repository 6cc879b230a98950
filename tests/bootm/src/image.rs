// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images in U-Boot's format (its `image.h`): a header of 64 bytes, words with the high byte first,
//! and the data.

/// The kind of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A kernel.
    Kernel = 2,
    /// A RAM disk.
    RamDisk = 3,
}

/// An image that has passed all checks.
pub struct Image<'a> {
    /// The address for which it was made.
    pub load: u32,
    /// Its entry point.
    pub entry: u32,
    /// Its kind.
    pub data: &'a [u8],
}

const HEADER_BYTES: usize = 64;
const MAGIC: u32 = 0x2705_1956;
/// The offset of the header's own checksum: it counts as zero when that is computed.
const CHECKSUM: core::ops::Range<usize> = 4..8;
const SYSTEM: usize = 28;
const LINUX: u8 = 5;
const PROCESSOR: usize = 29;
const ARM: u8 = 2;
const KIND: usize = 30;
const COMPRESSION: usize = 31;

/// The image at the beginning of these bytes.
///
/// # Errors
/// If the image is wrong.
pub fn check(bytes: &[u8], kind: Kind) -> Result<Image<'_>, &'static str> {
    let (header, rest) =
        bytes.split_first_chunk::<HEADER_BYTES>().ok_or("it is shorter than a header")?;
    let word = |index: usize| {
        u32::from_be_bytes([
            header[index * 4],
            header[index * 4 + 1],
            header[index * 4 + 2],
            header[index * 4 + 3],
        ])
    };
    let [magic, header_sum, _, size, load, entry, data_sum] = core::array::from_fn(word);
    if magic != MAGIC {
        return Err("it is no image of U-Boot");
    }
    let mut summed = *header;
    summed[CHECKSUM].fill(0);
    if crc32fast::hash(&summed) != header_sum {
        return Err("the header's checksum is wrong");
    }
    if [header[SYSTEM], header[PROCESSOR], header[KIND], header[COMPRESSION]]
        != [LINUX, ARM, kind as u8, 0]
    {
        return Err("it is for another system or processor, of another kind, or compressed");
    }
    let data = rest.get(..size as usize).ok_or("it is longer than its memory")?;
    if crc32fast::hash(data) != data_sum {
        return Err("the data's checksum is wrong");
    }
    Ok(Image { load, entry, data })
}
