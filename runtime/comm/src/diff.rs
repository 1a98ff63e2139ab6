//! Comparing and merging memory that other threads may be writing.
//!
//! As in [`crate::copy`], a byte that races counts with one of its values. Memory is looked at in groups of [`GROUP`] bytes; where a group differs,
//! word by word, and where a word differs in part, what is written to live memory goes byte by byte.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

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

/// Writes the bytes in which `incoming` differs from `twin` to `own`, and no others, and makes `incoming` the twin.
///
/// # Safety
/// `own` and `twin` are readable and writable for as many bytes as `incoming` has, a multiple of [`GROUP`], and aligned to 16 bytes. Other
/// threads may write to `own`, nobody to `twin`.
pub unsafe fn merge(own: *mut u8, twin: *mut u8, incoming: &[u8]) {
    debug_assert!(incoming.len().is_multiple_of(GROUP));
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
            let change = new ^ twin.read();
            if change != 0 {
                twin.write(new);
                merge_word(own, new, change);
            }
        }
    }
}

/// Writes the bytes in which `own` differs from `twin` to `there`, and no others, and makes them the twin's.
///
/// # Safety
/// `own` is readable, `twin` and `there` are readable and writable for `len` bytes, a multiple of [`GROUP`], all aligned to 16 bytes. Other threads may write
/// to `own`, and to other bytes of `there`; nobody to `twin`.
pub unsafe fn send(own: *const u8, twin: *mut u8, there: *mut u8, len: usize) {
    debug_assert!(len.is_multiple_of(GROUP));
    for at in (0..len).step_by(GROUP) {
        // SAFETY: the group is inside all of them, and its words are aligned. What other threads write may be anything, but is read once.
        unsafe {
            if group::equal(own.add(at), twin.add(at)) {
                continue;
            }
            for at in (at..at + GROUP).step_by(WORD) {
                let twin = twin.add(at).cast::<u64>();
                let new = own.add(at).cast::<u64>().read_volatile();
                let change = new ^ twin.read();
                if change != 0 {
                    twin.write(new);
                    merge_word(there.add(at), new, change);
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
    use std::arch::x86_64::{__m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_movemask_epi8};

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
            incoming[at] = 9;
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
            (0..192).filter(|at| part(*at)).for_each(|at| incoming[at] = at as u8);
            // SAFETY: all three have 192 bytes.
            unsafe { merge(own.0.as_mut_ptr(), twin.0.as_mut_ptr(), &incoming) };
            for (at, byte) in own.0.iter().enumerate() {
                assert_eq!(*byte, if part(at) { at as u8 } else { 1 }, "byte {at}, bytes {changed:#b}");
            }
            assert_eq!(twin.0, incoming);
        }
    }

    #[test]
    fn only_changed_bytes_are_sent() {
        let (mut own, mut twin, mut there) = (Aligned([1; 192]), Aligned([1; 192]), Aligned([5; 192]));
        for at in (0..8).chain([70, 127, 130]) {
            own.0[at] = 9;
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
