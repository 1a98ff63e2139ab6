//! The conformance suite: what holds for operations on peers' segments, whatever they go over.
//!
//! `suite` has the tests. `shm`, `stream`, `ofi`, `verbs` and `hybrid` each instantiate all of them by `conformance!`, so that a test's name says over what it failed, and add
//! what concerns the one only. The processes of a [`Job`] are simulated in the process of the test.

mod hybrid;
pub(crate) mod lost_peer;
pub(crate) mod ofi;
mod shm;
pub(crate) mod stream;
mod suite;
pub(crate) mod verbs;

use std::ops::Index;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::stream::shut_down;
use crate::transport::{Ask, Transport, Update, Wake, Width};

const MEGABYTE: usize = 1 << 20;

/// Operations on peers' segments: those of a [`Transport`] whose peers are all there, and two that the handles have of their own where a segment is mapped, and else
/// make of those.
pub(crate) trait Access: Sync + Send {
    /// What reaches this peer, unless its segment is mapped.
    fn transport(&self, _rank: u32) -> Option<&dyn Transport> {
        None
    }
    fn identity(&self, rank: u32) -> u64;
    fn load(&self, rank: u32, offset: usize, width: Width) -> u64;
    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> u64;
    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> u64;
    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]);
    fn write_words(&self, rank: u32, offset: usize, words: &[u64]);
    /// # Safety
    /// As [`Transport::read`].
    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize);
    /// # Safety
    /// As [`Transport::write`].
    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize);
    /// # Safety
    /// As [`Transport::send_diff`].
    unsafe fn send_diff(&self, rank: u32, offset: usize, own: *const u8, twin: *mut u8, bytes: usize);
    fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> usize;
    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8]));
    fn post(&self, rank: u32, request: &[u8]);
    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> u32;
    fn wake(&self, rank: u32, offset: usize, wake: Wake);
    /// [`crate::Word::store`] or [`crate::Half::store`].
    fn store(&self, rank: u32, offset: usize, width: Width, value: u64) {
        self.update(rank, offset, width, Update::Swap, value, None);
    }
    /// [`crate::Half::store_and_wake`].
    fn store_and_wake(&self, rank: u32, offset: usize, value: u32, wake: Wake) {
        self.update(rank, offset, Width::Bits32, Update::Swap, value.into(), Some(wake));
    }
}

impl<T: Transport> Access for T {
    fn transport(&self, _rank: u32) -> Option<&dyn Transport> {
        Some(self)
    }

    fn identity(&self, rank: u32) -> u64 {
        Transport::identity(self, rank).unwrap()
    }

    fn load(&self, rank: u32, offset: usize, width: Width) -> u64 {
        Transport::load(self, rank, offset, width).unwrap()
    }

    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> u64 {
        Transport::update(self, rank, offset, width, update, operand, wake).unwrap()
    }

    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> u64 {
        Transport::compare_exchange(self, rank, offset, width, expected, new, wake).unwrap()
    }

    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) {
        Transport::read_words(self, rank, offset, into).unwrap();
    }

    fn write_words(&self, rank: u32, offset: usize, words: &[u64]) {
        Transport::write_words(self, rank, offset, words).unwrap();
    }

    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { Transport::read(self, rank, offset, into, bytes) }.unwrap();
    }

    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { Transport::write(self, rank, offset, from, bytes) }.unwrap();
    }

    unsafe fn send_diff(&self, rank: u32, offset: usize, own: *const u8, twin: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { Transport::send_diff(self, rank, offset, own, twin, bytes) }.unwrap();
    }

    fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
        Transport::ask(self, rank, request, reply).unwrap()
    }

    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8])) {
        Transport::ask_all(self, asks, arrived).unwrap();
    }

    fn post(&self, rank: u32, request: &[u8]) {
        Transport::post(self, rank, request).unwrap();
    }

    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> u32 {
        Transport::wait_change(self, rank, offset, seen, wake).unwrap()
    }

    fn wake(&self, rank: u32, offset: usize, wake: Wake) {
        Transport::wake(self, rank, offset, wake).unwrap();
    }
}

/// What the suite is instantiated for.
pub(crate) trait Subject {
    /// Widths of atomic updates. Loads have all widths.
    const UPDATED: &'static [Width] = &Width::ALL;
    /// Lengths in bytes, multiples of eight, at which transfers begin to be done in another way.
    const BOUNDARIES: &'static [usize];
    /// Seeds of irregularity, which is made by sockets and the agent; `None` is without.
    const SEEDS: &'static [Option<u64>] = &[None];
    /// How often threads repeat what they contend for.
    const ROUNDS: u32 = 30;
    /// How often threads wake each other.
    const WAKES: u32 = 2500;

