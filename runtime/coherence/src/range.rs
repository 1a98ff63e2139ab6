//! Misses of ranges, and of several extents: their calls, at any number of processes, are under way together.
//!
//! Where homes and writers are reached by messages, a miss of a range of many chunks, or of the rows of a matrix one after the other, would make one round trip after the other. Before it goes through the chunks, it makes the first call for
//! each run of blocks of all of them, and follows the links of those whose homes have moved, all together. What that does not bring, as a home is busy or not free, is left to the miss
//! of the chunk.
//!
//! The chunks are locked from the look at the states until the replies have come. Who has locked one only tries another, and an agent locks none. The links of blocks whose homes are
//! being taken say so meanwhile; whoever waits for one waits for replies of agents, which wait for nobody.

use crate::calls::lend::{self, Lent, Refused};
use crate::calls::take::{self, Claim, Taken};
use crate::calls::{RESULT_BYTES, copy};
use crate::fabric::{Exchange, Fabric, MarkKind, lock_beside};
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::probable_owner::HomeLookup;
use crate::records::Records;
use crate::scratch::{Messages, MessagesGuard, Scratch, ScratchGuard};
use crate::segment::Seen;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp, first_bits};
use crate::{Coherence, Fault, abi, marks};

/// Most calls that are under way together.
const MOST_CALLS: usize = 16;
/// Most bytes of contents of these, but for those of the last chunk.
const MOST_BYTES: usize = 2 << 20;

/// An extent that is about to be missed.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Wanted {
    extent: Extent,
    purpose: Purpose,
    /// Whether nothing becomes accessible yet, see [`crate::ahead`].
    ahead: bool,
}

impl Wanted {
    /// The extent.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// For [`Coherence::read_miss`].
    pub fn read(extent: Extent) -> Wanted {
        Wanted { extent, purpose: Purpose::LOAD, ahead: false }
    }

    /// For [`Coherence::write_miss`], or for [`Coherence::overwrite_miss`] of the blocks of `whole`.
    pub fn write(extent: Extent, whole: Option<Extent>) -> Wanted {
        Wanted { extent, purpose: Purpose::stores(whole), ahead: false }
    }

    /// For a miss that is expected, for a store or a load.
    pub(crate) fn ahead(extent: Extent, store: bool) -> Wanted {
        let purpose = if store { Purpose::STORE } else { Purpose::LOAD };
        Wanted { extent, purpose, ahead: true }
    }
}

/// A call among others.
#[derive(Debug, Hash)]
struct Call {
    /// Where to call.
    lookup: HomeLookup,
    request_bytes: usize,
    /// Most bytes of the reply.
    reply_bytes: usize,
    procedure: Procedure,
    purpose: Purpose,
    /// See [`Wanted`].
    ahead: bool,
    /// Whether it is to be made, at first or further along the links.
    open: bool,
}

/// The procedure that is called.
#[derive(Debug, Hash)]
enum Procedure {
    /// [`crate::segment::Segment::copy`] at the writer of a notice.
    Copy(Extent),
    /// [`crate::segment::Segment::lend`] at a home.
    Lend(Extent),
    /// [`crate::segment::Segment::take`] at a home, of blocks of a chunk that all have a notice or none of which has. `link`: the word of their own links before.
    Take { chunk: Chunk, wanted: u64, at_least: Timestamp, link: u64, noticed: bool },
}

/// Calls that are being made.
struct Calls<'a> {
    /// Of those that are being added.
    purpose: Purpose,
    /// Of those that are being added.
    ahead: bool,
    messages: &'a mut Messages,
    all: Vec<Call>,
    bytes: usize,
}

impl Calls<'_> {
    fn add(
        &mut self,
        lookup: HomeLookup,
        reply_bytes: usize,
        procedure: Procedure,
        encode: impl FnOnce(&mut Vec<u8>) -> usize,
    ) {
        let message = self.messages.at(self.all.len(), reply_bytes);
        let request_bytes = encode(&mut message.request);
        self.bytes += reply_bytes;
        let (purpose, ahead) = (self.purpose, self.ahead);
        self.all.push(Call { lookup, purpose, ahead, request_bytes, reply_bytes, procedure, open: true });
    }

    fn is_full(&self) -> bool {
        self.all.len() >= MOST_CALLS || self.bytes >= MOST_BYTES
    }
}

impl<F: Fabric> Coherence<F> {
    /// [`Coherence::miss_together`] for a range, if it is of several chunks.
    pub(crate) async fn miss_range(&self, extent: Extent, purpose: Purpose) {
        let last = Block(extent.end().0 - 1);
        if extent.first.chunk() != last.chunk() && self.calls_agents() {
            self.miss_together(&[Wanted { extent, purpose, ahead: false }]).await;
        }
    }

