//! Litmus shapes: hundreds of rounds of every shape, memory order and placement, in several layouts and block sizes.
//! `DSM_TEST_ROUNDS` sets the rounds of each variant, of which a program makes 64 at a time.

use dsm_tests::compile::Target;
use dsm_tests::litmus::shapes::{ORDERS, Order, SHAPES, STRENGTHENED};
use dsm_tests::litmus::{self, Setting};
use dsm_tests::matrix::{Build, Shape};

fn check(target: Target, layout: Shape, block: Option<u64>, rounds: u64) {
    check_orders(&ORDERS, target, layout, block, rounds);
}

fn check_orders(orders: &'static [Order], target: Target, layout: Shape, block: Option<u64>, rounds: u64) {
    let rounds = std::env::var("DSM_TEST_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(rounds);
    let setting = Setting { target, layout, block, rounds, orders };
    let (judged, failures): (Vec<_>, Vec<_>) =
        SHAPES.iter().map(|shape| litmus::check(shape, setting)).partition(Result::is_ok);
    let failures: Vec<String> = failures.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{} outcomes", judged.into_iter().flatten().sum::<u64>());
}

const fn dsm(line: u32) -> Target {
    Target::Dsm(Build { level: 2, line })
}

#[test]
fn plain_clang() {
    check(Target::Native, Shape::alone(2), None, 200);
}

#[test]
fn two_processes() {
    check(dsm(64), Shape::new(2, 1), None, 256);
}

#[test]
fn two_processes_of_two_threads() {
    check(dsm(64), Shape::new(2, 2), None, 192);
}

#[test]
fn four_processes() {
    check(dsm(64), Shape::new(4, 1), None, 64);
}

#[test]
fn three_processes_with_page_lines() {
    check(dsm(4096), Shape::new(3, 1), None, 64);
}

#[test]
fn three_processes_with_blocks_of_a_line() {
    check(dsm(64), Shape::new(3, 1), Some(64), 192);
}

#[test]
fn four_processes_with_blocks_of_several_lines() {
    check(dsm(64), Shape::new(4, 1), Some(1024), 64);
}

#[test]
fn relaxed_and_volatile_with_a_weakest_order() {
    check_orders(&STRENGTHENED, dsm(64), Shape::new(2, 1), None, 128);
}

#[test]
fn relaxed_and_volatile_with_a_weakest_order_in_three_processes() {
    check_orders(&STRENGTHENED, dsm(4096), Shape::new(3, 1), Some(64), 64);
}
