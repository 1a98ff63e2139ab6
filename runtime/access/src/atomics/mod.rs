//! Atomic operations of the program on possibly shared memory.
//!
//! In a single process they are the processor's, where it has any. Over several processes the protocol executes those that the processor has at the home of
//! the variable ([`Coherence::update`](dsm_coherence::Coherence::update)). Others run in the critical section of their block, whose home comes here; an object that lies in two
//! blocks has a lock instead. [`library`] has the operations on objects of any size. Acquire and release order are the memory model's: the former takes in what all others published,
//! the latter publishes.

pub mod library;
mod loads;
mod polling;
mod sized;
mod streak;

use std::cell::Cell;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_abi::atomic::{RmwOp, Update, order};
use dsm_abi::state::WRITABLE;
use dsm_coherence::{Extent, Order};
use dsm_threads::atomic::{self, Atomic, Width};
use dsm_threads::handler::over_user_code;
use parking_lot::Mutex;

use crate::heap::foreign;
use crate::memory::Shared;
use crate::memory::fabric::{run, run_sync};
use crate::posted::{deferred, pending};
use crate::profile::{self, Wait};
use crate::{check, memory, race, sync};

pub use polling::poll;
use streak::Streak;

/// Atomics that no processor instruction does, in a single process.
static WIDE: Mutex<()> = Mutex::new(());

/// Not 0 in a job of one process, and before the number of processes is known: compiled code then executes atomic instructions by itself.
#[unsafe(no_mangle)]
pub static __dsm_single_process: AtomicU32 = AtomicU32::new(1);

/// The number of processes is known; no code of the program has run but in constructors of libraries.
pub fn init() {
    __dsm_single_process.store((sync::size() == 1).into(), Ordering::Relaxed);
    polling::take_loads();
}

/// Name of the lock around operations on objects that lie in two blocks: an address that is no lock's.
const STRADDLING: u64 = 2;

/// Runs `body` on the object at `address`, whose bytes are current, while nobody else runs an atomic operation on it.
fn exclusive<R>(address: usize, size: usize, body: impl FnOnce() -> R) -> R {
    let Some(shared) = memory::shared().filter(|_| memory::is_shared(address)) else {
        let _wide = WIDE.lock();
        return body();
    };
    let geometry = memory::get().geometry();
    let block = geometry.block(address);
    if block == geometry.block(address + size.max(1) - 1) {
        let since = if memory::get().table().get(address) == WRITABLE { 0 } else { profile::now_and_then() };
        let drained = deferred::drain(Extent::single(block));
        let result = run(pin!(shared.coherence.critical(block, async { body() })));
        drop(drained);
        profile::waited(Wait::Atomic, address as u64, since);
        return result;
    }
    sync::lock(STRADDLING);
    check::writable(address, size);
    let result = body();
    sync::unlock(STRADDLING);
    result
}

/// The release before an operation of this order, if there has to be one.
fn release_for(order: u32) {
    if matches!(order, order::RELEASE | order::ACQ_REL | order::SEQ_CST) {
        RELEASES.set(RELEASES.get().wrapping_add(1));
        sync::release();
    } else if sync::is_unreleased() {
        sync::release();
    }
}

/// Whether an operation of this order is an acquire.
fn acquires(order: u32) -> bool {
    matches!(order, order::ACQUIRE | order::ACQ_REL | order::SEQ_CST)
}

/// The acquire behind an operation of this order that has loaded.
fn acquire_for(order: u32) {
    let acquires = acquires(order);
    if acquires {
        sync::acquire_from_all();
    }
    LOADED.set(!acquires);
}

/// Behind a store. It shows the thread nothing that others did, so that there is nothing to acquire, unless an earlier operation has loaded something and did not acquire. OpenMP defines
/// `atomic write seq_cst` to flush, which is an acquire for such a load.
fn acquire_for_store(order: u32) {
    if LOADED.get() {
        acquire_for(order);
    }
}

