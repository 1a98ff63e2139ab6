//! What the Fortran library reads and writes through descriptors: made accessible before the call.

use super::derived::{
    ALLOCATABLE, AUTOMATIC, DATA, DERIVED, described, elements, has_allocatables, type_bytes,
};
use super::descriptor::Array;
use crate::check;

/// How contents are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// All of it, if it is of an intrinsic type.
    Overwrite,
}

impl Access {
    fn ensure(self, address: usize, bytes: usize) {
        match self {
            Access::Read => check::readable(address, bytes),
            Access::Write => check::writable(address, bytes),
            Access::Overwrite => check::overwritten(address, bytes),
        }
    }
}
/// Makes the elements accessible, and what their allocatable components hold.
///
/// # Safety
/// A descriptor of flang begins at `address`.
unsafe fn contents(address: usize, access: Access) {
    // SAFETY: the caller's promise.
    let Some(array) = (unsafe { Array::read(address) }) else { return };
    // Finalisation and components' memory need what is there, and so do bytes between elements.
    let keeps = array.derived != 0 || array.piece().gaps;
    let access = if access == Access::Overwrite && keeps { Access::Write } else { access };
    if access != Access::Read && array.reallocatable {
        check::writable(address, array.bytes);
    }
    array.pieces(&mut |at, bytes| access.ensure(at, bytes));
    if array.derived != 0 && has_allocatables(array.derived) {
        array.each(&mut |element| {
            // SAFETY: the addendum describes the elements, which were made readable.
            unsafe { components(element, array.derived, access) };
        });
    }
}

/// Makes accessible what the allocatable components of the object hold.
///
/// # Safety
/// An object of the derived type is at `object`; `derived` is the address of the type's description.
unsafe fn components(object: usize, derived: usize, access: Access) {
    for component in described(derived) {
        let at = object + component.offset as usize;
        match component.genre {
            ALLOCATABLE | AUTOMATIC => {
                // The library may free and reallocate it, so the descriptor is wanted like the object.
                // SAFETY: such a component is a descriptor.
                unsafe { contents(at, access) };
            }
            DATA if component.category == DERIVED
                && component.derived.base != 0
                && has_allocatables(component.derived.base) =>
            {
                for index in 0..elements(&component) {
                    // SAFETY: the component is an array of that many objects of its type.
                    let element = at + index * unsafe { type_bytes(component.derived.base) };
                    // SAFETY: as above.
                    unsafe { components(element, component.derived.base, access) };
                }
            }
            _ => {}
        }
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// Null, or a descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_read(descriptor: *mut u8) {
    if check::has_effect() && !descriptor.is_null() {
        // SAFETY: the caller's promise.
        unsafe { contents(descriptor as usize, Access::Read) };
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// Null, or a descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_write(descriptor: *mut u8) {
    if check::has_effect() && !descriptor.is_null() {
        // SAFETY: the caller's promise.
        unsafe { contents(descriptor as usize, Access::Write) };
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// Null, or a descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_overwrite(descriptor: *mut u8) {
    if check::has_effect() && !descriptor.is_null() {
        // SAFETY: the caller's promise.
        unsafe { contents(descriptor as usize, Access::Overwrite) };
    }
}

/// Entry point, see `dsm_abi::entries`. Elements that nobody has defined are bytes that were left there: none of them is a descriptor yet.
///
/// # Safety
/// Null, or a descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_define(descriptor: *mut u8) {
    if !check::has_effect() || descriptor.is_null() {
        return;
    }
    let address = descriptor as usize;
    // SAFETY: the caller's promise.
    let Some(array) = (unsafe { Array::read(address) }) else { return };
    if array.reallocatable {
        check::writable(address, array.bytes);
    }
    array.pieces(&mut check::writable);
}

/// A namelist group: name, number of items, {name, descriptor} of each.
#[repr(C)]
struct Namelist {
    name: usize,
    count: usize,
    items: *const [usize; 2],
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A namelist group of flang is at `group`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_namelist(group: *mut u8, write: u32) {
    if !check::has_effect() {
        return;
    }
    check::readable(group as usize, size_of::<Namelist>());
    // SAFETY: the caller's promise; it was made readable.
    let list = unsafe { group.cast::<Namelist>().read_unaligned() };
    check::readable(list.items as usize, list.count * size_of::<[usize; 2]>());
    for index in 0..list.count {
        // SAFETY: the group has as many items; they were made readable, and each names a descriptor.
        unsafe {
            let [_, descriptor] = list.items.add(index).read_unaligned();
            contents(descriptor, if write != 0 { Access::Write } else { Access::Read });
        }
    }
}

/// An array constructor under way: the array's descriptor, elements so far.
#[repr(C)]
struct Constructor {
    to: usize,
    next: i64,
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// An array constructor vector of flang is at `vector`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_constructor(vector: *mut u8, elements: u64) {
    if !check::has_effect() {
        return;
    }
    check::readable(vector as usize, size_of::<Constructor>());
    // SAFETY: the caller's promise; it was made readable.
    let vector = unsafe { vector.cast::<Constructor>().read_unaligned() };
    // SAFETY: the vector names the descriptor of the array.
    let Some(array) = (unsafe { Array::read(vector.to) }) else { return };
    check::writable(vector.to, array.bytes);
    let left = (array.elements() - vector.next).max(0) as u64;
    if array.base != 0 {
        let from = array.base + vector.next as usize * array.element;
        check::writable(from, left.min(elements) as usize * array.element);
    }
}

/// Whether the allocatable array at `base` is accessible, which `descriptor` must be the descriptor of.
///
/// # Safety
/// A descriptor of flang begins at `descriptor`.
unsafe fn ready(descriptor: *mut u8, base: *mut u8, uses: u64, access: check::Access) -> bool {
    if !check::has_effect() {
        return true;
    }
    // SAFETY: the caller's promise.
    let Some(array) = (unsafe { Array::read(descriptor as usize) }) else { return false };
    let bytes = usize::try_from(array.elements()).ok().and_then(|n| n.checked_mul(array.element));
    array.allocatable
        && array.base == base as usize
        && bytes.is_some_and(|b| check::ready(array.base, b, [(0, 0); 2], access, uses as usize))
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_load_ready(descriptor: *mut u8, base: *mut u8, uses: u64) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { ready(descriptor, base, uses, check::Access::Read) }.into()
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_store_ready(descriptor: *mut u8, base: *mut u8, uses: u64) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { ready(descriptor, base, uses, check::Access::Write) }.into()
}
