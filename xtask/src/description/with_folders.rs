// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adds folders of this machine to a description (`--share`).

use crate::linux::server;
use crate::machine::folders::Folder;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The device, and the key of the component that has it.
pub(super) const FOLDER: &str = "folder";

/// A component's text of a key.
fn text<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    table.get(key).and_then(|value| value.get_ref().as_str())
}

/// Gives these folders to the component that has `folder = true`, or to the first Linux, and tells a
/// Linux where it mounts them. `end` is where the text ends.
pub(super) fn give(root: &mut DeTable<'_>, folders: &[Folder], end: usize) {
    let Some(DeValue::Array(components)) = root.get_mut("component").map(Spanned::get_mut) else {
        return;
    };
    let is_server = |table: &DeTable<'_>| {
        text(table, "package").or_else(|| text(table, "name")).is_some_and(server::is_server)
    };
    let has_them = |table: &DeTable<'_>| {
        table.get(FOLDER).is_some_and(|key| key.get_ref().as_bool() == Some(true))
    };
    let tables = |components: &DeArray<'_>, is: &dyn Fn(&DeTable<'_>) -> bool| {
        components.iter().position(|component| component.get_ref().as_table().is_some_and(is))
    };
    let found = tables(components, &has_them).or_else(|| tables(components, &is_server));
    let Some(component) = found.and_then(|index| components.get_mut(index)) else { return };
    let at = component.span();
    let DeValue::Table(table) = component.get_mut() else { return };
    let place = |value| Spanned::new(at.clone(), value);
    table
        .entry(Spanned::new(at.clone(), FOLDER.into()))
        .or_insert_with(|| place(DeValue::Boolean(true)));
    if is_server(table) {
        let words = table
            .entry(Spanned::new(at.clone(), "arguments".into()))
            .or_insert_with(|| place(DeValue::Array(DeArray::default())));
        if let DeValue::Array(words) = words.get_mut() {
            let all = folders.iter().enumerate().map(|(number, folder)| folder.word(number));
            all.for_each(|word| words.push(place(DeValue::String(word.into()))));
        }
    }
    let new = || Spanned::new(end..end, DeValue::Table(DeTable::new()));
    let devices =
        root.entry(Spanned::new(end..end, "devices".into())).or_insert_with(new).get_mut();
    if let DeValue::Table(devices) = devices {
        devices.entry(Spanned::new(end..end, FOLDER.into())).or_insert_with(new);
    }
}
