//! The floating-point environment of a team: rounding, flushing of denormals, and which exceptions trap.
//!
//! The members of a team begin with what the forking thread has, as in LLVM's runtime (`KMP_INHERIT_FP_CONTROL`), and that thread has it again behind the
//! region. Exception flags are a thread's own: they stay unless the rest has to change.

use std::arch::asm;

/// Control bits of the processor's floating-point units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatControl(u64);

#[cfg(target_arch = "x86_64")]
impl FloatControl {
    /// `MXCSR` without the exception flags.
    const MXCSR: u32 = 0xffc0;

    /// That of the calling thread.
    pub fn current() -> FloatControl {
        let (mut mxcsr, mut x87) = (0u32, 0u16);
        // SAFETY: both instructions store to a local variable of the size they write.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags));
        }
        FloatControl(u64::from(mxcsr & Self::MXCSR) | u64::from(x87) << 32)
    }

    fn load(self) {
        let (mxcsr, x87) = (self.0 as u32, (self.0 >> 32) as u16);
        // SAFETY: the words were read from these registers, so they have no reserved bits; the flags are cleared first, because one whose exception traps
        // would do so at the next operation.
        unsafe {
            asm!("fnclex", "fldcw [{}]", in(reg) &raw const x87, options(nostack, preserves_flags));
            asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatControl {
    /// That of the calling thread.
    pub fn current() -> FloatControl {
        let control: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
        FloatControl(control)
    }

    fn load(self) {
        // SAFETY: the word was read from this register.
        unsafe { asm!("msr fpcr, {}", in(reg) self.0, options(nomem, nostack, preserves_flags)) };
    }
}

impl FloatControl {
    /// The calling thread goes on with this.
    #[inline]
    pub fn adopt(self) {
        if self != FloatControl::current() {
            self.load();
        }
    }

    /// As a word of a message.
    pub fn encode(self) -> u64 {
        self.0
    }

    /// What [`FloatControl::encode`] gave.
    pub fn decode(word: u64) -> FloatControl {
        FloatControl(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn another_thread_adopts_rounding_and_flushing() {
        const UPWARD: u64 = 0x4000;
        const FLUSH: u64 = 0x8000;
        let here = FloatControl::current();
        let other = FloatControl(here.0 | UPWARD | FLUSH | 0x800 << 32);
        std::thread::spawn(move || {
            FloatControl::decode(other.encode()).adopt();
            assert_eq!(FloatControl::current(), other);
            assert_eq!(std::hint::black_box(1e-300) * std::hint::black_box(1e-10), 0.0);
            here.adopt();
        })
        .join()
        .unwrap();
        assert_eq!(FloatControl::current(), here);
    }
}
