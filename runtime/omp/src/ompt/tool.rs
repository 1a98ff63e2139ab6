//! How a tool comes and goes (OpenMP 5.2, section 19.2).
//!
//! A function `ompt_start_tool` of the program or of a library that is loaded, by `LD_PRELOAD` for one, is asked first, then those of the libraries in
//! `OMP_TOOL_LIBRARIES`. The first that returns something names the tool.

use std::ffi::{CStr, CString, c_void};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::abi::{StartTool, StartToolResult, ThreadKind};
use super::{callbacks, inquiry, thread};
use crate::call_site::Reader;
use crate::frame::{self, Frame};
use crate::helper;
use crate::{config, sync};

unsafe extern "C" {
    /// The program's own `ompt_start_tool`; null if it has none.
    fn dsm_rt_start_tool() -> *mut c_void;
}

const RUNTIME: &CStr =
    match CStr::from_bytes_with_nul(concat!("dsm-cc ", env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(name) => name,
        Err(_) => unreachable!(),
    };

/// The tool, while it is attached.
static TOOL: AtomicPtr<StartToolResult> = AtomicPtr::new(std::ptr::null_mut());

static INITIAL: AtomicPtr<Frame> = AtomicPtr::new(std::ptr::null_mut());

/// Finds and starts the process's tool. To be called by the thread that will run its initial task.
pub fn start() {
    if config::get().tool == "disabled" {
        return;
    }
    let mut log = Log::open(&config::get().tool_verbose_init);
    let Some(tool) = find(&mut log) else { return log.say("no tool is attached") };
    // SAFETY: the tool keeps its answer until it is finalised.
    let answer = unsafe { &mut *tool };
    // SAFETY: the tool's function, called once with what the interface says.
    let wants = answer.initialize.is_some_and(|initialize| unsafe {
        initialize(inquiry::lookup, HOST, &raw mut answer.tool_data) != 0
    });
    if !wants {
        callbacks::clear();
        return log.say("the tool does not want to be attached");
    }
    log.say("the tool is attached");
    TOOL.store(tool, Ordering::SeqCst);
    let frame = frame::current();
    INITIAL.store(std::ptr::from_ref(frame).cast_mut(), Ordering::SeqCst);
    Reader::Tool.begin();
    thread::attach(frame);
}

/// The frame of the process's initial task; none without a tool.
pub fn initial_frame() -> Option<&'static Frame> {
    // SAFETY: null, or a frame that is never freed.
    unsafe { INITIAL.load(Ordering::SeqCst).as_ref() }
}

/// Number of the device that the tool is for.
const HOST: i32 = 0;

/// The end of the process, or the tool's wish: threads without work end, then the calling one. Whether there was a tool.
pub fn finish() -> bool {
    let tool = TOOL.swap(std::ptr::null_mut(), Ordering::SeqCst);
    if tool.is_null() {
        return false;
    }
    helper::detach_idle();
    thread::detach();
    Reader::Tool.end();
    // SAFETY: as in `start`.
    let answer = unsafe { &mut *tool };
    if let Some(finalize) = answer.finalize {
        // SAFETY: the tool's function, called once.
        unsafe { finalize(&raw mut answer.tool_data) };
    }
    callbacks::clear();
    true
}

/// A thread of the runtime itself begins, which runs no user code.
pub fn service_thread_begins() {
    if super::is_active() {
        thread::begin(ThreadKind::Other);
    }
}

fn find(log: &mut Log) -> Option<*mut StartToolResult> {
    log.say("looking for ompt_start_tool in the program and its libraries");
    // SAFETY: looks a symbol up.
    let loaded = unsafe {
        let own = dsm_rt_start_tool();
        if own.is_null() { libc::dlsym(libc::RTLD_DEFAULT, c"ompt_start_tool".as_ptr()) } else { own }
    };
    if let Some(tool) = ask(loaded, log) {
        return Some(tool);
    }
    let libraries = config::get().tool_libraries.split(':').filter(|path| !path.is_empty());
    libraries.filter_map(|path| CString::new(path).ok()).find_map(|path| load(&path, log))
}

fn load(path: &CStr, log: &mut Log) -> Option<*mut StartToolResult> {
    log.say(&format!("opening {}", path.to_string_lossy()));
    // SAFETY: the user names a library to be loaded.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        // SAFETY: after a failure there is a message.
        let error = unsafe { CStr::from_ptr(libc::dlerror()) };
        log.say(&error.to_string_lossy());
        return None;
    }
    // SAFETY: an open library.
    let tool = ask(unsafe { libc::dlsym(library, c"ompt_start_tool".as_ptr()) }, log);
    if tool.is_none() {
        // SAFETY: as above; nothing of it is kept.
        unsafe { libc::dlclose(library) };
    }
    tool
}

fn ask(start_tool: *mut c_void, log: &mut Log) -> Option<*mut StartToolResult> {
    if start_tool.is_null() {
        log.say("no ompt_start_tool there");
        return None;
    }
    // SAFETY: the standard gives the function of this name its type.
    let tool = unsafe {
        std::mem::transmute::<*mut c_void, StartTool>(start_tool)(
            config::show::OPENMP_VERSION,
            RUNTIME.as_ptr(),
        )
    };
    log.say(if tool.is_null() { "its tool does not want to start" } else { "found a tool" });
    (!tool.is_null()).then_some(tool)
}

/// `OMP_TOOL_VERBOSE_INIT`.
enum Log {
    Off,
    Stdout,
    Stderr,
    File(std::fs::File),
}

impl Log {
    fn open(target: &str) -> Log {
        match target.to_ascii_lowercase().as_str() {
            "" | "disabled" => Log::Off,
            "stdout" => Log::Stdout,
            "stderr" => Log::Stderr,
            // All processes write to it.
            _ => match OpenOptions::new().append(true).create(true).open(target) {
                Ok(file) => Log::File(file),
                Err(error) => {
                    eprintln!("dsm: warning: OMP_TOOL_VERBOSE_INIT={target}: {error}; using stderr");
                    Log::Stderr
                }
            },
        }
    }

    fn say(&mut self, text: &str) {
        let line = format!("dsm: tool of process {}: {text}\n", sync::rank());
        match self {
            Log::Off => {}
            Log::Stdout => print!("{line}"),
            Log::Stderr => eprint!("{line}"),
            Log::File(file) => {
                // What cannot be written is not worth ending the program for.
                _ = file.write_all(line.as_bytes());
            }
        }
    }
}

/// `ompt_finalize_tool`.
pub extern "C" fn finalize_tool() {
    finish();
}
