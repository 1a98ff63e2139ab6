//! Descriptions of derived types that flang's descriptors name (flang-rt/runtime/type-info.h of LLVM 22).
//!
//! A description lists the components; allocatable components have descriptors of their own in the object, whose contents belong to
//! the object.

use std::mem::offset_of;

use super::descriptor::{ADDENDUM, Dimension, Header};

/// A static descriptor in a type description.
const fn embedded(rank: usize, addendum: bool) -> usize {
    size_of::<Header>() + rank * size_of::<Dimension>() + if addendum { ADDENDUM } else { 0 }
}

/// Description of a derived type, as far as it is used.
#[repr(C)]
struct DerivedType {
    binding: [u8; embedded(1, true)],
    name: [u8; embedded(0, false)],
    bytes: u64,
    uninstantiated: [u8; embedded(0, true)],
    kind_parameter: [u8; embedded(1, false)],
    length_parameter: [u8; embedded(1, false)],
    component: Header,
    component_dimension: Dimension,
    component_addendum: [u8; ADDENDUM],
    procedure_pointer: [u8; embedded(1, true)],
    special: [u8; embedded(1, true)],
    special_bits: u32,
}

/// Bits of `DerivedType::special_bits`: formatted and unformatted, reading and writing.
const DEFINED_IO: u32 = 0b111_1000;

/// Description of a component, as far as it is used.
#[repr(C)]
pub(super) struct Component {
    name: [u8; embedded(0, false)],
    pub(super) genre: u8,
    pub(super) category: u8,
    kind: u8,
    rank: u8,
    pub(super) offset: u64,
    character_length: [u64; 2],
    pub(super) derived: Header,
    derived_addendum: [u8; ADDENDUM],
    length_value: [u8; embedded(1, true)],
    bounds: Header,
    bounds_rest: [u8; embedded(2, true) - size_of::<Header>()],
    initialization: usize,
}

/// `Component::genre`.
pub(super) const DATA: u8 = 1;
pub(super) const ALLOCATABLE: u8 = 3;
pub(super) const AUTOMATIC: u8 = 4;
/// `Component::category` of derived types.
pub(super) const DERIVED: u8 = 5;
/// Bytes of an object of the described type.
///
/// # Safety
/// `derived` is the address of a description.
pub(super) unsafe fn type_bytes(derived: usize) -> usize {
    // SAFETY: the caller's promise; descriptions are constant data of the program.
    unsafe { ((derived + offset_of!(DerivedType, bytes)) as *const u64).read_unaligned() as usize }
}

/// Elements of a component with constant bounds: pairs of {genre, value}.
pub(super) fn elements(component: &Component) -> usize {
    let mut count = 1;
    for dimension in 0..usize::from(component.rank) {
        let bounds = component.bounds.base as *const [[u64; 2]; 2];
        if bounds.is_null() {
            return 0;
        }
        // SAFETY: a component with a rank has two bounds for each dimension, in constant data.
        let [[_, lower], [_, upper]] = unsafe { bounds.add(dimension).read_unaligned() };
        count *= (upper as i64 - lower as i64 + 1).max(0) as usize;
    }
    count
}

/// The components that a description lists.
pub(super) fn described(derived: usize) -> impl Iterator<Item = Component> {
    // SAFETY: descriptions are constant data of the program, laid out by flang 22.
    let (list, count) = unsafe {
        let at = derived as *const DerivedType;
        let list = (&raw const (*at).component).read_unaligned();
        let dimension = (&raw const (*at).component_dimension).read_unaligned();
        (list.base, if list.base == 0 { 0 } else { dimension.extent.max(0) as usize })
    };
    // SAFETY: as above: the list has `count` components.
    (0..count).map(move |i| unsafe { (list as *const Component).add(i).read_unaligned() })
}

/// Whether objects of the type own memory beside themselves.
pub(super) fn has_allocatables(derived: usize) -> bool {
    described(derived).any(|c| match c.genre {
        ALLOCATABLE | AUTOMATIC => true,
        DATA => c.category == DERIVED && c.derived.base != 0 && has_allocatables(c.derived.base),
        _ => false,
    })
}

/// Whether objects of the type, or of a component's, are read or written by procedures of the program.
pub(super) fn has_defined_io(derived: usize) -> bool {
    // SAFETY: descriptions are constant data of the program, laid out by flang 22.
    let bits = unsafe { ((derived + offset_of!(DerivedType, special_bits)) as *const u32).read_unaligned() };
    bits & DEFINED_IO != 0
        || described(derived).any(|c| {
            c.category == DERIVED && c.genre == DATA && c.derived.base != 0 && has_defined_io(c.derived.base)
        })
}
