//! Comparing and merging memory that other threads may be writing.
//!
//! As in [`crate::copy`], a byte that races counts with one of its values. Memory is looked at in groups of [`GROUP`] bytes; where a group differs,
//! word by word. A word that differs as a whole is written to live memory by one store. Where a word differs in part, what is written goes byte by byte, as others may
//! be storing to the bytes beside it right now; on processors with AVX-512 the parts of a group go by one masked store (`masked`), which leaves other bytes alone as well.
//!
//! Two processes may have stored different values to one variable since both had the same value of it, as programs do in which any of the values is right: those that shorten the paths of a
//! union-find structure, for example. Byte by byte, the bytes that one of them happens not to change would make a third value. So where a byte has a different value on either side, and neither is
//! the twin's, all of its aligned half of a word is written. Without a race there is no such byte.

#[cfg(target_arch = "x86_64")]
mod masked;
mod packed;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

pub use packed::pack;

/// Bytes that are compared at once. Lengths are multiples of it.
pub const GROUP: usize = 64;

/// Whether two pieces of memory are equal.
///
/// # Safety
/// Both are readable for `len` bytes and aligned to 16 bytes. `len` is a multiple of [`GROUP`].
#[inline]
pub unsafe fn equal(a: *const u8, b: *const u8, len: usize) -> bool {
    debug_assert!(len.is_multiple_of(GROUP));
    // SAFETY: the caller's promise; every group is inside.
    (0..len).step_by(GROUP).all(|at| unsafe { group::equal(a.add(at), b.add(at)) })
}

/// Writes the bytes in which `incoming` differs from `twin` to `own`, and no others but halves of words that race, and makes `incoming` the twin.
///
/// # Safety
/// `own` and `twin` are readable and writable for as many bytes as `incoming` has, a multiple of [`GROUP`], and aligned to 16 bytes. Other
/// threads may write to `own`, nobody to `twin`.
pub unsafe fn merge(own: *mut u8, twin: *mut u8, incoming: &[u8]) {
    debug_assert!(incoming.len().is_multiple_of(GROUP));
    #[cfg(target_arch = "x86_64")]
    if masked::is_there() {
        // SAFETY: the caller's promise, and the processor has the instructions.
        return unsafe { masked::spread(incoming.as_ptr(), twin, own, incoming.len()) };
    }
    for (i, new) in incoming.chunks_exact(GROUP).enumerate() {
        // SAFETY: group number `i` is inside both by the caller's promise.
        unsafe {
            let (own, twin) = (own.add(i * GROUP), twin.add(i * GROUP));
            if !group::equal(twin, new.as_ptr()) {
                merge_group(own, twin, new);
            }
        }
    }
}

const WORD: usize = 8;

/// # Safety
/// As for [`merge`], for one group.
#[inline]
unsafe fn merge_group(own: *mut u8, twin: *mut u8, new: &[u8]) {
    for (i, new) in new.as_chunks::<WORD>().0.iter().enumerate() {
        // SAFETY: inside the group, and aligned.
        unsafe {
            let (own, twin) = (own.add(i * WORD), twin.add(i * WORD).cast::<u64>());
            let new = u64::from_ne_bytes(*new);
            let old = twin.read();
            if new != old {
                twin.write(new);
                merge_change(own, new, old);
            }
        }
    }
}

