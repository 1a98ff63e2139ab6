//! Random numbers of the benchmarks.

/// xorshift64*.
pub struct Random(pub u64);

impl Random {
    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        (self.unit() * f64::from(n)) as u32
    }

    /// Rank `k` of `n` with a probability of about 1/k.
    pub fn zipf(&mut self, n: u32) -> u32 {
        (f64::from(n).powf(self.unit()) as u32).clamp(1, n) - 1
    }
}
