// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server's side: checks the client's messages, gives them to the folders' devices, and answers
//! in the order in which these are done. No message is carried out twice, even if the server dies at
//! any moment.

use crate::layout::{Layout, Own, Request, write_answer};
use crate::message::{Checked, ERROR_BYTES, Errno, WRITE_HEAD, check, kind};
use crate::queue::{AVAILABLE, DESCRIPTORS, Piece, Queue, USED};
use crate::slots::{Slot, Stage};
use alloc::vec::Vec;
use frames::{Broken, Consumer, Producer, Shared};
use image::protocol::folder::{HEAD, MESSAGE, MOST_FOLDERS, MOST_SLOTS};

const FOLDERS: usize = MOST_FOLDERS as usize;
const SLOTS: usize = MOST_SLOTS as usize;

/// That a server wrote what follows, of this form.
const MARK: u32 = 0x4639_5001;
/// Where a message has its type and its tag.
const TYPE_AT: usize = 4;
const TAG_AT: usize = 5;
/// The tag of an answer to what has none.
const NO_TAG: u16 = u16::MAX;

/// Where memory is for devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// The server's own.
    pub own: u64,
    /// That which the client sees, too.
    pub shared: u64,
}

/// The rings of a client that has attached.
struct Attached {
    requests: Consumer,
    answers: Producer,
    /// Answers that are written and not published.
    filled: u32,
}

/// Whether a client begins again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// It has.
    Now,
    /// Not before the devices are done with what they do for the client that was there before: they
    /// still read and write the slots.
    Later,
}

/// What is to be done before the server sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// The client is to be notified of answers.
    pub notify: bool,
    /// It has broken its rings, and has to attach again.
    pub broken: bool,
    /// There is another request already.
    pub again: bool,
}

/// The server, with its client and what the devices have.
pub struct Server<M> {
    shared: M,
    own: M,
    places: Places,
    layout: Layout,
    folders: [Option<Queue>; FOLDERS],
    slots: [Slot; SLOTS],
    attached: Option<Attached>,
    /// The client broke its rings and was not told.
    is_broken: bool,
    /// A message as it is checked.
    message: Vec<u8>,
}

impl<M: Shared> Server<M> {
    fn of(shared: M, own: M, places: Places) -> Option<Self> {
        let layout = Layout::of(shared.bytes())?;
        (own.bytes() >= Own::BYTES).then_some(Self {
            shared,
            own,
            places,
            layout,
            folders: [const { None }; FOLDERS],
            slots: [Slot::FREE; SLOTS],
            attached: None,
            is_broken: false,
            message: Vec::new(),
        })
    }

    /// One whose devices, of these folders, a bit each, were reset, and do not know their queues
    /// yet ([`Server::queue`]). `None` if there is too little memory.
    pub fn begin(shared: M, own: M, places: Places, there: u32) -> Option<Self> {
        let mut server = Self::of(shared, own, places)?;
        // Nothing that is half written is taken for a server's.
        server.own.write(Own::MARK, 0);
        server.own.fence();
        for folder in (0..MOST_FOLDERS).filter(|folder| there >> folder & 1 != 0) {
            server.folders[folder as usize] = Some(Queue::begin(folder, &server.own));
        }
        for (slot, number) in server.slots.iter().zip(0..) {
            slot.write(&server.own, number);
        }
        server.own.write(Own::THERE, there);
        server.own.fence();
        server.own.write(Own::MARK, MARK);
        Some(server)
    }

    /// One that goes on where another ended. Its devices are as they were; each is to be told that
    /// there may be something. `None` if what was left cannot be: begin.
    pub fn resume(shared: M, own: M, places: Places, there: u32) -> Option<Self> {
        let mut server = Self::of(shared, own, places)?;
        if server.own.read(Own::MARK) != MARK || server.own.read(Own::THERE) != there {
            return None;
        }
        for (slot, number) in server.slots.iter_mut().zip(0..) {
            *slot = Slot::read(&server.own, number)?;
        }
        for folder in (0..MOST_FOLDERS).filter(|folder| there >> folder & 1 != 0) {
            let (queue, not_given) = Queue::resume(folder, &server.own)?;
            if let Some(number) = not_given {
                *server.slots.get_mut(number as usize)? = Slot::FREE;
                Slot::FREE.write(&server.own, number);
            }
            queue.forget_intent(&server.own);
            server.folders[folder as usize] = Some(queue);
        }
        let is_there = |slot: &Slot| {
            slot.stage != Stage::Given
                || server.folders.get(slot.folder as usize).is_some_and(Option::is_some)
        };
        if !server.slots.iter().all(is_there) {
            return None;
        }
        // What may be counted twice is so before there is anything new.
        (0..MOST_FOLDERS).try_for_each(|folder| server.finish(folder)).ok().map(|()| server)
    }

