// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making components.

use crate::IMAGE;
use crate::resources::Resources;
use abi::boot::slot as root_slot;
use image::{Component, Given, Resource, Start, System, slot};
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::cap::copy;
use macadamia::{Error, Memory, Quota, Rights, Space, Thread, map};

/// Where a component's start block, heap and stack are.
const START_BLOCK: u32 = 0x3f00_0000;
const HEAP: u32 = 0x4000_0000;
const STACK_TOP: u32 = 0xb000_0000;
/// Where the root server maps what it fills in.
const FILL: u32 = 0x6000_0000;
const PAGE: u32 = abi::PAGE_SIZE;

const RW: Rights = Rights(Rights::READ.0 | Rights::WRITE.0);
const RWX: Rights = Rights::RWX;

/// A component that was made.
pub struct Running {
    /// Its first thread: survives restarts.
    pub thread: Thread,
    /// Its kernel memory.
    pub quota: Quota,
    /// Its space: made anew at each start.
    space: Option<Space>,
    space_slot: u32,
    /// Its writable parts, heap, stack and start block, in that order.
    memory: Memory,
    /// Per grant: a Memory or Irq that is its alone.
    objects: Vec<u32>,
    /// How often it was started again.
    pub restarts: u32,
    /// Whether it was started and has not ended.
    pub alive: bool,
}

fn pages(bytes: u32) -> u32 {
    bytes.next_multiple_of(PAGE)
}

/// Makes all components, then starts them.
pub fn create_all(resources: &mut Resources, system: &System) -> Result<Vec<Running>, (String, Error)> {
    let named = |component: &Component| component.name.clone();
    let shared: Result<Vec<Memory>, _> =
        system.shared.iter().map(|s| resources.ram(s.bytes).map_err(|error| (s.name.clone(), error))).collect();
    let shared = shared?;
    let mut all = Vec::new();
    for component in &system.components {
        all.push(prepare(resources, component, &shared).map_err(|error| (named(component), error))?);
    }
    for (index, component) in system.components.iter().enumerate() {
        start(resources, system, &mut all, index).map_err(|error| (named(component), error))?;
    }
    Ok(all)
}

/// The parts that outlive a restart: thread, Quota, memory, objects granted.
fn prepare(resources: &mut Resources, component: &Component, shared: &[Memory]) -> Result<Running, Error> {
    let quota = resources.quota.create_quota(component.quota, resources.slot()?)?;
    let loads: u32 = component.loads.iter().map(|load| pages(load.memory_bytes)).sum();
    let memory = resources.ram(loads + component.heap + component.stack + PAGE * 4)?;
    let space_slot = resources.slot()?;
    let space = quota.create_space(component.slots, space_slot)?;
    let (thread, _) = resources.quota.create_thread(space, resources.slot()?, None)?;
    thread.set_priority(u32::from(component.priority), u32::from(component.max_priority))?;
    let mut objects = Vec::new();
    for grant in &component.grants {
        objects.push(match grant.what {
            Resource::Ports { base, count } => resources.ports(base, count)?.0,
            Resource::Device { base, bytes, .. } => resources.device(base, bytes)?.0,
            Resource::Memory { bytes } => resources.ram(bytes)?.0,
            Resource::Shared { region, .. } => shared.get(usize::from(region)).ok_or(Error::BadArgument)?.0,
            Resource::Irq { line } => root_slot::IRQ + line,
            Resource::Call { .. } | Resource::Notify { .. } => 0,
        });
    }
    Ok(Running { thread, quota, space: Some(space), space_slot, memory, objects, restarts: 0, alive: false })
}

/// Takes a dead component's space away, with all that was in it.
pub fn take_down(running: &mut Running) -> Result<(), Error> {
    running.alive = false;
    match running.space.take() {
        Some(space) => macadamia::cap::delete(space.0),
        None => Ok(()),
    }
}

/// Starts a component whose space is fresh, or makes it a new one first.
pub fn start(resources: &mut Resources, system: &System, all: &mut [Running], index: usize) -> Result<(), Error> {
    let component = system.components.get(index).ok_or(Error::BadArgument)?;
    let running = all.get_mut(index).ok_or(Error::BadArgument)?;
    let space = match running.space {
        Some(space) => space,
        None => {
            let space = running.quota.create_space(component.slots, running.space_slot)?;
            running.thread.reset(space, None)?;
            running.space = Some(space);
            space
        }
    };
    let index = index as u32;
    let handler = Thread(resources.slot()?);
    copy(root_slot::THREAD, None, handler.0, Rights::CALL, index + 1)?;
    running.thread.set_handler(Some(handler))?;
    let (heap_at, stack_at) = load(component, running.memory, space)?;
    let running = all.get(index as usize).ok_or(Error::BadArgument)?;
    copy(running.quota.0, Some(space), slot::QUOTA, Rights::ALL, 0)?;
    copy(running.space_slot, Some(space), slot::SPACE, Rights::ALL, 0)?;
    copy(running.thread.0, Some(space), slot::THREAD, Rights::ALL, 0)?;
    copy(handler.0, Some(space), slot::ROOT, Rights::CALL, 0)?;
    if let Some(console) = system.components.iter().position(|c| c.name == "console").filter(|c| *c as u32 != index) {
        let console = all.get(console).ok_or(Error::BadArgument)?;
        copy(console.thread.0, Some(space), slot::CONSOLE, Rights::CALL, index + 1)?;
    }
    let grants = grant(component, space, all, index as usize)?;
    let block = Start {
        name: component.name.clone(),
        arguments: component.arguments.clone(),
        restarts: running.restarts,
        free_slot: slot::GRANTS + component.grants.len() as u32,
        slots: component.slots,
        grants,
    };
    write_block(resources.space, component, running.memory, space, (heap_at, stack_at), &block)?;
    running.thread.start(component.entry, STACK_TOP, START_BLOCK)?;
    if let Some(running) = all.get_mut(index as usize) {
        running.alive = true;
    }
    Ok(())
}

