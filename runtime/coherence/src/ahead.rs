//! Fetching ahead: what this process is expected to miss it fetches when it has synchronised, all of it together.
//!
//! Where nothing of a peer is mapped each miss is a round trip, and a program makes most of its misses one after the other. As B+ of
//! R. Bianchini, R. Pinto and C. L. Amorim ("Data Prefetching for Software DSMs", ICS 1998) after each synchronisation, this fetches what the process will need, all of it under way together ([`crate::range`]).
//! What that is tells, at a site that the process has passed before, or at a flush behind one, what it missed behind it last time ([`crate::history`]); elsewhere it is what notices have just invalidated, as far as it was missed
//! after one of the last two notices before.
//!
//! What has come lies in its place, but the block asks: it keeps its notice, or is a copy that has expired. The miss that wants it makes no call. So it shows whether a block was wanted.

use crate::fabric::{Fabric, MarkKind};
use crate::history::{Blocks, History, by_chunk};
use crate::migration_on_miss::hint;
use crate::range::Wanted;
use crate::records::Records;
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi};

/// What is fetched ahead next.
#[derive(Debug, Default, Hash)]
pub(crate) struct Ahead {
    /// What notices have invalidated since the last time that is worth fetching.
    noticed: Vec<(Chunk, u64)>,
    history: History,
}

/// Most runs of blocks that are expected between two synchronisations that fetch them.
const MOST_NOTICED: usize = 1 << 16;

impl Ahead {
    /// Blocks with a notice are worth fetching.
    fn expect(&mut self, chunk: Chunk, blocks: u64) {
        if self.noticed.len() < MOST_NOTICED {
            self.noticed.push((chunk, blocks));
        }
    }
}

impl<F: Fabric> Coherence<F> {
    /// Blocks of a chunk are none any more.
    pub(crate) fn expect_nothing(&self, chunk: Chunk, blocks: u64) {
        if self.has_agents && !self.fabric.fault(Fault::DiscardKeepsExpected) {
            let ahead = &mut *self.ahead();
            ahead.noticed.clear();
            ahead.history.forget(chunk, blocks);
        }
    }

    /// A miss has fetched blocks at the writer of a notice, which is in `own`. The chunk is locked.
    pub(crate) fn note_reread(&self, from: Rank, chunk: Chunk, blocks: u64, own: &Records) {
        if blocks != 0 && self.fabric.has_agent(from) {
            self.expect_again(chunk, blocks);
            self.record_noticed(chunk, blocks, own);
        }
    }

    /// The process gets permission to store to blocks: `away`, whose homes are elsewhere or have just come on a miss, and `here`, whose homes are here. Of these, the ones that have been taken ahead were wanted. The chunk is locked.
    pub(crate) fn note_stores(&self, chunk: Chunk, away: u64, here: u64) {
        if !self.has_agents {
            return;
        }
        let word = hint(MarkKind::Ahead, chunk);
        let ahead = self.fabric.own(word);
        let wanted = ahead & here;
        if wanted != 0 {
            self.fabric.set_own(word, ahead & !wanted);
            self.ahead().history.record(chunk, wanted);
        }
        if away | wanted != 0 {
            self.ahead().history.record_stores(chunk, away | wanted);
        }
    }

    /// A miss has fetched blocks from their home of which there was no notice. The chunk is locked.
    pub(crate) fn note_fetched(&self, home: Rank, chunk: Chunk, blocks: u64) {
        if blocks != 0 && self.fabric.has_agent(home) {
            self.ahead().history.record(chunk, blocks);
        }
    }

    /// Blocks have been missed after a notice: they will be after the next one. The chunk is locked.
    fn expect_again(&self, chunk: Chunk, blocks: u64) {
        for kind in [MarkKind::Reread, MarkKind::RereadStrong] {
            self.fabric.or_own(hint(kind, chunk), blocks);
        }
    }

    /// Records misses of blocks whose notices are in `own`.
    fn record_noticed(&self, chunk: Chunk, blocks: u64, own: &Records) {
        self.ahead().history.record_noticed(chunk, blocks, |block| own.of(block).wr_ts);
    }

    /// Copies of blocks that were used are invalid since a process has published them. The chunk is locked.
    pub(crate) fn expect_read(&self, from: Rank, chunk: Chunk, blocks: u64) {
        if blocks == 0 || !self.fabric.has_agent(from) {
            return;
        }
        let reread = self.fabric.own(hint(MarkKind::Reread, chunk)) & blocks;
        if reread != 0 {
            self.ahead().expect(chunk, reread);
        }
    }

    /// An operation of this process has been executed at the home of a block: what was fetched of it is without the result. The chunk is locked.
    pub(crate) fn changed_elsewhere(&self, block: Block) {
        let is_ahead = matches!(self.fabric.state(block), abi::NOTICED | abi::EXPIRED);
        if is_ahead && !self.fabric.fault(Fault::AheadBesideUpdate) {
            self.not_ahead(block.chunk(), block.bit());
        }
    }

