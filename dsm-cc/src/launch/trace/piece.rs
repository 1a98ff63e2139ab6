//! What a daemon reads of its processes' events, as bytes on their way to the head: [`write`](Writer) there, [`read`] here.

use std::io::{self, ErrorKind, Read, Write};

use dsm_abi::trace::{RECORD_BYTES, RECORD_WORDS, Record};

use super::buffers::Sink;

/// Bytes in front of each part: what it is, ring or process, number of bytes behind, key.
const HEADER_BYTES: usize = 24;
/// Most bytes of a part: more than a ring, or a process's text, can have.
const LONGEST: usize = 64 << 20;

/// What a part is. Others are kinds of text.
const PROCESS: u32 = 100;
const RECORDS: u32 = 101;
const DROPPED: u32 = 102;

/// Writes what it gets about one process.
pub struct Writer<W> {
    to: W,
    error: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// To a file.
    pub fn new(to: W) -> Writer<W> {
        Writer { to, error: None }
    }

    /// Whether all was written.
    ///
    /// # Errors
    /// The first failure, after which nothing was written.
    pub fn finish(self) -> io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn part(&mut self, what: u32, number: u32, key: u64, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let mut part = Vec::with_capacity(HEADER_BYTES + bytes.len());
        part.extend(what.to_le_bytes());
        part.extend(number.to_le_bytes());
        part.extend((bytes.len() as u64).to_le_bytes());
        part.extend(key.to_le_bytes());
        part.extend(bytes);
        self.error = self.to.write_all(&part).err();
    }
}

impl<W: Write> Sink for Writer<W> {
    fn process(&mut self, _rank: u32, pid: u32, wall: u64) {
        self.part(PROCESS, pid, wall, &[]);
    }

    fn text(&mut self, _rank: u32, kind: u32, key: u64, text: &[u8]) {
        self.part(kind, 0, key, text);
    }

    fn records(&mut self, _rank: u32, ring: u32, records: &[Record]) {
        let bytes: Vec<u8> = records.iter().flat_map(Record::words).flat_map(u64::to_le_bytes).collect();
        self.part(RECORDS, ring, 0, &bytes);
    }

    fn dropped(&mut self, _rank: u32, ring: u32, count: u64) {
        self.part(DROPPED, ring, count, &[]);
    }
}

/// Tells what was written about process `rank`, up to the first part that is not whole.
///
/// # Errors
/// Bytes that nobody writes, and the system's.
pub fn read(from: &mut impl Read, rank: u32, sink: &mut impl Sink) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    let mut bytes = Vec::new();
    loop {
        match from.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            result => result?,
        }
        let half = |at: usize| u32::from_le_bytes(header[at..][..4].try_into().expect("four bytes"));
        let word = |at: usize| u64::from_le_bytes(header[at..][..8].try_into().expect("eight bytes"));
        let (what, number, length, key) = (half(0), half(4), word(8), word(16));
        let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a part is too long"))?;
        bytes.resize(length, 0);
        match from.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            result => result?,
        }
        match what {
            PROCESS => sink.process(rank, number, key),
            RECORDS => sink.records(rank, number, &records(&bytes)),
            DROPPED => sink.dropped(rank, number, key),
            kind => sink.text(rank, kind, key, &bytes),
        }
    }
}

fn records(bytes: &[u8]) -> Vec<Record> {
    let words = |record: &[u8]| -> [u64; RECORD_WORDS] {
        std::array::from_fn(|i| u64::from_le_bytes(record[8 * i..][..8].try_into().expect("eight bytes")))
    };
    bytes.chunks_exact(RECORD_BYTES).filter_map(|record| Record::of(words(record))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::buffers::tests::Transcript;
    use super::super::clocks::Clocks;
    use super::super::convert::{Converter, Place};
    use super::*;
    use dsm_abi::trace::{Kind, Phase};

    #[test]
    fn what_was_written_is_told_as_far_as_it_is_whole() {
        let record = |time| Record {
            time,
            kind: Kind::Fetch,
            phase: Phase::Whole,
            peer: Some(1),
            duration: 2,
            a: 3,
            b: 4,
        };
        let mut writer = Writer::new(Vec::new());
        writer.process(0, 77, 5);
        writer.text(0, 2, 9, b"abc");
        writer.records(0, 5, &[record(1), record(2)]);
        writer.dropped(0, 5, 6);
        let bytes = std::mem::take(&mut writer.to);
        let expected =
            ["process 3 is 77, wall 5", "text of 3: 2 9 abc", "records of 3.5: [1, 2]", "dropped by 3.5: 6"];
        let transcript = |bytes: &[u8]| {
            let mut transcript = Transcript::default();
            read(&mut &*bytes, 3, &mut transcript).map(|()| transcript.0)
        };
        assert_eq!(transcript(&bytes).unwrap(), expected);
        for end in 0..bytes.len() {
            let transcript = transcript(&bytes[..end]).unwrap();
            assert_eq!(transcript, expected[..transcript.len()]);
        }
        let mut damaged = bytes;
        damaged[15] = 1;
        assert!(transcript(&damaged).is_err());
    }

    /// What daemons send becomes a trace, whatever it is, or an error.
    #[test]
    fn damaged_pieces_do_no_harm() {
        let all = (1..=u8::MAX).filter_map(Kind::of).map(|kind| Record {
            time: 1000 * u64::from(kind as u8),
            kind,
            phase: Phase::Whole,
            peer: Some(1),
            duration: 2,
            a: 3,
            b: 1 << 32 | 4,
        });
        let mut writer = Writer::new(Vec::new());
        writer.process(0, 77, 5);
        for kind in 0..8 {
            writer.text(0, kind, 9, b"x.c:3");
        }
        writer.records(0, 0, &all.collect::<Vec<_>>());
        writer.dropped(0, 0, 6);
        let valid = [std::mem::take(&mut writer.to)];
        let mut whole = 0;
        dsm_mutate::each(&valid, 5000, |bytes| {
            let mut clocks = Clocks::new(vec![0, 1]);
            let read_all = |sink: &mut dyn FnMut(&mut &[u8], u32) -> io::Result<()>| {
                sink(&mut &*bytes, 0).and(sink(&mut &*valid[0], 1))
            };
            let first = read_all(&mut |bytes, rank| read(bytes, rank, &mut clocks));
            let mut converter = Converter::new("x".into());
            let place = |rank: u32| {
                let clock = clocks.offsets().get(&rank).copied().unwrap_or(0);
                (rank, Place { host: Some((rank, "h".into())), clock })
            };
            converter.set_places([0, 1].map(place).into());
            let second = read_all(&mut |bytes, rank| read(bytes, rank, &mut converter));
            assert_eq!(first.is_ok(), second.is_ok());
            converter.finish();
            whole += u32::from(first.is_ok());
            assert!(!converter.take().is_empty());
        });
        assert!(whole > 1000, "{whole} were whole");
    }
}