/// Writes the bytes in which `own` differs from `twin` to `there`, and no others but halves of words that race, and makes them the twin's.
///
/// # Safety
/// `own` is readable, `twin` and `there` are readable and writable for `len` bytes, a multiple of [`GROUP`], all aligned to 16 bytes. Other threads may write
/// to `own`, and to other bytes of `there`; nobody to `twin`.
pub unsafe fn send(own: *const u8, twin: *mut u8, there: *mut u8, len: usize) {
    debug_assert!(len.is_multiple_of(GROUP));
    #[cfg(target_arch = "x86_64")]
    if masked::is_there() {
        // SAFETY: the caller's promise, and the processor has the instructions.
        return unsafe { masked::spread(own, twin, there, len) };
    }
    for at in (0..len).step_by(GROUP) {
        // SAFETY: the group is inside all of them, and its words are aligned. What other threads write may be anything, but is read once.
        unsafe {
            if group::equal(own.add(at), twin.add(at)) {
                continue;
            }
            for at in (at..at + GROUP).step_by(WORD) {
                let twin = twin.add(at).cast::<u64>();
                let new = own.add(at).cast::<u64>().read_volatile();
                let old = twin.read();
                if new != old {
                    twin.write(new);
                    merge_change(there.add(at), new, old);
                }
            }
        }
    }
}

/// Hands on the bytes in which `own` differs from `twin`: the offset, and up to a word of what they are.
///
/// # Safety
/// `own` and `twin` are readable for `len` bytes, a multiple of [`GROUP`], and aligned to 16 bytes. Other threads may write to `own`, nobody to `twin`.
pub unsafe fn each(own: *const u8, twin: *const u8, len: usize, mut with: impl FnMut(usize, &[u8])) {
    debug_assert!(len.is_multiple_of(GROUP));
    for start in (0..len).step_by(GROUP) {
        // SAFETY: the group is inside both, and its words are aligned. What other threads write may be anything, but is read once.
        unsafe {
            if group::equal(own.add(start), twin.add(start)) {
                continue;
            }
            for at in (start..start + GROUP).step_by(WORD) {
                let new = own.add(at).cast::<u64>().read_volatile();
                each_of_word(
                    at,
                    new.to_ne_bytes(),
                    twin.add(at).cast::<u64>().read().to_ne_bytes(),
                    &mut with,
                );
            }
        }
    }
}

/// Hands on the groups in which `own` differs from `twin`: the offset, which bytes do, and both.
///
/// # Safety
/// As for [`each`].
pub unsafe fn each_group(
    own: *const u8,
    twin: *const u8,
    len: usize,
    mut with: impl FnMut(usize, u64, &[u8; GROUP], &[u8; GROUP]),
) {
    debug_assert!(len.is_multiple_of(GROUP));
    for at in (0..len).step_by(GROUP) {
        let mut new = [0; GROUP];
        // SAFETY: the group is inside both. What other threads write may be anything, but is read once.
        unsafe {
            let changed = group::changed(own.add(at), twin.add(at), &mut new);
            if changed != 0 {
                with(at, changed, &new, &*twin.add(at).cast());
            }
        }
    }
}

/// Writes the `changed` bytes of a group to memory that others may be writing next to, but for halves of words with a byte that had been `old`, is `new`, and something else there.
///
/// Both are as [`pack`] makes them, `old` of the bytes `in_part`. Unlike [`merge`] and [`send`], this leaves halves that race as they are: who has changed all bytes of one need not hand on what they had been, and who
/// has changed some of them only what these had been.
///
/// # Safety
/// A group is writable at `there`, which is aligned to 16 bytes. Other threads may write there.
pub unsafe fn patch_group(there: *mut u8, changed: u64, new: &[u8], in_part: u64, old: &[u8]) {
    let new = &packed::unpack(changed, new);
    let raced = match in_part {
        0 => 0,
        // SAFETY: the caller's promise.
        _ => in_part & unsafe { neither(there, new, &packed::unpack(in_part, old)) },
    };
    let changed = changed & !whole_halves(raced);
    #[cfg(target_arch = "x86_64")]
    if masked::is_there() {
        // SAFETY: the caller's promise, and the processor has the instructions.
        return unsafe { masked::patch(new, there, changed) };
    }
    for (i, new) in new.as_chunks::<WORD>().0.iter().enumerate() {
        let part = changed >> (WORD * i);
        let bytes = std::array::from_fn(|byte| u8::from(part >> byte & 1 == 1));
        let change = u64::from_ne_bytes(bytes);
        if change != 0 {
            // SAFETY: inside the group, and aligned.
            unsafe { merge_word(there.add(i * WORD), u64::from_ne_bytes(*new), change) }
        }
    }
}

