//! Places, and which of them each thread of a team is bound to (section "Controlling OpenMP thread affinity" of the specification).
//!
//! Places are parts of the processors that a process may use, so processes that the launcher has bound to different processors, or that are on different hosts, have places of
//! their own. Those with the same processors ([`crate::job::Job::sharers`]) number them alike, and a policy places the threads of a team that are in such processes
//! together; where the team's primary thread is elsewhere, all places are their partition. A thread keeps the place and the partition that its innermost region
//! gave it. Nothing is bound unless `OMP_PROC_BIND` or `OMP_PLACES` asks for it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;

use super::frame::{self, Frame};
use super::{affinity_format, put};
use crate::config::affinity::{Binding, Part, Places};
use crate::config::machine::part_of;
use crate::config::{self, Config};

/// Where a thread is in the list of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Its place.
    pub place: u32,
    /// First place of its partition.
    pub first: u32,
    /// Places of its partition.
    pub count: u32,
}

/// How the threads of a region are bound, starting from their primary thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The policy.
    pub binding: Binding,
    /// The primary thread's place.
    pub primary: Placement,
}

thread_local! {
    static PLACEMENT: Cell<Option<Placement>> = const { Cell::new(None) };
    /// The place whose processors the kernel knows of.
    static BOUND: Cell<Option<u32>> = const { Cell::new(None) };
    /// Argument of a `proc_bind` clause for the next region.
    static CLAUSE: Cell<Binding> = const { Cell::new(Binding::False) };
}

/// Processors that the process was started with, before anything was bound.
pub fn processors() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| {
        // SAFETY: an empty set is all zeros; the call writes at most its size.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&set), &mut set);
            set
        };
        // SAFETY: inside the set.
        let found: Vec<usize> =
            (0..libc::CPU_SETSIZE as usize).filter(|&n| unsafe { libc::CPU_ISSET(n, &set) }).collect();
        if found.is_empty() {
            (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
        } else {
            found
        }
    })
}

/// Processors of each place.
pub fn places() -> &'static [Vec<usize>] {
    static PLACES: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    PLACES.get_or_init(|| resolve(config::get(), processors(), part_of))
}

fn resolve(
    config: &Config,
    allowed: &[usize],
    part_of: impl Fn(Part, usize) -> Vec<usize>,
) -> Vec<Vec<usize>> {
    let mut found = match &config.places {
        Some(Places::List(list, _)) => list.clone(),
        Some(Places::Abstract(part, _)) => allowed.iter().map(|&p| part_of(*part, p)).collect(),
        None if config.binding(0) == Binding::False => vec![allowed.to_vec()],
        None => allowed.iter().map(|&p| part_of(Part::Cores, p)).collect(),
    };
    found.iter_mut().for_each(|place| place.retain(|p| allowed.contains(p)));
    found.retain(|place| !place.is_empty());
    if !matches!(config.places, Some(Places::List(..))) {
        found.sort();
        found.dedup();
    }
    if let Some(Places::Abstract(_, Some(count))) = config.places {
        found.truncate(count);
    }
    if found.is_empty() { vec![allowed.to_vec()] } else { found }
}

/// `a` of the specification's formulas: where share `i` of `parts` begins among `count`.
fn share(i: u32, count: u32, parts: u32) -> u32 {
    (u64::from(i) * u64::from(count) / u64::from(parts)) as u32
}

impl Region {
    /// The place of thread `tid` of `size`.
    pub fn placement(&self, tid: u32, size: u32) -> Placement {
        let Placement { place, first, count } = self.primary;
        let at = place - first;
        let close = |i: u32| first + (at + if size <= count { i } else { share(i, count, size) }) % count;
        match self.binding {
            Binding::Spread if size <= count => {
                let own = (0..size).rfind(|&i| share(i, count, size) <= at).unwrap_or(0);
                let part = (own + tid) % size;
                let (begin, end) = (share(part, count, size), share(part + 1, count, size));
                let place = if tid == 0 { place } else { first + begin };
                Placement { place, first: first + begin, count: end - begin }
            }
            Binding::Spread => Placement { place: close(tid), first: close(tid), count: 1 },
            Binding::Close => Placement { place: close(tid), ..self.primary },
            Binding::Primary | Binding::False => self.primary,
        }
    }

