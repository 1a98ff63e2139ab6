//! Memory larger than DRAM (`dsm-run --memory`): programs with more data than memory verify, in one process and several, over shared memory and messages; what is wrong ends in one message.

use dsm_tests::execute::Scratch;

use super::case::Case;
use super::hosts;

const MIXED: &str = include_str!("../paging/mixed.c");
const SORT: &str = include_str!("../../examples/larger_than_memory.c");
const KERNELS: &str = include_str!("../bench/programs/paging.c");

fn compiled(case: &Case, program: &str) {
    case.compiled(&format!("-O2 -fopenmp ../{program}.c -o {program}"));
}

/// A counter in the table that a run has written to `table.json`, by process.
fn counters(case: &Case, name: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(case.root.join("dsm/table.json")).expect("a table was written");
    let table: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let values = table["counters"][name].as_array().unwrap_or_else(|| panic!("no {name} in {text}"));
    values.iter().map(|value| value.as_u64().expect("a number")).collect()
}

/// As [`counters`], of process 0.
fn counter(case: &Case, name: &str) -> u64 {
    counters(case, name)[0]
}

#[test]
fn data_that_does_not_fit_is_right() {
    let Some(case) = Case::new("paging-mixed", &[("mixed.c", MIXED)]) else { return };
    // Smaller blocks than usual need shorter lines.
    case.compiled("-O2 -fopenmp -fdsm-line=1024 ../mixed.c -o mixed");
    let run = case.dsm.run.display();
    for (variables, layout) in [
        ("DSM_TRANSPORT=auto", "-n 1 -t 2"),
        ("DSM_TRANSPORT=shm", "-n 2 -t 2"),
        ("DSM_TRANSPORT=shm DSM_BLOCK=1024", "-n 3"),
        ("DSM_TRANSPORT=stream", "-n 2 -t 2"),
        ("DSM_REPLACEMENT=second-chance", "-n 2"),
    ] {
        let line = format!("{variables} {run} {layout} --memory 16M --spill . --stats=table.json ./mixed");
        assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
        let least = 100;
        for name in ["paging_pages_read", "paging_pages_written"] {
            assert!(counter(&case, name) > least, "{line}: {name}");
        }
        // All processes store to all of the globals, whose twins take more than the memory.
        if !layout.starts_with("-n 1") {
            let sum = |name| counters(&case, name).iter().sum::<u64>();
            assert!(sum("twin_bytes_peak") > 20 << 20, "{line}");
            assert!(sum("paging_pages_discarded") > least, "{line}");
            let resident = counters(&case, "segment_bytes_resident");
            assert!(resident.iter().all(|bytes| *bytes < 17 << 20), "{line}: {resident:?}");
        }
    }
    assert_eq!(std::fs::read_dir(case.root.join("dsm")).expect("a directory").count(), 2, "files are left");
}

#[test]
fn kernels_go_through_their_data() {
    let Some(case) = Case::new("kernels", &[("kernels.c", KERNELS)]) else { return };
    compiled(&case, "kernels");
    let run = case.dsm.run.display();
    for kernel in ["triad", "sort"] {
        let line = format!("{run} -n 2 --memory 16M --spill . ./kernels {kernel} 40");
        assert!(case.must("dsm", "env", &line).starts_with(kernel), "{line}");
    }
    // What fits stays.
    let line = format!("{run} -n 1 -t 2 --memory 64M --spill . --stats=table.json ./kernels triad 40");
    case.must("dsm", "env", &line);
    assert_eq!((counter(&case, "paging_pages_read"), counter(&case, "paging_pages_written")), (0, 0));
}

/// The example, over shared memory and on two hosts.
#[test]
fn a_sort_goes_through_its_data() {
    let Some(case) = Case::new("sort", &[("sort.c", SORT)]) else { return };
    compiled(&case, "sort");
    let directory = Scratch::directory("paging-hosts");
    for layout in ["-n 1 -t 2", "-n 2", &hosts::options(&directory, "127.0.0.1:1,127.0.0.2:1")] {
        let line =
            format!("{} {layout} --memory 16M --spill . --stats=table.json ./sort", case.dsm.run.display());
        assert!(case.must("dsm", "env", &line).ends_with("verified\n"), "{line}");
        assert!(counters(&case, "paging_pages_read").iter().sum::<u64>() > 1000, "{line}");
    }
}

/// Data that all processes read comes from the others' memory; between hosts, too.
#[test]
fn processes_give_each_other_what_they_have() {
    let Some(case) = Case::new("cooperation", &[("kernels.c", KERNELS)]) else { return };
    compiled(&case, "kernels");
    let directory = Scratch::directory("cooperation");
    let run = case.dsm.run.display();
    let two_hosts = hosts::options(&directory, "127.0.0.1:2,127.0.0.2:1");
    for (variables, layout, kernel) in [
        ("DSM_TRANSPORT=shm", "-n 2", "scan"),
        ("DSM_TRANSPORT=shm", "-n 4", "lookups"),
        ("DSM_TRANSPORT=stream", "-n 2", "scan"),
        ("DSM_TRANSPORT=auto", &two_hosts, "scan"),
    ] {
        for cooperation in [1, 0] {
            let line = format!(
                "{variables} DSM_COOPERATION={cooperation} {run} {layout} --memory 16M --spill . --stats=table.json ./kernels {kernel} 40"
            );
            assert!(case.must("dsm", "env", &line).starts_with(kernel), "{line}");
            let copied: u64 = counters(&case, "paging_pages_copied").iter().sum();
            assert_eq!(copied > 50, cooperation == 1, "{line}: {copied}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let Some(case) = Case::new("wrong", &[("kernels.c", KERNELS)]) else { return };
    compiled(&case, "kernels");
    let run = case.dsm.run.display();
    let fails = |program: &str, arguments: &str, status: i32, parts: &[&str]| {
        let outcome = case.run("dsm", program, arguments);
        let errors = outcome.errors();
        assert_eq!(outcome.status, Some(status), "{program} {arguments}: {errors}");
        assert_eq!(errors.matches("error:").count(), 1, "{program} {arguments}: {errors}");
        parts.iter().for_each(|part| assert!(errors.contains(part), "{program} {arguments}: {errors}"));
    };
    fails(
        "env",
        &format!("{run} -n 2 --memory 16M --spill missing ./kernels sum 40"),
        1,
        &["cannot make a file in", "missing", "--spill"],
    );
    fails("env", &format!("{run} --memory 1M ./kernels sum 40"), 2, &["16M"]);
    fails("env", &format!("{run} --memory many ./kernels sum 40"), 2, &["2G"]);
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("not tested: a full file system, which only root can mount");
    }
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size=8m none small && {run} -n 1 --memory 16M --spill small ./kernels triad 60"
    );
    std::fs::write(case.root.join("dsm/full"), script).expect("a script is written");
    fails("unshare", "-m sh -e full", 1, &["is full", "--spill", "--memory"]);
}
