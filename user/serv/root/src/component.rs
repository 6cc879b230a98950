// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making components, taking them down, and making them again.
//!
//! Two things survive a component's restart: its Thread, and what it was granted; this is what
//! others know of it. Its Space, and everything that the component made itself, do not survive;
//! they are charged to the component's Quota, which is therefore empty between two lives.
//!
//! It does not decide when a component is restarted: `watch` does.

use crate::load::{self, Filler};
use crate::machine::say;
use crate::pci::{self, Assigned};
use crate::resources::{Piece, Pieces, RW, Resources};
use crate::watchdog;
use abi::boot::slot as root_slot;
use abi::utcb::threads_a_space;
use abi::{CacheOp, PAGE_SIZE, TABLE_SPAN};
use image::layout::{Layout, MESSAGES};
use image::pci::Device;
use image::protocol::console::MAY_WRITE_RESULTS;
use image::{Component, Given, Places, Resource, Start, System, slot};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::cap::{Counts, copy, delete, identify, revoke};
use macadamia::map::Window;
use macadamia::{Error, Memory, Quota, Result, Rights, Segment, Space, Thread, Word, map, time};
use sha2::{Digest, Sha256};

/// The name of the component that others print with.
const CONSOLE: &str = "console";

/// Where the root server maps a component's memory.
const LOOK: Word = Places::LOW.own_end as Word - PAGE_SIZE;

/// What a grant hands out.
enum Object {
    /// Nothing of its own: a capability to another component, or a file of the boot image.
    Peer,
    /// A Memory or Irq that outlives the component.
    Lent(Word),
    /// Memory that others have, too; its physical address if the component may know it; and the
    /// Segment that it is, if any.
    Shared(Word, Word, Option<Segment>),
    /// RAM that only the component has.
    Own(Piece),
    /// The part of the component's memory that lies after its image.
    Behind(Memory),
    /// A PCI device, if it is there.
    Pci(Option<Assigned>),
}

/// What the description grants, and what is handed out for that.
struct Granted<'a> {
    name: &'a str,
    resource: &'a Resource,
    object: Object,
}

impl Granted<'_> {
    /// The PCI device that it is, if it has an interrupt line.
    fn interrupting(&self) -> Option<u8> {
        match (self.resource, &self.object) {
            (Resource::Pci { device, .. }, Object::Pci(Some(assigned))) => {
                assigned.irq().map(|_| *device)
            }
            _ => None,
        }
    }
}

/// A component that was made.
pub struct Running<'a> {
    /// Its first thread: survives restarts.
    pub thread: Thread,
    /// Its kernel memory.
    pub quota: Quota,
    /// Calls the root server with this component's badge.
    handler: Thread,
    space_slot: Word,
    /// Made again at each start; `None` while it is dead.
    space: Option<Space>,
    memory: Option<Pieces>,
    /// The addresses that it serves in, if it is a server.
    window: Option<Memory>,
    /// Its home and its place there, while its space is small.
    home: Option<(Space, Word)>,
    /// In the order of the description: the slots from `slot::GRANTS` on.
    granted: Vec<Granted<'a>>,
    /// How often it was started again.
    pub restarts: u32,
    /// When it was started, in nanoseconds since boot.
    pub started: u64,
    /// How long its last restart was put off, in milliseconds.
    pub delay_ms: u32,
}

impl Running<'_> {
    /// Whether it was started and has not ended.
    pub const fn is_alive(&self) -> bool {
        self.space.is_some()
    }

    /// The messages that it says it has sent since it was started: whatever it writes there. None
    /// without memory to look at.
    pub fn messages(&self, component: &Component) -> Option<u32> {
        let end = load::stack_end(component).ok()?;
        // A virtual cache may have it only by the component's address.
        if let Some(space) = self.space {
            space
                .cache(
                    (component.places().stack_end - MESSAGES) as Word,
                    size_of::<u32>() as Word,
                    CacheOp::Clean,
                )
                .ok()?;
        }
        let last = end.checked_sub(PAGE_SIZE as u32)?;
        let (memory, offset, bytes) = self.memory.as_ref()?.parts(last, PAGE_SIZE as u32).next()?;
        let page = Window::open(LOOK, memory, offset as Word, bytes as Word, Rights::READ).ok()?;
        Some(page.read(PAGE_SIZE - MESSAGES as Word))
    }

    /// Makes its space large, if it is small; whether it was.
    pub fn grow(&mut self) -> Result<bool> {
        let Some((home, address)) = self.home.take() else { return Ok(false) };
        home.detach(address).map(|()| true)
    }
}

