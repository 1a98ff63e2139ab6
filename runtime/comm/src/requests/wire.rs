//! What goes over the connections, encoded and decoded.
//!
//! A request is a header of [`HEADER`] bytes and a payload whose length the header has. A decoded request lies inside the segment and is aligned, and encodes
//! to the bytes that it came from: fields that an operation does not use are 0. Numbers are little-endian.

use super::carrier::RemoteKey;
use super::{Update, Wake, Width};

/// Bytes of a request without its payload.
pub(super) const HEADER: usize = 48;
/// Most bytes that travel at once: longer transfers are several requests.
pub(crate) const MAX_PAYLOAD: usize = 256 << 10;
/// Most bytes of the reply to a call: contents as of a transfer, and what tells of them.
pub(crate) const MAX_CALL_REPLY: usize = MAX_PAYLOAD + (4 << 10);
/// Most bytes of a call that has no reply.
pub(crate) const MAX_POST: usize = 8 << 10;
/// Bytes of a reply without its payload.
pub(super) const REPLY: usize = 16;
/// Bytes of the answer to a wait.
pub(super) const ANSWER: usize = 8;
/// Bytes of what a peer says of a piece of its segment.
pub(super) const KEY_BYTES: usize = 32;
/// Bytes of a piece of a segment, which is registered as one for adapters to read: a huge page.
pub(crate) const PIECE: usize = 2 << 20;
/// Bytes in front of the contents of a run of changed bytes.
pub(super) const RUN: usize = 8;

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("there is no operation {0}")]
    Operation(u8),
    #[error("a length of {0} bytes")]
    Length(u64),
    #[error("{bytes} bytes at {offset:#x} are not in the segment, or not aligned")]
    Place { offset: u64, bytes: u64 },
    #[error("impossible fields")]
    Fields,
    #[error("a call that does not exist, or of something that does not")]
    Call,
    #[error("a message that is not whole")]
    Torn,
    #[error("the operation belongs on another lane")]
    Lane,
}

/// An operation on the segment of the process that gets the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request<'a> {
    Load {
        offset: usize,
        width: Width,
    },
    Update {
        offset: usize,
        width: Width,
        update: Update,
        value: u64,
        wake: Option<Wake>,
    },
    CompareExchange {
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    },
    ReadWords {
        offset: usize,
        bytes: usize,
    },
    WriteWords {
        offset: usize,
        words: &'a [u8],
    },
    Read {
        offset: usize,
        bytes: usize,
    },
    Write {
        offset: usize,
        contents: &'a [u8],
    },
    Patch {
        offset: usize,
        runs: &'a [u8],
    },
    Wait {
        offset: usize,
        seen: u32,
        wake: Wake,
        id: u32,
    },
    Wake {
        offset: usize,
        wake: Wake,
    },
    /// What the process said of itself at the start.
    Identity,
    /// A procedure of whoever uses the segments, which knows what the request means.
    Call {
        request: &'a [u8],
    },
    /// The same, which nobody waits for: it has no reply.
    Post {
        request: &'a [u8],
    },
    /// By which key the requester's adapter may read the piece that begins at an offset.
    Key {
        offset: usize,
    },
}

const LOAD: u8 = 1;
const UPDATE: u8 = 2;
const COMPARE_EXCHANGE: u8 = 3;
const READ_WORDS: u8 = 4;
const WRITE_WORDS: u8 = 5;
const READ: u8 = 6;
const WRITE: u8 = 7;
const PATCH: u8 = 8;
const WAIT: u8 = 9;
const WAKE: u8 = 10;
const IDENTITY: u8 = 11;
const CALL: u8 = 12;
const POST: u8 = 13;
const KEY: u8 = 14;

/// A header, field by field.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Fields {
    operation: u8,
    /// 0: none.
    width: u8,
    /// 0: none.
    update: u8,
    /// 1: `sleepers` and `mask` mean something.
    wakes: u8,
    payload: u32,
    offset: u64,
    value: u64,
    expected: u64,
    sleepers: u64,
    mask: u32,
    id: u32,
}

