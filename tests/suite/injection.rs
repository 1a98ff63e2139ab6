//! Processes, daemons and launchers of jobs that are killed or stopped, by seed, on this machine and over two hosts that are addresses of it: see
//! [`dsm_tests::injection`]. `cargo run -p dsm-tests --release --bin inject` does more, and cuts hosts off.

use std::time::Duration;

use dsm_tests::compile::Target;
use dsm_tests::execute::Scratch;
use dsm_tests::injection::{self, Fault, Hosts, Installed, Limits, Named, PROMISED, Plan};
use dsm_tests::matrix::Build;
use dsm_tests::toolchain;

use super::hosts::{SHELL, shell};

const FAULTS: [Fault; 4] = [Fault::Kill, Fault::Kill, Fault::Kill, Fault::Stop];
const SEEDS: std::ops::Range<u64> = 0..20;

#[test]
fn jobs_end_with_one_message_and_stops_do_no_harm() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("hosts");
    let names = ["127.0.0.1".to_owned(), "127.0.0.2".to_owned()];
    let shell = shell(&directory, SHELL).display().to_string();
    let hosts = Hosts::Named(Named { names, shell, cut: None });
    let installed = Installed::new(dsm, Target::Dsm(Build { level: 2, line: 64 }))
        .unwrap_or_else(|reason| panic!("{reason}"));
    // A machine with much other work takes longer than the book promises.
    let limits = Limits { stop: Duration::from_millis(500), kill: 6 * PROMISED.kill, cut: 6 * PROMISED.cut };
    let tell = |seed, plan: &Plan, result: &Result<Duration, String>| {
        if let Err(reason) = result {
            eprintln!("seed {seed}: {plan}: {reason}");
        }
    };
    let failed = injection::run_all(SEEDS, |seed| Plan::new(seed, &FAULTS), &hosts, &installed, limits, tell);
    assert_eq!(failed, 0);
}
