//! Procedures as messages: to a process whose area is not mapped.
//!
//! A request is a head, the versions of the pages that it is about, and contents; a reply is an [`Outcome`] and contents. A process executes only what lies in an array that it knows.

use serde::{Deserialize, Serialize};

use crate::array::{Array, RUN_BYTES, RUN_PAGES, Run};
use crate::memory::{Memory, Rank};
use crate::segment::{Landing, Outcome, Refusal, Segment, Source};
use crate::table;

/// First byte of a request, for a process that gets requests of other kinds as well.
pub const KIND: u8 = 0xff;
/// Most bytes of a reply.
pub const REPLY_BYTES: usize = OUTCOME_BYTES + RUN_BYTES;

/// Most bytes of a head: a few integers of at most 10 bytes each.
const HEAD_BYTES: usize = 80;
const OUTCOME_BYTES: usize = 16;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Procedure {
    Read {
        offset: usize,
        bytes: usize,
    },
    Write {
        offset: usize,
        bytes: usize,
    },
    Leave,
    Drained,
    Retire,
    /// Gives back the memory of a range of the area, of an array that is gone.
    GiveBack {
        offset: usize,
        bytes: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    procedure: Procedure,
    array: u32,
    state: u64,
    first: u64,
    pages: usize,
}

/// A request that no process makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

const REFUSALS: [Option<Refusal>; 4] =
    [None, Some(Refusal::Elsewhere), Some(Refusal::Moving), Some(Refusal::Destroyed)];

fn encode_outcome(outcome: Outcome, reply: &mut [u8]) {
    let refusal = REFUSALS.iter().position(|refusal| *refusal == outcome.refusal).expect("all are listed");
    reply[..8].copy_from_slice(&(outcome.done as u64).to_le_bytes());
    reply[8..OUTCOME_BYTES].copy_from_slice(&(refusal as u64).to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a whole word"))
}

fn decode_outcome(reply: &[u8]) -> Outcome {
    let refusal = REFUSALS[word(reply, 8) as usize];
    Outcome { done: word(reply, 0) as usize, refusal }
}

/// Writes a request without contents; returns its length.
fn encode(procedure: Procedure, array: &Array, run: &Run, request: &mut [u8]) -> usize {
    let versions = run.versions();
    let head =
        Head { procedure, array: array.index, state: array.state, first: run.first, pages: versions.len() };
    request[0] = KIND;
    let mut length = 1 + postcard::to_slice(&head, &mut request[1..]).expect("a head has space").len();
    for version in versions {
        request[length..length + 8].copy_from_slice(&version.to_le_bytes());
        length += 8;
    }
    length
}

/// Has a process execute a procedure whose bytes go to or come from memory of the program.
pub(crate) async fn transfer<M: Memory>(
    memory: &M,
    array: &Array,
    run: &Run,
    procedure: Procedure,
    (buffer, at): (&M::Buffer, usize),
) -> Outcome {
    let (sent, wanted) = match procedure {
        Procedure::Write { bytes, .. } => (bytes, 0),
        Procedure::Read { bytes, .. } => (0, bytes),
        _ => (0, 0),
    };
    let mut request = vec![0; HEAD_BYTES + 8 * RUN_PAGES + sent];
    let mut reply = vec![0; OUTCOME_BYTES + wanted];
    let mut length = encode(procedure, array, run, &mut request);
    memory.take(buffer, at, &mut request[length..length + sent]);
    length += sent;
    let got = memory.ask(run.at, &request[..length], &mut reply).await;
    let outcome = decode_outcome(&reply[..got]);
    if wanted != 0 {
        memory.give(buffer, at, &reply[OUTCOME_BYTES..OUTCOME_BYTES + outcome.done]);
    }
    outcome
}

/// Has a process execute a procedure without contents.
pub(crate) async fn execute<M: Memory>(
    memory: &M,
    array: &Array,
    run: &Run,
    procedure: Procedure,
) -> Outcome {
    let mut request = [0; HEAD_BYTES + 8 * RUN_PAGES];
    let mut reply = [0; OUTCOME_BYTES];
    let length = encode(procedure, array, run, &mut request);
    let got = memory.ask(run.at, &request[..length], &mut reply).await;
    decode_outcome(&reply[..got])
}

/// Executes a request on the own area and puts the reply, whose length is returned, into `reply`, which has [`REPLY_BYTES`] bytes.
///
/// # Errors
/// It is none that a process makes. Nothing was done.
pub async fn serve<M: Memory>(memory: &M, request: &[u8], reply: &mut [u8]) -> Result<usize, Malformed> {
    let request = request.strip_prefix(&[KIND]).ok_or(Malformed)?;
    let (head, rest) = postcard::take_from_bytes::<Head>(request).map_err(|_| Malformed)?;
    let segment = Segment { memory, at: memory.rank() };
    let done = Outcome { done: 0, refusal: None };
    if let Procedure::GiveBack { offset, bytes } = head.procedure {
        let is_inside =
            offset >= table::BYTES && offset.checked_add(bytes).is_some_and(|end| end <= memory.area_bytes());
        if !is_inside {
            return Err(Malformed);
        }
        memory.give_back(segment.at, offset, bytes).await;
        encode_outcome(done, reply);
        return Ok(OUTCOME_BYTES);
    }
    let array = match table::find(memory, head.array).await {
        Some(array) if array.state == head.state => array,
        _ => {
            encode_outcome(Outcome { refusal: Some(Refusal::Destroyed), ..done }, reply);
            return Ok(OUTCOME_BYTES);
        }
    };
    let (run, contents) = decode_run(segment.at, &head, rest, &array)?;
    let (result, answer) = reply.split_at_mut(OUTCOME_BYTES);
    let mut sent = 0;
    let outcome = match head.procedure {
        Procedure::Read { offset, bytes } => {
            check_bytes(&array, &run, offset, bytes)?;
            let answer = answer.get_mut(..bytes).ok_or(Malformed)?;
            let outcome = segment.read(&array, &run, (offset, bytes), &mut Landing::Message(answer)).await;
            sent = outcome.done;
            outcome
        }
        Procedure::Write { offset, bytes } => {
            check_bytes(&array, &run, offset, bytes)?;
            let contents = contents.get(..bytes).ok_or(Malformed)?;
            segment.write(&array, &run, (offset, bytes), &Source::Message(contents)).await
        }
        Procedure::Leave => segment.leave(&array, &run).await,
        Procedure::Drained => segment.drained(&array, &run).await,
        Procedure::Retire => {
            segment.retire(&array, &run).await;
            done
        }
        Procedure::GiveBack { .. } => unreachable!("it is about no array"),
    };
    encode_outcome(outcome, result);
    Ok(OUTCOME_BYTES + sent)
}

/// The pages that a request is about, and its contents.
fn decode_run<'a>(
    at: Rank,
    head: &Head,
    rest: &'a [u8],
    array: &Array,
) -> Result<(Run, &'a [u8]), Malformed> {
    let is_inside = head.first.checked_add(head.pages as u64).is_some_and(|end| end <= array.pages);
    if head.pages == 0 || head.pages > RUN_PAGES || !is_inside || rest.len() < 8 * head.pages {
        return Err(Malformed);
    }
    let (versions, contents) = rest.split_at(8 * head.pages);
    let mut run = Run::new(at, head.first);
    for i in 0..head.pages {
        let version = word(versions, 8 * i);
        if version == 0 || !run.push(version) {
            return Err(Malformed);
        }
    }
    Ok((run, contents))
}

/// Whether a range of bytes lies in the pages of a request.
fn check_bytes(array: &Array, run: &Run, offset: usize, bytes: usize) -> Result<(), Malformed> {
    let used = array.used_bytes();
    let has = used.saturating_mul(run.versions().len());
    let is_inside = offset < used && offset.checked_add(bytes).is_some_and(|end| end <= has);
    if is_inside { Ok(()) } else { Err(Malformed) }
}
