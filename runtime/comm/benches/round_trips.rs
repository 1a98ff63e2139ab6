//! What operations on a peer's segment cost, over each transport that is named, alternating, and what libfabric's own `fi_pingpong` (Debian: libfabric-bin)
//! does in the same run.
//!
//! ```sh
//! cargo bench -p dsm-comm --bench round_trips -- stream ofi      # ROUNDS=9 in the environment for more rounds; ofi+read: with bulk reads by the adapter
//! ```
//!
//! The two processes are this program and a copy of itself. Times are medians over the rounds of medians (of means for bulk), in microseconds; the
//! bulk row is in MB/s.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dsm_comm::{Transport, Width};
use two::{BULK, ROLE, copy, serve, sockets, start};

#[path = "two/mod.rs"]
mod two;

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        return serve(&role);
    }
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let transports = if named.is_empty() { vec!["stream".to_owned(), "ofi".to_owned()] } else { named };
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let mut all: Vec<Vec<[f64; 3]>> = vec![Vec::new(); transports.len() + 1];
    for _ in 0..rounds {
        for (transport, rows) in transports.iter().zip(&mut all) {
            rows.push(measure(transport));
        }
        if let Some(row) = ping() {
            all[transports.len()].push(row);
        }
    }
    println!("{:<24}{:>14}{:>14}{:>14}", "", "load 8 B, us", "read 4 KiB, us", "read 64 MB, MB/s");
    for (name, rows) in transports.iter().map(String::as_str).chain(["fi_pingpong"]).zip(all) {
        if !rows.is_empty() {
            let [load, read, bulk] = [0, 1, 2].map(|i| median(rows.iter().map(|row| row[i]).collect()));
            println!("{name:<24}{load:>14.1}{read:>14.1}{bulk:>14.0}");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The three rows of one transport.
fn measure(transport: &str) -> [f64; 3] {
    let [own, other] = sockets();
    let mut child = copy(transport, &other);
    drop(other);
    let requests = start(0, transport, own);
    let mut buffer = vec![0_u8; BULK];
    let micros = |count: u32, operation: &mut dyn FnMut()| {
        let times = (0..count).map(|_| {
            let start = Instant::now();
            operation();
            start.elapsed().as_secs_f64() * 1e6
        });
        times.collect::<Vec<f64>>()
    };
    micros(200, &mut || _ = requests.load(1, 64, Width::Bits64));
    let load = median(micros(3000, &mut || _ = requests.load(1, 64, Width::Bits64)));
    // SAFETY: the buffer is as long.
    let read = median(micros(3000, &mut || _ = unsafe { requests.read(1, 0, buffer.as_mut_ptr(), 4096) }));
    // SAFETY: as above.
    let bulk = micros(4, &mut || _ = unsafe { requests.read(1, 0, buffer.as_mut_ptr(), BULK) });
    // The first touches the pages.
    let bulk = median(bulk[1..].to_vec());
    child.kill().and_then(|()| child.wait()).expect("it ends");
    [load, read, BULK as f64 / bulk]
}

/// The same exchanges by `fi_pingpong`: two ways of 8 bytes, 4 KiB one way and a request the other, 64 MB one way.
fn ping() -> Option<[f64; 3]> {
    // Microseconds for one way.
    let way = |bytes: usize, count: u32| -> Option<f64> {
        let arguments = |command: &mut Command| {
            command
                .args(["-e", "rdm", "-p", "tcp;ofi_rxm", "-S", &bytes.to_string(), "-I", &count.to_string()])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        };
        let mut server = arguments(&mut Command::new("fi_pingpong")).ok()?;
        std::thread::sleep(Duration::from_millis(300));
        let client = arguments(Command::new("fi_pingpong").arg("127.0.0.1")).ok()?;
        let output = client.wait_with_output().ok()?;
        server.wait().ok()?;
        // bytes, sent, acknowledged, total, time, MB/s, us per transfer, transfers per second
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().last()?.split_whitespace().nth(6)?.parse().ok()
    };
    let (short, page, bulk) = (way(8, 2000)?, way(4096, 2000)?, way(BULK, 5)?);
    Some([2.0 * short, short + page, BULK as f64 / bulk])
}
