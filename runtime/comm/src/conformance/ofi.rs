//! The suite over libfabric, by its provider for TCP. Where the library is not installed, the tests say so and pass.

use super::stream::{sockets, start_all_over};
use super::{Job, Process, Subject};
use crate::ofi::{carrier, check};
use crate::requests::MAX_PAYLOAD;
use crate::transport::Width;

/// What the library has everywhere.
pub(crate) const PROVIDER: &str = "tcp;ofi_rxm";

/// Whether the library is installed; says so if not.
pub(crate) fn is_there() -> bool {
    let library = check(PROVIDER);
    if let Err(missing) = &library {
        println!("skipped: {missing}");
    }
    library.is_ok()
}

struct Fabric;

impl Subject for Fabric {
    const UPDATED: &'static [Width] = &Width::ALL;
    const BOUNDARIES: &'static [usize] = &[MAX_PAYLOAD];
    /// What is irregular is made by sockets and the agent.
    const SEEDS: &'static [Option<u64>] = &[None];
    const ROUNDS: u32 = 30;
    const WAKES: u32 = 500;

    fn is_there() -> bool {
        is_there()
    }

    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
        start_all_over(bytes, perturb, processes, |rank, peers| carrier(rank, peers, PROVIDER).unwrap())
    }
}

super::conformance!(Fabric);

#[test]
fn each_process_says_who_it_is() {
    if is_there() {
        let job = Job::start::<Fabric>(3, 4096, None);
        assert_eq!([job[0].peers.identity(2), job[2].peers.identity(1)], [102, 101]);
    }
}

#[test]
fn a_provider_that_is_not_there_is_named() {
    if is_there() {
        let peers = sockets(2).remove(0);
        let error = carrier(0, peers, "psm9").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no provider psm9") && error.contains("fi_info"), "{error}");
    }
}
