//! What parts below OpenMP ask of the program's parallel regions. Start registers who answers, so they know none of it.

use std::sync::OnceLock;

/// See the module. Where nothing is registered there are no regions.
#[derive(Clone, Copy, Debug)]
pub struct Regions {
    /// How many regions with more than one thread the calling thread is in.
    pub active_level: fn() -> u32,
    /// Number of the calling thread in its team, if it has one by now. For signal handlers, too.
    pub number: fn() -> Option<u32>,
    /// The thread polls a variable: gives tasks to whoever is asking for some.
    pub serve_while_polling: fn(),
    /// The calling thread of the program begins, with this shared stack.
    pub adopt_stack: fn(u32),
    /// Threads that regions of this process have had besides its own.
    pub helpers: fn() -> u32,
}

const NONE: Regions = Regions {
    active_level: || 0,
    number: || None,
    serve_while_polling: || (),
    adopt_stack: |_| (),
    helpers: || 0,
};

static REGIONS: OnceLock<Regions> = OnceLock::new();

/// Registers who answers; what was registered first stays.
pub fn register(regions: Regions) {
    let _ = REGIONS.set(regions);
}

/// Who answers.
#[inline]
pub fn get() -> &'static Regions {
    REGIONS.get().unwrap_or(&NONE)
}

/// Whether the calling thread is in a region with more than one thread.
pub fn is_active() -> bool {
    (get().active_level)() > 0
}

/// Whether the calling thread is in the program's serial part, which process 0 runs.
pub fn is_serial() -> bool {
    crate::rank() == 0 && !is_active()
}

/// Number of the calling thread in its team, if it has one by now. For signal handlers, too.
pub fn number() -> Option<u32> {
    (get().number)()
}