thread_local! {
    /// Atomic operations of the thread that were releases.
    static RELEASES: Cell<u32> = const { Cell::new(0) };
    /// Whether the thread has loaded a value by an atomic operation that did not acquire, and has not acquired by one since.
    static LOADED: Cell<bool> = const { Cell::new(false) };
    /// Of stores that miss.
    static STORES: Cell<Streak> = const { Cell::new(Streak::NONE) };
}

/// Stores in a row that missed, each behind a release of its own, from which on they are executed at the homes.
const SINGLE_STORES: u32 = 8;
/// Stores behind one release that count as one: those to the fields of a structure.
const FIELDS: u32 = 2;

/// Whether to post an addition of the thread instead of executing it: not if each of the last [`SINGLE_STORES`] was
/// followed by a release, before which it would be sent by itself. Where operations at peers need no message, only if it can be
/// combined with the one before (same variable), or if this process has a copy that executing it here would turn into a
/// migration of the home.
#[inline]
fn is_worth_keeping(address: usize) -> bool {
    thread_local! {
        /// `RELEASES` at the last addition, the additions in a row behind a release each, and where the last one went.
        static ADDITIONS: Cell<(u32, u32, usize)> = const { Cell::new((0, 0, 0)) };
    }
    let (releases, (seen, times, last)) = (RELEASES.get(), ADDITIONS.get());
    let times = if releases == seen { 0 } else { times.saturating_add(1) };
    ADDITIONS.set((releases, times, address));
    times < SINGLE_STORES && (last == address || deferred::saves_messages() || deferred::is_copied(address))
}

/// Executes a store that has missed at the home of its block, where a block that came here would be published with that store alone: where the thread executes an atomic
/// operation that is a release between any two such stores. `false`: nothing was done.
pub fn store_at_home(address: usize, size: usize, value: u64) -> bool {
    let streak = STORES.get().with_miss(RELEASES.get(), FIELDS);
    STORES.set(streak);
    let Some(shared) =
        memory::shared().filter(|_| streak.length() >= SINGLE_STORES && memory::is_shared(address))
    else {
        return false;
    };
    if atomic::is_direct(address, size) {
        store_direct(shared, address, size, value);
        return true;
    }
    // A structure of two fields, which is copied as one.
    let half = size / 2;
    if !atomic::is_direct(address, half) {
        return false;
    }
    let bits = 8 * half;
    store_direct(shared, address, half, value & ((1 << bits) - 1));
    store_direct(shared, address + half, half, value >> bits);
    true
}

/// Executes a load that has missed at the home of its block, if that is worth while and possible.
fn load_at_home(address: usize, size: usize) -> Option<u64> {
    let memory = memory::get();
    let shared = memory.shared().filter(|_| atomic::is_direct(address, size))?;
    let (block, offset) = memory.geometry().locate_shared(address)?;
    if !loads::belongs_at_home(block.0, RELEASES.get())
        || profile::is_on()
        || deferred::is_kept(block.chunk())
    {
        return None;
    }
    sized::load_mapped(shared, block, offset, size)
}

/// As [`check::dsm_rt_load_miss`], for a load that may be executed at the home; returns the value.
#[unsafe(no_mangle)]
#[cold]
extern "C" fn dsm_rt_load_value_miss(addr: *mut u8, len: u64, pc: usize) -> u64 {
    if !race::is_on()
        && let Some(value) = load_at_home(addr as usize, len as usize)
    {
        return value;
    }
    check::dsm_rt_load_miss(addr, len, pc);
    let mut bytes = [0; 8];
    // SAFETY: the program's operand of at most 8 bytes, readable now.
    unsafe { std::ptr::copy_nonoverlapping(addr, bytes.as_mut_ptr(), len as usize) };
    u64::from_le_bytes(bytes)
}

/// Executes a store that the processor has as one instruction at the home of its block.
fn store_direct(shared: &Shared, address: usize, size: usize, value: u64) {
    let geometry = memory::get().geometry();
    let (block, offset) = geometry.locate(address);
    if !profile::is_on()
        && !deferred::is_kept(block.chunk())
        && sized::store_mapped(shared, block, offset, size, value)
    {
        return;
    }
    let since = profile::now_and_then();
    let drained = deferred::drain(Extent::single(block));
    // As in a miss, the thread may rely on checks of other accesses.
    over_user_code(|| run(pin!(shared.coherence.store_at_home(block, offset, size, value))));
    drop(drained);
    profile::waited(Wait::Atomic, address as u64, since);
}

