//! The linked files with instrumented code: the program and its shared libraries, what their linker script and objects say.
//!
//! The driver links a small object into each shared library that adds the library's record here, as a constructor of the loader's
//! kind: before `main`, a library after those it needs. The program's own record is part of the runtime.

mod symbols;

use std::ffi::{c_char, c_void};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use dsm_abi::layout::{CTOR_RECORD_SIZE, THREADPRIVATE_RECORD_SIZE};
use dsm_abi::note::Checking;
use dsm_abi::state::{DEFAULT_LINE_SHIFT, MAX_LINE_SHIFT, MIN_LINE_SHIFT};
use parking_lot::Mutex;

pub use symbols::{
    Place, Serial, Variable, call_site, file_of, files, function_of, instrumented, program, program_name,
    serial, variable_at, variables,
};

/// Whether an address lies in a file with code of the pass.
pub fn has_code(address: usize) -> bool {
    static FILES: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    FILES.get_or_init(instrumented).iter().any(|range| range.contains(&address))
}

/// The record of one linked file, as in `c/image.h`.
#[repr(C)]
#[derive(Debug)]
pub struct Image {
    line_shift: *const u32,
    uses_tasks: *const u32,
    mprotect: *const u32,
    globals: [*const c_char; 2],
    constructors: [*const c_void; 2],
    destructors: [*const c_void; 2],
    threadprivates: [*const c_void; 2],
}

// SAFETY: all that it points to is constant, but for the globals, of which only the addresses are used.
unsafe impl Sync for Image {}

/// A constructor or destructor of instrumented code, as the pass lays it out.
#[repr(C)]
#[derive(Debug)]
pub struct Constructor {
    /// Smallest first, destructors last.
    pub priority: u64,
    /// What to call.
    pub function: Option<extern "C" fn()>,
}

const _: () = assert!(size_of::<Constructor>() == CTOR_RECORD_SIZE);

/// A threadprivate variable that the OpenMP runtime copies, as the pass lists it.
#[repr(C)]
#[derive(Debug)]
pub struct Threadprivate {
    /// First address.
    pub address: usize,
    /// Size in bytes.
    pub bytes: usize,
}

const _: () = assert!(size_of::<Threadprivate>() == THREADPRIVATE_RECORD_SIZE);

unsafe extern "C" {
    /// The program's own record.
    safe fn dsm_rt_program_image() -> &'static Image;
}

/// Libraries in the order in which the loader initialises them.
static LIBRARIES: Mutex<Vec<&'static Image>> = Mutex::new(Vec::new());

/// What becomes of a library that is loaded while the program runs: nobody else has it.
static REFUSE: OnceLock<fn(&str) -> !> = OnceLock::new();

/// From now on, libraries that are being loaded are refused.
pub fn refuse_later(refuse: fn(&str) -> !) {
    let _ = REFUSE.set(refuse);
}

/// Takes in the record of a library that is being loaded.
#[unsafe(no_mangle)]
extern "C" fn __dsm_add_image(image: &'static Image) {
    if let Some(refuse) = REFUSE.get() {
        refuse(&image.path().display().to_string());
    }
    LIBRARIES.lock().push(image);
}

/// The libraries, then the program.
pub fn all() -> Vec<&'static Image> {
    let mut all = LIBRARIES.lock().clone();
    all.push(dsm_rt_program_image());
    all
}

/// Line size that all images were compiled for, as a logarithm.
///
/// # Errors
/// A sentence about images that do not fit together, or into this runtime.
pub fn line_shift() -> Result<u32, String> {
    let addresses: Vec<usize> = all().iter().map(|image| image.address()).collect();
    if let Some(path) = symbols::instrumented_without(&addresses).first() {
        return Err(format!(
            "{} was compiled by dsm-cc but linked by another command; link it with dsm-cc -shared",
            path.display()
        ));
    }
    let mut agreed = None;
    for image in all() {
        let Some(shift) = image.line_shift() else { continue };
        let name = image.path().display().to_string();
        if !(MIN_LINE_SHIFT..=MAX_LINE_SHIFT).contains(&shift) {
            return Err(format!("{name} was compiled for lines of 2^{shift} bytes, which no dsm-cc makes"));
        }
        let (other, who) = agreed.get_or_insert((shift, name.clone()));
        if *other != shift {
            return Err(format!(
                "{name} was compiled for lines of {} bytes, {who} for lines of {}; compile both with the same -fdsm-line",
                1u32 << shift,
                1u32 << *other
            ));
        }
    }
    Ok(agreed.map_or(DEFAULT_LINE_SHIFT, |(shift, _)| shift))
}

/// Line size that the program was compiled for, as a logarithm. Libraries may not be there yet.
pub fn program_line_shift() -> u32 {
    let shift = dsm_rt_program_image().line_shift();
    shift.filter(|shift| (MIN_LINE_SHIFT..=MAX_LINE_SHIFT).contains(shift)).unwrap_or(DEFAULT_LINE_SHIFT)
}

/// Whether any instrumented object makes tasks.
pub fn uses_tasks() -> bool {
    all().iter().any(|image| !image.uses_tasks.is_null())
}

/// How the accesses of the instrumented objects are checked. The driver does not link objects of both kinds.
pub fn checking() -> Checking {
    match all().iter().any(|image| !image.mprotect.is_null()) {
        true => Checking::Mprotect,
        false => Checking::Inline,
    }
}

impl Image {
    /// Where the record itself is: in the file that it describes.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The linked file.
    pub fn path(&self) -> PathBuf {
        file_of(self.address()).unwrap_or_default()
    }

    /// Address range of the shared globals.
    pub fn globals(&self) -> Range<usize> {
        self.globals[0] as usize..self.globals[1] as usize
    }

    /// `None` if no object in it is instrumented.
    fn line_shift(&self) -> Option<u32> {
        // SAFETY: null, or a constant of the image.
        unsafe { self.line_shift.as_ref() }.copied()
    }

    /// Constructors in the order in which they run.
    pub fn constructors(&'static self) -> Vec<&'static Constructor> {
        ordered(records(&self.constructors))
    }

    /// Destructors in the order in which they run.
    pub fn destructors(&'static self) -> Vec<&'static Constructor> {
        let mut order = ordered(records(&self.destructors));
        order.reverse();
        order
    }

    /// Listed threadprivate variables.
    pub fn threadprivates(&self) -> &[Threadprivate] {
        records(&self.threadprivates)
    }
}

/// What lies between two addresses of the linker script; nothing if they are null.
fn records<T>(&[start, end]: &[*const c_void; 2]) -> &'static [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the linker script puts the two symbols around an array of records.
    unsafe { std::slice::from_raw_parts(start.cast::<T>(), (end as usize - start as usize) / size_of::<T>()) }
}

fn ordered(records: &'static [Constructor]) -> Vec<&'static Constructor> {
    let mut order: Vec<_> = records.iter().filter(|r| r.function.is_some()).collect();
    order.sort_by_key(|record| record.priority);
    order
}
