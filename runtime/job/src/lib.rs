//! The job as one of its processes sees it: rank, size, inherited files, and the page shared with the launcher; the files that are linked ([`image`]); where
//! reports go ([`destination`]); the end with a message ([`die`]). It knows nothing of memory, threads or OpenMP: they tell it what to call.
//!
//! Owns the parsing of `DSM_JOB` (layout in [`dsm_abi::job`]) and the mapping of the job page. Without the
//! variable the program is a job of one process with a private page.

pub mod child;
pub mod destination;
pub mod image;
pub mod library;

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_abi::job::{
    FINISHED_WORD, HANDLED_WORD, JOB_PAGE_BYTES, JOB_VARIABLE, JOB_VERSION, MAX_PROCESSES, READY_WORD,
    SATISFIED_WORD,
};
use dsm_threads::futex;
use thiserror::Error;

/// Ends this process, and with it the job, with a message.
pub fn die(message: &str) -> ! {
    eprintln!("dsm: error: {message}");
    // SAFETY: ends the process without handlers; other threads may hold any lock.
    unsafe { libc::_exit(1) }
}

/// Why a job description was refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum JobError {
    /// A field is absent or is not a number.
    #[error("{JOB_VARIABLE}: field {0} is missing or malformed")]
    Field(&'static str),
    /// Launcher and runtime come from different versions.
    #[error(
        "{JOB_VARIABLE} has version {0}, this program understands {JOB_VERSION}; use the dsm-run it was built with"
    )]
    Version(u32),
    /// The numbers contradict each other.
    #[error("{JOB_VARIABLE}: rank {rank} of {size} processes with {segments} segments")]
    Shape {
        /// Rank as given.
        rank: u32,
        /// Size as given.
        size: u32,
        /// Number of segments.
        segments: usize,
    },
    /// The segments to map are not the own one and its neighbours.
    #[error("{JOB_VARIABLE}: rank {rank} has other memory files than those of its own host")]
    Files {
        /// Rank as given.
        rank: u32,
    },
    /// The job page cannot be mapped.
    #[error("cannot map the job page: {0}")]
    Page(String),
}

/// How a process's segment is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// By mapping this memory file.
    File(RawFd),
    /// By sockets: for requests, for serving requests, for waits, for serving waits.
    Sockets([RawFd; 4]),
}

/// What a process knows about its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// This process's number.
    pub rank: u32,
    /// Number of processes.
    pub size: u32,
    /// Threads per process the user asked the launcher for; 0 if he left it open.
    pub threads: u32,
    /// The processes that may use the same processors, this one among them.
    pub sharers: Range<u32>,
    /// The shared page's file; `None` in a job of one process without a launcher.
    pub job_fd: Option<RawFd>,
    /// How the segment of each rank is reached; empty without a launcher.
    pub segments: Vec<Reach>,
    /// What takes the place of files that variables name.
    pub files: Vec<(String, RawFd)>,
}

/// The processes of this host, this one among them.
static NEIGHBOURS: OnceLock<Range<u32>> = OnceLock::new();

/// Whether a process is on the same host as this one.
pub fn is_neighbour(rank: u32) -> bool {
    NEIGHBOURS.get().is_none_or(|neighbours| neighbours.contains(&rank))
}