    /// Where the device of a folder finds its queue: descriptors, what is available, what is used.
    #[must_use]
    pub const fn queue(&self, folder: u32) -> [u64; 3] {
        let at = self.places.own + Own::queue(folder) as u64;
        [at + DESCRIPTORS as u64, at + AVAILABLE as u64, at + USED as u64]
    }

    /// The client wants to begin again: as the one that it was, which repeats what was not
    /// answered, or as a new one.
    pub fn attach(&mut self, again: bool) -> Attach {
        self.attached = None;
        self.is_broken = false;
        self.slots.iter_mut().for_each(|slot| slot.is_awaited = false);
        if !again {
            if self.slots.iter().any(|slot| slot.stage == Stage::Given) {
                return Attach::Later;
            }
            self.slots = [Slot::FREE; SLOTS];
            (0..MOST_SLOTS).for_each(|number| Slot::FREE.write(&self.own, number));
            self.folders.iter().flatten().for_each(|queue| queue.set_begun(&self.own, false));
        }
        self.layout.clear(&self.shared);
        let (requests, answers) =
            (Consumer::new(self.layout.requests()), Producer::new(self.layout.answers()));
        self.attached = Some(Attached { requests, answers, filled: 0 });
        Attach::Now
    }

    /// Takes requests until there is none, or one was given to a device: that of this folder is to
    /// be told.
    pub fn take(&mut self) -> Option<u32> {
        match self.take_some() {
            Ok(folder) => folder,
            Err(Broken) => {
                self.breaks();
                None
            }
        }
    }

    fn take_some(&mut self) -> Result<Option<u32>, Broken> {
        let Some(attached) = &self.attached else { return Ok(None) };
        // Not more than there are slots: what else comes meanwhile is looked at in the next turn.
        for _ in 0..attached.requests.available(&self.shared)? {
            let Some(attached) = &mut self.attached else { return Ok(None) };
            let awaited = self.slots.iter().filter(|slot| slot.is_awaited).count() as u32;
            // A client that submits each slot once, and takes each answer before it submits the
            // slot again, has this room.
            if attached.answers.room(&self.shared)? <= attached.filled + awaited {
                return Err(Broken);
            }
            let (number, request) = Request::read(&self.shared, attached.requests.slot(0));
            // The client does not wait for room: it has none under way for this slot.
            let _ = attached.requests.release(&self.shared, 1);
            let slot = self.slots.get(number as usize).filter(|_| number < self.layout.slots());
            let slot = *slot.filter(|slot| !slot.is_awaited).ok_or(Broken)?;
            let is_repeated = slot.serial == request.serial;
            match slot.stage {
                Stage::Given if is_repeated => self.slots[number as usize].is_awaited = true,
                // The device has the slot.
                Stage::Given => return Err(Broken),
                Stage::Done(bytes) if is_repeated => self.answer(number, bytes),
                Stage::Done(_) | Stage::Free => match self.admit(number, request) {
                    Ok(checked) => {
                        self.give(number, request, checked);
                        return Ok(Some(request.folder));
                    }
                    Err(error) => self.refuse(number, error),
                },
            }
        }
        Ok(None)
    }

    /// Copies a slot's message, once, and checks the copy.
    fn admit(&mut self, number: u32, request: Request) -> Result<Checked, Errno> {
        self.message.clear();
        self.copy(number, request.bytes.min(WRITE_HEAD));
        let is_write = self.message.get(TYPE_AT) == Some(&kind::WRITE);
        let head = request.bytes.min(if is_write { WRITE_HEAD } else { HEAD });
        self.copy(number, head);
        self.message.truncate(head as usize);
        let checked = check(&mut self.message, request.bytes)?;
        let queue = self.folders.get(request.folder as usize).and_then(Option::as_ref);
        let queue = queue.ok_or(Errno::NODEV)?;
        let mut others = self
            .slots
            .iter()
            .filter(|slot| slot.stage == Stage::Given && slot.folder == request.folder);
        let begins = checked.kind == kind::VERSION;
        if others.clone().any(|other| begins || other.kind == kind::VERSION) {
            return Err(Errno::BUSY);
        }
        if others.any(|other| other.tag == checked.tag) {
            return Err(Errno::INVALID);
        }
        if begins || queue.has_begun(&self.own) { Ok(checked) } else { Err(Errno::STALE) }
    }

    /// Copies the words of a slot's message that have so many bytes, after those that were copied.
    fn copy(&mut self, number: u32, bytes: u32) {
        let from = self.layout.message(number);
        for at in (self.message.len() as u32..bytes).step_by(4) {
            self.message.extend(M::little(self.shared.read(from + at)).to_le_bytes());
        }
    }

