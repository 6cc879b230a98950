// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to servers: word 0 of a call. Here, because components in other languages are
//! built with them, too.

/// To the root server. All but [`root::EXIT`] and [`root::WORDS`] is for components that may watch;
/// others are answered with `u32::MAX` and `NoRight`.
pub mod root {
    /// This component has ended; word 1 is its code.
    pub const EXIT: u32 = 1;
    /// With a name as text: how is the component? The reply: 1 if it lives, restarts,
    /// bytes of its Quota in use; or `u32::MAX` and an error.
    pub const STATUS: u32 = 2;
    /// Word 1 is a component's number, from 0 on. The reply: 1 if it lives, the bytes of its name,
    /// restarts; the name as text; then bytes of its Quota in use, and of its Quota, and the
    /// messages that it says it has sent; or `u32::MAX` and an error if there are no more.
    pub const COMPONENT: u32 = 3;
    /// What does the root server itself use? The reply: 0, its capability slots in use, the free
    /// bytes of its heap.
    pub const USAGE: u32 = 4;
    /// What has the root server said? For the console. Word 1 is how many bytes of that the caller
    /// has. The reply: how many it has then, how many come with it, and these as text.
    pub const WORDS: u32 = 5;
}

/// To the console. Text follows as the user library lays it out. A request that fails is answered
/// with `u32::MAX` and an error.
pub mod console {
    /// In a badge, beside the component's index plus one.
    pub const MAY_WRITE_RESULTS: u32 = 1 << 19;
    /// Print on the console.
    pub const PRINT: u32 = 1;
    /// Write to the machine-readable line; for who has [`MAY_WRITE_RESULTS`] in its badge.
    pub const RESULT: u32 = 2;
    /// Wait for input; the reply's word 0 is a byte, or `u32::MAX` and an error: `NoRight` for who
    /// may not.
    pub const READ: u32 = 3;
    /// Threads of a component that may wait for input. If there is one more, the wait of the
    /// oldest fails with `BadState`.
    pub const READERS: u32 = 8;
    /// Put bytes on the terminal as they are, as its owner does; no name, no lines.
    pub const RAW: u32 = 4;
    /// As [`READ`]; word 1 is the size that the caller takes the terminal to have: rows in the
    /// upper half, columns in the lower one, 0 if nobody knows it. As soon as it has another one,
    /// the reply is [`RESIZED`] and, in word 1, that.
    pub const READ_SIZED: u32 = 5;
    /// In place of a byte.
    pub const RESIZED: u32 = 256;

    /// What a component has of the terminal: after `NAME=` in the console's arguments, in the
    /// order of badges.
    pub mod terminal {
        /// It prints lines.
        pub const PRINT: &str = "print";
        /// It may read, too.
        pub const READ: &str = "read";
        /// It may also write to the terminal as it is.
        pub const PAINT: &str = "paint";
    }

    /// Who shows the terminal on a screen: a tape of the bytes that it has been sent, and one of
    /// the bytes that were typed there.
    pub mod shown {
        /// The console notifies who shows it with this: there are more bytes.
        pub const BIT_TEXT: u32 = 0;
        /// It notifies the console with this: there are more bytes.
        pub const BIT_KEYS: u32 = 1;
        /// The root server notifies such a console with this: it has said something
        /// ([`WORDS`](super::super::root::WORDS)).
        pub const BIT_WORDS: u32 = 2;
    }
}

/// To the clock.
pub mod clock {
    /// The time of day. The reply: seconds since 1970-01-01 00:00 UTC (low, high word),
    /// and nanoseconds.
    pub const NOW: u32 = 1;
}

/// Between the disk server and its clients (docs/disk.md). Requests, answers and data go through
/// memory that the server shares with each client.
pub mod disk {
    /// Request: this client begins again at slot 0 of both rings. Reply: 0, or an error; the
    /// sectors of its range: low word, high word.
    pub const ATTACH: u32 = 1;

    /// Operation: read sectors into the slot's data.
    pub const READ: u32 = 1;
    /// Operation: write sectors from the slot's data.
    pub const WRITE: u32 = 2;
    /// Operation: what was written before is on the disk when the answer comes.
    pub const FLUSH: u32 = 3;

    /// Bytes of a sector.
    pub const SECTOR: u32 = 512;

