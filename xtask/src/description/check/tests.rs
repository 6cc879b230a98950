// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `check`: descriptions that are right, and the errors of those that are wrong.

mod devices;
mod limits;

use crate::catalogue::descriptions;
use crate::description::Terminal;
use crate::description::samples::{error, parse, parse_for, parse_on};

#[test]
fn accepts_a_small_system() {
    assert!(parse("[[component]]\nname = \"a\"\n").is_ok());
}

#[test]
fn systems_leave_ports_lines_and_addresses_to_the_board() {
    // What is given by hand there is what they test.
    let by_hand = [
        "conform.toml",
        "interrupts.toml",
        "latency.toml",
        "latency-large-pages.toml",
        "latency-small.toml",
    ];
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

/// Sizes are multiples of 4 KiB, and a processor's pages may be larger.
#[test]
fn sizes_are_whole_pages_of_the_processor() {
    let text = "[[component]]\nname = \"a\"\nmemory = [{ as = \"m\", size = \"68K\" }]\n";
    for (board, kib) in [("pc", 68), ("clipper", 72)] {
        let description = parse_for(board, text).expect("a system");
        let size = &description.component[0].memory[0].size;
        assert_eq!(description.bytes(size).expect("a size"), kib << 10, "{board}");
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
        Some(
            "x.toml:3: boards/bare.toml has no device `nic`, so there is no network: leave `net` out, or choose another board"
        )
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
    // There the start is the distance from what windows are counted from.
    let description = parse_for("pc64", &linux("")).unwrap_or_else(|error| panic!("{error}"));
    let window = description.window(&description.component[0]).expect("plain numbers");
    assert_eq!(window.map(|window| (window.start, window.serve)), Some((0, true)));
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
fn refuses_a_notification_that_sets_no_bit() {
    let said = |badge| {
        let keys = format!("notifies = [{{ to = \"a\", badge = {badge} }}]");
        parse(&format!("[[component]]\nname = \"a\"\n{keys}\n")).map(|_| ())
    };
    let refused = said(0).map_err(|error| error.to_string()).expect_err("refused");
    assert!(
        refused.starts_with("x.toml:3: a notification with the badge 0 sets no bit: write"),
        "{refused}"
    );
    assert!(said(1).is_ok());
}

#[test]
fn says_how_a_restart_is_written() {
    assert_eq!(
        error("[[component]]\nname = \"a\"\non-death = \"restart\"\n"),
        "x.toml:3: invalid value: a restart has two delays: write `on-death = { restart = { first-ms = 10, most-ms = 1000 } }`"
    );
}

#[test]
fn refuses_a_large_badge() {
    assert!(
        error("[[component]]\nname = \"a\"\ncalls = [{ to = \"a\", badge = 1048576 }]\n")
            .starts_with("x.toml:3: a badge has 20 bits")
    );
}
