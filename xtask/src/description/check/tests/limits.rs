// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `check`: memory, threads, and other limits of a machine.

use crate::description::Description;
use crate::description::samples::{error, parse, parse_for};

#[test]
fn a_system_gets_no_more_memory_than_the_board_has() {
    let text = |size| {
        format!(
            "memory = \"640M\"\n[[component]]\nname = \"a\"\nmemory = [{{ as = \"ram\", size = \"{size}\", behind-image = true }}]\n"
        )
    };
    for (size, fits) in [("384M", "160M"), ("160M", "160M"), ("100M", "100M")] {
        let description = parse_for("versatilepb", &text(size)).expect("less is given");
        assert_eq!(
            (
                description.memory.get_ref().as_str(),
                description.component[0].memory[0].size.get_ref().as_str()
            ),
            ("256M", fits)
        );
    }
}

#[test]
fn a_screen_takes_its_memory_from_the_linux_where_the_board_has_no_more() {
    let text = |heap: u32, screen: bool| {
        format!(
            "memory = \"640M\"\n[[component]]\nname = \"a\"\nheap = \"{heap}M\"\nscreen = {screen}\n\
             memory = [{{ as = \"ram\", size = \"384M\", behind-image = true }}]\n"
        )
    };
    let read = |heap: u32, screen: bool| {
        let description = parse_for("versatilepb", &text(heap, screen));
        description.map_err(|error| error.to_string())
    };
    let size = |description: &Description| {
        description.component[0].memory[0].size.get_ref().trim_end_matches('M').parse::<u32>()
    };
    let without = read(10, false).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!(size(&without), Ok(160));
    let with = read(10, true).unwrap_or_else(|said| panic!("{said}"));
    let (needed, room) = with.demand().expect("sizes");
    assert!(size(&with).is_ok_and(|size| (150..160).contains(&size)));
    assert!(needed <= room && needed + (1 << 20) > room, "{needed} of {room} are used");
    for (heap, screen) in [(60, false), (60, true)] {
        let said = read(heap, screen).err().unwrap_or_default();
        assert!(
            said.starts_with("x.toml:1: the components need ")
                && said.contains(" of the 256M that the board `versatilepb` has are theirs"),
            "{said}"
        );
    }
}

