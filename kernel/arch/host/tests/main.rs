// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel on a simulated machine. All files are one program, because linking a program
//! for each would take longer than running them.

mod common;

mod area;
mod arguments;
mod attachments;
mod capabilities;
mod crossing;
mod ending;
mod far;
mod homes;
mod homes_model;
mod irqs;
mod large;
mod least;
mod mappings;
mod messages;
mod ports;
mod queues;
mod quotas;
mod ram;
mod random;
mod runners;
mod servers;
mod servers_model;
mod steps;
mod windows;

/// A file that is not a module here would not be tested.
#[test]
fn each_file_is_a_module() {
    let names = std::fs::read_dir("tests").expect("the folder").map(|file| {
        let name = file.expect("a file").file_name().into_string().expect("a name");
        name.trim_end_matches(".rs").to_string()
    });
    let is_module = |name: &String| {
        name == "main" || include_str!("main.rs").lines().any(|line| line == format!("mod {name};"))
    };
    let missing: Vec<String> = names.filter(|name| !is_module(name)).collect();
    assert!(missing.is_empty(), "main.rs lacks {missing:?}");
}
