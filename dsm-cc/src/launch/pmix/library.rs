//! The client side of PMIx, the interface by which a process manager (Open MPI's mpirun, Slurm's srun) tells the processes that it has started about each other:
//! `libpmix.so.2`, loaded when a job needs it.
//!
//! The declarations follow the PMIx Standard, version 4; those used here have been the same since version 2, which the library's number stands for.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};

use libloading::Library;
use nix::libc;

/// The library's name.
pub const LIBRARY: &str = "libpmix.so.2";

const NAMESPACE_BYTES: usize = 256;
const KEY_BYTES: usize = 512;
const SUCCESS: c_int = 0;
/// Stands for the job as a whole.
const ALL_RANKS: u32 = u32::MAX - 1;
/// Scope of what all processes may read.
const GLOBAL: u8 = 3;

/// Types of values.
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;
const BYTE_OBJECT: u16 = 27;

/// Keys of what the process manager tells.
const JOB_SIZE: &CStr = c"pmix.job.size";
const LOCAL_PEERS: &CStr = c"pmix.lpeers";
const COLLECT_DATA: &CStr = c"pmix.collect";

/// A process.
#[derive(Clone, Copy)]
#[repr(C)]
struct Process {
    namespace: [c_char; NAMESPACE_BYTES],
    rank: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct ByteObject {
    bytes: *mut c_char,
    size: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
union Data {
    flag: bool,
    string: *mut c_char,
    number: u32,
    object: ByteObject,
    /// The largest member (`pmix_envar_t`).
    space: [usize; 3],
}

#[repr(C)]
struct Value {
    kind: u16,
    data: Data,
}

#[repr(C)]
struct Info {
    key: [c_char; KEY_BYTES],
    flags: u32,
    value: Value,
}

type Init = unsafe extern "C" fn(*mut Process, *mut Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Process, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Process, usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

struct Functions {
    init: Init,
    finalize: Finalize,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    abort: Abort,
    error_string: ErrorString,
    // The functions' code: last, so that it goes last.
    _library: Library,
}

impl Functions {
    fn load() -> Result<Functions, libloading::Error> {
        // SAFETY: the types are those of the library's declarations, and the library stays as long as the functions do. Its initialisers are those of a library that
        // any program may load.
        unsafe {
            let library = Library::new(LIBRARY)?;
            Ok(Functions {
                init: *library.get::<Init>(c"PMIx_Init")?,
                finalize: *library.get::<Finalize>(c"PMIx_Finalize")?,
                put: *library.get::<Put>(c"PMIx_Put")?,
                commit: *library.get::<Commit>(c"PMIx_Commit")?,
                fence: *library.get::<Fence>(c"PMIx_Fence")?,
                get: *library.get::<Get>(c"PMIx_Get")?,
                abort: *library.get::<Abort>(c"PMIx_Abort")?,
                error_string: *library.get::<ErrorString>(c"PMIx_Error_string")?,
                _library: library,
            })
        }
    }

    /// What a status means.
    fn check(&self, function: &str, status: c_int) -> Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library answers with a string of its own for any number.
        let text = unsafe { (self.error_string)(status) };
        let text = if text.is_null() {
            status.to_string()
        } else {
            // SAFETY: it is terminated, and stays.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(format!("{function}: {text}"))
    }
}

/// This process as one of those that the process manager has started together.
pub struct Client {
    functions: Functions,
    own: Process,
    /// Number of processes.
    pub size: u32,
    /// The ranks of those on this host, this one among them; in order.
    pub neighbours: Vec<u32>,
}

impl Client {
    /// Connects to the process manager.
    ///
    /// # Errors
    /// The library cannot be loaded, or there is nobody to connect to.
    pub fn connect() -> Result<Client, String> {
        let functions = Functions::load().map_err(|e| format!("cannot load {LIBRARY}: {e}"))?;
        let mut own = Process { namespace: [0; NAMESPACE_BYTES], rank: 0 };
        let before = descriptors();
        // SAFETY: the library fills the place; no information is passed.
        let status = unsafe { (functions.init)(&mut own, null_mut(), 0) };
        functions.check("PMIx_Init", status)?;
        descriptors().difference(&before).for_each(|fd| keep_from_children(*fd));
        let mut client = Client { functions, own, size: 0, neighbours: Vec::new() };
        client.size = client.number(JOB_SIZE)?;
        let neighbours = client.text(LOCAL_PEERS)?;
        client.neighbours = neighbours.split(',').filter_map(|rank| rank.trim().parse().ok()).collect();
        client.neighbours.sort_unstable();
        if !client.neighbours.contains(&client.rank()) {
            return Err(format!(
                "the process manager says that \"{neighbours}\" are on this host, where process {} is",
                client.rank()
            ));
        }
        Ok(client)
    }

    /// The process manager's number of this process.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// Gives all processes these bytes, and waits until all have given theirs.
    pub fn exchange(&self, key: &str, bytes: &[u8]) -> Result<(), String> {
        let name = CString::new(key).expect("keys are constants");
        let object = ByteObject { bytes: bytes.as_ptr().cast_mut().cast(), size: bytes.len() };
        let mut value = Value { kind: BYTE_OBJECT, data: Data { object } };
        // SAFETY: the library copies the value.
        let status = unsafe { (self.functions.put)(GLOBAL, name.as_ptr(), &mut value) };
        self.functions.check("PMIx_Put", status)?;
        // SAFETY: takes nothing.
        let status = unsafe { (self.functions.commit)() };
        self.functions.check("PMIx_Commit", status)?;
        let mut collect =
            Info { key: [0; KEY_BYTES], flags: 0, value: Value { kind: BOOL, data: Data { space: [0; 3] } } };
        collect.value.data.flag = true;
        for (to, from) in collect.key.iter_mut().zip(COLLECT_DATA.to_bytes()) {
            *to = *from as c_char;
        }
        // SAFETY: one process, which stands for all, and one piece of information.
        let status = unsafe { (self.functions.fence)(&self.process(ALL_RANKS), 1, &collect, 1) };
        self.functions.check("PMIx_Fence", status)
    }

    /// The bytes that a process has given.
    pub fn bytes_of(&self, rank: u32, key: &str) -> Result<Vec<u8>, String> {
        let name = CString::new(key).expect("keys are constants");
        let value = self.get(&self.process(rank), &name)?;
        value.bytes().ok_or_else(|| format!("PMIx_Get: {key} of process {rank} is of another type"))
    }

    fn number(&self, key: &CStr) -> Result<u32, String> {
        let value = self.get(&self.process(ALL_RANKS), key)?;
        value.number().ok_or_else(|| wrong_type(key))
    }

    fn text(&self, key: &CStr) -> Result<String, String> {
        let value = self.get(&self.process(ALL_RANKS), key)?;
        value.text().ok_or_else(|| wrong_type(key))
    }

    fn process(&self, rank: u32) -> Process {
        Process { rank, ..self.own }
    }

    fn get(&self, process: &Process, key: &CStr) -> Result<Received, String> {
        let mut value = null_mut();
        // SAFETY: the library leaves the address of a value that it has allocated.
        let status = unsafe { (self.functions.get)(process, key.as_ptr(), null(), 0, &mut value) };
        self.functions.check(&format!("PMIx_Get of {}", key.to_string_lossy()), status)?;
        if value.is_null() { Err(wrong_type(key)) } else { Ok(Received(value)) }
    }

    /// Has the process manager end all processes of the job.
    pub fn abort(&self, status: u8) {
        // SAFETY: no processes stand for all of the job. What it answers changes nothing.
        unsafe { (self.functions.abort)(c_int::from(status), c"".as_ptr(), null_mut(), 0) };
    }

    /// Says that this process ends in order.
    pub fn finish(self) {
        // SAFETY: no information is passed. What it answers changes nothing.
        unsafe { (self.functions.finalize)(null(), 0) };
    }
}

/// This process's descriptors.
fn descriptors() -> BTreeSet<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The library leaves its connection to all that this process starts.
fn keep_from_children(fd: RawFd) {
    // SAFETY: a number. The one of the list itself is closed by now, and setting its flag fails.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

fn wrong_type(key: &CStr) -> String {
    format!("PMIx_Get: {} is of another type", key.to_string_lossy())
}

/// A value that the library has allocated, as C's `malloc` does, and left to its caller.
struct Received(*mut Value);

impl Received {
    fn value(&self) -> &Value {
        // SAFETY: not null, and nobody else has it.
        unsafe { &*self.0 }
    }

    fn number(&self) -> Option<u32> {
        // SAFETY: the type says which member there is.
        (self.value().kind == UINT32).then(|| unsafe { self.value().data.number })
    }

    fn text(&self) -> Option<String> {
        // SAFETY: the type says which member there is.
        let string = (self.value().kind == STRING).then(|| unsafe { self.value().data.string });
        // SAFETY: strings are terminated.
        let string = string.filter(|s| !s.is_null()).map(|s| unsafe { CStr::from_ptr(s) });
        string.map(|s| s.to_string_lossy().into_owned())
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        // SAFETY: the type says which member there is.
        let object = (self.value().kind == BYTE_OBJECT).then(|| unsafe { self.value().data.object })?;
        if object.bytes.is_null() {
            return Some(Vec::new());
        }
        // SAFETY: the object is as long as it says.
        Some(unsafe { std::slice::from_raw_parts(object.bytes.cast::<u8>(), object.size) }.to_vec())
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        let inner = match self.value().kind {
            // SAFETY: the type says which member there is.
            STRING => unsafe { self.value().data.string }.cast::<c_void>(),
            // SAFETY: the type says which member there is.
            BYTE_OBJECT => unsafe { self.value().data.object.bytes }.cast::<c_void>(),
            _ => null_mut(),
        };
        // SAFETY: both were allocated for the caller, who frees them once.
        unsafe {
            libc::free(inner);
            libc::free(self.0.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_standard_s_sizes() {
        assert_eq!((size_of::<Process>(), size_of::<Value>(), size_of::<Info>()), (260, 32, 552));
    }
}
