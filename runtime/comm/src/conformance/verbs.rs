//! The suite over RDMA. Where there is no device, the tests say so and pass; `tests/tools/soft-roce.sh` runs them in a virtual machine that has one in software.

use super::stream::start_all_over;
use super::{Job, Process, Subject};
use crate::requests::MAX_PAYLOAD;
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
    const BOUNDARIES: &'static [usize] = &[MAX_PAYLOAD];
    const WAKES: u32 = 500;

    fn is_there() -> bool {
        is_there()
    }

    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
        start_all_over(bytes, perturb, processes, |rank, peers| carrier(rank, peers, "", false).unwrap())
    }
}

super::conformance!(Rdma);

/// With READs of what is long.
mod reads {
    use super::*;
    use crate::requests::LEAST_BULK;
    use crate::verbs::READ_PART_BYTES;

    pub(super) struct Reads;

    impl Subject for Reads {
        const BOUNDARIES: &'static [usize] = &[LEAST_BULK, READ_PART_BYTES];
        const WAKES: u32 = 50;

        fn is_there() -> bool {
            is_there()
        }

        fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
            start_all_over(bytes, perturb, processes, |rank, peers| carrier(rank, peers, "", true).unwrap())
        }
    }

    crate::conformance::conformance!(Reads);
}

#[test]
fn each_process_says_who_it_is() {
    if is_there() {
        let job = Job::start::<Rdma>(3, 4096, None);
        assert_eq!([job[0].peers.identity(2), job[2].peers.identity(1)], [102, 101]);
    }
}
