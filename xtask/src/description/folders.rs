// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of the host: what their server and the component with `folder = true` are given
//! (docs/folders.md).

use super::clients::Service;
use super::described::Wish;
use super::with_folders::FOLDER;
use super::{Component, Description, Peer, Share, SharedMemory, spanned};
use crate::linux::root;
use anyhow::Result;
use image::protocol::folder::{BIT_ANSWERS, BIT_ATTACH, BIT_REQUESTS};

/// What the client calls the server to call, the server to notify, and its memory.
const GRANTS: [&str; 3] = [FOLDER, "folder-bell", "folder-memory"];
const SERVICE: Service = Service { key: FOLDER, grants: &GRANTS };
/// What the server calls its client's memory.
const CLIENT: &str = "client-1";
/// Bytes of the client's memory, unless the description says others: 16 slots.
const MEMORY: &str = "1028K";

impl Description {
    /// Makes the component with `folder` the client of the server of folders.
    pub(super) fn share_folders(&mut self, wishes: &[Wish<bool>]) -> Result<()> {
        let mut wishes = wishes.iter().filter(|wish| *wish.key.get_ref());
        let server = self.component.iter().position(|component| component.name.get_ref() == FOLDER);
        let server = server.filter(|_| self.devices.contains(FOLDER));
        let (index, key) = match (wishes.next(), server) {
            (None, None) => return Ok(()),
            // An explained description says what the key gives, in place of the key.
            (None, Some(server))
                if self.component[server].shares.iter().any(|share| share.label() == CLIENT) =>
            {
                return Ok(());
            }
            (None, Some(server)) => {
                let name = &self.component[server].name;
                return Err(self.wrong(
                    name,
                    "nobody has the folders: write `folder = true` for a component, or leave this out",
                ));
            }
            (Some(wish), _) => (wish.component, &wish.key),
        };
        let Some(server) = server else {
            return Err(
                self.wrong(key, "there are no folders: add `folder = {}` below `[devices]`")
            );
        };
        if let Some(second) = wishes.next() {
            let what = "another component has the folders: leave this out";
            return Err(self.wrong(&second.key, what));
        }
        let client = &self.component[index];
        self.check_names(&SERVICE, key, client, FOLDER)?;
        let name = client.name.get_ref().clone();
        let region = format!("{FOLDER}-{name}");
        self.check_private(key, client, FOLDER, std::slice::from_ref(&region))?;
        self.shared
            .entry(region.clone())
            .or_insert_with(|| SharedMemory { size: spanned(MEMORY.into()) });
        let [call, bell, memory] = GRANTS.map(String::from);
        let component = &mut self.component[index];
        component.calls.push(Peer::of(key, FOLDER, call, 1));
        component.notifies.push(Peer::of(key, FOLDER, bell, 1 << BIT_REQUESTS));
        component.shares.push(Share::of(key, &region, memory, false));
        let component = &mut self.component[server];
        component.shares.push(Share::of(key, &region, CLIENT.into(), true));
        for (bell, bit) in [("bell-1", BIT_ANSWERS), ("again-1", BIT_ATTACH)] {
            component.notifies.push(Peer::of(key, &name, bell.into(), 1 << bit));
        }
        Ok(())
    }
}

impl Component {
    /// Whether it is the client of the server of folders.
    pub(super) fn has_folders(&self) -> bool {
        self.shares.iter().any(|share| share.label() == GRANTS[2])
    }

    /// Whether it is a Linux whose shell's root file system has them.
    pub fn has_shell_with_folders(&self) -> bool {
        self.has_folders() && self.files.iter().any(|file| root::has_shell(file.from.get_ref()))
    }
}

#[cfg(test)]
mod tests {
    use crate::description::samples::{error, parse};
    use crate::description::{Description, Wanted, read_with};
    use crate::machine::board::Board;
    use crate::machine::folders::Folder;
    use anyhow::Result;
    use std::path::Path;

