// SPDX-License-Identifier: MIT OR Apache-2.0
//! The devices of a description: each becomes a component, with the keys of the board's file.

use super::sources::{Mistake, spanned};
use super::{net, screen};
use crate::catalogue::near;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// The keys of a device that are its disk's.
const MEDIUM: [&str; 3] = ["size", "holds", "interface"];
/// The keys of a device that are its screen's.
const DISPLAY: [&str; 4] = ["size", "secure-key", "input", "keyboard"];

/// What a description uses of its board.
struct Used<'a, 'b> {
    /// The board's name, and its devices.
    board: (&'b str, DeTable<'a>),
    /// The disks.
    disks: DeTable<'a>,
    /// What is said of the screen.
    screen: Option<DeTable<'a>>,
    shared: DeTable<'a>,
    components: DeArray<'a>,
    names: BTreeSet<String>,
}

impl<'a> Used<'a, '_> {
    /// Puts a device among the components: the board's keys, and the description's own in their
    /// place. Components are in the order of their `place`.
    fn insert(
        &mut self,
        device: &Spanned<DeString<'a>>,
        own: DeTable<'a>,
        place: usize,
    ) -> Result<(), Mistake> {
        let at = device.span();
        let (name, known) = &self.board;
        let Some(DeValue::Table(mut keys)) =
            known.get(device.get_ref().as_ref()).map(|keys| keys.get_ref().clone())
        else {
            let mut known: Vec<&str> = known.keys().map(|key| key.get_ref().as_ref()).collect();
            known.sort_unstable();
            let meant = near(device.get_ref(), known.iter().copied())
                .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            let what = format!(
                "the board `{name}` has no device `{}`: name one of {}{meant}",
                device.get_ref(),
                known.join(", ")
            );
            return Err((at.start, what));
        };
        for (region, size) in taken(&mut keys, "shared")? {
            self.shared.entry(region).or_insert(size);
        }
        let has_medium = keys.remove("medium").is_some();
        let has_display = keys.remove("display").is_some();
        keys.remove("card");
        keys.remove("folders");
        let apart: &[&str] = match (has_medium, has_display) {
            (true, _) => &MEDIUM,
            (_, true) => &DISPLAY,
            _ => &[],
        };
        let mut own_kind = DeTable::new();
        for (key, value) in own {
            let table =
                if apart.contains(&key.get_ref().as_ref()) { &mut own_kind } else { &mut keys };
            table.remove(key.get_ref().as_ref());
            table.insert(key, value);
        }
        if has_medium {
            self.disks.insert(device.clone(), Spanned::new(at.clone(), DeValue::Table(own_kind)));
        } else if has_display {
            self.screen = Some(own_kind);
        }
        let value = Spanned::new(at.clone(), DeValue::String(device.get_ref().clone()));
        keys.insert(Spanned::new(at, "name".into()), value);
        self.components.push(Spanned::new(place..place, DeValue::Table(keys)));
        self.names.insert(device.get_ref().to_string());
        Ok(())
    }

    /// Where a component asks first for what this key gives it.
    fn asks_for(&self, key: &str) -> Option<Range<usize>> {
        let asks = |component: &Spanned<DeValue<'a>>| {
            let (key, value) = component.get_ref().as_table()?.get_key_value(key)?;
            (value.get_ref().as_bool() != Some(false)).then(|| key.span())
        };
        self.components.iter().filter_map(asks).min_by_key(|at| at.start)
    }
}

/// Puts a component for each of a description's `[devices]` among the others, in the order of the
/// file, and those of the network and of the screen at the end, if a component asks for one. What
/// is left of `[devices]` are the disks. Returns the devices' names.
pub(super) fn insert<'a>(
    root: &mut DeTable<'a>,
    mut board: DeTable<'a>,
    name: &str,
    end: usize,
) -> Result<BTreeSet<String>, Mistake> {
    let known = taken(&mut board, "device")?;
    if let Some(device) = root.keys().find(|key| known.contains_key(key.get_ref().as_ref())) {
        return Err((
            device.span().start,
            format!("`{}` is a device of the board: write it below `[devices]`", device.get_ref()),
        ));
    }
    let uses = taken(root, "devices")?;
    let shared = taken(root, "shared")?;
    let components = match root.remove("component").map(|value| (value.span(), value.into_inner()))
    {
        None => DeArray::default(),
        Some((_, DeValue::Array(components))) => components,
        Some((at, _)) => {
            return Err((at.start, "a component begins with a line `[[component]]`".into()));
        }
    };
    let (disks, names) = (DeTable::new(), BTreeSet::new());
    let mut used = Used { board: (name, known), disks, screen: None, shared, components, names };
    for (device, own) in uses {
        let at = device.span().start;
        let DeValue::Table(own) = own.into_inner() else {
            return Err((
                at,
                format!("write `{0} = {{}}`, or what differs in the braces", device.get_ref()),
            ));
        };
        used.insert(&device, own, at)?;
    }
    for (key, what, devices) in
        [("net", "network", &net::DEVICES[..]), ("screen", "screen", &screen::DEVICES)]
    {
        let Some(at) = used.asks_for(key) else { continue };
        if let Some(lacks) = devices.iter().find(|device| !used.board.1.contains_key(**device)) {
            return Err((
                at.start,
                format!(
                    "boards/{name}.toml has no device `{lacks}`, so there is no {what}: leave `{key}` out, or choose another board"
                ),
            ));
        }
        for device in devices {
            if !used.names.contains(*device) {
                used.insert(&Spanned::new(at.clone(), (*device).into()), DeTable::new(), end)?;
            }
        }
    }
    if let Some(display) = used.screen.take() {
        root.insert(spanned("screen".into()), spanned(DeValue::Table(display)));
    }
    let Used { disks, shared, mut components, names, .. } = used;
    components.sort_by_key(|component| component.span().start);
    for (key, value) in [
        ("component", DeValue::Array(components)),
        ("shared", DeValue::Table(shared)),
        ("devices", DeValue::Table(disks)),
    ] {
        root.insert(spanned(key.into()), spanned(value));
    }
    Ok(names)
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