    /// What was fetched of blocks is old: a notice has come. Those that nobody read before it came, twice in a row, will not be fetched ahead again for a notice alone. The chunk is locked.
    pub(crate) fn not_ahead(&self, chunk: Chunk, blocks: u64) {
        let fabric = &self.fabric;
        let word = hint(MarkKind::Ahead, chunk);
        let ahead = fabric.own(word);
        if ahead & blocks != 0 && !fabric.fault(Fault::AheadKept) {
            fabric.set_own(word, ahead & !blocks);
            let useless = ahead & blocks;
            let [reread, strong] = [MarkKind::Reread, MarkKind::RereadStrong].map(|kind| hint(kind, chunk));
            let twice = useless & !fabric.own(strong);
            fabric.set_own(reread, fabric.own(reread) & !twice);
            fabric.set_own(strong, fabric.own(strong) & !useless);
        }
    }

    /// Of a run of blocks with a notice, or of expired copies, whose records are in `own`, those whose contents have been fetched ahead, and are not older than the bound `min`. The
    /// chunk is locked, and they become readable.
    pub(crate) fn fetched_ahead(&self, run: Extent, state: u8, min: Timestamp, own: &Records) -> u64 {
        let chunk = run.first.chunk();
        let word = hint(MarkKind::Ahead, chunk);
        let ahead = self.fabric.own(word);
        if ahead & run.mask() == 0 {
            return 0;
        }
        self.fabric.set_own(word, ahead & !run.mask());
        let label = |block: Block| match state {
            abi::NOTICED => own.of(block).wr_ts,
            _ => own.of(block).rd_ts,
        };
        let bounded = !self.fabric.fault(Fault::AheadExpired);
        let is_current = |block: &Block| label(*block) >= min || !bounded && state == abi::EXPIRED;
        let here = chunk.blocks(ahead & run.mask()).filter(is_current);
        let here = here.fold(0, |mask, block| mask | block.bit());
        self.stats.misses_ahead.add(u64::from(here != 0));
        match state {
            abi::NOTICED => {
                self.expect_again(chunk, here);
                self.record_noticed(chunk, here, own);
            }
            _ => self.ahead().history.record(chunk, here),
        }
        here
    }

    /// Blocks whose contents need no call. The chunk is locked.
    pub(crate) fn is_ahead(&self, chunk: Chunk, state: u8) -> u64 {
        match state {
            abi::NOTICED | abi::EXPIRED => self.fabric.own(hint(MarkKind::Ahead, chunk)),
            _ => 0,
        }
    }

    /// Fetches what the process is expected to miss. May be left out; to be called when the process has acquired all that it is going to for now. `site`: names the place in the
    /// program. `None`: a flush, which is identified by its number behind the last site.
    pub async fn fetch_ahead(&self, site: Option<u64>) {
        let mut wanted = Vec::new();
        for Blocks { chunk, all, stored } in self.worth_fetching(site) {
            let mut runs: Vec<_> =
                [all & !stored, stored].into_iter().flat_map(|part| chunk.runs(part)).collect();
            runs.sort_unstable_by_key(|run| run.first);
            wanted.extend(runs.into_iter().map(|run| Wanted::ahead(run, run.mask() & stored != 0)));
        }
        if !wanted.is_empty() {
            self.miss_together(&wanted).await;
        }
    }

    /// What is expected to be missed, in the order of the chunks.
    fn worth_fetching(&self, site: Option<u64>) -> Vec<Blocks> {
        let (noticed, known) = {
            let Ahead { noticed, history } = &mut *self.ahead();
            let is_right = match site {
                Some(site) => Some(history.pass(site, self.clock())),
                None => history.pass_flush(self.clock()),
            };
            let known = is_right.map(|is_right| (is_right, history.expected().collect()));
            (by_chunk(noticed), known)
        };
        if let Some((is_right, expected)) = known {
            let expected = self.invalid(expected, true);
            self.ahead().history.fetched(&expected);
            if is_right {
                return expected;
            }
        }
        let noticed = noticed.into_iter().map(|(chunk, all)| Blocks { chunk, all, stored: 0 });
        self.invalid(noticed.collect(), false)
    }

    /// Of some blocks, those that a miss would have to fetch, or has already fetched ahead; with a notice, or in whatever state.
    fn invalid(&self, mut parts: Vec<Blocks>, in_any_state: bool) -> Vec<Blocks> {
        let is_invalid = |block: &Block| match self.fabric.state(*block) {
            abi::NOTICED => true,
            abi::COLD | abi::EXPIRED => in_any_state,
            _ => false,
        };
        for Blocks { chunk, all, stored } in &mut parts {
            *all = chunk.blocks(*all).filter(is_invalid).fold(0, |mask, block| mask | block.bit());
            *stored &= *all;
        }
        parts
    }

    /// What has come waits for the miss that wants it, or, as a home where stores ask, for a store. The chunk has been locked since before the request.
    pub(crate) fn keep_ahead(&self, chunk: Chunk, blocks: u64) {
        self.stats.blocks_fetched_ahead.add(u64::from(blocks.count_ones()));
        self.fabric.or_own(hint(MarkKind::Ahead, chunk), blocks);
    }
}
