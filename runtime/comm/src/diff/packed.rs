//! Some bytes of a group, one after the other, as messages have them.
//!
//! Processors with the instructions of AVX-512 for it (VBMI2) do that for all bytes at once; others for half a word at a time, with a table of which byte goes where.

use super::{GROUP, HALF};

/// Those bytes of a group that a mask has, in order and with anything behind them, and how many they are.
#[inline]
pub fn pack(group: &[u8; GROUP], mask: u64) -> ([u8; GROUP], usize) {
    let count = mask.count_ones() as usize;
    #[cfg(target_arch = "x86_64")]
    if vectors::are_there() {
        // SAFETY: the processor has the instructions.
        return (unsafe { vectors::pack(group, mask) }, count);
    }
    (pack_halves(group, mask), count)
}

/// The group that has these bytes where the mask is, and 0 elsewhere.
///
/// # Panics
/// There are not as many as the mask has.
#[inline]
pub(super) fn unpack(mask: u64, bytes: &[u8]) -> [u8; GROUP] {
    assert_eq!(bytes.len(), mask.count_ones() as usize);
    #[cfg(target_arch = "x86_64")]
    if vectors::are_there() {
        // SAFETY: the processor has the instructions.
        return unsafe { vectors::unpack(mask, bytes) };
    }
    unpack_halves(mask, bytes)
}

/// For each mask of half a word, and each distance in bytes: the bytes of the packed half that come from so far above, and those of the half that they are.
const MOVES: [[(u32, u32); HALF]; 1 << HALF] = {
    let mut moves = [[(0, 0); HALF]; 1 << HALF];
    let mut mask = 0;
    while mask < 1 << HALF {
        let (mut from, mut to) = (0, 0);
        while from < HALF {
            if mask >> from & 1 == 1 {
                moves[mask][from - to].0 |= 0xff << (8 * to);
                moves[mask][from - to].1 |= 0xff << (8 * from);
                to += 1;
            }
            from += 1;
        }
        mask += 1;
    }
    moves
};

/// The mask of each half of a word.
fn halves_of(mask: u64) -> impl Iterator<Item = usize> {
    (0..GROUP).step_by(HALF).map(move |at| (mask >> at) as usize % (1 << HALF))
}

fn pack_halves(group: &[u8; GROUP], mask: u64) -> [u8; GROUP] {
    let (mut bytes, mut count) = ([0; GROUP], 0);
    for (half, mask) in group.as_chunks::<HALF>().0.iter().zip(halves_of(mask)) {
        let half = u32::from_le_bytes(*half);
        let moves = (0..).zip(&MOVES[mask]);
        let moved = moves.fold(0, |moved, (distance, (to, _))| moved | half >> (8 * distance) & to);
        // What is behind those that the mask has is overwritten by the next.
        bytes[count..][..HALF].copy_from_slice(&moved.to_le_bytes());
        count += mask.count_ones() as usize;
    }
    bytes
}

fn unpack_halves(mask: u64, bytes: &[u8]) -> [u8; GROUP] {
    let (mut group, mut count) = ([0; GROUP], 0);
    let mut padded = [0; GROUP + HALF];
    padded[..bytes.len()].copy_from_slice(bytes);
    for (half, mask) in group.as_chunks_mut::<HALF>().0.iter_mut().zip(halves_of(mask)) {
        let bytes =
            u32::from_le_bytes(*padded[count..].first_chunk().expect("half a word more than the group"));
        let moves = (0..).zip(&MOVES[mask]);
        let moved = moves.fold(0, |moved, (distance, (_, from))| moved | bytes << (8 * distance) & from);
        *half = moved.to_le_bytes();
        count += mask.count_ones() as usize;
    }
    group
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::asm;

    use super::super::masked::{self, leave_vectors};
    use super::GROUP;

    #[inline]
    pub(super) fn are_there() -> bool {
        masked::is_there() && std::arch::is_x86_feature_detected!("avx512vbmi2")
    }

    /// See [`super::pack`].
    ///
    /// # Safety
    /// [`are_there`].
    pub(super) unsafe fn pack(group: &[u8; GROUP], mask: u64) -> [u8; GROUP] {
        let mut bytes = [0; GROUP];
        // SAFETY: both are a group. A compressing store would take some processors a hundred times as long as one to a register.
        unsafe {
            asm!(
                "vmovdqu64 zmm0, [{group}]",
                "kmovq k1, {mask}",
                "vpcompressb zmm0{{k1}}{{z}}, zmm0",
                "vmovdqu64 [{bytes}], zmm0",
                group = in(reg) group.as_ptr(),
                mask = in(reg) mask,
                bytes = in(reg) bytes.as_mut_ptr(),
                out("xmm0") _, out("k1") _,
                options(nostack, preserves_flags)
            );
        }
        leave_vectors();
        bytes
    }

    /// See [`super::unpack`].
    ///
    /// # Safety
    /// [`are_there`], and as many bytes as the mask has.
    pub(super) unsafe fn unpack(mask: u64, bytes: &[u8]) -> [u8; GROUP] {
        let mut group = [0; GROUP];
        // SAFETY: an expanding load reads as many bytes as the mask has.
        unsafe {
            asm!(
                "kmovq k1, {mask}",
                "vpexpandb zmm0{{k1}}{{z}}, [{bytes}]",
                "vmovdqu64 [{group}], zmm0",
                bytes = in(reg) bytes.as_ptr(),
                mask = in(reg) mask,
                group = in(reg) group.as_mut_ptr(),
                out("xmm0") _, out("k1") _,
                options(nostack, preserves_flags)
            );
        }
        leave_vectors();
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_pack_the_bytes_of_a_mask() {
        let mut seed = 1_u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mask = [0, u64::MAX, seed, seed & seed << 7, 1 << (round % 64)][round % 5];
            let group: [u8; GROUP] = std::array::from_fn(|at| at as u8 + 1);
            let expected: Vec<_> = (0..GROUP).filter(|at| mask >> at & 1 == 1).map(|at| group[at]).collect();
            let (bytes, count) = pack(&group, mask);
            assert_eq!(bytes[..count], expected);
            assert_eq!(pack_halves(&group, mask)[..count], expected);
            let masked: [u8; GROUP] = std::array::from_fn(|at| group[at] * (mask >> at & 1) as u8);
            assert_eq!(unpack(mask, &expected), masked);
            assert_eq!(unpack_halves(mask, &expected), masked);
        }
    }
}