/// Makes all components, then starts them; an error names what could not be made, and says why.
pub fn create_all<'a>(
    resources: &mut Resources,
    system: &'a System,
) -> core::result::Result<Vec<Running<'a>>, (String, String)> {
    let named = |name: &String, error: Error| (name.clone(), error.text().into());
    let mut shared = Vec::new();
    for region in &system.shared {
        shared.push(share(resources, region.bytes).map_err(|error| named(&region.name, error))?);
    }
    // The description's lines before those that PCI devices turn out to have.
    for component in &system.components {
        for grant in &component.grants {
            if let Resource::Irq { line } = grant.what {
                resources.line(line).map_err(|error| named(&component.name, error))?;
            }
        }
    }
    make_homes(resources, system).map_err(|error| named(&system.name, error))?;
    resources.watchdog =
        watchdog::start(resources, system).map_err(|error| named(&system.name, error))?;
    let mut all = Vec::new();
    for (index, component) in system.components.iter().enumerate() {
        let quota = promise(resources, component).map_err(|why| (component.name.clone(), why))?;
        all.push(
            prepare(resources, (component, quota), index, &shared)
                .map_err(|error| named(&component.name, error))?,
        );
    }
    for (index, component) in system.components.iter().enumerate() {
        start(resources, system, &mut all, index).map_err(|error| named(&component.name, error))?;
    }
    Ok(all)
}

/// Memory that components share. Where caches are virtual it is a Segment: it has a domain, and
/// nothing is flushed when one of them comes to it after another.
fn share(resources: &mut Resources, bytes: u32) -> Result<(Piece, Option<Segment>)> {
    let bytes = bytes as Word;
    let piece = resources.ram(bytes)?;
    if !crate::arch::SHARES_SEGMENTS {
        return Ok((piece, None));
    }
    let slot = resources.slot()?;
    let segment = resources.quota.create_segment(bytes.next_multiple_of(TABLE_SPAN), slot)?;
    map::map(Space(segment.0), 0, piece.memory, 0, bytes, RW)?;
    Ok((piece, Some(segment)))
}

/// Makes the homes of groups, if the kernel has small spaces. Prints what was done.
fn make_homes(resources: &mut Resources, system: &System) -> Result<()> {
    for (index, name) in (0..).zip(&system.homes) {
        if !time::has_servers() {
            say(format_args!(
                "group `{name}`: large spaces, as this machine does not check segment limits, or is not to"
            ));
            continue;
        }
        let slot = resources.slot()?;
        let home = resources.quota.create_home(slot)?;
        resources.homes.push(home);
        let members = system
            .components
            .iter()
            .filter(|component| component.small.is_some_and(|small| small.home == index));
        say(format_args!("group `{name}`: {} small spaces in one home", members.count()));
    }
    Ok(())
}

/// A component's Quota, also for its Space, or why there is none.
fn promise(
    resources: &mut Resources,
    component: &Component,
) -> core::result::Result<Quota, String> {
    let from = resources.quota;
    let threads = component.threads + threads_a_space(time::kip().max_threads);
    let counts = Counts {
        threads: threads as Word,
        relocation_slots: component.relocation_slots as Word,
        locked_ranges: component.locked_ranges as Word,
    };
    let made = resources
        .slot()
        .and_then(|slot| from.create_quota_with(component.quota as Word, counts, slot));
    made.map_err(|error| match (error, from.info(), from.threads()) {
        // Of slots and ranges there are enough: the tool has counted them.
        (Error::QuotaExceeded, Ok((used, limit)), Ok((taken, most))) => format!(
            "it is to have {} KiB of kernel memory and {threads} threads, but {} KiB and {} are left",
            component.quota >> 10,
            (limit - used) >> 10,
            most - taken
        ),
        _ => error.text().into(),
    })
}