    /// Error: the request makes no sense, or reaches beyond the range or the slot.
    pub const BAD_REQUEST: u32 = 1;
    /// Error: the disk says that it failed.
    pub const DISK_FAILED: u32 = 2;
    /// Error: the disk says nothing.
    pub const TIMED_OUT: u32 = 3;
    /// Error: there is no disk, or it has no such range.
    pub const NO_DISK: u32 = 4;

    /// Clients notify the server with this: there are requests.
    pub const BIT_REQUESTS: u32 = 2;
    /// The server notifies clients with this: there are answers.
    pub const BIT_ANSWERS: u32 = 16;
    /// The server notifies clients with this: attach again.
    pub const BIT_ATTACH: u32 = 17;

    /// Offset of the words of the ring of answers, which are as those of the network's rings
    /// (`net`).
    pub const ANSWERS: u32 = 0;
    /// Offset of the words of the ring of requests.
    pub const REQUESTS: u32 = 256;
    /// Offset of the first answer.
    pub const FIRST_ANSWER: u32 = 512;
    /// Offset of the first request.
    pub const FIRST_REQUEST: u32 = 1024;
    /// Offset of the first slot's data.
    pub const DATA: u32 = 4096;

    /// Bytes of a slot's data.
    pub const SLOT: u32 = 65536;
    /// Most slots; their number is a power of two, and the length of both rings.
    pub const MOST_SLOTS: u32 = 64;

    /// Bytes of an answer: the slot, then 0 or an error.
    pub const ANSWER: u32 = 8;
    /// Offset in an answer: 0, or an error.
    pub const ANSWER_STATUS: u32 = 4;

    /// Bytes of a request: the slot, then what follows.
    pub const REQUEST: u32 = 32;
    /// Offset in a request: the operation.
    pub const REQUEST_OPERATION: u32 = 4;
    /// Offset in a request: how many sectors.
    pub const REQUEST_COUNT: u32 = 8;
    /// Offset in a request: the first sector, counted from the range's start; low word, high word.
    pub const REQUEST_FIRST: u32 = 12;
}

/// Between the folder server and its client (docs/folders.md). Messages of 9P2000.L go through
/// memory that the two share.
pub mod folder {
    /// Request: this client begins again at slot 0 of both rings. Word 1: 0, or [`AGAIN`]. Reply:
    /// 0, or an error; the folders that there are, a bit each.
    pub const ATTACH: u32 = 1;
    /// In word 1 of [`ATTACH`]: the client repeats what was not answered. Otherwise it is a new
    /// one: of the one before nothing is left.
    pub const AGAIN: u32 = 1;

    /// Error: no such request, or not of this client.
    pub const BAD_REQUEST: u32 = 1;

    /// Most folders.
    pub const MOST_FOLDERS: u32 = 4;

    /// The client notifies the server with this: there are requests.
    pub const BIT_REQUESTS: u32 = 2;
    /// The server notifies the client with this: there are answers.
    pub const BIT_ANSWERS: u32 = 12;
    /// The server notifies the client with this: attach again.
    pub const BIT_ATTACH: u32 = 13;

    /// Offset of the words of the ring of answers, which are as those of the network's rings
    /// (`net`).
    pub const ANSWERS: u32 = 0;
    /// Offset of the words of the ring of requests.
    pub const REQUESTS: u32 = 256;
    /// Offset of the first answer.
    pub const FIRST_ANSWER: u32 = 512;
    /// Offset of the first request.
    pub const FIRST_REQUEST: u32 = 1024;
    /// Offset of the first slot.
    pub const DATA: u32 = 4096;

    /// Most bytes of a message.
    pub const MESSAGE: u32 = 32768;
    /// Bytes of a slot: a message to the server, and [`MESSAGE`] bytes after its start the answer.
    pub const SLOT: u32 = 2 * MESSAGE;
    /// Most slots; their number is a power of two, and the length of both rings.
    pub const MOST_SLOTS: u32 = 16;
    /// Most bytes of a message that writes nothing to a file.
    pub const HEAD: u32 = 8192;
    /// A client's numbers of files (fids) are below this.
    pub const MOST_FIDS: u32 = 65536;

    /// Bytes of an answer: the slot, then the message's bytes; 0 if the request was cancelled.
    pub const ANSWER: u32 = 8;
    /// Offset in an answer: the message's bytes.
    pub const ANSWER_BYTES: u32 = 4;

    /// Bytes of a request: the slot, then what follows.
    pub const REQUEST: u32 = 16;
    /// Offset in a request: the folder, from 0 on.
    pub const REQUEST_FOLDER: u32 = 4;
    /// Offset in a request: a number that the slot's request before did not have. A request that
    /// is repeated keeps its own.
    pub const REQUEST_SERIAL: u32 = 8;
    /// Offset in a request: the message's bytes.
    pub const REQUEST_BYTES: u32 = 12;
}