impl Fields {
    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&[self.operation, self.width, self.update, self.wakes]);
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        for (i, word) in [self.offset, self.value, self.expected, self.sleepers].into_iter().enumerate() {
            bytes[8 + 8 * i..][..8].copy_from_slice(&word.to_le_bytes());
        }
        bytes[40..44].copy_from_slice(&self.mask.to_le_bytes());
        bytes[44..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER]) -> Fields {
        Fields {
            operation: bytes[0],
            width: bytes[1],
            update: bytes[2],
            wakes: bytes[3],
            payload: u32_at(bytes, 4),
            offset: u64_at(bytes, 8),
            value: u64_at(bytes, 16),
            expected: u64_at(bytes, 24),
            sleepers: u64_at(bytes, 32),
            mask: u32_at(bytes, 40),
            id: u32_at(bytes, 44),
        }
    }

    fn with_wake(self, wake: Option<Wake>) -> Fields {
        match wake {
            Some(wake) => Fields { wakes: 1, sleepers: wake.sleepers as u64, mask: wake.mask, ..self },
            None => self,
        }
    }

    fn width(&self) -> Result<Width, Malformed> {
        Width::ALL.into_iter().find(|w| *w as u8 + 1 == self.width).ok_or(Malformed::Fields)
    }

    fn update(&self) -> Result<Update, Malformed> {
        Update::ALL.into_iter().find(|u| *u as u8 + 1 == self.update).ok_or(Malformed::Fields)
    }

    fn wake(&self) -> Option<Wake> {
        (self.wakes != 0).then_some(Wake { sleepers: self.sleepers as usize, mask: self.mask })
    }
}

impl<'a> Request<'a> {
    /// The bytes in front of the payload.
    pub(super) fn header(&self) -> [u8; HEADER] {
        self.fields().encode()
    }

