//! The job as the launcher describes it: rank, size, inherited files, and the page shared with the launcher.
//!
//! Owns the parsing of `DSM_JOB` (layout in [`dsm_abi::job`]) and the mapping of the job page. Without the
//! variable the program is a job of one process with a private page.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_abi::job::{
    FINISHED_WORD, HANDLED_WORD, JOB_PAGE_BYTES, JOB_VARIABLE, JOB_VERSION, MAX_PROCESSES, READY_WORD,
};
use thiserror::Error;

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
    #[error("{JOB_VARIABLE}: rank {rank} of {size} processes with {files} segment files")]
    Shape {
        /// Rank as given.
        rank: u32,
        /// Size as given.
        size: u32,
        /// Number of segment files.
        files: usize,
    },
    /// The sockets do not connect this process to each other one.
    #[error("{JOB_VARIABLE}: rank {rank} of {size} processes with other sockets than it needs")]
    Streams {
        /// Rank as given.
        rank: u32,
        /// Size as given.
        size: u32,
    },
    /// The job page cannot be mapped.
    #[error("cannot map the job page: {0}")]
    Page(String),
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
    /// The shared page's file; `None` in a job of one process without a launcher.
    pub job_fd: Option<RawFd>,
    /// One empty memory file per rank; empty without a launcher.
    pub segment_fds: Vec<RawFd>,
    /// Sockets to each rank but the own: for requests, for serving requests, for waits, for serving waits. Empty if the processes map each other's memory.
    pub streams: Vec<Option<[RawFd; 4]>>,
}

impl Job {
    /// A job of one process.
    pub fn single() -> Job {
        Job { rank: 0, size: 1, threads: 0, job_fd: None, segment_fds: Vec::new(), streams: Vec::new() }
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
        let job_fd = number("job file")? as RawFd;
        let segment_fds = fields
            .next()
            .ok_or(JobError::Field("segment files"))?
            .split(',')
            .map(|f| f.parse().map_err(|_| JobError::Field("segment files")))
            .collect::<Result<Vec<RawFd>, _>>()?;
        if rank >= size || size > MAX_PROCESSES || segment_fds.len() != size as usize {
            return Err(JobError::Shape { rank, size, files: segment_fds.len() });
        }
        let streams = fields.next().map_or(Ok(Vec::new()), |f| f.split(',').map(sockets).collect())?;
        let is_connected =
            |(peer, sockets): (usize, &Option<_>)| (peer == rank as usize) == sockets.is_none();
        let is_complete = streams.len() == size as usize && streams.iter().enumerate().all(is_connected);
        if !(streams.is_empty() || is_complete) {
            return Err(JobError::Streams { rank, size });
        }
        if fields.next().is_some() {
            return Err(JobError::Field("end"));
        }
        Ok(Job { rank, size, threads, job_fd: Some(job_fd), segment_fds, streams })
    }

    /// The job of this process. Takes the variable out of the environment and keeps the files from children.
    pub fn from_environment() -> Result<Job, JobError> {
        let Ok(text) = std::env::var(JOB_VARIABLE) else { return Ok(Job::single()) };
        let job = Job::parse(&text)?;
        let name = CString::new(JOB_VARIABLE).expect("the name has no NUL");
        // SAFETY: called from `main` before any other thread exists; `name` is NUL-terminated.
        unsafe { libc::unsetenv(name.as_ptr()) };
        let sockets = job.streams.iter().flatten().flatten();
        for &fd in job.segment_fds.iter().chain(&job.job_fd).chain(sockets) {
            // SAFETY: F_SETFD touches no memory; a bad descriptor makes it fail, which mapping reports later.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        Ok(job)
    }
}

/// The sockets to one rank, `None` to the own.
fn sockets(text: &str) -> Result<Option<[RawFd; 4]>, JobError> {
    if text == "-" {
        return Ok(None);
    }
    let all: Option<Vec<RawFd>> = text.split('+').map(|f| f.parse().ok()).collect();
    all.and_then(|all| all.try_into().ok()).map(Some).ok_or(JobError::Field("sockets"))
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
        let word = self.word(FINISHED_WORD);
        word.store(1, Ordering::SeqCst);
        // SAFETY: a futex wake on an aligned, mapped word; it reads and writes no memory.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
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
        let job = Job {
            rank: 2,
            size: 3,
            threads: 4,
            job_fd: Some(10),
            segment_fds: vec![11, 12, 13],
            streams: vec![],
        };
        assert_eq!(Job::parse("2:2:3:4:10:11,12,13"), Ok(job.clone()));
        let streams = vec![Some([20, 21, 22, 23]), Some([24, 25, 26, 27]), None];
        assert_eq!(Job::parse("2:2:3:4:10:11,12,13:20+21+22+23,24+25+26+27,-"), Ok(Job { streams, ..job }));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(Job::parse("1:0:1:1:3:4"), Err(JobError::Version(1)));
        assert_eq!(Job::parse("2:0:1:1:3"), Err(JobError::Field("segment files")));
        assert_eq!(Job::parse("2:1:1:1:3:4"), Err(JobError::Shape { rank: 1, size: 1, files: 1 }));
        assert_eq!(Job::parse("2:0:2:1:3:4"), Err(JobError::Shape { rank: 0, size: 2, files: 1 }));
        assert_eq!(Job::parse("2:x:1:1:3:4"), Err(JobError::Field("rank")));
    }

    #[test]
    fn refuses_sockets_that_do_not_connect_all() {
        let parse = |streams: &str| Job::parse(&format!("2:1:2:1:3:4,5:{streams}"));
        assert!(parse("6+7+8+9,-").is_ok());
        for malformed in ["", "6+7+8,-", "6+7+8+9+10,-", "6+7+8+x,-", "6,-"] {
            assert_eq!(parse(malformed), Err(JobError::Field("sockets")), "{malformed:?}");
        }
        for wrong in ["-", "-,-", "-,6+7+8+9", "6+7+8+9,6+7+8+9", "6+7+8+9", "6+7+8+9,-,-"] {
            assert_eq!(parse(wrong), Err(JobError::Streams { rank: 1, size: 2 }), "{wrong:?}");
        }
        assert_eq!(parse("6+7+8+9,-:1"), Err(JobError::Field("end")));
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
}
