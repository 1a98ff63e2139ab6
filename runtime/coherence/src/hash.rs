//! Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).

/// The hash of a value, of so many bits, 1 to 64: the upper bits of its product with 2^64 divided by the golden ratio. Values that follow each other
/// are far from each other.
#[inline(always)]
pub const fn fibonacci(value: u64, bits: u32) -> u64 {
    value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)
}
