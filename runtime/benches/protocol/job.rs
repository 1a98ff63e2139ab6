//! Starts a job of copies of this program, as the launcher would.

use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::time::Duration;

use dsm_abi::job::{JOB_VARIABLE, JOB_VERSION};
use dsm_abi::progress::JOB_FILE_BYTES;
use dsm_comm::segment::MemoryFile;
use dsm_job::{Job, JobPage};
use dsm_rt::control::{self, Declaration};
use dsm_rt::{memory, start, sync};

const ROW: &str = "PROTOCOL_BENCH_ROW";

/// In a process of a job: sets up memory, control words of the caller included, and returns the row to measure.
pub fn from_environment(words: &[&'static Declaration]) -> Option<String> {
    let row = std::env::var(ROW).ok()?;
    let job = Job::from_environment().expect("the job was described by `start`");
    JobPage::init(&job).expect("the page can be mapped");
    start::register();
    start::place_control_words();
    control::place(words);
    memory::init(&job).expect("memory can be set up");
    sync::init(job.size);
    sync::user_threads_enter();
    Some(row)
}

/// Runs one row on `processes` processes with blocks of `block` bytes; panics if one fails.
pub fn start(row: &str, processes: u32, block: usize) {
    let inherit = |file: &MemoryFile| {
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: clears the close-on-exec flag of an own descriptor.
        assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }, 0);
        fd
    };
    let page = MemoryFile::create("dsm-job").expect("a memory file");
    page.set_size(JOB_FILE_BYTES as u64).expect("a page");
    let segments: Vec<MemoryFile> =
        (0..processes).map(|_| MemoryFile::create("dsm-seg").expect("a memory file")).collect();
    let files: Vec<String> = segments.iter().map(|f| inherit(f).to_string()).collect();
    let mut children: Vec<Child> = (0..processes)
        .map(|rank| {
            let last = processes - 1;
            let job =
                format!("{JOB_VERSION}:{rank}:{processes}:1:0-{last}:{}:{}", inherit(&page), files.join(","));
            Command::new(std::env::current_exe().expect("own path"))
                .env(ROW, row)
                .env(JOB_VARIABLE, job)
                .env("DSM_BLOCK", block.to_string())
                .spawn()
                .expect("a copy of this program starts")
        })
        .collect();
    while !children.is_empty() {
        std::thread::sleep(Duration::from_millis(20));
        let mut failed = false;
        children.retain_mut(|child| {
            let ended = child.try_wait().expect("a child");
            failed |= ended.is_some_and(|status| !status.success());
            ended.is_none()
        });
        if failed {
            // The others may be waiting for it.
            for child in &mut children {
                _ = child.kill();
                _ = child.wait();
            }
            panic!("a process of row {row} failed");
        }
    }
}
