//! The hunt for seeded faults: shows that the explorer can fail.

use std::rc::Rc;

use dsm_coherence::{CHUNK_BLOCKS, Fault, Part, Parts};

use crate::beginnings::beginning;
use crate::directed;
use crate::program::{BarrierKind, Bounds, Program, generate};
use crate::search::{Failure, random, steered};

/// Names of bounds for generated programs.
pub const PROGRAMS: [(&str, Bounds); 5] = [
    ("small", Bounds { processes: 3, threads: 1, blocks: 2, ops: 6 }),
    ("threads", Bounds { processes: 2, threads: 2, blocks: 2, ops: 8 }),
    ("single", Bounds { processes: 4, threads: 1, blocks: 8, ops: 30 }),
    ("runs", Bounds { processes: 3, threads: 1, blocks: 6, ops: 10 }),
    ("large", Bounds { processes: 4, threads: 2, blocks: 8, ops: 30 }),
];

/// Sizes of generated programs, in turn.
const SIZES: [Bounds; 4] = [
    Bounds { processes: 3, threads: 1, blocks: 2, ops: 6 },
    Bounds { processes: 3, threads: 1, blocks: 3, ops: 12 },
    Bounds { processes: 2, threads: 2, blocks: 2, ops: 8 },
    Bounds { processes: 4, threads: 1, blocks: 4, ops: 20 },
];

/// Looks for a broken rule in at most so many random runs; with no rule broken, for a fault of the protocol. Returns how many runs it took.
pub fn find_fault(fault: Option<Fault>, most: u64) -> Option<(u64, Failure)> {
    if let Some((program, legs)) = fault.and_then(beginning) {
        let program = Rc::new(Program { fault, ..program });
        let run =
            |seed| steered::run_randomly(&program, &legs, seed).err().map(|failure| (seed + 1, failure));
        return (0..most).find_map(run);
    }
    let directed = fault.and_then(shape).map(|p| Program { fault, ..p }).map(Rc::new);
    (0..most).find_map(|seed| {
        let program = match &directed {
            Some(program) => program.clone(),
            None => {
                let without = fault.map_or(Parts::default(), left_out);
                let program = generate(seed, SIZES[(seed % 4) as usize]).without(without);
                // One-sided reads would only take the way of what other faults break.
                let program = match fault {
                    Some(fault) if is_of_one_sided_reads(fault) => program.one_sided(),
                    Some(_) => Program { one_sided: false, ..program },
                    None => program,
                };
                Rc::new(Program { fault, ..program })
            }
        };
        random::run(&program, seed).err().map(|failure| (seed + 1, failure))
    })
}

/// Parts of the protocol that have to be left out for a fault to make a difference.
fn left_out(fault: Fault) -> Parts {
    match fault {
        Fault::RevokeUnpublished | Fault::TakeFromWriter => Part::MultipleWriters.into(),
        _ => Parts::default(),
    }
}

/// Whether a fault is found where single blocks are read one-sidedly.
fn is_of_one_sided_reads(fault: Fault) -> bool {
    matches!(fault, Fault::OneSidedAnywhere | Fault::OneSidedUnbounded)
}

