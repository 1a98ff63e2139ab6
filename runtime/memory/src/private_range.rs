//! Where the system places memory that is private to a process: stacks and thread-local blocks of threads, what libraries allocate.
//!
//! The system gives equal processes equal addresses, so that `pthread_self`, and the addresses of thread-local variables and of locals,
//! would be the same in all processes of a job. Each process of a job of several therefore has a range of its own, and fills every gap
//! that the system would prefer to it with memory that nobody can access: the system looks for space from the top of the address space
//! downwards, and takes the first gap that is large enough. All that is mapped from then on lies
//! in the process's range, by the C library's usual means (guard pages, stacks that are used again, `pthread_getattr_np`). In the other
//! processes nothing is mapped there, but for the lowest part of process 0's range ([`common`]).

use std::ops::Range;
use std::sync::OnceLock;

use dsm_abi::job::BOUNDED_STACK;
use dsm_abi::layout::{PRIVATE_BASE, PRIVATE_RANGES_BYTES};
use dsm_comm::segment::SegmentError;

use crate::job::Job;

/// Bytes of [`common`].
const COMMON: usize = 64 << 20;
/// Smaller gaps hold no thread's stack and stay.
const PROBE: usize = 16 << 10;
/// What libraries have allocated in front of the break by the time it stays is less.
const HEAP_MOST: usize = 1 << 30;
/// Ranges begin at multiples of this.
const UNIT: usize = 2 << 20;

struct Ranges {
    base: usize,
    bytes: usize,
    processes: u32,
}

static RANGES: OnceLock<Ranges> = OnceLock::new();

impl Ranges {
    fn new(base: usize, processes: u32) -> Ranges {
        let bytes = PRIVATE_RANGES_BYTES as usize / processes as usize / UNIT * UNIT;
        Ranges { base, bytes, processes }
    }

    fn of(&self, rank: u32) -> Range<usize> {
        let start = self.base + rank as usize * self.bytes;
        start..start + self.bytes
    }

    fn owner(&self, address: usize) -> Option<u32> {
        let rank = address.checked_sub(self.base)? / self.bytes;
        (rank < self.processes as usize).then_some(rank as u32)
    }
}

/// The process in whose range an address lies.
pub fn owner(address: usize) -> Option<u32> {
    RANGES.get()?.owner(address)
}

/// The lowest part of process 0's range: private memory that every process has at these addresses. `None`: the job has one process, or no ranges.
pub fn common() -> Option<Range<usize>> {
    RANGES.get().map(|ranges| ranges.base..ranges.base + COMMON)
}

/// Sees to it that the system places new memory in the process's range. Everything that all processes have at equal addresses is mapped.
///
/// # Errors
/// The system refuses to reserve address space.
pub fn init(job: &Job) -> Result<(), SegmentError> {
    lift_stack_limit();
    if job.size == 1 {
        return Ok(());
    }
    let first = map(0, PROBE, libc::PROT_NONE)?;
    unmap(first);
    if first < (PRIVATE_BASE + PRIVATE_RANGES_BYTES) as usize {
        return Ok(());
    }
    let ranges = Ranges::new(PRIVATE_BASE as usize, job.size);
    // The system does not go beyond the probe: the initial thread's stack grows there.
    let preferred = ranges.of(job.rank).end..first + PROBE;
    for gap in gaps(&preferred, &mapped()).filter(|gap| gap.len() >= PROBE) {
        map(gap.start, gap.len(), libc::PROT_NONE)?;
    }
    map(ranges.base, COMMON, libc::PROT_READ | libc::PROT_WRITE)?;
    let _ = RANGES.set(ranges);
    Ok(())
}

