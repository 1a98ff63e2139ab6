//! The slow paths of the inline checks, and checked access for the runtime itself.
//!
//! In a single process no state byte ever refuses, so nothing here runs but the first test of the range entries.

use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::pin::pin;

use dsm_abi::layout::ADDRESS_BITS;
use dsm_abi::state::MIN_LINE_SHIFT;
use dsm_coherence::{Extent, Wanted};

pub use dsm_abi::state::Access;

use crate::checked;
use crate::grids;
use crate::memory::fabric;
use crate::memory::{self, Shared};
use crate::posted::deferred;
use crate::profile;
use crate::progress;
use crate::race;
use crate::time::{self, Activity};
use crate::trace::Event;

/// Makes the shared part of `[address, address + len)` accessible.
pub fn ensure(address: usize, len: usize, access: Access) {
    if checked::is_on() {
        checked::note(memory::get().geometry(), address, len, access);
    }
    let Some(shared) = memory::shared() else { return };
    if len == 0 {
        return;
    }
    // Private memory, too, has states.
    if memory::get().table().are_below(address, len, access.limit()) {
        return;
    }
    let geometry = memory::get().geometry();
    let last = address.saturating_add(len - 1);
    if (address ^ last) >> geometry.line_shift() == 0 && geometry.is_in_region(address) {
        ensure_line(shared, address..last + 1, access);
        return;
    }
    for part in geometry.parts() {
        if address < part.end && last >= part.start {
            ensure_part(shared, address.max(part.start), last.min(part.end - 1), access);
        }
    }
}

/// Most bytes that are fetched because they are expected to be accessed.
const MOST_EXPECTED: usize = 4 << 20;

/// Makes what is shared of the first bytes of `[address, address + len)` accessible, which may be anything. Not a check: `-fdsm-verify` enters nothing.
fn expect(address: usize, len: usize, access: Access) {
    let Some(shared) = memory::shared() else { return };
    let Some(last) = len.min(MOST_EXPECTED).checked_sub(1).and_then(|far| address.checked_add(far)) else {
        return;
    };
    for part in memory::get().geometry().parts() {
        if address < part.end && last >= part.start {
            ensure_part(shared, address.max(part.start), last.min(part.end - 1), access);
        }
    }
}

/// Bytes of one line of the heap or the stacks.
fn ensure_line(shared: &Shared, bytes: Range<usize>, access: Access) {
    let memory = memory::get();
    while memory.table().get(bytes.start) >= access.limit() {
        let extent = Extent::single(memory.geometry().block(bytes.start));
        miss(shared, extent, bytes.start, (bytes.start, bytes.end - 1), access);
    }
}

/// Makes an extent accessible, whose state at `refused` does not allow it; `[first, last]` is what the access touches.
fn miss(shared: &Shared, extent: Extent, refused: usize, bytes: (usize, usize), access: Access) {
    let missed = extent.count as usize * memory::get().geometry().block_bytes(extent.first);
    progress::miss(refused.max(bytes.0), missed);
    if !profile::is_on() {
        return fetch(shared, extent, refused, bytes, access);
    }
    let state = memory::get().table().get(refused);
    let miss = profile::Miss { extent, bytes, access, state };
    profile::miss(miss, || fetch(shared, extent, refused, bytes, access));
}

fn fetch(shared: &Shared, extent: Extent, refused: usize, (first, last): (usize, usize), access: Access) {
    let event = || {
        let state = memory::get().table().get(refused);
        Some(Event::miss(access, extent, first.max(refused), state))
    };
    let _drained = deferred::drain(extent);
    time::spent(Activity::Miss, event, || match access {
        Access::Read => fabric::run(pin!(shared.coherence.read_miss(extent))),
        Access::Write => fabric::run(pin!(shared.coherence.write_miss(extent))),
        Access::Overwrite => match memory::get().geometry().whole(extent, first, last) {
            Some(whole) => fabric::run(pin!(shared.coherence.overwrite_miss(extent, whole))),
            None => fabric::run(pin!(shared.coherence.write_miss(extent))),
        },
    });
}

/// `[first, last]` lies in one part of the shared data.
fn ensure_part(shared: &Shared, first: usize, last: usize, access: Access) {
    let memory = memory::get();
    let (table, geometry) = (memory.table(), memory.geometry());
    let mut at = first;
    while let Some(refused) = table.first_at_least(at, last, access.limit()) {
        // The protocol skips what is valid already: one call for the rest of the range, as far as the block size is the same, is one batch.
        miss(shared, geometry.extent(refused, last), refused, (first, last), access);
        at = refused;
    }
}

