//! Read misses.

use std::hint::black_box;

use dsm_rt::{check, sync};

use super::{MIB, ROUNDS, TURN, heap, peer_copy, ping_pong, publish, report_published};
use crate::{barrier, fill, load, median, time};

pub fn read_miss() {
    const BLOCKS: usize = 1000;
    let mut samples = Vec::new();
    for round in 0..ROUNDS as u64 {
        if sync::rank() == 0 {
            fill(heap(0), BLOCKS * 4096, round);
        }
        barrier();
        if sync::rank() == 1 {
            let ns = time(|| (0..BLOCKS).for_each(|i| _ = black_box(load(heap(0) + i * 4096))));
            samples.push(ns / BLOCKS as f64);
        }
        barrier();
    }
    let trip = ping_pong();
    if sync::rank() == 1 {
        let miss = median(samples);
        let reference = peer_copy(heap(0), 4096) + trip;
        publish(miss, reference);
    }
    barrier();
    report_published("read-miss", "<= 3 (4 KiB copy plus a round trip)");
}

pub fn bulk_read() {
    const BYTES: usize = 64 * MIB;
    let mut samples = Vec::new();
    for round in 0..ROUNDS as u64 {
        if sync::rank() == 0 {
            fill(heap(0), BYTES, round);
        }
        barrier();
        if sync::rank() == 1 {
            samples.push(time(|| check::readable(heap(0), BYTES)));
            assert_eq!(load(heap(0) + BYTES - 8), round);
        }
        barrier();
    }
    if sync::rank() == 1 {
        publish(median(samples), peer_copy(heap(0), BYTES));
    }
    barrier();
    report_published("bulk-read", "<= 2 (copy of 64 MB)");
}

pub fn busy_home() {
    const BLOCKS: usize = 500;
    let misses = |busy: bool, round: u64| {
        if sync::rank() == 0 {
            fill(heap(0), BLOCKS * 4096, round);
        }
        barrier();
        let mut ns = 0.0;
        if sync::rank() == 1 {
            ns = time(|| (0..BLOCKS).for_each(|i| _ = black_box(load(heap(0) + i * 4096)))) / BLOCKS as f64;
            TURN.shared(0).store(2 * round + u64::from(busy) + 1);
        } else if busy {
            // Computes without ever entering the runtime's protocol.
            let mut x = 1u64;
            while TURN.shared(0).load() != 2 * round + 2 {
                x = black_box(x.wrapping_mul(3));
            }
        }
        barrier();
        ns
    };
    let (mut idle, mut busy) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        idle.push(misses(false, round));
        busy.push(misses(true, round));
    }
    if sync::rank() == 1 {
        publish(median(busy), median(idle));
    }
    barrier();
    report_published("busy-home", "<= 2 (miss at an idle home)");
}
