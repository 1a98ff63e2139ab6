//! The suite over libfabric, by its provider for TCP. Where the library is not installed, the tests say so and pass.

use super::stream::{sockets, start_all_over};
use super::{Job, Process, Subject};
use crate::ofi::{READ_BYTES, carrier, check, start_reading};
use crate::requests::{LEAST_BULK, MAX_PAYLOAD};

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
    const BOUNDARIES: &'static [usize] = &[MAX_PAYLOAD];
    const WAKES: u32 = 500;

    fn is_there() -> bool {
        is_there()
    }

    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
        start_all_over(bytes, perturb, processes, |rank, peers| {
            carrier(rank, peers, PROVIDER, false).unwrap()
        })
    }
}

super::conformance!(Fabric);

/// With READs of what is long, in both ways: see [`start_reading`]. Not all tests: what their processes have of libfabric, some 100 MB each, stays.
macro_rules! reads {
    ($module:ident, $lands:literal: $($test:ident,)*) => {
        mod $module {
            use super::*;

            pub(super) struct Reads;

            impl Subject for Reads {
                const BOUNDARIES: &'static [usize] = &[LEAST_BULK, READ_BYTES];

                fn is_there() -> bool {
                    is_there()
                }

                fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process> {
                    start_all_over(bytes, perturb, processes, |rank, peers| start_reading(rank, peers, $lands))
                }
            }

            crate::conformance::conformance! { Reads: $($test,)* }
        }
    };
}

reads! {
    reads, false:
    calls_at_several_peers_are_executed,
    bulk_in_both_directions_at_once,
    bulk_of_1_to_8_threads,
    many_pieces_among_requests_of_others,
}
reads! {
    reads_that_land_elsewhere, true:
    bulk_in_both_directions_at_once,
    bulk_of_1_to_8_threads,
}

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
        let error = carrier(0, peers, "psm9", true).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no provider psm9") && error.contains("fi_info"), "{error}");
    }
}