/// Whether checks do anything: in a single process all memory is valid, and they are only entered for `-fdsm-verify`.
#[inline]
pub fn has_effect() -> bool {
    memory::shared().is_some() || checked::is_on()
}

/// As [`ensure`] for `len` bytes at `address + i * step + j * outer_step`, `i` and `j` up to the counts, inclusive. Steps may be
/// negative, modulo the size of an address.
pub fn ensure_grid(address: usize, len: usize, strides: [(usize, usize); 2], access: Access) {
    if !has_effect() || len == 0 {
        return;
    }
    let (address, len, strides, access) = joined(address, len, strides, access);
    ensure_joined(address, len, strides, access);
}

/// Most lines for which a gap between repetitions is looked at, too.
const GAP_LINES: usize = 8;

/// How many bytes, at a multiple of that, have one state for sure: those of the smallest blocks, or as many as it costs little to look at. Those of a line, where it counts which lines are looked at.
#[inline]
pub(crate) fn state_granularity() -> usize {
    let geometry = memory::get().geometry();
    let line = 1 << geometry.line_shift();
    match checked::is_on() || profile::is_on() {
        true => line,
        false => geometry.blocks().least_bytes().min(GAP_LINES * line),
    }
}

/// The same grid with as few repetitions as may be: those between which lies no block that is left out are one. Steps forwards, in increasing order.
pub(crate) fn joined(
    mut address: usize,
    mut len: usize,
    strides: [(usize, usize); 2],
    mut access: Access,
) -> (usize, usize, [(usize, usize); 2], Access) {
    let [inner, outer] = strides.map(|(step, count)| {
        if step as isize >= 0 {
            return (step, count);
        }
        address = address.wrapping_add(step.wrapping_mul(count));
        (step.wrapping_neg(), count)
    });
    let mut rest = if inner.0 <= outer.0 { [inner, outer] } else { [outer, inner] };
    let (line, gap) = (1usize << memory::get().geometry().line_shift(), state_granularity() - 1);
    for (step, count) in &mut rest {
        if access == Access::Overwrite && *count > 0 && *step > len {
            if len > 2 * (line - 1) {
                // Bytes that are left out tell the repetitions apart.
                continue;
            }
            access = Access::Write;
        }
        // Between two repetitions lies no block that is left out.
        if *step <= len + gap {
            len += *step * std::mem::take(count);
        }
    }
    (address, len, rest, access)
}

/// [`ensure_grid`] of a grid whose repetitions are joined.
pub(crate) fn ensure_joined(address: usize, len: usize, [inner, outer]: [(usize, usize); 2], access: Access) {
    let [(step, count), (outer_step, outer_count)] =
        if inner.1 == 0 { [outer, inner] } else { [inner, outer] };
    let (table, verified) = (memory::get().table(), checked::is_on());
    let mut missed = Missed::new(access);
    // A profile records what each access touches.
    let mut may_be_dense = !verified && !profile::is_on();
    let mut row = address;
    for _ in 0..=outer_count {
        let mut at = row;
        for i in 0..=count {
            // Most repetitions find all valid: private memory, too, has states.
            if verified || !table.are_below(at, len, access.limit()) {
                if may_be_dense && i < count {
                    let rest = (count - i).saturating_mul(step).saturating_add(len);
                    may_be_dense = is_dense(at, rest, step - len, access);
                    if may_be_dense {
                        missed.add(at, rest);
                        break;
                    }
                }
                missed.add(at, len);
            }
            at = at.wrapping_add(step);
        }
        row = row.wrapping_add(outer_step);
    }
    missed.ensure();
}

/// Whether every block of `[address, address + len)`, which has to lie in one part of the shared data, is longer than the
/// gap between two repetitions. Then no block lies in a gap, the grid touches each block, and one miss may ask for the
/// whole range. Never for overwriting accesses, which do not fetch what they leave out.
fn is_dense(address: usize, len: usize, gap: usize, access: Access) -> bool {
    let geometry = memory::get().geometry();
    let last = address.saturating_add(len - 1);
    let holds = |part: Range<usize>| part.contains(&address) && part.contains(&last);
    access != Access::Overwrite
        && geometry.parts().any(holds)
        && gap < geometry.block_bytes(geometry.block(address))
        && geometry.extents(address, last).all(|extent| gap < geometry.block_bytes(extent.first))
}

