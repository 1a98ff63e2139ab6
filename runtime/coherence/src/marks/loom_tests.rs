//! All interleavings of setters and a release that takes: no bit is lost, and what was set before a look is seen by it.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;

use super::bits::{Bits, Words};
use super::*;
use crate::maybe_async::expect_ready;

const ME: Rank = Rank(0);

/// Sets of three levels over the chunks 0 and 1. `stale`: chunk 0 was set and taken, so that its summaries are set and lead to nothing.
fn sets(kind: MarkKind, stale: bool, fault: Option<Fault>) -> Arc<Bits> {
    let word = |level, index, value| (Word::Mark { kind, level, index }, AtomicU64::new(value));
    let words = Words(vec![word(0, 0, 0), word(0, 1, 0), word(1, 0, stale.into()), word(2, 0, stale.into())]);
    Arc::new(Bits { me: ME, levels: 3, top_words: 1, words, fault })
}

/// What a release finds in the set: the bits of the chunks 0 and 1.
fn release(fabric: &Bits, kind: MarkKind) -> [u64; 2] {
    let mut found = [0; 2];
    if !fabric.none_marked(&[kind]) {
        let mut chunks = Vec::new();
        expect_ready(scan(fabric, &mut chunks));
        chunks
            .iter()
            .for_each(|chunk| found[chunk.0 as usize] |= expect_ready(take_chunk(fabric, kind, *chunk)));
    }
    found
}

/// A release beside a setter; afterwards a release that comes behind both.
fn released(kind: MarkKind, chunk: u64, stale: bool, fault: Option<Fault>) {
    loom::model(move || {
        let fabric = sets(kind, stale, fault);
        let setter = fabric.clone();
        let thread = thread::spawn(move || match kind {
            MarkKind::Read => expect_ready(set(&*setter, ME, kind, Chunk(chunk), 2)),
            _ => set_own(&*setter, kind, Chunk(chunk), 2),
        });
        let first = release(&fabric, kind);
        thread.join().unwrap();
        let second = release(&fabric, kind);
        let mut all = [0; 2];
        all[chunk as usize] = 2;
        assert_eq!([first[0] | second[0], first[1] | second[1]], all);
        assert_eq!([first[0] & second[0], first[1] & second[1]], [0; 2]);
    });
}

#[test]
fn no_mark_is_lost_beside_a_release() {
    for kind in [MarkKind::Read, MarkKind::Dirty] {
        for chunk in [0, 1] {
            for stale in [false, true] {
                released(kind, chunk, stale, None);
            }
        }
    }
}

#[test]
#[should_panic]
fn a_mark_is_lost_if_nobody_looks_again() {
    released(MarkKind::Read, 1, true, Some(Fault::SummaryNotRestored));
}

/// Two setters of one chunk whose summary is being cleared.
#[test]
fn no_mark_of_two_is_lost() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let fabric = sets(MarkKind::Read, true, None);
        let threads = [2, 4].map(|mask| {
            let setter = fabric.clone();
            thread::spawn(move || expect_ready(set(&*setter, ME, MarkKind::Read, Chunk(0), mask)))
        });
        let first = release(&fabric, MarkKind::Read);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(first[0] | release(&fabric, MarkKind::Read)[0], 6);
    });
}

/// Two threads of a process mark chunks below the same summaries: each sees its own mark from the top, though the other one may have set the summary that
/// both share and not yet those above.
#[test]
fn a_mark_is_seen_by_who_set_it() {
    loom::model(|| {
        let word = |level, index| (Word::Mark { kind: MarkKind::Dirty, level, index }, AtomicU64::new(0));
        let words = Words(vec![word(0, 0), word(0, 1), word(1, 0), word(2, 0), word(3, 0)]);
        let fabric = Arc::new(Bits { me: ME, levels: 4, top_words: 1, words, fault: None });
        let other = fabric.clone();
        let thread = thread::spawn(move || set_own(&*other, MarkKind::Dirty, Chunk(1), 1));
        set_own(&*fabric, MarkKind::Dirty, Chunk(0), 1);
        assert!(!fabric.none_marked(&[MarkKind::Dirty]));
        thread.join().unwrap();
    });
}

/// A reader marks and then reads; the home stores, releases and looks at the marks: either it finds the mark, or the reader sees the store.
#[test]
fn a_reader_is_seen_or_sees() {
    loom::model(|| {
        let fabric = sets(MarkKind::Read, true, None);
        let data = Arc::new(AtomicU64::new(0));
        let (reader, source) = (fabric.clone(), data.clone());
        let thread = thread::spawn(move || {
            expect_ready(set(&*reader, ME, MarkKind::Read, Chunk(0), 1));
            loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
            source.load(loom::sync::atomic::Ordering::Relaxed)
        });
        data.store(1, loom::sync::atomic::Ordering::Relaxed);
        // What a release begins with.
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
        let found = release(&fabric, MarkKind::Read)[0];
        let seen = thread.join().unwrap();
        assert!(found == 1 || seen == 1, "neither: mark {found}, data {seen}");
    });
}
