//! Locks, barriers, regions and conditions: no schedule breaks them, and each seeded fault is found.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dsm_explore::coroutine;
use dsm_explore::hash::Random;
use dsm_explore::sync::model::Model;
use dsm_explore::sync::program::{directed, task_programs};
use dsm_explore::sync::search::{exhaust, find_fault, run};
use dsm_explore::sync::world::World;
use dsm_sync::{Fault, KIND, Process, REPLY_BYTES, State, serve};

#[test]
fn schedules_with_a_departure_are_right() {
    for program in directed() {
        let runs = exhaust(&program, 1).unwrap_or_else(|failure| panic!("{}", failure.account()));
        println!("{runs} runs\n{program}");
    }
}

#[test]
fn hand_over_with_two_departures_is_right() {
    for program in task_programs() {
        let runs = exhaust(&program, 2).unwrap_or_else(|failure| panic!("{}", failure.account()));
        println!("{runs} runs\n{program}");
    }
}

#[test]
fn random_schedules_are_right() {
    let said = (0..15_000).filter(|seed| {
        run(*seed, None).unwrap_or_else(|failure| panic!("seed {seed}\n{}", failure.account()))
    });
    let said = said.count();
    assert!(said > 14_000, "only {said} runs came to an end");
}

#[test]
fn each_fault_is_found() {
    let found = |fault: &&Fault| match find_fault(**fault, 60_000) {
        Some((seed, failure)) => {
            println!("{fault:?}: seed {seed}: {}", failure.why);
            true
        }
        None => false,
    };
    let missed: Vec<_> = Fault::ALL.iter().filter(|fault| !found(fault)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_failure_can_be_seen_again() {
    let (_, failure) = find_fault(Fault::TokenLeftOut, 1000).expect("an easy one");
    let account = failure.account();
    assert!(account.contains("has released") && account.ends_with(&failure.why), "{account}");
}

/// Whatever a peer sends is executed or refused, and nothing is done outside of the table.
#[test]
fn requests_that_no_process_makes_are_refused() {
    let mut random = Random::new(1);
    let mut refused = 0;
    for _ in 0..20_000 {
        let world = Rc::new(RefCell::new(World::new(2, 1, (true, false), None, None)));
        // Small numbers are more often in order than others.
        let word =
            |random: &mut Random| if random.chance(80) { random.below(4) as u64 } else { random.bits() };
        let mut request = vec![KIND, random.below(12) as u8];
        for _ in 0..[0, 1, 1, 2, 2, 8][random.below(6)] {
            request.extend(word(&mut random).to_le_bytes());
        }
        request.truncate(request.len() - usize::from(random.chance(5)));
        let owner = world.clone();
        let mut serving = pin!(coroutine::run(move |blocking| {
            let owner = Model { world: owner, rank: 0, blocking };
            serve(Process::new(&State::new(), &owner), &request, &mut [0; REPLY_BYTES])
        }));
        let served = loop {
            if let Poll::Ready(served) = serving.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                break served;
            }
        };
        refused += u32::from(served.is_none());
        let mut world = world.borrow_mut();
        while world.can_place(0) {
            world.place(0);
        }
    }
    assert!((1..20_000).contains(&refused), "{refused} refused: neither all nor none");
}
