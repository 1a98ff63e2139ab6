//! Threads that go through data larger than memory, in order and at random, on the system's disk: against the same transfers without a pager, by `pread(2)` past the system's cache.
//! `DSM_SPILL` names the directory, else it is `/var/tmp`.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dsm_pager::linux::{Disk, Handle, Mapping, Service, SingleProcess, SpillFile, View};
use dsm_pager::replacement::S3Fifo;
use dsm_pager::{PAGE_BYTES, Statistics};
use random::Random;

#[allow(dead_code, reason = "other benchmarks use more of it")]
mod random;

/// Bytes of the data.
const BYTES: usize = 1 << 30;
/// Bytes of memory.
const LIMIT: usize = 256 << 20;
const THREADS: usize = 2;
const RUNS: usize = 5;
/// Accesses at random of each thread.
const ACCESSES: usize = 8000;
/// Bytes of a transfer in order.
const PIECE: usize = 1 << 20;

/// Data that is paged.
struct Data {
    words: &'static [AtomicU64],
    handle: Handle,
}

impl Data {
    fn new(directory: &Path) -> Data {
        let map = |file| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping of an open file.
            let at = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file, 0) };
            assert_ne!(at, libc::MAP_FAILED);
            at as usize
        };
        // SAFETY: a new file.
        let file = unsafe { libc::memfd_create(c"data".as_ptr(), 0) };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::ftruncate(file, BYTES as i64) }, 0);
        let (program, view) = (map(file), map(file));
        let spill = SpillFile::create(directory, BYTES).unwrap_or_else(|error| panic!("{error}"));
        let disk = Disk::new(spill, None).expect("transfers");
        let mappings = vec![Mapping { addresses: program..program + BYTES, offset: 0 }];
        let view = View(view..view + BYTES);
        let pager = (disk, LIMIT);
        let none = std::iter::empty();
        let service = Service::new((mappings, view), vec![], pager, SingleProcess, S3Fifo::default(), none)
            .unwrap_or_else(|error| panic!("{error}"));
        let handle = service.handle();
        std::thread::Builder::new()
            .name("dsm-pager".into())
            .spawn(move || panic!("{}", service.run().unwrap_err()))
            .expect("a thread");
        // SAFETY: mapped for good, whole words, used atomically only.
        let words = unsafe { std::slice::from_raw_parts(program as *const AtomicU64, BYTES / 8) };
        Data { words, handle }
    }

    /// The part of a thread.
    fn part(&self, thread: usize) -> &'static [AtomicU64] {
        let part = self.words.len() / THREADS;
        &self.words[thread * part..][..part]
    }

    /// Stores to all of it.
    fn fill(&self) {
        in_threads(|thread| self.part(thread).iter().for_each(|word| word.store(1, Ordering::Relaxed)));
    }

    /// Loads all of it.
    fn scan(&self, thread: usize) {
        let sum: u64 = self.part(thread).iter().map(|word| word.load(Ordering::Relaxed)).sum();
        assert!(sum >= self.part(thread).len() as u64);
    }

    fn access(&self, thread: usize, stores: bool, seed: u64) {
        let part = self.part(thread);
        let mut random = Random(seed + thread as u64);
        for _ in 0..ACCESSES {
            let word = &part[random.below(part.len() as u32) as usize];
            if stores {
                word.fetch_add(1, Ordering::Relaxed);
            } else {
                assert!(word.load(Ordering::Relaxed) > 0);
            }
        }
    }

    fn read(&self) -> u64 {
        // The pager tells after each round.
        std::thread::sleep(std::time::Duration::from_millis(50));
        self.handle.statistics().read
    }
}

fn in_threads(work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        let work = &work;
        (0..THREADS).for_each(|thread| _ = scope.spawn(move || work(thread)));
    });
}

/// A file of the data's size, which is read past the system's cache.
struct Plain(File);

