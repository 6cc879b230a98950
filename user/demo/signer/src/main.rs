// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signs messages: HMAC-SHA256 (RFC 2104) with the key in its argument, in hexadecimal. Only the
//! root server and this component have that key.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use hmac::{Hmac, Mac};
use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::ipc::{Message, receive, reply};
use macadamia::{Env, MessageKind, Word, println};
use sha2::Sha256;

macadamia::main!(run);

/// The request: sign the message's text.
const SIGN: Word = 1;

fn run(env: Env) {
    let Some(key) = env.start.arguments.first() else { panic!("no key: give one in `arguments`") };
    println!("ready");
    loop {
        let Ok(received) = receive(None) else { continue };
        if received.kind != MessageKind::Call {
            continue;
        }
        let answer = match (received.words[0], Hmac::<Sha256>::new_from_slice(key.as_bytes())) {
            (SIGN, Ok(mut mac)) => {
                mac.update(&received.bytes());
                let signature: String =
                    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                Message::text(0, signature.as_bytes())
            }
            _ => Message::new([u32::MAX as Word, 0, 0]),
        };
        // Who asked may be gone by now.
        let _ = reply(received.handle, answer);
    }
}
