//! Makes packets of Perfetto's format of what processes have written.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{SystemTime, UNIX_EPOCH};

use dsm_abi::trace::{Kind, Phase, Record, Text};
use nix::time::{ClockId, clock_gettime};
use prost::Message;

use super::buffers::{NO_RING, Sink};
use super::describe::Describer;
use super::perfetto::{
    BOOTTIME, Clock, ClockSnapshot, EventType, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE,
    ProcessDescriptor, REALTIME, ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use super::symbols;

/// All packets are of one sequence, which is what strings are interned for.
const SEQUENCE: u32 = 1;
/// Processes of different hosts may have the same number in the system, which is less than this: those of the first host keep it.
const NUMBERS_OF_HOST: u32 = 1 << 22;
/// Packets that are written together.
const MOST_PACKETS: usize = 1 << 14;
/// Where a process runs.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Number and name of the host; `None` if the job has one.
    pub host: Option<(u32, String)>,
    /// What its clock has to be set forward by, nanoseconds.
    pub clock: i64,
}

#[derive(Default)]
struct Process {
    place: Place,
    pid: u32,
    /// Source positions by address.
    positions: HashMap<u64, String>,
    rings: HashMap<u32, Ring>,
    threads: u32,
}

/// What is known of a ring at the place up to which it was read.
#[derive(Default)]
struct Ring {
    /// The track of its thread.
    track: Option<u64>,
    /// The last release or acquire, whose flows may follow.
    held: Option<(TracePacket, u64)>,
    /// Events that found no space, as far as the records tell.
    dropped: u64,
    /// Time of the last record.
    last: u64,
}

/// See the module. Packets are in [`Converter::take`].
pub struct Converter {
    program: String,
    describer: Describer,
    places: HashMap<u32, Place>,
    processes: HashMap<u32, Process>,
    packets: Trace,
    dropped: u64,
}

impl Converter {
    /// For a program whose processes are all on this host.
    pub fn new(program: String) -> Converter {
        let mut converter = Converter {
            program,
            describer: Describer::default(),
            places: HashMap::new(),
            processes: HashMap::new(),
            packets: Trace::default(),
            dropped: 0,
        };
        converter.begin();
        converter
    }

    /// Where processes run, before anything is told of them.
    pub fn set_places(&mut self, places: HashMap<u32, Place>) {
        self.places = places;
    }

    /// Encoded packets that are ready. Whatever is written of them is a trace.
    pub fn take(&mut self) -> Vec<u8> {
        let bytes = self.packets.encode_to_vec();
        self.packets.packet.clear();
        bytes
    }

    /// Whether so many packets are ready that they should be taken.
    pub fn is_long(&self) -> bool {
        self.packets.packet.len() >= MOST_PACKETS
    }

    /// Hands out what is still held back; returns the number of events that found no space.
    pub fn finish(&mut self) -> u64 {
        let held = self.processes.values_mut().flat_map(|p| p.rings.values_mut());
        let held: Vec<_> = held.filter_map(|ring| ring.held.take()).collect();
        for (begin, end) in held {
            self.put_slice(begin, end);
        }
        self.dropped
    }

    fn begin(&mut self) {
        let clock = |clock_id, timestamp| Clock { clock_id: Some(clock_id), timestamp: Some(timestamp) };
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
        let clock_snapshot = clock_gettime(ClockId::CLOCK_MONOTONIC).ok().map(|now| ClockSnapshot {
            clocks: vec![
                clock(BOOTTIME, now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64),
                clock(REALTIME, wall),
            ],
        });
        let sequence_flags = Some(INCREMENTAL_STATE_CLEARED);
        self.put(TracePacket { clock_snapshot, sequence_flags, ..TracePacket::default() });
    }

    fn put(&mut self, mut packet: TracePacket) {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.interned_data = self.describer.take_new();
        if packet.track_event.is_some() || packet.interned_data.is_some() {
            packet.sequence_flags = Some(NEEDS_INCREMENTAL_STATE);
        }
        self.packets.packet.push(packet);
    }