    /// Whether this machine has what it needs; says so if not.
    fn is_there() -> bool {
        true
    }

    /// Starts processes with segments of `bytes` bytes, zeros.
    fn start(processes: usize, bytes: usize, perturb: Option<u64>) -> Vec<Process>;
}

/// The call of the suite: a reply of so many bytes, each the sum of the request's other bytes.
pub(crate) fn call(length: usize, others: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), others].concat()
}

/// A call that counts: adds one to a word of the test, if it has this value, and else leaves it.
pub(crate) fn counting_call(word: &'static AtomicU64, value: u64) -> Vec<u8> {
    let address = std::ptr::from_ref(word).expose_provenance();
    [usize::MAX.to_le_bytes(), address.to_le_bytes(), value.to_le_bytes()].concat()
}

/// Executes [`call`] and [`counting_call`]; there are no others.
pub(crate) fn calls(request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let (length, others) = request.split_first_chunk()?;
    if usize::from_le_bytes(*length) == usize::MAX {
        let [address, value] = others.as_chunks().0 else { return None };
        let address = std::ptr::with_exposed_provenance::<AtomicU64>(usize::from_le_bytes(*address));
        // SAFETY: processes are simulated in the one of the test, whose word it is.
        let word = unsafe { &*address };
        let value = u64::from_le_bytes(*value);
        _ = word.compare_exchange(value, value + 1, Ordering::SeqCst, Ordering::SeqCst);
        return Some(0);
    }
    let reply = reply.get_mut(..usize::from_le_bytes(*length))?;
    reply.fill(others.iter().fold(0, |sum, byte| byte.wrapping_add(sum)));
    Some(reply.len())
}

/// Processes that are simulated in the one of the test.
struct Job(Vec<Process>);

impl Job {
    fn start<S: Subject>(processes: usize, bytes: usize, perturb: Option<u64>) -> Job {
        Job(S::start(processes, bytes, perturb))
    }
}

impl Index<usize> for Job {
    type Output = Process;

    fn index(&self, rank: usize) -> &Process {
        &self.0[rank]
    }
}

/// A simulated process.
pub(crate) struct Process {
    /// Reaches the segments of the others.
    pub(crate) peers: Box<dyn Access>,
    /// The own segment, as its owner sees it.
    pub(crate) memory: &'static [AtomicU64],
    /// Sockets that end with the process.
    pub(crate) connections: Vec<OwnedFd>,
}

impl Process {
    /// What the system does when a process dies.
    fn die(&self) {
        self.connections.iter().for_each(shut_down);
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: inside the word, and only ever accessed atomically.
        unsafe { AtomicU8::from_ptr(self.memory[at / 8].as_ptr().cast::<u8>().add(at % 8)) }
    }

    fn word32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.memory[at / 8].as_ptr().cast::<u32>().add(at % 8 / 4)) }
    }

    fn fill(&self, value: impl Fn(usize) -> u8) {
        (0..8 * self.memory.len()).for_each(|at| self.byte(at).store(value(at), Ordering::Relaxed));
    }
}

/// Instantiates the suite for a subject.
macro_rules! conformance {
    ($subject:ty) => {
        $crate::conformance::conformance! {
            $subject:
            loads_of_all_widths,
            calls_are_executed,
            calls_of_a_batch_are_executed_in_order,
            calls_at_several_peers_are_executed,
            posted_calls_are_executed_in_order,
            atomic_updates,
            an_operation_is_placed_when_it_returns,
            any_number_of_words,
            words_are_read_and_written_in_order,
            updates_of_1_to_8_threads_all_count,
            no_wake_is_lost,
            many_threads_wait,
            a_wait_keeps_no_operation,
            bulk_in_both_directions_at_once,
            bulk_of_1_to_8_threads,
            many_pieces_among_requests_of_others,
            a_peer_that_dies,
            a_difference_leaves_other_bytes_alone,
            differences_of_neighbouring_bytes_do_not_disturb_each_other,
        }
    };
    ($subject:ty: $($test:ident,)*) => {
        $(
            #[test]
            fn $test() {
                if <$subject as $crate::conformance::Subject>::is_there() {
                    $crate::conformance::suite::$test::<$subject>();
                }
            }
        )*
    };
}
use conformance;