/// Reads an operand of `size` bytes. Those of common sizes are read as what they are: bytes that were written one after the other, and are read as one, wait for each other.
#[inline(always)]
unsafe fn get(at: *const u8, size: u32) -> u128 {
    // SAFETY: the caller's operand has `size` bytes, at most 16.
    unsafe {
        match size {
            1 => at.read().into(),
            2 => at.cast::<u16>().read_unaligned().into(),
            4 => at.cast::<u32>().read_unaligned().into(),
            8 => at.cast::<u64>().read_unaligned().into(),
            _ => {
                let mut bytes = [0; 16];
                std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), size as usize);
                u128::from_le_bytes(bytes)
            }
        }
    }
}

/// Writes an operand of `size` bytes.
#[inline(always)]
unsafe fn put(at: *mut u8, size: u32, value: u128) {
    // SAFETY: the caller's operand has `size` bytes, at most 16.
    unsafe {
        match size {
            1 => at.write(value as u8),
            2 => at.cast::<u16>().write_unaligned(value as u16),
            4 => at.cast::<u32>().write_unaligned(value as u32),
            8 => at.cast::<u64>().write_unaligned(value as u64),
            _ => std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), at, size as usize),
        }
    }
}

/// The processor's atomic integer of `size` bytes: 1, 2, 4 or 8, to which the address is aligned.
unsafe fn integer(at: *mut u8, size: usize) -> &'static dyn Atomic {
    // SAFETY: aligned to its size by the rules for atomics, mapped by the caller's promise.
    unsafe { atomic::at(at, Width::of(size)) }
}

#[allow(missing_docs, reason = "see `dsm_abi::entries`")]
unsafe extern "C" {
    // In C, where a function can ask for its return address: calls the function below of its name.
    pub fn __dsm_load_value_miss(addr: *mut u8, len: u64) -> u64;
    pub fn __dsm_store_value_miss(addr: *mut u8, len: u64, value: u64);
}

/// As [`check::dsm_rt_store_miss`], for a store of a value that may be executed at the home.
#[unsafe(no_mangle)]
#[cold]
extern "C" fn dsm_rt_store_value_miss(addr: *mut u8, len: u64, value: u64, pc: usize) {
    if race::is_on() {
        return check::dsm_rt_store_miss(addr, len, pc);
    }
    profile::at(pc, || {
        if !store_at_home(addr as usize, len as usize, value) {
            check::writable(addr as usize, len as usize);
        }
    });
}

/// Applies an operation to memory of this process alone; returns the old value.
fn update_integer(integer: &dyn Atomic, size: u32, update: Update) -> u64 {
    match update {
        Update::Rmw { op: RmwOp::Xchg, operand } => integer.swap(operand as u64),
        Update::Rmw { op: RmwOp::Add, operand } => integer.fetch_add(operand as u64),
        Update::Rmw { op: RmwOp::Sub, operand } => integer.fetch_add((operand as u64).wrapping_neg()),
        Update::Rmw { op: RmwOp::And, operand } => integer.fetch_and(operand as u64),
        Update::Rmw { op: RmwOp::Or, operand } => integer.fetch_or(operand as u64),
        Update::Rmw { op: RmwOp::Xor, operand } => integer.fetch_xor(operand as u64),
        _ => atomic::update(integer, |old| update.apply(size, old.into()).map(|new| new as u64)),
    }
}

