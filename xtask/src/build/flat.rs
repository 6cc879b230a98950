// SPDX-License-Identifier: MIT OR Apache-2.0
//! A system for a boot loader that takes one file in addition to the kernel: the boot image, with
//! the symbols after it. If the loader takes no ELF file, as QEMU's for ARM and U-Boot, it gets the
//! kernel as it lies in memory.

use crate::machine::processor::Processor;
use crate::process::aside;
use anyhow::{Context, Result, ensure};
use object::elf::PT_LOAD;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader};
use std::path::{Path, PathBuf};

/// Its files.
#[derive(Clone)]
pub struct Flat {
    /// The kernel.
    pub kernel: PathBuf,
    /// The boot image, and the symbols after it.
    pub boot: PathBuf,
}

impl Flat {
    /// In this folder.
    pub fn of(folder: &Path) -> Self {
        Self { kernel: folder.join("kernel.bin"), boot: folder.join("boot.bin") }
    }

    /// Makes the kernel, which lies at `address`, of an ELF file.
    pub fn write(&self, elf: &Path, address: u32) -> Result<()> {
        let kernel = kernel(elf, address)?;
        aside(&self.kernel, |file| Ok(std::fs::write(file, kernel)?))
    }

    /// Makes the other one, of a boot image and the kernel's symbols.
    pub fn join(&self, [image, symbols]: [&Path; 2]) -> Result<()> {
        let parts = [std::fs::read(image)?, std::fs::read(symbols)?];
        aside(&self.boot, |file| Ok(std::fs::write(file, parts.concat())?))
    }

    /// The same as U-Boot's `bootm` wants them, `kernel.uImage` and `boot.uImage`, under this name;
    /// returns where they are.
    pub fn wrap(&self, name: &str, processor: Processor, address: u32) -> Result<[PathBuf; 2]> {
        let files = [&self.kernel, &self.boot];
        for (file, (kind, address)) in
            files.into_iter().zip([(Kind::Kernel, address), (Kind::RamDisk, 0)])
        {
            let contents = std::fs::read(file)?;
            let header = header(processor, kind, address, (name, &contents));
            std::fs::write(wrapped(file), [header.as_slice(), &contents].concat())?;
        }
        Ok(files.map(|file| wrapped(file)))
    }
}

fn wrapped(file: &Path) -> PathBuf {
    file.with_extension("uImage")
}

/// The loadable parts of an ELF file where they lie in physical memory, from `address` on; it is
/// entered there.
fn kernel(path: &Path, address: u32) -> Result<Vec<u8>> {
    let data = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: ElfFile32 = ElfFile32::parse(&*data)
        .with_context(|| format!("{} is no 32-bit ELF file", path.display()))?;
    let endian = file.endian();
    let entry = file.elf_header().e_entry(endian);
    let (mut bytes, mut entered) = (Vec::new(), None);
    for header in file
        .elf_program_headers()
        .iter()
        .filter(|header| header.p_type(endian) == PT_LOAD && header.p_filesz(endian) > 0)
    {
        let part = header
            .data(endian, &*data)
            .ok()
            .with_context(|| format!("{} is damaged", path.display()))?;
        let place = header.p_paddr(endian);
        let start = place.checked_sub(address).map(|start| start as usize);
        let start = start.with_context(|| {
            format!(
                "{} has a part at {place:#x}, below the kernel's place {address:#x}",
                path.display()
            )
        })?;
        bytes.resize(bytes.len().max(start + part.len()), 0);
        bytes[start..start + part.len()].copy_from_slice(part);
        let offset = entry
            .checked_sub(header.p_vaddr(endian))
            .filter(|offset| *offset < header.p_filesz(endian));
        entered = entered.or(offset.map(|offset| place + offset));
    }
    ensure!(
        entered == Some(address),
        "{} is not entered at its place {address:#x}, where it begins",
        path.display()
    );
    Ok(bytes)
}

/// What an image of U-Boot holds.
#[derive(Clone, Copy)]
enum Kind {
    Kernel = 2,
    RamDisk = 3,
}

/// The header of an image of U-Boot (its `image.h`): words, high byte first; four bytes of system,
/// processor, kind and compression; and a name of 32 bytes. A kernel is said to be Linux's, as it
/// is started alike.
fn header(
    processor: Processor,
    kind: Kind,
    address: u32,
    (name, contents): (&str, &[u8]),
) -> [u8; 64] {
    const MAGIC: u32 = 0x2705_1956;
    const LINUX: u8 = 5;
    const NOT_COMPRESSED: u8 = 0;
    let mut header = [0; 64];
    // Equal systems make equal images: no time.
    let words = [MAGIC, 0, 0, contents.len() as u32, address, address, crc32fast::hash(contents)];
    header[..28].copy_from_slice(&words.map(u32::to_be_bytes).concat());
    header[28..32].copy_from_slice(&[LINUX, processor.u_boot, kind as u8, NOT_COMPRESSED]);
    // The last byte of the name is zero.
    let name = &name.as_bytes()[..name.len().min(31)];
    header[32..32 + name.len()].copy_from_slice(name);
    let crc = crc32fast::hash(&header);
    header[4..8].copy_from_slice(&crc.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::processor;

    fn armv5() -> Processor {
        processor::named("armv5").expect("a processor")
    }

    #[test]
    fn the_header_of_an_image_of_u_boot() {
        // As `mkimage -A arm -O linux -T kernel -C none -a 10000 -e 10000 -n hello` writes it at
        // the time 0.
        let header = header(armv5(), Kind::Kernel, 0x1_0000, ("hello", b"abc"));
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        assert_eq!(
            [0, 8, 12, 16, 20, 24].map(word),
            [0x2705_1956, 0, 3, 0x1_0000, 0x1_0000, 0x3524_41c2]
        );
        assert_eq!(
            (&header[28..32], &header[32..38]),
            ([5, 2, 2, 0].as_slice(), b"hello\0".as_slice())
        );
        let mut checked = header;
        checked[4..8].fill(0);
        assert_eq!(word(4), crc32fast::hash(&checked));
    }
}
