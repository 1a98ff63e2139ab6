//! The callbacks that a tool has registered, and a function for each event that calls the tool's.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::abi::{
    CodePointer, Data, Dependence, DispatchKind, Endpoint, Frame, MutexKind, SetResult, SyncKind, TaskStatus,
    ThreadKind, WorkKind,
};

/// Numbers of events end below.
const EVENTS: usize = 38;

/// The tool's functions by number of the event.
static CALLBACKS: [AtomicPtr<c_void>; EVENTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; EVENTS];

/// `ompt_callback_control_tool`, whose result counts.
const CONTROL_TOOL: u32 = 11;

/// Events that never happen: there are no devices to offload to.
const DEVICE_EVENTS: [u32; 12] = [8, 9, 10, 12, 13, 14, 15, 22, 33, 34, 35, 36];

/// `ompt_set_callback`: a null callback ends the registration.
pub extern "C" fn set_callback(event: u32, callback: *mut c_void) -> SetResult {
    let result = match event {
        CONTROL_TOOL => Some(SetResult::Always),
        _ if DEVICE_EVENTS.contains(&event) => Some(SetResult::Never),
        _ => support(event),
    };
    let Some(result) = result else { return SetResult::Error };
    CALLBACKS[event as usize].store(callback, Ordering::SeqCst);
    result
}

/// `ompt_get_callback`: whether there is one.
///
/// # Safety
/// `callback` is a valid place.
pub unsafe extern "C" fn get_callback(event: u32, callback: *mut *mut c_void) -> c_int {
    let Some(registered) = CALLBACKS.get(event as usize) else { return 0 };
    let registered = registered.load(Ordering::SeqCst);
    if registered.is_null() {
        return 0;
    }
    // SAFETY: as the caller says.
    unsafe { callback.write(registered) };
    1
}

/// Nobody is called any more.
pub fn clear() {
    CALLBACKS.iter().for_each(|callback| callback.store(std::ptr::null_mut(), Ordering::SeqCst));
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $result:ident: ($($arg:ident: $t:ty),*);)*) => {
        /// How completely an event is reported; `None` if there is no such event.
        fn support(event: u32) -> Option<SetResult> {
            match event {
                $($number => Some(SetResult::$result),)*
                _ => None,
            }
        }

        $(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments, reason = "the interface's")]
            pub fn $name($($arg: $t),*) {
                let callback = CALLBACKS[$number].load(Ordering::Relaxed);
                if !callback.is_null() {
                    // SAFETY: the tool registered a function of the event's type.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($t),*)>(callback)($($arg),*) };
                }
            }
        )*
    };
}

