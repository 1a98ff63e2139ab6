//! What parts above `sync` do where the process publishes, acquires or may wait. Start registers it, so `sync` knows none of them.

use std::sync::OnceLock;

/// See the module. Nothing is done where nothing is registered.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// The thread is going to wait for a lock.
    pub before_lock: fn(),
    /// The process is going to publish what it wrote.
    pub before_release: fn(),
    /// A lock is about to be given back that stays cached: the process publishes what was written under it later.
    pub before_cached_unlock: fn(),
    /// As `before_release`, but not in a handler that interrupted user code: it may have interrupted the C library inside of a stream, or the heap.
    pub before_undisturbed_release: fn(),
    /// A release begins: says what it publishes, for [`Hooks::after_release`].
    pub begin_release: fn() -> u64,
    /// A release has published that.
    pub after_release: fn(u64),
    /// The process has acquired.
    pub after_acquire: fn(),
    /// The process is going to fetch ahead: blocks may become accessible that no thread misses.
    pub begin_fetch: fn(),
    /// The process has fetched ahead.
    pub end_fetch: fn(),
    /// Whether none of these would do anything where a release has nothing to publish, and an acquire nothing to apply; but for what the callers of
    /// [`ordered_at_once`](super::ordered_at_once) see by themselves, which is quicker.
    pub is_quiet: fn() -> bool,
    /// Another process than 0 takes part in a region.
    pub after_fork: fn(),
    /// Starts a thread of the runtime that never runs user code.
    pub start_thread: fn(Box<dyn FnOnce() + Send>),
}

const NOTHING: Hooks = Hooks {
    before_lock: || (),
    before_release: || (),
    before_cached_unlock: || (),
    before_undisturbed_release: || (),
    begin_release: || 0,
    after_release: |_| (),
    after_acquire: || (),
    begin_fetch: || (),
    end_fetch: || (),
    is_quiet: || true,
    after_fork: || (),
    start_thread: |work| _ = std::thread::spawn(work),
};

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Registers what is done; what was registered first stays.
pub fn register(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

#[inline(always)]
pub(crate) fn hooks() -> &'static Hooks {
    HOOKS.get().unwrap_or(&NOTHING)
}