    /// What follows the header.
    pub(super) fn payload(&self) -> &'a [u8] {
        match *self {
            Request::WriteWords { words: payload, .. }
            | Request::Write { contents: payload, .. }
            | Request::Patch { runs: payload, .. }
            | Request::Call { request: payload }
            | Request::Post { request: payload } => payload,
            _ => &[],
        }
    }

    fn fields(&self) -> Fields {
        let of = |operation, offset: usize| Fields {
            operation,
            offset: offset as u64,
            payload: self.payload().len() as u32,
            ..Fields::default()
        };
        match *self {
            Request::Load { offset, width } => Fields { width: width as u8 + 1, ..of(LOAD, offset) },
            Request::Update { offset, width, update, value, wake } => {
                let (width, update) = (width as u8 + 1, update as u8 + 1);
                Fields { width, update, value, ..of(UPDATE, offset) }.with_wake(wake)
            }
            Request::CompareExchange { offset, width, expected, new, wake } => {
                Fields { width: width as u8 + 1, value: new, expected, ..of(COMPARE_EXCHANGE, offset) }
                    .with_wake(wake)
            }
            Request::ReadWords { offset, bytes } => Fields { value: bytes as u64, ..of(READ_WORDS, offset) },
            Request::WriteWords { offset, .. } => of(WRITE_WORDS, offset),
            Request::Read { offset, bytes } => Fields { value: bytes as u64, ..of(READ, offset) },
            Request::Write { offset, .. } => of(WRITE, offset),
            Request::Patch { offset, .. } => of(PATCH, offset),
            Request::Wait { offset, seen, wake, id } => {
                Fields { value: seen.into(), id, ..of(WAIT, offset) }.with_wake(Some(wake))
            }
            Request::Wake { offset, wake } => of(WAKE, offset).with_wake(Some(wake)),
            Request::Identity => of(IDENTITY, 0),
            Request::Call { .. } => of(CALL, 0),
            Request::Post { .. } => of(POST, 0),
            Request::Key { offset } => of(KEY, offset),
        }
    }

    /// The request that `bytes` begin with, for a segment of `segment` bytes, and its length; `None` if there is more to come.
    pub(super) fn decode(bytes: &'a [u8], segment: usize) -> Result<Option<(Request<'a>, usize)>, Malformed> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let fields = Fields::decode(header);
        let most = match fields.operation {
            WRITE_WORDS | WRITE | PATCH | CALL => MAX_PAYLOAD,
            POST => MAX_POST,
            LOAD..=IDENTITY | KEY => 0,
            unknown => return Err(Malformed::Operation(unknown)),
        };
        let payload = fields.payload as usize;
        if payload > most {
            return Err(Malformed::Length(fields.payload.into()));
        }
        let Some(payload) = rest.get(..payload) else { return Ok(None) };
        // Offsets that do not fit are beyond any segment.
        let offset = fields.offset as usize;
        let value = fields.value;
        let request = match fields.operation {
            LOAD => Request::Load { offset, width: fields.width()? },
            UPDATE => {
                let (width, update) = (fields.width()?, fields.update()?);
                Request::Update { offset, width, update, value, wake: fields.wake() }
            }
            COMPARE_EXCHANGE => {
                let (width, expected) = (fields.width()?, fields.expected);
                Request::CompareExchange { offset, width, expected, new: value, wake: fields.wake() }
            }
            READ_WORDS => Request::ReadWords { offset, bytes: value as usize },
            WRITE_WORDS => Request::WriteWords { offset, words: payload },
            READ => Request::Read { offset, bytes: value as usize },
            WRITE => Request::Write { offset, contents: payload },
            PATCH => Request::Patch { offset, runs: payload },
            WAIT => {
                let wake = fields.wake().ok_or(Malformed::Fields)?;
                Request::Wait { offset, seen: value as u32, wake, id: fields.id }
            }
            WAKE => Request::Wake { offset, wake: fields.wake().ok_or(Malformed::Fields)? },
            IDENTITY => Request::Identity,
            POST => Request::Post { request: payload },
            KEY => Request::Key { offset },
            _ => Request::Call { request: payload },
        };
        if request.fields() != fields {
            return Err(Malformed::Fields);
        }
        request.check(segment)?;
        Ok(Some((request, HEADER + payload.len())))
    }

    /// Whether all that the request touches is in a segment of `segment` bytes and aligned, and no value or length is too large.
    pub(super) fn check(&self, segment: usize) -> Result<(), Malformed> {
        let place = |offset: usize, bytes: usize, alignment: usize| match offset.checked_add(bytes) {
            Some(end) if end <= segment && offset.is_multiple_of(alignment) => Ok(()),
            _ => Err(Malformed::Place { offset: offset as u64, bytes: bytes as u64 }),
        };
        let atomic = |offset, width: Width, wake: Option<Wake>, values: &[u64]| {
            place(offset, width.bytes(), width.bytes())?;
            if let Some(wake) = wake {
                place(offset, 4, 4)?;
                place(wake.sleepers, 4, 4)?;
            }
            if values.iter().any(|value| *value & !width.mask() != 0) {
                return Err(Malformed::Fields);
            }
            Ok(())
        };
        let bulk = |offset, bytes: usize, unit: usize| {
            if bytes > MAX_PAYLOAD || !bytes.is_multiple_of(unit) {
                return Err(Malformed::Length(bytes as u64));
            }
            place(offset, bytes, unit)
        };
        match *self {
            Request::Load { offset, width } => atomic(offset, width, None, &[]),
            Request::Update { offset, width, value, wake, .. } => atomic(offset, width, wake, &[value]),
            Request::CompareExchange { offset, width, expected, new, wake } => {
                atomic(offset, width, wake, &[expected, new])
            }
            Request::ReadWords { offset, bytes } => bulk(offset, bytes, 8),
            Request::WriteWords { offset, words } => bulk(offset, words.len(), 8),
            Request::Read { offset, bytes } => bulk(offset, bytes, 1),
            Request::Write { offset, contents } => bulk(offset, contents.len(), 1),
            Request::Patch { offset, runs: all } => {
                bulk(offset, 0, 1)?;
                runs(all).try_for_each(|run| {
                    let (at, contents) = run?;
                    let start = offset.saturating_add(at);
                    place(start, contents.len(), 1)
                })
            }
            // The system takes no empty mask: a wait would not sleep.
            Request::Wait { wake: Wake { mask: 0, .. }, .. } => Err(Malformed::Fields),
            Request::Wait { offset, wake, .. } | Request::Wake { offset, wake } => {
                atomic(offset, Width::Bits32, Some(wake), &[])
            }
            Request::Identity => Ok(()),
            Request::Call { request } if request.len() > MAX_PAYLOAD => {
                Err(Malformed::Length(request.len() as u64))
            }
            Request::Post { request } if request.len() > MAX_POST => {
                Err(Malformed::Length(request.len() as u64))
            }
            Request::Call { .. } | Request::Post { .. } => Ok(()),
            Request::Key { offset } => place(offset, 1, PIECE),
        }
    }
}