/// The parts that outlive a restart.
fn prepare<'a>(
    resources: &mut Resources,
    (component, quota): (&'a Component, Quota),
    index: usize,
    shared: &[(Piece, Option<Segment>)],
) -> Result<Running<'a>> {
    let memory = resources.pieces(load::bytes(component)?, component.colours)?;
    let (thread, _) = resources.quota.create_thread(resources.limbo, resources.slot()?, None)?;
    let handler = Thread(resources.slot()?);
    copy(root_slot::THREAD as Word, None, handler.0, Rights::CALL, index as Word + 1)?;
    let mut granted = Vec::new();
    for grant in &component.grants {
        let object = match grant.what {
            Resource::Ports { base, count } => {
                Object::Lent(resources.ports(base as Word, count as Word)?.0)
            }
            Resource::Addresses { bytes } => Object::Lent(resources.window(bytes as Word)?.0),
            Resource::Device { base, bytes, .. } => {
                Object::Lent(resources.device(base as Word, bytes as Word)?.0)
            }
            Resource::Shared { region, dma, .. } => {
                let (piece, segment) = shared.get(usize::from(region)).ok_or(Error::BadArgument)?;
                Object::Shared(piece.memory.0, if dma { piece.physical } else { 0 }, *segment)
            }
            Resource::Irq { line } => Object::Lent((root_slot::IRQ + line) as Word),
            Resource::Pci { device, address } => {
                let others: Vec<u8> = granted.iter().filter_map(Granted::interrupting).collect();
                let addresses = address..component.places().grants_end;
                Object::Pci(pci::find(resources, &grant.name, (device, &others), addresses))
            }
            Resource::Memory { bytes, behind_image: true } => {
                let offset = load::image_bytes(component)? as Word;
                Object::Behind(resources.part(memory.only()?, offset, bytes as Word)?)
            }
            Resource::Memory { bytes, .. } => Object::Own(resources.ram(bytes as Word)?),
            Resource::Call { .. }
            | Resource::Notify { .. }
            | Resource::Control { .. }
            | Resource::Heartbeat { .. }
            | Resource::File { .. } => Object::Peer,
        };
        granted.push(Granted { name: &grant.name, resource: &grant.what, object });
    }
    let space_slot = resources.slot()?;
    let (memory, window) = (Some(memory), window(resources, component)?);
    Ok(Running {
        thread,
        quota,
        handler,
        space_slot,
        space: None,
        memory,
        window,
        home: None,
        granted,
        restarts: 0,
        started: 0,
        delay_ms: 0,
    })
}

/// The addresses of a component's window, if it is to be a server and the kernel has any. Says what
/// becomes of it.
fn window(resources: &mut Resources, component: &Component) -> Result<Option<Memory>> {
    let (Some(window), name) = (component.window, &component.name) else { return Ok(None) };
    if !window.serve {
        say(format_args!("{name}: large, as its description says"));
        return Ok(None);
    }
    if !time::has_servers() {
        say(format_args!("{name}: {}", crate::arch::WHY_NO_SERVER));
        return Ok(None);
    }
    let bytes = window.bytes(&Layout::CURRENT.windows);
    say(format_args!("{name}: {}, window {} MiB", crate::arch::SERVER, bytes >> 20));
    resources.window(bytes as Word).map(Some)
}

