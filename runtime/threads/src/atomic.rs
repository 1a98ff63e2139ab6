//! Atomic operations of a width that is known at run time, on memory of this process. All are sequentially consistent; values are zero-extended.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Width of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Bits8,
    /// 16 bits.
    Bits16,
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}

impl Width {
    /// All of them.
    pub const ALL: [Width; 4] = [Width::Bits8, Width::Bits16, Width::Bits32, Width::Bits64];

    /// The width of so many bytes.
    ///
    /// # Panics
    /// If no atomic operation has it.
    #[inline]
    pub fn of(bytes: usize) -> Width {
        match bytes {
            1 => Width::Bits8,
            2 => Width::Bits16,
            4 => Width::Bits32,
            8 => Width::Bits64,
            _ => panic!("no atomic operation has {bytes} bytes"),
        }
    }

    /// Number of bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        1 << self as usize
    }

    /// All bits of a value.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// An atomic integer. What changes it returns the old value; numbers are unsigned and wrap.
#[allow(missing_docs, reason = "the names are those of the standard library's atomics")]
pub trait Atomic: 'static {
    fn load(&self) -> u64;
    fn swap(&self, value: u64) -> u64;
    fn fetch_add(&self, value: u64) -> u64;
    fn fetch_and(&self, value: u64) -> u64;
    fn fetch_or(&self, value: u64) -> u64;
    fn fetch_xor(&self, value: u64) -> u64;
    fn fetch_max(&self, value: u64) -> u64;
    /// # Errors
    /// The value, which is not the expected one.
    fn compare_exchange(&self, expected: u64, new: u64) -> Result<u64, u64>;
}

/// Changes an integer to what `change` makes of it, unless that is nothing; returns the old value.
#[inline(always)]
pub fn update<A: Atomic + ?Sized>(atomic: &A, change: impl Fn(u64) -> Option<u64>) -> u64 {
    let mut old = atomic.load();
    while let Some(new) = change(old) {
        match atomic.compare_exchange(old, new) {
            Ok(_) => break,
            Err(found) => old = found,
        }
    }
    old
}

macro_rules! atomics {
    ($($atomic:ty: $integer:ty: $($fetch:ident)*;)*) => {$(
        impl Atomic for $atomic {
            #[inline(always)]
            fn load(&self) -> u64 {
                <$atomic>::load(self, Ordering::SeqCst).into()
            }

            $(
                #[inline(always)]
                fn $fetch(&self, value: u64) -> u64 {
                    <$atomic>::$fetch(self, value as $integer, Ordering::SeqCst).into()
                }
            )*

            #[inline(always)]
            fn compare_exchange(&self, expected: u64, new: u64) -> Result<u64, u64> {
                let (expected, new) = (expected as $integer, new as $integer);
                let old = <$atomic>::compare_exchange(self, expected, new, Ordering::SeqCst, Ordering::SeqCst);
                old.map(u64::from).map_err(u64::from)
            }
        }
    )*};
}

atomics! {
    AtomicU8: u8: swap fetch_add fetch_and fetch_or fetch_xor fetch_max;
    AtomicU16: u16: swap fetch_add fetch_and fetch_or fetch_xor fetch_max;
    AtomicU32: u32: swap fetch_add fetch_and fetch_or fetch_xor fetch_max;
    AtomicU64: u64: swap fetch_add fetch_and fetch_or fetch_xor fetch_max;
}

/// The integer at an address.
///
/// # Safety
/// The address is aligned to the width, and mapped as long as the reference is used; all access meanwhile is atomic.
#[inline(always)]
pub unsafe fn at(address: *mut u8, width: Width) -> &'static dyn Atomic {
    // SAFETY: the caller's promise.
    unsafe {
        match width {
            Width::Bits8 => AtomicU8::from_ptr(address),
            Width::Bits16 => AtomicU16::from_ptr(address.cast()),
            Width::Bits32 => AtomicU32::from_ptr(address.cast()),
            Width::Bits64 => AtomicU64::from_ptr(address.cast()),
        }
    }
}

/// Runs code on the integer at an address, as its type: nothing is left to be decided for each of its operations.
///
/// # Safety
/// As for [`at`].
#[macro_export]
macro_rules! with_atomic {
    ($address:expr, $width:expr, |$atomic:ident| $body:expr) => {
        match $width {
            $crate::atomic::Width::Bits8 => {
                let $atomic = std::sync::atomic::AtomicU8::from_ptr($address);
                $body
            }
            $crate::atomic::Width::Bits16 => {
                let $atomic = std::sync::atomic::AtomicU16::from_ptr($address.cast());
                $body
            }
            $crate::atomic::Width::Bits32 => {
                let $atomic = std::sync::atomic::AtomicU32::from_ptr($address.cast());
                $body
            }
            $crate::atomic::Width::Bits64 => {
                let $atomic = std::sync::atomic::AtomicU64::from_ptr($address.cast());
                $body
            }
        }
    };
}

/// Whether the processor has atomic instructions for objects of this size at this address.
#[inline]
pub fn is_direct(address: usize, size: usize) -> bool {
    // Sizes are powers of two: a division would take longer than all else.
    matches!(size, 1 | 2 | 4 | 8) && address & (size - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_changes_its_own_bytes() {
        for width in Width::ALL {
            let mut word = u64::MAX;
            // SAFETY: the address of a word, used by this thread alone.
            let atomic = unsafe { at((&raw mut word).cast(), width) };
            assert_eq!(atomic.fetch_add(3), width.mask());
            assert_eq!(update(atomic, |old| (old == 2).then_some(9)), 2);
            assert_eq!(update(atomic, |old| (old == 2).then_some(1)), 9);
            assert_eq!(atomic.compare_exchange(2, 1), Err(9));
            assert_eq!((atomic.fetch_max(17), atomic.fetch_xor(1), atomic.swap(12)), (9, 17, 16));
            assert_eq!((atomic.fetch_and(4), atomic.fetch_or(1), atomic.load()), (12, 4, 5));
            assert_eq!((Width::of(width.bytes()), word), (width, !width.mask() | 5));
        }
    }
}
