//! The state of process 0 as the others take it over.
//!
//! A snapshot is an array of words on the shared heap: it is written before the release of a fork and read behind the acquire. Texts are addresses of
//! strings that never change, so equal words mean that there is nothing to do.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::settings::{self, RESOURCES};
use super::{Kind, changes, environment, locale, shared_bytes, shared_object};
use crate::{check, signals};

/// Format flags, precision, width, fill character and locale of each standard stream of C++.
const FORMATS: usize = 25;
/// Variables of the C library that the program writes to, or reads after a call of `getopt`.
const OPTIONS: usize = 4;

/// What process 0 tells the others.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    environment: [u64; 3],
    /// Changes of the environment: its array may be the same as before.
    environment_changes: u64,
    /// Text, device, number.
    directory: [u64; 3],
    /// Mask of new files' permissions, or -1.
    mask: u64,
    /// Text, and C++'s global locale if the program has set it.
    locale: [u64; 2],
    locale_objects: [u64; 3],
    /// A bit for each limit that follows.
    limited: u64,
    limits: [[u64; 2]; RESOURCES],
    /// Value plus 64, or 0.
    priority: u64,
    /// `std::set_new_handler`, `std::set_terminate`.
    handlers: [u64; 2],
    /// Signals.
    signalled: u64,
    actions: [signals::Action; signals::SIGNALS],
    watched: Watched,
}

/// What programs change without a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Watched {
    environment: u64,
    options: [u64; OPTIONS],
    formats: [u64; FORMATS],
}

unsafe extern "C" {
    static mut optarg: *mut c_char;
    static mut optind: c_int;
    static mut opterr: c_int;
    static mut optopt: c_int;
    // In C, weakly: a C program has no C++ library.
    fn dsm_rt_cxx_formats(words: *mut u64);
    fn dsm_rt_cxx_set_formats(words: *const u64);
    fn dsm_rt_cxx_follow_locale(locale: u64);
    fn dsm_rt_cxx_new_handler() -> *mut c_void;
    fn dsm_rt_cxx_terminate() -> *mut c_void;
    fn dsm_rt_cxx_set_new_handler(handler: *mut c_void) -> *mut c_void;
    fn dsm_rt_cxx_set_terminate(handler: *mut c_void) -> *mut c_void;
}

impl Watched {
    /// Those of this process.
    fn current() -> Watched {
        let mut formats = [0; FORMATS];
        // SAFETY: the array has space for all streams; the variables belong to the thread that forks.
        let options = unsafe {
            dsm_rt_cxx_formats(formats.as_mut_ptr());
            [optarg as u64, optind as u64, opterr as u64, optopt as u64]
        };
        Watched { environment: environment::array() as u64, options, formats }
    }

    fn follow(&self) {
        let [argument, rest @ ..] = self.options;
        // SAFETY: no thread of this process runs user code between regions.
        unsafe {
            optarg = argument as *mut c_char;
            [optind, opterr, optopt] = rest.map(|word| word as c_int);
            dsm_rt_cxx_set_formats(self.formats.as_ptr());
        }
    }
}

fn all_changes() -> u64 {
    super::CHANGES.iter().map(|c| c.load(Ordering::Relaxed)).sum::<u64>() + locale::changes()
}

/// What was published last.
struct Published {
    changes: u64,
    watched: Watched,
    /// Number of the snapshot, and where it lies.
    number: u64,
    place: usize,
}

/// Process 0, before a fork: number and address of the snapshot that is in force, for [`follow`].
pub fn publish() -> [u64; 2] {
    static PUBLISHED: Mutex<Option<Published>> = Mutex::new(None);
    let mut published = PUBLISHED.lock();
    let watched = Watched::current();
    let published =
        published.get_or_insert_with(|| Published { changes: u64::MAX, watched, number: 0, place: 0 });
    let changes = all_changes();
    if changes != published.changes || watched != published.watched {
        if published.place == 0 {
            published.place = shared_object(size_of::<Snapshot>());
        }
        // The join of the last region lies behind everybody who read the last one.
        let snapshot = Snapshot::take();
        check::writable(published.place, size_of::<Snapshot>());
        // SAFETY: an object of that size, writable now.
        unsafe { (published.place as *mut Snapshot).write(snapshot) };
        published.number += 1;
        published.changes = changes;
        // Taking it may have replaced the environment's array.
        published.watched = snapshot.watched;
    }
    [published.number, published.place as u64]
}

/// Another process, behind the acquire of a fork: goes on with the state of process 0.
pub fn follow([number, place]: [u64; 2]) {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    static LAST: Mutex<Option<Snapshot>> = Mutex::new(None);
    if SEEN.swap(number, Ordering::Relaxed) == number {
        return;
    }
    check::readable(place as usize, size_of::<Snapshot>());
    // SAFETY: a snapshot of process 0, made readable.
    let now = unsafe { (place as *const Snapshot).read() };
    let before = LAST.lock().replace(now);
    now.follow(before.as_ref());
}

