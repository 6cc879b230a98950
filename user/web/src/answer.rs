// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of HTTP and their answers.

use alloc::format;
use alloc::vec::Vec;
use httparse::{EMPTY_HEADER, Header, Request, Status};

/// Most headers of a request.
const HEADERS: usize = 64;
/// Most bytes of a page that is made when it is asked for. Others are not sent.
pub const PAGE: usize = 16 << 10;
/// The answer to a client for which there is no connection.
pub const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nServer: Macadamia\r\nRetry-After: 10\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// The type of a text.
const TEXT: &str = "text/plain; charset=utf-8";

/// What is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// It was made for this answer.
    Made(Vec<u8>),
    /// It is there anyway.
    File(&'static [u8]),
}

impl Body {
    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Made(bytes) => bytes,
            Self::File(bytes) => bytes,
        }
    }
}

/// What there is.
pub trait Site {
    /// What is at a path, without its first slash and what follows a `?`; and its type.
    fn find(&self, path: &str) -> Option<(Body, &'static str)>;
}

/// An answer.
pub struct Answer {
    pub head: Vec<u8>,
    pub body: Option<Body>,
    /// Whether the connection ends with it.
    pub ends: bool,
}

/// The answer to the first request, and how many bytes that has; none as long as it is not whole.
pub fn answer(input: &[u8], site: &impl Site) -> Option<(usize, Answer)> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    let bytes = match request.parse(input) {
        Ok(Status::Complete(bytes)) => bytes,
        Ok(Status::Partial) => return None,
        Err(_) => return Some((input.len(), refusal("400 Bad Request"))),
    };
    let has = |name: &str, value: &str| {
        let is_meant = |header: &Header<'_>| {
            header.name.eq_ignore_ascii_case(name)
                && header.value.eq_ignore_ascii_case(value.as_bytes())
        };
        request.headers.iter().any(is_meant)
    };
    // One of version 1.0 ends unless it says otherwise.
    let ends = if request.version == Some(1) {
        has("connection", "close")
    } else {
        !has("connection", "keep-alive")
    };
    let has_body = request.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("transfer-encoding")
            || header.name.eq_ignore_ascii_case("content-length") && header.value != b"0"
    });
    let answer = match request.method {
        Some("GET" | "HEAD") if has_body => refusal("400 Bad Request"),
        Some(method @ ("GET" | "HEAD")) => match site.find(path(request.path)) {
            Some((body, _)) if matches!(&body, Body::Made(bytes) if bytes.len() > PAGE) => {
                refusal("500 Internal Server Error")
            }
            Some((body, kind)) => whole("200 OK", kind, body, method == "HEAD", ends),
            None => whole(
                "404 Not Found",
                TEXT,
                Body::File(b"There is no such page.\n"),
                method == "HEAD",
                ends,
            ),
        },
        _ => refusal("405 Method Not Allowed\r\nAllow: GET, HEAD"),
    };
    Some((bytes, answer))
}

/// The part of a target that a site knows.
fn path(target: Option<&str>) -> &str {
    target
        .and_then(|target| target.split(['?', '#']).next())
        .unwrap_or_default()
        .trim_start_matches('/')
}

/// The answer to a request that is too long.
pub fn too_long() -> Answer {
    refusal("431 Request Header Fields Too Large")
}

fn refusal(status: &str) -> Answer {
    whole(
        status,
        TEXT,
        Body::File(b"This server has files to read, and nothing else.\n"),
        false,
        true,
    )
}

fn whole(status: &str, kind: &str, body: Body, head_only: bool, ends: bool) -> Answer {
    let connection = if ends { "close" } else { "keep-alive" };
    let length = body.bytes().len();
    let head = format!(
        "HTTP/1.1 {status}\r\nServer: Macadamia\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\nConnection: {connection}\r\n\r\n"
    );
    Answer { head: head.into_bytes(), body: (!head_only).then_some(body), ends }
}