    /// Gives a device a message that was checked.
    fn give(&mut self, number: u32, request: Request, checked: Checked) {
        let queue = self.folders.get_mut(request.folder as usize).and_then(Option::as_mut);
        // `admit` has found it.
        let Some(queue) = queue else { return };
        let own = &self.own;
        let head = Own::head(number);
        for (chunk, at) in self.message.chunks(4).zip((head..).step_by(4)) {
            let mut word = [0; 4];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            own.write(at, M::little(u32::from_le_bytes(word)));
        }
        queue.intend(own, number);
        let slot = Slot::given(request.folder, request.serial, checked);
        slot.write(own, number);
        self.slots[number as usize] = slot;
        if checked.kind == kind::VERSION {
            queue.set_begun(own, true);
        }
        let bytes = self.message.len() as u32;
        let shared = self.places.shared;
        let parts = [
            Piece { address: self.places.own + u64::from(head), bytes },
            Piece {
                address: shared + u64::from(self.layout.message(number) + bytes),
                bytes: checked.data,
            },
            Piece { address: shared + u64::from(self.layout.reply(number)), bytes: MESSAGE },
        ];
        queue.make_available(own, number, parts);
    }

    /// Answers with an error, in place of a device.
    fn refuse(&mut self, number: u32, error: Errno) {
        let tag = self.message.get(TAG_AT..).and_then(|rest| rest.first_chunk::<2>());
        let tag = tag.map_or(NO_TAG, |tag| u16::from_le_bytes(*tag));
        self.write_error(number, tag, error);
        self.answer(number, ERROR_BYTES);
    }

    fn write_error(&self, number: u32, tag: u16, Errno(error): Errno) {
        let type_and_tag = u32::from(kind::ERROR) | u32::from(tag) << 8;
        let words = [ERROR_BYTES, type_and_tag | error << 24, error >> 8];
        self.shared.write_words(self.layout.reply(number), words.map(M::little));
    }

    /// Writes an answer, for which there is room.
    fn answer(&mut self, number: u32, bytes: u32) {
        if let Some(attached) = &mut self.attached {
            let at = attached.answers.slot(attached.filled);
            write_answer(&self.shared, at, (number, bytes));
            attached.filled += 1;
        }
    }

    /// Notes what the device of a folder is done with.
    ///
    /// # Errors
    /// [`Broken`] if the device returns what it was not given: it is not to be trusted any more
    /// ([`Server::lose`]).
    pub fn finish(&mut self, folder: u32) -> Result<(), Broken> {
        loop {
            let Some(queue) = self.folders.get_mut(folder as usize).and_then(Option::as_mut) else {
                return Ok(());
            };
            let Some((number, bytes)) = queue.used(&self.own)? else {
                queue.is_doubtful = false;
                return Ok(());
            };
            let slot = self.slots.get_mut(number as usize).filter(|slot| slot.folder == folder);
            let slot = slot.ok_or(Broken)?;
            let is_noted = matches!(slot.stage, Stage::Done(_)) && queue.is_doubtful;
            if slot.stage != Stage::Given && !is_noted {
                return Err(Broken);
            }
            let bytes = bytes.min(MESSAGE);
            slot.stage = Stage::Done(bytes);
            slot.write(&self.own, number);
            queue.take(&self.own);
            if core::mem::take(&mut slot.is_awaited) {
                self.answer(number, bytes);
            }
        }
    }

    /// The device of a folder was reset, does not know its queue yet, and has forgotten its session:
    /// what it had fails, and what the client asks for until it begins another one.
    pub fn lose(&mut self, folder: u32) {
        if self.folders.get(folder as usize).is_none_or(Option::is_none) {
            return;
        }
        for number in 0..MOST_SLOTS {
            let slot = &mut self.slots[number as usize];
            if slot.stage != Stage::Given || slot.folder != folder {
                continue;
            }
            let (tag, is_awaited) = (slot.tag, core::mem::take(&mut slot.is_awaited));
            slot.stage = Stage::Done(ERROR_BYTES);
            slot.write(&self.own, number);
            self.write_error(number, tag, Errno::IO);
            if is_awaited {
                self.answer(number, ERROR_BYTES);
            }
        }
        self.folders[folder as usize] = Some(Queue::begin(folder, &self.own));
    }

    /// Publishes answers, and asks the client to notify of requests.
    pub fn rest(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(attached) = &mut self.attached {
            let filled = core::mem::take(&mut attached.filled);
            outcome.notify = filled > 0 && attached.answers.publish(&self.shared, filled);
            match attached.requests.wait(&self.shared) {
                Ok(again) => outcome.again = again,
                Err(Broken) => self.breaks(),
            }
        }
        outcome.broken = core::mem::take(&mut self.is_broken);
        outcome
    }

    /// The rings are not used any more.
    fn breaks(&mut self) {
        self.attached = None;
        self.slots.iter_mut().for_each(|slot| slot.is_awaited = false);
        self.is_broken = true;
    }
}
