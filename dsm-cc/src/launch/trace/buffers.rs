//! The memory file that the processes of this host write events to, and reading it. Its layout: [`dsm_abi::trace`].

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, fence};

use dsm_abi::trace::{
    HEADER_BYTES, Layout, MAX_RINGS, RECORD_BYTES, RECORD_WORDS, RING_RECORDS, Record, TEXT_BYTES,
    TEXT_HEADER_BYTES, file_word, process_word, ring_word,
};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Who gets what was read.
pub trait Sink {
    /// A process has begun to write. `wall`: what its wall clock was ahead of its monotonic one, nanoseconds.
    fn process(&mut self, rank: u32, pid: u32, wall: u64);
    /// A piece of its text.
    fn text(&mut self, rank: u32, kind: u32, key: u64, text: &[u8]);
    /// Records of a ring, in order.
    fn records(&mut self, rank: u32, ring: u32, records: &[Record]);
    /// At the end: how many events of a ring found no space. Ring [`NO_RING`]: of threads that had no ring.
    fn dropped(&mut self, rank: u32, ring: u32, count: u64);
}

/// Number of no ring.
pub const NO_RING: u32 = u32::MAX;

/// The file.
#[derive(Debug)]
pub struct Buffers {
    file: File,
    layout: Layout,
    ranks: Range<u32>,
}

/// Records that fit into so many bytes: the next smaller power of two, within the limits.
fn records_in(bytes: u64) -> usize {
    let records =
        (bytes / RECORD_BYTES as u64).clamp(*RING_RECORDS.start() as u64, *RING_RECORDS.end() as u64);
    1 << records.ilog2()
}

impl Buffers {
    /// Buffers for these processes, of so many bytes for each of their threads.
    ///
    /// # Errors
    /// The system's.
    pub fn create(bytes: u64, ranks: Range<u32>) -> io::Result<Buffers> {
        let layout = Layout { ring_records: records_in(bytes) };
        let file = File::from(memfd_create(c"dsm-trace", MFdFlags::MFD_CLOEXEC)?);
        // Pages come into being when they are written.
        file.set_len(layout.file_bytes(ranks.len()) as u64)?;
        let mut header = [0; 16];
        put(&mut header, file_word::RING_RECORDS, layout.ring_records as u64);
        put(&mut header, file_word::FIRST, ranks.start.into());
        file.write_all_at(&header, 0)?;
        Ok(Buffers { file, layout, ranks })
    }

    /// What the processes inherit.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn put(bytes: &mut [u8], word: usize, value: u64) {
    bytes[8 * word..][..8].copy_from_slice(&value.to_ne_bytes());
}

fn get(bytes: &[u8], word: usize) -> u64 {
    u64::from_ne_bytes(bytes[8 * word..][..8].try_into().expect("eight bytes"))
}

/// How far a process's buffers were read.
#[derive(Clone, Debug, Default)]
struct Process {
    is_known: bool,
    text: usize,
    /// Records of each ring.
    rings: Vec<u64>,
}

/// Reads what the processes write.
#[derive(Debug)]
pub struct Reader {
    buffers: Buffers,
    processes: Vec<Process>,
    bytes: Vec<u8>,
    records: Vec<Record>,
}

impl Reader {
    /// At the beginning.
    pub fn new(buffers: Buffers) -> Reader {
        let processes = vec![Process::default(); buffers.ranks.len()];
        Reader { buffers, processes, bytes: Vec::new(), records: Vec::new() }
    }

    /// Reads what has come since the last time, and frees space for more; returns how full the fullest ring was, in 1/256.
    ///
    /// # Errors
    /// The system's.
    pub fn drain(&mut self, sink: &mut impl Sink) -> io::Result<u64> {
        let mut fullest = 0;
        for index in 0..self.processes.len() {
            let header = self.words::<{ process_word::COUNT }>(self.buffers.layout.process(index))?;
            let pid = header[process_word::PID];
            if pid == 0 {
                continue;
            }
            // What is counted was written before.
            fence(Ordering::Acquire);
            let rank = self.rank(index);
            if !std::mem::replace(&mut self.processes[index].is_known, true) {
                sink.process(rank, pid as u32, header[process_word::WALL]);
            }
            let rings = (header[process_word::RINGS] as usize).min(MAX_RINGS);
            self.processes[index].rings.resize(rings, 0);
            // What records name is in the text before they are written, so the text is read behind their counts.
            let layout = self.buffers.layout;
            let written: Vec<u64> = (0..rings)
                .map(|ring| Ok(self.words::<2>(layout.ring(index, ring))?[ring_word::WRITTEN]))
                .collect::<io::Result<_>>()?;
            fence(Ordering::Acquire);
            let header = self.words::<{ process_word::COUNT }>(layout.process(index))?;
            self.read_text(index, header[process_word::TEXT], sink)?;
            for (ring, written) in written.into_iter().enumerate() {
                fullest = fullest.max(self.read_ring(index, ring, written, sink)?);
            }
        }
        Ok(fullest)
    }

