//! Costs of the protocol over shared memory, as ratios to what the machine can do, both measured in the same run.
//!
//! `cargo bench -p dsm-runtime --bench protocol`: starts itself once per process of each measurement. Every figure is the median of
//! alternating rounds. Lines and blocks are 64 bytes unless a row says otherwise.

mod job;
mod rows;

use std::time::Instant;

use dsm_rt::{check, memory, sync};

/// The line size of the measurements: the runtime takes it from the program, as from any instrumented program.
#[unsafe(no_mangle)]
pub static __dsm_line_shift: u32 = 6;

fn main() {
    // Cargo passes `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match job::from_environment(rows::CONTROL_WORDS) {
        Some(row) => rows::run(&row),
        None => rows::start_all(arguments.first().map(String::as_str)),
    }
}

/// A store of the program: check, then store.
pub fn store(address: usize, value: u64) {
    if memory::get().table().get(address) != 0 {
        check::writable(address, 8);
    }
    // SAFETY: the callers' addresses are aligned and in the shared heap, and only one process writes each at a time.
    unsafe { (address as *mut u64).write_volatile(value) }
}

/// A load of the program: check, then load.
pub fn load(address: usize) -> u64 {
    if memory::get().table().get(address) >= 2 {
        check::readable(address, 8);
    }
    // SAFETY: as for `store`.
    unsafe { (address as *const u64).read_volatile() }
}

/// Stores to every word of a range after one range check, as a compiled loop does.
pub fn fill(address: usize, bytes: usize, value: u64) {
    check::writable(address, bytes);
    for at in (address..address + bytes).step_by(8) {
        // SAFETY: as for `store`.
        unsafe { (at as *mut u64).write(value) }
    }
}

/// Median of a sample, nanoseconds.
pub fn median(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    sample[sample.len() / 2]
}

/// Nanoseconds that `body` takes.
pub fn time(body: impl FnOnce()) -> f64 {
    let start = Instant::now();
    body();
    start.elapsed().as_nanos() as f64
}

/// A barrier of all processes.
pub fn barrier() {
    sync::barrier(sync::size());
}
