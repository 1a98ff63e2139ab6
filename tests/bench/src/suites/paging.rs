//! Programs that need more memory than they may have (`programs/paging.c`): with a limit of `dsm-run --memory`, against plain OpenMP with enough memory, and, where this user can make
//! a control group of memory, against the same in such a group: with swap space, if there is any, and with its data in a mapped file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsm_tests::{execute, toolchain};

use super::row;
use crate::bench::{Bench, Contender, FLAGS, Layout, figure, last_number, output, show};
use crate::report::Row;

pub const NAME: &str = "paging";
pub const ABOUT: &str = "Programs with data of half, once, twice and four times the memory of 256 MB that they may have; against the same without a limit, plain OpenMP with as much as it needs, and against swap space \
                         and a mapped file in a control group with this limit; reading from disk in order against fio. Data of twice the memory that 2 and 4 processes read: against the same without cooperation.";

const SOURCE: &str = "tests/bench/programs/paging.c";
const KERNELS: [&str; 5] = ["triad", "sum", "updates", "sort", "cg"];
/// Kernels in which all processes read the same data.
const SHARING: [&str; 2] = ["scan", "lookups"];
/// Processes of one thread that they run on.
const PROCESSES: [u32; 2] = [2, 4];
/// Data that they read: twice the memory, MB.
const SHARED_DATA: usize = 2 * MEMORY;
/// Memory, MB.
const MEMORY: usize = 256;
/// Data as a part of it, percent.
const SIZES: [usize; 4] = [50, 100, 200, 400];
const LAYOUT: Layout = Layout { processes: 1, threads: 2 };
/// What wakes threads often has the system put them all on one core for some milliseconds, which is long for data that fits.
const BOUND: [(&str, &str); 1] = [("OMP_PROC_BIND", "true")];
/// Reading in order from disk, against fio.
const BANDWIDTH: &str = "bandwidth";
/// Data that is read for it: four times the memory, MB.
const BANDWIDTH_DATA: usize = 4 * MEMORY;
/// Bytes of what the counter of pages counts.
const PAGE_BYTES: f64 = 4096.0;

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let all: Vec<&'static str> = KERNELS.into_iter().chain(SHARING).chain([BANDWIDTH]).collect();
    let names = bench.wanted(NAME, &all)?;
    let source = toolchain::workspace().join(SOURCE);
    let ours = bench.compile(&source, &bench.compiler(), FLAGS)?;
    let plain = bench.compile(&source, &toolchain::clang(), FLAGS)?;
    let group = match Group::create() {
        Ok(group) => Some(group),
        Err(why) => {
            eprintln!("dsm-bench: {NAME}: not compared with swap space and mapped files: {why}");
            None
        }
    };
    for kernel in names {
        if kernel == BANDWIDTH {
            bandwidth(bench, rows, &ours)?;
            continue;
        }
        if SHARING.contains(&kernel) {
            PROCESSES.into_iter().try_for_each(|processes| share(bench, rows, &ours, kernel, processes))?;
            continue;
        }
        for size in SIZES {
            let programs = (&*ours, &*plain);
            // The system may kill a program at the limit though there is swap space.
            if let Err(why) = measure(bench, rows, programs, group.as_ref(), kernel, size) {
                if group.is_none() {
                    return Err(why);
                }
                eprintln!("dsm-bench: {NAME}: {kernel} is not compared within the limit: {why}");
                measure(bench, rows, programs, None, kernel, size)?;
            }
        }
    }
    Ok(())
}