    /// Reads the rest, and what was dropped. No process is left.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self, sink: &mut impl Sink) -> io::Result<()> {
        self.drain(sink)?;
        for index in 0..self.processes.len() {
            let rank = self.rank(index);
            for ring in 0..self.processes[index].rings.len() {
                let header = self.words::<2>(self.buffers.layout.ring(index, ring))?;
                sink.dropped(rank, ring as u32, header[ring_word::DROPPED]);
            }
            let header = self.words::<{ process_word::COUNT }>(self.buffers.layout.process(index))?;
            sink.dropped(rank, NO_RING, header[process_word::LOST]);
        }
        Ok(())
    }

    fn rank(&self, index: usize) -> u32 {
        self.buffers.ranks.start + index as u32
    }

    fn words<const N: usize>(&self, offset: usize) -> io::Result<[u64; N]> {
        let mut bytes = vec![0; 8 * N];
        self.buffers.file.read_exact_at(&mut bytes, offset as u64)?;
        Ok(std::array::from_fn(|i| get(&bytes, i)))
    }

    fn read_text(&mut self, index: usize, length: u64, sink: &mut impl Sink) -> io::Result<()> {
        let (rank, from) = (self.rank(index), self.processes[index].text);
        let until = (length as usize).min(TEXT_BYTES);
        if until <= from {
            return Ok(());
        }
        self.bytes.resize(until - from, 0);
        self.buffers.file.read_exact_at(&mut self.bytes, (self.buffers.layout.text(index) + from) as u64)?;
        self.processes[index].text = until;
        let mut rest = &self.bytes[..];
        while let Some((header, behind)) = rest.split_at_checked(TEXT_HEADER_BYTES) {
            let (key, about) = (get(header, 0), get(header, 1));
            let length = (about >> 32) as usize;
            let Some(text) = behind.get(..length) else { break };
            sink.text(rank, about as u32, key, text);
            rest = behind.get(length.next_multiple_of(8)..).unwrap_or(&[]);
        }
        Ok(())
    }

    fn read_ring(
        &mut self,
        index: usize,
        ring: usize,
        written: u64,
        sink: &mut impl Sink,
    ) -> io::Result<u64> {
        let offset = self.buffers.layout.ring(index, ring);
        let size = self.buffers.layout.ring_records as u64;
        let read = self.processes[index].rings[ring];
        // No more than fits is there, whatever the count says.
        let count = written.saturating_sub(read).min(size);
        if count == 0 {
            return Ok(0);
        }
        self.records.clear();
        let first = read % size;
        for (from, count) in [(first, count.min(size - first)), (0, count.saturating_sub(size - first))] {
            self.bytes.resize(count as usize * RECORD_BYTES, 0);
            let at = offset + HEADER_BYTES + from as usize * RECORD_BYTES;
            self.buffers.file.read_exact_at(&mut self.bytes, at as u64)?;
            let words = |bytes: &[u8]| -> [u64; RECORD_WORDS] { std::array::from_fn(|i| get(bytes, i)) };
            self.records
                .extend(self.bytes.chunks_exact(RECORD_BYTES).filter_map(|bytes| Record::of(words(bytes))));
        }
        let now = read + count;
        self.processes[index].rings[ring] = now;
        self.buffers.file.write_all_at(&now.to_ne_bytes(), (offset + 8 * ring_word::READ) as u64)?;
        sink.records(self.rank(index), ring as u32, &self.records);
        Ok(256 * count / size)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use dsm_abi::trace::{Kind, Phase};

    /// What a sink got, as text.
    #[derive(Debug, Default)]
    pub struct Transcript(pub Vec<String>);

    impl Sink for Transcript {
        fn process(&mut self, rank: u32, pid: u32, wall: u64) {
            self.0.push(format!("process {rank} is {pid}, wall {wall}"));
        }

        fn text(&mut self, rank: u32, kind: u32, key: u64, text: &[u8]) {
            self.0.push(format!("text of {rank}: {kind} {key} {}", String::from_utf8_lossy(text)));
        }

        fn records(&mut self, rank: u32, ring: u32, records: &[Record]) {
            let times: Vec<u64> = records.iter().map(|r| r.time).collect();
            self.0.push(format!("records of {rank}.{ring}: {times:?}"));
        }

        fn dropped(&mut self, rank: u32, ring: u32, count: u64) {
            if count > 0 {
                self.0.push(format!("dropped by {rank}.{}: {count}", ring.cast_signed()));
            }
        }
    }

    /// A process's part of the file, written as the runtime does.
    struct Writer<'a> {
        buffers: &'a Buffers,
        index: usize,
    }

    impl Writer<'_> {
        fn header(&self, word: usize, value: u64) {
            self.put(self.buffers.layout.process(self.index) + 8 * word, &value.to_ne_bytes());
        }

        fn put(&self, offset: usize, bytes: &[u8]) {
            self.buffers.file.write_all_at(bytes, offset as u64).unwrap();
        }

        fn records(&self, ring: usize, numbers: Range<u64>) {
            let offset = self.buffers.layout.ring(self.index, ring);
            let end = numbers.end;
            for number in numbers {
                let (kind, phase) = (Kind::Wait, Phase::Whole);
                let record = Record { time: number, kind, phase, peer: None, duration: 1, a: 0, b: 0 };
                let at = number as usize % self.buffers.layout.ring_records * RECORD_BYTES;
                let bytes: Vec<u8> = record.words().into_iter().flat_map(u64::to_ne_bytes).collect();
                self.put(offset + HEADER_BYTES + at, &bytes);
            }
            self.put(offset, &end.to_ne_bytes());
        }
    }

    #[test]
    fn what_was_written_is_read_once() {
        let buffers = Buffers::create(0, 3..5).unwrap();
        let size = buffers.layout.ring_records as u64;
        assert_eq!(size, *RING_RECORDS.start() as u64);
        let mut reader = Reader::new(Buffers { file: buffers.file.try_clone().unwrap(), ..buffers });
        let file = reader.buffers.file.try_clone().unwrap();
        let buffers = Buffers { file, layout: reader.buffers.layout, ranks: 3..5 };
        let writer = Writer { buffers: &buffers, index: 1 };
        let mut transcript = Transcript::default();
        assert_eq!(reader.drain(&mut transcript).unwrap(), 0);
        assert!(transcript.0.is_empty());

        writer.header(process_word::PID, 77);
        writer.header(process_word::WALL, 5);
        writer.header(process_word::RINGS, 2);
        writer.records(1, 0..2);
        let mut piece = Vec::new();
        piece.extend(9_u64.to_ne_bytes());
        piece.extend((2_u64 | 3 << 32).to_ne_bytes());
        piece.extend(b"abc\0\0\0\0\0");
        writer.put(buffers.layout.text(1), &piece);
        writer.header(process_word::TEXT, piece.len() as u64);
        assert_eq!(reader.drain(&mut transcript).unwrap(), 256 * 2 / size);
        assert_eq!(
            std::mem::take(&mut transcript.0),
            ["process 4 is 77, wall 5", "text of 4: 2 9 abc", "records of 4.1: [0, 1]"]
        );

        // Around the end.
        writer.records(1, 2..size);
        reader.drain(&mut transcript).unwrap();
        writer.records(1, size..size + 3);
        transcript.0.clear();
        reader.drain(&mut transcript).unwrap();
        assert_eq!(transcript.0, [format!("records of 4.1: {:?}", (size..size + 3).collect::<Vec<_>>())]);

        transcript.0.clear();
        writer.put(buffers.layout.ring(1, 1) + 8 * ring_word::DROPPED, &5_u64.to_ne_bytes());
        writer.header(process_word::LOST, 6);
        reader.finish(&mut transcript).unwrap();
        assert_eq!(transcript.0, ["dropped by 4.1: 5", "dropped by 4.-1: 6"]);
    }

    #[test]
    fn a_ring_has_a_power_of_two_of_records() {
        for (bytes, records) in
            [(0, 128), (4096, 128), (1 << 20, 1 << 15), ((1 << 20) - 1, 1 << 14), (u64::MAX, 1 << 20)]
        {
            assert_eq!(records_in(bytes), records, "{bytes}");
        }
    }
}
