// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disks of a description: what the disk server and each component with `disk` are given
//! (docs/disk.md).

use super::clients::Service;
use super::described::Wish;
use super::disk::Part;
use super::key::Key;
use super::{Component, Description, Peer, Share, SharedMemory, spanned};
use abi::object::BADGE_MAX;
use anyhow::Result;
use image::protocol::disk::{BIT_ANSWERS, BIT_ATTACH, BIT_REQUESTS, SECTOR};
use toml::Spanned;

/// The device, unless the component names another.
const DISK: &str = "disk";
/// What a client calls the server to call, the server to notify, and its memory.
const GRANTS: [&str; 3] = ["disk", "disk-bell", "disk-memory"];
const SERVICE: Service = Service { key: "disk", grants: &GRANTS };
/// Bytes of a client's memory, unless the description says others: 16 slots.
const MEMORY: &str = "1028K";
/// A server has no more clients: a word of notifications tells these apart.
const MOST_CLIENTS: usize = BADGE_MAX.ilog2() as usize;

/// What a client has of its disk.
#[derive(Clone, Copy)]
enum Claim {
    Whole,
    Partition(u32),
    /// Bytes: the first, and the end.
    Bytes(u64, u64),
}

/// A client that a server has already.
struct Client {
    server: usize,
    name: String,
    claim: Claim,
}

impl Description {
    /// Gives each component with `disk` its part of a disk, in the order of the description.
    pub(super) fn share_disks(&mut self, wishes: &[Wish<Key<Part>>]) -> Result<()> {
        let mut clients: Vec<Client> = Vec::new();
        for Wish { component: index, key: place } in wishes {
            let index = *index;
            let whole = Part::default();
            let part = match place.get_ref() {
                Key::No => continue,
                Key::Yes => &whole,
                Key::With(part) => part,
            };
            let device = part.device.as_ref().map_or(DISK, |device| device.get_ref());
            let client = &self.component[index];
            let name = client.name.get_ref().clone();
            let server =
                self.component.iter().position(|component| component.name.get_ref() == device);
            let Some(server) = server.filter(|_| self.disks.contains_key(device)) else {
                let what = format!(
                    "there is no disk `{device}`: add `{device} = {{ size = \"64M\" }}` below `[devices]`"
                );
                return Err(part
                    .device
                    .as_ref()
                    .map_or_else(|| self.wrong(place, &what), |at| self.wrong(at, &what)));
            };
            let claim = self.claim_of(place, part, device)?;
            self.check_client(place, client, (server, claim), &clients)?;
            let number = 1 + clients.iter().filter(|other| other.server == server).count() as u32;
            let region = format!("{device}-{name}");
            self.shared
                .entry(region.clone())
                .or_insert_with(|| SharedMemory { size: spanned(MEMORY.into()) });
            let [call, bell, memory] = GRANTS.map(String::from);
            let component = &mut self.component[index];
            component.calls.push(Peer::of(place, device, call, number));
            component.notifies.push(Peer::of(place, device, bell, 1 << BIT_REQUESTS));
            component.shares.push(Share::of(place, &region, memory, false));
            let component = &mut self.component[server];
            component.shares.push(Share::of(place, &region, format!("client-{number}"), true));
            for (bell, bit) in [("bell", BIT_ANSWERS), ("again", BIT_ATTACH)] {
                component.notifies.push(Peer::of(
                    place,
                    &name,
                    format!("{bell}-{number}"),
                    1 << bit,
                ));
            }
            let sector = u64::from(SECTOR);
            component.arguments.extend(match claim {
                Claim::Whole => None,
                Claim::Partition(partition) => {
                    Some(format!("range-{number}=partition={partition}"))
                }
                Claim::Bytes(first, end) => Some(format!(
                    "range-{number}=sectors={}+{}",
                    first / sector,
                    (end - first) / sector
                )),
            });
            clients.push(Client { server, name, claim });
        }
        Ok(())
    }

    /// What the keys in the braces mean.
    fn claim_of(&self, place: &Spanned<Key<Part>>, part: &Part, device: &str) -> Result<Claim> {
        match (&part.partition, &part.first, &part.size) {
            (None, None, None) => Ok(Claim::Whole),
            (Some(partition), None, None) if *partition.get_ref() > 0 => {
                Ok(Claim::Partition(*partition.get_ref()))
            }
            (Some(partition), None, None) => {
                Err(self.wrong(partition, "partitions are counted from 1"))
            }
            (None, first, Some(size)) => {
                let first = first.as_ref().map_or(Ok(0), |first| self.sources.long(first))?;
                let all = self.disk_bytes(&self.disks[device])?;
                let end = first
                    .checked_add(self.sources.long(size)?)
                    .filter(|end| *end <= all && *end > first);
                let end = end.ok_or_else(|| {
                    self.wrong(
                        size,
                        &format!(
                            "`{device}` has {}: this part is empty, or reaches beyond it",
                            self.disks[device].size.get_ref()
                        ),
                    )
                })?;
                Ok(Claim::Bytes(first, end))
            }
            _ => Err(self.wrong(
                place,
                "write `partition`, or `first` and `size`, or none of them for the whole disk",
            )),
        }
    }

    /// Whether a component can be a client of this server, beside those that are.
    fn check_client(
        &self,
        place: &Spanned<Key<Part>>,
        client: &Component,
        (server, claim): (usize, Claim),
        others: &[Client],
    ) -> Result<()> {
        self.check_names(&SERVICE, place, client, self.component[server].name.get_ref())?;
        let others: Vec<&Client> = others.iter().filter(|other| other.server == server).collect();
        if others.len() >= MOST_CLIENTS {
            return Err(self.wrong(place, &format!("a disk has at most {MOST_CLIENTS} clients")));
        }
        let overlaps = |other: &&&Client| match (claim, other.claim) {
            (Claim::Whole, _) | (_, Claim::Whole) => true,
            (Claim::Partition(one), Claim::Partition(two)) => one == two,
            (Claim::Bytes(first, end), Claim::Bytes(other_first, other_end)) => {
                first < other_end && other_first < end
            }
            // The server sees what is on the disk.
            _ => false,
        };
        match others.iter().find(overlaps) {
            Some(other) => Err(self.wrong(
                place,
                &format!("`{}` has a part of this, too: give each a part of its own", other.name),
            )),
            None => Ok(()),
        }
    }
}