    /// For threads that do not share processors with the primary thread.
    fn elsewhere(self) -> Region {
        Region { primary: Placement { place: 0, first: 0, count: places().len() as u32 }, ..self }
    }

    /// As a word of a fork message.
    pub fn encode(&self) -> u64 {
        let Placement { place, first, count } = self.primary;
        u64::from(self.binding as u32)
            | u64::from(place) << 8
            | u64::from(first) << 24
            | u64::from(count) << 40
    }

    /// From a word.
    pub fn decode(word: u64) -> Region {
        let bits = |shift: u32| (word >> shift) as u16 as u32;
        let primary = Placement { place: bits(8), first: bits(24), count: bits(40) };
        Region { binding: Binding::from_code(word as u8 as u32), primary }
    }
}

/// Binds the program's initial thread.
pub fn start() {
    if config::get().binding(0) != Binding::False {
        let _ = bind(current_placement());
    }
}

/// The thread's place; at first all places are its partition.
fn current_placement() -> Placement {
    PLACEMENT.get().unwrap_or(Placement { place: 0, first: 0, count: places().len() as u32 })
}

/// How the next region of the frame's thread binds; takes the clause.
pub fn next_region(frame: &Frame) -> Region {
    let clause = CLAUSE.replace(Binding::False);
    let usual = config::get().binding(frame.active_level as usize);
    let binding = if usual == Binding::False || clause == Binding::False { usual } else { clause };
    let primary = if binding == Binding::False {
        Placement { place: 0, first: 0, count: 1 }
    } else {
        current_placement()
    };
    Region { binding, primary }
}

/// Takes the place, and returns the one that the thread had.
fn bind(placement: Placement) -> Option<Placement> {
    if BOUND.replace(Some(placement.place)) != Some(placement.place) {
        // SAFETY: a set on the stack; place numbers and processors are in range. Failure leaves the thread where it may run.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            places()[placement.place as usize].iter().for_each(|&p| libc::CPU_SET(p, &mut set));
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
    }
    PLACEMENT.replace(Some(placement))
}

/// Runs `body` as thread `tid` of a region, of whose team the threads of `sharers` may use the same processors.
pub fn with<T>(region: Region, tid: u32, sharers: Range<u32>, body: impl FnOnce() -> T) -> T {
    if region.binding == Binding::False {
        return body();
    }
    let region = if sharers.start == 0 { region } else { region.elsewhere() };
    let outer = bind(region.placement(tid - sharers.start, sharers.end - sharers.start));
    let result = body();
    if let Some(outer) = outer.filter(|_| tid == 0) {
        // The primary thread goes on in the region around.
        bind(outer);
    }
    result
}

/// `OMP_DISPLAY_AFFINITY`: prints where the calling thread runs, unless that and its team are as before.
pub fn display_changed(frame: &Frame) {
    thread_local! {
        static SHOWN: Cell<Option<[u32; 4]>> = const { Cell::new(None) };
    }
    if config::get().display_affinity {
        let place = BOUND.get().unwrap_or(u32::MAX);
        let now = Some([frame.team().size, frame.level, frame.tid, place]);
        if SHOWN.replace(now) != now {
            affinity_format::display(None);
        }
    }
}

/// `proc_bind` of the next region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_proc_bind(_loc: super::Loc, _gtid: i32, binding: i32) {
    CLAUSE.set(Binding::from_code(binding as u32));
}

// ---- what the routines of omp.h ask for ----

/// `omp_get_proc_bind`.
pub fn next_binding() -> Binding {
    config::get().binding(frame::current().active_level as usize)
}

/// `omp_get_place_num`: -1 if the thread is not bound and there are several places.
pub fn place_number() -> i32 {
    match PLACEMENT.get() {
        Some(placement) => placement.place as i32,
        None if places().len() == 1 => 0,
        None => -1,
    }
}

