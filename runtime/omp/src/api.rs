//! Query and control routines of `omp.h`, each also under its Fortran name (arguments by reference).

use super::frame::{self, Frame, Icv};
use super::icv_words::schedule_kind;
use super::{affinity, get, league, ompt, put, task};
use crate::config::{self, Schedule};

macro_rules! queries {
    ($($name:ident $fortran:ident -> $t:ty = $body:expr;)*) => {$(
        #[doc = "See the OpenMP specification."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $t {
            $body
        }

        #[doc = "The same for Fortran."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran() -> $t {
            $name()
        }
    )*};
}

macro_rules! with_int {
    ($($name:ident $fortran:ident($arg:ident) $(-> $t:ty)? = $body:expr;)*) => {$(
        #[doc = "See the OpenMP specification."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($arg: i32) $(-> $t)? {
            let _ = $arg;
            $body
        }

        #[doc = "The same for Fortran."]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $fortran($arg: *const i32) $(-> $t)? {
            // SAFETY: a Fortran argument is the address of an integer.
            $name(unsafe { get($arg) })
        }
    )*};
}

fn icv() -> Icv {
    frame::current().icv.get()
}

fn change(f: impl FnOnce(&mut Icv)) {
    let frame = frame::current();
    let mut icv = frame.icv.get();
    f(&mut icv);
    frame.icv.set(icv);
}

fn max_threads(frame: &Frame) -> i32 {
    super::default_team(frame).min(frame.icv.get().thread_limit) as i32
}

/// Seconds of the system's monotonic clock, which all processes of a machine share: a time read by one thread can be subtracted from another's.
fn seconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in a local variable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

queries! {
    omp_get_num_threads omp_get_num_threads_ -> i32 = frame::current().team().size as i32;
    omp_get_thread_num omp_get_thread_num_ -> i32 = frame::current().tid as i32;
    omp_get_max_threads omp_get_max_threads_ -> i32 = max_threads(frame::current());
    omp_get_num_procs omp_get_num_procs_ -> i32 = super::processors() as i32;
    omp_in_parallel omp_in_parallel_ -> i32 = i32::from(frame::current().active_level > 0);
    omp_in_final omp_in_final_ -> i32 = i32::from(task::with_current(frame::current(), |t| t.is_final) == Some(true));
    omp_in_explicit_task omp_in_explicit_task_ -> i32 = i32::from(task::with_current(frame::current(), |t| t.is_explicit()) == Some(true));
    omp_get_dynamic omp_get_dynamic_ -> i32 = i32::from(icv().dynamic);
    omp_get_nested omp_get_nested_ -> i32 = i32::from(icv().max_active_levels > 1);
    omp_get_active_level omp_get_active_level_ -> i32 = frame::current().active_level as i32;
    omp_get_level omp_get_level_ -> i32 = frame::current().level as i32;
    omp_get_thread_limit omp_get_thread_limit_ -> i32 = icv().thread_limit as i32;
    omp_get_max_active_levels omp_get_max_active_levels_ -> i32 = icv().max_active_levels as i32;
    omp_get_supported_active_levels omp_get_supported_active_levels_ -> i32 = i32::MAX;
    omp_get_max_task_priority omp_get_max_task_priority_ -> i32 = config::get().max_task_priority as i32;
    omp_get_wtime omp_get_wtime_ -> f64 = seconds();
    omp_get_wtick omp_get_wtick_ -> f64 = 1e-9;
    omp_get_default_device omp_get_default_device_ -> i32 = icv().device;
    omp_is_initial_device omp_is_initial_device_ -> i32 = 1;
    omp_get_num_devices omp_get_num_devices_ -> i32 = 0;
    omp_get_initial_device omp_get_initial_device_ -> i32 = 0;
    omp_get_device_num omp_get_device_num_ -> i32 = 0;
    omp_get_num_teams omp_get_num_teams_ -> i32 = frame::current().league.get().size() as i32;
    omp_get_team_num omp_get_team_num_ -> i32 = frame::current().league.get().team as i32;
    omp_get_max_teams omp_get_max_teams_ -> i32 = league::NUM_TEAMS.get() as i32;
    omp_get_teams_thread_limit omp_get_teams_thread_limit_ -> i32 = league::TEAMS_THREAD_LIMIT.get() as i32;
    omp_get_cancellation omp_get_cancellation_ -> i32 = i32::from(config::get().cancellation);
    omp_get_proc_bind omp_get_proc_bind_ -> i32 = affinity::next_binding() as i32;
    omp_get_num_places omp_get_num_places_ -> i32 = affinity::places().len() as i32;
    omp_get_place_num omp_get_place_num_ -> i32 = affinity::place_number();
    omp_get_partition_num_places omp_get_partition_num_places_ -> i32 = affinity::partition().len() as i32;
    kmp_get_stacksize kmp_get_stacksize_ -> i32 = config::get().native_stack_bytes.min(i32::MAX as usize) as i32;
    kmp_get_stacksize_s kmp_get_stacksize_s_ -> usize = config::get().native_stack_bytes;
    kmp_get_blocktime kmp_get_blocktime_ -> i32 = (config::get().spin_us() / 1000) as i32;
    kmp_get_library kmp_get_library_ -> i32 = 3;
    kmp_set_library_serial kmp_set_library_serial_ -> () = ();
    kmp_set_library_turnaround kmp_set_library_turnaround_ -> () = ();
    kmp_set_library_throughput kmp_set_library_throughput_ -> () = ();
    kmp_set_warnings_on kmp_set_warnings_on_ -> () = ();
    kmp_set_warnings_off kmp_set_warnings_off_ -> () = ();
}