/// Sees to it that what libraries allocate on the initial thread lies in the process's range, too: the C library takes it from behind the program's data, where all processes have their break at the same
/// address. The break stays where it is from now on, so that the library maps more, and what it has free in front of it is taken, as objects there would be taken for those of other processes. To be called
/// by the initial thread, when the runtime has allocated what it frees soon.
pub fn leave_break() {
    const PAGE: usize = 4096;
    if RANGES.get().is_none() {
        return;
    }
    // SAFETY: asks for the break.
    let end = unsafe { libc::sbrk(0) } as usize;
    // Where something is mapped already, the break cannot grow either.
    let _ = map(end.next_multiple_of(PAGE), PAGE, libc::PROT_NONE);
    let mut bytes = 64 << 10;
    while bytes >= 16 {
        // SAFETY: the object, which is nobody's, is given back or stays.
        unsafe {
            let object = libc::malloc(bytes);
            if object.is_null() || !(end - HEAP_MOST..end).contains(&(object as usize)) {
                libc::free(object);
                bytes /= 2;
            }
        }
    }
}

/// Gives the initial thread the unlimited stack back that the launcher has bounded. Other threads have the C library's stack for that case.
fn lift_stack_limit() {
    const OF_THREADS: usize = 2 << 20;
    unsafe extern "C" {
        fn pthread_setattr_default_np(attributes: *const libc::pthread_attr_t) -> libc::c_int;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structures are written before they are read; nothing depends on success.
    unsafe {
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit);
        if limit.rlim_cur == BOUNDED_STACK {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_STACK, &limit);
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            libc::pthread_attr_init(&mut attributes);
            libc::pthread_attr_setstacksize(&mut attributes, OF_THREADS);
            pthread_setattr_default_np(&attributes);
            libc::pthread_attr_destroy(&mut attributes);
        }
    }
}

/// Reserves address space: at an address where nothing is, or anywhere (0).
fn map(address: usize, bytes: usize, protection: libc::c_int) -> Result<usize, SegmentError> {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: new memory, in place of nothing.
    let at = unsafe { libc::mmap(address as *mut _, bytes, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(SegmentError::Map { address, bytes, source: std::io::Error::last_os_error() });
    }
    Ok(at as usize)
}

fn unmap(probe: usize) {
    // SAFETY: what `map` has just made, which nobody uses.
    unsafe { libc::munmap(probe as *mut _, PROBE) };
}

/// What is mapped, from the lowest address on.
fn mapped() -> Vec<Range<usize>> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let address = |s: &str| usize::from_str_radix(s, 16).ok();
        Some(address(start)?..address(rest.split(' ').next()?)?)
    };
    text.lines().filter_map(range).collect()
}

/// The parts of a range that are not mapped.
fn gaps(range: &Range<usize>, mapped: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(mapped.iter().map(|m| m.end));
    let ends = mapped.iter().map(|m| m.start).chain(std::iter::once(usize::MAX));
    let within = range.clone();
    starts
        .zip(ends)
        .map(move |(start, end)| start.max(within.start)..end.min(within.end))
        .filter(|gap| !gap.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_mappings() {
        let maps = [0x1000..0x2000, 0x9000..0xa000];
        let of =
            |range: Range<usize>| gaps(&range, &maps).map(|gap| (gap.start, gap.end)).collect::<Vec<_>>();
        assert_eq!(of(0..0x10000), [(0, 0x1000), (0x2000, 0x9000), (0xa000, 0x10000)]);
        assert_eq!(of(0x1800..0x9800), [(0x2000, 0x9000)]);
        assert_eq!(of(0x1000..0x2000), []);
    }

    #[test]
    fn each_process_has_a_range_of_its_own() {
        for processes in [2, 3, 1024] {
            let ranges = Ranges::new(PRIVATE_BASE as usize, processes);
            for rank in 0..processes {
                let own = ranges.of(rank);
                assert!(own.len() >= 8 << 30 && own.end <= (PRIVATE_BASE + PRIVATE_RANGES_BYTES) as usize);
                assert_eq!((ranges.owner(own.start), ranges.owner(own.end - 1)), (Some(rank), Some(rank)));
            }
            assert_eq!(ranges.owner(PRIVATE_BASE as usize - 1), None);
        }
    }
}