/// Between the network switch and its clients, `nic` among them (docs/net.md). Frames go through a
/// port's memory: a switch and a client share it.
pub mod net {
    /// Request: this client begins again with rings that are empty. Word 1: [`TAKES_LARGE`]. Reply:
    /// 0; bytes 0 to 3 of its address, low byte first; bytes 4 and 5, and [`LINK_UP`].
    pub const ATTACH: u32 = 1;
    /// Request by the driver of the card: as [`ATTACH`]. Words 1 and 2 have the card's address,
    /// [`LINK_UP`] and [`HAS_CARD`].
    pub const ATTACH_CARD: u32 = 2;
    /// Request by the driver of the card: word 1 is 1 if the link is up, else 0.
    pub const LINK: u32 = 3;
    /// Request: a counter of the client's port, by its number in word 1. Reply: 0, low word, high
    /// word.
    pub const STATISTICS: u32 = 4;
    /// Request of a watcher: word 2 is a port. Reply: 0, the bytes of its client's name; the name
    /// as text.
    pub const NAME: u32 = 5;
    /// The badge of a watcher, who may read the counters of all ports: word 2 is the port.
    pub const WATCHER: u32 = 1000;

    /// Beside bytes 4 and 5 of an address: the link is up.
    pub const LINK_UP: u32 = 1 << 16;
    /// Beside bytes 4 and 5 of an address: there is a card.
    pub const HAS_CARD: u32 = 1 << 17;

    /// In word 1 of [`ATTACH`]: the client takes frames that are cut into segments later, or not at
    /// all: large ones, in several slots, with a header for that.
    pub const TAKES_LARGE: u32 = 1;

    /// Error: no such request, or not of this client.
    pub const BAD_REQUEST: u32 = 1;

    /// The switch notifies clients with this: there are frames, or free slots.
    pub const BIT_FRAMES: u32 = 18;
    /// The switch notifies clients with this: attach again.
    pub const BIT_ATTACH: u32 = 19;

    /// Offset of the words of the direction *in*, from the switch to the client: those of its ring
    /// of filled slots.
    pub const IN: u32 = 0;
    /// Offset of the words of the direction *out*, from the client to the switch.
    pub const OUT: u32 = 512;
    /// In a direction's words: those of its ring of free slots.
    pub const FREE: u32 = 256;
    /// Offset of how many clients take large frames, and then of their addresses, [`NEIGHBOUR`]
    /// bytes each: the switch writes them.
    pub const NEIGHBOURS: u32 = 1024;
    /// Bytes of an address there: two words, as in the reply to [`ATTACH`].
    pub const NEIGHBOUR: u32 = 8;
    /// Offset of the entries of *in*'s filled slots; those of its free slots, of *out*'s filled and
    /// of *out*'s free slots follow, then the slots of *in* and those of *out*.
    pub const ENTRIES: u32 = 2048;
    /// Bytes of an entry, which is the number of a slot.
    pub const ENTRY: u32 = 4;
    /// Most slots of a direction; their number is a power of two, and the length of both its rings.
    pub const MOST_SLOTS: u32 = 1024;

    /// In a ring's words: entries that were written.
    pub const PRODUCED: u32 = 0;
    /// In a ring's words: entries that were read; where the other side has to know.
    pub const CONSUMED: u32 = 64;
    /// In a ring's words: the consumer is to be notified of the next entry.
    pub const CONSUMER_WAITS: u32 = 128;
    /// In a ring's words: the producer is to be notified of room for one more; where it has to
    /// know.
    pub const PRODUCER_WAITS: u32 = 192;

    /// Bytes of a slot: the largest frame that a card has (with a VLAN's tag) in whole cache lines,
    /// and none too many, as slots share the cache with all else. Its first word has the frame's
    /// bytes.
    pub const SLOT: u32 = 1600;
    /// Offset of 12 bytes: of frames between two clients that take large ones a header (`struct
    /// virtio_net_hdr`: Virtual I/O Device 1.2, 5.1.6); else for the client's own use.
    pub const SLOT_OWN: u32 = 4;
    /// Offset of the frame.
    pub const SLOT_FRAME: u32 = 16;
    /// Most bytes of a frame in one slot. A large one has so many in each of its slots but the
    /// last; its length is in the first.
    pub const MOST_BYTES: u32 = SLOT - SLOT_FRAME;
    /// Most slots of a frame, and its bytes: 65,536 and some headers.
    pub const MOST_PARTS: u32 = 42;
    /// Most bytes of a large frame.
    pub const MOST_LARGE: u32 = MOST_PARTS * MOST_BYTES;
    /// Fewest bytes of a frame: addresses and type.
    pub const FEWEST_BYTES: u32 = 14;
}