    fn put_track(&mut self, track_descriptor: TrackDescriptor) {
        self.put(TracePacket { track_descriptor: Some(track_descriptor), ..TracePacket::default() });
    }

    /// A slice with its end.
    fn put_slice(&mut self, begin: TracePacket, end: u64) {
        let track = begin.track_event.as_ref().and_then(|event| event.track_uuid);
        self.put(begin);
        self.put(packet(end, event(EventType::SliceEnd, track)));
    }

    fn describe(&mut self, rank: u32, record: &Record) -> TrackEvent {
        let positions = self.processes.get(&rank).map(|process| &process.positions);
        let position = positions.and_then(|positions| positions.get(&record.a));
        self.describer.describe(record, position.map(String::as_str))
    }

    fn record(&mut self, rank: u32, ring: u32, record: &Record) {
        let Some(process) = self.processes.get_mut(&rank) else { return };
        let time = record.time.saturating_add_signed(process.place.clock);
        let state = process.rings.entry(ring).or_default();
        state.last = time + record.duration;
        if record.kind == Kind::Precedes {
            if let Some(event) = state.held.as_mut().and_then(|(packet, _)| packet.track_event.as_mut()) {
                event.flow_ids.push(record.a);
            }
            return;
        }
        if record.kind == Kind::Thread {
            return self.thread(rank, ring, record);
        }
        let Some(track) = state.track else { return };
        if record.kind == Kind::Dropped {
            state.dropped += record.a;
            self.dropped += record.a;
        }
        match record.phase {
            Phase::End => {
                let event = event(EventType::SliceEnd, Some(track));
                self.put(packet(time, event));
            }
            Phase::Begin | Phase::Instant => {
                let is_begin = record.phase == Phase::Begin;
                let kind = if is_begin { EventType::SliceBegin } else { EventType::Instant };
                let described = self.describe(rank, record);
                self.put(packet(time, event_of(described, kind, track)));
            }
            Phase::Whole => self.whole(rank, ring, record, time, track),
        }
    }

    fn whole(&mut self, rank: u32, ring: u32, record: &Record, time: u64, track: u64) {
        let mut event = event_of(self.describe(rank, record), EventType::SliceBegin, track);
        let has_flows = matches!(record.kind, Kind::Release | Kind::Acquire);
        if record.kind == Kind::Acquire && record.a != 0 && record.peer != Some(rank) {
            event.terminating_flow_ids = vec![record.a];
        }
        let (begin, end) = (packet(time, event), time + record.duration);
        if !has_flows {
            return self.put_slice(begin, end);
        }
        let state = self.processes.get_mut(&rank).and_then(|process| process.rings.get_mut(&ring));
        if let Some((begin, end)) = state.and_then(|state| state.held.replace((begin, end))) {
            self.put_slice(begin, end);
        }
    }

    /// The ring is another thread's from here on.
    fn thread(&mut self, rank: u32, ring: u32, record: &Record) {
        let Some(process) = self.processes.get_mut(&rank) else { return };
        process.threads += 1;
        let track = u64::from(rank + 1) << 32 | u64::from(process.threads);
        let state = process.rings.entry(ring).or_default();
        state.track = Some(track);
        let held = state.held.take();
        let name: Vec<u8> = [record.a, record.b].into_iter().flat_map(u64::to_ne_bytes).collect();
        let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
        let thread = ThreadDescriptor {
            pid: Some(process.number(process.pid)),
            tid: Some(process.number(record.duration as u32)),
            thread_name: Some(String::from_utf8_lossy(name).into_owned()),
        };
        if let Some((begin, end)) = held {
            self.put_slice(begin, end);
        }
        self.put_track(TrackDescriptor {
            uuid: Some(track),
            thread: Some(thread),
            parent_uuid: Some(process_track(rank)),
            ..TrackDescriptor::default()
        });
    }
}

fn process_track(rank: u32) -> u64 {
    u64::from(rank + 1) << 32
}

fn packet(time: u64, event: TrackEvent) -> TracePacket {
    TracePacket { timestamp: Some(time), track_event: Some(event), ..TracePacket::default() }
}