/// A program for faults that need more luck than generated programs bring.
pub fn shape(fault: Fault) -> Option<Program> {
    match fault {
        Fault::NoReleaseFence => Some(store_behind_scan()),
        Fault::TornRecords => Some(renewal_race()),
        Fault::IgnoreOldBound => Some(bound_before_taking()),
        Fault::BoundBesideMove => Some(directed::single_block_move_of_an_expired_copy()),
        Fault::KnownNoticesDropped => Some(slow_barrier()),
        Fault::CachedLate => Some(notice_during_miss()),
        Fault::ReleaseUnderway => Some(two_releases()),
        Fault::SummaryNotRestored => Some(mark_beside_empty_chunk()),
        Fault::HoldWhileWaiting => Some(crossing_writers()),
        Fault::StampBeforeMerge => Some(notice_during_move()),
        Fault::FreeExpectedTwin => Some(twins_freed_while_taken()),
        Fault::NoLinkRecheck => Some(lease_while_taken()),
        Fault::LinkBackwards => Some(old_notice_of_a_clean_copy()),
        Fault::SupersededEarly => Some(owed_notice_during_acquire()),
        Fault::DiscardKeepsMarks | Fault::AdoptKeepsHomes | Fault::OldNumbers => Some(other_sizes()),
        Fault::AlwaysExclusive => Some(store_during_release()),
        Fault::HeldAfterWait => Some(release_that_waited()),
        Fault::TokenUnlocked => Some(list_under_way()),
        Fault::OwnLinkUnlocked => Some(look_beside_move()),
        Fault::ShortenUnlocked | Fault::ShortenBlindly => Some(home_returns_during_walk()),
        Fault::ExtendUnlocked => Some(two_leases()),
        Fault::MergedNotPassedOn => Some(merged_at_a_third()),
        Fault::DiffTwinStays => Some(merged_twice()),
        Fault::MergeRepeated => Some(merged_twice().by_agents()),
        Fault::AheadBesideUpdate => Some(addition_behind_fetching_ahead()),
        Fault::AheadUnlocked => Some(store_beside_fetching_ahead()),
        Fault::SignatureBeforeRead => Some(flag_behind_a_store()),
        Fault::RangeUnlocked => Some(notice_during_miss_of_a_range()),
        // Where stores are watched, no atomic read goes the short way.
        Fault::AtomicReadUnchecked => {
            Some(Program { watch: true, ..directed::look_at_a_copy_that_is_fetched() })
        }
        Fault::UpdateBesideStore => Some(addition_beside_a_store()),
        Fault::BatchAtFormerHome => Some(batch_of_two_homes()),
        Fault::BatchOneVersion | Fault::BatchNotListed => Some(batch_beside_copies()),
        Fault::BatchCopyStays => Some(batch_behind_a_read()),
        Fault::KeptNotSent | Fault::MissBesideKept => Some(kept_additions()),
        Fault::KeptBesideCopy => Some(kept_addition_beside_a_copy()),
        Fault::UpdateBesideTwin => Some(additions_beside_stores()),
        Fault::ComparedBesideCopy => Some(comparisons_beside_a_copy()),
        Fault::ComparedBesideExpired => Some(comparison_beside_an_expired_copy()),
        Fault::TwinNotAwaited => Some(reads_beside_moves()),
        Fault::MarksTakenEarly => Some(addition_beside_a_release()),
        Fault::ClosedBesideOperation => Some(additions_beside_moves()),
        Fault::OpenUnchecked | Fault::OpenHomeNotCompared => Some(additions_at_a_home_that_moves()),
        Fault::OpenHomesMixed => Some(additions_at_two_homes()),
        Fault::OpenShared => Some(addition_at_a_shared_home()),
        Fault::OpenBesideReader => Some(addition_beside_a_reader()),
        Fault::CopiedLookedEarly => Some(ordered_addition_beside_a_reader()),
        Fault::LoadBesideStores => Some(load_beside_own_stores()),
        Fault::OrderedUnreleased => Some(ordered_addition_behind_a_store()),
        Fault::RingsNotDrained
        | Fault::RingsPassedOver
        | Fault::OneSidedUnmarked
        | Fault::OneSidedMarkLast => Some(store_behind_scan().one_sided()),
        Fault::RingOverrun => Some(more_reads_than_a_ring_has_space_for()),
        Fault::ConsumedEarly => Some(addition_beside_a_release().one_sided()),
        Fault::UpdateBesideRing | Fault::OneSidedLookBeside | Fault::OneSidedUnwitnessed => {
            Some(addition_beside_a_one_sided_read())
        }
        Fault::CarriedInPlace => Some(list_begins_while_read()),
        Fault::OneSidedMarkFirst => Some(two_releases_beside_a_one_sided_read()),
        _ => None,
    }
}