/// Repetitions of a grid that are not valid. Where processes are reached by messages, those of many are asked for together.
struct Missed {
    access: Access,
    /// Addresses and lengths of those that wait for others.
    waiting: Vec<(usize, usize)>,
    /// Whether any waits for others; not known before the first one.
    together: Option<bool>,
}

impl Missed {
    /// Most repetitions that wait for others.
    const MOST: usize = 64;

    fn new(access: Access) -> Missed {
        Missed { access, waiting: Vec::new(), together: None }
    }

    fn add(&mut self, address: usize, len: usize) {
        let together = || {
            // A profile has each miss of its own.
            memory::shared().is_some_and(|shared| !profile::is_on() && shared.coherence.calls_agents())
        };
        if !*self.together.get_or_insert_with(together) {
            return ensure(address, len, self.access);
        }
        self.waiting.push((address, len));
        if self.waiting.len() == Missed::MOST {
            self.ensure();
        }
    }

    fn ensure(&mut self) {
        if self.waiting.len() > 1
            && let Some(shared) = memory::shared()
        {
            fetch_together(shared, &self.waiting, self.access);
        }
        for (address, len) in self.waiting.drain(..) {
            ensure(address, len, self.access);
        }
    }
}

/// Makes what it can of these bytes accessible, by calls that are under way together. Each needs a miss behind that, which finds what is left to do.
fn fetch_together(shared: &Shared, bytes: &[(usize, usize)], access: Access) {
    let memory = memory::get();
    let (table, geometry) = (memory.table(), memory.geometry());
    let mut wanted = Vec::new();
    for &(address, len) in bytes {
        let last = address.saturating_add(len - 1);
        for part in geometry.parts().filter(|part| address < part.end && last >= part.start) {
            let (first, last) = (address.max(part.start), last.min(part.end - 1));
            if let Some(refused) = table.first_at_least(first, last, access.limit()) {
                let extent = geometry.extent(refused, last);
                wanted.push(match access {
                    Access::Read => Wanted::read(extent),
                    Access::Write => Wanted::write(extent, None),
                    Access::Overwrite => Wanted::write(extent, geometry.whole(extent, first, last)),
                });
            }
        }
    }
    let _drained = deferred::drain_several(wanted.iter().map(Wanted::extent));
    time::spent(Activity::Miss, || None, || fabric::run(pin!(shared.coherence.miss_together(&wanted))));
}

/// Lines whose states are looked at for nothing but a chance: eight of them cost about as much as a checked access.
pub(crate) const FREE_LINES: usize = 4096;

/// Whether a grid is a short run of bytes that are accessible. Private memory, too, has states.
#[inline]
fn is_valid_run(
    address: usize,
    len: usize,
    [(step, count), (_, outer_count)]: [(usize, usize); 2],
    access: Access,
) -> bool {
    if outer_count != 0 || step > len || len == 0 || checked::is_on() {
        return false;
    }
    let memory = memory::get();
    let is_short = |run: &usize| run >> memory.geometry().line_shift() <= FREE_LINES;
    let run = step.checked_mul(count).and_then(|rest| rest.checked_add(len)).filter(is_short);
    run.is_some_and(|run| memory.table().are_below(address, run, access.limit()))
}

/// Whether the bytes of a grid (see [`ensure_grid`]) are accessible. They are fetched if the `uses` reads that are to come can be expected to touch
/// most of their blocks anyway.
pub fn ready(
    address: usize,
    len: usize,
    mut strides: [(usize, usize); 2],
    access: Access,
    uses: usize,
) -> bool {
    if !has_effect() {
        return true;
    }
    let (table, geometry) = (memory::get().table(), memory::get().geometry());
    let gap = (1usize << geometry.line_shift()) - 1;
    if is_valid_run(address, len, strides, access) {
        return true;
    }
    strides.sort_unstable();
    let (mut run, mut pieces, mut reach) = (len, 1usize, len);
    for (step, count) in &mut strides {
        let Some(far) = step.checked_mul(*count).and_then(|far| reach.checked_add(far)) else { return false };
        reach = far;
        if *step <= run.saturating_add(gap) {
            run = run.saturating_add(*step * std::mem::take(count));
        }
        pieces = pieces.saturating_mul(count.saturating_add(1));
    }
    if len == 0 || address.checked_add(reach).is_none_or(|end| end >> ADDRESS_BITS != 0) {
        return false;
    }
    let lines = pieces.saturating_mul(run.div_ceil(gap + 1) + 1);
    if lines > FREE_LINES.saturating_add(uses.saturating_mul(8)) {
        return false;
    }
    let pays = |from: usize| {
        let blocks = run.div_ceil(geometry.block_bytes(geometry.block(from)));
        access == Access::Read && uses / 2 >= blocks
    };
    let [(step, count), (outer_step, outer_count)] = strides;
    for j in 0..=outer_count {
        for i in 0..=count {
            let first = address + i * step + j * outer_step;
            for part in geometry.parts() {
                let (from, to) = (first.max(part.start), (first + run).min(part.end));
                if from >= to || table.first_at_least(from, to - 1, access.limit()).is_none() {
                    continue;
                }
                if pieces > 1 || !pays(from) {
                    return false;
                }
                ensure(from, to - from, access);
            }
        }
    }
    if checked::is_on() {
        ensure_grid(address, run, [(step, count), (outer_step, outer_count)], access);
    }
    true
}

