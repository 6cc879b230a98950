// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's entry area as it is linked (docs/entry-area.md): a server and its processes have these
//! pages of the kernel, so nothing else may be in them, and the code must not do more than a server
//! could do itself. What the entries of its tables allow is checked where they are made
//! (`mmu::area::stray`).

use anyhow::{Context, Result, bail, ensure};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use mmu::area::{BASE, PARTS, Page};
use object::{Object, ObjectSection, ObjectSymbol};
use std::ops::Range;
use std::path::Path;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Labels of its code: the first byte, and the byte after the last.
const START: &str = "area_text";
const END: &str = "area_text_end";
/// Where the kernel goes on.
const WAYS: [&str; 2] = ["area_entered", "area_ended"];
/// Its other pages, each of which the image has once or several times in a row.
const PAGES: [&str; 5] = [
    "arch_x86_64::area::IDT",
    "arch_x86_64::gdt::GDT",
    "arch_x86_64::area::CONSTANTS",
    "arch_x86_64::area::WORDS",
    "arch_x86_64::area::TASK",
];
/// The first address of the upper half, which is the kernel's.
const KERNELS: u64 = 1 << 63;

/// The page with its code.
struct Text<'a> {
    /// Where it is linked.
    at: u64,
    page: &'a [u8],
    /// How much of it is code.
    bytes: u64,
    /// Where the kernel goes on.
    ways: [u64; 2],
}

/// What the image has somewhere, by its name.
type Places = Vec<(String, Range<u64>)>;

/// Looks at a kernel that has been linked.
///
/// # Errors
/// If something is in the area's pages that does not belong there.
pub fn check(kernel: &Path) -> Result<()> {
    let data = std::fs::read(kernel)?;
    let file = object::File::parse(&*data)?;
    let label = |name: &str| {
        let mut symbols = file.symbols();
        let found = symbols.find(|symbol| symbol.name() == Ok(name));
        found.map(|symbol| symbol.address()).with_context(|| format!("there is no `{name}`"))
    };
    let (at, end) = (label(START)?, label(END)?);
    let mut sections = file.sections();
    let page = sections.find_map(|section| section.data_range(at, PAGE).ok().flatten());
    let text = Text {
        at,
        page: page.context("its code is not in the image")?,
        bytes: end.checked_sub(at).context("its code ends before it begins")?,
        ways: [label(WAYS[0])?, label(WAYS[1])?],
    };
    // Labels of assembly have no size.
    let places: Places = file
        .symbols()
        .filter(|symbol| symbol.size() != 0)
        .filter_map(|symbol| {
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
            Some((name, symbol.address()..symbol.address() + symbol.size()))
        })
        .collect();
    check_text(&text)?;
    check_pages(&text, &places)
}

/// Nothing but the area's own is in its pages.
fn check_pages(text: &Text<'_>, places: &Places) -> Result<()> {
    let mut pages = vec![(START, text.at..text.at + PAGE)];
    for name in PAGES {
        let found = places.iter().find(|(found, _)| found == name);
        let (_, place) = found.with_context(|| format!("there is no `{name}`"))?;
        ensure!(
            place.start.is_multiple_of(PAGE) && place.end.is_multiple_of(PAGE),
            "`{name}` is not whole pages: {place:x?}"
        );
        pages.push((name, place.clone()));
    }
    for (name, place) in pages {
        let is_there = |other: &Range<u64>| other.start < place.end && place.start < other.end;
        if let Some((stray, _)) =
            places.iter().find(|(other, range)| other != name && is_there(range))
        {
            bail!("`{stray}` is in the page of `{name}`, which servers have");
        }
    }
    Ok(())
}

/// Each instruction may be there, and after the last one nothing is.
fn check_text(text: &Text<'_>) -> Result<()> {
    ensure!(text.at.is_multiple_of(PAGE) && text.bytes <= PAGE, "its code is not one page");
    let mut before = Instruction::default();
    for instruction in Decoder::with_ip(64, text.page, text.at, DecoderOptions::NONE) {
        let at = instruction.ip() - text.at;
        if at < text.bytes {
            let found = check_instruction(text, &before, &instruction);
            found.with_context(|| format!("the instruction at byte {at:#x} of its code"))?;
        } else {
            let is_nothing = instruction.mnemonic() == Mnemonic::Nop;
            ensure!(is_nothing, "something is after its code, at byte {at:#x}");
        }
        before = instruction;
    }
    Ok(())
}