/// The runs of changed bytes of a patch: how far behind its offset each begins, and its contents.
pub(super) fn runs(mut rest: &[u8]) -> impl Iterator<Item = Result<(usize, &[u8]), Malformed>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((header, behind)) = std::mem::take(&mut rest).split_first_chunk::<RUN>() else {
            return Some(Err(Malformed::Fields));
        };
        let (at, length) = (u32_at(header, 0) as usize, u32_at(header, 4));
        let Some((contents, behind)) = behind.split_at_checked(length as usize).filter(|_| length != 0)
        else {
            return Some(Err(Malformed::Length(length.into())));
        };
        rest = behind;
        Some(Ok((at, contents)))
    })
}

/// Collects runs of changed bytes in a buffer.
pub(super) struct Patch<'a> {
    buffer: &'a mut [u8],
    used: usize,
    /// Where the last run has its header, and where behind the patch's offset it ends.
    last: Option<(usize, usize)>,
}

impl<'a> Patch<'a> {
    /// Most bytes that a word takes: every other byte of it is a run.
    const WORD: usize = 4 * (RUN + 1) + 8;

    pub(super) fn new(buffer: &'a mut [u8]) -> Patch<'a> {
        Patch { buffer, used: 0, last: None }
    }

    /// Bytes used.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Whether another word may not fit.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() - self.used < Self::WORD
    }

    /// Adds the bytes of a word, `at` bytes behind the patch's offset, in which it differs from another.
    pub(super) fn add(&mut self, at: usize, new: u64, old: u64) {
        let (new, change) = (new.to_ne_bytes(), (new ^ old).to_ne_bytes());
        let mut from = 0;
        while let Some(start) = (from..8).find(|i| change[*i] != 0) {
            let end = (start..8).find(|i| change[*i] == 0).unwrap_or(8);
            self.push(at + start, &new[start..end]);
            from = end;
        }
    }

    fn push(&mut self, at: usize, contents: &[u8]) {
        let end = at + contents.len();
        let header = match self.last {
            Some((header, last)) if last == at => header,
            _ => {
                let header = self.used;
                self.buffer[header..][..4].copy_from_slice(&(at as u32).to_le_bytes());
                self.used += RUN;
                header
            }
        };
        self.buffer[self.used..][..contents.len()].copy_from_slice(contents);
        self.used += contents.len();
        let length = (self.used - header - RUN) as u32;
        self.buffer[header + 4..][..4].copy_from_slice(&length.to_le_bytes());
        self.last = Some((header, end));
    }
}

/// The bytes in front of a reply's payload.
pub(super) fn reply(value: u64, payload: usize) -> [u8; REPLY] {
    let mut bytes = [0; REPLY];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    bytes[8..].copy_from_slice(&(payload as u64).to_le_bytes());
    bytes
}

/// Length of the payload of a reply to a call.
pub(super) fn decode_call_reply(bytes: &[u8; REPLY]) -> Result<usize, Malformed> {
    match u64_at(bytes, 8) {
        length if length <= MAX_CALL_REPLY as u64 => Ok(length as usize),
        length => Err(Malformed::Length(length)),
    }
}

/// The value of a reply that has a payload of `payload` bytes.
pub(super) fn decode_reply(bytes: &[u8; REPLY], payload: usize) -> Result<u64, Malformed> {
    match u64_at(bytes, 8) {
        length if length == payload as u64 => Ok(u64_at(bytes, 0)),
        length => Err(Malformed::Length(length)),
    }
}

/// What is said of a piece: all 0 where adapters may not read it.
pub(super) fn key(key: Option<&RemoteKey>) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    if let Some(RemoteKey { key, address, offsets }) = key {
        let words = [*key, *address, offsets.start as u64, offsets.end as u64];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }
    bytes
}