impl Job {
    /// A job of one process.
    pub fn single() -> Job {
        Job {
            rank: 0,
            size: 1,
            threads: 0,
            sharers: 0..1,
            job_fd: None,
            segments: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Reads the value of `DSM_JOB`.
    pub fn parse(text: &str) -> Result<Job, JobError> {
        let mut fields = text.split(':');
        let mut number = |name: &'static str| -> Result<u32, JobError> {
            fields.next().and_then(|f| f.parse().ok()).ok_or(JobError::Field(name))
        };
        let version = number("version")?;
        if version != JOB_VERSION {
            return Err(JobError::Version(version));
        }
        let rank = number("rank")?;
        let size = number("size")?;
        let threads = number("threads")?;
        let sharers = fields.next().and_then(sharers).ok_or(JobError::Field("sharers"))?;
        let job_fd = fields.next().and_then(descriptor).ok_or(JobError::Field("job file"))?;
        let segments = fields.next().ok_or(JobError::Field("segments"))?;
        let segments = segments.split(',').map(reach).collect::<Result<Vec<Reach>, _>>()?;
        let files = fields.map(file).collect::<Result<_, _>>()?;
        if rank >= size || size > MAX_PROCESSES || segments.len() != size as usize {
            return Err(JobError::Shape { rank, size, segments: segments.len() });
        }
        if !sharers.contains(&rank) || sharers.end > size {
            return Err(JobError::Field("sharers"));
        }
        let job = Job { rank, size, threads, sharers, job_fd: Some(job_fd), segments, files };
        let has_file = |r: u32| matches!(job.segments[r as usize], Reach::File(_));
        let are_neighbours = (0..size).filter(|r| has_file(*r)).eq(job.mapped());
        if are_neighbours && job.mapped().contains(&rank) { Ok(job) } else { Err(JobError::Files { rank }) }
    }

    /// The ranks whose segments are mapped, the own one among them. They follow each other.
    pub fn mapped(&self) -> Range<u32> {
        let is_file = |reach: &Reach| matches!(reach, Reach::File(_));
        let first = self.segments.iter().position(is_file).unwrap_or(0);
        let count = self.segments[first..].iter().take_while(|reach| is_file(reach)).count();
        first as u32..(first + count) as u32
    }

    /// Makes the file at `path`, which the value of `variable` names, or opens what the launcher gave the process in its place.
    ///
    /// # Errors
    /// The system's.
    pub fn create(&self, variable: &str, path: &str) -> io::Result<File> {
        match self.files.iter().find(|(name, _)| name == variable) {
            // SAFETY: the descriptor was inherited, and nobody closes it.
            Some((_, fd)) => unsafe { BorrowedFd::borrow_raw(*fd) }.try_clone_to_owned().map(File::from),
            None => OpenOptions::new().create(true).write(true).truncate(true).open(path),
        }
    }

    /// The job of this process. Takes the variable out of the environment and keeps the files from children.
    pub fn from_environment() -> Result<Job, JobError> {
        let Ok(text) = std::env::var(JOB_VARIABLE) else { return Ok(Job::single()) };
        let job = Job::parse(&text)?;
        let name = CString::new(JOB_VARIABLE).expect("the name has no NUL");
        // SAFETY: called from `main` before any other thread exists; `name` is NUL-terminated.
        unsafe { libc::unsetenv(name.as_ptr()) };
        let segments = job.segments.iter().flat_map(|reach| match reach {
            Reach::File(fd) => std::slice::from_ref(fd),
            Reach::Sockets(all) => all,
        });
        for &fd in segments.chain(&job.job_fd).chain(job.files.iter().map(|(_, fd)| fd)) {
            // SAFETY: F_SETFD touches no memory; a bad descriptor makes it fail, which mapping reports later.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        let _ = NEIGHBOURS.set(job.neighbours());
        Ok(job)
    }

    /// The processes of this host, which follow each other: sockets to others are of another kind.
    fn neighbours(&self) -> Range<u32> {
        let is_here = |rank: &u32| match self.segments.get(*rank as usize) {
            Some(Reach::Sockets([requests, ..])) => is_unix_socket(*requests),
            _ => true,
        };
        let before = (0..self.rank).rev().take_while(is_here).count() as u32;
        let after = (self.rank..self.size).take_while(is_here).count() as u32;
        self.rank - before..self.rank + after
    }
}

fn is_unix_socket(descriptor: RawFd) -> bool {
    let mut domain = 0;
    let mut length = size_of_val(&domain) as libc::socklen_t;
    let place = (&raw mut domain).cast();
    // SAFETY: the place has the length that is passed; of a descriptor that is none nothing is known.
    let known =
        unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_DOMAIN, place, &raw mut length) };
    known == 0 && domain == libc::AF_UNIX
}

/// A descriptor's number.
fn descriptor(text: &str) -> Option<RawFd> {
    text.parse().ok().filter(|number| *number >= 0)
}

/// A variable, and the descriptor that takes the place of the file that it names.
fn file(text: &str) -> Result<(String, RawFd), JobError> {
    let parsed = text.split_once('=').and_then(|(name, fd)| Some((name.to_owned(), descriptor(fd)?)));
    parsed.ok_or(JobError::Field("files"))
}

/// The first and the last one of several processes.
fn sharers(text: &str) -> Option<Range<u32>> {
    let (first, last) = text.split_once('-')?;
    let last: u32 = last.parse().ok()?;
    Some(first.parse().ok()?..last.checked_add(1)?)
}

