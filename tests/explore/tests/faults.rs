//! The explorer can fail: each seeded fault is found.

use dsm_coherence::Fault;
use dsm_explore::hunt::hunt;

#[test]
fn every_fault_is_found() {
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        match hunt(Some(*fault), 200_000) {
            Some((runs, failure)) => println!("{fault:?}: run {runs}: {}", failure.why),
            None => missed.push(*fault),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn a_failure_can_be_seen_again() {
    let (_, failure) = hunt(Some(Fault::NoReadMark), 1000).expect("an easy one");
    let account = failure.account();
    assert!(account.contains("FAILURE") && account.ends_with(&failure.why), "{account}");
}