/// Between the screen server and its clients (docs/screen.md). Each client has two regions: its *surface*,
/// which it writes and the server reads, and its
/// *events*, which the server writes and the client reads.
pub mod screen {
    /// Request: this client begins with empty rings. Word 1: [`VERSION`] and flags. Reply: 0; width
    /// and height of the surface in pixels; how often a second the screen shows it at most.
    pub const ATTACH: u32 = 1;
    /// Request of a [watcher](super::net::WATCHER): word 2 is a client, counted from 1. Reply: 0; 1
    /// if it is attached; 1 if it has the keyboard; the rectangles that it published, low and high
    /// word; how often it broke its ring.
    pub const STATISTICS: u32 = 2;

    /// In the lower half of word 1 of [`ATTACH`]: what this protocol is.
    pub const VERSION: u32 = 1;
    /// In word 1 of [`ATTACH`]: the client paints the pointer itself.
    pub const DRAWS_POINTER: u32 = 1 << 16;

    /// Error: no such request, or not of this client.
    pub const BAD_REQUEST: u32 = 1;

    /// The server notifies clients with this: there are events, or what a client waits for is on
    /// the screen.
    pub const BIT_SCREEN: u32 = 14;
    /// The server notifies clients with this: attach again.
    pub const BIT_ATTACH: u32 = 15;

    /// Rows on top of the screen that are the server's.
    pub const BAR: u32 = 20;

    /// Offset in a surface: rectangles that were published since the client attached, modulo 2^32.
    pub const DAMAGE_PRODUCED: u32 = 0;
    /// Offset in a surface: events that were taken.
    pub const EVENTS_CONSUMED: u32 = 64;
    /// Offset in a surface: not 0 if the client is to be notified of events, and of rectangles that
    /// are on the screen.
    pub const CLIENT_WAITS: u32 = 128;
    /// Offset in a surface of the ring of rectangles.
    pub const RECTANGLES: u32 = 1024;
    /// Length of that ring.
    pub const MOST_RECTANGLES: u32 = 64;
    /// Bytes of a rectangle: a word each for x, y, width and height, in pixels of the surface.
    pub const RECTANGLE: u32 = 16;
    /// Offset in a surface of the pixels: a word each, with red in bits 16 to 23, green in 8 to 15,
    /// blue in 0 to 7; row after row without a gap.
    pub const PIXELS: u32 = 4096;

    /// Offset in events: how many were written, modulo 2^32.
    pub const EVENTS_PRODUCED: u32 = 0;
    /// Offset in events: rectangles that are on the screen, or that nobody would see there.
    pub const DAMAGE_CONSUMED: u32 = 64;
    /// Offset in events: not 0 if the server is to be notified of rectangles.
    pub const SERVER_WAITS: u32 = 128;
    /// Offset in events of their ring.
    pub const EVENTS: u32 = 1024;
    /// Length of that ring.
    pub const MOST_EVENTS: u32 = 256;
    /// Bytes of an event: a word with the type in its lower half and the code in the upper one, and
    /// a word with the value. All three are as in Linux's `linux/input-event-codes.h`, but for
    /// [`FOCUS`].
    pub const EVENT: u32 = 8;
    /// Bytes of the region of events.
    pub const EVENTS_BYTES: u32 = 4096;

    /// Type: the end of a packet (code 0), or events were lost ([`DROPPED`]).
    pub const SYNC: u32 = 0;
    /// Type: a key or a button (code) is pressed (1) or released (0).
    pub const KEY: u32 = 1;
    /// Type: a wheel has turned (code [`WHEEL`]).
    pub const RELATIVE: u32 = 2;
    /// Type: the pointer is elsewhere: code 0 has its column, code 1 its row, in pixels of the
    /// surface.
    pub const ABSOLUTE: u32 = 3;
    /// Type: the client has the keyboard (1), or has it no more (0).
    pub const FOCUS: u32 = 0x100;
    /// Code of [`SYNC`].
    pub const DROPPED: u32 = 3;
    /// Code of [`RELATIVE`].
    pub const WHEEL: u32 = 8;
}

