// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `check`: descriptions that are right, and the errors of those that are wrong.

use crate::catalogue::descriptions;
use crate::description::samples::{error, parse, parse_for, parse_on};
use crate::description::{Description, Interface, Terminal};

#[test]
fn accepts_a_small_system() {
    assert!(parse("[[component]]\nname = \"a\"\n").is_ok());
}

#[test]
fn systems_leave_ports_lines_and_addresses_to_the_board() {
    // What is given by hand there is what they test.
    let by_hand = ["conform.toml", "interrupts.toml", "latency.toml"];
    for folder in ["../systems", "../tests/systems", "../bench/systems"] {
        for path in descriptions(folder).expect("a folder") {
            let text = std::fs::read_to_string(&path).expect("a file");
            if let Err(error) = parse(&text) {
                panic!("{}: {error}", path.display());
            }
            let raw = ["0x", "ports =", "irqs =", "pci ="].iter().any(|word| text.contains(word));
            assert_eq!(raw, by_hand.iter().any(|name| path.ends_with(name)), "{}", path.display());
        }
    }
}

#[test]
fn names_what_a_board_lacks() {
    for (keys, reason) in [
        (
            "package = \"linux-small\"",
            ":2: there is no `linux-small` for the board `versatilepb`: leave this component out",
        ),
        (
            "ports = [{ as = \"x\", base = 8, count = 8 }]",
            ":3: the board `versatilepb` has no I/O ports: leave `ports` out",
        ),
    ] {
        let text = format!("[[component]]\nname = \"a\"\n{keys}\n");
        let said = parse_for("versatilepb", &text).err().map(|error| error.to_string());
        assert_eq!(said, Some(format!("x.toml{reason}")));
    }
    // A board of which nothing is left after its clock.
    let board = std::fs::read_to_string("../boards/versatilepb.toml").expect("a board");
    let (clock, _) = board.split_once("[device.disk]").expect("a disk after the clock");
    let (before, linux) = clock.split_once("[linux]").expect("a Linux");
    let clock = before.to_owned() + linux.split_once("\n\n").expect("something after it").1;
    let folder = std::env::temp_dir().join(format!("macadamia-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let bare = folder.join("bare.toml");
    std::fs::write(&bare, clock.replace("pci = true\n", "")).expect("written");
    let said = |keys: &str| {
        let text = format!("[[component]]\nname = \"a\"\n{keys}\n");
        parse_on(&bare, &text).err().map(|error| error.to_string())
    };
    let (pci, net) = (said("pci = [{ as = \"card\", device = 6 }]"), said("net = true"));
    let linux = said("package = \"linux\"");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(pci.as_deref(), Some("x.toml:3: the board `bare` has no PCI bus: leave `pci` out"));
    assert_eq!(
        linux.as_deref(),
        Some("x.toml:2: there is no `linux` for the board `bare`: leave this component out")
    );
    assert_eq!(
        net.as_deref(),
        Some("x.toml:3: the board `bare` has no network, as it has no `nic`: leave `net` out")
    );
    assert!(
        parse_for(
            "versatilepb",
            "[devices]\nconsole = {}\nclock = {}\n[[component]]\nname = \"a\"\nsmall = \"16M\"\n"
        )
        .is_ok()
    );
}

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
fn names_the_key_of_a_number_and_its_range() {
    let said = |key: &str| error(&format!("[[component]]\nname = \"a\"\n{key}\n"));
    assert_eq!(
        said("priority = 300"),
        "x.toml:3: `priority`: invalid value: integer `300`, expected a whole number from 0 to 255"
    );
    assert_eq!(
        said("slots = -1"),
        "x.toml:3: `slots`: invalid value: integer `-1`, expected a whole number from 0 to 4294967295"
    );
    assert!(
        said("priority = \"x\"").ends_with("expected a whole number from 0 to 255"),
        "{}",
        said("priority = \"x\"")
    );
}

#[test]
fn names_the_line_of_an_unknown_key() {
    let message = error("[[component]]\nname = \"a\"\nprioritty = 3\n");
    assert!(
        message.starts_with("x.toml:3: unknown field `prioritty`")
            && message.ends_with("; did you mean `priority`?"),
        "{message}"
    );
}

#[test]
fn names_an_unknown_component() {
    let message = error("[[component]]\nname = \"a\"\ncalls = [{ to = \"b\" }]\n");
    assert_eq!(message, "x.toml:3: there is no component `b`: name one of a");
}

#[test]
fn refuses_two_of_one_name() {
    assert!(
        error("[[component]]\nname = \"a\"\n[[component]]\nname = \"a\"\n")
            .starts_with("x.toml:4: there are two components `a`")
    );
}

#[test]
fn refuses_overlapping_ports() {
    let message = error(
        "[[component]]\nname = \"a\"\nports = [{ as = \"x\", base = 8, count = 8 }]\n[[component]]\nname = \"b\"\nports = [{ as = \"x\", base = 15, count = 1 }]\n",
    );
    assert!(message.starts_with("x.toml:6: ports of `b` overlap those of `a`"), "{message}");
}

#[test]
fn refuses_two_grants_of_one_name_and_names_that_are_none() {
    let one = |name: &str| {
        error(&format!(
            "[[component]]\nname = \"a\"\nirqs = [{{ as = \"x\", line = 5 }}]\nmemory = [{{ as = \"{name}\", size = \"4K\" }}]\n"
        ))
    };
    assert_eq!(
        one("x"),
        "x.toml:4: `a` is given two things called `x`: give one another name with `as`"
    );
    for name in ["", "two words", "a-name-that-is-too-long-1"] {
        assert_eq!(
            one(name),
            format!("x.toml:4: `{name}` is no name: use 1 to 23 bytes without blanks")
        );
    }
}

#[test]
fn refuses_numbers_where_names_are_given() {
    let said = error("[[component]]\nname = \"a\"\nirqs = [4]\n");
    assert!(
        said.starts_with("x.toml:3:") && said.ends_with("expected { as = \"NAME\", line = N }"),
        "{said}"
    );
    let said = error("[[component]]\nname = \"a\"\nports = [4]\n");
    assert!(said.ends_with("expected { as = \"NAME\", base = N, count = N }"), "{said}");
}

#[test]
fn refuses_overlapping_devices() {
    let one = |name: &str, base: &str| {
        format!(
            "[[component]]\nname = \"{name}\"\ndevices = [{{ as = \"d\", base = {base}, size = \"8K\" }}]\n"
        )
    };
    let message = error(&(one("a", "0xfeb00000") + &one("b", "0xfeb01000")));
    assert!(message.starts_with("x.toml:6: devices of `b` overlap"), "{message}");
}

#[test]
fn refuses_a_pci_device_given_twice() {
    let one = |name: &str, device: u32| {
        format!("[[component]]\nname = \"{name}\"\npci = [{{ as = \"d\", device = {device} }}]\n")
    };
    assert!(
        error(&(one("a", 3) + &one("b", 3)))
            .starts_with("x.toml:6: PCI devices of `b` overlap those of `a`")
    );
    assert_eq!(error(&one("a", 32)), "x.toml:3: a PCI bus has devices 0 to 31");
}

/// A system that uses devices of the board, after a component.
fn using(devices: &str) -> String {
    format!("[[component]]\nname = \"a\"\n[devices]\n{devices}\n")
}

#[test]
fn a_device_is_a_component() {
    let description =
        parse(&using("console = { heap = \"64K\" }\nclock = {}\n[[component]]\nname = \"b\""))
            .expect("sound");
    let names: Vec<&str> =
        description.component.iter().map(|component| component.name.get_ref().as_str()).collect();
    assert_eq!(names, ["a", "console", "clock", "b"], "in the order of the file");
    let console = &description.component[1];
    assert_eq!(
        (console.heap.get_ref().as_str(), *console.priority.get_ref(), console.ports.len()),
        ("64K", 200, 2)
    );
}

#[test]
fn knows_disks_and_their_interfaces() {
    let with = |keys: &str| {
        using(&format!("disk = {{ size = \"1M\"{keys} }}\nsecond-disk = {{ size = \"1M\" }}"))
    };
    let parsed = parse(&with(", interface = \"ata\"")).expect("sound");
    let interfaces = ["disk", "second-disk"]
        .map(|name| parsed.disks.get(name).map(|disk| disk.interface == Interface::Ata));
    assert_eq!(interfaces, [Some(true), Some(false)]);
    assert!(
        parsed.shared.contains_key("disk-queue") && parsed.shared.contains_key("second-disk-queue")
    );
    assert!(error(&with(", interface = \"scsi\"")).starts_with("x.toml:4: unknown variant `scsi`"));
    assert!(error(&using("disk = {}")).starts_with("x.toml:4: missing field `size`"));
}

/// Two components with parts of a disk of 1 MiB.
fn parts(one: &str, two: &str) -> String {
    let component = |name, part| format!("[[component]]\nname = \"{name}\"\ndisk = {part}\n");
    using("disk = { size = \"1M\" }") + &component("b", one) + &component("c", two)
}

#[test]
fn a_disk_has_a_client_for_each_part() {
    let parsed =
        parse(&parts("{ first = \"64K\", size = \"64K\" }", "{ partition = 2 }")).expect("sound");
    let disk = parsed
        .component
        .iter()
        .find(|component| component.name.get_ref() == "disk")
        .expect("a server");
    assert_eq!(disk.arguments, ["range-1=sectors=128+128", "range-2=partition=2"]);
    let own: Vec<_> = disk
        .notifies
        .iter()
        .chain(&disk.calls)
        .map(|peer| (peer.label(), peer.to.get_ref().as_str()))
        .collect();
    assert_eq!(
        own,
        [
            ("interrupt", "disk"),
            ("bell-1", "b"),
            ("again-1", "b"),
            ("bell-2", "c"),
            ("again-2", "c")
        ]
    );
    let shared: Vec<_> = disk
        .shares
        .iter()
        .map(|share| (share.label(), share.region.get_ref().as_str(), share.dma))
        .collect();
    assert_eq!(
        shared,
        [("queue", "disk-queue", true), ("client-1", "disk-b", true), ("client-2", "disk-c", true)]
    );
    let client = parsed
        .component
        .iter()
        .find(|component| component.name.get_ref() == "c")
        .expect("a client");
    let badge = |peer: &crate::description::Peer| {
        (peer.label().to_string(), peer.badge.as_ref().map(|badge| *badge.get_ref()))
    };
    assert_eq!(
        client.calls.iter().chain(&client.notifies).map(badge).collect::<Vec<_>>(),
        [("disk".into(), Some(2)), ("disk-bell".into(), Some(4))]
    );
    assert!(
        client
            .shares
            .iter()
            .all(|share| share.label() == "disk-memory" && !share.dma && share.writable)
    );
    // The whole of it, of one component.
    let parsed = parse(&parts("true", "false")).expect("sound");
    assert!(
        parsed
            .component
            .iter()
            .all(|component| component.arguments.is_empty() && component.calls.len() < 2)
    );
}

#[test]
fn refuses_parts_that_cannot_be() {
    let both = |one: &str, two: &str| error(&parts(one, two));
    for (one, two) in [
        ("true", "true"),
        ("true", "{ partition = 1 }"),
        ("{ partition = 1 }", "{ partition = 1 }"),
    ] {
        assert_eq!(
            both(one, two),
            "x.toml:10: `b` has a part of this, too: give each a part of its own"
        );
    }
    let half = "{ size = \"512K\" }";
    assert!(
        both(half, "{ first = \"508K\", size = \"4K\" }").starts_with("x.toml:10: `b` has a part")
    );
    assert!(parse(&parts(half, "{ first = \"512K\", size = \"512K\" }")).is_ok());
    assert!(
        both(half, "{ first = \"512K\", size = \"516K\" }")
            .starts_with("x.toml:10: `disk` has 1M: this part")
    );
    assert!(
        both(half, "{ first = \"512K\", size = \"0\" }")
            .starts_with("x.toml:10: `disk` has 1M: this part")
    );
    assert!(
        both(half, "{ first = \"512K\" }")
            .starts_with("x.toml:10: write `partition`, or `first` and `size`")
    );
    assert_eq!(both(half, "{ partition = 0 }"), "x.toml:10: partitions are counted from 1");
    assert!(
        both(half, "{ device = \"second-disk\" }")
            .starts_with("x.toml:10: there is no disk `second-disk`: add")
    );
    assert!(both(half, "{ part = 1 }").starts_with("x.toml:10: unknown field `part`"));
    assert!(
        both(half, "7").ends_with("expected `disk = true`, `disk = { partition = 1 }`, or `disk = { first = \"32M\", size = \"64M\" }`")
    );
    let twice = using("disk = { size = \"1M\" }")
        + "[[component]]\nname = \"b\"\ndisk = true\ncalls = [{ to = \"disk\" }]\n";
    assert!(error(&twice).starts_with(
        "x.toml:7: `disk` gives `b` things called `disk`, `disk-bell` and `disk-memory`"
    ));
}

#[test]
fn refuses_what_the_board_does_not_have() {
    let said = error(&using("consol = {}"));
    assert!(
        said.starts_with(
            "x.toml:4: the board `pc` has no device `consol`: name one of clock, console, disk, ip, nic, screen, second-disk, switch"
        ),
        "{said}"
    );
    assert!(said.ends_with("; did you mean `console`?"), "{said}");
}

#[test]
fn refuses_a_wrong_key_of_a_device() {
    let said = error(&using("console = { heep = \"64K\" }"));
    assert!(
        said.starts_with("x.toml:4: unknown field `heep`")
            && said.ends_with("; did you mean `heap`?"),
        "{said}"
    );
    assert!(
        error(&using("console = { size = \"64K\" }")).starts_with("x.toml:4: unknown field `size`")
    );
    assert_eq!(
        error(&using("console = true")),
        "x.toml:4: write `console = {}`, or what differs in the braces"
    );
    assert_eq!(
        error("[disk]\n"),
        "x.toml:1: `disk` is a device of the board: write it below `[devices]`"
    );
    assert!(error("[device]\n").ends_with("; did you mean `devices`?"));
    assert_eq!(error("devices = 1\n"), "x.toml:1: `devices` is a table: write `[devices]`");
    assert_eq!(
        error("component = 1\n"),
        "x.toml:1: a component begins with a line `[[component]]`"
    );
}

#[test]
fn a_device_belongs_to_one_component() {
    let said = error(&using(
        "console = {}\n[[component]]\nname = \"b\"\nirqs = [{ as = \"x\", line = 4 }]",
    ));
    assert_eq!(
        said,
        "x.toml:7: irqs of `b` overlap those of `console`: each belongs to one component"
    );
    let said = error(&using("console = {}\n[[component]]\nname = \"console\""));
    assert!(said.starts_with("x.toml:6: there are two components `console`"), "{said}");
    // What is wrong in the board's file is said with its line.
    let said = error(
        "[[component]]\nname = \"b\"\nirqs = [{ as = \"x\", line = 4 }]\n[devices]\nconsole = {}\n",
    );
    assert!(
        said.starts_with("../boards/pc.toml:")
            && said.contains("irqs of `console` overlap those of `b`"),
        "{said}"
    );
}

#[test]
fn refuses_an_interrupt_of_the_kernel() {
    assert!(
        error("[[component]]\nname = \"a\"\nirqs = [{ as = \"x\", line = 0 }]\n")
            .starts_with("x.toml:3: this line cannot be given")
    );
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
fn a_linux_has_a_window() {
    let linux = |keys: &str| format!("[[component]]\nname = \"linux\"\n{keys}\n");
    let serves = |keys: &str| {
        let description = parse(&linux(keys)).expect("sound");
        let window = description
            .window(&description.component[0])
            .expect("plain numbers")
            .expect("a window");
        (window.start, window.serve)
    };
    assert_eq!(serves(""), (0xc000_0000, true));
    assert_eq!(serves("server = \"auto\"\nwindow = \"512M\""), (0xc000_0000, true));
    assert_eq!(serves("server = \"large\""), (0xc000_0000, false));
    for size in ["1G", "1024M", "1048576K", "1073741824"] {
        assert_eq!(serves(&format!("window = \"{size}\"")), (0xa000_0000, true));
    }
    assert_eq!(serves("server = \"large\"\nwindow = \"2G\""), (0x6000_0000, false));
    for size in ["256M", "768M", "3G"] {
        let said = format!("x.toml:3: `linux` has no window of {size}: write one of 512M, 1G, 2G");
        assert_eq!(error(&linux(&format!("window = \"{size}\""))), said);
    }
    assert_eq!(
        error("[[component]]\nname = \"a\"\npackage = \"linux-tests\"\nwindow = \"1G\"\n"),
        "x.toml:4: `linux-tests` has no window of 1G: write one of 512M"
    );
    assert!(error(&linux("server = \"small\"")).starts_with("x.toml:3: unknown variant `small`"));
    assert_eq!(
        error("[[component]]\nname = \"a\"\nserver = \"large\"\n"),
        "x.toml:3: `server` is for a Linux, and the package `a` is none: leave it out"
    );
    assert!(
        error("[[component]]\nname = \"a\"\nwindow = \"512M\"\n")
            .starts_with("x.toml:3: `window` is for a Linux")
    );
}

#[test]
fn a_linux_has_a_configuration() {
    let linux = |keys: &str| format!("[[component]]\nname = \"linux\"\n{keys}\n");
    let package =
        |keys: &str| parse(&linux(keys)).expect("sound").component[0].package().to_string();
    assert_eq!(package(""), "linux");
    assert_eq!(package("configuration = \"lean\""), "linux");
    assert_eq!(package("configuration = \"full\""), "linux-full");
    assert_eq!(package("configuration = \"full\"\nwindow = \"512M\""), "linux-full");
    assert_eq!(package("configuration = \"lean\"\nwindow = \"1G\""), "linux-1g");
    assert_eq!(
        error(&linux("configuration = \"full\"\nwindow = \"1G\"")),
        "x.toml:4: `linux` has no window of 1G: write one of 512M"
    );
    assert!(
        error(&linux("configuration = \"all\"")).starts_with("x.toml:3: unknown variant `all`")
    );
    assert_eq!(
        error("[[component]]\nname = \"a\"\npackage = \"linux-tests\"\nconfiguration = \"full\"\n"),
        "x.toml:4: `linux-tests` has one configuration: leave this out"
    );
    assert_eq!(
        error("[[component]]\nname = \"a\"\nconfiguration = \"full\"\n"),
        "x.toml:3: `configuration` is for a Linux, and the package `a` is none: leave it out"
    );
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
fn a_disk_has_up_to_2_tib() {
    let with = |size: &str| parse(&format!("[devices]\ndisk = {{ size = \"{size}\" }}\n"));
    for (size, bytes) in
        [("4G", 4 << 30), ("100G", 100 << 30), ("2047G", 2047 << 30), ("2T", 2 << 40)]
    {
        let description = with(size).expect("sound");
        assert_eq!(description.disk_bytes(&description.disks["disk"]).expect("a size"), bytes);
    }
    for size in ["0", "2049G", "3T", "16777216T"] {
        assert!(
            error(&format!("[devices]\ndisk = {{ size = \"{size}\" }}\n"))
                .starts_with("x.toml:2: "),
            "{size}"
        );
    }
}

#[test]
fn gives_the_results_to_one() {
    let two = "[[component]]\nname = \"a\"\nresults = true\n[[component]]\nname = \"b\"\nresults = true\n";
    assert!(error(two).starts_with("x.toml:5: two components have `results`"));
    assert!(parse(&format!("{two}[test]\ntimeout = 1\n")).is_ok());
}

#[test]
fn gives_the_terminal_to_who_says_so() {
    let texts = ["", "terminal = \"read\"\n", "terminal = \"paint\"\n", "terminal = \"all\"\n"];
    let [print, read, paint, wrong] =
        texts.map(|key| format!("[[component]]\nname = \"a\"\n{key}"));
    for (text, expected) in
        [(print, Terminal::Print), (read, Terminal::Read), (paint, Terminal::Paint)]
    {
        assert_eq!(parse(&text).expect("sound").component[0].terminal, expected);
    }
    let linux = std::fs::read_to_string("../systems/linux.toml").expect("a file");
    let linux = parse(&linux).expect("sound");
    let terminals = linux
        .component
        .iter()
        .filter(|c| c.terminal != Terminal::Print)
        .map(|c| c.name.get_ref().as_str());
    assert_eq!(terminals.collect::<Vec<_>>(), ["linux"]);
    assert!(error(&wrong).contains("`print`, `read`, `paint`"), "{}", error(&wrong));
}

#[test]
fn warns_of_who_can_starve_a_peer() {
    let with = |most: u32, peer: u32| {
        let text = format!(
            "[[component]]\nname = \"a\"\npriority = 100\nmax-priority = {most}\n[[component]]\nname = \"b\"\npriority = {peer}\n"
        );
        parse(&text).expect("sound").warnings()
    };
    assert_eq!(
        with(120, 100),
        [
            "x.toml:4: `a` can keep `b` (priority 100) from running: lower `max-priority`, or raise that priority"
        ]
    );
    assert_eq!(with(120, 119).len(), 1);
    for (most, peer) in [(120, 120), (100, 100), (120, 99)] {
        assert!(with(most, peer).is_empty(), "{most}, {peer}");
    }
}

#[test]
fn refuses_another_name_at_the_console() {
    let message = error(
        "[[component]]\nname = \"console\"\n[[component]]\nname = \"a\"\ncalls = [{ to = \"console\", badge = 5 }]\n",
    );
    assert!(message.starts_with("x.toml:5: every component may call the console"), "{message}");
}

#[test]
fn refuses_a_large_badge() {
    assert!(
        error("[[component]]\nname = \"a\"\ncalls = [{ to = \"a\", badge = 1048576 }]\n")
            .starts_with("x.toml:3: a badge has 20 bits")
    );
}
