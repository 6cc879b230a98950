// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `check`: devices of the board, and parts of a disk.

use crate::description::Interface;
use crate::description::samples::{error, parse};

#[test]
fn refuses_overlapping_ports() {
    let message = error(
        "[[component]]\nname = \"a\"\nports = [{ as = \"x\", base = 8, count = 8 }]\n[[component]]\nname = \"b\"\nports = [{ as = \"x\", base = 15, count = 1 }]\n",
    );
    assert!(message.starts_with("x.toml:6: ports of `b` overlap those of `a`"), "{message}");
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
            "x.toml:4: the board `pc` has no device `consol`: name one of clock, console, disk, folder, ip, nic, screen, second-disk, switch"
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