    /// Whether any process is reached by messages.
    pub fn calls_agents(&self) -> bool {
        self.has_agents
    }

    /// Makes what it can of these extents accessible, whose homes are at processes that are reached by messages. Each needs a miss of its own behind that, which finds what is
    /// left to do.
    pub async fn miss_together(&self, wanted: &[Wanted]) {
        if wanted.iter().any(|wanted| self.insists_on_home(wanted.purpose)) {
            return;
        }
        let count = wanted.iter().map(|wanted| wanted.extent.chunks().count()).sum();
        let mut done = 0;
        let checkpoint = self.fabric.checkpoint();
        while done < count {
            self.fabric.live_since(checkpoint, || (done, wanted));
            let of_chunks = |wanted: &Wanted| {
                let wanted = *wanted;
                wanted.extent.chunks().map(move |extent| Wanted { extent, ..wanted })
            };
            done += self.miss_some_together(wanted.iter().flat_map(of_chunks).skip(done)).await;
        }
    }

    /// The same for the first of these, each in one chunk, as many as may be under way together; how many that were.
    async fn miss_some_together(&self, wanted: impl Iterator<Item = Wanted>) -> usize {
        let fabric = &self.fabric;
        let messages = &mut *MessagesGuard::new();
        let mut calls = Calls { purpose: Purpose::LOAD, ahead: false, messages, all: Vec::new(), bytes: 0 };
        let scratch = &mut *ScratchGuard::new();
        let mut locked = Vec::new();
        let (mut done, mut last) = (0, None);
        let checkpoint = fabric.checkpoint();
        for Wanted { extent, purpose, ahead } in wanted {
            let chunk = extent.first.chunk();
            // Neighbours in the list may be in one chunk, and in one block.
            let is_next = last.is_some_and(|last: Block| last.chunk() == chunk);
            if calls.is_full() || !is_next && !lock_beside(fabric, &mut locked, chunk).await {
                break;
            }
            let first = last.filter(|last| is_next && *last >= extent.first);
            let first = first.map_or(extent.first, |last| Block(last.0 + 1));
            if first < extent.end() {
                let part = Extent::new(first, extent.end().0 - first.0);
                (calls.purpose, calls.ahead) = (purpose, ahead);
                self.begin_part(part, &mut calls, &mut scratch.own);
            }
            last = last.filter(|_| is_next).max(Some(Block(extent.end().0 - 1)));
            done += 1;
            fabric.live_since(checkpoint, || (done, last, &calls.all));
        }
        let ahead = calls.ahead && fabric.fault(Fault::AheadUnlocked);
        if ahead || fabric.fault(Fault::RangeUnlocked) {
            locked.clear();
        }
        while calls.all.iter().any(|call| call.open) {
            self.exchange_calls(&mut calls, scratch).await;
            fabric.live_since(checkpoint, || (done, &calls.all));
        }
        done
    }

    /// Makes the calls for a part of a range in one chunk, which is locked.
    fn begin_part(&self, part: Extent, calls: &mut Calls<'_>, own: &mut Records) {
        let fabric = &self.fabric;
        let chunk = part.first.chunk();
        let mut at = part.first;
        while at < part.end() {
            let (state, count) = self.run(at, part);
            let run = Extent::new(at, count);
            at = run.end();
            if !matches!(state, abi::NOTICED | abi::COLD | abi::EXPIRED) {
                continue;
            }
            // Before any lease or bound is looked at, as every miss does it.
            marks::set_own(fabric, MarkKind::Cached, chunk, run.mask());
            fabric.own_records(run, own.run_mut(run));
            let wanted = match calls.ahead && !calls.purpose.write {
                true => 0,
                false => self.worth_migrating(run, state, calls.purpose),
            };
            self.begin_takes(chunk, wanted, state == abi::NOTICED, calls, own);
            let here = self.is_ahead(chunk, state);
            for run in chunk.runs(run.mask() & !wanted & !here) {
                self.begin_reads(run, state, calls, own);
            }
        }
    }

