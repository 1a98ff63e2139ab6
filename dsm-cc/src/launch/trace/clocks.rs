//! What the clocks of hosts differ by.
//!
//! Whatever a release sends to an acquire on another host leaves at a time of one clock and arrives, later, at a time of the other. Two processes that send to each
//! other bound what their clocks differ by from both sides, as request and reply do in Cristian's algorithm (Distributed Computing 3, 1989): the fastest message of each
//! direction counts. Here the messages are those of the program's own barriers, regions and locks, of which there are many, and none is made for the purpose.
//!
//! With several hosts this is a system of difference constraints, whose extreme solutions are shortest paths (Bellman 1958). What is taken is the middle
//! between the greatest and the least solution. It is a solution as well, so no arrow of the trace goes backwards if clocks go equally fast. A host that has no messages in
//! one of the directions is placed by its wall clock.

use std::collections::HashMap;

use dsm_abi::trace::{Kind, Record, flow};

use super::buffers::Sink;

/// Most messages that are looked at; of more, some are chosen.
const MOST: usize = 1 << 20;

/// One end of a message.
#[derive(Clone, Copy, Debug)]
struct End {
    host: u32,
    time: u64,
}

/// Reads what processes have written, for the times of messages.
#[derive(Debug)]
pub struct Clocks {
    /// Number of the host by rank.
    hosts: Vec<u32>,
    /// What the wall clock of a host is ahead of its monotonic clock.
    walls: HashMap<u32, u64>,
    /// Begin and end of the last release or acquire of a ring.
    last: HashMap<(u32, u32), (u64, u64)>,
    sent: HashMap<u64, End>,
    received: HashMap<u64, End>,
    /// One flow in so many is looked at.
    every: u64,
}

/// Whether a flow is one of those looked at.
fn is_chosen(flow: u64, every: u64) -> bool {
    // The finaliser of MurmurHash3.
    let mixed = (flow ^ flow >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed >> 33).is_multiple_of(every)
}

impl Clocks {
    /// For a job whose process `rank` is on host `hosts[rank]`.
    pub fn new(hosts: Vec<u32>) -> Clocks {
        Clocks {
            hosts,
            walls: HashMap::new(),
            last: HashMap::new(),
            sent: HashMap::new(),
            received: HashMap::new(),
            every: 1,
        }
    }

    /// What the clock of each host has to be set forward by to be that of the first one, nanoseconds.
    pub fn offsets(&self) -> HashMap<u32, i64> {
        let edges = self.edges();
        let greatest = shortest(edges.iter().map(|(&(from, to), &ns)| (to, from, ns)));
        let least = shortest(edges.iter().map(|(&(from, to), &ns)| (from, to, ns)));
        let first = self.walls.get(&0).copied().unwrap_or(0);
        let offset = |(host, wall): (&u32, &u64)| {
            let wall = wall.wrapping_sub(first).cast_signed();
            let offset = match (least.get(host).map(|ns| -ns), greatest.get(host)) {
                (Some(least), Some(greatest)) => least.midpoint(*greatest),
                (Some(least), None) => wall.max(least),
                (None, Some(greatest)) => wall.min(*greatest),
                (None, None) => wall,
            };
            (*host, offset)
        };
        self.walls.iter().map(offset).collect()
    }

    /// Of the messages from one host to another, the least that any took by the two clocks.
    fn edges(&self) -> HashMap<(u32, u32), i64> {
        let mut edges = HashMap::new();
        for (flow, to) in &self.received {
            let Some(from) = self.sent.get(flow).filter(|from| from.host != to.host) else { continue };
            let took = to.time.wrapping_sub(from.time).cast_signed();
            let least = edges.entry((from.host, to.host)).or_insert(took);
            *least = took.min(*least);
        }
        edges
    }

    fn note(&mut self, rank: u32, ring: u32, record: &Record) {
        let Some(&host) = self.hosts.get(rank as usize) else { return };
        let place = (rank, ring);
        if record.kind == Kind::Precedes {
            let Some(&(begin, end)) = self.last.get(&place) else { return };
            // A lock is handed over before its release is quite at its end.
            let time = if flow::is_lock(record.a) { begin } else { end };
            if is_chosen(record.a, self.every) {
                self.sent.insert(record.a, End { host, time });
            }
        } else {
            self.last.insert(place, (record.time, record.time + record.duration));
            if record.kind == Kind::Acquire && record.a != 0 && is_chosen(record.a, self.every) {
                self.received.insert(record.a, End { host, time: record.time });
            }
        }
        while self.sent.len().max(self.received.len()) > MOST {
            self.every *= 2;
            let every = self.every;
            self.sent.retain(|flow, _| is_chosen(*flow, every));
            self.received.retain(|flow, _| is_chosen(*flow, every));
        }
    }
}