/// `omp_get_partition_num_places`.
pub fn partition() -> Range<u32> {
    let here = current_placement();
    here.first..here.first + here.count
}

fn place(number: i32) -> &'static [usize] {
    usize::try_from(number).ok().and_then(|n| places().get(n)).map_or(&[], Vec::as_slice)
}

/// `omp_get_place_num_procs`.
pub fn processors_of(number: i32) -> i32 {
    place(number).len() as i32
}

/// Stores the processor numbers of a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids(number: i32, ids: *mut i32) {
    for (i, &processor) in place(number).iter().enumerate() {
        // SAFETY: the program's array has space for the place's processors.
        unsafe { put(ids.add(i), processor as i32) };
    }
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_place_proc_ids_(number: *const i32, ids: *mut i32) {
    // SAFETY: a Fortran argument is the address of an integer; the rest as above.
    unsafe { omp_get_place_proc_ids(super::get(number), ids) };
}

/// Stores the place numbers of the calling thread's partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums(numbers: *mut i32) {
    for (i, number) in partition().enumerate() {
        // SAFETY: the program's array has space for the partition.
        unsafe { put(numbers.add(i), number as i32) };
    }
}

/// The same for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_partition_place_nums_(numbers: *mut i32) {
    // SAFETY: as for the function called.
    unsafe { omp_get_partition_place_nums(numbers) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Config {
        Config::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())).0
    }

    /// A machine with two threads a core and four cores a socket.
    fn part(part: Part, p: usize) -> Vec<usize> {
        let size = match part {
            Part::Threads => 1,
            Part::Cores => 2,
            _ => 8,
        };
        (p / size * size..(p / size + 1) * size).collect()
    }

    #[test]
    fn places_are_parts_of_what_the_process_may_use() {
        let all: Vec<usize> = (0..16).collect();
        let of = |pairs: &[(&str, &str)], allowed: &[usize]| resolve(&given(pairs), allowed, part);
        assert_eq!(of(&[], &all), std::slice::from_ref(&all));
        assert_eq!(of(&[("OMP_PROC_BIND", "close")], &all).len(), 8);
        assert_eq!(of(&[("OMP_PLACES", "sockets")], &[0, 1, 9]), [vec![0, 1], vec![9]]);
        assert_eq!(of(&[("OMP_PLACES", "threads(3)")], &all), [[0], [1], [2]]);
        assert_eq!(of(&[("OMP_PLACES", "{4:2},{0,99},{99}")], &all), [vec![4, 5], vec![0]]);
        assert_eq!(of(&[("OMP_PLACES", "{99}")], &all), [all]);
    }

    #[test]
    fn policies_follow_the_specification_s_examples() {
        let at = |binding, place, count, size| {
            let primary = Placement { place, first: 0, count };
            (0..size)
                .map(|i| Region { binding, primary }.placement(i, size))
                .map(|p| (p.place, p.first, p.count))
                .collect::<Vec<_>>()
        };
        let places = |list: Vec<(u32, u32, u32)>| list.into_iter().map(|p| p.0).collect::<Vec<_>>();
        assert_eq!(at(Binding::Spread, 0, 8, 4), [(0, 0, 2), (2, 2, 2), (4, 4, 2), (6, 6, 2)]);
        assert_eq!(places(at(Binding::Spread, 3, 8, 4)), [3, 4, 6, 0]);
        assert_eq!(places(at(Binding::Close, 6, 8, 4)), [6, 7, 0, 1]);
        assert_eq!(places(at(Binding::Close, 2, 4, 8)), [2, 2, 3, 3, 0, 0, 1, 1]);
        assert_eq!(places(at(Binding::Spread, 0, 2, 4)), [0, 0, 1, 1]);
        assert_eq!(places(at(Binding::Primary, 3, 8, 3)), [3, 3, 3]);
    }

    #[test]
    fn regions_travel_in_a_word() {
        let primary = Placement { place: 300, first: 256, count: 512 };
        let region = Region { binding: Binding::Close, primary };
        assert_eq!(Region::decode(region.encode()), region);
    }
}