fn event(kind: EventType, track: Option<u64>) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: track, ..TrackEvent::default() }
}

fn event_of(described: TrackEvent, kind: EventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), ..described }
}

impl Process {
    /// A number of the system, told apart from those of other hosts.
    fn number(&self, id: u32) -> i32 {
        let host = self.place.host.as_ref().map_or(0, |(number, _)| *number);
        (host.wrapping_mul(NUMBERS_OF_HOST).wrapping_add(id)).cast_signed()
    }
}

impl Sink for Converter {
    fn process(&mut self, rank: u32, pid: u32, _wall: u64) {
        let place = self.places.get(&rank).cloned().unwrap_or_default();
        let host = place.host.as_ref().map(|(_, name)| format!(" on {name}")).unwrap_or_default();
        let process = Process { place, pid, ..Process::default() };
        let descriptor = ProcessDescriptor {
            pid: Some(process.number(pid)),
            process_name: Some(format!("{}, process {rank}{host}", self.program)),
        };
        self.processes.insert(rank, process);
        let uuid = Some(process_track(rank));
        self.put_track(TrackDescriptor { uuid, process: Some(descriptor), ..TrackDescriptor::default() });
    }

    fn text(&mut self, rank: u32, kind: u32, key: u64, text: &[u8]) {
        if kind == Text::Image as u32 {
            self.describer.add_image(key, OsString::from_vec(text.to_vec()).into());
        } else if kind == Text::Position as u32
            && let Some(position) = symbols::position(&String::from_utf8_lossy(text))
            && let Some(process) = self.processes.get_mut(&rank)
        {
            process.positions.insert(key, position);
        }
    }

    fn records(&mut self, rank: u32, ring: u32, records: &[Record]) {
        records.iter().for_each(|one| self.record(rank, ring, one));
    }

