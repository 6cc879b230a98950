// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adds a screen for the Linuxes of a description that does not mention one (`--screen`).

use super::screen::{Input, SCREEN};
use crate::linux::server;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Gives each Linux the screen, if its table does not say otherwise; and a screen that somebody has a
/// tablet, if the board does and nothing is said of where the pointer comes from: an emulator's
/// window need not grab the host's then. `end` is where the text ends.
pub(super) fn give(root: &mut DeTable<'_>, has_tablet: bool, end: usize) {
    give_linuxes(root);
    let is_used = |root: &DeTable<'_>| -> bool {
        let components = root.get("component").and_then(|value| value.get_ref().as_array());
        components.into_iter().flatten().any(|component| {
            let key = component.get_ref().as_table().and_then(|table| table.get(SCREEN));
            key.is_some_and(|key| key.get_ref().as_bool() != Some(false))
        })
    };
    if !has_tablet || !is_used(root) {
        return;
    }
    let mut within = root;
    for key in ["devices", SCREEN] {
        let new = Spanned::new(end..end, DeValue::Table(DeTable::new()));
        let value = within.entry(Spanned::new(end..end, key.into())).or_insert(new);
        let DeValue::Table(table) = value.get_mut() else { return };
        within = table;
    }
    within
        .entry(Spanned::new(end..end, "input".into()))
        .or_insert(Spanned::new(end..end, DeValue::String(Input::Tablet.name().into())));
}

fn give_linuxes(root: &mut DeTable<'_>) {
    let Some(DeValue::Array(components)) = root.get_mut("component").map(Spanned::get_mut) else {
        return;
    };
    for component in components.iter_mut() {
        let at = component.span();
        let DeValue::Table(table) = component.get_mut() else { continue };
        let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
        if text("package").or_else(|| text("name")).is_some_and(server::is_server) {
            table
                .entry(Spanned::new(at.clone(), SCREEN.into()))
                .or_insert(Spanned::new(at, DeValue::Boolean(true)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::give as give_all;
    use crate::description::{Description, parse_with};
    use crate::machine::board::Board;
    use anyhow::Result;
    use std::path::Path;

    fn parse(board: &str, text: &str) -> Result<Description> {
        let board = Board::read(&Path::new("../boards").join(board).with_extension("toml"))?;
        let give = |root: &mut toml::de::DeTable<'_>| give_all(root, true, text.len());
        parse_with(Path::new("x.toml"), text.into(), &board, give)
    }

    fn linux(name: &str, keys: &str) -> String {
        format!(
            "[[component]]\nname = \"{name}\"\npackage = \"linux\"\narguments = [\"console=hvc0\"]\n\
             memory = [{{ as = \"ram\", size = \"64M\", behind-image = true }}]\n\
             files = [{{ as = \"initrd\", from = \"busybox\" }}]\n{keys}\n"
        )
    }

    #[test]
    fn each_linux_has_it_unless_it_says_no() -> Result<()> {
        let text = String::from("memory = \"512M\"\n")
            + &linux("one", "")
            + &linux("two", "screen = false")
            + "[[component]]\nname = \"hello\"\n";
        let description = parse("pc", &text)?;
        let with: Vec<(&str, &str)> = description
            .component
            .iter()
            .filter(|component| component.has_screen())
            .map(|component| (component.name.get_ref().as_str(), component.package()))
            .collect();
        // The lean one has no driver of it.
        assert_eq!(with, [("one", "linux-full")]);
        assert!(description.component.iter().any(|component| component.package() == "linux"));
        let one = description.component.iter().find(|component| component.has_screen());
        assert!(one.is_some_and(|component| component.has_shell_on_screen()));
        let board = Board::read(Path::new("../boards/pc.toml"))?;
        assert!(description.screen_arguments(&board).is_some());
        let plain = parse("pc", "[[component]]\nname = \"hello\"\n")?;
        assert_eq!(plain.screen_arguments(&board), None);
        Ok(())
    }

    #[test]
    fn a_tablet_is_attached_unless_a_mouse_is_asked_for() -> Result<()> {
        let board = Board::read(Path::new("../boards/pc.toml"))?;
        let arguments = |devices: &str| -> Result<String> {
            let text = format!("memory = \"256M\"\n[devices]\n{devices}\n") + &linux("one", "");
            Ok(parse("pc", &text)?.screen_arguments(&board).unwrap_or_default().join(" "))
        };
        assert!(arguments("")?.contains("virtio-tablet"));
        assert!(!arguments("screen = { input = \"ps2\" }")?.contains("tablet"));
        assert!(arguments("screen = { input = \"tablet\" }")?.contains("virtio-tablet"));
        Ok(())
    }

    #[test]
    fn a_lean_linux_is_refused() {
        let text = String::from("memory = \"256M\"\n") + &linux("one", "configuration = \"lean\"");
        let said = parse("pc", &text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains("a lean Linux has no driver of a screen or of folders"), "{said}");
    }
}
