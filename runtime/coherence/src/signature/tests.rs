//! Of single signatures, without a fabric.

use super::*;
#[cfg(not(loom))]
use crate::marks::bits::{Bits, Words};
use crate::types::{Block, Rank};

fn notice(writer: u32, block: u64, wr_ts: Timestamp) -> Notice {
    Notice { writer: Rank(writer), extent: Extent::single(Block(block)), wr_ts, merged: false }
}

fn with(capacity: usize, notices: &[Notice]) -> Signature {
    let mut signature = Signature::new(capacity);
    notices.iter().for_each(|n| signature.add(*n));
    signature
}

fn listed(signature: &Signature) -> Vec<Notice> {
    signature.notices.clone()
}

#[test]
fn neighbours_of_one_version_are_one_notice() {
    let signature =
        with(8, &[notice(0, 4, 7), notice(0, 5, 7), notice(0, 6, 7), notice(0, 7, 8), notice(1, 8, 8)]);
    let joined = Notice { extent: Extent::new(Block(4), 3), ..notice(0, 4, 7) };
    assert_eq!(listed(&signature), [joined, notice(0, 7, 8), notice(1, 8, 8)]);
    assert!(!signature.is_new(&joined) && signature.is_new(&notice(0, 4, 7)));
}

#[test]
fn a_notice_is_listed_once() {
    let signature = with(8, &[notice(0, 4, 7), notice(1, 9, 3), notice(0, 4, 7)]);
    assert_eq!(listed(&signature).len(), 2);
    assert_eq!(signature.front().clock(), 7);
}

#[test]
fn an_owed_notice_stays_news() {
    let mut signature = with(8, &[]);
    signature.add_owed(notice(1, 4, 7));
    assert!(signature.is_new(&notice(1, 4, 7)));
    assert_eq!(listed(&signature), [notice(1, 4, 7)]);
    // Not even forgetting changes that.
    signature.forget_unlisted();
    assert!(signature.is_new(&notice(1, 4, 7)));
    // It is not joined: what it is joined to would count as applied.
    signature.add(notice(1, 5, 7));
    assert_eq!(listed(&signature), [notice(1, 4, 7), notice(1, 5, 7)]);
}

#[test]
fn notices_superseded_by_any_writer_go_first() {
    let mut signature = with(2, &[notice(0, 4, 1), notice(0, 8, 2), notice(1, 4, 3)]);
    assert_eq!(signature.shrink(), 0);
    assert_eq!(listed(&signature), [notice(0, 8, 2), notice(1, 4, 3)]);
}

#[test]
fn overflow_drops_what_is_superseded_first() {
    let mut signature = with(2, &[notice(0, 4, 1), notice(0, 8, 2), notice(0, 4, 3)]);
    assert_eq!(signature.shrink(), 0);
    assert_eq!(listed(&signature), [notice(0, 8, 2), notice(0, 4, 3)]);
}

#[test]
fn a_list_that_begins_anew_leaves_out_what_the_next_notice_makes_up_for() {
    let wide = Notice { extent: Extent::new(Block(4), 2), ..notice(1, 4, 9) };
    let mut signature = with(
        8,
        &[notice(0, 4, 1), notice(0, 4, 2), notice(1, 4, 3), wide, notice(0, 4, 11), notice(0, 4, 10)],
    );
    signature.drop_stale();
    assert_eq!(listed(&signature), [notice(1, 4, 3), wide, notice(0, 4, 11), notice(0, 4, 10)]);
    signature.drop_stale();
    assert_eq!(listed(&signature).len(), 4);
}

#[test]
fn own_notices_supersede_older_ones_of_their_blocks_that_are_held_back() {
    let deferred = [notice(1, 4, 5), notice(1, 5, 9), notice(1, 6, 5)];
    let mut signature = Signature { deferred: deferred.to_vec(), ..Signature::new(8) };
    signature.supersede(Notice { extent: Extent::new(Block(4), 2), ..notice(0, 4, 9) }, false);
    assert_eq!(signature.deferred, [notice(1, 5, 9), notice(1, 6, 5)]);
}

/// The token if all that is listed were published.
#[cfg(not(loom))]
fn token_of(notices: &[Notice]) -> ReleaseToken {
    let mut token = ReleaseToken::default();
    notices.iter().for_each(|notice| token.push(*notice));
    token
}

#[cfg(not(loom))]
fn fabric() -> Bits {
    Bits { me: Rank(0), levels: 3, top_words: 1, words: Words::default(), fault: None }
}

#[cfg(not(loom))]
#[test]
fn a_token_has_the_end_of_the_list() {
    let mut signature = Signature::new(64);
    let check = |signature: &Signature, what: &str| {
        let end = token_of(&signature.notices);
        assert_eq!(signature.token, end, "{what}: {:?}", signature.notices);
        assert_eq!(signature.token_of_last(signature.notices.len()), end, "{what}");
    };
    for (i, block) in [4, 5, 9, 10, 20, 4].into_iter().enumerate() {
        signature.add(notice(1, block, 7));
        check(&signature, &format!("notice {i} of a peer"));
    }
    for (i, block) in [40, 41, 42, 50, 4].into_iter().enumerate() {
        signature.add_own(notice(0, block, 8), &fabric());
        check(&signature, &format!("own notice {i}"));
    }
    let joined = Notice { extent: Extent::new(Block(40), 3), ..notice(0, 40, 8) };
    assert!(listed(&signature).contains(&joined));
    // Published in part: a release tells of that part only.
    signature.unpublished = 3;
    let published = signature.notices.len() - 3;
    assert_eq!(signature.token(), token_of(&signature.notices[..published]).at(state_word(0, published)));
    signature.unpublished = 0;
    signature.begin_generation(0);
    signature.add(notice(1, 60, 9));
    signature.begin_generation(0);
    check(&signature, "what is left after a global_sync");
    assert_eq!(listed(&signature), [notice(1, 60, 9)]);
    signature.add(notice(1, 62, 10));
    signature.add(notice(2, 62, 11));
    signature.drop_stale();
    check(&signature, "without superseded ones");
    signature.begin_generation(0);
    signature.begin_generation(0);
    check(&signature, "an empty list");
}

