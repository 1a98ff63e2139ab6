//! Handles of places in the segments: words and bytes.
//!
//! A handle holds the address at which the place is mapped, or would be if its segment were. The address stays inside this crate.

use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_threads::futex::Futex;
use dsm_threads::wait::{self, Waitable};
use dsm_threads::{atomic, with_atomic};

use crate::copy::copy;
use crate::diff;
use crate::segment;
use crate::transport::{Remote, Update, Wake, Width, find, is_far};

/// `Debug` without the address.
macro_rules! opaque {
    ($name:ident) => {
        impl Debug for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $atomic:ident, $value:ident, $width:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(*mut $value);

        opaque!($name);

        // SAFETY: only ever accessed atomically; the mapping lasts as long as the process.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// The word at an address.
            ///
            /// # Safety
            /// It is aligned, mapped for good and only accessed atomically, or lies in a peer's segment that a transport reaches.
            #[inline(always)]
            pub(crate) unsafe fn at(address: *mut u8) -> $name {
                $name(address.cast())
            }

            /// A word of this process that lasts.
            pub fn of(word: &'static $atomic) -> $name {
                $name(word.as_ptr())
            }

            #[inline(always)]
            fn is_far(self) -> bool {
                is_far(self.0 as usize)
            }

            /// What the transport reaches, of a word that is far.
            fn remote(self) -> Remote {
                find(self.0 as usize)
            }

            #[inline(always)]
            fn local(&self) -> &'static $atomic {
                // SAFETY: as for `at`; the caller has seen that it is not far.
                unsafe { $atomic::from_ptr(self.0) }
            }

            #[inline(always)]
            fn update(
                self,
                update: Update,
                operand: $value,
                local: impl FnOnce(&$atomic) -> $value,
            ) -> $value {
                if self.is_far() { self.update_far(update, operand) } else { local(self.local()) }
            }

            #[cold]
            #[inline(never)]
            fn update_far(self, update: Update, operand: $value) -> $value {
                let place = self.remote();
                place.call(|transport| {
                    transport.update(place.rank, place.offset, $width, update, operand.into(), None)
                }) as $value
            }

            #[cold]
            #[inline(never)]
            fn load_far(self) -> $value {
                let place = self.remote();
                place.call(|transport| transport.load(place.rank, place.offset, $width)) as $value
            }

            #[cold]
            #[inline(never)]
            fn compare_exchange_far(self, expected: $value, new: $value) -> Result<$value, $value> {
                let place = self.remote();
                let (before, after) = (expected.into(), new.into());
                let old = place.call(|transport| {
                    transport.compare_exchange(place.rank, place.offset, $width, before, after, None)
                }) as $value;
                if old == expected { Ok(old) } else { Err(old) }
            }

            /// Reads it. This order, as that of all operations, is what is at least kept; over a transport it is sequentially consistent.
            #[inline(always)]
            pub fn load(self, order: Ordering) -> $value {
                if self.is_far() { self.load_far() } else { self.local().load(order) }
            }

            /// Writes it.
            #[inline(always)]
            pub fn store(self, value: $value, order: Ordering) {
                self.update(Update::Swap, value, |word| {
                    word.store(value, order);
                    value
                });
            }

            /// Writes it; returns the old value.
            #[inline(always)]
            pub fn swap(self, value: $value, order: Ordering) -> $value {
                self.update(Update::Swap, value, |word| word.swap(value, order))
            }

            /// Adds; returns the old value.
            #[inline(always)]
            pub fn fetch_add(self, value: $value, order: Ordering) -> $value {
                self.update(Update::Add, value, |word| word.fetch_add(value, order))
            }

            /// Subtracts; returns the old value.
            #[inline(always)]
            pub fn fetch_sub(self, value: $value, order: Ordering) -> $value {
                self.update(Update::Add, value.wrapping_neg(), |word| word.fetch_sub(value, order))
            }

            /// Sets bits; returns the old value.
            #[inline(always)]
            pub fn fetch_or(self, bits: $value, order: Ordering) -> $value {
                self.update(Update::Or, bits, |word| word.fetch_or(bits, order))
            }

            /// Keeps these bits only; returns the old value.
            #[inline(always)]
            pub fn fetch_and(self, bits: $value, order: Ordering) -> $value {
                self.update(Update::And, bits, |word| word.fetch_and(bits, order))
            }

            /// Raises it to at least this; returns the old value.
            #[inline(always)]
            pub fn fetch_max(self, value: $value, order: Ordering) -> $value {
                self.update(Update::Max, value, |word| word.fetch_max(value, order))
            }

            /// Puts `new` in the place of `expected`; returns the old value.
            ///
            /// # Errors
            /// The value found, if it is another one.
            #[inline(always)]
            pub fn compare_exchange(
                self,
                expected: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match self.is_far() {
                    true => self.compare_exchange_far(expected, new),
                    false => self.local().compare_exchange(expected, new, success, failure),
                }
            }

            /// Changes it to what `change` makes of it, unless that is nothing; returns the old value.
            ///
            /// # Errors
            /// The value that is left as it is.
            pub fn fetch_update(
                self,
                set: Ordering,
                fetch: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch);
                while let Some(new) = change(seen) {
                    match self.compare_exchange(seen, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(found) => seen = found,
                    }
                }
                Err(seen)
            }

            /// Prefetches its cache line, to be stored to if `STORE`.
            #[inline(always)]
            pub fn prefetch<const STORE: bool>(self) {
                prefetch::<STORE>(self.0.cast());
            }
        }
    };
}