/// How one rank's segment is reached.
fn reach(text: &str) -> Result<Reach, JobError> {
    let all: Option<Vec<RawFd>> = text.split('+').map(descriptor).collect();
    match all.as_deref() {
        Some([file]) => Ok(Reach::File(*file)),
        Some(&[requests, serves, waits, serves_waits]) => {
            Ok(Reach::Sockets([requests, serves, waits, serves_waits]))
        }
        _ => Err(JobError::Field("segments")),
    }
}

/// The page shared by launcher and processes: words that are plain atomics and futexes.
pub struct JobPage(&'static [AtomicU32]);

static PAGE: OnceLock<JobPage> = OnceLock::new();

impl JobPage {
    /// Maps the page of `job`; once per process.
    pub fn init(job: &Job) -> Result<(), JobError> {
        let (flags, fd) = match job.job_fd {
            Some(fd) => (libc::MAP_SHARED, fd),
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: maps fresh pages at an address of the kernel's choice; no existing mapping changes.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), JOB_PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(JobError::Page(std::io::Error::last_os_error().to_string()));
        }
        // SAFETY: the mapping is JOB_PAGE_BYTES long, page aligned, zeroed, never unmapped, and everyone
        // (launcher and peers included) accesses it by atomics only.
        let words = unsafe {
            std::slice::from_raw_parts(base.cast::<AtomicU32>(), JOB_PAGE_BYTES / size_of::<AtomicU32>())
        };
        let _ = PAGE.set(JobPage(words));
        Ok(())
    }

    /// The mapped page. Must come after [`JobPage::init`].
    pub fn get() -> &'static JobPage {
        Self::mapped().expect("JobPage::init runs first in main")
    }

    /// The mapped page, if it is mapped by now.
    pub fn mapped() -> Option<&'static JobPage> {
        PAGE.get()
    }

    /// Word `index` of the page.
    pub fn word(&self, index: usize) -> &'static AtomicU32 {
        &self.0[index]
    }

    /// Number of processes whose segments have their size.
    pub fn ready(&self) -> &'static AtomicU32 {
        self.word(READY_WORD)
    }

    /// Notes whether the program handles or ignores a signal in process 0.
    pub fn set_handled(&self, signal: i32, handled: bool) {
        let Some(bit) = signal_bit(signal) else { return };
        match handled {
            true => self.word(HANDLED_WORD).fetch_or(bit, Ordering::SeqCst),
            false => self.word(HANDLED_WORD).fetch_and(!bit, Ordering::SeqCst),
        };
    }

    /// Whether the program handles or ignores a signal in process 0.
    pub fn is_handled(&self, signal: i32) -> bool {
        signal_bit(signal).is_some_and(|bit| self.word(HANDLED_WORD).load(Ordering::SeqCst) & bit != 0)
    }

    /// Marks the orderly end of the program (process 0) and wakes whoever sleeps on the mark.
    pub fn finish(&self) {
        self.set(FINISHED_WORD);
    }

    /// Marks that process 0 wants nothing of others any more.
    pub fn satisfy(&self) {
        self.set(SATISFIED_WORD);
    }

    /// Waits for [`JobPage::satisfy`] by process 0, which is of the same host.
    pub fn wait_satisfied(&self) {
        while self.word(SATISFIED_WORD).load(Ordering::SeqCst) == 0 {
            futex::wait(self.word(SATISFIED_WORD), 0, futex::ALL);
        }
    }

    fn set(&self, index: usize) {
        self.word(index).store(1, Ordering::SeqCst);
        futex::wake(self.word(index), futex::ALL);
    }
}