/// A list that has just begun anew begins anew again, as blocks become smaller, while a process reads it that has read of the one before.
fn list_begins_while_read() -> Program {
    let (first, second) = ("free r3 look2 w3=1 adopt", "w1=2 a2 w1=0 adopt r2");
    let third = "a2 r0 w0=0 adopt a2 w3=0 w1=1";
    Program::parse(3, 1, 4, &[first, second, third]).notices(3).resized(&[1, 1, 1, 1])
}

/// A process stores to a block that another one has a copy of, publishes that, and sets a flag that the other one reads at its home.
fn flag_behind_a_store() -> Program {
    let program = Program::parse(2, 2, 4, &["barrier w0=1 set4=2", "r0 barrier wait4=2 r0"]).by_agents();
    Program { home_run: 2, ..program }
}

/// A process adds to a variable at the home of a block that it has fetched ahead, and then reads the block.
fn addition_behind_fetching_ahead() -> Program {
    let reader = "barrier r0 barrier barrier r0 barrier barrier a2 r0";
    let writer = "w0=1 barrier barrier w0=2 barrier barrier w0=3 barrier";
    Program::parse(2, 1, 4, &[reader, writer]).by_agents()
}

/// A thread fetches a block ahead, behind a barrier, while another one of its process stores to it.
fn store_beside_fetching_ahead() -> Program {
    let reader = "barrier r0 barrier barrier r0 barrier barrier r0";
    let beside = "barrier barrier barrier barrier barrier w1=1";
    let writer = "w0=1 barrier barrier w0=2 barrier barrier w0=3 barrier";
    let idle = "barrier barrier barrier barrier barrier";
    Program::parse(2, 1, 4, &[reader, beside, writer, idle]).by_agents()
}

/// A thread fetches blocks of two chunks while another one of its process acquires what has been stored to one of them.
fn notice_during_miss_of_a_range() -> Program {
    let writer = "lock0 w0=1 unlock0 lock0 w0=2 unlock0";
    let reader = "lock0 r0 unlock0 lock0 r0 unlock0";
    let fetcher = "fetch1+5 fetch1+5 fetch1+5 fetch1+5";
    let program = Program::parse(2, 2, 4, &[writer, "r7", reader, fetcher]).by_agents();
    Program { first: CHUNK_BLOCKS - 1, home_run: 2, ..program }
}

/// All directed programs.
pub fn shapes() -> Vec<Program> {
    Fault::ALL.iter().filter_map(|fault| shape(*fault)).collect()
}

/// What one lock protects is read and written by its holders in turn: homes of single blocks follow the lock. Beside that another block under a lock of its own, other bytes of
/// the same block under another lock, bytes that nobody writes, bytes of each process, stores to the whole block, a block that is no neighbour
/// under the same lock, overflow, or a second thread of a holder.
pub fn handed_over() -> Vec<Program> {
    let by_turns = |count: usize, turn: &dyn Fn(usize, usize) -> String| -> Vec<String> {
        (0..3).map(|p| (0..count).map(|i| turn(p, 1 + p + 3 * i) + " ").collect()).collect()
    };
    let add = |_, v| format!("lock0 r0 w0={v} unlock0");
    let alone = by_turns(5, &add);
    let looks = by_turns(5, &|p, v| if v % 4 == 0 { "lock0 r0 unlock0".into() } else { add(p, v) });
    let two_blocks = by_turns(4, &|_, v| format!("lock0 r0 w0={v} unlock0 lock1 r5 w5={v} unlock1"));
    let two_bytes = by_turns(4, &|_, v| format!("lock0 r0 w0={v} unlock0 lock1 r1 w1={v} unlock1"));
    let beside = by_turns(4, &|p, v| format!("lock0 r0 w0={v} unlock0 r3 w{}={v}", 4 + p));
    let whole = by_turns(3, &|_, v| format!("lock0 r0 w0={v} unlock0 lock0 o0+4={v} unlock0"));
    let apart = by_turns(4, &|_, v| format!("lock0 r0 w0={v} r8 w8={v} unlock0"));
    let others = "lock1 w4=1 unlock1 lock1 w8=1 unlock1 lock1 w12=1 unlock1 ".repeat(3);
    let program = |blocks, ops: &[String]| {
        let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
        Program::parse(ops.len(), blocks, 4, &ops)
    };
    let overflow = [&alone[..], &[others]].concat();
    let threads = Program::parse(2, 1, 4, &[&alone[0], &alone[1], &alone[2], "r3"]);
    vec![
        program(1, &alone),
        program(1, &looks),
        program(2, &two_blocks),
        program(1, &two_bytes),
        program(2, &beside),
        program(1, &whole),
        program(3, &apart).notices(2),
        program(4, &overflow).notices(2),
        threads,
    ]
}