/// Applies an operation that releases and acquires, if the release has nothing to publish, and nobody keeps the records at the variable's home locked; returns the old value.
#[inline(always)]
fn update_at_once(address: *mut u8, size: u32, update: Update, order: u32) -> Option<u64> {
    let (at, bytes) = (address as usize, size as usize);
    if !matches!(order, order::ACQ_REL | order::SEQ_CST) || !atomic::is_direct(at, bytes) {
        return None;
    }
    let memory = memory::get();
    let shared = memory.shared()?;
    let (block, offset) = memory.geometry().locate_shared(at)?;
    let old = sync::ordered_at_once(
        #[inline(always)]
        || pending::is_quiet() && foreign::is_quiet(),
        #[inline(always)]
        || {
            run_sync(
                #[inline(always)]
                || shared.coherence.update_ordered_sync(block, offset, bytes, update),
            )
        },
    )?;
    RELEASES.set(RELEASES.get().wrapping_add(1));
    LOADED.set(false);
    Some(old)
}

/// What an operation of this code orders, whose thread releases before and acquires behind it.
fn order_of(order: u32) -> Order {
    if order == order::RELAXED { Order::Relaxed } else { Order::Ordered }
}

/// Applies an operation; returns the old value.
pub fn update(address: *mut u8, size: u32, update: Update, order: Order) -> u128 {
    let (at, bytes) = (address as usize, size as usize);
    if !atomic::is_direct(at, bytes) {
        return exclusive(at, bytes, || {
            // SAFETY: the program's operand.
            let old = unsafe { get(address, size) };
            if let Some(new) = update.apply(size, old) {
                // SAFETY: as above.
                unsafe { put(address, size, new) };
            }
            old
        });
    }
    if let Some(shared) = memory::shared().filter(|_| memory::is_shared(at)) {
        let geometry = memory::get().geometry();
        let (block, offset) = geometry.locate(at);
        if memory::get().table().get(at) == WRITABLE
            && let Some(old) = run_sync(|| shared.coherence.update_local_sync(block, offset, bytes, update))
        {
            return old.into();
        }
        // What is kept for the block has to be executed before.
        if !profile::is_on()
            && !deferred::is_kept(block.chunk())
            && let Some(old) = sized::update_mapped(shared, (block, offset), bytes, update, order)
        {
            return old.into();
        }
        let since = profile::now_and_then();
        let drained = deferred::drain(Extent::single(block));
        let old = run(pin!(shared.coherence.update(block, offset, bytes, update, order)));
        drop(drained);
        profile::waited(Wait::Atomic, at as u64, since);
        return old.into();
    }
    // SAFETY: the program's operand.
    update_integer(unsafe { integer(address, bytes) }, size, update).into()
}

/// Reads a variable of 1, 2, 4 or 8 aligned bytes in a single process.
pub fn read_own(address: *mut u8, size: u32) -> u64 {
    // SAFETY: the program's object, aligned.
    let value = unsafe { integer(address, size as usize) }.load();
    poll(address as usize, value);
    value
}