/// Lengths of the shortest paths from host 0 (Bellman and Ford). Clocks that do not go equally fast may make circles of negative length: each edge is taken as
/// often as a path can have it.
fn shortest(edges: impl Iterator<Item = (u32, u32, i64)>) -> HashMap<u32, i64> {
    let edges: Vec<_> = edges.collect();
    let mut lengths = HashMap::from([(0, 0)]);
    let hosts = edges.iter().map(|(from, to, _)| from.max(to)).max().map_or(0, |last| *last);
    for _ in 0..hosts {
        for &(from, to, ns) in &edges {
            let Some(length) = lengths.get(&from).map(|length| length + ns).filter(|_| to != 0) else {
                continue;
            };
            let known = lengths.entry(to).or_insert(length);
            *known = length.min(*known);
        }
    }
    lengths
}

impl Sink for Clocks {
    fn process(&mut self, rank: u32, _pid: u32, wall: u64) {
        if let Some(host) = self.hosts.get(rank as usize) {
            self.walls.entry(*host).or_insert(wall);
        }
    }

    fn text(&mut self, _rank: u32, _kind: u32, _key: u64, _text: &[u8]) {}

    fn records(&mut self, rank: u32, ring: u32, records: &[Record]) {
        let is_end = |r: &&Record| matches!(r.kind, Kind::Release | Kind::Acquire | Kind::Precedes);
        records.iter().filter(is_end).for_each(|record| self.note(rank, ring, record));
    }

    fn dropped(&mut self, _rank: u32, _ring: u32, _count: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsm_abi::trace::Phase;

    /// Tells of messages between processes whose clocks are behind that of the first one by these times.
    struct Messages {
        clocks: Clocks,
        behind: [u64; 4],
        count: u32,
    }

    impl Messages {
        fn new(behind: [u64; 4]) -> Messages {
            let mut clocks = Clocks::new(vec![0, 1, 2, 3]);
            for rank in 0..4 {
                clocks.process(rank, 1, 1000 * u64::from(rank));
            }
            Messages { clocks, behind, count: 0 }
        }

        fn send(&mut self, from: u32, to: u32, sent: u64, takes: u64) {
            self.count += 1;
            let flow = flow::barrier(to, 0, self.count);
            let record = |kind, time, duration, a| Record {
                time,
                kind,
                phase: Phase::Whole,
                peer: None,
                duration,
                a,
                b: 0,
            };
            let time = |rank: u32, time: u64| time - self.behind[rank as usize];
            let release = record(Kind::Release, time(from, sent) - 7, 7, 0);
            let precedes = record(Kind::Precedes, time(from, sent + 900), 0, flow);
            let acquire = record(Kind::Acquire, time(to, sent + takes), 3, flow);
            self.clocks.records(from, 0, &[release, precedes]);
            self.clocks.records(to, 0, &[acquire]);
        }
    }

    #[test]
    fn the_fastest_messages_of_each_direction_decide() {
        let mut messages = Messages::new([0, 10_000, 0, 0]);
        for (sent, there, back) in [(20_000, 30, 70), (21_000, 50, 40)] {
            messages.send(0, 1, sent, there);
            messages.send(1, 0, sent + 500, back);
        }
        let offsets = messages.clocks.offsets();
        assert_eq!([offsets[&0], offsets[&1]], [0, 10_000 + (40 - 30) / 2]);
    }

    #[test]
    fn hosts_that_hear_of_the_first_one_by_others_are_placed_too() {
        let mut messages = Messages::new([0, 500, 800, 0]);
        for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
            messages.send(from, to, 5_000, 20);
        }
        let offsets = messages.clocks.offsets();
        // The last one has sent nothing: its wall clock tells.
        assert_eq!([offsets[&1], offsets[&2], offsets[&3]], [500, 800, 3000]);
    }

    #[test]
    fn one_direction_bounds_what_the_wall_clocks_say() {
        let mut messages = Messages::new([0, 10_000, 5, 0]);
        messages.send(0, 1, 50_000, 30);
        messages.send(2, 0, 50_000, 30);
        let offsets = messages.clocks.offsets();
        assert_eq!([offsets[&1], offsets[&2]], [10_000 - 30, 5 + 30]);
    }

    #[test]
    fn flows_that_are_left_out_are_so_at_both_ends() {
        let chosen = (0..1000).filter(|flow| is_chosen(flow << 3 | 5 << 60, 4)).count();
        assert!((100..500).contains(&chosen), "{chosen}");
        assert!((0..1000).all(|flow| is_chosen(flow, 1)));
    }
}