handle!(
    /// A 64-bit word of a segment, or of this process.
    Word,
    AtomicU64,
    u64,
    Width::Bits64
);
handle!(
    /// A 32-bit word of a segment, or of this process: threads can sleep on it.
    Half,
    AtomicU32,
    u32,
    Width::Bits32
);

impl Word {
    /// The half of the word that holds its low bits.
    pub fn low(self) -> Half {
        const { assert!(cfg!(target_endian = "little")) };
        Half(self.0.cast())
    }

    /// Changes it, and wakes those who sleep on its low half with a mask that shares a bit; returns the old value. Where it is far, that is one request.
    #[inline]
    pub fn update_and_wake(self, update: Update, operand: u64, sleepers: Half, mask: u32) -> u64 {
        if self.is_far() {
            let place = self.remote();
            let wake = Half::wake_of(&place, sleepers, mask);
            return place.call(|transport| {
                transport.update(place.rank, place.offset, Width::Bits64, update, operand, Some(wake))
            });
        }
        let old = update.apply(self.local(), operand);
        wait::wake(&Futex, self.low().local(), sleepers.local(), mask);
        old
    }

    /// Puts `new` in the place of `expected`, and then wakes those who sleep on its low half with a mask that shares a bit. Where it is far, that is one request.
    ///
    /// # Errors
    /// The value found, if it is another one.
    pub fn compare_exchange_and_wake(
        self,
        expected: u64,
        new: u64,
        sleepers: Half,
        mask: u32,
    ) -> Result<u64, u64> {
        if self.is_far() {
            let place = self.remote();
            let wake = Half::wake_of(&place, sleepers, mask);
            let old = place.call(|transport| {
                transport.compare_exchange(place.rank, place.offset, Width::Bits64, expected, new, Some(wake))
            });
            return if old == expected { Ok(old) } else { Err(old) };
        }
        let old = self.local().compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)?;
        wait::wake(&Futex, self.low().local(), sleepers.local(), mask);
        Ok(old)
    }
}

impl Half {
    #[cold]
    #[inline(never)]
    fn wake_far(self, sleepers: Half, mask: u32) {
        let place = self.remote();
        let wake = Half::wake_of(&place, sleepers, mask);
        place.call(|transport| transport.wake(place.rank, place.offset, wake));
    }

    fn wake_of(place: &Remote, sleepers: Half, mask: u32) -> Wake {
        Wake { sleepers: place.offset_of(sleepers.0 as usize), mask }
    }

    /// Adds, and wakes those who sleep on it with a mask that shares a bit; returns the old value.
    #[inline]
    pub fn add_and_wake(self, value: u32, sleepers: Half, mask: u32) -> u32 {
        if self.is_far() {
            return self.update_and_wake(Update::Add, value, sleepers, mask);
        }
        let old = self.local().fetch_add(value, Ordering::SeqCst);
        wait::wake(&Futex, self.local(), sleepers.local(), mask);
        old
    }