/// Of three neighbouring blocks whose homes are taken before they are stored to, the middle one was overwritten: a release compares what is on both sides of it.
pub fn overwritten_between() -> Program {
    let (home, taker) = ("r16 r20 r24 w0=1 w8=1 lock1 unlock1", "o4+4=2 w1=3 w9=3 r12 lock1 unlock1");
    Program::parse(2, 8, 4, &[home, taker]).home_run(4)
}

/// A home stores and releases while a reader comes: either the release sees the reader's mark, or the reader the store.
pub fn store_behind_scan() -> Program {
    Program::parse(2, 1, 2, &["lock0 w0=1 unlock0", "r1 lock0 r0 unlock0"])
}

/// A home that was shared is stored to again when another process adds to it, while a third one has a copy from the time in between.
pub fn addition_beside_a_store() -> Program {
    let home = "w1=1 barrier barrier barrier w1=2";
    let reader = "barrier r2 barrier r2 barrier lock0 r0 unlock0";
    Program::parse(3, 1, 4, &[home, reader, "barrier barrier barrier a0 lock0 unlock0"])
}

/// A home releases when another process adds to a block of which a third one has a copy.
pub fn addition_beside_a_release() -> Program {
    let home = "w1=1 barrier lock1 unlock1 lock1 unlock1";
    Program::parse(3, 1, 4, &[home, "barrier r2 lock0 r0 unlock0", "barrier a0 lock0 unlock0"])
}

/// A process adds to a block with open records while another one takes the home again and again.
pub fn additions_beside_moves() -> Program {
    let adder = "barrier a0 a0 a0 a0 a0 a0 lock0 r0 unlock0";
    Program::parse(3, 1, 4, &["w1=1 barrier", "barrier r2 a2 r2 a2 lock0 r0 unlock0", adder])
}

/// A process adds to a block at home there that another one takes, while a third one leaves the records open because of the block beside it.
pub fn additions_at_a_home_that_moves() -> Program {
    let home = "barrier a0 a0 a0 a0 lock0 r0 unlock0";
    let taker = "barrier r2 a0 r2 a0 lock0 r0 unlock0";
    let beside = "barrier a4 a4 a4 a4 a4 a4 lock0 r0 unlock0";
    Program::parse(3, 2, 4, &[home, taker, beside]).home_run(2)
}

/// A process adds to blocks of one chunk that have homes at two processes, each with open records of the same word.
pub fn additions_at_two_homes() -> Program {
    Program::parse(3, 2, 4, &["", "", "a0 a0 a4 a4 a0 lock0 unlock0"])
}

/// A process adds to a block whose home is write-protected, as another one has a copy, while the records are open because of the block beside it.
pub fn addition_at_a_shared_home() -> Program {
    let home = "w0=1 barrier barrier w1=2 barrier barrier barrier";
    let reader = "barrier r0 barrier barrier r0 barrier barrier lock0 r0 unlock0";
    let adder = "barrier barrier barrier barrier barrier a4 a4 a0 lock0 unlock0";
    Program::parse(3, 2, 4, &[home, reader, adder]).home_run(2)
}

/// A process adds to a block that another one is reading at its home, while the records are open because of the block beside it.
pub fn addition_beside_a_reader() -> Program {
    let reader = "barrier r2 lock0 r0 unlock0";
    Program::parse(3, 2, 4, &["w1=1 barrier", reader, "barrier a4 a4 a0 a4 a0 lock0 unlock0"]).home_run(2)
}