    /// Blocks of a chunk whose homes are to be taken, by where their links lead.
    fn begin_takes(&self, chunk: Chunk, wanted: u64, noticed: bool, calls: &mut Calls<'_>, own: &Records) {
        let fabric = &self.fabric;
        let mut left = wanted;
        while let Some(first) = chunk.blocks(left).next() {
            let link_of = |block: &Block| {
                let word = own.of(*block).link;
                (word, self.decode(word, self.me(), *block))
            };
            let link = link_of(&first);
            let there = chunk.blocks(left).filter(|block| link_of(block) == link);
            let there = there.fold(0, |mask, block| mask | block.bit());
            left &= !there;
            let (link, Link::Link { to: at, pending: false }) = link else { continue };
            if !fabric.has_agent(at) {
                continue;
            }
            let lookup = HomeLookup::from(at);
            let mut there = there;
            while there != 0 {
                let wanted = first_bits(there, self.most_blocks(at, first));
                there &= !wanted;
                let at_least = self.above_own_leases(chunk, wanted, self.clock() + 1, own);
                let request = self.take_of(chunk, wanted, at_least, calls.purpose);
                // Whoever comes here along an old link waits until this process knows what it has got.
                chunk.runs(wanted).for_each(|run| fabric.set_own_links(run, Link::Taking.encode()));
                let procedure = Procedure::Take { chunk, wanted, at_least, link, noticed };
                calls.add(lookup, self.reply_to(first, wanted.count_ones().into()), procedure, |message| {
                    request.encode(message)
                });
            }
        }
    }

    fn take_of(&self, chunk: Chunk, wanted: u64, at_least: Timestamp, purpose: Purpose) -> take::Request {
        let claim = Claim::Miss { whole: purpose.whole(chunk.span(wanted)), if_holes: 0 };
        take::Request { to: self.me(), chunk, wanted, at_least, claim }
    }

    /// Most bytes of a reply with so many blocks.
    fn reply_to(&self, first: Block, count: u64) -> usize {
        RESULT_BYTES + count as usize * self.fabric.block_bytes(first)
    }

    /// Blocks of a run in one state that are to be read, by who has them.
    fn begin_reads(&self, run: Extent, state: u8, calls: &mut Calls<'_>, own: &Records) {
        let min = self.signature().min_applied();
        let source = |block: Block| match self.decode(own.of(block).link, self.me(), block) {
            Link::Link { to, pending: false }
                if self.fabric.has_agent(to) && (state != abi::NOTICED || own.of(block).wr_ts >= min) =>
            {
                Some(to)
            }
            _ => None,
        };
        let mut at = run.first;
        while at < run.end() {
            let from = source(at);
            let rest = Extent::new(at, run.end().0 - at.0);
            let count = rest.blocks().take_while(|block| source(*block) == from).count() as u64;
            let there = Extent::new(at, count);
            at = there.end();
            let Some(from) = from else { continue };
            for part in there.pieces(self.most_blocks(from, there.first)) {
                let (lookup, reply_bytes) = (HomeLookup::from(from), self.reply_to(part.first, part.count));
                if state == abi::NOTICED {
                    let request = copy::Request { part, versions: own };
                    calls.add(lookup, reply_bytes, Procedure::Copy(part), |message| request.encode(message));
                } else {
                    let held = (state == abi::EXPIRED).then_some(own);
                    let request = lend::Request { part, min, held };
                    calls.add(lookup, reply_bytes, Procedure::Lend(part), |message| request.encode(message));
                }
            }
        }
    }

    /// Has the calls that are open executed, and takes their replies. The contents of each are placed while others are on their way.
    async fn exchange_calls(&self, calls: &mut Calls<'_>, scratch: &mut Scratch) {
        let mut exchanges = Vec::with_capacity(calls.all.len());
        let mut open = Vec::with_capacity(calls.all.len());
        for (call, message) in calls.all.iter().zip(&mut calls.messages.0).filter(|(call, _)| call.open) {
            open.push(call);
            exchanges.push(Exchange {
                at: call.lookup.at,
                request: &message.request[..call.request_bytes],
                reply: &mut message.reply[..call.reply_bytes],
                length: 0,
            });
        }
        self.stats.calls.add(exchanges.len() as u64);
        let peer = &mut scratch.peer;
        let place = |number: usize, reply: &[u8]| {
            if number == 0 || !self.fabric.fault(Fault::FirstReplyPlaced) {
                self.place_reply(open[number], reply, peer);
            }
        };
        self.fabric.call_agent_all(&mut exchanges, place).await;
        let checkpoint = self.fabric.checkpoint();
        let mut exchanges = exchanges.into_iter();
        for call in calls.all.iter_mut().filter(|call| call.open) {
            let Exchange { reply, length, .. } = exchanges.next().expect("one for each open call");
            call.open = false;
            self.end_call(call, &reply[..length], scratch).await;
            self.fabric.live_since(checkpoint, || (&*call, exchanges.len()));
        }
    }

