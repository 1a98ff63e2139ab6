//! Start of a process: process 0 runs the program's constructors and its `main`, the others wait for parallel regions. Their [`end`].

use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering;
use std::time::Duration;

use dsm_abi::job::COMPLAINED_WORD;
use dsm_coherence::Coherence;

use crate::heap::foreign;
use crate::image::{self, Image};
use crate::job::{Job, JobPage, die};
use crate::memory::fabric::{SegmentFabric, calls};
use crate::operations::{queue, signal};
use crate::posted::{deferred, pending};
use crate::stdio::mailbox::Statements;
use crate::sync::hooks::Hooks;
use crate::sync::regions::{self, Regions};
use crate::{
    arrays, atomics, config, control, crash, cxx, debugger, end, fault, fortran, heap, managed, memory, omp,
    pages, process, process_state, profile, progress, pthread, race, signals, stats, stdio, sync, time,
    trace, verify,
};

unsafe extern "C" {
    fn dsm_rt_user_main(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int;
}

/// Before all constructors, in particular those of libraries: they may call functions of the program, which are instrumented, among them those that take the place of a library's own.
/// Until memory is set up these run as in a job of one process, each process by itself.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_before_constructors() {
    memory::make_all_valid();
    omp::shared_stack::adopt_early();
}

/// What the C `main` does.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_start(argc: c_int, argv: *mut *mut c_char, envp: *mut *mut c_char) -> c_int {
    // SAFETY: the arguments are those of the C `main`, before which no thread was started here.
    if let Err(error) = unsafe { managed::become_launcher(argc, argv) } {
        die(&error);
    }
    register();
    place_control_words();
    let job = Job::from_environment().unwrap_or_else(|error| die(&error.to_string()));
    if let Err(error) = JobPage::init(&job) {
        die(&error.to_string());
    }
    if let Err(error) = progress::init(&job) {
        die(&format!("cannot map the record for dsm-top: {error}"));
    }
    if job.rank == 0 {
        config::warn_about_environment();
    }
    trace::init(&job);
    omp::threadprivate::remember_initial_values();
    if let Err(error) = memory::init(&job) {
        leave_to_others(&job, &error);
        die(&error.to_string());
    }
    image::refuse_later(process::refuse_library);
    observe();
    if let Err(error) = memory::private_range::init(&job) {
        die(&format!("{error}; address space may be limited (ulimit -v)"));
    }
    if job.rank == 0 {
        stats::prepare(&job);
        profile::prepare(&job);
    }
    profile::init();
    memory::services::start();
    if let Err(error) = memory::start_paging() {
        leave_to_others(&job, &error);
        die(&error.to_string());
    }
    if let Err(error) = memory::compare_with_peers(&job) {
        die(&error.to_string());
    }
    let arguments = Arguments { argc, argv, envp };
    if job.rank != 0 {
        // User code runs on a stack of the process's own range; process 0 keeps its initial thread for `main`.
        pthread::thread::serve_elsewhere(move || run(&job, arguments));
    }
    run(&job, arguments)
}

/// Registers what happens where the process publishes, acquires or may wait, where handlers of signals are kept, and who executes which calls of peers.
pub fn register() {
    signals::init();
    calls::register(dsm_arrays::call::KIND, arrays::serve);
    calls::register(queue::TAG, |_, request, reply| queue::serve(request, reply));
    calls::register(dsm_sync::KIND, |_, request, reply| sync::serve(request, reply));
    register_above();
    sync::hooks::register(Hooks {
        before_lock: || {
            signal::assert_allowed("a lock");
            deferred::send_all();
        },
        before_release: pending::before_release,
        before_cached_unlock: pending::before_cached_unlock,
        before_undisturbed_release: || {
            stdio::before_release();
            foreign::before_release();
        },
        begin_release: foreign::written,
        after_release: foreign::after_release,
        after_acquire: foreign::after_acquire,
        begin_fetch: deferred::suspend,
        end_fetch: deferred::resume,
        is_quiet: stdio::is_quiet,
        after_fork: stdio::after_fork,
        start_thread: |work| _ = memory::services::as_services(|| std::thread::spawn(work)),
    });
}

crate::control::declare! {
    /// Keys of the races reported so far, then a word that says that there were more, in process 0.
    static RACES: u64, race::REPORTS + 2;
}

