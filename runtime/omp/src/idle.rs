//! Says so where processes of the job are going to have nothing to do. Once, in process 0.

use std::sync::atomic::{AtomicBool, Ordering};

use super::frame::Icv;
use crate::image::{self, Serial};
use crate::{config, sync};

/// At the start: a program without OpenMP has no work for other processes.
pub fn report_missing_openmp() {
    if sync::size() == 1 {
        return;
    }
    let Some(Serial { directive }) = image::serial() else { return };
    let (program, size) = (image::program(), sync::size());
    let what = format!(
        "dsm: warning: {} has no OpenMP in it, so that only process 0 of {size} works",
        program.display()
    );
    match directive {
        Some((file, line)) => eprintln!(
            "{what}: the directives in its sources (such as {file}:{line}) were compiled without -fopenmp; add it to the compiler's options"
        ),
        None => eprintln!("{what}; start one process"),
    }
}

/// At a region of all processes whose team has the default size: the environment may have made it smaller than the job. What the program itself asks
/// for is no matter of this.
#[inline]
pub fn check_team(size: u32, icv: &Icv) {
    if size < sync::size() {
        report_small_team(size, icv);
    }
}

#[cold]
fn report_small_team(size: u32, icv: &Icv) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    let Some(cause) = cause(size, icv, config::get()) else { return };
    if !REPORTED.swap(true, Ordering::Relaxed) {
        let (all, idle) = (sync::size(), sync::size() - size);
        eprintln!(
            "dsm: warning: {cause}={size} gives teams of {size} to a job of {all} processes, {idle} of which will have nothing to do; unset it, \
             or set it to the threads of all processes together"
        );
    }
}

/// The variable that bounds the team, if it is one.
fn cause(size: u32, icv: &Icv, config: &config::Config) -> Option<&'static str> {
    if config.num_threads.first() == Some(&size) && icv.threads == size {
        return Some("OMP_NUM_THREADS");
    }
    (config.thread_limit == size).then_some("OMP_THREAD_LIMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_environment_is_a_cause() {
        let config = |num_threads: &[u32], thread_limit| config::Config {
            num_threads: num_threads.to_vec(),
            thread_limit,
            ..config::Config::default()
        };
        let set = |threads| Icv { threads, ..Icv::initial() };
        assert_eq!(cause(1, &set(1), &config(&[1], 9)), Some("OMP_NUM_THREADS"));
        assert_eq!(cause(1, &set(0), &config(&[], 1)), Some("OMP_THREAD_LIMIT"));
        // The program called omp_set_num_threads.
        assert_eq!(cause(1, &set(1), &config(&[], 9)), None);
        assert_eq!(cause(1, &set(1), &config(&[4], 9)), None);
    }
}