    /// Writes it with a release, and wakes those who sleep on it with a mask that shares a bit. `fence` is a full fence.
    #[inline(always)]
    pub fn store_and_wake(self, value: u32, sleepers: Half, mask: u32, fence: impl FnOnce()) {
        if self.is_far() {
            self.update_and_wake(Update::Swap, value, sleepers, mask);
        } else {
            wait::store_and_wake(&Futex, self.local(), value, sleepers.local(), mask, fence);
        }
    }

    /// As [`Waitable::sleep`], of a word that is not mapped and was `value`.
    pub fn sleep_until_changed(
        self,
        sleepers: Half,
        mask: u32,
        mut value: u32,
        until: impl Fn(u32) -> bool,
    ) -> u32 {
        let place = self.remote();
        let wake = Half::wake_of(&place, sleepers, mask);
        while !until(value) {
            value = place.wait(|transport| transport.wait_change(place.rank, place.offset, value, wake));
        }
        value
    }

    #[cold]
    #[inline(never)]
    fn update_and_wake(self, update: Update, value: u32, sleepers: Half, mask: u32) -> u32 {
        let place = self.remote();
        let wake = Half::wake_of(&place, sleepers, mask);
        place.call(|transport| {
            transport.update(place.rank, place.offset, Width::Bits32, update, value.into(), Some(wake))
        }) as u32
    }
}

impl Waitable for Half {
    #[inline(always)]
    fn load(self) -> u32 {
        Half::load(self, Ordering::SeqCst)
    }

    #[inline(always)]
    fn is_mapped(self) -> bool {
        !self.is_far()
    }

    fn sleep(self, sleepers: Half, mask: u32, until: impl Fn(u32) -> bool) -> u32 {
        if !self.is_far() {
            return wait::wait(&Futex, self.local(), sleepers.local(), mask, until);
        }
        self.sleep_until_changed(sleepers, mask, Half::load(self, Ordering::SeqCst), until)
    }

    #[inline]
    fn wake(self, sleepers: Half, mask: u32) {
        match self.is_far() {
            true => self.wake_far(sleepers, mask),
            false => wait::wake(&Futex, self.local(), sleepers.local(), mask),
        }
    }
}

/// Bytes of a segment, from a place on.
#[derive(Clone, Copy)]
pub struct Bytes(*mut u8);

opaque!(Bytes);

