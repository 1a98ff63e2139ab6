//! The suite over RDMA. Where there is no device, the tests say so and pass; `tests/tools/soft-roce.sh` runs them in a virtual machine that has one in software.

use super::stream::start_all_over;
use super::{Job, Process, Subject};
use crate::requests::MAX_PAYLOAD;
use crate::transport::Width;
use crate::verbs::{carrier, check};

/// Whether this machine has a device; says so if not.
pub(crate) fn is_there() -> bool {
    let device = check("");
    if let Err(missing) = &device {
        println!("skipped: {missing}");
    }
    device.is_ok()
}

struct Rdma;

impl Subject for Rdma {
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
        start_all_over(bytes, perturb, processes, |rank, peers| carrier(rank, peers, "").unwrap())
    }
}

super::conformance!(Rdma);

#[test]
fn each_process_says_who_it_is() {
    if is_there() {
        let job = Job::start::<Rdma>(3, 4096, None);
        assert_eq!([job[0].peers.identity(2), job[2].peers.identity(1)], [102, 101]);
    }
}