/// A process executes an ordered addition, with the records locked, while another one reads the block at its home.
pub fn ordered_addition_beside_a_reader() -> Program {
    let home = "barrier w1=1 barrier w1=2 barrier";
    let reader = "r2 barrier barrier barrier r2 lock0 r0 unlock0";
    let adder = "barrier barrier barrier ordered0 lock0 unlock0";
    Program::parse(3, 1, 4, &[home, reader, adder]).without(Part::OpenRecords.into())
}

/// A process loads what it has stored to a copy, which is invalid, as the home's process has stored to the block, too; another thread publishes that.
pub fn load_beside_own_stores() -> Program {
    let home = "lock0 w1=1 unlock0 lock0 w1=2 unlock0 lock0 w1=3 unlock0";
    let stores = "lock0 r1 unlock0 w0=1 lock0 get0 unlock0 w0=2 lock0 get0 unlock0";
    let publishes = "lock1 unlock1 lock1 unlock1 lock1 unlock1";
    Program::parse(2, 1, 2, &[home, "", stores, publishes])
}

/// A process tells of a store to a block that others have read by an ordered addition.
pub fn ordered_addition_behind_a_store() -> Program {
    Program::parse(2, 2, 2, &["w0=1 barrier w0=2 ordered2", "barrier r1 reach2 r0"])
}

/// A process reads more blocks at a home than its ring there has space for, before the home stores to them and releases.
pub fn more_reads_than_a_ring_has_space_for() -> Program {
    let home = "lock0 w0=1 w2=1 w4=1 w6=1 unlock0";
    Program::parse(2, 4, 2, &[home, "r1 r3 r5 r7 lock0 r0 r2 r4 r6 unlock0"]).home_run(4).one_sided()
}

/// A process adds to a block that another one is reading at its home, or has just read, without the home's processors.
pub fn addition_beside_a_one_sided_read() -> Program {
    let adder = "barrier a0 lock0 unlock0";
    Program::parse(3, 1, 4, &["w1=1 barrier", "barrier r2 lock0 r0 unlock0", adder]).one_sided()
}

/// A home that stays writable, as another thread of the process may be about to store, releases twice while another process reads the block.
pub fn two_releases_beside_a_one_sided_read() -> Program {
    let home = "lock0 w0=1 unlock0 lock0 w0=2 unlock0";
    Program::parse(2, 1, 2, &[home, "r1 r1 r1 r1", "r1 lock0 r0 unlock0", ""]).one_sided()
}

/// Changes of two blocks whose homes are at two other processes.
pub fn batch_of_two_homes() -> Program {
    Program::parse(3, 2, 4, &["barrier", "w5=1 barrier gather3+2", "barrier batch3+2"]).home_run(2)
}

/// Changes of two blocks of one home, of which another process has copies.
pub fn batch_beside_copies() -> Program {
    let reader = "r1 r5 barrier lock0 r0 r4 unlock0";
    Program::parse(3, 2, 4, &["barrier", reader, "barrier batch3+2 lock0 unlock0"]).home_run(2)
}

/// Changes of a block of which the process, but no thread that changes it, has a copy.
pub fn batch_behind_a_read() -> Program {
    Program::parse(3, 1, 4, &["a0", "", "r1 batch0 r0", "r1 r0", "", ""])
}

/// Additions that a process keeps while the block is elsewhere: until a barrier, a lock is given on, and the process reads the block.
pub fn kept_additions() -> Program {
    let keeper = "keep0 keep1 barrier keep0 r0 keep1 lock0 keep0 unlock0 barrier r0";
    Program::parse(2, 1, 2, &["a0 barrier r0 lock0 r1 unlock0 keep0 barrier r0", keeper])
}

/// A process has read a block when it adds to it, and reads what it has added.
pub fn kept_addition_beside_a_copy() -> Program {
    Program::parse(2, 1, 2, &["w1=1 barrier", "barrier r1 keep0 r0"])
}

