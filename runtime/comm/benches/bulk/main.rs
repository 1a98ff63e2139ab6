//! How fast a peer's memory is read, by messages and by the adapter alone (`+read`), beside libfabric's own `fi_read` in the same run.
//!
//! ```sh
//! cargo bench -p dsm-comm --bench bulk -- ofi ofi+read      # ROUNDS=9 in the environment for more rounds, THREADS=4 for one number of threads only
//! ```
//!
//! The two processes are this program and a copy of itself. For each number of threads, which share the bytes of a transfer, there is a table: medians over the rounds in MB/s. Each transfer is repeated
//! until some milliseconds have passed.

#[path = "../two/mod.rs"]
mod two;

mod raw;

use std::time::Instant;

use dsm_comm::Transport;
use dsm_comm::requests::Requests;
use two::{BULK, ROLE, copy, serve, sockets, start};

const SIZES: [usize; 8] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, BULK];

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        return serve(&role);
    }
    if let Ok(role) = std::env::var(raw::ROLE) {
        return raw::serve(&role);
    }
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let transports = if named.is_empty() { vec!["ofi".to_owned(), "ofi+read".to_owned()] } else { named };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let rounds = number("ROUNDS").unwrap_or(5);
    let threads = number("THREADS").map_or(vec![1, 2, 4, 8], |threads| vec![threads]);
    let has_raw = transports.iter().any(|name| name.starts_with("ofi"));
    let mut names: Vec<&str> = transports.iter().map(String::as_str).collect();
    names.extend(has_raw.then_some("fi_read"));
    // By transport, number of threads and size.
    let mut all = vec![vec![vec![Vec::new(); SIZES.len()]; threads.len()]; names.len()];
    for _ in 0..rounds {
        for (transport, rates) in transports.iter().zip(&mut all) {
            measure(transport, &threads, rates);
        }
        if let (true, Some(rates)) = (has_raw, all.last_mut()) {
            raw::measure(&SIZES, &mut rates[0]);
        }
    }
    for (place, count) in threads.iter().enumerate() {
        print!("{:<24}", format!("MB/s, {count} threads"));
        SIZES.iter().for_each(|size| print!("{:>9}", format!("{}K", size >> 10)));
        println!();
        for (name, rates) in names.iter().zip(&mut all).filter(|(_, rates)| !rates[place][0].is_empty()) {
            print!("{name:<24}");
            rates[place].iter_mut().for_each(|rates| print!("{:>9.0}", median(rates)));
            println!();
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The rate, MB/s, of something that transfers so many bytes, repeated for some time.
fn rate(bytes: usize, mut transfer: impl FnMut()) -> f64 {
    transfer();
    let start = Instant::now();
    let mut count = 0;
    while count == 0 || start.elapsed().as_millis() < 60 {
        transfer();
        count += 1;
    }
    (bytes * count) as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// Adds the rates of one transport to those of each number of threads and size.
fn measure(transport: &str, threads: &[usize], rates: &mut [Vec<Vec<f64>>]) {
    let [own, other] = sockets();
    let mut child = copy(transport, &other);
    drop(other);
    let requests = start(0, transport, own);
    let mut buffer = vec![0_u8; BULK];
    // Touches the pages on both sides, and gets the keys.
    read(&requests, &mut buffer, 1);
    for (count, rates) in threads.iter().zip(rates) {
        for (size, rates) in SIZES.iter().zip(rates) {
            rates.push(rate(*size, || read(&requests, &mut buffer[..*size], *count)));
        }
    }
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

/// Reads the beginning of the peer's segment: each thread a part.
fn read(requests: &Requests, buffer: &mut [u8], threads: usize) {
    let read = |at, part: &mut [u8]| {
        // SAFETY: the part is as long.
        let read = unsafe { requests.read(1, at, part.as_mut_ptr(), part.len()) };
        read.expect("the other process is there");
    };
    if threads == 1 {
        return read(0, buffer);
    }
    let bytes = buffer.len() / threads;
    std::thread::scope(|scope| {
        for (number, part) in buffer.chunks_mut(bytes).enumerate() {
            scope.spawn(move || read(number * bytes, part));
        }
    });
}
