// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of the system: as a page, as text, and frames over time as a picture.

use core::fmt::Write;
use macadamia::alloc::collections::VecDeque;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::net::port::{self, counter};
use macadamia::start::{Component, Usage, components};
use macadamia::{Env, Thread, Word, kernel_counts, time};

/// Between two notes, in nanoseconds.
const STEP: u64 = 1_000_000_000;
/// Most notes: two minutes.
const NOTES: usize = 120;
/// Numbers of counters (docs/net.md, STATISTICS).
const TAKEN: u32 = 0;
const GIVEN: u32 = 2;
const LOST: u32 = 4;
/// The picture's size.
const WIDTH: u64 = 600;
const HEIGHT: u64 = 160;

/// Watches the system.
pub struct Status {
    switch: Option<Thread>,
    ip: Option<Thread>,
    /// Frames that the switch passed on within each step, the oldest first.
    frames: VecDeque<u64>,
    /// All of them at the last note.
    total: u64,
    due: u64,
}

/// A port of the switch.
struct Port {
    name: String,
    taken: u64,
    given: u64,
    lost: u64,
}

impl Status {
    pub fn new(env: &Env) -> Self {
        let [switch, ip] = ["switch", "watch-ip"]
            .map(|name| env.given(name).map(|given| Thread(given.slot as Word)));
        let mut status =
            Self { switch, ip, frames: VecDeque::new(), total: 0, due: time::now() + STEP };
        status.total = status.sum();
        status
    }

    pub const fn due(&self) -> u64 {
        self.due
    }

    /// Takes a note, if that is due.
    pub fn note(&mut self, now: u64) {
        if now < self.due {
            return;
        }
        let total = self.sum();
        // A switch that was started again counts from 0.
        self.frames.push_back(total.checked_sub(self.total).unwrap_or(total));
        if self.frames.len() > NOTES {
            self.frames.pop_front();
        }
        (self.total, self.due) = (total, now + STEP);
    }

    fn ports(&self) -> Vec<Port> {
        let Some(switch) = self.switch else { return Vec::new() };
        let port = |number| {
            Some(Port {
                name: if number == 0 {
                    "card".into()
                } else {
                    port::name(switch, number).unwrap_or_else(|| format!("client {number}"))
                },
                taken: counter(switch, number, TAKEN)?,
                given: counter(switch, number, GIVEN)?,
                lost: counter(switch, number, LOST)?,
            })
        };
        (0..).map_while(port).collect()
    }

    /// Frames that the switch was given by all.
    fn sum(&self) -> u64 {
        let Some(switch) = self.switch else { return 0 };
        (0..).map_while(|port| counter(switch, port, TAKEN)).sum()
    }

    /// What servers use that is charged to nobody, a line each.
    fn servers(&self) -> impl Iterator<Item = String> {
        let ip = self.ip.and_then(|ip| Usage::of_ip(ip).ok()).map(|usage| ("IP", usage));
        let all = Usage::of_root().ok().map(|usage| ("root", usage)).into_iter().chain(ip);
        all.map(|(name, Usage { slots, heap })| {
            format!("{name} server: {slots} capability slots in use, {heap} bytes of heap free")
        })
    }

    /// What the kernel has counted on this processor, a line each.
    fn kernel() -> impl Iterator<Item = String> {
        kernel_counts().into_iter().map(|(name, count)| format!("kernel: {count} {name}"))
    }

    /// A table for people at a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "up {} s\n\n{:<16} {:<8} {:>8} {:>12} {:>12} {:>12}\n",
            time::now() / STEP,
            "component",
            "state",
            "restarts",
            "KiB used",
            "KiB quota",
            "messages"
        );
        for Component { name, status, quota, messages } in components() {
            let state = if status.lives { "runs" } else { "ended" };
            let (used, quota) = (status.used / 1024, quota / 1024);
            let _ = writeln!(
                text,
                "{name:<16} {state:<8} {:>8} {used:>12} {quota:>12} {messages:>12}",
                status.restarts
            );
        }
        text.push('\n');
        for line in self.servers().chain(Self::kernel()) {
            let _ = writeln!(text, "{line}");
        }
        let ports = self.ports();
        if !ports.is_empty() {
            let _ = writeln!(
                text,
                "\n{:<16} {:>12} {:>12} {:>12}",
                "switch", "frames from", "frames to", "lost"
            );
            for Port { name, taken, given, lost } in &ports {
                let _ = writeln!(text, "{name:<16} {taken:>12} {given:>12} {lost:>12}");
            }
            let _ = writeln!(
                text,
                "\n{} frames in the last second",
                self.frames.back().copied().unwrap_or_default()
            );
        }
        text
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut page = String::from(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Macadamia</title>\
             <script>setTimeout(() => location.reload(), 2000)</script>\
             <style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;\
             border-bottom:1px solid #ccc}td:first-child,th:first-child{text-align:left}</style></head>\n<body>\n<h1>Macadamia</h1>\n",
        );
        let _ = writeln!(page, "<p>Up {} s.</p>", time::now() / STEP);
        page += "<h2>Components</h2>\n<table><tr><th>component</th><th>state</th><th>restarts</th><th>KiB used</th><th>KiB quota</th>\
                 <th>messages</th></tr>\n";
        for Component { name, status, quota, messages } in components() {
            let state = if status.lives { "runs" } else { "ended" };
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{state}</td><td>{}</td><td>{}</td><td>{}</td><td>{messages}</td></tr>",
                escaped(&name),
                status.restarts,
                status.used / 1024,
                quota / 1024
            );
        }
        page += "</table>\n";
        for line in self.servers().chain(Self::kernel()) {
            let _ = writeln!(page, "<p>{line}.</p>");
        }
        let ports = self.ports();
        if !ports.is_empty() {
            page += "<h2>Network</h2>\n<table><tr><th>port of the switch</th><th>frames from it</th><th>frames to it</th><th>lost</th></tr>\n";
            for Port { name, taken, given, lost } in &ports {
                let _ = writeln!(
                    page,
                    "<tr><td>{}</td><td>{taken}</td><td>{given}</td><td>{lost}</td></tr>",
                    escaped(name)
                );
            }
            let _ = writeln!(
                page,
                "</table>\n<p><img src=\"status.svg\" alt=\"Frames in each of the last seconds\" width=\"{WIDTH}\" height=\"{HEIGHT}\"></p>"
            );
        }
        page + "</body></html>\n"
    }

    /// Frames in each of the last seconds.
    pub fn plot(&self) -> String {
        let most = self.frames.iter().copied().max().unwrap_or_default().max(1);
        let (left, bottom) = (60, HEIGHT - 20);
        let x = |index: u64| left + index * (WIDTH - left - 10) / (NOTES as u64 - 1);
        let y = |frames: u64| bottom - frames.saturating_mul(bottom - 10) / most;
        let mut picture = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <path d=\"M{left} 10V{bottom}H{}\" fill=\"none\" stroke=\"#888\"/>\n\
             <text x=\"{}\" y=\"14\" text-anchor=\"end\">{most}</text><text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n\
             <text x=\"{left}\" y=\"{}\">frames a second, the last {NOTES} seconds</text>\n<polyline fill=\"none\" stroke=\"#06c\" points=\"",
            WIDTH - 10,
            left - 4,
            left - 4,
            HEIGHT - 6
        );
        let first = (NOTES - self.frames.len()) as u64;
        for (index, frames) in (first..).zip(&self.frames) {
            let _ = write!(picture, "{},{} ", x(index), y(*frames));
        }
        picture + "\"/>\n</svg>\n"
    }
}

/// Text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