/// A process compares a variable of which it has a copy, at its home, where it has been taken back: the other process adds to it there.
pub fn comparisons_beside_a_copy() -> Program {
    let home = "w1=1 a0 barrier barrier w1=2 a0 lock0 unlock0 barrier a0 lock0 unlock0 a0 lock0 unlock0 a0 lock0 unlock0 a0";
    let reader = "barrier r1 a0 a0 barrier barrier r1 compare0 r0 compare0 r0 r1 compare0 r0 compare0 r0";
    Program::parse(2, 1, 2, &[home, reader])
}

/// A process compares a variable of which it has a copy that has expired by overflow, while its home adds to it, which it has not published.
pub fn comparison_beside_an_expired_copy() -> Program {
    let home = "a0 barrier barrier barrier barrier w2=1 w6=1 w10=1 w14=1 barrier a0";
    let reader = "barrier r1 barrier r1 barrier r1 barrier barrier compare0 r0 compare0=1 r0";
    Program::parse(2, 8, 2, &[home, reader]).notices(2)
}

/// Processes add to a variable, and store beside it, in a block whose home goes to and fro.
pub fn additions_beside_stores() -> Program {
    let home =
        "w2=1 a0 lock2 unlock2 w2=2 a0 lock2 unlock2 w2=3 a0 lock2 unlock2 a0 w2=4 a0 lock2 unlock2 a0";
    let writer = "w1=1 a0 a0 a0 lock4 unlock4 w1=2 a0 a0 a0 lock4 unlock4 w1=3 a0 a0 lock4 unlock4";
    Program::parse(2, 1, 4, &[home, writer])
}

/// Processes add to a block, whose home comes to each, as every store is to be seen, and read it where it is.
pub fn reads_beside_moves() -> Program {
    let program = Program::parse(2, 1, 2, &["batch0 batch0", "batch0 gather0 gather0"]);
    Program { watch: true, ..program }
}

/// A copy expires by overflow and is renewed while its home publishes a change of another byte.
pub fn renewal_race() -> Program {
    // The reader comes back until the home is shared. Then blocks at home elsewhere: each write is a notice.
    let home = "w0=1 barrier barrier barrier barrier w2=1 w6=1 w10=1 w14=1 barrier lock1 w0=9 unlock1";
    let reader = "barrier r1 barrier r1 barrier r1 barrier barrier r1 lock1 r0 unlock1";
    Program::parse(2, 8, 2, &[home, reader]).notices(2)
}

/// A home has checked its copies against a high bound when another process, which knows nothing of it, takes a block with a low version.
pub fn bound_before_taking() -> Program {
    let round = "lock0 w2=1 unlock0 lock0 w4=1 unlock0 lock0 w6=1 unlock0";
    let hot = format!("{round} {round} {round}");
    let taker = "lock1 r1 w1=7 r8 w8=1 r10 w10=1 r12 w12=1 unlock1";
    Program::parse(3, 7, 2, &["lock0 r2 unlock0 lock1 r1 unlock1", taker, &hot]).notices(2)
}

/// Two processes write other bytes of the same blocks, whose homes are at two others.
pub fn crossing_writers() -> Program {
    let idle = "barrier barrier";
    let (first, second) =
        ("r0 r4 w0=1 w4=2 barrier w0=3 w4=4 barrier", "r1 r5 w1=5 w5=6 barrier w1=7 w5=8 barrier");
    Program::parse(4, 2, 4, &[idle, idle, first, second])
}

/// A thread marks what it is about to store to while another one's release, of a block of another chunk, clears the summary that a former release left behind: it is set
/// again, but in between no mark seems to be there.
pub fn two_releases() -> Program {
    let clearing: String =
        [6, 14, 22].map(|addr| format!("w{addr}=1 {}", "lock0 unlock0 ".repeat(3))).concat();
    let writer = [2, 10, 18].map(|addr| format!("lock1 w{addr}=1 unlock1 ")).concat();
    let program = Program::parse(2, 12, 2, &[&clearing, &writer, &"lock1 r2 r10 r18 unlock1 ".repeat(2), ""]);
    Program { stride: 64, ..program }
}