/// Starts a component that does not live: space, image, capabilities, start block.
pub fn start(
    resources: &mut Resources,
    system: &System,
    all: &mut [Running<'_>],
    index: usize,
) -> Result<()> {
    let component = system.components.get(index).ok_or(Error::BadArgument)?;
    let running = all.get_mut(index).ok_or(Error::BadArgument)?;
    let place = crate::arch::place_of(component.window);
    let space =
        running.quota.create_space_at(component.slots as Word, running.space_slot, place)?;
    running.space = Some(space);
    if let Some(window) = running.window {
        space.serve(window, system.has_one_server())?;
    }
    running.thread.reset(space, None)?;
    // The component may have named another one in its last life.
    running.thread.set_handler(Some(running.handler))?;
    running.thread.set_priority(component.priority.into(), component.max_priority.into())?;
    let running = all.get(index).ok_or(Error::BadArgument)?;
    let memory = running.memory.as_ref().ok_or(Error::BadState)?;
    let mut filler = Filler::new(resources, space, memory);
    filler.load(component, resources)?;
    give(system, all, index, space)?;
    let (grants, pci) = grant(system, resources.watchdog, space, all, index)?;
    let block = Start {
        name: component.name.clone(),
        arguments: component.arguments.clone(),
        seed: seed(system, component, running.restarts),
        restarts: running.restarts,
        free_slot: slot::GRANTS + component.grants.len() as u32,
        slots: component.slots,
        grants,
        pci,
        server: running.window.is_some(),
        places: component.places(),
    };
    filler.block(component, &block)?;
    let running = all.get_mut(index).ok_or(Error::BadArgument)?;
    running.home = None;
    if let Some((small, home)) = component
        .small
        .and_then(|small| Some((small, resources.homes.get(usize::from(small.home))?)))
    {
        home.take_in(small.address as Word, space, small.bytes as Word)?;
        running.home = Some((*home, small.address as Word));
    }
    running.started = time::now();
    watchdog::begins(watchdog::bit(system, index));
    let places = component.places();
    let [entry, stack, block] = [component.entry, places.stack_end, places.start_block]
        .map(|at| load::place(component, at));
    running.thread.start(entry, stack, block)
}

/// Each life of a component has a seed of its own, which says nothing about another one.
fn seed(system: &System, component: &Component, restarts: u32) -> Option<[u8; 32]> {
    let hash = Sha256::new().chain_update(system.seed?).chain_update(restarts.to_le_bytes());
    Some(hash.chain_update(&component.name).finalize().into())
}

/// The capabilities that every component has.
fn give(system: &System, all: &[Running<'_>], index: usize, space: Space) -> Result<()> {
    let running = all.get(index).ok_or(Error::BadArgument)?;
    let may = if system.components.get(index).is_some_and(|component| component.results) {
        MAY_WRITE_RESULTS
    } else {
        0
    };
    for (object, slot, rights) in [
        (running.quota.0, slot::QUOTA, Rights::ALL),
        (space.0, slot::SPACE, Rights::ALL),
        (running.thread.0, slot::THREAD, Rights::ALL),
        (running.handler.0, slot::ROOT, Rights::CALL),
    ] {
        copy(object, Some(space), slot as Word, rights, 0)?;
    }
    match console(system).filter(|console| *console != index).and_then(|console| all.get(console)) {
        Some(console) => copy(
            console.thread.0,
            Some(space),
            slot::CONSOLE as Word,
            Rights::CALL,
            (may | (index as u32 + 1)) as Word,
        ),
        None => Ok(()),
    }
}

/// Index of the console.
pub fn console(system: &System) -> Option<usize> {
    system.components.iter().position(|component| component.name == CONSOLE)
}

/// Hands out what the description grants.
fn grant(
    system: &System,
    watchdog: Option<Thread>,
    space: Space,
    all: &[Running<'_>],
    index: usize,
) -> Result<(Vec<Given>, Vec<Device>)> {
    let component = system.components.get(index).ok_or(Error::BadArgument)?;
    let all_granted = &all.get(index).ok_or(Error::BadArgument)?.granted;
    let (mut given, mut devices) = (Vec::new(), Vec::new());
    for (slot, granted) in (slot::GRANTS..).zip(all_granted) {
        let to = slot as Word;
        let (object, physical) = match &granted.object {
            Object::Peer | Object::Pci(None) => (0, 0),
            Object::Lent(object) => (*object, 0),
            Object::Shared(object, physical, _) => (*object, *physical),
            Object::Own(piece) => (piece.memory.0, 0),
            Object::Behind(memory) => (memory.0, 0),
            Object::Pci(Some(assigned)) => {
                assigned.map(space, component.base() as Word)?;
                devices.push(assigned.device().clone());
                (assigned.irq().unwrap_or_default(), 0)
            }
        };
        let peer = |component: u16| {
            all.get(usize::from(component))
                .map(|running| running.thread.0)
                .ok_or(Error::BadArgument)
        };
        let mut rights = Rights::ALL;
        let place = |address| load::place(component, address);
        let (mut address, mut bytes) = (0, 0);
        match *granted.resource {
            Resource::Call { component, badge } => {
                copy(peer(component)?, Some(space), to, Rights::CALL, badge as Word)?
            }
            Resource::Notify { component, bits } => {
                copy(peer(component)?, Some(space), to, Rights::NOTIFY, bits as Word)?
            }
            Resource::Control { component } => {
                copy(peer(component)?, Some(space), to, Rights::CONTROL, 0)?
            }
            Resource::Heartbeat { ms } => {
                let watchdog = watchdog.ok_or(Error::BadState)?;
                let bit = watchdog::bit(system, index) as Word;
                copy(watchdog.0, Some(space), to, Rights::NOTIFY, bit)?;
                bytes = ms;
            }
            Resource::Irq { .. } => {}
            Resource::Addresses { bytes: size } => {
                let end = Layout::CURRENT.windows.users_end as Word;
                (address, bytes) = (end - size as Word, size);
            }
            Resource::Pci { address: at, .. } => address = place(at),
            Resource::Memory { bytes: size, behind_image } => {
                address = if behind_image { place(component.image_end()) } else { 0 };
                bytes = size;
            }
            Resource::Ports { base, count } => {
                map::map(space, 0, Memory(object), 0, count as Word, Rights::WRITE)?;
                (address, bytes) = (base as Word, count);
            }
            Resource::Device { bytes: size, address: at, .. } => {
                map::map(space, place(at), Memory(object), 0, size as Word, RW)?;
                (address, bytes) = (place(at), size);
            }
            Resource::Shared { address: at, writable, .. } => {
                rights = if writable { RW } else { Rights::READ };
                let (to, [_, _, size]) = (place(at), identify(object)?);
                match &granted.object {
                    Object::Shared(.., Some(segment)) if writable => {
                        space.attach(to, *segment, RW)?
                    }
                    _ => map::map(space, to, Memory(object), 0, size, rights)?,
                }
                bytes = size as u32;
                address = to;
            }
            Resource::File { offset, bytes: size, address: at } => {
                map::map(
                    space,
                    place(at),
                    Memory(root_slot::IMAGE as Word),
                    offset as Word,
                    (size as Word).next_multiple_of(abi::PAGE_SIZE),
                    Rights::READ,
                )?;
                (address, bytes) = (place(at), size);
            }
        }
        if object != 0 {
            copy(object, Some(space), to, rights, 0)?;
        }
        let nothing =
            object == 0 && matches!(granted.resource, Resource::File { .. } | Resource::Pci { .. });
        let slot = if nothing { 0 } else { slot };
        let (address, physical) = (u64::from(address), u64::from(physical));
        given.push(Given { name: granted.name.into(), slot, address, bytes, physical });
    }
    Ok((given, devices))
}

/// Takes a dead component's space away, with all that was in it. If it is to be
/// started `again`, those who wait for it learn that (`PeerRestarted`); those who call
/// it from now on wait, and learn it when it starts. Returns the bytes of kernel
/// memory, the threads and the slots of relocation that are still charged to it: none, or the
/// kernel has lost some.
pub fn take_down(
    resources: &mut Resources,
    running: &mut Running<'_>,
    again: bool,
) -> Result<[Word; 3]> {
    let Some(space) = running.space.take() else { return Ok([0; 3]) };
    if again {
        running.thread.reset(resources.limbo, None)?;
    }
    delete(space.0)?;
    for granted in &running.granted {
        if let Object::Own(Piece { memory, .. }) | Object::Behind(memory) = &granted.object {
            revoke(memory.0)?;
        }
    }
    let ((used, _), (threads, _), (slots, _)) =
        (running.quota.info()?, running.quota.threads()?, running.quota.relocation_slots()?);
    if !again {
        for granted in running.granted.drain(..) {
            match granted.object {
                Object::Own(piece) => resources.give_back(piece)?,
                Object::Behind(memory) => resources.discard(memory.0)?,
                _ => {}
            }
        }
        if let Some(memory) = running.memory.take() {
            resources.give_back_all(memory)?;
        }
        if let Some(window) = running.window.take() {
            resources.discard(window.0)?;
        }
    }
    Ok([used, threads, slots])
}