with_int! {
    omp_set_num_threads omp_set_num_threads_(n) = change(|icv| icv.threads = n.max(1) as u32);
    omp_set_dynamic omp_set_dynamic_(on) = change(|icv| icv.dynamic = on != 0);
    omp_set_nested omp_set_nested_(on) = change(|icv| icv.max_active_levels = if on != 0 { i32::MAX as u32 } else { 1 });
    omp_set_max_active_levels omp_set_max_active_levels_(n) = change(|icv| {
        if n >= 0 {
            icv.max_active_levels = n as u32;
        }
    });
    omp_set_default_device omp_set_default_device_(device) = change(|icv| icv.device = device);
    omp_set_num_teams omp_set_num_teams_(n) = league::NUM_TEAMS.set(n);
    omp_set_teams_thread_limit omp_set_teams_thread_limit_(n) = league::TEAMS_THREAD_LIMIT.set(n);
    kmp_set_blocktime kmp_set_blocktime_(ms) = ();
    kmp_set_library kmp_set_library_(kind) = ();
    kmp_set_stacksize kmp_set_stacksize_(bytes) = ();
    kmp_set_disp_num_buffers kmp_set_disp_num_buffers_(n) = ();
    omp_get_place_num_procs omp_get_place_num_procs_(place) -> i32 = affinity::processors_of(place);
    omp_display_env omp_display_env_(verbose) = super::display_environment(verbose != 0);
    omp_pause_resource_all omp_pause_resource_all_(kind) -> i32 = pause(kind);
    omp_get_ancestor_thread_num omp_get_ancestor_thread_num_(level) -> i32 = {
        let frame = frame::current();
        match u32::try_from(level) {
            Ok(level) if level <= frame.level => frame.ancestor(level).map_or(0, |f| f.tid as i32),
            _ => -1,
        }
    };
    omp_get_team_size omp_get_team_size_(level) -> i32 = {
        let frame = frame::current();
        match u32::try_from(level) {
            Ok(level) if level <= frame.level => frame.ancestor(level).map_or(1, |f| f.team().size as i32),
            _ => -1,
        }
    };
}

/// The bit `omp_sched_monotonic`.
const MONOTONIC: u32 = 1 << 31;

/// Sets what `schedule(runtime)` means.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: u32, chunk: i32) {
    let monotonic = (kind & MONOTONIC != 0).then_some(true);
    change(|icv| {
        icv.schedule =
            Schedule { kind: schedule_kind(kind & !MONOTONIC), chunk: chunk.max(0) as u32, monotonic }
    });
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_schedule_(kind: *const u32, chunk: *const i32) {
    // SAFETY: Fortran arguments are addresses of integers.
    unsafe { omp_set_schedule(get(kind), get(chunk)) };
}

/// What `schedule(runtime)` means.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule(kind: *mut u32, chunk: *mut i32) {
    let schedule = icv().schedule;
    // SAFETY: the program passes valid places.
    unsafe {
        put(kind, schedule.kind as u32 | if schedule.monotonic == Some(true) { MONOTONIC } else { 0 });
        put(chunk, schedule.reported_chunk() as i32);
    }
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_schedule_(kind: *mut u32, chunk: *mut i32) {
    // SAFETY: as for the function called.
    unsafe { omp_get_schedule(kind, chunk) };
}

/// Gives memory that this process does not need back to the system, outside of regions. Threads and processes without work sleep anyway,
/// and what a program can see, such as its threadprivate variables, is kept. 0 if done.
fn pause(kind: i32) -> i32 {
    if !(PAUSE_SOFT..=PAUSE_STOP_TOOL).contains(&kind) || frame::current().level > 0 {
        return 1;
    }
    if kind == PAUSE_STOP_TOOL {
        ompt::tool::finish();
    }
    // SAFETY: only touches the C library's heap.
    unsafe { libc::malloc_trim(0) };
    0
}

/// Kinds of `omp_pause_resource_t`: soft, hard, and a hard one that ends the tool, too.
const PAUSE_SOFT: i32 = 1;
const PAUSE_STOP_TOOL: i32 = 3;

/// Pauses a device; there is only the host.
#[unsafe(no_mangle)]
pub extern "C" fn omp_pause_resource(kind: i32, device: i32) -> i32 {
    if is_host(device) { pause(kind) } else { 1 }
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_pause_resource_(kind: *const i32, device: *const i32) -> i32 {
    // SAFETY: Fortran arguments are addresses of integers.
    unsafe { omp_pause_resource(get(kind), get(device)) }
}

/// Whether a device number stands for the host: `omp_initial_device` or `omp_get_initial_device()`.
pub fn is_host(device: i32) -> bool {
    (-1..=0).contains(&device)
}

/// Hands a command to the tool.
#[unsafe(export_name = "dsm_rt_omp_control_tool")]
pub extern "C" fn omp_control_tool(command: i32, modifier: i32, argument: *mut u8) -> i32 {
    ompt::task::control_tool(command, modifier, argument)
}