    fn find<'a>(description: &'a Description, name: &str) -> &'a super::super::Component {
        let mut all = description.component.iter();
        all.find(|component| component.name.get_ref() == name).expect("a component")
    }

    fn share(texts: &[&str]) -> Vec<Folder> {
        texts.iter().map(|text| text.parse().expect("a share")).collect()
    }

    fn with(system: &str, board: &str, folders: &[Folder]) -> Result<Description> {
        let board = Board::read(&Path::new("../boards").join(board).with_extension("toml"))?;
        let wanted = Wanted { folders, ..Wanted::default() };
        read_with(&Path::new("..").join(system), &board, wanted)
    }

    #[test]
    fn a_linux_is_told_where_it_mounts_them() -> Result<()> {
        let folders = share(&["src:/mnt/b:rw", ".:/mnt/a"]);
        for (system, board, package) in [
            ("systems/linux.toml", "pc", "linux-full"),
            ("systems/linux.toml", "pc64", "linux-full"),
            ("systems/debian.toml", "pc", "linux-full"),
            ("systems/two-linuxes.toml", "pc", "linux-full"),
        ] {
            let Ok(description) = with(system, board, &folders) else {
                // Its second disk has the line: `build` says so.
                panic!("{system} has no folders");
            };
            let mut linuxes =
                description.component.iter().filter(|one| one.package().starts_with("linux"));
            let linux = linuxes.next().expect("a Linux");
            assert_eq!(linux.package(), package, "{system}");
            assert!(linux.has_folders() && linuxes.all(|other| !other.has_folders()));
            let words = linux.arguments.join(" ");
            assert!(
                words.ends_with(" folder=folder-1:rw:/mnt/b folder=folder-2:ro:/mnt/a"),
                "{words}"
            );
            let server = find(&description, "folder");
            let shares: Vec<_> =
                server.shares.iter().map(|share| (share.label(), share.dma)).collect();
            assert_eq!(shares, [("queue", true), ("client-1", true)]);
        }
        // Without folders nothing changes: figures are taken with the lean Linux.
        let plain = with("systems/linux.toml", "pc", &[])?;
        assert_eq!(find(&plain, "linux").package(), "linux");
        assert!(!plain.devices.contains("folder"));
        Ok(())
    }

    #[test]
    fn what_has_none_is_refused() {
        let folders = share(&[".:/mnt"]);
        let said = |system, board| {
            let error = with(system, board, &folders).err().expect("refused");
            error.to_string()
        };
        assert!(said("systems/hello.toml", "pc").contains("no Linux that could have a folder"));
        let said = said("systems/linux.toml", "versatilepb");
        assert!(said.contains("cannot have folders of this machine"), "{said}");
    }

    #[test]
    fn one_component_has_them() {
        let client = |name: &str| format!("[[component]]\nname = \"{name}\"\nfolder = true\n");
        let device = "[devices]\nfolder = {}\n";
        let description = parse(&(client("one") + device)).expect("sound");
        let one = find(&description, "one");
        let labels: Vec<_> =
            one.calls.iter().chain(&one.notifies).map(|peer| peer.label()).collect();
        assert_eq!(labels, ["folder", "folder-bell"]);
        assert_eq!(description.shared["folder-one"].size.get_ref(), "1028K");
        assert_eq!(
            error(&client("one")),
            "x.toml:3: there are no folders: add `folder = {}` below `[devices]`"
        );
        assert_eq!(
            error(&(client("one") + &client("two") + device)),
            "x.toml:6: another component has the folders: leave this out"
        );
        let said = error(&format!("[[component]]\nname = \"one\"\n{device}"));
        assert!(said.starts_with("x.toml:4: nobody has the folders"), "{said}");
    }

    #[test]
    fn a_lean_linux_is_refused() {
        let text = "memory = \"256M\"\n[devices]\nfolder = {}\n[[component]]\nname = \"linux\"\nconfiguration = \"lean\"\nfolder = true\nmemory = [{ as = \"ram\", size = \"64M\", behind-image = true }]\n";
        let said = error(text);
        assert!(said.contains("a lean Linux has no driver of a screen or of folders"), "{said}");
    }
}
