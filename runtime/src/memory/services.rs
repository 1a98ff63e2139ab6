//! Threads that serve other processes' requests: they start once the system places private memory where it belongs.

use parking_lot::Mutex;

use crate::pthread::thread::spawn_service;

type Serve = Box<dyn FnOnce() + Send>;

/// Threads that wait for [`start`]; `None` behind it.
static KEPT: Mutex<Option<Vec<(String, Serve)>>> = Mutex::new(Some(Vec::new()));

/// Starts a thread, as soon as there may be one.
pub fn spawn(name: &str, serve: Serve) {
    match &mut *KEPT.lock() {
        Some(kept) => kept.push((name.into(), serve)),
        None => now(name, serve),
    }
}

/// [`super::private_range::init`] is done: there may be threads.
pub fn start() {
    for (name, serve) in KEPT.lock().take().into_iter().flatten() {
        now(&name, serve);
    }
}

fn now(name: &str, serve: Serve) {
    spawn_service(name, "requests of other processes", serve);
}
