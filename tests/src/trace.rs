//! Reads traces in Perfetto's format: what the tests need of it, stated once more, so that a mistake of the writer shows.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(uint64, tag = "8")]
    time: u64,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(message, optional, tag = "60")]
    track: Option<Track>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(message, repeated, tag = "4")]
    annotations: Vec<Annotation>,
    #[prost(int32, tag = "9")]
    phase: i32,
    #[prost(uint64, tag = "10")]
    name: u64,
    #[prost(uint64, tag = "11")]
    track: u64,
    #[prost(fixed64, repeated, tag = "47")]
    flows: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    ended_flows: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Annotation {
    #[prost(uint64, tag = "1")]
    name: u64,
    #[prost(uint64, optional, tag = "3")]
    number: Option<u64>,
    #[prost(uint64, optional, tag = "7")]
    address: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    text: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "2")]
    events: Vec<Name>,
    #[prost(message, repeated, tag = "3")]
    annotations: Vec<Name>,
    #[prost(message, repeated, tag = "29")]
    texts: Vec<Name>,
}

#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Track {
    #[prost(uint64, tag = "1")]
    number: u64,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(message, optional, tag = "4")]
    thread: Option<Thread>,
    #[prost(uint64, tag = "5")]
    parent: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Thread {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(int32, tag = "2")]
    tid: i32,
}

/// Whether a slice begins or ends, or an event has no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// A slice begins.
    Begin,
    /// The innermost one ends.
    End,
    /// A moment.
    Instant,
}

/// An event of a track.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Nanoseconds.
    pub time: u64,
    /// Process that the track is of.
    pub rank: usize,
    /// The track.
    pub track: u64,
    /// What part.
    pub phase: Phase,
    /// Name; empty at ends.
    pub name: String,
    /// Annotations as text.
    pub about: BTreeMap<String, String>,
    /// Flows that leave here, and those that end here.
    pub flows: Vec<u64>,
    /// See there.
    pub ended_flows: Vec<u64>,
}

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// Names of processes by rank.
    pub processes: Vec<String>,
    /// Tracks of threads, each with its process.
    pub threads: HashMap<u64, usize>,
    /// All events, by time.
    pub events: Vec<Moment>,
}

impl Trace {
    /// Reads a file; panics if it is malformed. `is_cut`: the system may not have written the last packet whole.
    pub fn read(path: &Path, is_cut: bool) -> Trace {
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let whole = if is_cut { &bytes[..whole_packets(&bytes)] } else { &bytes[..] };
        let file = File::decode(whole).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut trace = Trace::default();
        let mut names: HashMap<u64, String> = HashMap::new();
        let mut processes: HashMap<u64, usize> = HashMap::new();
        for packet in file.packets {
            if let Some(Interned { events, annotations, texts }) = packet.interned {
                // Numbers are not used twice in these traces.
                names.extend([events, annotations, texts].concat().into_iter().map(|n| (n.number, n.name)));
            }
            if let Some(track) = packet.track {
                if let Some(process) = track.process {
                    assert!(process.pid > 0);
                    let rank = process.name.split_once(", process ").and_then(|(_, rank)| {
                        rank.split(' ').next().and_then(|rank| rank.parse::<usize>().ok())
                    });
                    let rank = rank.unwrap_or_else(|| panic!("a process without a number: {}", process.name));
                    processes.insert(track.number, rank);
                    trace.processes.resize(trace.processes.len().max(rank + 1), String::new());
                    trace.processes[rank] = process.name;
                }
                if let Some(thread) = track.thread {
                    assert!(thread.pid > 0 && thread.tid > 0);
                    trace.threads.insert(track.number, processes[&track.parent]);
                }
            }
            if let Some(event) = packet.event {
                let rank = trace.threads.get(&event.track).or(processes.get(&event.track));
                let rank = *rank.expect("a track comes before its events");
                trace.events.push(event.moment(packet.time, rank, &names));
            }
        }
        trace.events.sort_by_key(|event| event.time);
        trace
    }

    /// Events of a name that begin, or are moments.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Moment> {
        self.events.iter().filter(move |event| event.name == name)
    }

    /// How many of them there are in each process.
    pub fn counts(&self, name: &str) -> Vec<u64> {
        let of = |rank| self.named(name).filter(|event| event.rank == rank).count() as u64;
        (0..self.processes.len()).map(of).collect()
    }

    /// Slices that have begun on each track and have not ended; panics if some end that have not begun.
    pub fn open(&self) -> HashMap<u64, Vec<&str>> {
        let mut open: HashMap<u64, Vec<&str>> = HashMap::new();
        for event in &self.events {
            let stack = open.entry(event.track).or_default();
            match event.phase {
                Phase::Begin => stack.push(&event.name),
                Phase::End => _ = stack.pop().unwrap_or_else(|| panic!("nothing has begun: {event:?}")),
                Phase::Instant => {}
            }
        }
        open
    }

    /// Events from which flows leave, with those where they end.
    pub fn arrows(&self) -> Vec<(&Moment, &Moment)> {
        let starts: HashMap<u64, &Moment> =
            self.events.iter().flat_map(|event| event.flows.iter().map(move |flow| (*flow, event))).collect();
        let ends = self.events.iter().flat_map(|event| event.ended_flows.iter().map(move |f| (f, event)));
        ends.filter_map(|(flow, end)| Some((*starts.get(flow)?, end))).collect()
    }
}

/// Bytes up to the end of the last packet that is whole, as Perfetto reads them.
fn whole_packets(bytes: &[u8]) -> usize {
    let mut end = 0;
    while let Some((_tag, rest)) = bytes[end..].split_first() {
        let Ok(length) = prost::decode_length_delimiter(rest) else { break };
        let next = end + 1 + prost::length_delimiter_len(length) + length;
        if next > bytes.len() {
            break;
        }
        end = next;
    }
    end
}

impl Event {
    fn moment(self, time: u64, rank: usize, names: &HashMap<u64, String>) -> Moment {
        let phase = match self.phase {
            1 => Phase::Begin,
            2 => Phase::End,
            3 => Phase::Instant,
            other => panic!("events of type {other}"),
        };
        let about = self.annotations.into_iter().map(|annotation| {
            let number = annotation.number.map(|number| number.to_string());
            let address = annotation.address.map(|address| format!("{address:#x}"));
            let text = annotation.text.map(|text| names[&text].clone());
            (names[&annotation.name].clone(), number.or(address).or(text).expect("a value"))
        });
        Moment {
            time,
            rank,
            track: self.track,
            phase,
            name: if phase == Phase::End { String::new() } else { names[&self.name].clone() },
            about: about.collect(),
            flows: self.flows,
            ended_flows: self.ended_flows,
        }
    }
}