/// Makes `[address, address + len)` readable for plain accesses until the thread's next acquire.
pub fn readable(address: usize, len: usize) {
    ensure(address, len, Access::Read);
}

/// Makes `[address, address + len)` writable for plain accesses until the thread's next acquire or release.
pub fn writable(address: usize, len: usize) {
    ensure(address, len, Access::Write);
}

/// As [`writable`], when every byte is stored to before the thread's next release and none is read before that: what is not valid is not fetched.
pub fn overwritten(address: usize, len: usize) {
    ensure(address, len, Access::Overwrite);
}

/// Bytes from an address to the end of its line, or as many as `left`.
pub fn rest_of_line(address: usize, left: usize) -> usize {
    let line = 1usize << memory::set_up().map_or(MIN_LINE_SHIFT, |memory| memory.geometry().line_shift());
    (line - address % line).min(left)
}

/// Makes memory readable line by line until `find` finds something in the readable bytes that it is given; how many bytes that are with what
/// it found, `bound` if nothing was.
///
/// # Safety
/// `bound` bytes start at `address`, or as many as up to what `find` finds.
pub unsafe fn readable_until(
    address: usize,
    bound: usize,
    find: impl Fn(usize, usize) -> Option<usize>,
) -> usize {
    let mut done = 0;
    while done < bound {
        let len = rest_of_line(address + done, bound - done);
        readable(address + done, len);
        if let Some(at) = find(address + done, len) {
            return done + at + 1;
        }
        done += len;
    }
    bound
}

/// Where a byte is among `len` bytes at `address`.
///
/// # Safety
/// The bytes are readable up to the first of that value.
pub unsafe fn find_byte(address: usize, value: c_int, len: usize) -> Option<usize> {
    // SAFETY: as the caller says.
    let found = unsafe { libc::memchr(address as *const c_void, value, len) };
    (!found.is_null()).then(|| found as usize - address)
}

/// Makes a string of at most `bound` bytes readable; returns its length without the NUL.
///
/// # Safety
/// A string or `bound` bytes start at `address`.
pub unsafe fn readable_within(address: usize, bound: usize) -> usize {
    // SAFETY: the bytes up to a NUL are the program's, and `readable_until` goes no further.
    unsafe {
        let length = readable_until(address, bound, |at, len| find_byte(at, 0, len));
        if length > 0 && *((address + length - 1) as *const u8) == 0 { length - 1 } else { length }
    }
}

/// Makes a NUL-terminated string readable; returns its length without the NUL.
///
/// # Safety
/// A string starts at `address`.
pub unsafe fn readable_string(address: usize) -> usize {
    // SAFETY: as the caller says.
    unsafe { readable_within(address, usize::MAX) }
}

/// Makes a string of the program readable, unless it is null.
///
/// # Safety
/// A string starts there, or it is null.
pub unsafe fn readable_text(string: *const c_char) -> *const c_char {
    if !string.is_null() {
        // SAFETY: as the caller says.
        unsafe { readable_string(string as usize) };
    }
    string
}

#[allow(missing_docs, reason = "see `dsm_abi::entries`")]
unsafe extern "C" {
    // In C, where a function can ask for its return address: each calls the function below of its name.
    pub fn __dsm_load_miss(addr: *mut u8, len: u64);
    pub fn __dsm_load_range(addr: *mut u8, len: u64);
    pub fn __dsm_store_miss(addr: *mut u8, len: u64);
    pub fn __dsm_store_range(addr: *mut u8, len: u64);
    pub fn __dsm_overwrite_range(addr: *mut u8, len: u64);
    pub fn __dsm_load_hint(addr: *mut u8, len: u64);
    pub fn __dsm_store_hint(addr: *mut u8, len: u64);
}

