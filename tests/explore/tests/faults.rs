//! The explorer can fail: each seeded fault is found.

use dsm_coherence::Fault;
use dsm_explore::fault_search::find_fault;

/// Those of `faults` that are not found.
fn missed<'a>(faults: impl Iterator<Item = &'a Fault>) -> Vec<Fault> {
    let mut missed = Vec::new();
    for fault in faults {
        match find_fault(Some(*fault), 300_000) {
            Some((runs, failure)) => println!("{fault:?}: run {runs}: {}", failure.why),
            None => missed.push(*fault),
        }
    }
    missed
}

#[test]
fn every_second_fault_is_found() {
    assert_eq!(missed(Fault::ALL.iter().step_by(2)), []);
}

#[test]
fn every_other_fault_is_found() {
    assert_eq!(missed(Fault::ALL.iter().skip(1).step_by(2)), []);
}

#[test]
fn a_failure_can_be_seen_again() {
    let (_, failure) = find_fault(Some(Fault::NoReadMark), 1000).expect("an easy one");
    let account = failure.account();
    assert!(account.contains("FAILURE") && account.ends_with(&failure.why), "{account}");
}