/// To the IP server (docs/ip.md). Word 1 is a socket, word 2 a place in the memory that it shares
/// with the client. An address is words 3 to 7: the port, with [`IS_V6`](ip::IS_V6) beside it, then
/// four words in the order of the network, of which IPv4 uses the first.
pub mod ip {
    /// Request: a client begins; word 1 is which life of the client this is: the sockets of another
    /// one are closed. Reply, as soon as the server has an address or has waited long for one: 0,
    /// most sockets.
    pub const HELLO: u32 = 1;
    /// Request: listen at an address; port 0 is any. Reply: 0, the socket; the address.
    pub const LISTEN: u32 = 2;
    /// Request: the next connection of a listening socket. Reply: 0, its socket; the peer's
    /// address.
    pub const ACCEPT: u32 = 3;
    /// Request: begin to connect to an address. Reply: 0, the socket; the own address.
    pub const CONNECT: u32 = 4;
    /// Request: whether the socket is connected.
    pub const CONNECTED: u32 = 5;
    /// Request: receive from a connection. Reply: 0, bytes; none at the end.
    pub const READ: u32 = 6;
    /// Request: send to a connection. Reply: 0, bytes taken.
    pub const WRITE: u32 = 7;
    /// Request: nothing more will be sent.
    pub const SHUT_DOWN: u32 = 8;
    /// Request: the socket is not used any more.
    pub const CLOSE: u32 = 9;
    /// Request: a UDP socket at an address; port 0 is any. Reply: 0, the socket; the address.
    pub const BIND: u32 = 10;
    /// Request: send a datagram to an address.
    pub const SEND_TO: u32 = 11;
    /// Request: receive a datagram. Reply: 0, bytes; whose address.
    pub const RECEIVE_FROM: u32 = 12;
    /// Request: wait until a socket is ready. Word 2: for what; word 3: for how many milliseconds
    /// at most, [`FOREVER`] without end. Reply: 0, what it is ready for, 0 if the time is over.
    pub const WAIT: u32 = 13;
    /// Request: the same for as many sockets as word 1 says. Word 2 is the place of two words for
    /// each: the socket; for what. In the upper half of the second one the server writes what it is
    /// ready for. Reply: 0, how many are ready.
    pub const POLL: u32 = 14;
    /// Request: the address of a name, which lies at the place; word 1 is 4 or 6, the version.
    /// Reply: 0; the address.
    pub const LOOK_UP: u32 = 15;
    /// Only a [watcher](super::net::WATCHER) asks this: what does the server use? The reply: 0,
    /// its capability slots in use, the free bytes of its heap.
    pub const USAGE: u32 = 16;

    /// Ready to be read, or to accept.
    pub const READABLE: u32 = 1;
    /// Ready to be written; of a socket that connects: it has, or failed.
    pub const WRITABLE: u32 = 2;
    /// Milliseconds that never end.
    pub const FOREVER: u32 = u32::MAX;

    /// Beside a port: the address is of IPv6.
    pub const IS_V6: u32 = 1 << 16;
    /// Words of a request or reply.
    pub const WORDS: usize = 8;
    /// What a place's offset is a multiple of. The offset's number of these is the upper half of
    /// the word, the bytes the lower.
    pub const PLACE: u32 = 16;

    /// Error: no such request, or nonsense in it.
    pub const BAD_REQUEST: u32 = 1;
    /// Error: this client has not said hello to this life of the server.
    pub const NO_HELLO: u32 = 2;
    /// Error: it has no socket of this number and kind.
    pub const NO_SOCKET: u32 = 3;
    /// Error: it would have to wait.
    pub const WOULD_BLOCK: u32 = 4;
    /// Error: somebody has this port.
    pub const ADDRESS_IN_USE: u32 = 5;
    /// Error: the client has as many sockets, or requests that wait, as it may.
    pub const QUOTA: u32 = 6;
    /// Error: the peer refused the connection, or did not answer.
    pub const REFUSED: u32 = 7;
    /// Error: the connection was reset.
    pub const RESET: u32 = 8;
    /// Error: the socket is not connected, or nothing may be sent any more.
    pub const NOT_CONNECTED: u32 = 9;
    /// Error: there is no way to this address, or it is not this machine's.
    pub const UNREACHABLE: u32 = 10;
    /// Error: nobody knows this name.
    pub const NO_NAME: u32 = 11;
}
