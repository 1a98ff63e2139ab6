//! Merging whole groups by masked stores, as processors with AVX-512 have them.
//!
//! A masked store writes the bytes that its mask names, and is none to the others, as far as any other processor can see. Processors do not promise
//! that words are stored at once by it, or read at once by a load of a group. So live memory is loaded by vectors of 16 bytes, which processors
//! with AVX load at once where they are aligned, but where it only looks whether a group differs, and words that have changed as a whole are stored one by one.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{GROUP, WORD, whole_halves};

/// Groups of which those that differ are found before the first is written.
const BATCH: usize = 16;

/// Whether the processor has masked stores of bytes.
#[inline]
pub(super) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx512bw")
}

/// Writes the bytes in which `new` differs from `twin` to `there`, and no others but halves of words that race, and makes them the twin's.
///
/// # Safety
/// [`is_there`]. `new` is readable, `twin` and `there` are readable and writable for `len` bytes, a multiple of [`GROUP`]; `twin` and `there` are aligned to
/// 16 bytes. Other threads may write to `new` if that is aligned to 16 bytes, and to other bytes of `there`; nobody to `twin`.
pub(super) unsafe fn spread(new: *const u8, twin: *mut u8, there: *mut u8, len: usize) {
    for start in (0..len).step_by(BATCH * GROUP) {
        let mut differing = 0_u32;
        for (i, at) in (start..len.min(start + BATCH * GROUP)).step_by(GROUP).enumerate() {
            // SAFETY: the group is inside all of them.
            differing |= u32::from(unsafe { differs(new.add(at), twin.add(at), there.add(at)) }) << i;
        }
        while differing != 0 {
            let at = start + GROUP * differing.trailing_zeros() as usize;
            differing &= differing - 1;
            // SAFETY: as above.
            unsafe {
                let (changed, raced) = update(new.add(at), twin.add(at), there.add(at));
                store(twin.add(at), there.add(at), changed | whole_halves(raced));
            }
        }
    }
    leave_vectors();
}

/// Stores the bytes of a group that `changed` has the bits of.
///
/// # Safety
/// [`is_there`]. A group is writable at `there`, which is aligned to 16 bytes. Other threads may write there.
pub(super) unsafe fn patch(bytes: &[u8; GROUP], there: *mut u8, changed: u64) {
    // SAFETY: the caller's promise; the words of the group need not be aligned.
    unsafe { store(bytes.as_ptr(), there, changed) };
    leave_vectors();
}

/// Instructions of SSE are as fast as ever from here on.
#[inline(always)]
pub(super) fn leave_vectors() {
    // SAFETY: all registers that lose something are listed.
    unsafe {
        asm!(
            "vzeroupper",
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack, preserves_flags, nomem)
        );
    }
}

/// Whether a group differs from the twin's. If so, prefetches its line `there`, which another processor may have: loads that wait for one line after the other would take as long as all of the rest.
///
/// # Safety
/// As for [`spread`].
#[inline]
unsafe fn differs(new: *const u8, twin: *const u8, there: *const u8) -> bool {
    let changed: u64;
    // SAFETY: inside; an assembly block is no Rust access, so a race is not undefined.
    unsafe {
        asm!(
            "vmovdqu64 zmm0, [{new}]",
            "vpcmpneqb k1, zmm0, [{twin}]",
            "kmovq {changed}, k1",
            "test {changed}, {changed}",
            "jz 2f",
            "prefetchw [{there}]",
            "2:",
            new = in(reg) new,
            twin = in(reg) twin,
            there = in(reg) there,
            changed = out(reg) changed,
            out("xmm0") _, out("k1") _,
            options(nostack, readonly)
        );
    }
    changed != 0
}

/// Makes a group of the twin what `new` is; returns which bytes that changes, and which of these have been changed to something else `there`.
///
/// # Safety
/// As for [`spread`].
#[inline]
unsafe fn update(new: *const u8, twin: *mut u8, there: *const u8) -> (u64, u64) {
    let changed: u64;
    let mut raced = 0_u64;
    // SAFETY: inside; an assembly block is no Rust access, so a race is not undefined.
    unsafe {
        asm!(
            "vmovdqu xmm0, [{new}]",
            "vmovdqu xmm1, [{new} + 16]",
            "vmovdqu xmm2, [{new} + 32]",
            "vmovdqu xmm3, [{new} + 48]",
            "vinserti128 ymm0, ymm0, xmm1, 1",
            "vinserti128 ymm2, ymm2, xmm3, 1",
            "vinserti64x4 zmm0, zmm0, ymm2, 1",
            "vpcmpneqb k1, zmm0, [{twin}]",
            "kmovq {changed}, k1",
            "test {changed}, {changed}",
            "jz 2f",
            "vmovdqa xmm1, [{there}]",
            "vmovdqa xmm2, [{there} + 32]",
            "vinserti128 ymm1, ymm1, [{there} + 16], 1",
            "vinserti128 ymm2, ymm2, [{there} + 48], 1",
            "vinserti64x4 zmm1, zmm1, ymm2, 1",
            "vpcmpneqb k1{{k1}}, zmm1, zmm0",
            "vpcmpneqb k1{{k1}}, zmm1, [{twin}]",
            "kmovq {raced}, k1",
            "vmovdqu64 [{twin}], zmm0",
            "2:",
            new = in(reg) new,
            twin = in(reg) twin,
            there = in(reg) there,
            changed = out(reg) changed,
            raced = inout(reg) raced,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("k1") _,
            options(nostack)
        );
    }
    (changed, raced)
}

/// Stores the bytes of a group of the twin that `changed` has the bits of.
///
/// # Safety
/// As for [`spread`].
#[inline]
unsafe fn store(twin: *const u8, there: *mut u8, changed: u64) {
    const LOW: u64 = u64::MAX / 0xff * 0x7f;
    // The highest bit of each byte of the mask that has all bits.
    let mut words = !(((!changed & LOW) + LOW) | !changed | LOW);
    let parts = changed & !((words >> 7) * 0xff);
    // SAFETY: inside; an assembly block is no Rust access, so a race is not undefined; words are aligned.
    unsafe {
        let word = |at: usize| {
            let value = twin.add(at).cast::<u64>().read_unaligned();
            AtomicU64::from_ptr(there.add(at).cast()).store(value, Ordering::Relaxed);
        };
        if changed == u64::MAX {
            return (0..GROUP).step_by(WORD).for_each(word);
        }
        if parts != 0 {
            asm!(
                "vmovdqu64 zmm0, [{twin}]",
                "kmovq k1, {parts}",
                "vmovdqu8 [{there}]{{k1}}, zmm0",
                twin = in(reg) twin,
                there = in(reg) there,
                parts = in(reg) parts,
                out("xmm0") _, out("k1") _,
                options(nostack, preserves_flags)
            );
        }
        while words != 0 {
            word(words.trailing_zeros() as usize / 8 * WORD);
            words &= words - 1;
        }
    }
}
