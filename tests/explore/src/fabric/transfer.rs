//! Transfers of more than a word: each word, and each byte, is read and placed by itself.

use dsm_abi::atomic::{RmwOp, Update};
use dsm_coherence::{
    Block, Chunk, Extent, Fabric, Fault, Header, Look, Notice, Rank, Record, Timestamp, Word,
};

use super::ModelFabric;
use crate::layout::unpack;
use crate::world::{Thing, Wait, pause};

/// A version beyond all that there are.
const MEANINGLESS: u64 = 1 << 27;

/// See [`dsm_coherence::Fabric::fetch`].
pub(super) async fn fetch(fabric: &ModelFabric, from: Rank, extent: Extent) {
    let checkpoint = fabric.checkpoint();
    for addr in fabric.extent_addrs(extent) {
        let loc = fabric.world.borrow().layout.data(addr);
        let value = fabric.read(from, loc).await;
        let mut w = fabric.world.borrow_mut();
        w.note(|| format!("fetch byte {addr} from p{}: {value:#04x}", from.0));
        w.own_write(loc, value);
        w.live_since(checkpoint, addr);
    }
    fabric.point().await;
}

/// See [`dsm_coherence::Fabric::look`]. What is stored is a step each, in order; whatever is read in a part is read by itself, in all orders.
pub(super) async fn look(fabric: &ModelFabric, at: Rank, parts: &mut [Look<'_>]) {
    let peer = at.0 as usize;
    for Look { writes, words, contents } in parts {
        for (word, value) in *writes {
            let loc = fabric.loc(*word).expect("words of rings");
            fabric.point().await;
            {
                let mut w = fabric.world.borrow_mut();
                w.end_lookup();
                w.note_loc(loc, |name| format!("one-sided write of {name} at p{peer}: {value:#x}"));
                w.post(peer, loc, *value);
            }
            pause(&fabric.world, Wait::Placed(fabric.process, peer)).await;
            fabric.world.borrow_mut().flushed(peer);
        }
        fabric.point().await;
        let data: Vec<_> = contents
            .iter()
            .flat_map(|block| fabric.extent_addrs(Extent::single(*block)))
            .map(|addr| fabric.world.borrow().layout.data(addr))
            .collect();
        let wanted: Vec<_> = words.iter().map(|(word, _)| fabric.loc(*word)).collect();
        let numbers: Vec<u32> = {
            let mut w = fabric.world.borrow_mut();
            wanted.iter().flatten().chain(&data).map(|loc| w.begin_read(peer, *loc)).collect()
        };
        pause(&fabric.world, Wait::Placed(fabric.process, peer)).await;
        let mut w = fabric.world.borrow_mut();
        w.flushed(peer);
        let mut values = w.samples(&numbers).into_iter();
        for ((_, value), _) in words.iter_mut().zip(&wanted).filter(|(_, loc)| loc.is_some()) {
            *value = values.next().expect("a value for each");
        }
        for (loc, value) in data.into_iter().zip(values) {
            w.own_write(loc, value);
        }
    }
}

/// See [`dsm_coherence::Fabric::load_bytes`].
pub(super) async fn load_bytes(
    fabric: &ModelFabric,
    at: Rank,
    block: Block,
    offset: usize,
    bytes: usize,
) -> u64 {
    fabric.point().await;
    let mut value = 0;
    {
        let mut w = fabric.world.borrow_mut();
        for i in 0..bytes {
            let addr = w.layout.addr(block) + offset + i;
            let loc = w.layout.data(addr);
            value |= w.remote_read(at.0 as usize, loc) << (8 * i);
        }
        w.note(|| format!("read {bytes} bytes at {offset} of {} at p{}: {value:#x}", block.0, at.0));
    }
    fabric.point().await;
    value
}

/// See [`dsm_coherence::Fabric::update_bytes`]. The operations of programs add to bytes, none of which overflows, or compare them; the oracle sees them here.
pub(super) async fn update_bytes(
    fabric: &ModelFabric,
    at: Rank,
    block: Block,
    (offset, bytes): (usize, usize),
    update: Update,
) -> u64 {
    fabric.point().await;
    let mut found = [0; 8];
    let is_addition = matches!(update, Update::Rmw { op: RmwOp::Add, .. });
    let is_comparison = matches!(update, Update::CompareExchange { .. });
    {
        let mut w = fabric.world.borrow_mut();
        if (is_addition || is_comparison) && std::mem::take(&mut w.current_thread().releases) {
            w.released();
            // What others know from now on does not tell of the addition.
            let thread = w.current;
            w.oracle.tick(thread);
        }
        let first = w.layout.addr(block) + offset;
        let locs: Vec<_> = (first..first + bytes).map(|addr| w.layout.data(addr)).collect();
        for (byte, loc) in found.iter_mut().zip(&locs) {
            *byte = w.atomic(at.0 as usize, *loc, |_| None) as u8;
        }
        let old = u64::from_le_bytes(found);
        let new = update.apply(bytes as u32, old.into()).map_or(old, |new| new as u64);
        for (byte, loc) in new.to_le_bytes().into_iter().zip(&locs) {
            w.atomic(at.0 as usize, *loc, |_| Some(byte.into()));
        }
        let thread = w.current;
        for (addr, old) in (first..).zip(&found[..bytes]) {
            w.access(Thing::Byte(addr), true, 0);
            let (what, judged) = match update {
                _ if is_addition => ("add to", w.oracle.add(thread, addr, *old)),
                _ if is_comparison => ("comparison of", w.oracle.find(thread, addr, *old)),
                // What is stored the thread has judged.
                _ => ("store to", Ok(())),
            };
            w.note(|| format!("atomic {what} byte {addr} at p{}: found {old:#04x}", at.0));
            if let Err(why) = judged {
                w.fail(why);
            }
        }
    }
    fabric.point().await;
    u64::from_le_bytes(found)
}

/// See [`dsm_coherence::Fabric::snapshot`].
pub(super) async fn snapshot(fabric: &ModelFabric, from: Rank, extent: Extent, into: &mut [u8]) {
    for (addr, byte) in fabric.extent_addrs(extent).zip(into) {
        let loc = fabric.world.borrow().layout.data(addr);
        *byte = fabric.read(from, loc).await as u8;
        let value = *byte;
        fabric.world.borrow_mut().note(|| format!("snapshot byte {addr} from p{}: {value:#04x}", from.0));
    }
    fabric.point().await;
}

/// See [`dsm_coherence::Fabric::holes`]: what is zero may be one, and a block is one or not at one time. A store that has not reached memory counts as not made; in production it
/// has made the page by then.
pub(super) async fn holes(fabric: &ModelFabric, at: Rank, chunk: Chunk, blocks: u64) -> u64 {
    let mut holes = 0;
    let checkpoint = fabric.checkpoint();
    for block in chunk.blocks(blocks) {
        fabric.point().await;
        let addrs: Vec<usize> = fabric.extent_addrs(Extent::single(block)).collect();
        let mut w = fabric.world.borrow_mut();
        let stored = addrs.into_iter().filter(|addr| {
            let loc = w.layout.data(*addr);
            w.remote_read(at.0 as usize, loc) != 0
        });
        holes |= if stored.count() == 0 { block.bit() } else { 0 };
        w.live_since(checkpoint, (block, holes));
    }
    fabric
        .world
        .borrow_mut()
        .note(|| format!("holes of {chunk:?} at p{} among {blocks:#x}: {holes:#x}", at.0));
    fabric.point().await;
    holes
}

/// See [`dsm_coherence::Fabric::post_twin`].
pub(super) async fn post_twin(fabric: &ModelFabric, to: Rank, extent: Extent, contents: &[u8]) {
    fabric.point().await;
    let mut w = fabric.world.borrow_mut();
    w.note(|| format!("post twins of {extent:?} to p{}: {contents:x?}", to.0));
    for block in extent.blocks() {
        let index = w.layout.index(block);
        w.set_twin(to.0 as usize, index, true);
    }
    let first = w.layout.addr(extent.first);
    for (addr, byte) in (first..).zip(contents) {
        let loc = w.layout.twin(addr);
        w.post(to.0 as usize, loc, u64::from(*byte));
    }
}

/// See [`dsm_coherence::Fabric::post_diff`].
pub(super) async fn post_diff(fabric: &ModelFabric, to: Rank, extent: Extent) {
    for addr in fabric.extent_addrs(extent) {
        fabric.point().await;
        let mut w = fabric.world.borrow_mut();
        let index = w.layout.index_at(addr, w.processes[fabric.process].division);
        let block = w.layout.block(index);
        w.expect_twin(block, "sent as what differs from");
        let (data, twin) = (w.layout.data(addr), w.layout.twin(addr));
        let value = w.own_read(data);
        if value != w.own_read(twin) {
            w.note(|| format!("post byte {addr} to p{}: {value:#04x}", to.0));
            w.post(to.0 as usize, data, value);
            if !fabric.fault(Fault::DiffTwinStays) {
                w.own_write(twin, value);
            }
        }
    }
}

/// See [`dsm_coherence::Fabric::post_bytes`].
pub(super) async fn post_bytes(fabric: &ModelFabric, to: Rank, block: Block, offset: usize, bytes: &[u8]) {
    let first = fabric.world.borrow().layout.addr(block) + offset;
    for (addr, value) in (first..).zip(bytes) {
        fabric.point().await;
        let mut w = fabric.world.borrow_mut();
        w.note(|| format!("post byte {addr} to p{}: {value:#04x}", to.0));
        let loc = w.layout.data(addr);
        w.post(to.0 as usize, loc, u64::from(*value));
    }
}

/// See [`dsm_coherence::Fabric::read_records`].
pub(super) async fn read_records(fabric: &ModelFabric, from: Rank, extent: Extent, into: &mut [Record]) {
    for (block, record) in extent.blocks().zip(into) {
        let words = [Word::Link(block), Word::Rd(block), Word::Wr(block)];
        let [link, rd_ts, wr_ts] = words.map(|word| fabric.loc(word));
        // Blocks between those of interest that no program uses.
        let (Some(link), Some(rd_ts), Some(wr_ts)) = (link, rd_ts, wr_ts) else {
            *record = Record::default();
            continue;
        };
        if block == extent.first {
            fabric.world.borrow_mut().count_hop(link);
        }
        record.link = fabric.read(from, link).await;
        if fabric.prompt && !fabric.is_informative(record.link, from, block) {
            // Whatever is read besides means nothing.
            (record.rd_ts, record.wr_ts) = (MEANINGLESS, MEANINGLESS);
            continue;
        }
        record.rd_ts = fabric.read(from, rd_ts).await;
        record.wr_ts = fabric.read(from, wr_ts).await;
        fabric.world.borrow_mut().note(|| format!("record of {block:?} at p{}: {record:x?}", from.0));
    }
    fabric.point().await;
}

/// See [`dsm_coherence::Fabric::read_header`].
pub(super) async fn read_header(fabric: &ModelFabric, from: Rank, chunk: Chunk) -> Header {
    let mut words = [0; 4];
    let names =
        [Word::Lease(chunk), Word::ChunkVersion(chunk), Word::Homes(chunk), Word::WriteProtected(chunk)];
    fabric.world.borrow_mut().end_lookup();
    for (word, name) in words.iter_mut().zip(names) {
        let Some(loc) = fabric.loc(name) else { continue };
        *word = fabric.read(from, loc).await;
    }
    fabric.point().await;
    let [lease, chunk_version, homes, write_protected] = words;
    let header = Header { lease, chunk_version, homes, write_protected };
    fabric.world.borrow_mut().note(|| format!("header of {chunk:?} at p{}: {header:x?}", from.0));
    header
}

/// See [`dsm_coherence::Fabric::post_stamps`].
pub(super) async fn post_stamps(
    fabric: &ModelFabric,
    to: Rank,
    extent: Extent,
    stamps: impl Fn(Block) -> [Timestamp; 2],
) {
    fabric.point().await;
    let mut w = fabric.world.borrow_mut();
    let stamps: Vec<_> = extent.blocks().map(stamps).collect();
    w.note(|| format!("post stamps of {extent:?} to p{}: {stamps:x?}", to.0));
    for (block, [rd_ts, wr_ts]) in extent.blocks().zip(stamps) {
        for (word, value) in [(Word::Rd(block), rd_ts), (Word::Wr(block), wr_ts)] {
            let loc = w.layout.word(word).expect("words of used blocks");
            w.post(to.0 as usize, loc, value);
        }
    }
}

/// See [`dsm_coherence::Fabric::post_links`].
pub(super) async fn post_links(fabric: &ModelFabric, to: Rank, extent: Extent, link: u64) {
    fabric.point().await;
    let mut w = fabric.world.borrow_mut();
    w.note(|| format!("post links of {extent:?} to p{}: {link:#x}", to.0));
    for block in extent.blocks() {
        let loc = w.layout.word(Word::Link(block)).expect("words of used blocks");
        w.post(to.0 as usize, loc, link);
    }
}

/// See [`dsm_coherence::Fabric::read_notices`].
pub(super) async fn read_notices(
    fabric: &ModelFabric,
    from: Rank,
    buffer: u8,
    start: u32,
    count: u32,
    out: &mut Vec<Notice>,
) {
    for i in start..start + count {
        let loc = fabric.world.borrow().layout.notice(buffer, i);
        let value = fabric.read(from, loc).await;
        // A buffer that is being reused may show anything; the reader finds out afterwards.
        let notice = unpack(value);
        fabric.world.borrow_mut().note(|| format!("read notice {i} of p{}: {notice:?}", from.0));
        out.push(notice);
    }
    fabric.point().await;
}
