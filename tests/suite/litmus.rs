//! Litmus shapes: thousands of rounds of every shape, memory order and placement, in several layouts.
//! `DSM_TEST_ROUNDS` sets the rounds of each variant.

use dsm_tests::compile::Target;
use dsm_tests::litmus;
use dsm_tests::matrix::{Build, Shape};

fn check(target: Target, layout: Shape, rounds: u64) {
    let rounds = std::env::var("DSM_TEST_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(rounds);
    match litmus::check(target, layout, rounds) {
        Ok(judged) => println!("{judged} outcomes"),
        Err(message) => panic!("{message}"),
    }
}

const fn dsm(line: u32) -> Target {
    Target::Dsm(Build { level: 2, line })
}

#[test]
fn plain_clang() {
    check(Target::Native, Shape::alone(2), 1000);
}

#[test]
fn two_processes() {
    check(dsm(64), Shape::new(2, 1), 500);
}

#[test]
fn two_processes_of_two_threads() {
    check(dsm(64), Shape::new(2, 2), 250);
}

#[test]
fn four_processes() {
    check(dsm(64), Shape::new(4, 1), 250);
}

#[test]
fn three_processes_with_page_lines() {
    check(dsm(4096), Shape::new(3, 1), 250);
}
