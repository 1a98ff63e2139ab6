//! Relocatable arrays: no schedule breaks them, and each seeded fault is found.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use dsm_arrays::{Array, Fault, Rank, call, table};
use dsm_explore::arrays::program::directed;
use dsm_explore::arrays::search::{exhaust, find_fault, run};
use dsm_explore::arrays::world::{Areas, World};
use dsm_explore::hash::Random;

#[test]
fn schedules_with_two_preemptions_are_right() {
    for program in directed() {
        let runs = exhaust(&program, 2).unwrap_or_else(|failure| panic!("{}", failure.account()));
        println!("{runs} runs\n{program}");
    }
}

#[test]
fn random_schedules_are_right() {
    for seed in 0..15_000 {
        run(seed, None).unwrap_or_else(|failure| panic!("seed {seed}\n{}", failure.account()));
    }
}

#[test]
fn each_fault_is_found() {
    let found = |fault: &Fault| match find_fault(*fault, 100_000) {
        Some((seed, failure)) => {
            println!("{fault:?}: seed {seed}: {}", failure.why);
            true
        }
        None => false,
    };
    let missed: Vec<_> = Fault::ALL.into_iter().filter(|fault| !found(fault)).collect();
    assert_eq!(missed, []);
}

#[test]
fn a_failure_can_be_seen_again() {
    let (_, failure) = find_fault(Fault::StaleCache, 1000).expect("an easy one");
    let account = failure.account();
    assert!(account.contains("Own") && account.ends_with(&failure.why), "{account}");
}

/// Whatever a peer sends is executed or refused; nothing is done outside of the area, as the model asserts of copies and the runtime of all.
#[test]
fn requests_that_no_process_makes_are_refused() {
    let array = Array::of((0, 1), 8, 8, 16, 2, table::BYTES).expect("a small array fits");
    let mut random = Random::new(1);
    let mut refused = 0;
    for _ in 0..20_000 {
        let world = World::new(2, 1, (true, true), None, &array);
        let owner = Areas { world: Rc::new(RefCell::new(world)), rank: Rank(0) };
        // Small numbers are more often in order than others.
        let byte =
            |random: &mut Random| if random.chance(80) { random.below(4) } else { random.below(256) } as u8;
        let mut request = vec![call::KIND];
        request.extend((0..random.below(48)).map(|_| byte(&mut random)));
        let mut reply = vec![0; call::REPLY_BYTES];
        let mut serving = Box::pin(call::serve(&owner, &request, &mut reply));
        let mut context = Context::from_waker(Waker::noop());
        let served = loop {
            if let Poll::Ready(served) = serving.as_mut().poll(&mut context) {
                break served;
            }
        };
        refused += u32::from(served.is_err());
    }
    assert!((1..20_000).contains(&refused), "{refused} refused: neither all nor none");
}