/// What a peer says of the piece that begins at an offset of its segment, which has `segment` bytes.
pub(super) fn decode_key(bytes: &[u8], piece: usize, segment: usize) -> Result<Option<RemoteKey>, Malformed> {
    let bytes: &[u8; KEY_BYTES] = bytes.try_into().map_err(|_| Malformed::Length(bytes.len() as u64))?;
    if *bytes == [0; KEY_BYTES] {
        return Ok(None);
    }
    let [key, address, start, end] = std::array::from_fn(|i| u64_at(bytes, 8 * i));
    let most = (piece.saturating_add(PIECE)).min(segment) as u64;
    if start < piece as u64 || start >= end || end > most || address.checked_add(end - start).is_none() {
        return Err(Malformed::Place { offset: start, bytes: end.wrapping_sub(start) });
    }
    Ok(Some(RemoteKey { key, address, offsets: start as usize..end as usize }))
}

/// The answer to a wait.
pub(super) fn answer(id: u32, value: u32) -> [u8; ANSWER] {
    let mut bytes = [0; ANSWER];
    bytes[..4].copy_from_slice(&id.to_le_bytes());
    bytes[4..].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// Number and value of an answer to a wait.
pub(super) fn decode_answer(bytes: &[u8; ANSWER]) -> (u32, u32) {
    (u32_at(bytes, 0), u32_at(bytes, 4))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    const SEGMENT: usize = 1 << 20;

    /// A request that is in order.
    fn any<'a>(random: &mut Random, payload: &'a mut Vec<u8>) -> Request<'a> {
        let width = Width::ALL[random.below(4)];
        let wake = Wake { sleepers: 4 * random.below(SEGMENT / 4), mask: random.next() as u32 | 1 };
        let wakes = (random.below(2) == 0).then_some(wake);
        let alignment = if wakes.is_some() { width.bytes().max(4) } else { width.bytes() };
        let offset = alignment * random.below(SEGMENT / alignment);
        let value = random.next() & width.mask();
        let word = 4 * random.below(SEGMENT / 4);
        let bytes = [8 * random.below(20), 8 * random.below(MAX_PAYLOAD / 8 + 1)][random.below(2)];
        let start = 8 * random.below((SEGMENT - bytes) / 8 + 1);
        payload.clear();
        match random.below(12) {
            0 => Request::Load { offset, width },
            1 => {
                let update = Update::ALL[random.below(Update::ALL.len())];
                Request::Update { offset, width, update, value, wake: wakes }
            }
            2 => {
                let expected = random.next() & width.mask();
                Request::CompareExchange { offset, width, expected, new: value, wake: wakes }
            }
            3 => Request::ReadWords { offset: start, bytes },
            4 => {
                payload.extend((0..bytes).map(|_| random.next() as u8));
                Request::WriteWords { offset: start, words: payload }
            }
            5 => Request::Read { offset: start, bytes },
            6 => {
                payload.extend((0..bytes).map(|_| random.next() as u8));
                Request::Write { offset: start, contents: payload }
            }
            7 => {
                let words = (SEGMENT - start) / 8;
                let mut buffer = vec![0; 1 << 12];
                let mut patch = Patch::new(&mut buffer);
                for i in 0..words.min(random.below(40)) {
                    let kept = random.next() & random.next() & 0x0101_0101_0101_0101;
                    let new = random.next();
                    patch.add(8 * i, new, new ^ random.next() & !(kept * 0xff));
                }
                let used = patch.len();
                payload.extend(&buffer[..used]);
                Request::Patch { offset: start, runs: payload }
            }
            8 => Request::Wait { offset: word, seen: random.next() as u32, wake, id: random.next() as u32 },
            9 => Request::Identity,
            10 => Request::Key { offset: 0 },
            _ => Request::Wake { offset: word, wake },
        }
    }

    fn encode(request: &Request) -> Vec<u8> {
        let mut bytes = request.header().to_vec();
        bytes.extend(request.payload());
        bytes
    }

    #[test]
    fn requests_arrive_as_they_were_sent() {
        for seed in 0..2000 {
            let mut random = Random::new(seed, 1);
            let mut payload = Vec::new();
            let request = any(&mut random, &mut payload);
            let mut bytes = encode(&request);
            let length = bytes.len();
            assert_eq!(Request::decode(&bytes, SEGMENT), Ok(Some((request, length))), "seed {seed}");
            for part in [0, HEADER - 1, random.below(length), length - 1] {
                assert_eq!(Request::decode(&bytes[..part], SEGMENT), Ok(None), "seed {seed}, {part} bytes");
            }
            bytes.extend([7; 60]);
            assert_eq!(Request::decode(&bytes, SEGMENT), Ok(Some((request, length))), "seed {seed}");
        }
    }

    #[test]
    fn what_is_decoded_encodes_to_the_same_bytes() {
        let mut outcomes = [0; 3];
        for seed in 0..20_000 {
            let mut random = Random::new(seed, 2);
            let mut payload = Vec::new();
            let mut bytes = encode(&any(&mut random, &mut payload));
            match random.below(3) {
                0 => bytes.iter_mut().take(HEADER).for_each(|b| *b = random.next() as u8),
                1 => {
                    let (at, bit) = (random.below(bytes.len()), random.below(8));
                    bytes[at] ^= 1 << bit;
                }
                _ => {
                    for _ in 0..=random.below(3) {
                        let at = random.below(bytes.len().min(HEADER + 40));
                        bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.below(6)];
                    }
                }
            }
            match Request::decode(&bytes, SEGMENT) {
                Ok(Some((request, length))) => {
                    outcomes[0] += 1;
                    assert!(encode(&request) == bytes[..length], "seed {seed}: {request:?}");
                    assert_eq!(request.check(SEGMENT), Ok(()), "seed {seed}");
                }
                Ok(None) => outcomes[1] += 1,
                Err(_) => outcomes[2] += 1,
            }
        }
        assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let wake = Wake { sleepers: 0, mask: 1 };
        let load = |offset, width| Request::Load { offset, width };
        let add =
            |offset, width, value, wake| Request::Update { offset, width, update: Update::Add, value, wake };
        let run = |at: u32, length: u32| [at.to_le_bytes(), length.to_le_bytes(), [1; 4]].concat();
        let (early, late, long, empty) = (run(4, 4), run(8, 4), run(4, 5), run(4, 0));
        let large = vec![0; MAX_PAYLOAD + 8];
        let segment = 64;
        for (request, is_right) in [
            (load(63, Width::Bits8), true),
            (load(64, Width::Bits8), false),
            (load(56, Width::Bits64), true),
            (load(60, Width::Bits64), false),
            (load(62, Width::Bits32), false),
            (load(usize::MAX, Width::Bits8), false),
            (load(usize::MAX - 7, Width::Bits64), false),
            (add(0, Width::Bits8, 255, None), true),
            (add(0, Width::Bits8, 256, None), false),
            (add(4, Width::Bits8, 1, Some(wake)), true),
            (add(5, Width::Bits8, 1, Some(wake)), false),
            (add(4, Width::Bits32, 1, Some(Wake { sleepers: 60, mask: 1 })), true),
            (add(4, Width::Bits32, 1, Some(Wake { sleepers: 62, mask: 1 })), false),
            (add(4, Width::Bits32, 1, Some(Wake { sleepers: 64, mask: 1 })), false),
            (Request::ReadWords { offset: 0, bytes: 64 }, true),
            (Request::ReadWords { offset: 8, bytes: 64 }, false),
            (Request::ReadWords { offset: 4, bytes: 8 }, false),
            (Request::ReadWords { offset: 0, bytes: 4 }, false),
            (Request::Read { offset: 1, bytes: 63 }, true),
            (Request::Read { offset: 1, bytes: 64 }, false),
            (Request::Read { offset: 1, bytes: usize::MAX }, false),
            (Request::Write { offset: 60, contents: &large[..4] }, true),
            (Request::Write { offset: 60, contents: &large[..5] }, false),
            (Request::Patch { offset: 56, runs: &early }, true),
            (Request::Patch { offset: 56, runs: &late }, false),
            (Request::Patch { offset: 0, runs: &long }, false),
            (Request::Patch { offset: 0, runs: &empty }, false),
            (Request::Patch { offset: 0, runs: &early[..7] }, false),
            (Request::Patch { offset: usize::MAX, runs: &early }, false),
            (Request::Wait { offset: 60, seen: 0, wake, id: 0 }, true),
            (Request::Wait { offset: 62, seen: 0, wake, id: 0 }, false),
            (Request::Wait { offset: 60, seen: 0, wake: Wake { sleepers: 0, mask: 0 }, id: 0 }, false),
            (Request::Wake { offset: 64, wake }, false),
            (Request::Identity, true),
            (Request::Key { offset: 0 }, true),
            (Request::Key { offset: 8 }, false),
            (Request::Key { offset: PIECE }, false),
            (Request::Key { offset: usize::MAX - PIECE + 1 }, false),
            (Request::Call { request: &large[..MAX_PAYLOAD] }, true),
            (Request::Call { request: &large }, false),
            (Request::Post { request: &large[..MAX_POST] }, true),
            (Request::Post { request: &large[..MAX_POST + 1] }, false),
        ] {
            let bytes = encode(&request);
            let decoded = Request::decode(&bytes, segment);
            assert_eq!(decoded.is_ok(), is_right, "{request:?}: {decoded:?}");
            assert_eq!(request.check(segment).is_ok(), is_right, "{request:?}");
        }
        let long = encode(&Request::Write { offset: 0, contents: &large });
        assert_eq!(Request::decode(&long[..HEADER], SEGMENT), Err(Malformed::Length(large.len() as u64)));
        let mut unknown = encode(&load(0, Width::Bits8));
        unknown[0] = KEY + 1;
        assert_eq!(Request::decode(&unknown, SEGMENT), Err(Malformed::Operation(KEY + 1)));
    }

    #[test]
    fn a_key_is_of_the_piece_that_was_asked_for() {
        const END: usize = 3 * PIECE + 4096;
        let some = |offsets| Some(RemoteKey { key: 0, address: 7, offsets });
        for (piece, told, is_right) in [
            (0, None, true),
            (PIECE, some(PIECE..2 * PIECE), true),
            (PIECE, some(PIECE + 1..PIECE + 2), true),
            (PIECE, some(PIECE - 1..2 * PIECE), false),
            (PIECE, some(PIECE..2 * PIECE + 1), false),
            (PIECE, some(PIECE..PIECE), false),
            (3 * PIECE, some(3 * PIECE..END), true),
            (3 * PIECE, some(3 * PIECE..END + 1), false),
            (0, Some(RemoteKey { key: 1, address: u64::MAX, offsets: 0..1 }), false),
        ] {
            let decoded = decode_key(&key(told.as_ref()), piece, END);
            assert_eq!(decoded.is_ok(), is_right, "{told:?}: {decoded:?}");
            assert!(!is_right || decoded == Ok(told.clone()), "{told:?}: {decoded:?}");
        }
        assert_eq!(decode_key(&[1; KEY_BYTES + 1], 0, END), Err(Malformed::Length(KEY_BYTES as u64 + 1)));
    }

    #[test]
    fn damaged_keys_are_refused_or_read_as_they_are_written() {
        const END: usize = 3 * PIECE + 4096;
        let some = |piece: usize| {
            key(Some(&RemoteKey { key: 0x1234, address: 0x7000_0000, offsets: piece..piece + 4096 }))
        };
        let mut read = [0; 3];
        dsm_mutate::each(&[some(0).to_vec(), some(PIECE).to_vec(), key(None).to_vec()], 20_000, |bytes| {
            match decode_key(bytes, PIECE, END) {
                Ok(told) => {
                    assert_eq!(key(told.as_ref()), bytes);
                    let inside =
                        |told: &RemoteKey| told.offsets.start >= PIECE && told.offsets.end <= 2 * PIECE;
                    assert!(told.as_ref().is_none_or(inside), "{told:?}");
                    read[usize::from(told.is_some())] += 1;
                }
                Err(_) => read[2] += 1,
            }
        });
        assert!(read.iter().all(|count| *count > 50), "{read:?}");
    }

    #[test]
    fn a_reply_has_the_length_that_was_asked_for() {
        assert_eq!(decode_reply(&reply(7, 24), 24), Ok(7));
        assert_eq!(decode_reply(&reply(7, 24), 16), Err(Malformed::Length(24)));
        assert_eq!(decode_answer(&answer(3, 9)), (3, 9));
    }
}