/// A reader marks a block of one chunk while the home's release finds that nothing is marked in the neighbouring one any more.
pub fn mark_beside_empty_chunk() -> Program {
    let home = "w0=1 w2=1 barrier lock0 unlock0 lock0 unlock0 lock0 unlock0 lock1 w2=9 unlock1";
    let program = Program::parse(2, 2, 2, &[home, "barrier r1 r3 lock1 r2 unlock1"]).home_run(2);
    Program { stride: 64, ..program }
}

/// One thread of a process acquires a notice of a block whose home another one is moving here.
pub fn notice_during_move() -> Program {
    let (mover, reader) = ("r4 w4=1 lock0 unlock0", "lock1 r5 unlock1");
    Program::parse(2, 2, 4, &[mover, reader, "lock1 w5=2 unlock1", "r6"])
}

/// A process still in one barrier acquires what a faster one wrote after it, since the faster one's list was cut in between; a third
/// depends on it in the next barrier.
pub fn slow_barrier() -> Program {
    let idle = "barrier barrier barrier";
    let threads = ["r0 barrier barrier barrier r0", "r4 w4=1 barrier barrier r0 w0=1 barrier", idle, idle];
    Program { barrier: BarrierKind::Dissemination, ..Program::parse(4, 3, 2, &threads) }
}

/// One thread of a process acquires a notice of a block that another one is fetching.
pub fn notice_during_miss() -> Program {
    Program::parse(2, 1, 2, &["lock0 w0=1 unlock0", "r1", "r1", "lock0 r0 unlock0"])
}

/// Processes hand a home over to each other, whose next holder leaves a twin, and give their twins' memory back.
pub fn twins_freed_while_taken() -> Program {
    let frees = "a0 free free free free";
    Program::parse(3, 1, 2, &[frees, frees, "a0 w1=1 lock0 unlock0"])
}

/// A reader with a bound asks for a lease while the home moves between two writers of other bytes.
pub fn lease_while_taken() -> Program {
    // The bound comes from a process that writes much, and is unknown where the home is and goes.
    let round = "lock0 w4=1 unlock0 lock0 w8=1 unlock0 lock0 w16=1 unlock0";
    let (taker, reader) = ("lock1 r2 w2=2 unlock1", "lock0 r4 unlock0 r0 lock1 r2 unlock1");
    Program::parse(4, 5, 4, &["r0", taker, reader, &format!("{round} {round}")]).notices(2)
}

/// A process takes a home, loses it without having stored since, and its copy expires; only then it hears of the version before its own.
pub fn old_notice_of_a_clean_copy() -> Program {
    let first = "lock1 w12=1 unlock1";
    let second = "w13=2 lock2 unlock2 lock2 unlock2 lock0 unlock0 lock1 r12 unlock1";
    let third = "lock2 w14=3 unlock2";
    // The bound comes from a process that writes much: blocks at home elsewhere, so that each write is a notice.
    let round = "lock0 w0=1 unlock0 lock0 w4=1 unlock0 lock0 w8=1 unlock0";
    Program::parse(4, 5, 4, &[first, second, third, &format!("{round} {round} {round}")]).notices(2)
}

/// A home is taken by another process's release while it is stored to, and the release here owes the notice of that version; another thread acquires it from there
/// with newer ones of the same block.
pub fn owed_notice_during_acquire() -> Program {
    let taker = "lock0 w9=1 unlock0 lock0 w9=2 unlock0";
    let (writer, acquirer) = ("lock1 w8=9 unlock1", "r0 r12 r24 lock0 unlock0");
    let program = Program::parse(3, 9, 4, &[taker, "", "r10 lock1 r8 unlock1", "", writer, acquirer]);
    // Where races are looked for every store asks: homes are taken by releases only, in versions that are told of.
    Program { watch: true, ..program }
}

/// Two readers with different bounds get leases at a home at the same time, and the home publishes next.
pub fn two_leases() -> Program {
    let round = "lock0 w5=1 unlock0 lock0 w9=1 unlock0 lock0 w17=1 unlock0";
    let home = "r4 r8 r16 r4 lock1 w1=9 unlock1";
    let reader = "r0 lock0 unlock0 r0 lock1 r1 unlock1";
    Program::parse(4, 5, 4, &[home, reader, "r0 lock0 unlock0 r0", &format!("{round} {round}")]).notices(2)
}