/// A load at return address `pc` asks.
#[unsafe(no_mangle)]
#[cold]
pub extern "C" fn dsm_rt_load_miss(addr: *mut u8, len: u64, pc: usize) {
    profile::at(pc, || readable(addr as usize, len as usize));
}

/// A store at return address `pc` asks.
#[unsafe(no_mangle)]
#[cold]
pub extern "C" fn dsm_rt_store_miss(addr: *mut u8, len: u64, pc: usize) {
    if race::is_on() {
        race::note_write(addr as usize, len as usize, pc);
    }
    profile::at(pc, || writable(addr as usize, len as usize));
}

/// As `dsm_rt_load_miss`, for loads that may all be allowed.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_load_range(addr: *mut u8, len: u64, pc: usize) {
    profile::at(pc, || readable(addr as usize, len as usize));
}

/// Loads from these bytes are expected.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_load_hint(addr: *mut u8, len: u64, pc: usize) {
    profile::at(pc, || expect(addr as usize, len as usize, Access::Read));
}

/// Stores to these bytes are expected.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_store_hint(addr: *mut u8, len: u64, pc: usize) {
    profile::at(pc, || expect(addr as usize, len as usize, Access::Write));
}

/// As `dsm_rt_store_miss`, for stores that may all be allowed.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_store_range(addr: *mut u8, len: u64, pc: usize) {
    if race::is_on() {
        race::note_write(addr as usize, len as usize, pc);
    }
    profile::at(pc, || writable(addr as usize, len as usize));
}

/// As `dsm_rt_store_range`, for stores to every byte.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_overwrite_range(addr: *mut u8, len: u64, pc: usize) {
    if race::is_on() {
        race::note_write(addr as usize, len as usize, pc);
    }
    profile::at(pc, || overwritten(addr as usize, len as usize));
}

/// Entry points on grids: the bytes come first, then the two strides, then what else an entry takes. Each is in C, as those above, and calls the second
/// function with its return address.
macro_rules! grids {
    ($($entry:ident $function:ident($($more:ident: $t:ty)?) $(-> $result:ty)? = $body:expr;)*) => {
        #[allow(missing_docs, reason = "see `dsm_abi::entries`")]
        unsafe extern "C" {
            $(pub fn $entry(
                addr: *mut u8,
                len: u64,
                step: u64,
                count: u64,
                outer_step: u64,
                outer_count: u64,
                $($more: $t,)?
            ) $(-> $result)?;)*
        }
        $(
            #[doc = "An access to a grid returns to `pc`."]
            #[unsafe(no_mangle)]
            extern "C" fn $function(
                addr: *mut u8,
                len: u64,
                step: u64,
                count: u64,
                outer_step: u64,
                outer_count: u64,
                $($more: $t,)?
                pc: usize,
            ) $(-> $result)? {
                let strides = [(step as usize, count as usize), (outer_step as usize, outer_count as usize)];
                profile::at(pc, || $body(pc, addr as usize, len as usize, strides $(, $more)?))
            }
        )*
    };
}

grids! {
    __dsm_load_grid dsm_rt_load_grid() = |pc, at, len, strides| grids::ensure_at(pc, at, len, strides, Access::Read);
    __dsm_store_grid dsm_rt_store_grid() = |pc, at, len, strides| grids::ensure_at(pc, at, len, strides, Access::Write);
    __dsm_overwrite_grid dsm_rt_overwrite_grid() = |pc, at, len, strides| grids::ensure_at(pc, at, len, strides, Access::Overwrite);
    __dsm_load_ready dsm_rt_load_ready(uses: u64) -> u32 = |_, at, len, strides, uses| u32::from(ready(at, len, strides, Access::Read, uses as usize));
    __dsm_store_ready dsm_rt_store_ready(uses: u64) -> u32 = |_, at, len, strides, uses| u32::from(ready(at, len, strides, Access::Write, uses as usize));
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// A NUL-terminated string starts at `addr`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_load_str(addr: *mut u8) {
    if has_effect() && memory::is_shared(addr as usize) {
        // SAFETY: the caller's promise.
        unsafe { readable_string(addr as usize) };
    }
}
