// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of HTTP and their answers.

use crate::status::Status;
use httparse::{EMPTY_HEADER, Request};
use macadamia::Env;
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::alloc::vec;
use macadamia::alloc::vec::Vec;

/// Most headers of a request.
const HEADERS: usize = 64;

/// What there is.
pub struct Site {
    files: Vec<(String, &'static [u8])>,
    status: Status,
}

/// A part of an answer.
pub enum Body {
    Made(Vec<u8>),
    File(&'static [u8]),
}

/// An answer.
pub struct Answer {
    pub parts: Vec<Body>,
    /// Whether the connection ends with it.
    pub ends: bool,
}

impl Body {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Made(bytes) => bytes,
            Self::File(bytes) => bytes,
        }
    }
}

impl Site {
    /// All files that the component was given, and the state.
    pub fn new(env: &Env) -> Self {
        let files = env.start.grants.iter().filter_map(|given| Some((given.name.clone(), env.file(&given.name)?)));
        Self { files: files.collect(), status: Status::new(env) }
    }

    /// When the state is to be noted again, in nanoseconds.
    pub const fn due(&self) -> u64 {
        self.status.due()
    }

    /// Notes the state, if that is due.
    pub fn note(&mut self, now: u64) {
        self.status.note(now);
    }

    /// What is at a path, and its type.
    fn find(&self, path: &str) -> Option<(Body, &'static str)> {
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
        let made = |text: String, kind| Some((Body::Made(text.into_bytes()), kind));
        match path {
            "status" => return made(self.status.page(), "text/html; charset=utf-8"),
            "status.txt" => return made(self.status.text(), "text/plain; charset=utf-8"),
            "status.svg" => return made(self.status.plot(), "image/svg+xml"),
            _ => {}
        }
        let path = if path.is_empty() { "index.html" } else { path };
        let (name, bytes) = self.files.iter().find(|(name, _)| name == path)?;
        Some((Body::File(bytes), kind(name)))
    }
}

/// The type of a file, by its name.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("txt" | "toml" | "md") => "text/plain; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

/// The answer to the first request, and its bytes; none as long as it is not whole.
pub fn answer(input: &[u8], site: &Site) -> Option<(usize, Answer)> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    let bytes = match request.parse(input) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return None,
        Err(_) => return Some((input.len(), refusal("400 Bad Request"))),
    };
    let has = |name: &str, value: &str| {
        let is_meant =
            |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name) && header.value.eq_ignore_ascii_case(value.as_bytes());
        request.headers.iter().find(is_meant).is_some()
    };
    // One of version 1.0 ends unless it says otherwise.
    let ends = if request.version == Some(1) { has("connection", "close") } else { !has("connection", "keep-alive") };
    let has_body = request.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("transfer-encoding") || header.name.eq_ignore_ascii_case("content-length") && header.value != b"0"
    });
    let answer = match request.method {
        Some("GET" | "HEAD") if has_body => refusal("400 Bad Request"),
        Some(method @ ("GET" | "HEAD")) => match site.find(request.path.unwrap_or("/")) {
            Some((body, kind)) => whole("200 OK", kind, body, method == "HEAD", ends),
            None => whole("404 Not Found", "text/plain; charset=utf-8", Body::File(b"There is no such page.\n"), method == "HEAD", ends),
        },
        _ => refusal("405 Method Not Allowed\r\nAllow: GET, HEAD"),
    };
    Some((bytes, answer))
}

/// The answer to a request that is too long.
pub fn too_long() -> Answer {
    refusal("431 Request Header Fields Too Large")
}

fn refusal(status: &str) -> Answer {
    whole(status, "text/plain; charset=utf-8", Body::File(b"This server has files to read, and nothing else.\n"), false, true)
}

fn whole(status: &str, kind: &str, body: Body, head_only: bool, ends: bool) -> Answer {
    let connection = if ends { "close" } else { "keep-alive" };
    let length = body.bytes().len();
    let head = format!(
        "HTTP/1.1 {status}\r\nServer: Macadamia\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\nConnection: {connection}\r\n\r\n"
    );
    let mut parts = vec![Body::Made(head.into_bytes())];
    if !head_only {
        parts.push(body);
    }
    Answer { parts, ends }
}