impl Plain {
    fn new(directory: &Path) -> Plain {
        let path = directory.join(format!("dsm-pager-bench-{}", std::process::id()));
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).custom_flags(libc::O_DIRECT);
        let file = options.open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        std::fs::remove_file(&path).expect("it was just made");
        let buffer = Plain::buffer(PIECE);
        for at in (0..BYTES).step_by(PIECE) {
            // SAFETY: the buffer has as many bytes.
            let done = unsafe { libc::pwrite(file.as_raw_fd(), buffer as *const _, PIECE, at as i64) };
            assert_eq!(done, PIECE as isize, "{}", std::io::Error::last_os_error());
        }
        Plain(file)
    }

    /// Memory of its own for good, at the begin of a page.
    fn buffer(bytes: usize) -> usize {
        let layout = std::alloc::Layout::from_size_align(bytes, PAGE_BYTES).expect("a small power of two");
        // SAFETY: it has a size.
        unsafe { std::alloc::alloc_zeroed(layout) as usize }
    }

    fn read(&self, buffer: usize, bytes: usize, at: usize) {
        // SAFETY: the buffer has as many bytes.
        let done = unsafe { libc::pread(self.0.as_raw_fd(), buffer as *mut _, bytes, at as i64) };
        assert_eq!(done, bytes as isize, "{}", std::io::Error::last_os_error());
        black_box(buffer);
    }

    fn scan(&self, thread: usize, buffer: usize) {
        let part = BYTES / THREADS;
        (0..part).step_by(PIECE).for_each(|at| self.read(buffer, PIECE, thread * part + at));
    }

    fn access(&self, thread: usize, buffer: usize, seed: u64) {
        let pages = BYTES / THREADS / PAGE_BYTES;
        let mut random = Random(seed + thread as u64);
        for _ in 0..ACCESSES {
            let page = random.below(pages as u32) as usize;
            self.read(buffer, PAGE_BYTES, (thread * pages + page) * PAGE_BYTES);
        }
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let directory = std::env::var_os("DSM_SPILL").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let (data, plain) = (Data::new(&directory), Plain::new(&directory));
    let buffers: Vec<usize> = (0..THREADS).map(|_| Plain::buffer(PIECE)).collect();
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    data.fill();
    println!("{} MB, memory {} MB, {THREADS} threads, medians of {RUNS}", BYTES >> 20, LIMIT >> 20);
    println!("{:20} {:>10} {:>10} {:>8}", "", "paged", "pread", "ratio");
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    if wanted("in order") {
        data.fill();
        in_threads(|thread| data.scan(thread));
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let before = data.read();
            let time = seconds(|| in_threads(|thread| data.scan(thread)));
            ours.push(((data.read() - before) as usize * PAGE_BYTES) as f64 / time / 1e6);
            let time = seconds(|| in_threads(|thread| plain.scan(thread, buffers[thread])));
            others.push(BYTES as f64 / time / 1e6);
        }
        report("in order, MB/s", median(ours), median(others));
    }
    for (name, stores) in [("loads at random, us", false), ("updates at random, us", true)] {
        if !wanted(name) {
            continue;
        }
        data.fill();
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for run in 0..RUNS as u64 {
            let before = data.read();
            let time = seconds(|| in_threads(|thread| data.access(thread, stores, 100 * (run + 1))));
            ours.push(time * 1e6 * THREADS as f64 / (data.read() - before) as f64);
            let time =
                seconds(|| in_threads(|thread| plain.access(thread, buffers[thread], 100 * (run + 1))));
            others.push(time * 1e6 / ACCESSES as f64);
        }
        report(name, median(ours), median(others));
    }
    let Statistics { read, written, faults, .. } = data.handle.statistics();
    println!("read {read}, written {written}, faults {faults}");
}

fn report(name: &str, ours: f64, others: f64) {
    println!("{name:20} {ours:10.1} {others:10.1} {:8.2}", ours / others);
}