/// The address of a text that never changes; 0 for none.
fn text(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(0, |bytes| shared_bytes(bytes) as u64)
}

/// The text at an address that [`text`] gave.
fn text_at<'a>(address: u64) -> Option<&'a CStr> {
    if address == 0 {
        return None;
    }
    // SAFETY: a string of process 0 that never changes and is never freed, made readable.
    unsafe {
        check::readable_string(address as usize);
        Some(CStr::from_ptr(address as *const c_char))
    }
}

impl Snapshot {
    fn take() -> Snapshot {
        // SAFETY: a null pointer asks for the name, which the library keeps until the next call.
        let name = unsafe {
            libc::setlocale(libc::LC_ALL, std::ptr::null()).as_ref().map(|name| CStr::from_ptr(name))
        };
        let directory = if changes(Kind::Directory) == 0 {
            [0; 3]
        } else {
            let [device, number] = settings::directory_number();
            [text(settings::directory().as_deref()), device, number]
        };
        let (limited, limits) = settings::limits();
        let priority = if changes(Kind::Priority) == 0 {
            0
        } else {
            // SAFETY: no memory is touched.
            (unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) } + 64) as u64
        };
        // SAFETY: no arguments.
        let handlers = unsafe { [dsm_rt_cxx_new_handler() as u64, dsm_rt_cxx_terminate() as u64] };
        let (signalled, actions) = signals::snapshot();
        Snapshot {
            signalled,
            actions,
            environment: environment::snapshot(),
            environment_changes: changes(Kind::Environment),
            locale_objects: locale::snapshot(),
            directory,
            mask: settings::mask() as u64,
            locale: [text(name.map(CStr::to_bytes_with_nul)), settings::cxx_locale()],
            limited,
            limits: limits.map(|limit| [limit.rlim_cur, limit.rlim_max]),
            priority,
            handlers,
            watched: Watched::current(),
        }
    }

    /// Goes on with this, after `before`.
    fn follow(&self, before: Option<&Snapshot>) {
        let differs =
            |part: fn(&Snapshot) -> [u64; 4]| before.is_none_or(|before| part(before) != part(self));
        if differs(|s| [s.environment[0], s.environment[1], s.environment_changes, 0]) {
            environment::follow(self.environment);
            // SAFETY: no other thread of this process uses the C library's time zone now.
            unsafe { tzset() };
        }
        if differs(|s| [s.directory[0], s.directory[1], s.directory[2], 0]) && self.directory != [0; 3] {
            let [path, number @ ..] = self.directory;
            settings::follow_directory(text_at(path), number, super::__dsm_getpid() as u64);
        }
        if self.mask as i64 >= 0 {
            // SAFETY: no memory is touched.
            unsafe { libc::umask(self.mask as libc::mode_t) };
        }
        if differs(|s| [s.locale_objects[2], 0, 0, 0]) {
            locale::follow(self.locale_objects);
        }
        if differs(|s| [s.locale[0], s.locale[1], s.locale_objects[2], 0])
            && let Some(name) = text_at(self.locale[0])
        {
            environment::validate();
            // SAFETY: a string; no other thread of this process uses the locale now.
            unsafe {
                libc::setlocale(libc::LC_ALL, name.as_ptr());
                if self.locale[1] != 0 {
                    dsm_rt_cxx_follow_locale(self.locale[1]);
                }
            }
        }
        self.follow_limits();
        if differs(|s| [s.priority, 0, 0, 0]) && self.priority != 0 {
            follow_priority(self.priority as c_int - 64);
        }
        if differs(|s| [s.handlers[0], s.handlers[1], 0, 0]) {
            // SAFETY: functions of the program, at the same addresses everywhere, or of the C++ library.
            unsafe {
                dsm_rt_cxx_set_new_handler(self.handlers[0] as *mut c_void);
                dsm_rt_cxx_set_terminate(self.handlers[1] as *mut c_void);
            }
        }
        let actions = |s: &Snapshot| (s.signalled, s.actions);
        signals::follow(&actions(self), before.map(actions).as_ref());
        self.watched.follow();
    }

    fn follow_limits(&self) {
        for (resource, [soft, hard]) in
            self.limits.iter().enumerate().filter(|(i, _)| self.limited >> i & 1 == 1)
        {
            // Files of other processes than 0 have great numbers.
            let files = resource == libc::RLIMIT_NOFILE as usize;
            let limit = libc::rlimit { rlim_cur: *soft, rlim_max: *hard };
            if !files {
                // SAFETY: a limit on the stack; that it may be refused, as lowering the hard limit twice may, does no harm.
                unsafe { libc::setrlimit(resource as u32, &limit) };
            }
        }
    }
}

unsafe extern "C" {
    fn tzset();
}

/// All threads of the process: on Linux each has its own.
fn follow_priority(priority: c_int) {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for thread in threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        // SAFETY: no memory is touched.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, priority) };
    }
}
