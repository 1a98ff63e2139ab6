//! Array descriptors of flang (ISO_Fortran_binding.h with flang's addendum) and the derived types that they name.
//!
//! A descriptor is {address, element bytes, version, rank, type, attribute, flags, rank x {lower bound, extent, stride}};
//! with flag 1 an addendum {type description, length parameters...} follows. The type description lists the components
//! (flang-rt/runtime/type-info.h of LLVM 22); allocatable components have descriptors of their own in the object, whose
//! contents belong to the object.

use std::mem::offset_of;

use crate::check;
use crate::memory;

/// One dimension.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dimension {
    pub(super) lower: i64,
    pub(super) extent: i64,
    stride: i64,
}

/// A descriptor without its dimensions.
#[repr(C)]
struct Header {
    base: usize,
    element: usize,
    version: i32,
    rank: u8,
    kind: u8,
    attribute: u8,
    extra: u8,
}

const MOST_RANKS: usize = 15;
/// `Header::extra`: an addendum follows the dimensions.
pub(super) const HAS_ADDENDUM: u8 = 1;
/// `Header::attribute` of allocatable variables.
const ALLOCATABLE_VARIABLE: u8 = 2;
/// Bytes of the addendum: type description and one length parameter.
const ADDENDUM: usize = 16;
/// Bytes between pieces of a section that are checked as one.
const SMALL_GAP: i64 = 1024;

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
struct Component {
    name: [u8; embedded(0, false)],
    genre: u8,
    category: u8,
    kind: u8,
    rank: u8,
    offset: u64,
    character_length: [u64; 2],
    derived: Header,
    derived_addendum: [u8; ADDENDUM],
    length_value: [u8; embedded(1, true)],
    bounds: Header,
    bounds_rest: [u8; embedded(2, true) - size_of::<Header>()],
    initialization: usize,
}

/// `Component::genre`.
const DATA: u8 = 1;
const ALLOCATABLE: u8 = 3;
const AUTOMATIC: u8 = 4;
/// `Component::category` of derived types.
const DERIVED: u8 = 5;

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

/// Elements of an array that are looked at together.
struct Piece {
    /// Address of the first.
    first: i64,
    bytes: i64,
    /// Number of dimensions in it.
    dimensions: usize,
    /// Whether there are bytes between the elements.
    gaps: bool,
}

/// What was read of a descriptor.
pub(super) struct Array {
    base: usize,
    pub(super) element: usize,
    /// Type code of ISO_Fortran_binding.h.
    pub(super) kind: i8,
    pub(super) rank: usize,
    pub(super) dimensions: [Dimension; MOST_RANKS],
    /// Address of the description of the elements' derived type, or 0.
    pub(super) derived: usize,
    /// Bytes of the descriptor.
    bytes: usize,
    /// An allocatable, which is contiguous.
    allocatable: bool,
    /// An allocatable or a pointer, so the library may change the descriptor.
    reallocatable: bool,
}

impl Array {
    /// Reads the descriptor at `address`; `None` if that is no descriptor in use.
    ///
    /// # Safety
    /// A descriptor of flang begins there.
    pub(super) unsafe fn read(address: usize) -> Option<Array> {
        check::readable(address, size_of::<Header>());
        // SAFETY: the caller's promise; it was made readable.
        let header = unsafe { (address as *const Header).read_unaligned() };
        let rank = usize::from(header.rank);
        if rank > MOST_RANKS {
            return None;
        }
        let rest = address + size_of::<Header>();
        let bytes = rank * size_of::<Dimension>();
        let has_addendum = header.extra & HAS_ADDENDUM != 0;
        let tail = bytes + if has_addendum { ADDENDUM } else { 0 };
        check::readable(rest, tail);
        let mut dimensions = [Dimension { lower: 0, extent: 0, stride: 0 }; MOST_RANKS];
        // SAFETY: a descriptor has as many dimensions as its rank, then perhaps an addendum; they were made readable.
        let derived = unsafe {
            dimensions.as_mut_ptr().copy_from_nonoverlapping(rest as *const Dimension, rank);
            if has_addendum { ((rest + bytes) as *const usize).read_unaligned() } else { 0 }
        };
        Some(Array {
            base: header.base,
            element: header.element,
            kind: header.kind.cast_signed(),
            rank,
            dimensions,
            derived,
            bytes: size_of::<Header>() + tail,
            allocatable: header.attribute == ALLOCATABLE_VARIABLE,
            reallocatable: header.attribute != 0,
        })
    }

    fn elements(&self) -> i64 {
        self.dimensions[..self.rank].iter().map(|d| d.extent.max(0)).product()
    }

    /// Calls `piece(address, bytes)` for contiguous pieces that cover all elements.
    fn pieces(&self, piece: &mut impl FnMut(usize, usize)) {
        if self.base == 0 || self.element == 0 || self.elements() == 0 {
            return;
        }
        let Piece { first, bytes, dimensions, .. } = self.piece();
        walk(first, bytes, &self.dimensions[dimensions..self.rank], piece);
    }

    /// Dimensions that lie next to each other, or nearly so, make one piece.
    fn piece(&self) -> Piece {
        let (mut first, mut bytes, mut inner, mut gaps) = (self.base as i64, self.element as i64, 0, false);
        for dimension in &self.dimensions[..self.rank] {
            let step = dimension.stride.abs();
            if dimension.extent > 1 && step > bytes + SMALL_GAP {
                break;
            }
            gaps |= dimension.extent > 1 && step > bytes;
            let span = (dimension.extent - 1) * step;
            if dimension.stride < 0 {
                first -= span;
            }
            bytes += span;
            inner += 1;
        }
        Piece { first, bytes, dimensions: inner, gaps }
    }

    /// Calls `visit(address)` for every element.
    pub(super) fn each(&self, visit: &mut impl FnMut(usize)) {
        if self.base != 0 && self.elements() != 0 {
            walk(self.base as i64, 0, &self.dimensions[..self.rank], &mut |address, _| visit(address));
        }
    }
}

fn walk(at: i64, bytes: i64, dimensions: &[Dimension], piece: &mut impl FnMut(usize, usize)) {
    match dimensions.split_last() {
        None => piece(at as usize, bytes as usize),
        Some((outer, inner)) => {
            for index in 0..outer.extent {
                walk(at + index * outer.stride, bytes, inner, piece);
            }
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

/// Bytes of an object of the described type.
unsafe fn type_bytes(derived: usize) -> usize {
    // SAFETY: the caller passes the address of a description, which is constant data of the program.
    unsafe { ((derived + offset_of!(DerivedType, bytes)) as *const u64).read_unaligned() as usize }
}

/// Elements of a component with constant bounds: pairs of {genre, value}.
fn elements(component: &Component) -> usize {
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
fn described(derived: usize) -> impl Iterator<Item = Component> {
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
fn has_allocatables(derived: usize) -> bool {
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

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// Null, or a descriptor of flang begins at `descriptor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_read(descriptor: *mut u8) {
    if memory::shared().is_some() && !descriptor.is_null() {
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
    if memory::shared().is_some() && !descriptor.is_null() {
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
    if memory::shared().is_some() && !descriptor.is_null() {
        // SAFETY: the caller's promise.
        unsafe { contents(descriptor as usize, Access::Overwrite) };
    }
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
    if memory::shared().is_none() {
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
    if memory::shared().is_none() {
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
    if memory::shared().is_none() {
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