#[cfg(not(loom))]
#[test]
fn the_clock_is_not_behind_any_version_heard_of() {
    let clock = |signature: &Signature| signature.front.clock();
    let mut signature = Signature::new(8);
    signature.add(notice(1, 4, 5));
    assert_eq!(clock(&signature), 5);
    signature.add_own(notice(0, 4, 7), &fabric());
    assert_eq!(clock(&signature), 7);
    signature.defer(notice(1, 8, 9), &fabric());
    assert!(clock(&signature) == 9 && signature.front.has_deferred());
    let mut fresh = vec![notice(1, 12, 12), notice(2, 12, 20), notice(2, 16, 3)];
    assert_eq!(signature.keep_newest(&mut fresh, &fabric()), [notice(1, 12, 12)]);
    assert_eq!(fresh, [notice(2, 12, 20), notice(2, 16, 3)]);
    assert_eq!(clock(&signature), 12, "what is left is applied later");
}

#[cfg(not(loom))]
#[test]
fn held_notices_are_listed_once() {
    let mut signature = Signature::new(8);
    signature.defer(notice(1, 4, 5), &fabric());
    signature.defer(notice(2, 9, 6), &fabric());
    signature.list_deferred();
    assert_eq!(listed(&signature), [notice(1, 4, 5), notice(2, 9, 6)]);
    assert!(signature.deferred.is_empty());
    assert!(!signature.is_new(&notice(1, 4, 5)));
}

#[test]
fn what_is_dropped_takes_its_note_of_the_next_one_along() {
    // The second is superseded by the third, which stays when the first is dropped.
    let mut signature = with(4, &[notice(0, 8, 1), notice(0, 4, 5), notice(1, 4, 6), notice(0, 12, 7)]);
    signature.retain(|n| n.wr_ts > 1);
    signature.drop_stale();
    assert!(listed(&signature).contains(&notice(1, 4, 6)) && listed(&signature).contains(&notice(0, 12, 7)));
}

#[test]
fn overflow_drops_the_oldest_versions() {
    let all = [notice(0, 4, 9), notice(0, 8, 2), notice(1, 20, 7), notice(1, 12, 5), notice(0, 16, 4)];
    let mut signature = with(4, &all);
    assert_eq!(signature.shrink(), 4);
    assert_eq!(listed(&signature), [notice(0, 4, 9), notice(1, 20, 7), notice(1, 12, 5)]);
    // Three of four places: one is free for what comes next.
    assert_eq!(signature.shrink(), 0, "nothing has to be dropped");
}

#[test]
fn what_is_forgotten_is_news_again() {
    let mut signature = with(4, &[notice(0, 4, 1), notice(0, 8, 2)]);
    signature.retain(|n| n.wr_ts > 1);
    signature.forget_unlisted();
    assert!(signature.is_new(&notice(0, 4, 1)) && !signature.is_new(&notice(0, 8, 2)));
    for _ in 0..=FORGET_AFTER {
        assert!(!signature.is_new(&notice(0, 8, 2)));
        signature.begin_generation(1);
    }
    assert!(signature.is_new(&notice(0, 8, 2)), "no list can hold it any more");
}

#[test]
fn overflow_returns_a_bound_that_covers_what_it_dropped() {
    let all = [notice(0, 4, 5), notice(0, 8, 2), notice(1, 4, 9), notice(1, 12, 5), notice(0, 16, 7)];
    let mut signature = with(4, &all);
    let bound = signature.shrink();
    assert!(signature.notices.len() <= 4);
    for dropped in all.iter().filter(|n| !listed(&signature).contains(n)) {
        let newer = |n: &Notice| n.extent == dropped.extent && n.wr_ts > dropped.wr_ts;
        assert!(
            dropped.wr_ts <= bound || listed(&signature).iter().any(newer),
            "{dropped:?} is above {bound}"
        );
    }
    assert!(listed(&signature).iter().all(|n| n.wr_ts > bound));
}

#[test]
fn memory_of_notices_is_bounded() {
    let mut signature = Signature::new(4);
    for i in 0..10_000 {
        signature.add(notice(1, 2 * i, i));
        let listed = signature.notices.len();
        if listed > 4 {
            signature.min_out = signature.shrink();
        }
        assert!(signature.sizes().1 <= signature.remembered_bound());
    }
}

#[test]
fn old_notices_go_where_32_bits_would_begin_anew() {
    const FROM: u64 = u32::MAX as u64 - 3;
    let mut signature = Signature { generation: FROM, ..Signature::new(64) };
    for i in 0..20 {
        signature.add(notice(1, 2 * i, i + 1));
        assert_eq!(signature.begin_generation(1), i >= 2, "global_sync {i}");
        // Those of this generation and of the one before it.
        let versions: Vec<Timestamp> = listed(&signature).iter().map(|n| n.wr_ts).collect();
        assert_eq!(versions, (i.max(1)..=i + 1).collect::<Vec<_>>());
        assert!(signature.generations.is_sorted());
        assert!(signature.sizes().1 <= FORGET_AFTER as usize + 1);
    }
    assert!(signature.generation > u64::from(u32::MAX));
}
