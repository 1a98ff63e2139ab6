//! Locks go to processes in the order in which these queued for them: nobody is overtaken, so nobody starves.
//!
//! Nothing depends on how long anything takes: whoever holds the lock lets the others come one by one, and sees in the lock's words that each is in the
//! queue before it lets the next one come.

#[path = "../benches/protocol/job.rs"]
mod job;

use std::sync::atomic::Ordering;

use dsm_comm::Half;
use std::time::{Duration, Instant};

use dsm_rt::control::{self, Watched};
use dsm_rt::{check, memory, sync};
use dsm_sync::Words;

/// As of any instrumented program.
#[unsafe(no_mangle)]
pub static __dsm_line_shift: u32 = 6;

/// Place of the lock in the table, which small names fill in order.
const PLACE: usize = 77;
const LOCK: u64 = 8 * PLACE as u64;
const ROUNDS: u64 = 40;
const TURNS: u64 = 400;
/// Word of the last ticket, behind those of the turns.
const TICKET: u64 = 1 << 16;

control::declare! {
    /// Who may queue.
    static COME: Watched;
}

fn come() -> Watched {
    COME.shared(0)
}

fn main() {
    match job::from_environment(CONTROL_WORDS) {
        Some(test) => {
            match test.as_str() {
                "queue" => queue(),
                "pass" => pass(),
                _ => contend(),
            }
            barrier();
        }
        None => {
            for processes in [2, 8] {
                for test in ["queue", "contend", "pass"] {
                    job::start(test, processes, 64);
                    println!("{test}, {processes} processes: ok");
                }
            }
        }
    }
}

fn barrier() {
    sync::barrier(sync::size());
}

fn load(address: usize) -> u64 {
    if memory::get().table().get(address) >= 2 {
        check::readable(address, 8);
    }
    // SAFETY: aligned and in the shared heap; written with the lock held.
    unsafe { (address as *const u64).read_volatile() }
}

fn store(address: usize, value: u64) {
    if memory::get().table().get(address) != 0 {
        check::writable(address, 8);
    }
    // SAFETY: as for `load`.
    unsafe { (address as *mut u64).write_volatile(value) }
}

fn counter() -> usize {
    memory::arena(0).start
}

fn turn(number: u64) -> usize {
    counter() + 8 + 8 * number as usize
}

/// With the lock held: who has it, one after the other.
fn note() {
    let number = load(counter());
    store(counter(), number + 1);
    store(turn(number), u64::from(sync::rank()));
}

fn half(at: usize) -> Half {
    let slot = control::line(0, sync::ControlAreas::LAYOUT.locks + PLACE * dsm_sync::LINE);
    assert_eq!(slot.word(0).load(Ordering::SeqCst), LOCK, "the lock is where it is looked at");
    slot.half(at)
}

/// Tickets handed out.
fn tickets() -> u32 {
    half(8).load(Ordering::SeqCst)
}

/// The ticket that has the lock.
fn serving() -> u32 {
    half(12).load(Ordering::SeqCst)
}

/// An order of the processes, the same in each of them.
fn order(round: u64, size: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..size).collect();
    order.sort_by_key(|rank| (round * size + rank).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & 0xffff_ffff);
    order
}

/// A lock is free when it was unlocked, whichever process that did: some programs signal by locks that one thread takes and another gives up.
fn pass() {
    let steps: [(u32, fn()); 4] = [(0, take), (1, give), (1, take), (0, give)];
    for step in 0..ROUNDS {
        let (rank, body) = steps[step as usize % steps.len()];
        if rank == sync::rank() {
            come().wait(|come| come == step);
            body();
            come().store(step + 1);
        }
    }
}

fn take() {
    assert!(sync::try_lock(LOCK), "the lock was given up");
}

fn give() {
    assert!(!sync::try_lock(LOCK), "the lock was taken");
    sync::unlock(LOCK);
}

/// The first of an order takes the lock, the others queue behind it, and the first behind them as soon as it has given the lock away.
fn queue() {
    let (size, me) = (u64::from(sync::size()), u64::from(sync::rank()));
    for round in 0..ROUNDS {
        let order = order(round, size);
        let place = order.iter().position(|rank| *rank == me).expect("all are in it") as u64;
        barrier();
        if place == 0 {
            sync::lock(LOCK);
            for next in 1..size {
                let before = tickets();
                come().store(round * size + next);
                let start = Instant::now();
                while tickets() == before {
                    assert!(
                        start.elapsed() < Duration::from_secs(30),
                        "process {} does not queue",
                        order[next as usize]
                    );
                    std::thread::yield_now();
                }
            }
            assert_eq!(u64::from(tickets().wrapping_sub(serving())), size);
            assert!(!sync::try_lock(LOCK), "a lock that others hold or wait for is not free");
            note();
            sync::unlock(LOCK);
        } else {
            come().wait(|come| come == round * size + place);
        }
        sync::lock(LOCK);
        note();
        sync::unlock(LOCK);
        barrier();
        let first = round * (size + 1);
        let had: Vec<u64> = (first..=first + size).map(|number| load(turn(number))).collect();
        assert_eq!((&had[..size as usize], had[size as usize]), (&order[..], order[0]), "round {round}");
    }
}

/// With the lock held, by a ticket that is the next one, or still the one of before, of the process that has it now: that has had the lock cached.
fn note_ticket() {
    let ticket = counter() + 8 * TICKET as usize;
    let (number, serving, me) = (load(counter()), u64::from(serving()), u64::from(sync::rank()));
    if number > 0 && load(ticket) == serving {
        assert_eq!(load(turn(number - 1)), me, "two processes have one ticket");
    } else {
        let before = if number > 0 { load(ticket) + 1 } else { serving };
        assert_eq!(serving, before, "tickets are served one after the other");
    }
    store(ticket, serving);
    note();
}

/// All take the lock as fast as they can: each ticket is served when all before it were.
fn contend() {
    let mut extra = 0;
    barrier();
    for i in 0..TURNS {
        if i % 8 == 0 && sync::try_lock(LOCK) {
            note_ticket();
            sync::unlock(LOCK);
            extra += 1;
        }
        sync::lock(LOCK);
        note_ticket();
        sync::unlock(LOCK);
    }
    come().fetch_add(extra);
    barrier();
    let size = u64::from(sync::size());
    let total = load(counter());
    assert_eq!(total, size * TURNS + come().load());
    let turns = (0..total).filter(|number| load(turn(*number)) == u64::from(sync::rank())).count() as u64;
    assert_eq!(turns, TURNS + extra);
}
