// SPDX-License-Identifier: MIT OR Apache-2.0
//! What there is to read.

use crate::status::Status;
use macadamia::Env;
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use web::Body;

/// Files, and the state of the system.
pub struct Site {
    files: Vec<(String, &'static [u8])>,
    status: Status,
}

impl Site {
    /// All files that the component was given, and the state.
    pub fn new(env: &Env) -> Self {
        let files = env
            .start
            .grants
            .iter()
            .filter_map(|given| Some((given.name.clone(), env.file(&given.name)?)));
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
}

impl web::Site for Site {
    fn find(&self, path: &str) -> Option<(Body, &'static str)> {
        let made = |text: String, kind| {
            let mut bytes = text.into_bytes();
            bytes.shrink_to_fit();
            Some((Body::Made(bytes), kind))
        };
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