/// A home was read elsewhere; one of its threads releases while the other one has passed its check and stores byte by byte.
pub fn store_during_release() -> Program {
    let releases = "lock1 unlock1 ".repeat(4);
    let (writer, reader) =
        ("lock0 w0+7=1 unlock0 lock0 w0+7=2 unlock0", "r7 lock0 r0+7 unlock0 lock0 r0+7 unlock0");
    Program::parse(2, 1, 8, &[&releases, writer, reader, ""])
}

/// A thread stored what was there already to a block of another home, so its releases waste diffs while the other thread of the process is about to store there.
pub fn release_that_waited() -> Program {
    // What was read before gets a twin: its home does not come here.
    let releases = format!("r0 w0=0 {}", "lock0 unlock0 ".repeat(20));
    Program::parse(2, 1, 8, &["", "lock1 r1+6 unlock1", &releases, "r7 lock1 w1+6=1 unlock1"])
}

/// A thread applies more notices than are in a release token and lists them; another thread of the process hands a lock over meanwhile.
pub fn list_under_way() -> Program {
    let acquirer = "lock1 unlock1";
    let hand_overs = "lock0 unlock0 ".repeat(4);
    let reader = format!("r1 r5 r9 {hand_overs} lock1 r0 r4 r8 unlock1");
    Program::parse(3, 5, 2, &[acquirer, &hand_overs, "lock1 w0=1 w4=2 w8=3 unlock1", "", &reader, ""])
}

/// A home goes round three processes; while a fourth follows it, it comes back to where it began, and goes on in the same direction.
pub fn home_returns_during_walk() -> Program {
    let (first, second) = ("barrier barrier w0=1 lock0 unlock0", "w1=1 barrier barrier w1=2 lock1 unlock1");
    Program::parse(4, 1, 4, &[first, second, "barrier w2=1 barrier", "barrier barrier r3"])
}

/// One thread of a process looks at an atomic variable, along links, while another one moves its home here.
pub fn look_beside_move() -> Program {
    let (store, look) = (|v| format!("lock0 w1={v} unlock0 lock0 w1={} unlock0", v + 1), "look0 look0");
    Program::parse(3, 1, 4, &[&store(1), "", &store(3), look, &store(5), look])
}

/// Blocks change their size and change back, with stores before, between and behind.
pub fn other_sizes() -> Program {
    let first = "w0=1 adopt lock0 w1=2 unlock0 r4 adopt lock0 r1 w0=7 unlock0";
    let second = "w4=3 adopt w2=4 lock0 r1 w1=6 unlock0 adopt lock0 w1=8 unlock0";
    let third = "r6 adopt r4 lock0 r1 unlock0 adopt lock0 r0 r1 unlock0 r2";
    Program::parse(3, 4, 2, &[first, second, third]).resized(&[4, 4]).notices(2)
}

/// Two processes store to a block between barriers until one merges its changes at the other, the home. A third, with a copy that is newer than the home's own
/// last version, hears of the merged one from the home only.
pub fn merged_at_a_third() -> Program {
    let home = "w2=1 barrier w2=2 barrier w2=3 lock2 unlock2 lock1 unlock1";
    let writer = "r1 w1=1 barrier w1=2 barrier w1=3 lock1 w0=5 unlock1";
    Program::parse(3, 1, 4, &[home, writer, "barrier barrier r3 r3 lock1 r0 unlock1"])
}

/// A release merges its changes at the home while another thread of its process may be about to store, and a later one looks at the same block again, after
/// the home has overwritten what was merged.
pub fn merged_twice() -> Program {
    let home = "w2=1 lock2 unlock2 w2=2 lock2 unlock2 w2=3 lock1 w0=6 unlock1";
    let writer = "r1 w1=1 lock4 unlock4 w1=2 lock4 unlock4 w1=3 lock1 w0=5 unlock1";
    Program::parse(2, 2, 4, &[home, "", writer, "r4 r4 r4 r4 r4 r4 r4 r4 r4 r4 r4 r4"])
}