    fn dropped(&mut self, rank: u32, ring: u32, count: u64) {
        let Some(process) = self.processes.get(&rank) else { return };
        let state = process.rings.get(&ring);
        let told = state.map_or(0, |state| state.dropped);
        let Some(untold) = count.checked_sub(told).filter(|count| *count > 0) else { return };
        let latest = process.rings.values().map(|ring| ring.last).max().unwrap_or(0);
        let (time, track) = match state {
            Some(Ring { track: Some(track), last, .. }) if ring != NO_RING => (*last, *track),
            _ => (latest, process_track(rank)),
        };
        self.dropped += untold;
        let (kind, phase) = (Kind::Dropped, Phase::Instant);
        let record = Record { time, kind, phase, peer: None, duration: 0, a: untold, b: 0 };
        let described = self.describe(rank, &record);
        self.put(packet(time, event_of(described, EventType::Instant, track)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsm_abi::trace::flow;

    const FLOW: u64 = flow::lock(3, 4);

    fn record(kind: Kind, phase: Phase, time: u64, [a, b]: [u64; 2]) -> Record {
        Record { time, kind, phase, peer: None, duration: 0, a, b }
    }

    fn whole(kind: Kind, time: u64, about: [u64; 2]) -> Record {
        Record { duration: 10, peer: Some(1), ..record(kind, Phase::Whole, time, about) }
    }

    /// A converter that knows process 0 and its thread 70.
    fn started() -> Converter {
        let mut converter = Converter::new("x".into());
        converter.process(0, 60, 0);
        let name = u64::from_ne_bytes(*b"omp-1\0\0\0");
        let thread = record(Kind::Thread, Phase::Instant, 1, [name, 0]);
        converter.records(0, 0, &[Record { duration: 70, ..thread }]);
        converter
    }

    fn packets(converter: &mut Converter) -> Vec<TracePacket> {
        Trace::decode(&*converter.take()).expect("a trace").packet
    }

    fn events(converter: &mut Converter) -> Vec<(u64, TrackEvent)> {
        let all = packets(converter).into_iter();
        all.filter_map(|p| Some((p.timestamp?, p.track_event?))).collect()
    }

    #[test]
    fn tracks_are_told_before_their_events() {
        let mut converter = started();
        converter.records(0, 0, &[record(Kind::Wait, Phase::Whole, 2, [0; 2])]);
        let packets = packets(&mut converter);
        let tracks: Vec<_> = packets.iter().filter_map(|p| p.track_descriptor.as_ref()).collect();
        let process = tracks[0].process.as_ref().expect("a process");
        assert_eq!((process.pid, process.process_name.as_deref()), (Some(60), Some("x, process 0")));
        let thread = tracks[1].thread.as_ref().expect("a thread");
        assert_eq!(
            (thread.pid, thread.tid, thread.thread_name.as_deref()),
            (Some(60), Some(70), Some("omp-1"))
        );
        let (last, end) = (&packets[packets.len() - 2], &packets[packets.len() - 1]);
        let event = last.track_event.as_ref().expect("an event");
        assert_eq!(event.track_uuid, tracks[1].uuid);
        assert_eq!(tracks[1].parent_uuid, tracks[0].uuid);
        let interned = last.interned_data.as_ref().expect("strings");
        assert_eq!(interned.event_names[0].iid, event.name_iid);
        assert_eq!(end.track_event.as_ref().map(|e| e.r#type()), Some(EventType::SliceEnd));
    }

    #[test]
    fn flows_leave_the_release_in_front_and_end_at_another_process() {
        let mut converter = started();
        converter.records(
            0,
            0,
            &[
                whole(Kind::Release, 10, [2, 0]),
                record(Kind::Precedes, Phase::Instant, 11, [FLOW, 0]),
                whole(Kind::Acquire, 30, [FLOW + 1, 0]),
            ],
        );
        // An acquire from the own process, as of a lock that another of its threads had.
        converter.records(0, 0, &[Record { peer: Some(0), ..whole(Kind::Acquire, 50, [FLOW + 2, 0]) }]);
        assert_eq!(converter.finish(), 0);
        let begins = events(&mut converter).into_iter().filter(|(_, e)| e.r#type() == EventType::SliceBegin);
        let flows: Vec<_> = begins.map(|(time, e)| (time, e.flow_ids, e.terminating_flow_ids)).collect();
        assert_eq!(flows, [(10, vec![FLOW], vec![]), (30, vec![], vec![FLOW + 1]), (50, vec![], vec![])]);
    }

    #[test]
    fn what_is_missing_is_told_once() {
        let mut converter = started();
        converter.records(0, 0, &[record(Kind::Dropped, Phase::Instant, 5, [3, 0])]);
        converter.dropped(0, 0, 7);
        converter.dropped(0, NO_RING, 2);
        assert_eq!(converter.finish(), 9);
        let count = |e: &TrackEvent| e.debug_annotations[0].uint_value.unwrap_or(0);
        let all = events(&mut converter);
        assert!(all.iter().all(|(_, e)| e.r#type() == EventType::Instant));
        assert_eq!(all.iter().map(|(_, e)| count(e)).collect::<Vec<_>>(), [3, 4, 2]);
        assert_eq!(all[2].1.track_uuid, Some(process_track(0)));
    }

    #[test]
    fn processes_of_other_hosts_have_their_clocks_and_numbers_set_right() {
        let mut converter = Converter::new("x".into());
        let place = Place { host: Some((1, "b".into())), clock: -100 };
        converter.set_places([(1, place)].into());
        converter.process(1, 60, 0);
        converter.records(1, 0, &[record(Kind::Thread, Phase::Instant, 1, [0; 2])]);
        converter.records(1, 0, &[record(Kind::Task, Phase::Begin, 500, [0; 2])]);
        let packets = packets(&mut converter);
        let process = packets.iter().find_map(|p| p.track_descriptor.as_ref()?.process.as_ref());
        let process = process.expect("a process");
        let number = 60 + NUMBERS_OF_HOST as i32;
        assert_eq!((process.pid, process.process_name.as_deref()), (Some(number), Some("x, process 1 on b")));
        assert_eq!(packets.last().and_then(|p| p.timestamp), Some(400));
    }
}