/// The signal's bit in a word, if it has one.
fn signal_bit(signal: i32) -> Option<u32> {
    (1..=32).contains(&signal).then(|| 1 << (signal - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_description() {
        let (file, sockets) = (Reach::File, Reach::Sockets);
        for (segments, expected, mapped) in [
            ("11,12,13", [file(11), file(12), file(13)], 0..3),
            ("20+21+22+23,11,12", [sockets([20, 21, 22, 23]), file(11), file(12)], 1..3),
            ("11,12,20+21+22+23", [file(11), file(12), sockets([20, 21, 22, 23])], 0..2),
            ("2+3+4+5,11,6+7+8+9", [sockets([2, 3, 4, 5]), file(11), sockets([6, 7, 8, 9])], 1..2),
        ] {
            let job = Job::parse(&format!("5:1:3:4:0-1:10:{segments}:A=5:B=6")).unwrap();
            assert_eq!((job.rank, job.size, job.threads, job.job_fd), (1, 3, 4, Some(10)));
            assert_eq!(job.sharers, 0..2);
            assert_eq!(job.files, [("A".to_owned(), 5), ("B".to_owned(), 6)]);
            assert_eq!((&*job.segments, job.mapped()), (&expected[..], mapped));
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(Job::parse("4:0:1:1:3:4"), Err(JobError::Version(4)));
        assert_eq!(Job::parse("5:0:1:1:0-0:3"), Err(JobError::Field("segments")));
        assert_eq!(Job::parse("5:1:1:1:1-1:3:4"), Err(JobError::Shape { rank: 1, size: 1, segments: 1 }));
        assert_eq!(Job::parse("5:0:2:1:0-0:3:4"), Err(JobError::Shape { rank: 0, size: 2, segments: 1 }));
        assert_eq!(Job::parse("5:x:1:1:0-0:3:4"), Err(JobError::Field("rank")));
        assert_eq!(Job::parse("5:0:1:1:0-0:3:4:5"), Err(JobError::Field("files")));
        for sharers in ["", "0", "0-", "1-1", "0-1", "1-0", "0-4294967295"] {
            let parsed = Job::parse(&format!("5:0:1:1:{sharers}:3:4"));
            assert_eq!(parsed, Err(JobError::Field("sharers")), "{sharers}");
        }
    }

    #[test]
    fn refuses_segments_that_cannot_be_reached() {
        let parse = |segments: &str| Job::parse(&format!("5:1:3:1:0-2:3:{segments}"));
        for malformed in ["", "4,5,", "4,5,-", "4,5,6+7", "4,5,6+7+8+9+10", "4,5,6+7+8+x"] {
            assert_eq!(parse(malformed), Err(JobError::Field("segments")), "{malformed:?}");
        }
        for wrong in ["4,6+7+8+9,5", "4,6+7+8+9,1+2+3+4", "1+2+3+4,6+7+8+9,5", "1+2+3+4,6+7+8+9,11+12+13+14"]
        {
            assert_eq!(parse(wrong), Err(JobError::Files { rank: 1 }), "{wrong:?}");
        }
    }

    #[test]
    fn the_processes_of_a_host_are_known_by_their_sockets() {
        use std::os::fd::AsRawFd;
        let near = std::os::unix::net::UnixDatagram::unbound().unwrap();
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let sockets = |fd: RawFd| Reach::Sockets([fd; 4]);
        let (near, far) = (sockets(near.as_raw_fd()), sockets(far.as_raw_fd()));
        for (segments, rank, expected) in [
            (vec![far, Reach::File(3), Reach::File(4), far], 1, 1..3),
            (vec![far, near, Reach::File(3), near, far, far], 2, 1..4),
            (vec![Reach::File(3), near, far], 0, 0..2),
            (vec![], 0, 0..1),
        ] {
            let size = segments.len().max(1) as u32;
            assert_eq!(Job { rank, size, segments, ..Job::single() }.neighbours(), expected);
        }
    }

    #[test]
    fn private_page_finishes() {
        JobPage::init(&Job::single()).unwrap();
        let page = JobPage::get();
        let finished = || page.word(FINISHED_WORD).load(Ordering::SeqCst) != 0;
        assert!(!finished());
        page.finish();
        assert!(finished());
        page.word(FINISHED_WORD).store(0, Ordering::SeqCst);
    }

    #[test]
    fn damaged_descriptions_are_refused_or_fit() {
        let valid =
            ["5:1:3:4:0-1:10:11,12,13:A=5:B=6", "5:1:4:4:1-2:10:2+3+4+5,11,12,6+7+8+9", "5:0:1:1:0-0:3:4"];
        let mut read = 0;
        dsm_mutate::each(&valid, 50_000, |bytes| {
            let Ok(job) = Job::parse(&String::from_utf8_lossy(bytes)) else { return };
            read += 1;
            assert!(job.rank < job.size && job.size <= MAX_PROCESSES);
            assert_eq!(job.segments.len(), job.size as usize);
            assert!(job.mapped().contains(&job.rank) && job.sharers.contains(&job.rank));
            assert!(job.sharers.end <= job.size && job.mapped().end <= job.size);
            let fds = job.segments.iter().flat_map(|reach| match reach {
                Reach::File(fd) => std::slice::from_ref(fd),
                Reach::Sockets(all) => all,
            });
            assert!(fds.chain(&job.job_fd).chain(job.files.iter().map(|(_, fd)| fd)).all(|fd| *fd >= 0));
        });
        assert!((1000..49_000).contains(&read), "{read} of 50000 were read");
    }
}
