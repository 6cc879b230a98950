// SPDX-License-Identifier: MIT OR Apache-2.0
//! The component that goes on with what it has.

use crate::{request, victim};
use macadamia::{Env, Error, Word, println, result, start};

const LIVES: Word = victim::LIVES as Word;
/// Calls to the victim once it behaves.
const LAST: u32 = 1000;

/// What became of the calls.
#[derive(Default)]
struct Count {
    answered: Word,
    wrong: u32,
    restarted: Word,
    failed: u32,
    life: Word,
}

/// Calls the victim until it has behaved for a while, then asks the rhythm.
pub fn run(env: &Env) {
    let mut count = Count::default();
    let victim = env.thread("victim");
    let mut behaved = 0;
    while behaved < LAST && count.failed == 0 {
        let number = count.answered;
        match victim.ask([request::ADD_ONE, number, 0]) {
            Ok([next, life, _]) => {
                count.answered += 1;
                count.wrong += u32::from(next != number + 1);
                count.life = life;
                behaved += u32::from(life == LIVES);
            }
            Err(Error::PeerRestarted) => count.restarted += 1,
            Err(error) => {
                println!("cannot call the victim any more: {}", error.text());
                count.failed += 1;
            }
        }
    }
    report(env, &count);
}

fn report(env: &Env, count: &Count) {
    let Count { answered, wrong, restarted, failed, life } = count;
    println!(
        "{answered} calls answered in {} lives ({wrong} wrong), {restarted} cut off by a restart",
        life + 1
    );
    let survived = *failed == 0 && *wrong == 0 && *life == LIVES && *restarted >= *life;
    verdict("crash.client", survived, "lost the victim");
    match start::status("victim") {
        Ok(status) => {
            println!(
                "the root server: restarted {} times, {} bytes of kernel memory in use",
                status.restarts, status.used
            );
            verdict(
                "crash.restarts",
                status.lives && status.restarts == victim::LIVES,
                "the root server counts otherwise",
            );
        }
        Err(error) => verdict("crash.restarts", false, error.text()),
    }
    match env.thread("rhythm").ask([request::REPORT, 0, 0]) {
        Ok([beats, missed, latest]) => {
            println!("the rhythm: {beats} beats, {missed} missed, the latest {latest} us late");
            verdict("crash.rhythm", missed == 0 && beats > 0, "missed a beat");
        }
        Err(error) => verdict("crash.rhythm", false, error.text()),
    }
    result!("done");
}

fn verdict(name: &str, good: bool, why: &str) {
    if good {
        result!("ok {name}");
    } else {
        result!("not ok {name}: {why}");
    }
}
