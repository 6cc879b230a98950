// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C header of the microkernel's contract: numbers of system calls, messages, layouts and
//! errors, out of the crates that define them, for C and assembly. The Linux server includes it as
//! `os-L4/abi.h`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use abi::{CacheOp, Delivery, MapRecord, MessageKind, Op, Rights, Tag, kip, utcb};
use core::mem::offset_of;
use image::{layout, protocol};
use std::fmt::Write as _;

mod armv5;
mod ia32;
mod powerpc;
mod x86_64;

pub use armv5::header as armv5;
pub use ia32::header as ia32;
pub use powerpc::header as powerpc;
pub use x86_64::header as x86_64;

/// What the header has of one processor.
struct Port {
    /// The C type of a word, and its bytes.
    word: (&'static str, usize),
    /// Names, without `L4_`, and values of what `os-L4` uses and what only its
    /// sub-architecture does.
    definitions: Vec<(&'static str, u32)>,
    /// Members of the structure of a frame, each with its offset and its words.
    frame: Vec<(&'static str, usize, usize)>,
}

/// The header's text for a processor.
fn header(port: &Port) -> String {
    let mut text = String::from(
        "/* SPDX-License-Identifier: GPL-2.0 */\n/* Made by the build out of the crate `abi`. */\n#ifndef __OS_L4_ABI_H\n#define __OS_L4_ABI_H\n\n",
    );
    let mut define = |name: &str, value: u32| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "#define L4_{name}\t{value:#x}");
    };
    for (name, op) in [
        ("CALL", Op::Call),
        ("RECEIVE", Op::Receive),
        ("RUN", Op::Run),
        ("MAP_RUN", Op::MapRun),
        ("REPLY_WAIT", Op::ReplyWait),
        ("REVOKE", Op::Revoke),
        ("NOTIFY", Op::Notify),
        ("YIELD", Op::Yield),
        ("CREATE_SPACE", Op::CreateSpace),
        ("CREATE_QUOTA", Op::CreateQuota),
        ("CREATE_SEGMENT", Op::CreateSegment),
        ("QUOTA_INFO", Op::QuotaInfo),
        ("CREATE_THREAD", Op::CreateThread),
        ("DELETE", Op::Delete),
        ("COPY", Op::Copy),
        ("START", Op::Start),
        ("RESET", Op::Reset),
        ("SET_PRIORITY", Op::SetPriority),
        ("SET_HANDLER", Op::SetHandler),
        ("SET_STATE", Op::SetState),
        ("STOP", Op::Stop),
        ("GET_REGISTERS", Op::GetRegisters),
        ("SET_REGISTERS", Op::SetRegisters),
        ("THREAD_INFO", Op::ThreadInfo),
        ("FPU_SYNC", Op::FpuSync),
        ("MAP", Op::Map),
        ("ATTACH", Op::Attach),
        ("DETACH", Op::Detach),
        ("LOOKUP", Op::Lookup),
        ("CACHE", Op::Cache),
        ("ALARM", Op::Alarm),
    ] {
        define(&format!("OP_{name}"), op as u32);
    }
    for (name, kind) in [
        ("NOTIFICATION", MessageKind::Notification),
        ("EXCEPTION", MessageKind::Exception),
        ("ALIEN", MessageKind::Alien),
        ("INTERRUPTED", MessageKind::Interrupted),
        ("FAILED", MessageKind::Failed),
    ] {
        define(&format!("KIND_{name}"), (kind as u32) << Delivery::KIND_SHIFT);
    }
    let [accept, pending, fpu] = utcb::fields(port.word.1);
    for (name, value) in [
        ("TAG_OP_SHIFT", Tag::OP_SHIFT),
        ("TAG_POLL", Tag::POLL),
        ("TAG_NOTIFICATIONS_ONLY", Tag::NOTIFICATIONS_ONLY),
        ("KIND_MASK", 7 << Delivery::KIND_SHIFT),
        ("BADGE_SHIFT", Delivery::BADGE_SHIFT),
        ("MAX_WORDS", abi::tag::MAX_WORDS),
        ("RIGHT_READ", Rights::READ.0),
        ("RIGHT_WRITE", Rights::WRITE.0),
        ("RIGHT_EXECUTE", Rights::EXECUTE.0),
        ("RIGHT_NOTIFY", Rights::NOTIFY.0),
        ("MAP_MAP", MapRecord::MAP),
        ("MAP_UNMAP", MapRecord::UNMAP),
        ("MAP_CACHE", MapRecord::CACHE),
        ("CACHE_CLEAN", CacheOp::Clean as u32),
        ("CACHE_DROP", CacheOp::CleanAndInvalidate as u32),
        ("CACHE_SYNC_CODE", CacheOp::SyncCode as u32),
        ("CACHE_CLEAR", CacheOp::Clear as u32),
        ("MAP_MAX", MapRecord::MAX),
        ("MAP_UNCACHED", MapRecord::UNCACHED),
        ("THREAD_READY", abi::ThreadState::Ready as u32),
        ("UTCB_ACCEPT", accept as u32),
        ("UTCB_PENDING", pending as u32),
        ("UTCB_FPU", fpu as u32),
        ("FPU_INITIAL", utcb::fpu::INITIAL),
        ("FPU_LOADED", utcb::fpu::LOADED),
        ("FPU_SAVED", utcb::fpu::SAVED),
        ("KIP_FEATURES", offset_of!(kip::Kip, features) as u32),
        ("KIP_CLOCK_BASE", offset_of!(kip::Kip, clock.base) as u32),
        ("KIP_CLOCK_MULT", offset_of!(kip::Kip, clock.mult) as u32),
        ("KIP_CLOCK_SHIFT", offset_of!(kip::Kip, clock.shift) as u32),
        ("MESSAGES", layout::MESSAGES / size_of::<abi::Word>() as u32 * port.word.1 as u32),
        ("ROOT_EXIT", protocol::root::EXIT),
        ("CONSOLE_READ_SIZED", protocol::console::READ_SIZED),
        ("CONSOLE_RESIZED", protocol::console::RESIZED),
        ("CONSOLE_RESULT", protocol::console::RESULT),
        ("CONSOLE_RAW", protocol::console::RAW),
        ("CLOCK_NOW", protocol::clock::NOW),
        ("DISK_READ", protocol::disk::READ),
        ("DISK_WRITE", protocol::disk::WRITE),
        ("DISK_FLUSH", protocol::disk::FLUSH),
        ("DISK_ATTACH", protocol::disk::ATTACH),
        ("DISK_BIT_ANSWERS", protocol::disk::BIT_ANSWERS),
        ("DISK_BIT_ATTACH", protocol::disk::BIT_ATTACH),
        ("DISK_ANSWERS", protocol::disk::ANSWERS),
        ("DISK_REQUESTS", protocol::disk::REQUESTS),
        ("DISK_FIRST_ANSWER", protocol::disk::FIRST_ANSWER),
        ("DISK_FIRST_REQUEST", protocol::disk::FIRST_REQUEST),
        ("DISK_DATA", protocol::disk::DATA),
        ("DISK_SLOT", protocol::disk::SLOT),
        ("DISK_MOST_SLOTS", protocol::disk::MOST_SLOTS),
        ("DISK_ANSWER", protocol::disk::ANSWER),
        ("DISK_ANSWER_STATUS", protocol::disk::ANSWER_STATUS),
        ("DISK_REQUEST", protocol::disk::REQUEST),
        ("DISK_REQUEST_OPERATION", protocol::disk::REQUEST_OPERATION),
        ("DISK_REQUEST_COUNT", protocol::disk::REQUEST_COUNT),
        ("DISK_REQUEST_FIRST", protocol::disk::REQUEST_FIRST),
        ("FOLDER_ATTACH", protocol::folder::ATTACH),
        ("FOLDER_AGAIN", protocol::folder::AGAIN),
        ("FOLDER_MOST_FOLDERS", protocol::folder::MOST_FOLDERS),
        ("FOLDER_BIT_ANSWERS", protocol::folder::BIT_ANSWERS),
        ("FOLDER_BIT_ATTACH", protocol::folder::BIT_ATTACH),
        ("FOLDER_ANSWERS", protocol::folder::ANSWERS),
        ("FOLDER_REQUESTS", protocol::folder::REQUESTS),
        ("FOLDER_FIRST_ANSWER", protocol::folder::FIRST_ANSWER),
        ("FOLDER_FIRST_REQUEST", protocol::folder::FIRST_REQUEST),
        ("FOLDER_DATA", protocol::folder::DATA),
        ("FOLDER_MESSAGE", protocol::folder::MESSAGE),
        ("FOLDER_SLOT", protocol::folder::SLOT),
        ("FOLDER_MOST_SLOTS", protocol::folder::MOST_SLOTS),
        ("FOLDER_ANSWER", protocol::folder::ANSWER),
        ("FOLDER_ANSWER_BYTES", protocol::folder::ANSWER_BYTES),
        ("FOLDER_REQUEST", protocol::folder::REQUEST),
        ("FOLDER_REQUEST_FOLDER", protocol::folder::REQUEST_FOLDER),
        ("FOLDER_REQUEST_SERIAL", protocol::folder::REQUEST_SERIAL),
        ("FOLDER_REQUEST_BYTES", protocol::folder::REQUEST_BYTES),
        ("NET_ATTACH", protocol::net::ATTACH),
        ("NET_TAKES_LARGE", protocol::net::TAKES_LARGE),
        ("NET_LINK_UP", protocol::net::LINK_UP),
        ("NET_BIT_FRAMES", protocol::net::BIT_FRAMES),
        ("NET_BIT_ATTACH", protocol::net::BIT_ATTACH),
        ("NET_IN", protocol::net::IN),
        ("NET_OUT", protocol::net::OUT),
        ("NET_FREE", protocol::net::FREE),
        ("NET_NEIGHBOURS", protocol::net::NEIGHBOURS),
        ("NET_NEIGHBOUR", protocol::net::NEIGHBOUR),
        ("NET_ENTRIES", protocol::net::ENTRIES),
        ("NET_MOST_SLOTS", protocol::net::MOST_SLOTS),
        ("NET_PRODUCED", protocol::net::PRODUCED),
        ("NET_CONSUMED", protocol::net::CONSUMED),
        ("NET_CONSUMER_WAITS", protocol::net::CONSUMER_WAITS),
        ("NET_SLOT", protocol::net::SLOT),
        ("NET_SLOT_FRAME", protocol::net::SLOT_FRAME),
        ("NET_SLOT_OWN", protocol::net::SLOT_OWN),
        ("NET_MOST_BYTES", protocol::net::MOST_BYTES),
        ("NET_MOST_PARTS", protocol::net::MOST_PARTS),
        ("NET_MOST_LARGE", protocol::net::MOST_LARGE),
        ("NET_FEWEST_BYTES", protocol::net::FEWEST_BYTES),
        ("SCREEN_ATTACH", protocol::screen::ATTACH),
        ("SCREEN_VERSION", protocol::screen::VERSION),
        ("SCREEN_DRAWS_POINTER", protocol::screen::DRAWS_POINTER),
        ("SCREEN_BIT_SCREEN", protocol::screen::BIT_SCREEN),
        ("SCREEN_BIT_ATTACH", protocol::screen::BIT_ATTACH),
        ("SCREEN_DAMAGE_PRODUCED", protocol::screen::DAMAGE_PRODUCED),
        ("SCREEN_EVENTS_CONSUMED", protocol::screen::EVENTS_CONSUMED),
        ("SCREEN_CLIENT_WAITS", protocol::screen::CLIENT_WAITS),
        ("SCREEN_RECTANGLES", protocol::screen::RECTANGLES),
        ("SCREEN_MOST_RECTANGLES", protocol::screen::MOST_RECTANGLES),
        ("SCREEN_RECTANGLE", protocol::screen::RECTANGLE),
        ("SCREEN_PIXELS", protocol::screen::PIXELS),
        ("SCREEN_EVENTS_PRODUCED", protocol::screen::EVENTS_PRODUCED),
        ("SCREEN_DAMAGE_CONSUMED", protocol::screen::DAMAGE_CONSUMED),
        ("SCREEN_SERVER_WAITS", protocol::screen::SERVER_WAITS),
        ("SCREEN_EVENTS", protocol::screen::EVENTS),
        ("SCREEN_MOST_EVENTS", protocol::screen::MOST_EVENTS),
        ("SCREEN_EVENT", protocol::screen::EVENT),
        ("SCREEN_EVENTS_BYTES", protocol::screen::EVENTS_BYTES),
        ("SCREEN_SYNC", protocol::screen::SYNC),
        ("SCREEN_KEY", protocol::screen::KEY),
        ("SCREEN_RELATIVE", protocol::screen::RELATIVE),
        ("SCREEN_ABSOLUTE", protocol::screen::ABSOLUTE),
        ("SCREEN_FOCUS", protocol::screen::FOCUS),
        ("SCREEN_DROPPED", protocol::screen::DROPPED),
        ("SCREEN_WHEEL", protocol::screen::WHEEL),
        ("ERROR_QUOTA_EXCEEDED", abi::Error::QuotaExceeded as u32),
        ("ERROR_POOL_EXHAUSTED", abi::Error::PoolExhausted as u32),
        ("ERROR_BAD_PRIORITY", abi::Error::BadPriority as u32),
        ("ERROR_PEER_RESTARTED", abi::Error::PeerRestarted as u32),
    ] {
        define(name, value);
    }
    port.definitions.iter().for_each(|(name, value)| define(name, *value));
    text += "\n#define L4_DELIVERY_KIND(delivery)\t((delivery) & L4_KIND_MASK)\n\n#ifndef __ASSEMBLY__\n#include <linux/types.h>\n\nstruct l4_frame {\n\t";
    text += port.word.0;
    text += " ";
    let mut end = 0;
    let mut declare = |(name, offset, words): &(&str, usize, usize)| {
        assert_eq!(*offset, end, "`{name}` of a frame is not after the member before it");
        end += words * port.word.1;
        if *words == 1 { (*name).to_string() } else { format!("{name}[{words}]") }
    };
    text += &port.frame.iter().map(&mut declare).collect::<Vec<_>>().join(", ");
    text += ";\n};\n#endif\n\n#endif\n";
    text
}

#[cfg(test)]
mod tests {
    /// C takes a definition that is repeated, and no other one of the same name.
    #[test]
    fn a_name_has_one_value() {
        for header in [super::ia32(), super::armv5(), super::powerpc(), super::x86_64()] {
            check(&header);
        }
    }

    fn check(header: &str) {
        let mut lines: Vec<&str> =
            header.lines().filter_map(|line| line.strip_prefix("#define L4_")).collect();
        lines.sort_unstable();
        lines.dedup();
        let name = |line: &str| line.split(['\t', '(']).next().unwrap_or_default().to_string();
        let twice = lines.windows(2).find(|pair| name(pair[0]) == name(pair[1]));
        assert!(lines.len() > 50 && twice.is_none(), "{twice:?}");
    }
}