events! {
    /// `ompt_callback_thread_begin`.
    thread_begin = 1, Always: (kind: ThreadKind, thread: Data);
    /// `ompt_callback_thread_end`.
    thread_end = 2, Always: (thread: Data);
    /// `ompt_callback_parallel_begin`.
    parallel_begin = 3, Always: (task: Data, frame: *const Frame, region: Data, requested: u32, flags: u32, at: CodePointer);
    /// `ompt_callback_parallel_end`.
    parallel_end = 4, Always: (region: Data, task: Data, flags: u32, at: CodePointer);
    /// `ompt_callback_task_create`.
    task_create = 5, Always: (parent: Data, frame: *const Frame, task: Data, flags: u32, dependent: c_int, at: CodePointer);
    /// `ompt_callback_task_schedule`.
    task_schedule = 6, Always: (prior: Data, status: TaskStatus, next: Data);
    /// `ompt_callback_implicit_task`.
    implicit_task = 7, Always: (endpoint: Endpoint, region: Data, task: Data, size: u32, index: u32, flags: u32);
    /// `ompt_callback_sync_region_wait`.
    sync_region_wait = 16, Always: (kind: SyncKind, endpoint: Endpoint, region: Data, task: Data, at: CodePointer);
    /// `ompt_callback_mutex_released`.
    mutex_released = 17, Always: (kind: MutexKind, wait: u64, at: CodePointer);
    /// `ompt_callback_dependences`.
    dependences = 18, Always: (task: Data, list: *const Dependence, count: c_int);
    /// `ompt_callback_task_dependence`.
    task_dependence = 19, Always: (earlier: Data, later: Data);
    /// `ompt_callback_work`.
    work = 20, Always: (kind: WorkKind, endpoint: Endpoint, region: Data, task: Data, count: u64, at: CodePointer);
    /// `ompt_callback_masked`.
    masked = 21, Always: (endpoint: Endpoint, region: Data, task: Data, at: CodePointer);
    /// `ompt_callback_sync_region`.
    sync_region = 23, Always: (kind: SyncKind, endpoint: Endpoint, region: Data, task: Data, at: CodePointer);
    /// `ompt_callback_lock_init`.
    lock_init = 24, Always: (kind: MutexKind, hint: u32, implementation: u32, wait: u64, at: CodePointer);
    /// `ompt_callback_lock_destroy`.
    lock_destroy = 25, Always: (kind: MutexKind, wait: u64, at: CodePointer);
    /// `ompt_callback_mutex_acquire`.
    mutex_acquire = 26, Always: (kind: MutexKind, hint: u32, implementation: u32, wait: u64, at: CodePointer);
    /// `ompt_callback_mutex_acquired`.
    mutex_acquired = 27, Always: (kind: MutexKind, wait: u64, at: CodePointer);
    /// `ompt_callback_nest_lock`.
    nest_lock = 28, Always: (endpoint: Endpoint, wait: u64, at: CodePointer);
    /// `ompt_callback_flush`.
    flush = 29, Sometimes: (thread: Data, at: CodePointer);
    /// `ompt_callback_cancel`.
    cancel = 30, Always: (task: Data, flags: c_int, at: CodePointer);
    /// `ompt_callback_reduction`.
    reduction = 31, Sometimes: (kind: SyncKind, endpoint: Endpoint, region: Data, task: Data, at: CodePointer);
    /// `ompt_callback_dispatch`.
    dispatch = 32, Sometimes: (region: Data, task: Data, kind: DispatchKind, instance: u64);
    /// `ompt_callback_error`.
    error = 37, Always: (severity: c_int, message: *const c_char, length: usize, at: CodePointer);
}

/// The tool's answer to `omp_control_tool`; `None` if it has no callback.
pub fn control_tool(command: u64, modifier: u64, argument: *mut c_void, at: CodePointer) -> Option<c_int> {
    type Callback = unsafe extern "C" fn(u64, u64, *mut c_void, CodePointer) -> c_int;
    let callback = CALLBACKS[CONTROL_TOOL as usize].load(Ordering::Relaxed);
    // SAFETY: the tool registered a function of the event's type.
    (!callback.is_null()).then(|| unsafe {
        std::mem::transmute::<*mut c_void, Callback>(callback)(command, modifier, argument, at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_of_the_interface_is_known_and_no_other() {
        extern "C" fn callback() {}
        let callback = callback as *mut c_void;
        for event in [0, 38, u32::MAX] {
            assert_eq!(set_callback(event, callback), SetResult::Error);
        }
        let mut found = std::ptr::null_mut();
        for event in 1..38 {
            assert_ne!(set_callback(event, callback), SetResult::Error, "{event}");
            // SAFETY: a local place.
            assert_eq!(unsafe { get_callback(event, &mut found) }, 1);
            assert_eq!(found, callback);
            set_callback(event, std::ptr::null_mut());
            // SAFETY: as above.
            assert_eq!(unsafe { get_callback(event, &mut found) }, 0);
        }
        assert_eq!(set_callback(9, callback), SetResult::Never);
        assert_eq!(set_callback(3, callback), SetResult::Always);
        clear();
    }
}