/// The bytes of a group that are neither those of one nor those of the other.
///
/// # Safety
/// As for [`patch_group`].
#[inline]
unsafe fn neither(there: *const u8, one: &[u8; GROUP], other: &[u8; GROUP]) -> u64 {
    #[repr(align(16))]
    struct Live([u8; GROUP]);
    let mut live = Live([0; GROUP]);
    // SAFETY: the caller's promise; `live` is aligned. What other threads write may be anything, but is read once.
    unsafe {
        let differs = group::changed(there, one.as_ptr(), &mut live.0);
        differs & group::changed(live.0.as_ptr(), other.as_ptr(), &mut [0; GROUP])
    }
}

/// The bits of all bytes of the halves of words of which a mask has the bit of any.
#[inline(always)]
fn whole_halves(bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    const FIRST: u64 = u64::MAX / 0xf;
    let any = bytes | bytes >> 1;
    ((any | any >> 2) & FIRST) * 0xf
}

/// Hands on the runs of bytes in which words differ.
#[inline]
fn each_of_word(at: usize, new: [u8; WORD], old: [u8; WORD], with: &mut impl FnMut(usize, &[u8])) {
    let mut first = 0;
    while first < WORD {
        let length = (first..WORD).take_while(|i| new[*i] != old[*i]).count();
        if length > 0 {
            with(at + first, &new[first..first + length]);
        }
        first += length + 1;
    }
}