    /// Goes on along the link that was found where the home of a block is not, if that is possible without waiting; whether it is.
    fn follow_together(&self, lookup: &mut HomeLookup, block: Block, seen: Seen, locked: bool) -> bool {
        self.follow_link(lookup, block, seen, locked).is_ok() && self.fabric.has_agent(lookup.at)
    }

    /// What a home has lent becomes readable, or waits for the miss that wants it as an expired copy. The chunk is locked.
    async fn borrowed_together(
        &self,
        home: Rank,
        part: Extent,
        lent: Lent,
        ahead: bool,
        scratch: &mut Scratch,
    ) {
        let (chunk, blocks) = (part.first.chunk(), Extent::new(part.first, lent.count).mask());
        if ahead {
            self.borrowed(home, part, lent, abi::EXPIRED, scratch).await;
            self.keep_ahead(chunk, blocks);
        } else {
            self.note_fetched(home, chunk, blocks);
            self.borrowed(home, part, lent, abi::READABLE, scratch).await;
        }
    }

    /// Puts the contents in a reply over the own blocks, which nobody may access yet. The chunk has been locked since before the request.
    fn place_reply(&self, call: &Call, reply: &[u8], records: &mut Records) {
        let (at, purpose) = (call.lookup.at, call.purpose);
        let place = |run, contents: &[u8]| self.fabric.overwrite(run, contents);
        match call.procedure {
            Procedure::Copy(part) => {
                self.place_copied(at, part, reply, place);
            }
            Procedure::Lend(part) => {
                _ = self.place_lent(at, part, reply, records, place);
            }
            Procedure::Take { chunk, wanted, at_least, .. } => {
                let request = self.take_of(chunk, wanted, at_least, purpose);
                _ = self.place_taken(at, &request, reply, records, place);
            }
        }
    }

    /// Takes a reply whose contents are placed, or opens the call again. The chunk has been locked since before the request.
    async fn end_call(&self, call: &mut Call, reply: &[u8], scratch: &mut Scratch) {
        let fabric = &self.fabric;
        let (at, purpose) = (call.lookup.at, call.purpose);
        // By [`Coherence::place_reply`].
        let placed = |_, _: &[u8]| ();
        match call.procedure {
            Procedure::Copy(part) => {
                let read = self.place_copied(at, part, reply, placed);
                self.count_fetched(part.first, part.count);
                fabric.own_records(part, scratch.own.run_mut(part));
                let chunk = part.first.chunk();
                match call.ahead {
                    true => self.keep_ahead(chunk, read),
                    false => {
                        self.note_reread(at, chunk, read, &scratch.own);
                        self.read_noticed(chunk, read, &mut scratch.own);
                    }
                }
            }
            Procedure::Lend(part) => {
                fabric.own_records(part, scratch.own.run_mut(part));
                match self.place_lent(at, part, reply, &mut scratch.peer, placed) {
                    Ok(lent) => {
                        self.end_lookup(call.lookup, part.first).await;
                        self.borrowed_together(at, part, lent, call.ahead, scratch).await;
                    }
                    Err(Refused::Away(seen)) => {
                        call.open = self.follow_together(&mut call.lookup, part.first, seen, true);
                    }
                    Err(Refused::Busy(_)) => {}
                }
            }
            Procedure::Take { chunk, wanted, at_least, link, noticed } => {
                let request = self.take_of(chunk, wanted, at_least, purpose);
                let taken = self.place_taken(at, &request, reply, &mut scratch.peer, placed);
                if let Ok(Taken { away: Some(seen), .. }) = taken
                    && !noticed
                    && self.follow_together(&mut call.lookup, chunk.span(wanted).first, seen, false)
                {
                    call.open = true;
                    return;
                }
                let blocks = taken.map_or(0, |taken| taken.blocks);
                if let Ok(taken @ Taken { contended, .. }) = taken {
                    self.note_contended(chunk, contended, contended);
                    if blocks != 0 {
                        self.end_lookup(call.lookup, chunk.span(wanted).first).await;
                        fabric.own_records(chunk.span(wanted), scratch.own.run_mut(chunk.span(wanted)));
                        if call.ahead {
                            self.install_ahead(chunk, request.claim, taken, scratch).await;
                        } else {
                            let fetched = blocks & !request.claim.whole();
                            self.note_taken(at, chunk, fetched, noticed, &scratch.own);
                            self.install(chunk, request.claim, taken, purpose, scratch).await;
                        }
                    }
                }
                if !fabric.fault(Fault::RangeStaysTaking) {
                    chunk.runs(wanted & !blocks).for_each(|run| fabric.set_own_links(run, link));
                }
                if blocks == 0 {
                    // The miss of the chunk goes on from there.
                    self.point_to(at, chunk.span(wanted).first);
                }
            }
        }
    }
}