// SAFETY: it is an address; its uses are unsafe.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    #[inline(always)]
    pub(crate) fn at(address: *mut u8) -> Bytes {
        Bytes(address)
    }

    /// The bytes from `offset` further on.
    #[inline(always)]
    pub fn skip(self, offset: usize) -> Bytes {
        Bytes(self.0.wrapping_add(offset))
    }

    /// The 64-bit word `offset` bytes further on.
    ///
    /// # Safety
    /// The segment has it; it is aligned and only accessed atomically.
    #[inline(always)]
    pub unsafe fn word(self, offset: usize) -> Word {
        // SAFETY: the caller's promise.
        unsafe { Word::at(self.0.wrapping_add(offset)) }
    }

    /// The 32-bit word `offset` bytes further on.
    ///
    /// # Safety
    /// As for [`Bytes::word`].
    #[inline(always)]
    pub unsafe fn half(self, offset: usize) -> Half {
        // SAFETY: the caller's promise.
        unsafe { Half::at(self.0.wrapping_add(offset)) }
    }

    /// Copies `bytes` bytes from here. What races may be torn.
    ///
    /// # Safety
    /// The segment has so many bytes here; `into` is writable for as many and does not overlap them.
    #[inline(always)]
    pub unsafe fn read(self, into: *mut u8, bytes: usize) {
        match is_far(self.0 as usize) {
            // SAFETY: the caller's promise.
            false => unsafe { copy(self.0, into, bytes) },
            // SAFETY: as above.
            true => unsafe { self.read_far(into, bytes) },
        }
    }

    /// # Safety
    /// As for [`Bytes::read`].
    #[cold]
    #[inline(never)]
    unsafe fn read_far(self, into: *mut u8, bytes: usize) {
        let place = find(self.0 as usize);
        // SAFETY: the caller's promise.
        place.call(|t| unsafe { t.read(place.rank, place.offset, into, bytes) })
    }

    /// Copies `bytes` bytes to here.
    ///
    /// # Safety
    /// The segment has so many bytes here, which are bytes only; `from` is readable for as many and does not overlap them.
    #[inline(always)]
    pub unsafe fn write(self, from: *const u8, bytes: usize) {
        match is_far(self.0 as usize) {
            // SAFETY: the caller's promise.
            false => unsafe { copy(from, self.0, bytes) },
            // SAFETY: as above.
            true => unsafe { self.write_far(from, bytes) },
        }
    }

    /// # Safety
    /// As for [`Bytes::write`].
    #[cold]
    #[inline(never)]
    unsafe fn write_far(self, from: *const u8, bytes: usize) {
        let place = find(self.0 as usize);
        // SAFETY: the caller's promise.
        place.call(|t| unsafe { t.write(place.rank, place.offset, from, bytes) })
    }

    /// Writes the bytes in which `own` differs from `twin` to here, and makes them the twin's ([`diff::send`]).
    ///
    /// # Safety
    /// The segment has so many bytes here, as have `own` and `twin`, all aligned to 16 bytes; nobody else uses `twin`. `bytes` is a multiple of
    /// [`diff::GROUP`].
    #[inline]
    pub unsafe fn send_diff(self, own: *const u8, twin: *mut u8, bytes: usize) {
        if !is_far(self.0 as usize) {
            // SAFETY: the caller's promise.
            return unsafe { diff::send(own, twin, self.0, bytes) };
        }
        let place = find(self.0 as usize);
        // SAFETY: as above.
        place.call(|t| unsafe { t.send_diff(place.rank, place.offset, own, twin, bytes) })
    }

    /// Reads 1, 2, 4 or 8 bytes here, which change as one.
    ///
    /// # Safety
    /// The segment has so many bytes here, aligned to their number.
    #[inline]
    pub unsafe fn load(self, bytes: usize) -> u64 {
        let width = Width::of(bytes);
        if is_far(self.0 as usize) {
            let place = find(self.0 as usize);
            return place.call(|transport| transport.load(place.rank, place.offset, width));
        }
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { atomic::at(self.0, width) }.load()
    }

    /// Changes 1, 2, 4 or 8 bytes here to what `change` makes of them, unless that is nothing; returns the old value.
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn update(self, bytes: usize, change: impl Fn(u64) -> Option<u64>) -> u64 {
        let width = Width::of(bytes);
        if !is_far(self.0 as usize) {
            // SAFETY: the caller's promise.
            return unsafe { MappedBytes(self.0).update(bytes, change) };
        }
        self.update_far(width, change)
    }

    /// Stores 1, 2, 4 or 8 bytes here, behind all that this process has stored before.
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn store(self, bytes: usize, value: u64) {
        let width = Width::of(bytes);
        if !is_far(self.0 as usize) {
            // SAFETY: the caller's promise.
            return unsafe { MappedBytes(self.0).store(bytes, value) };
        }
        self.update_far(width, |_| Some(value & width.mask()));
    }

    #[cold]
    #[inline(never)]
    fn update_far(self, width: Width, change: impl Fn(u64) -> Option<u64>) -> u64 {
        let place = find(self.0 as usize);
        let mut old = place.call(|transport| transport.load(place.rank, place.offset, width));
        while let Some(new) = change(old) {
            let found = place.call(|transport| {
                transport.compare_exchange(place.rank, place.offset, width, old, new, None)
            });
            if found == old {
                break;
            }
            old = found;
        }
        old
    }

    /// Gives the memory of whole pages, of a segment that is mapped, back to the system, for all who have it mapped: they are zero from now on. Returns whether the system did so.
    ///
    /// # Safety
    /// The segment has so many bytes here, and nobody needs what is in them.
    pub unsafe fn give_back(self, bytes: usize) -> bool {
        assert!(
            !is_far(self.0 as usize),
            "only the owner of a segment that is not mapped gives its memory back"
        );
        // SAFETY: the caller's promise.
        unsafe { segment::give_back(self.0, bytes) }
    }

    /// Prefetches a cache line, to be stored to if `STORE`.
    #[inline(always)]
    pub fn prefetch<const STORE: bool>(self) {
        prefetch::<STORE>(self.0);
    }
}

