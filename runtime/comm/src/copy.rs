//! Copying memory that other threads or processes may be writing.
//!
//! A racing copy delivers, for each byte, a value that the byte had during the copy. That is all the callers need: bytes that race are
//! bytes that a data-race-free program does not look at.

/// Longest copy for which a string instruction takes longer to start than to move the bytes.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 256;

/// Copies `len` bytes from `from` to `to`, which do not overlap.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes for the duration of the call. Other threads may write to either.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len == 64 {
        // A line: all of it on its way at once.
        // SAFETY: as below.
        unsafe {
            std::arch::asm!(
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movups [{to}], {a}",
                "movups [{to} + 16], {b}",
                "movups [{to} + 32], {c}",
                "movups [{to} + 48], {d}",
                from = in(reg) from,
                to = in(reg) to,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags)
            );
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if len <= SHORT && len.is_multiple_of(8) {
        let whole = len / 16 * 16;
        for at in (0..whole).step_by(16) {
            // SAFETY: both ranges are valid by the caller's promise; an assembly block is no Rust access, so a race is not undefined.
            unsafe {
                std::arch::asm!(
                    "movups {word}, [{from}]",
                    "movups [{to}], {word}",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    word = out(xmm_reg) _,
                    options(nostack, preserves_flags)
                );
            }
        }
        if whole < len {
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(
                    "mov {word}, [{from}]",
                    "mov [{to}], {word}",
                    from = in(reg) from.add(whole),
                    to = in(reg) to.add(whole),
                    word = out(reg) _,
                    options(nostack, preserves_flags)
                );
            }
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: both ranges are valid by the caller's promise; the instruction moves bytes forward and touches nothing else, and an
    // assembly block is no Rust access, so a race is not undefined.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
        let mut at = 0;
        if (from as usize | to as usize) % 8 == 0 {
            while at + 8 <= len {
                // SAFETY: in bounds and aligned; atomics make the race defined.
                unsafe {
                    let word = AtomicU64::from_ptr(from.add(at) as *mut u64).load(Ordering::Relaxed);
                    AtomicU64::from_ptr(to.add(at) as *mut u64).store(word, Ordering::Relaxed);
                }
                at += 8;
            }
        }
        while at < len {
            // SAFETY: in bounds; atomics make the race defined.
            unsafe {
                let byte = AtomicU8::from_ptr(from.add(at) as *mut u8).load(Ordering::Relaxed);
                AtomicU8::from_ptr(to.add(at)).store(byte, Ordering::Relaxed);
            }
            at += 1;
        }
    }
}