/// Reads a variable, and acquires if the order says so; over several processes where its home is, so that pollers do not take it away from who changes it.
fn load_value(address: *mut u8, size: u32, order: u32) -> u128 {
    let at = address as usize;
    let value = match memory::shared().filter(|_| memory::is_shared(at)) {
        Some(shared) if atomic::is_direct(at, size as usize) => {
            let geometry = memory::get().geometry();
            let (block, offset) = geometry.locate(at);
            // This thread may be waiting for what others do about them.
            deferred::send_all();
            if let Some(value) = sized::read_mapped(shared, block, offset, size as usize) {
                poll(at, value);
                acquire_for(order);
                return value.into();
            }
            let stored = run(pin!(shared.coherence.has_own_stores(block)));
            if !stored && acquires(order) && shared.coherence.calls_agents() {
                let value = sync::read_and_acquire(shared, block, offset, size as usize);
                poll(at, value);
                return value.into();
            }
            // The copy here may get what the home has: not while the home lacks an addition that another thread keeps.
            let only_copy = shared.coherence.has_only_copies(Order::Relaxed);
            let drained = only_copy.then(|| deferred::drain(Extent::single(block)));
            let mut value = run(pin!(shared.coherence.read_atomic(block, offset, size as usize)));
            drop(drained);
            // SAFETY: the program's object, of which the bytes here are read, whatever they are.
            if stored && unsafe { integer(address, size as usize) }.load() != value {
                // The program has stored to the object, or to others of the block, without an atomic operation.
                value = update(address, size, Update::NONE, order_of(order)) as u64;
            }
            poll(at, value);
            value.into()
        }
        _ => {
            let value = update(address, size, Update::NONE, order_of(order));
            poll(at, value as u64);
            value
        }
    };
    acquire_for(order);
    value
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `addr` is the program's operand, `out` private memory of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_atomic_load(addr: *mut u8, out: *mut u8, size: u32, order: u32) {
    let value = load_value(addr, size, order);
    if memory::shared().is_none() {
        polling::grant_loads();
    }
    // SAFETY: the caller's promise.
    unsafe { put(out, size, value) };
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `addr` is the program's operand, `value` private memory of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_atomic_store(addr: *mut u8, value: *mut u8, size: u32, order: u32) {
    // SAFETY: the caller's promise.
    let new = unsafe { get(value, size) };
    release_for(order);
    update(addr, size, Update::store(new), order_of(order));
    acquire_for_store(order);
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `addr` is the program's operand; `value` and `old` are private memory of `size` bytes, or `old` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_atomic_rmw(
    addr: *mut u8,
    value: *mut u8,
    old: *mut u8,
    size: u32,
    op: u32,
    order: u32,
) {
    // SAFETY: the caller's promise.
    if unsafe { sized::add_at_once(addr, value, old, size, op, order) } {
        return;
    }
    let is_posted = old.is_null() && order == order::RELAXED;
    let address = addr as usize;
    // SAFETY: the caller's promise.
    let operand = || unsafe { get(value, size) };
    if !is_posted && let Some(before_value) = sized::rmw_at_once(addr, size, op, || operand() as u64, order) {
        if !old.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(old, size, before_value.into()) };
        }
        if op == RmwOp::Xchg as u32 && u128::from(before_value) == operand() {
            poll(address, before_value);
        }
        return;
    }
    let Some(op) = RmwOp::from_code(op) else {
        crate::job::die(&format!("atomic operation {op} is unknown; compiler and runtime do not fit"))
    };
    let operand = operand();
    if op.is_float() && !matches!(size, 4 | 8) {
        crate::job::die(&format!("atomic floating-point operation on {size} bytes is not supported"));
    }
    if is_posted
        && !sized::is_addition(op as u32, size)
        && is_worth_keeping(address)
        && let Some(place) = memory::get().geometry().locate_shared(address)
        && deferred::post(address, place, size, op, operand)
    {
        return;
    }
    // A sum that others add to as well tells nobody that something else is there.
    if !is_posted {
        release_for(order);
    }
    let before_value = update(addr, size, Update::Rmw { op, operand }, order_of(order));
    if !old.is_null() {
        // SAFETY: the caller's promise.
        unsafe { put(old, size, before_value) };
    }
    if op == RmwOp::Xchg && before_value == operand {
        // The way of spin locks.
        poll(addr as usize, operand as u64);
    }
    acquire_for(order);
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `addr` is the program's operand; `expected` and `desired` are private memory of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_atomic_cas(
    addr: *mut u8,
    expected: *mut u8,
    desired: *mut u8,
    size: u32,
    success: u32,
    failure: u32,
) -> u32 {
    // SAFETY: the caller's promise.
    if let Some(swapped) = unsafe { sized::compare_exchange_at_once(addr, expected, desired, size, success) }
    {
        return swapped.into();
    }
    // SAFETY: as above.
    let (wanted, new) = unsafe { (get(expected, size), get(desired, size)) };
    release_for(success);
    let update_by = Update::CompareExchange { expected: wanted, new };
    let old = update(addr, size, update_by, order_of(success.max(failure)));
    // SAFETY: as above.
    unsafe { put(expected, size, old) };
    let swapped = old == wanted;
    if !swapped {
        poll(addr as usize, old as u64);
    }
    acquire_for(if swapped { success } else { failure });
    u32::from(swapped)
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_atomic_fence(order: u32) {
    std::sync::atomic::fence(Ordering::SeqCst);
    release_for(order);
    acquire_for(order);
}