/// Whether an instruction does what a server could do itself, or is a way into the kernel, or to a
/// ring that is outside: `before` comes before it.
fn check_instruction(text: &Text<'_>, before: &Instruction, found: &Instruction) -> Result<()> {
    ensure!(!found.is_invalid(), "there is none");
    ensure!(!found.is_ip_rel_memory_operand(), "it depends on where it is linked");
    let loads_tables = found.code() == Code::Mov_cr_r64 && found.op0_register() == Register::CR3;
    let leaves = matches!(found.mnemonic(), Mnemonic::Sti | Mnemonic::Sysretq | Mnemonic::Iretq);
    ensure!(!found.is_privileged() || loads_tables || leaves, "only ring 0 may execute it");
    if loads_tables {
        check_tables(text, before, found)?;
    }
    match found.flow_control() {
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            let target = found.near_branch_target();
            let is_in = (text.at..text.at + text.bytes).contains(&target);
            // It is executed elsewhere than it is linked.
            let is_way = text.ways.contains(&target.wrapping_sub(text.at).wrapping_add(BASE))
                && before.code() == Code::Mov_cr_r64;
            ensure!(is_in || is_way, "it branches to {target:#x}, where it does not go on");
        }
        FlowControl::Next | FlowControl::Return => {}
        other => bail!("it goes on elsewhere ({other:?})"),
    }
    if let Some(value) = immediate(found).filter(|value| *value >= KERNELS) {
        // The stacks end where the page does.
        let is_in = value.checked_sub(BASE).is_some_and(|offset| part_of(offset).is_some())
            || part_of(value.wrapping_sub(BASE + 1)).is_some();
        ensure!(is_in, "it names the kernel's address {value:#x}");
    }
    let mut factory = InstructionInfoFactory::new();
    for used in factory.info(found).used_memory() {
        if (used.base(), used.index()) != (Register::None, Register::None)
            || used.access() == OpAccess::NoMemAccess
        {
            continue;
        }
        let address = used.displacement();
        let part = address.checked_sub(BASE).and_then(part_of);
        let access = part.map(|part| part.rings[0]).unwrap_or_default();
        let is_read = matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
        ensure!(
            if is_read { access.read } else { access.write },
            "it uses {address:#x}, which the area does not let it"
        );
    }
    Ok(())
}

/// The kernel's tables are loaded as a page of the area says that only the kernel writes, and those
/// of a server as the kernel says: that is the first instruction.
fn check_tables(text: &Text<'_>, before: &Instruction, found: &Instruction) -> Result<()> {
    let is_read = before.code() == Code::Mov_r64_rm64
        && before.op1_kind() == OpKind::Memory
        && before.memory_base() == Register::None
        && before.memory_index() == Register::None
        && before.op0_register() == found.op1_register();
    let place = before.memory_displacement64().wrapping_sub(BASE);
    let is_kernels = is_read && part_of(place).is_some_and(|part| part.page == Page::Constants);
    ensure!(found.ip() == text.at || is_kernels, "it loads tables that anybody could have named");
    Ok(())
}

/// What a register is loaded with, or what is pushed.
fn immediate(found: &Instruction) -> Option<u64> {
    let last = found.op_count().checked_sub(1)?;
    let is_value = matches!(found.mnemonic(), Mnemonic::Mov | Mnemonic::Push);
    (is_value && found.try_immediate(last).is_ok()).then(|| found.immediate(last))
}