#[test]
fn says_how_much_memory_is_needed() {
    let linux = || {
        parse(&std::fs::read_to_string("../systems/linux.toml").expect("a file")).expect("sound")
    };
    let board = crate::machine::board::Board::read(std::path::Path::new("../boards/pc.toml"))
        .expect("a board");
    for mib in [16, 64] {
        let said = linux()
            .with_memory(mib, &board)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        let least = said
            .split_once("use --memory ")
            .and_then(|(_, rest)| rest.split_once(" or more"))
            .map(|(least, _)| least);
        let least: u32 =
            least.and_then(|least| least.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        assert!(
            (97..=192).contains(&least)
                && said.starts_with(&format!("--memory {mib} is too little")),
            "{said}"
        );
        assert!(
            linux().with_memory(least, &board).is_ok()
                && linux().with_memory(least - 1, &board).is_err()
        );
    }
    let linux = |ram: &str| {
        format!(
            "[[component]]\nname = \"linux\"\nmemory = [{{ as = \"ram\", size = \"{ram}\", behind-image = true }}]\n"
        )
    };
    assert_eq!(
        error(&linux("8M")),
        "x.toml:3: 8M are too few for a Linux, which could start no program: give it 16M or more"
    );
    assert!(parse(&linux("16M")).is_ok());
    let ram = "memory = \"64M\"\n[[component]]\nname = \"a\"\nmemory = [{ as = \"ram\", size = \"640M\", behind-image = true }]\n";
    assert!(error(ram).starts_with("x.toml:1: the components need "), "{}", error(ram));
}

#[test]
fn refuses_what_does_not_fit() {
    assert!(
        error("memory = \"8M\"\n[[component]]\nname = \"a\"\nheap = \"64M\"\n")
            .starts_with("x.toml:1: the components need")
    );
}

#[test]
fn refuses_more_threads_than_there_are() {
    let two = |one: u32| {
        format!("[[component]]\nname = \"a\"\nthreads = {one}\n[[component]]\nname = \"b\"\n")
    };
    // 128 MiB have 2048 entries, of which 3 are spoken for; each component's first thread is one
    // besides.
    let most = 2045 - 2 - 32;
    assert!(parse(&two(most)).is_ok());
    assert!(error(&two(most + 1)).starts_with(
        "x.toml:5: with this component's there are 2046 threads, but only 2045 for 128M"
    ));
    assert!(
        error(&two(5000)).starts_with("x.toml:3: with this component's there are 5001 threads")
    );
}

#[test]
fn divides_ranges_of_locked_lines() {
    let two = |ranges: u32| {
        format!(
            "[[component]]\nname = \"a\"\nlocked-ranges = 1\n[[component]]\nname = \"b\"\nlocked-ranges = {ranges}\n"
        )
    };
    let given = |board: &str| {
        let description = parse_for(board, &two(3)).unwrap_or_else(|error| panic!("{error}"));
        description
            .component
            .iter()
            .map(|component| description.locked_ranges(component))
            .sum::<u32>()
    };
    assert_eq!((given("versatilepb"), given("pc")), (4, 0));
    let said = parse_for("versatilepb", &two(4)).err().map(|error| error.to_string());
    assert_eq!(
        said.as_deref(),
        Some(
            "x.toml:6: with this component's there are 5 ranges of locked lines, but only 4: give some component fewer"
        )
    );
}

#[test]
fn divides_slots_of_relocation() {
    let slots = |board: &str, text: &str| {
        let description = parse_for(board, text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        let all = description.component.iter().map(|component| {
            (component.name.get_ref().clone(), description.relocation_slots(component))
        });
        all.filter(|(name, _)| name.len() == 1).map(|(_, slots)| slots).collect::<Vec<_>>()
    };
    let linux = |name: &str, keys: &str| {
        format!("[[component]]\nname = \"{name}\"\npackage = \"linux\"\n{keys}\n")
    };
    let native = |keys: &str| format!("[[component]]\nname = \"n\"\n{keys}\n");
    let arm = |text: &str| slots("versatilepb", text);
    assert_eq!(arm(&(native("") + &linux("a", ""))), [1, 62]);
    assert_eq!(
        arm(&(native("relocation-slots = 4") + &linux("a", "") + &linux("b", ""))),
        [4, 29, 29]
    );
    assert_eq!(
        arm(&(linux("a", "relocation-slots = 10") + &linux("b", "") + &native(""))),
        [10, 52, 1]
    );
    assert_eq!(slots("pc", &native("relocation-slots = 4")), [0]);
    let said = parse_for(
        "versatilepb",
        &(native("relocation-slots = 60") + &linux("a", "relocation-slots = 4")),
    );
    let said = said.err().map(|error| error.to_string());
    assert_eq!(
        said.as_deref(),
        Some(
            "x.toml:7: with this component's there are 64 slots of relocation, but only 63: give some component fewer by `relocation-slots`"
        )
    );
}

#[test]
fn gives_threads_in_proportion_to_kernel_memory() {
    let threads = |keys: &str| {
        let text = format!("[[component]]\nname = \"a\"\n{keys}\n");
        let description = parse(&text).expect("sound");
        *description.component[0].threads.get_ref()
    };
    assert_eq!(
        ["", "quota = \"4M\"", "quota = \"4K\"", "threads = 0"].map(threads),
        [32, 512, 16, 0]
    );
}

#[test]
fn refuses_more_memory_behind_images_than_there_can_be() {
    let piece = "{ as = \"ram\", size = \"3072M\", behind-image = true }";
    let said = error(&format!("[[component]]\nname = \"a\"\nmemory = [{piece}, {piece}]\n"));
    assert!(said.starts_with("x.toml:"), "{said}");
}

#[test]
fn addresses_are_whole_tables() {
    let said = error("[[component]]\nname = \"a\"\naddresses = [{ as = \"w\", size = \"6M\" }]\n");
    assert_eq!(said, "x.toml:3: a server's window has a multiple of 4M, and 2048M at most");
}

#[test]
fn refuses_a_size_that_is_none() {
    assert!(
        error("[[component]]\nname = \"a\"\nheap = \"12\"\n")
            .starts_with("x.toml:3: `12` is no size")
    );
    // More than a number holds.
    for size in ["4G", "17179869185G"] {
        assert!(
            error(&format!("[[component]]\nname = \"a\"\nheap = \"{size}\"\n"))
                .starts_with("x.toml:3: `"),
            "{size}"
        );
    }
}

#[test]
fn a_group_without_room_is_refused_where_its_last_member_is() {
    let member =
        |name: &str| format!("[[component]]\nname = \"{name}\"\ngroup = \"g\"\nsmall = \"1G\"\n");
    let message = error(&["a", "b", "c", "d"].map(member).concat());
    assert!(message.starts_with("x.toml:16: the group `g` has no room for all"), "{message}");
}

#[test]
fn refuses_colours_that_there_are_not() {
    let component = |colours: &str, keys: &str| {
        format!("[[component]]\nname = \"a\"\n{keys}colours = {colours}\n")
    };
    let upper = "{ first = 4, count = 4, of = 8 }";
    assert!(parse(&component(upper, "")).is_ok());
    for (colours, keys, said) in [
        (
            "{ first = 5, count = 4, of = 8 }",
            "",
            "x.toml:3: there are no 4 colours from 5 on of 8: ",
        ),
        (
            "{ first = 0, count = 8, of = 8 }",
            "",
            "x.toml:3: there are no 8 colours from 0 on of 8: ",
        ),
        (
            "{ first = 0, count = 1, of = 6 }",
            "",
            "x.toml:3: there are no 1 colours from 0 on of 6: ",
        ),
        (upper, "package = \"linux\"\n", "x.toml:4: a Linux's memory is one piece"),
        (
            upper,
            "memory = [{ as = \"ram\", size = \"64K\", behind-image = true }]\n",
            "x.toml:4: memory after an image is one piece",
        ),
    ] {
        let error = error(&component(colours, keys));
        assert!(error.starts_with(said), "{error}");
    }
    assert!(error(&component("{ first = 0, count = 1 }", "")).contains("missing field `of`"));
}