/// Time to bring a gigabyte from disk in order: of a sum that reads its data three times, and of fio in the same directory, if there is one.
fn bandwidth(bench: &Bench, rows: &mut Vec<Row>, ours: &Path) -> Result<(), String> {
    if Command::new("fio").arg("--version").output().is_err() {
        eprintln!("dsm-bench: {NAME}: {BANDWIDTH} is left out: there is no fio (Debian: apt install fio)");
        return Ok(());
    }
    let sum = {
        let (ours, launcher, directory) = (ours.to_owned(), bench.dsm.run.clone(), bench.directory.clone());
        move || {
            let mut command = limited(&launcher, &directory, LAYOUT);
            command.arg("-s").arg(&ours).args(["sum", &BANDWIDTH_DATA.to_string()]);
            execute::hide_own_variables(&mut command);
            command.envs(BOUND);
            let (text, statistics) = output(&mut command)?;
            let seconds = last_number(&text, "sum").ok_or("the sum says nothing")?;
            let pages = last_number(&statistics, "paging_pages_read ").ok_or("there are no counters")?;
            Ok(vec![seconds / (pages * PAGE_BYTES / 1e9)])
        }
    };
    let file = bench.directory.join("fio-data");
    let data = file.clone();
    let fio = move || {
        let mut command = Command::new("fio");
        command.args([
            "--name=read",
            "--rw=read",
            "--bs=1M",
            "--iodepth=4",
            "--ioengine=io_uring",
            "--direct=1",
        ]);
        command.args([format!("--filename={}", data.display()), format!("--size={BANDWIDTH_DATA}M")]);
        // Terse lines: field 6 is the bandwidth of reads, KiB/s.
        command.args(["--output-format=terse", "--terse-version=3"]);
        let text = output(&mut command)?.0;
        let field = text.lines().find_map(|line| line.split(';').nth(6)?.parse::<f64>().ok());
        let bandwidth = field.filter(|bandwidth| *bandwidth > 0.0);
        bandwidth
            .map(|kib| vec![1e9 / (kib * 1024.0)])
            .ok_or_else(|| format!("fio says no bandwidth:\n{text}"))
    };
    let samples = bench.alternate(&[
        Contender { label: format!("sum of {BANDWIDTH_DATA} MB, limited"), run: Box::new(sum) },
        Contender { label: format!("fio, {BANDWIDTH_DATA} MB"), run: Box::new(fio) },
    ]);
    _ = fs::remove_file(&file);
    let samples = samples?;
    let row = row(NAME, BANDWIDTH, &LAYOUT.name(), "s/GB", &samples[0][0], ("fio", &samples[1][0]));
    show(&row);
    rows.push(row);
    Ok(())
}

/// Processes that give each other what they have in memory, against the same that read it from disk each.
fn share(
    bench: &Bench,
    rows: &mut Vec<Row>,
    ours: &Path,
    kernel: &'static str,
    processes: u32,
) -> Result<(), String> {
    let contender = |cooperation: u32| {
        let (ours, launcher, directory) = (ours.to_owned(), bench.dsm.run.clone(), bench.directory.clone());
        let run = move || {
            let mut command = limited(&launcher, &directory, Layout { processes, threads: 1 });
            command.arg(&ours).args([kernel, &SHARED_DATA.to_string()]);
            execute::hide_own_variables(&mut command);
            command.env("DSM_COOPERATION", cooperation.to_string());
            figure(&mut command, kernel)
        };
        let label = format!("{kernel} of {SHARED_DATA} MB, {processes} processes, cooperation {cooperation}");
        Contender { label, run: Box::new(run) }
    };
    let samples = bench.alternate(&[contender(1), contender(0)])?;
    let layout = Layout { processes, threads: 1 };
    let row = row(NAME, kernel, &layout.name(), "s", &samples[0][0], ("no cooperation", &samples[1][0]));
    show(&row);
    rows.push(row);
    Ok(())
}

/// The launcher with the limit.
fn limited(launcher: &Path, directory: &Path, layout: Layout) -> Command {
    let mut command = Command::new(launcher);
    let (processes, threads) = (layout.processes.to_string(), layout.threads.to_string());
    command.args(["-n", &processes, "-t", &threads, "--memory", &format!("{MEMORY}M"), "--spill"]);
    command.arg(directory);
    command
}