/// Writes bytes to memory that others may be writing next to: whole words at once, others one by one.
///
/// # Safety
/// `there` is writable for as many bytes. Other threads may write there.
pub unsafe fn patch(there: *mut u8, bytes: &[u8]) {
    let before = bytes.len().min(there.align_offset(WORD));
    let (first, rest) = bytes.split_at(before);
    let (words, last) = rest.as_chunks::<WORD>();
    let each = |from: usize, bytes: &[u8]| {
        for (at, byte) in (from..).zip(bytes) {
            // SAFETY: inside by the caller's promise.
            unsafe { AtomicU8::from_ptr(there.add(at)) }.store(*byte, Ordering::Relaxed);
        }
    };
    each(0, first);
    for (i, word) in words.iter().enumerate() {
        // SAFETY: as above, and aligned.
        let place = unsafe { AtomicU64::from_ptr(there.add(before + WORD * i).cast()) };
        place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
    each(bytes.len() - last.len(), last);
}

/// Bytes of a half of a word: a variable that programs let race is mostly one.
const HALF: usize = WORD / 2;

/// Writes the bytes in which `new` differs from `old`, and with them the half of a word where others have changed one of them to something else.
///
/// # Safety
/// As for [`merge_word`].
#[inline]
unsafe fn merge_change(there: *mut u8, new: u64, old: u64) {
    const LOW: u64 = u64::MAX / 0xff * 0x7f;
    const FIRST_HALF: u64 = u64::MAX >> (8 * HALF);
    // The highest bit of each byte that is not 0.
    let bytes = |x: u64| (((x & LOW) + LOW) | x) & !LOW;
    let mut change = new ^ old;
    if bytes(change) != !LOW {
        // SAFETY: the caller's promise.
        let live = unsafe { AtomicU64::from_ptr(there.cast()) }.load(Ordering::Relaxed);
        let raced = bytes(change) & bytes(old ^ live) & bytes(new ^ live);
        for half in [FIRST_HALF, !FIRST_HALF] {
            change |= if raced & half != 0 { half } else { 0 };
        }
    }
    // SAFETY: as above.
    unsafe { merge_word(there, new, change) }
}

/// Writes the bytes of `new` where `change` is not 0: the word at once if these are all of its bytes, else one by one, as the others may be being
/// stored to right now.
///
/// # Safety
/// `own` is writable for a word, and aligned to it. Other threads may write there.
#[inline]
unsafe fn merge_word(own: *mut u8, new: u64, change: u64) {
    const ONES: u64 = u64::MAX / 0xff;
    // The lowest byte that is 0, if any, leaves its highest bit here.
    let unchanged = change.wrapping_sub(ONES) & !change & (ONES << 7);
    // SAFETY: the caller's promise.
    unsafe {
        if unchanged == 0 {
            AtomicU64::from_ptr(own.cast()).store(new, Ordering::Relaxed);
            return;
        }
        // From the byte at the lowest address on.
        let (mut new, mut change, mut own) = (new.to_le(), change.to_le(), own);
        while change != 0 {
            let skipped = change.trailing_zeros() / 8;
            new >>= 8 * skipped;
            change >>= 8 * skipped;
            own = own.add(skipped as usize);
            AtomicU8::from_ptr(own).store(new as u8, Ordering::Relaxed);
            change &= !0xff;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod group {
    use std::arch::x86_64::{__m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_storeu_si128};

    use super::GROUP;

    /// The bytes in which a group differs from the twin's, and what it is.
    ///
    /// # Safety
    /// As for [`equal`].
    #[inline]
    pub(super) unsafe fn changed(own: *const u8, twin: *const u8, new: &mut [u8; GROUP]) -> u64 {
        let (own, twin, new) =
            (own.cast::<__m128i>(), twin.cast::<__m128i>(), new.as_mut_ptr().cast::<__m128i>());
        // SAFETY: as in `equal`; the array is a group.
        (0..4).fold(0, |changed, i| unsafe {
            let vector = own.add(i).read_volatile();
            _mm_storeu_si128(new.add(i), vector);
            let same = _mm_movemask_epi8(_mm_cmpeq_epi8(vector, twin.add(i).read_unaligned()));
            changed | u64::from(!same as u16) << (16 * i)
        })
    }

    /// Whether two groups are equal.
    ///
    /// # Safety
    /// Both are readable; `a` is aligned to 16 bytes.
    #[inline]
    pub(super) unsafe fn equal(a: *const u8, b: *const u8) -> bool {
        let (a, b) = (a.cast::<__m128i>(), b.cast::<__m128i>());
        // SAFETY: four vectors are a group. Volatile: what other threads write may be anything, but is read once. All of this is SSE2, which
        // every such processor has.
        unsafe {
            let same = |i: usize| _mm_cmpeq_epi8(a.add(i).read_volatile(), b.add(i).read_unaligned());
            let all = _mm_and_si128(_mm_and_si128(same(0), same(1)), _mm_and_si128(same(2), same(3)));
            _mm_movemask_epi8(all) == 0xffff
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod group {
    use super::{GROUP, WORD};

    /// The bytes in which a group differs from the twin's, and what it is.
    ///
    /// # Safety
    /// As for [`equal`].
    #[inline]
    pub(super) unsafe fn changed(own: *const u8, twin: *const u8, new: &mut [u8; GROUP]) -> u64 {
        let (own, twin) = (own.cast::<u64>(), twin.cast::<u64>());
        for (i, word) in new.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
            // SAFETY: eight words are a group.
            *word = unsafe { own.add(i).read_volatile() }.to_ne_bytes();
        }
        // SAFETY: as above.
        let old = unsafe { twin.cast::<[u8; GROUP]>().read() };
        (0..GROUP).fold(0, |changed, i| changed | u64::from(new[i] != old[i]) << i)
    }

    /// Whether two groups are equal.
    ///
    /// # Safety
    /// Both are readable; `a` is aligned to 16 bytes.
    #[inline]
    pub(super) unsafe fn equal(a: *const u8, b: *const u8) -> bool {
        let (a, b) = (a.cast::<u64>(), b.cast::<u64>());
        // SAFETY: eight words are a group.
        (0..super::GROUP / 8).all(|i| unsafe { a.add(i).read_volatile() == b.add(i).read_unaligned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 192]);

    #[test]
    fn only_changed_bytes_are_written() {
        let mut own = Aligned([1; 192]);
        let mut twin = Aligned([2; 192]);
        let mut incoming = [2; 192];
        for at in [0, 63, 64, 127, 130] {
            (own.0[at], incoming[at]) = (2, 9);
        }
        // SAFETY: all three have 192 bytes.
        unsafe {
            assert!(!equal(own.0.as_ptr(), twin.0.as_ptr(), 192));
            merge(own.0.as_mut_ptr(), twin.0.as_mut_ptr(), &incoming);
        }
        for (at, byte) in own.0.iter().enumerate() {
            assert_eq!(*byte, if incoming[at] == 9 { 9 } else { 1 }, "byte {at}");
        }
        assert_eq!(twin.0, incoming);
    }

    #[test]
    fn any_part_of_a_word_is_written_alone() {
        for changed in 0..=u8::MAX {
            let mut own = Aligned([1; 192]);
            let mut twin = Aligned([2; 192]);
            let mut incoming = [2; 192];
            let part = |at: usize| (64..128).contains(&at) && changed >> (at % 8) & 1 == 1;
            (0..192).filter(|at| part(*at)).for_each(|at| (own.0[at], incoming[at]) = (2, at as u8));
            // SAFETY: all three have 192 bytes.
            unsafe { merge(own.0.as_mut_ptr(), twin.0.as_mut_ptr(), &incoming) };
            for (at, byte) in own.0.iter().enumerate() {
                assert_eq!(*byte, if part(at) { at as u8 } else { 1 }, "byte {at}, bytes {changed:#b}");
            }
            assert_eq!(twin.0, incoming);
        }
    }

    #[test]
    fn any_part_of_a_word_is_merged_alone() {
        for changed in 0..=u8::MAX {
            let bytes = |f: &dyn Fn(u8) -> u8| u64::from_ne_bytes(std::array::from_fn(|i| f(i as u8)));
            let part = |i: u8| changed >> i & 1 == 1;
            let new = bytes(&|i| 10 + i);
            // One bit of each byte has changed, another of each.
            let change = bytes(&|i| u8::from(part(i)) << i);
            let mut own = bytes(&|_| 99);
            // SAFETY: it is a word.
            unsafe { merge_word((&raw mut own).cast(), new, change) };
            assert_eq!(own, bytes(&|i| if part(i) { 10 + i } else { 99 }), "bytes {changed:#b}");
        }
    }

    /// Words of a group that have changed as a whole, in part and not at all, in all neighbourhoods.
    #[test]
    fn groups_are_spread_like_their_words() {
        let mut seed = 1_u64;
        for round in 0..20_000 {
            let mut mask = [0_u8; 192];
            for word in mask.chunks_exact_mut(8) {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let bits = [0, 0xff, (seed >> 40) as u8, 0x3f][(seed >> 33) as usize % 4];
                (0..8).for_each(|i| word[i] = bits >> i & 1);
            }
            let mut twin = Aligned([1; 192]);
            let mut there = Aligned(std::array::from_fn(|at| if mask[at] == 1 { 1 } else { 7 }));
            let own = Aligned(std::array::from_fn(|at| if mask[at] == 1 { 100 + at as u8 % 50 } else { 1 }));
            // SAFETY: all three have 192 bytes.
            unsafe {
                if round % 2 == 0 {
                    send(own.0.as_ptr(), twin.0.as_mut_ptr(), there.0.as_mut_ptr(), 192);
                } else {
                    merge(there.0.as_mut_ptr(), twin.0.as_mut_ptr(), &own.0);
                }
            }
            assert_eq!(twin.0, own.0);
            for (at, changed) in mask.iter().enumerate() {
                assert_eq!(there.0[at], if *changed == 1 { own.0[at] } else { 7 }, "byte {at}");
            }
        }
    }

    fn packed_bytes(group: &[u8; GROUP], mask: u64) -> Vec<u8> {
        let (bytes, count) = pack(group, mask);
        bytes[..count].to_vec()
    }

    /// The bits of those halves of words of which a mask has all.
    fn wholly_changed(changed: u64) -> u64 {
        (0..GROUP).step_by(HALF).map(|at| 0xf << at).filter(|half| changed & half == *half).sum()
    }

    /// What either side has of half a word, and what comes of it: bytes of both, or one side's half where both have changed a byte to different values.
    #[test]
    fn halves_of_words_that_race_are_not_mixed() {
        let mut seed = 1_u64;
        for round in 0..20_000 {
            let mut random = || {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Few values: many bytes are the same on two sides, or on all.
                (seed >> 60) as u8 % 3
            };
            let mut old = Aligned(std::array::from_fn(|_| random()));
            let new = Aligned(std::array::from_fn(|_| random()));
            let mut live = Aligned(std::array::from_fn(|_| random()));
            let (live_at_first, twin) = (live.0, old.0);
            // SAFETY: all three have 192 bytes.
            unsafe {
                match round % 3 {
                    0 => send(new.0.as_ptr(), old.0.as_mut_ptr(), live.0.as_mut_ptr(), 192),
                    1 => merge(live.0.as_mut_ptr(), old.0.as_mut_ptr(), &new.0),
                    _ => each_group(new.0.as_ptr(), twin.as_ptr(), 192, |at, changed, new, old_bytes| {
                        let in_part = changed & !wholly_changed(changed);
                        let (new, before) = (packed_bytes(new, changed), packed_bytes(old_bytes, in_part));
                        patch_group(live.0.as_mut_ptr().add(at), changed, &new, in_part, &before);
                        patch_group(old.0.as_mut_ptr().add(at), changed, &new, 0, &[]);
                    }),
                }
            }
            assert_eq!(old.0, new.0);
            let races = |at: usize| {
                new.0[at] != twin[at] && live_at_first[at] != twin[at] && live_at_first[at] != new.0[at]
            };
            for half in (0..192).step_by(HALF).map(|at| at..at + HALF) {
                let raced = half.clone().any(races);
                let stays = round % 3 == 2 && raced && half.clone().any(|at| new.0[at] == twin[at]);
                for at in half {
                    let is_new = !stays && (raced || new.0[at] != twin[at]);
                    assert_eq!(live.0[at], if is_new { new.0[at] } else { live_at_first[at] }, "byte {at}");
                }
            }
        }
    }

    /// Another thread stores to every eighth byte, which the other side has not changed.
    #[test]
    fn bytes_beside_the_changed_ones_may_be_stored_to_meanwhile() {
        let there = Aligned([0; 192]);
        let at = |i: usize| {
            // SAFETY: inside, and all accesses are atomic or those that are tested.
            unsafe { AtomicU8::from_ptr(there.0.as_ptr().cast_mut().add(i)) }
        };
        let ended = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut twin = Aligned([0; 192]);
                for round in 1..=20_000_u32 {
                    let own = Aligned(std::array::from_fn(|i| if i % 8 == 5 { 0 } else { round as u8 }));
                    // SAFETY: all three have 192 bytes.
                    unsafe { send(own.0.as_ptr(), twin.0.as_mut_ptr(), there.0.as_ptr().cast_mut(), 192) };
                }
                ended.store(true, Ordering::Relaxed);
            });
            let mut value = 0_u8;
            while !ended.load(Ordering::Relaxed) {
                let last = value;
                value = value.wrapping_add(1);
                for i in (5..192).step_by(8) {
                    assert_eq!(at(i).load(Ordering::Relaxed), last, "byte {i}");
                    at(i).store(value, Ordering::Relaxed);
                }
            }
        });
        assert!((0..192).filter(|i| i % 8 != 5).all(|i| there.0[i] == 20_000_u32 as u8));
    }

    #[test]
    fn only_changed_bytes_are_sent() {
        let (mut own, mut twin, mut there) = (Aligned([1; 192]), Aligned([1; 192]), Aligned([5; 192]));
        for at in (0..8).chain([70, 127, 130]) {
            (own.0[at], there.0[at]) = (9, 1);
        }
        // SAFETY: all three have 192 bytes.
        unsafe { send(own.0.as_ptr(), twin.0.as_mut_ptr(), there.0.as_mut_ptr(), 192) }
        for (at, byte) in there.0.iter().enumerate() {
            assert_eq!(*byte, if own.0[at] == 9 { 9 } else { 5 }, "byte {at}");
        }
        assert_eq!(twin.0, own.0);
    }

    #[test]
    fn changed_bytes_are_handed_on_in_order() {
        for changed in 0..=u8::MAX {
            let (mut own, twin) = (Aligned([1; 192]), Aligned([1; 192]));
            let part = |at: usize| (64..128).contains(&at) && changed >> (at % 8) & 1 == 1;
            (0..192).filter(|at| part(*at)).for_each(|at| own.0[at] = at as u8);
            let mut handed = Vec::new();
            // SAFETY: both have 192 bytes.
            unsafe {
                each(own.0.as_ptr(), twin.0.as_ptr(), 192, |at, bytes| {
                    handed.extend((at..).zip(bytes.to_vec()))
                });
            }
            let all: Vec<_> = (0..192).filter(|at| part(*at)).map(|at| (at, at as u8)).collect();
            assert_eq!(handed, all, "bytes {changed:#b}");
        }
    }

    #[test]
    fn groups_are_handed_on_and_put_in_place() {
        let mut seed = 1_u64;
        for round in 0..2000_u64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mask =
                [0, u64::MAX, seed, seed & 0x00ff_ff00_0303_ffff, 1 << (round % 64)][round as usize % 5];
            let is_changed = |at: usize| (64..128).contains(&at) && mask >> (at % 64) & 1 == 1;
            let twin = Aligned([1; 192]);
            let own = Aligned(std::array::from_fn(|at| if is_changed(at) { 100 + at as u8 % 50 } else { 1 }));
            let mut there = Aligned([7; 192]);
            // SAFETY: all have 192 bytes.
            unsafe {
                each_group(own.0.as_ptr(), twin.0.as_ptr(), 192, |at, changed, new, old| {
                    assert_eq!((at, changed, old), (64, mask, &[1; GROUP]));
                    patch_group(there.0.as_mut_ptr().add(at), changed, &packed_bytes(new, changed), 0, &[]);
                });
            }
            for (at, byte) in there.0.iter().enumerate() {
                assert_eq!(*byte, if is_changed(at) { own.0[at] } else { 7 }, "byte {at} of {mask:#x}");
            }
        }
    }

    #[test]
    fn a_patch_changes_nothing_beside_it() {
        let bytes: Vec<u8> = (1..=40).collect();
        for (start, len) in (0..8).flat_map(|start| (0..40).map(move |len| (start, len))) {
            let mut there = Aligned([0; 192]);
            // SAFETY: there are 192 bytes.
            unsafe { patch(there.0.as_mut_ptr().add(start), &bytes[..len]) };
            for (at, byte) in there.0.iter().enumerate() {
                let patched = at.checked_sub(start).filter(|i| *i < len);
                assert_eq!(*byte, patched.map_or(0, |i| bytes[i]), "byte {at}: {len} from {start}");
            }
        }
    }

    #[test]
    fn every_byte_counts() {
        let a = Aligned([7; 192]);
        for at in 0..192 {
            let mut b = Aligned([7; 192]);
            // SAFETY: both have 192 bytes.
            assert!(unsafe { equal(a.0.as_ptr(), b.0.as_ptr(), 192) });
            b.0[at] = 8;
            // SAFETY: as above.
            assert!(!unsafe { equal(a.0.as_ptr(), b.0.as_ptr(), 192) }, "byte {at}");
        }
    }
}