/// The control words of all modules, in the order of their places.
const ALL_CONTROL_WORDS: [&[&control::Declaration]; 27] = [
    control::watched::CONTROL_WORDS,
    CONTROL_WORDS,
    end::CONTROL_WORDS,
    stats::CONTROL_WORDS,
    memory::paging::peers::CONTROL_WORDS,
    heap::CONTROL_WORDS,
    heap::brk::CONTROL_WORDS,
    heap::foreign::CONTROL_WORDS,
    heap::large::CONTROL_WORDS,
    verify::CONTROL_WORDS,
    signal::CONTROL_WORDS,
    pthread::key::CONTROL_WORDS,
    cxx::CONTROL_WORDS,
    process_state::CONTROL_WORDS,
    stdio::mailbox::CONTROL_WORDS,
    stdio::registry::CONTROL_WORDS,
    stdio::strings::CONTROL_WORDS,
    stdio::descriptors::CONTROL_WORDS,
    stdio::import::CONTROL_WORDS,
    fortran::units::CONTROL_WORDS,
    omp::ring::CONTROL_WORDS,
    omp::static_steal::CONTROL_WORDS,
    omp::copyprivate::CONTROL_WORDS,
    omp::team::CONTROL_WORDS,
    omp::doacross::CONTROL_WORDS,
    omp::contention::CONTROL_WORDS,
    omp::affinity_format::CONTROL_WORDS,
];

/// Gives the control words of all modules their places; before memory is set up.
pub fn place_control_words() {
    ALL_CONTROL_WORDS.iter().for_each(|words| control::place(words));
}

/// Registers what parts below others ask of these.
fn register_above() {
    regions::register(Regions {
        active_level: || omp::frame::current().active_level,
        number: omp::frame::number,
        serve_while_polling: omp::task::steal::serve_while_polling,
        adopt_stack: omp::shared_stack::adopt,
        helpers: omp::helper::helpers,
    });
    heap::register(process_state::locale::free);
    signals::on_change(|| process_state::changed(process_state::Kind::Handlers));
    stdio::mailbox::register(Statements {
        part: fortran::serve::part,
        run: fortran::serve::run,
        fetch: fortran::serve::fetch,
    });
    stdio::mailbox::register_exit(end::exit_for_another);
}

/// Tells race detection, profile and trace of the memory, where there are several processes.
fn observe() {
    let Some(shared) = memory::shared() else { return };
    let memory = memory::get();
    fn coherence() -> &'static Coherence<SegmentFabric> {
        &memory::shared().expect("there are several processes").coherence
    }
    dsm_observe::memory::observe(dsm_observe::memory::Memory {
        segments: shared.segments,
        geometry: memory.geometry(),
        rank: memory.rank(),
        reports: memory.geometry().control_offset() + RACES.offset(),
        watch: |extents| coherence().watch(extents),
        counters: || coherence().stats(),
    });
}

/// How long another process may take to say what this one would, and to end the job.
const LONG: Duration = Duration::from_secs(10);
/// The same for process 0 alone, where it may have nothing to say.
const SHORT: Duration = Duration::from_secs(2);

/// Waits for a process that finds the same to say so and end the job.
fn leave_to_others(job: &Job, error: &memory::MemoryError) {
    match error {
        // All processes find the same, and process 0 says so.
        memory::MemoryError::Layout(_) if job.rank != 0 => std::thread::sleep(LONG),
        // All processes of a host do, and process 0 says so if it is one of them.
        memory::MemoryError::Ofi(_) | memory::MemoryError::Verbs(_) | memory::MemoryError::Paging(_) => {
            if job.rank != 0 {
                std::thread::sleep(SHORT);
            }
            if JobPage::get().word(COMPLAINED_WORD).swap(1, Ordering::SeqCst) != 0 {
                std::thread::sleep(LONG);
            }
        }
        _ => {}
    }
}

/// The arguments of the C `main`.
struct Arguments {
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
}

// SAFETY: they stay where they are for the life of the process, whose other threads leave them alone.
unsafe impl Send for Arguments {}

