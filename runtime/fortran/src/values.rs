//! Values of input and output statements: collected where the statement is, and put under a descriptor where it is carried out.

use super::derived::has_defined_io;
use super::descriptor::{Array, Dimension, HAS_ADDENDUM};
use super::wire::{Reader, Writer};
use crate::check;

/// `CFI_VERSION` of flang 22.
const VERSION: u32 = 20_240_719;

/// A scalar or an array, its elements one behind the other.
pub struct Values {
    /// Type code of ISO_Fortran_binding.h.
    pub kind: i8,
    /// Bytes of an element.
    pub element: usize,
    /// Lower bound and extent of each dimension.
    pub bounds: Vec<(i64, i64)>,
    /// Address of the description of the elements' derived type, the same in all processes, or 0.
    pub derived: usize,
    /// The elements; empty if they are not allocated.
    pub bytes: Vec<u8>,
}

impl Values {
    /// Collects what a descriptor names. The error says why another process cannot have it.
    ///
    /// # Safety
    /// A descriptor of flang is at `address`, and its elements are readable.
    pub unsafe fn collect(address: usize) -> Result<Values, &'static str> {
        // SAFETY: the caller's promise.
        let array = unsafe { Array::read(address) }.ok_or("an array of unknown rank")?;
        if array.derived != 0 && has_defined_io(array.derived) {
            return Err("an object with defined input or output");
        }
        let mut bytes = Vec::new();
        array.each(&mut |at| {
            // SAFETY: an element of the array, made readable before the call.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, array.element) });
        });
        let bounds = array.dimensions[..array.rank].iter().map(|d| (d.lower, d.extent)).collect();
        Ok(Values { kind: array.kind, element: array.element, bounds, derived: array.derived, bytes })
    }

    /// Puts changed elements back under a descriptor from which `self` was collected.
    ///
    /// # Safety
    /// As for [`Values::collect`], and the elements are the program's to write.
    pub unsafe fn put_back(&self, address: usize, new: &[u8]) {
        // SAFETY: the caller's promise.
        let Some(array) = (unsafe { Array::read(address) }) else { return };
        let mut pieces =
            self.bytes.chunks_exact(self.element.max(1)).zip(new.chunks_exact(self.element.max(1)));
        array.each(&mut |at| {
            if let Some((old, new)) = pieces.next()
                && old != new
            {
                check::writable(at, new.len());
                // SAFETY: an element of the array, made writable.
                unsafe { (at as *mut u8).copy_from_nonoverlapping(new.as_ptr(), new.len()) };
            }
        });
    }

    pub fn write(&self, to: &mut Writer) {
        to.signed(self.kind.into());
        to.word(self.element as u64);
        to.word(self.bounds.len() as u64);
        for (lower, extent) in &self.bounds {
            to.signed(*lower);
            to.signed(*extent);
        }
        to.word(self.derived as u64);
        to.bytes(&self.bytes);
    }

    pub fn read(from: &mut Reader<'_>) -> Values {
        let (kind, element) = (from.signed() as i8, from.word() as usize);
        let bounds = (0..from.word()).map(|_| (from.signed(), from.signed())).collect();
        let derived = from.word() as usize;
        Values { kind, element, bounds, derived, bytes: from.bytes().to_vec() }
    }

    /// A descriptor of the elements in `self`.
    pub fn descriptor(&mut self) -> Vec<u64> {
        let count: i64 = self.bounds.iter().map(|(_, extent)| *extent).product();
        let absent = self.bytes.is_empty() && count != 0 && self.element != 0;
        let base = if absent { 0 } else { self.bytes.as_mut_ptr() as u64 };
        let extra = if self.derived == 0 { 0 } else { u64::from(HAS_ADDENDUM) };
        let form = u64::from(VERSION)
            | (self.bounds.len() as u64) << 32
            | u64::from(self.kind.cast_unsigned()) << 40
            | extra << 56;
        let mut words = vec![base, self.element as u64, form];
        let mut stride = self.element as i64;
        for (lower, extent) in &self.bounds {
            words.extend([lower, extent, &stride].map(|v| v.cast_unsigned()));
            stride *= extent;
        }
        if self.derived != 0 {
            words.extend([self.derived as u64, 0]);
        }
        words
    }
}

const _: () = assert!(size_of::<Dimension>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_arrive_under_a_descriptor() {
        let bytes: Vec<u8> = (0..24).collect();
        let values =
            Values { kind: 9, element: 4, bounds: vec![(1, 3), (-1, 2)], derived: 0, bytes: bytes.clone() };
        let mut message = Writer::default();
        values.write(&mut message);
        let mut arrived = Values::read(&mut Reader(&message.0));
        let words = arrived.descriptor();
        let form = u64::from(VERSION) | 2 << 32 | 9 << 40;
        let lower = (-1i64).cast_unsigned();
        assert_eq!(words, [arrived.bytes.as_ptr() as u64, 4, form, 1, 3, 4, lower, 2, 12]);
        assert_eq!(arrived.bytes, bytes);
    }

    #[test]
    fn what_is_not_allocated_has_no_address() {
        let mut values = Values { kind: 9, element: 4, bounds: vec![(1, 3)], derived: 0x1000, bytes: vec![] };
        let words = values.descriptor();
        assert_eq!((words[0], words[6], words.len()), (0, 0x1000, 8));
        values.bounds = vec![(1, 0)];
        assert_ne!(values.descriptor()[0], 0);
    }
}