/// The page that is so many bytes after the area's beginning.
fn part_of(offset: u64) -> Option<&'static mmu::area::Part> {
    PARTS.iter().find(|part| part.page as u64 == offset / PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0xffff_ffff_e010_1000;
    const KERNELS_WAYS: [u64; 2] = [AT + 0x2000, AT + 0x2010];

    /// What is said of a page that begins with this code, and has nothing else.
    fn said(code: &[u8]) -> String {
        let mut page = code.to_vec();
        page.resize(PAGE as usize, 0x90);
        let checked = check_text(&text(&page, code.len() as u64));
        checked.map_or_else(|error| format!("{error:#}"), |()| String::new())
    }

    /// `jmp` to an address, from the area's code at this byte.
    fn jump(from: u64, address: u64) -> Vec<u8> {
        let distance = address.wrapping_sub(BASE + from + 5) as u32;
        [&[0xe9][..], &distance.to_le_bytes()].concat()
    }

    /// `mov rax, [place]`, `mov cr3, rax`, `jmp address`, where no other instruction is before.
    fn to_the_kernel(place: Page, address: u64) -> Vec<u8> {
        let place = (place.address() as u32).to_le_bytes();
        let loads = [&[0x90, 0x48, 0x8b, 0x04, 0x25][..], &place, &[0x0f, 0x22, 0xd8]].concat();
        let jumps = jump(loads.len() as u64, address);
        [loads, jumps].concat()
    }

    #[test]
    fn what_a_server_could_do_and_the_ways_out_may_be_there() {
        // mov cr3, rdi; mov rsp, the end of the words; pop rax; iretq
        let entry = [0x0f, 0x22, 0xdf, 0x48, 0xc7, 0xc4, 0, 0x50, 0xe0, 0xff, 0x58, 0x48, 0xcf];
        assert_eq!(said(&entry), "");
        // mov [words], rsp; cmp rax, [constants]; jne to the first; sti; retfq; sysretq
        let code = [
            &[0x48, 0x89, 0x24, 0x25, 0, 0x40, 0xe0, 0xff][..],
            &[0x48, 0x3b, 0x04, 0x25, 0, 0x30, 0xe0, 0xff],
            &[0x75, 0xee, 0xfb, 0x48, 0xcb, 0x48, 0x0f, 0x07],
        ]
        .concat();
        assert_eq!(said(&code), "");
        assert_eq!(said(&to_the_kernel(Page::Constants, KERNELS_WAYS[1])), "");
    }

    #[test]
    fn what_needs_authority_is_refused() {
        for (code, why) in [
            // wrmsr; clts; mov cr0, rax; out dx, al; hlt; stac
            (&[0x0f, 0x30][..], "only ring 0"),
            (&[0x0f, 0x06], "only ring 0"),
            (&[0x0f, 0x22, 0xc0], "only ring 0"),
            (&[0xf4], "only ring 0"),
            // nop; mov cr3, rbx
            (&[0x90, 0x0f, 0x22, 0xdb], "tables that anybody"),
            // mov [constants], rax; mov rax, [the kernel's image]; mov [0], al
            (&[0x48, 0x89, 0x04, 0x25, 0, 0x30, 0xe0, 0xff], "does not let it"),
            (&[0x48, 0x8b, 0x04, 0x25, 0, 0x10, 0x10, 0xe0], "does not let it"),
            (&[0x88, 0x04, 0x25, 0, 0, 0, 0], "does not let it"),
            // mov rax, [rip]; mov rax, the kernel's image; push it; jmp far away; jmp rax; call; int 3
            (&[0x48, 0x8b, 0x05, 0, 0, 0, 0], "where it is linked"),
            (&[0x48, 0xc7, 0xc0, 0, 0x10, 0x10, 0xe0], "names the kernel's"),
            (&[0x68, 0, 0x10, 0x10, 0xe0], "names the kernel's"),
            (&[0xe9, 0, 0x20, 0, 0], "does not go on"),
            (&[0xff, 0xe0], "elsewhere"),
            (&[0xe8, 0, 0, 0, 0], "elsewhere"),
            (&[0xcc], "elsewhere"),
            // Nothing that there is.
            (&[0x06], "there is none"),
        ] {
            let said = said(code);
            assert!(said.contains(why), "{code:02x?}: `{said}` does not say `{why}`");
        }
        // By a word of the server's; to another place; before the tables are loaded.
        assert!(said(&to_the_kernel(Page::Words, KERNELS_WAYS[0])).contains("tables that anybody"));
        assert!(said(&to_the_kernel(Page::Constants, AT + 0x3000)).contains("does not go on"));
        assert!(said(&jump(0, KERNELS_WAYS[0])).contains("does not go on"));
    }

    fn text(page: &[u8], bytes: u64) -> Text<'_> {
        Text { at: AT, page, bytes, ways: KERNELS_WAYS }
    }

    #[test]
    fn after_the_code_is_nothing() {
        let page = [[0x90; 64].as_slice(), &[0x58], &[0x90; 4031]].concat();
        assert!(check_text(&text(&page, 65)).is_ok());
        assert!(check_text(&text(&page, 64)).is_err());
    }

    #[test]
    fn a_page_has_nothing_else() {
        let page = vec![0x90; PAGE as usize];
        let said = |places: &Places| {
            let checked = check_pages(&text(&page, 64), places);
            checked.map_or_else(|error| error.to_string(), |()| String::new())
        };
        let place = |(number, name): (u64, &str)| {
            let start = AT + 0x1_0000 + number * PAGE;
            (name.to_owned(), start..start + PAGE)
        };
        let all: Places = (0..).zip(PAGES).map(place).collect();
        assert_eq!(said(&all), "");
        let with = |stray: Range<u64>| {
            let mut all = all.clone();
            all.push(("stray".to_owned(), stray));
            all
        };
        assert_eq!(said(&with(AT - 8..AT)), "");
        for stray in [AT + 0xff0..AT + 0x1010, AT + 0x1_0008..AT + 0x1_0010] {
            assert!(said(&with(stray)).contains("`stray` is in the page of"));
        }
        assert!(said(&all[1..].to_vec()).contains("there is no `"));
        let mut torn = all.clone();
        torn[0].1.end -= 8;
        assert!(said(&torn).contains("is not whole pages"));
    }
}