/// What the process's own thread does, once memory is set up.
fn run(job: &Job, Arguments { argc, argv, envp }: Arguments) -> ! {
    progress::begin_thread();
    if stats::are_wanted() {
        time::measure();
    }
    debugger::keep();
    fortran::init();
    omp::init(job);
    if job.job_fd.is_some() {
        omp::tell_threads();
    }
    sync::init(omp::threads_in(omp::threads_in_job(), job.size).len() as u32);
    atomics::init();
    deferred::init();
    stdio::init();
    crash::init();
    fault::init();
    pages::init();
    process::init();
    process_state::init();
    omp::shared_stack::adopt(0);
    end::init();
    if job.size > 1 {
        cxx::expect_threads();
    }
    if job.rank != 0 {
        signals::stand_by();
        // SAFETY: the arguments are those of the C `main`.
        unsafe { fortran::start_worker(argc, argv, envp) };
        cxx::start_worker();
        sync::user_threads_enter();
        omp::ompt::tool::start();
        sync::user_threads_leave();
        omp::fork::serve();
        omp::ompt::tool::finish();
        end::leave_worker();
    }
    omp::idle::report_missing_openmp();
    memory::threads::mark_initial();
    profile::begins_alone(0);
    omp::display_environment_at_start();
    omp::affinity::start();
    memory::private_range::leave_break();
    sync::user_threads_enter();
    omp::ompt::tool::start();
    // SAFETY: a plain function, too; it runs after what the program registers, as destructors do.
    unsafe { libc::atexit(run_destructors) };
    run_constructors();
    // SAFETY: the arguments are those of the C `main`, or copies.
    let code = unsafe {
        if job.size == 1 {
            dsm_rt_user_main(argc, argv, envp)
        } else {
            dsm_rt_user_main(argc, process_state::shared_arguments(argc, argv), process_state::environment())
        }
    };
    // SAFETY: runs the program's handlers, then ours.
    unsafe { libc::exit(code) }
}

/// Libraries come first, those before that others need.
fn run_constructors() {
    image::all().into_iter().flat_map(Image::constructors).filter_map(|r| r.function).for_each(|f| f());
}

extern "C" fn run_destructors() {
    if sync::rank() != 0 {
        return;
    }
    image::all().into_iter().rev().flat_map(Image::destructors).filter_map(|r| r.function).for_each(|f| f());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ffi::c_void;
    use std::fs;
    use std::path::Path;

    use dsm_threads::handler;

    unsafe extern "C" {
        static stdout: *mut c_void;
        fn __fpending(stream: *mut c_void) -> usize;
    }

    /// Paths of the modules under a directory that declare control words, tests left aside.
    fn declaring(directory: &Path, module: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory).expect("sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let inner =
                if matches!(&*name, "mod" | "lib") { module.to_owned() } else { format!("{module}::{name}") };
            if path.is_dir() {
                found.extend(declaring(&path, &inner));
            } else if fs::read_to_string(&path).expect("a source").contains("declare! {\n    /// ") {
                found.push(inner);
            }
        }
        found
    }

    #[test]
    fn all_declared_control_words_have_a_place_of_their_own() {
        place_control_words();
        let mut places = control::places();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let crates = fs::read_dir(root).expect("crates").map(|entry| entry.expect("an entry").path());
        let sources = crates.filter(|path| path.join("Cargo.toml").exists()).map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (path.join("src"), format!("dsm_{name}"))
        });
        let sources = sources.chain([(root.join("src"), "dsm_rt".into())]);
        let declaring: BTreeSet<_> = sources.flat_map(|(source, name)| declaring(&source, &name)).collect();
        let module = |(name, _): &(&str, _)| name.rsplit_once("::").map(|(module, _)| module.to_owned());
        let placed: BTreeSet<_> = places.iter().filter_map(module).collect();
        let missing: Vec<_> = declaring.difference(&placed).collect();
        assert!(missing.is_empty() && declaring.len() > 10, "not in the table: {missing:?}");
        places.sort_by_key(|(_, range)| range.start);
        let lines = |range: &std::ops::Range<usize>| range.start / 128..range.end.div_ceil(128);
        for (one, other) in places.iter().zip(&places[1..]) {
            assert!(lines(&one.1).end <= lines(&other.1).start, "{one:x?} and {other:x?} share lines");
        }
        assert!(places.iter().all(|(_, range)| range.start.is_multiple_of(128)));
    }

    #[test]
    fn a_release_writes_streams_but_not_in_a_handler() {
        register();
        // SAFETY: the C library's stream, which nothing else writes to; a string of C.
        unsafe {
            assert!(libc::fputs(c" ".as_ptr(), stdout.cast()) >= 0);
            let pending = __fpending(stdout);
            assert!(pending > 0);
            let frame = 0u8;
            handler::run(&raw const frame as usize, true, sync::before_release);
            assert_eq!(__fpending(stdout), pending);
            sync::before_release();
            assert_eq!(__fpending(stdout), 0);
        }
    }
}
