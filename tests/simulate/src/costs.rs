//! What things cost in virtual time. Every figure is an option; the defaults are those of a 100 Gbit/s RDMA network, with their sources.

use clap::Args;
use serde::Serialize;

/// Virtual time, picoseconds.
pub type Time = u64;

/// Costs of the network and of local work.
#[derive(Clone, Debug, PartialEq, Args, Serialize)]
pub struct Costs {
    /// One way through the network, ns. With two messages of 20 ns an 8-byte read takes 2.0 us, as measured for ConnectX-5 in Kalia et al.,
    /// "Datacenter RPCs can be general and fast", NSDI 2019, table 2
    #[arg(long, value_name = "NS", default_value_t = 980)]
    pub wire_ns: u64,
    /// Least time that a message occupies each adapter, in each direction, ns. 50 million messages a second: Kalia et al., "FaSST", OSDI 2016,
    /// report 40 million requests a second and machine
    #[arg(long, value_name = "NS", default_value_t = 20)]
    pub message_ns: u64,
    /// Bandwidth of an adapter in each direction, Gbit/s
    #[arg(long, value_name = "GBIT", default_value_t = 100)]
    pub bandwidth_gbit: u64,
    /// Headers of a message, bytes: InfiniBand's local and base transport headers, an RDMA header and the checksums
    #[arg(long, value_name = "BYTES", default_value_t = 46)]
    pub header_bytes: u64,
    /// Time for which an adapter serialises atomic operations on the same word, ns. Kalia et al., "Design guidelines for high performance
    /// RDMA systems", ATC 2016: a counter by atomic operations reaches 1/50 of 122 million a second
    #[arg(long, value_name = "NS", default_value_t = 400)]
    pub atomic_ns: u64,
    /// Processor time to receive a message and act on it, ns; only the directory needs it. 10 million small requests a second and core
    /// (NSDI 2019, as above)
    #[arg(long, value_name = "NS", default_value_t = 100)]
    pub handler_ns: u64,
    /// Own word of the protocol's records, state table or bit sets, ns: a hit in the second-level cache
    #[arg(long, value_name = "NS", default_value_t = 4)]
    pub local_ns: u64,
    /// Taking in one write notice, ns: looking it up among those seen, listing it, finding the blocks it names
    #[arg(long, value_name = "NS", default_value_t = 100)]
    pub notice_ns: u64,
    /// Copying and comparing blocks in own memory, bytes a ns
    #[arg(long, value_name = "BYTES", default_value_t = 10)]
    pub copy_bytes_per_ns: u64,
    /// First pause between two looks at a peer's word, ns; doubles with each
    #[arg(long, value_name = "NS", default_value_t = 500)]
    pub poll_ns: u64,
    /// Longest pause between two looks at a peer's word, ns
    #[arg(long, value_name = "NS", default_value_t = 32_000)]
    pub poll_most_ns: u64,
}

impl Default for Costs {
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            costs: Costs,
        }
        <Line as clap::Parser>::parse_from([""]).costs
    }
}

/// Nanoseconds as [`Time`].
pub const fn ns(n: u64) -> Time {
    n * 1000
}

/// [`Time`] in microseconds.
pub fn us(t: Time) -> f64 {
    t as f64 / 1e6
}

impl Costs {
    /// How long a message with `bytes` of payload occupies an adapter.
    pub fn occupancy(&self, bytes: u64) -> Time {
        ns(self.message_ns).max((bytes + self.header_bytes) * 8 * 1000 / self.bandwidth_gbit)
    }
}
