//! Misses of the replacement policies on made traces: `cargo bench -p dsm-pager --bench replacement`. Counts, not times.

#[path = "random.rs"]
mod random;

use std::collections::HashMap;

use dsm_pager::Page;
use dsm_pager::replacement::{Replacement, S3Fifo, SecondChance};
use random::Random;

const PAGES: u32 = 4096;
const ACCESSES: usize = 400_000;

/// What a program accesses.
type Trace = fn(&mut Random, usize) -> u32;

const TRACES: [(&str, Trace); 5] = [
    ("scan, again and again", |_, i| (i % PAGES as usize) as u32),
    ("at random", |random, _| random.below(PAGES)),
    ("zipf", |random, _| random.zipf(PAGES)),
    // An index that is used all the time beside data that is gone through, as in sparse matrix products.
    ("an eighth hot, and a scan", |random, i| match i % 2 {
        0 => random.below(PAGES / 8),
        _ => PAGES / 8 + ((i / 2) % (PAGES as usize * 7 / 8)) as u32,
    }),
    ("zipf, and a scan now and then", |random, i| match i % 65_536 {
        0..16_384 => (i % PAGES as usize) as u32,
        _ => random.zipf(PAGES),
    }),
];

/// Part of the accesses that find nothing, of a policy with space for `limit` pages.
fn misses(mut policy: impl Replacement, trace: Trace, limit: usize) -> f64 {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    // Resident pages, and whether they are mapped.
    let mut resident: HashMap<u32, bool> = HashMap::new();
    let mut count = 0;
    for i in 0..ACCESSES {
        let page = trace(&mut random, i);
        if let Some(mapped) = resident.get_mut(&page) {
            if !std::mem::replace(mapped, true) {
                policy.touched(Page(page));
            }
            continue;
        }
        count += 1;
        if resident.len() == limit {
            let gone = policy.evict().expect("there are pages");
            resident.remove(&gone.0);
        }
        resident.insert(page, true);
        policy.insert(Page(page));
        while let Some(old) = policy.unmap() {
            resident.insert(old.0, false);
        }
    }
    f64::from(count) / ACCESSES as f64
}

fn main() {
    println!("{:32} {:>8} {:>10} {:>14}", "trace", "memory", "s3-fifo", "second-chance");
    for (name, trace) in TRACES {
        for part in [2, 4, 8] {
            let limit = (PAGES / part) as usize;
            let (a, b) =
                (misses(S3Fifo::default(), trace, limit), misses(SecondChance::default(), trace, limit));
            println!("{name:32} {:>8} {a:>10.3} {b:>14.3}", format!("1/{part}"));
        }
    }
}