/// Copies the parts of the image, clears heap and stack, maps all of it. Returns the offsets of heap and stack.
fn load(component: &Component, memory: Memory, space: Space) -> Result<(u32, u32), Error> {
    let own = Space(root_slot::SPACE);
    let mut offset = 0;
    for part in &component.loads {
        let bytes = pages(part.memory_bytes);
        map::map(own, FILL, memory, offset, bytes, RW)?;
        macadamia::start::fill(FILL, bytes, macadamia::start::bytes(IMAGE + part.offset, part.file_bytes.min(part.memory_bytes)));
        map::unmap(own, FILL, bytes)?;
        map::map(space, part.address, memory, offset, bytes, if part.writable { RWX } else { Rights(Rights::READ.0 | Rights::EXECUTE.0) })?;
        offset += bytes;
    }
    let (heap, stack) = (offset, offset + component.heap);
    for (at, bytes, address) in [(heap, component.heap, HEAP), (stack, component.stack, STACK_TOP - component.stack)] {
        if bytes != 0 {
            map::map(own, FILL, memory, at, bytes, RW)?;
            macadamia::start::fill(FILL, bytes, &[]);
            map::unmap(own, FILL, bytes)?;
            map::map(space, address, memory, at, bytes, RW)?;
        }
    }
    Ok((heap, stack))
}

/// Hands out what the description grants.
fn grant(component: &Component, space: Space, all: &[Running], index: usize) -> Result<Vec<Given>, Error> {
    let objects = &all.get(index).ok_or(Error::BadArgument)?.objects;
    let mut given = Vec::new();
    for (i, (grant, object)) in component.grants.iter().zip(objects).enumerate() {
        let to = slot::GRANTS + i as u32;
        let thread = |component: u16| all.get(usize::from(component)).map(|r| r.thread.0).ok_or(Error::BadArgument);
        let (mut address, mut bytes) = (0, 0);
        match grant.what {
            Resource::Call { component, badge } => copy(thread(component)?, Some(space), to, Rights::CALL, badge)?,
            Resource::Notify { component, bits } => copy(thread(component)?, Some(space), to, Rights::NOTIFY, bits)?,
            Resource::Irq { .. } | Resource::Memory { .. } => copy(*object, Some(space), to, Rights::ALL, 0)?,
            Resource::Ports { base, count } => {
                copy(*object, Some(space), to, Rights::ALL, 0)?;
                map::map(space, 0, Memory(*object), 0, count, Rights::WRITE)?;
                (address, bytes) = (base, count);
            }
            Resource::Device { bytes: size, address: at, .. } => {
                copy(*object, Some(space), to, Rights::ALL, 0)?;
                map::map(space, at, Memory(*object), 0, size, RW)?;
                (address, bytes) = (at, size);
            }
            Resource::Shared { address: at, writable, .. } => {
                let rights = if writable { RW } else { Rights::READ };
                let [_, _, size] = macadamia::cap::identify(*object)?;
                copy(*object, Some(space), to, rights, 0)?;
                map::map(space, at, Memory(*object), 0, size, rights)?;
                (address, bytes) = (at, size);
            }
        }
        given.push(Given { name: grant.name.clone(), slot: to, address, bytes });
    }
    Ok(given)
}

/// Writes the start block, behind the stack in the component's memory, and maps it read-only.
fn write_block(own: Space, component: &Component, memory: Memory, space: Space, (_, stack): (u32, u32), block: &Start) -> Result<(), Error> {
    let encoded = postcard::to_allocvec(block).map_err(|_| Error::BadArgument)?;
    let words = [HEAP, component.heap, encoded.len() as u32];
    let all: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).chain(encoded).collect();
    let (at, bytes) = (stack + component.stack, PAGE * 4);
    if all.len() > bytes as usize {
        return Err(Error::BadArgument);
    }
    map::map(own, FILL, memory, at, bytes, RW)?;
    macadamia::start::fill(FILL, bytes, &all);
    map::unmap(own, FILL, bytes)?;
    map::map(space, START_BLOCK, memory, at, bytes, Rights::READ)
}