/// Bytes of a segment that is mapped, whoever owns it: nothing looks whether it is.
#[derive(Clone, Copy)]
pub struct MappedBytes(*mut u8);

opaque!(MappedBytes);

// SAFETY: it is an address; its uses are unsafe.
unsafe impl Send for MappedBytes {}
// SAFETY: as above.
unsafe impl Sync for MappedBytes {}

impl MappedBytes {
    #[inline(always)]
    pub(crate) fn at(address: *mut u8) -> MappedBytes {
        debug_assert!(!is_far(address as usize));
        MappedBytes(address)
    }

    /// The bytes from `offset` further on.
    #[inline(always)]
    pub fn skip(self, offset: usize) -> MappedBytes {
        MappedBytes(self.0.wrapping_add(offset))
    }

    /// The 64-bit word `offset` bytes further on.
    ///
    /// # Safety
    /// The segment has it; it is aligned and only accessed atomically.
    #[inline(always)]
    pub unsafe fn word(self, offset: usize) -> MappedWord {
        // SAFETY: the caller's promise; the mapping lasts as long as the process.
        MappedWord(unsafe { AtomicU64::from_ptr(self.0.wrapping_add(offset).cast()) })
    }

    /// Copies `bytes` bytes from here. What races may be torn.
    ///
    /// # Safety
    /// As for [`Bytes::read`].
    #[inline(always)]
    pub unsafe fn read(self, into: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy(self.0, into, bytes) }
    }

    /// As [`Bytes::update`].
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn update(self, bytes: usize, change: impl Fn(u64) -> Option<u64>) -> u64 {
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { with_atomic!(self.0, Width::of(bytes), |integer| atomic::update(integer, change)) }
    }

    /// As [`Bytes::store`].
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn store(self, bytes: usize, value: u64) {
        let order = Ordering::Release;
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { with_atomic!(self.0, Width::of(bytes), |integer| integer.store(value as _, order)) }
    }

    /// Reads 1, 2, 4 or 8 bytes here, which change as one.
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn load(self, bytes: usize) -> u64 {
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { with_atomic!(self.0, Width::of(bytes), |integer| atomic::Atomic::load(integer)) }
    }

    /// Adds to an integer of 1, 2, 4 or 8 bytes here; returns the old value.
    ///
    /// # Safety
    /// As for [`Bytes::load`].
    #[inline(always)]
    pub unsafe fn fetch_add(self, bytes: usize, value: u64) -> u64 {
        // SAFETY: the caller's promise; all access is atomic.
        unsafe { with_atomic!(self.0, Width::of(bytes), |integer| atomic::Atomic::fetch_add(integer, value)) }
    }

    /// Prefetches a cache line, to be stored to if `STORE`.
    #[inline(always)]
    pub fn prefetch<const STORE: bool>(self) {
        prefetch::<STORE>(self.0);
    }
}

/// A 64-bit word of a segment that is mapped, whoever owns it: nothing looks whether it is.
#[derive(Clone, Copy)]
pub struct MappedWord(&'static AtomicU64);

opaque!(MappedWord);

impl MappedWord {
    /// Reads it.
    #[inline(always)]
    pub fn load(self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// Writes it.
    #[inline(always)]
    pub fn store(self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }

    /// Puts `new` in the place of `expected`; whether that was there. Sequentially consistent.
    #[inline(always)]
    pub fn replace(self, expected: u64, new: u64) -> bool {
        self.0.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Prefetches its cache line, to be stored to if `STORE`.
    #[inline(always)]
    pub fn prefetch<const STORE: bool>(self) {
        prefetch::<STORE>(self.0.as_ptr().cast());
    }
}

/// Prefetches a cache line, to be stored to if `STORE`.
#[inline(always)]
fn prefetch<const STORE: bool>(address: *const u8) {
    // SAFETY: prefetches access nothing: any address is good.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        if STORE {
            std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        } else {
            std::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