fn measure(
    bench: &Bench,
    rows: &mut Vec<Row>,
    (ours, plain): (&Path, &Path),
    group: Option<&Group>,
    kernel: &'static str,
    size: usize,
) -> Result<(), String> {
    let megabytes = (MEMORY * size / 100).to_string();
    let contender = |how: &str, make: Box<dyn Fn() -> Command>| Contender {
        label: format!("{kernel} of {megabytes} MB, {how}"),
        run: Box::new(move || {
            let mut command = make();
            execute::hide_own_variables(&mut command);
            command.env("OMP_NUM_THREADS", LAYOUT.threads.to_string()).envs(BOUND);
            figure(&mut command, kernel)
        }),
    };
    let arguments = [kernel.to_owned(), megabytes.clone()];
    let command = {
        let (ours, arguments) = (ours.to_owned(), arguments.clone());
        let directory = bench.directory.clone();
        let launcher = bench.dsm.run.clone();
        move || {
            let mut command = limited(&launcher, &directory, LAYOUT);
            command.arg(&ours).args(&arguments);
            command
        }
    };
    let mut contenders = vec![contender("limited", Box::new(command))];
    let mut against = vec!["no-limit", "memory"];
    let (ours, launcher, words) = (ours.to_owned(), bench.dsm.run.clone(), arguments.clone());
    contenders.push(contender(
        "no limit",
        Box::new(move || {
            let mut command = Command::new(&launcher);
            command.args(["-n", "1", "-t", &LAYOUT.threads.to_string()]).arg(&ours).args(&words);
            command
        }),
    ));
    let unlimited = plain.to_owned();
    let words = arguments.clone();
    contenders.push(contender(
        "as much memory as it needs",
        Box::new(move || {
            let mut command = Command::new(&unlimited);
            command.args(&words);
            command
        }),
    ));
    if let Some(group) = group {
        let mapped = bench.directory.join("paging-data").display().to_string();
        let ways = [("swap", None), ("mapped-file", Some(mapped))];
        for (name, file) in ways.into_iter().filter(|(name, _)| *name != "swap" || has_swap()) {
            against.push(name);
            let (plain, words, join) = (plain.to_owned(), arguments.clone(), group.join());
            contenders.push(contender(
                name,
                Box::new(move || {
                    let mut command = join(&plain);
                    command.args(&words).args(&file);
                    command
                }),
            ));
        }
    }
    let samples = bench.alternate(&contenders)?;
    for (reference, sample) in against.iter().zip(&samples[1..]) {
        let name = format!("{kernel}/{size}%/{reference}");
        let row = row(NAME, &name, &LAYOUT.name(), "s", &samples[0][0], (reference, &sample[0]));
        show(&row);
        rows.push(row);
    }
    Ok(())
}

/// Whether there is swap space.
fn has_swap() -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

/// A control group with the limit. It is removed when it goes out of scope.
struct Group(PathBuf);

impl Group {
    /// Makes one, of the second version of control groups or the first.
    fn create() -> Result<Group, String> {
        let ways = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        let mut why = String::from("there are no control groups of memory");
        for (root, limit) in ways {
            if !Path::new(root).join("cgroup.procs").exists() {
                continue;
            }
            let group = Group(Path::new(root).join(format!("dsm-bench-{}", std::process::id())));
            let made = fs::create_dir(&group.0)
                .and_then(|()| fs::write(group.0.join(limit), (MEMORY << 20).to_string()));
            match made {
                Ok(()) => return Ok(group),
                Err(error) => why = format!("{}: {error}", group.0.display()),
            }
        }
        Err(why)
    }

    /// Commands for programs in the group.
    fn join(&self) -> impl Fn(&Path) -> Command + use<> {
        let members = self.0.join("cgroup.procs");
        move |program| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", r#"echo $$ > "$0" && exec "$@""#]).arg(&members).arg(program);
            command
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        _ = fs::remove_dir(&self.0);
    }
}
