// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints a complete description as a file: `build --explain`.

use super::{Component, Description, screen};
use crate::linux::server;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write;
use toml::{Table, Value};

/// An array that would make a longer line has a line for each of its elements.
const LONGEST: usize = 100;

/// What there is to say: no empty list, and not that something is not so.
fn said(value: impl Serialize) -> Result<Table> {
    fn is_said(value: &Value) -> bool {
        !matches!(value, Value::Boolean(false))
            && value.as_array().is_none_or(|array| !array.is_empty())
    }
    fn shorten(table: &mut Table) {
        table.retain(|_, value| is_said(value));
        for value in table.iter_mut().map(|(_, value)| value) {
            for element in value.as_array_mut().into_iter().flatten() {
                element.as_table_mut().into_iter().for_each(shorten);
            }
        }
    }
    let mut table = Table::try_from(value)?;
    shorten(&mut table);
    Ok(table)
}

/// Writes a table below its heading.
fn write(text: &mut String, heading: &str, table: &Table) -> Result<()> {
    writeln!(text, "\n{heading}")?;
    for (key, value) in table {
        let line = format!("{key} = {value}");
        match value.as_array().filter(|_| line.len() > LONGEST) {
            Some(array) => {
                let elements: String =
                    array.iter().map(|element| format!("    {element},\n")).collect();
                writeln!(text, "{key} = [\n{elements}]")?;
            }
            None => writeln!(text, "{line}")?,
        }
    }
    Ok(())
}

impl Description {
    /// The text of a description that says by itself what this one leaves to others. It makes the
    /// same system.
    ///
    /// # Errors
    /// A size that is none.
    pub fn explain(&self) -> Result<String> {
        let mut text: String = self.sources.comment().map(|line| format!("{line}\n")).collect();
        writeln!(text, "memory = \"{}\"", self.memory.get_ref())?;
        for (name, region) in &self.shared {
            write(&mut text, &format!("[shared.{name}]"), &said(region)?)?;
        }
        for component in &self.component {
            let name = component.name.get_ref();
            let mut keys = self.keys(component)?;
            if !self.devices.contains(name) {
                write(&mut text, "[[component]]", &keys)?;
                continue;
            }
            keys.remove("name");
            if component.has_screen() {
                // What that gives is said, and the board would ask for it once more.
                keys.insert("screen".into(), false.into());
            }
            if let Some(disk) = self.disks.get(name) {
                keys.extend(said(disk)?);
            }
            if let Some(display) =
                self.screen.as_ref().filter(|_| screen::DEVICES.contains(&name.as_str()))
            {
                keys.extend(said(display)?);
            }
            write(&mut text, &format!("[devices.{name}]"), &keys)?;
        }
        if let Some(test) = &self.test {
            // Here an empty list of processors is not the same as none.
            write(&mut text, "[test]", &Table::try_from(test)?)?;
        }
        Ok(text)
    }

    fn keys(&self, component: &Component) -> Result<Table> {
        let mut keys = said(component)?;
        if component.package() == component.name.get_ref() {
            keys.remove("package");
        }
        if server::is_server(component.package()) {
            // The package is the one of this window and configuration.
            keys.remove("window");
            keys.remove("configuration");
        }
        let mut computed: Vec<(&str, Value)> =
            vec![("quota", format!("{}K", component.quota >> 10).into())];
        if self.processor().relocation_slots != 0 {
            computed.push(("relocation-slots", self.relocation_slots(component).into()));
            computed.push(("locked-ranges", self.locked_ranges(component).into()));
        }
        for (key, value) in computed {
            keys.remove(key);
            keys.insert(key.into(), value);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::descriptions;
    use crate::machine::board::Board;
    use std::path::Path;

    fn read(text: &str) -> Description {
        let board = Board::read(Path::new("../boards/pc.toml")).expect("a board");
        crate::description::parse(Path::new("x.toml"), text.into(), &board)
            .unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    /// Everything that is described.
    fn all(description: &Description) -> Table {
        let mut all = Table::try_from(description).expect("plain values");
        let components =
            all.get_mut("component").and_then(Value::as_array_mut).expect("components");
        for component in components {
            let table = component.as_table_mut().expect("a component");
            // The package says it.
            table.remove("window");
            table.remove("configuration");
        }
        all.insert("names".into(), description.devices.iter().cloned().collect::<Vec<_>>().into());
        all
    }

    #[test]
    fn an_explanation_is_a_description_of_the_same_system() {
        let mut texts = vec![
            "# Two of one net.\n[[component]]\nname = \"a\"\nnet = true\n[[component]]\nname = \"b\"\nnet = { address = \"dhcp\" }\n"
                .to_string(),
        ];
        for folder in ["../systems", "../tests/systems", "../bench/systems"] {
            let read = |path| std::fs::read_to_string(path).expect("a file");
            texts.extend(descriptions(folder).expect("a folder").iter().map(read));
        }
        for text in texts {
            let first = read(&text);
            let explained = first.explain().expect("sizes");
            let again = read(&explained);
            assert_eq!(all(&first), all(&again), "{explained}");
            assert_eq!(again.explain().expect("sizes"), explained);
        }
    }
}
