// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often each fast path was taken.

/// How often each was taken.
#[derive(Default)]
pub struct Tally {
    /// Events.
    pub events: u64,
    /// Calls by the fast path.
    pub calls: u64,
    /// `reply_wait` by the fast path.
    pub replies: u64,
    /// `int 0x80` of aliens by the fast path.
    pub alien_calls: u64,
    /// Page faults of aliens by the fast path.
    pub alien_faults: u64,
    /// Page faults of natives by the fast path.
    pub faults: u64,
    /// Replies to them.
    pub fault_replies: u64,
    /// Replies to them that map a page.
    pub answers: u64,
    /// `sysenter` of aliens by the fast path.
    pub alien_sysenters: u64,
    /// `run` by the fast path, by `iret`.
    pub runs: u64,
    /// The same by `sysexit`.
    pub quick_runs: u64,
    /// The same from one alien to another.
    pub switches: u64,
    /// `map_run`, by both.
    pub map_runs: u64,
    /// Ways into a server, from anybody.
    pub server_entries: u64,
    /// Those that put an alien's state away.
    pub put_away: u64,
    /// `run` by a server, which brings that back.
    pub fetched: u64,
    /// Ways into a small space that `enter_small` goes to the end.
    pub small_entries: u64,
    /// Events of aliens to a handler in a small space.
    pub small_events: u64,
    /// Ways out through the portable kernel, from or into a small space.
    pub careful: u64,
    /// Events of aliens in small spaces, to a server.
    pub small_aliens: u64,
    /// `run` of such an alien.
    pub small_runs: u64,
    /// The same, of another than the last.
    pub small_switches: u64,
    /// `run` by a server of another alien than the last, which has no TLS segment descriptor.
    pub bare_switches: u64,
    /// `notify` that only notes the bits.
    pub notifications: u64,
    /// `notify` that makes a thread ready.
    pub wakes: u64,
    /// `notify` of a more urgent thread, which runs then.
    pub preemptions: u64,
    /// `receive` that takes notification bits.
    pub taken: u64,
    /// `receive` that finds nothing, and does not wait.
    pub polls: u64,
    /// `receive` that waits, while another thread runs.
    pub waits: u64,
    /// Fast paths that left it to the portable kernel.
    pub given_up: u64,
}
