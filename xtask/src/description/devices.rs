// SPDX-License-Identifier: MIT OR Apache-2.0
//! The devices of a description: what its board says of each becomes a component.

use super::sources::{Mistake, spanned};
use crate::catalogue::near;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The keys of a device that are its disk's.
const MEDIUM: [&str; 3] = ["size", "holds", "interface"];

/// Puts a component for each of a description's `[devices]` among the others, in the order of the file: the board's
/// keys, and the description's own in their place. What is left of `[devices]` are the disks.
pub(super) fn insert<'a>(root: &mut DeTable<'a>, mut board: DeTable<'a>, name: &str) -> Result<(), Mistake> {
    let known = taken(&mut board, "device")?;
    if let Some(device) = root.keys().find(|key| known.contains_key(key.get_ref().as_ref())) {
        return Err((device.span().start, format!("`{}` is a device of the board: write it below `[devices]`", device.get_ref())));
    }
    let uses = taken(root, "devices")?;
    let mut disks = DeTable::new();
    let mut shared = taken(root, "shared")?;
    let mut components = match root.remove("component").map(|value| (value.span(), value.into_inner())) {
        None => DeArray::default(),
        Some((_, DeValue::Array(components))) => components,
        Some((at, _)) => return Err((at.start, "a component begins with a line `[[component]]`".into())),
    };
    for (device, own) in uses {
        let at = device.span();
        let Some(DeValue::Table(mut keys)) = known.get(device.get_ref().as_ref()).map(|keys| keys.get_ref().clone()) else {
            let known: Vec<&str> = known.keys().map(|key| key.get_ref().as_ref()).collect();
            let meant = near(device.get_ref(), known.iter().copied()).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            let what = format!("the board `{name}` has no device `{}`: name one of {}{meant}", device.get_ref(), known.join(", "));
            return Err((at.start, what));
        };
        let DeValue::Table(own) = own.into_inner() else {
            return Err((at.start, format!("write `{0} = {{}}`, or what differs in the braces", device.get_ref())));
        };
        for (region, size) in taken(&mut keys, "shared")? {
            shared.entry(region).or_insert(size);
        }
        let has_medium = keys.remove("medium").is_some();
        let mut medium = DeTable::new();
        for (key, value) in own {
            let table = if has_medium && MEDIUM.contains(&key.get_ref().as_ref()) { &mut medium } else { &mut keys };
            table.remove(key.get_ref().as_ref());
            table.insert(key, value);
        }
        if has_medium {
            disks.insert(device.clone(), Spanned::new(at.clone(), DeValue::Table(medium)));
        }
        let value = Spanned::new(at.clone(), DeValue::String(device.get_ref().clone()));
        keys.insert(Spanned::new(at.clone(), "name".into()), value);
        components.push(Spanned::new(at, DeValue::Table(keys)));
    }
    components.sort_by_key(|component| component.span().start);
    for (key, value) in [("component", DeValue::Array(components)), ("shared", DeValue::Table(shared)), ("devices", DeValue::Table(disks))]
    {
        root.insert(spanned(key.into()), spanned(value));
    }
    Ok(())
}

/// Takes a table out of another one; an empty one if it is not there.
fn taken<'a>(table: &mut DeTable<'a>, key: &str) -> Result<DeTable<'a>, Mistake> {
    match table.remove(key) {
        None => Ok(DeTable::new()),
        Some(value) => match (value.span(), value.into_inner()) {
            (_, DeValue::Table(table)) => Ok(table),
            (span, _) => Err((span.start, format!("`{key}` is a table: write `[{key}]`"))),
        },
    }
}
