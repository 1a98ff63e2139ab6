//! Memory-based operations (`dsm.h`, `dsm.hpp`, module `dsm`): counts are exactly right, order is kept, and calls that cannot be carried out end in one message, over shared memory
//! and where no memory of another process is mapped.

use super::case::Case;
use dsm_tests::toolchain;

const COUNTS: &str = include_str!("../operations/counts.c");
const QUEUES: &str = include_str!("../operations/queues.c");
const BUNDLES: &str = include_str!("../operations/bundles.c");
const SIGNALS: &str = include_str!("../operations/signals.c");
const POSTED: &str = include_str!("../operations/posted.c");
const BAD: &str = include_str!("../operations/bad.c");

const LAYOUTS: [&str; 3] = ["-n 2", "-n 2 -t 2", "-n 4"];
const TRANSPORTS: [&str; 2] = ["shm", "stream:7"];

/// Compiles a program and runs it in all layouts over all transports; it verifies itself.
fn check(case: &Case, program: &str, arguments: &str) {
    for transport in TRANSPORTS {
        for layout in LAYOUTS {
            let run = case.dsm.run.display();
            let line = format!("DSM_TRANSPORT={transport} {run} {layout} ./{program} {arguments}");
            assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
        }
    }
}

/// The same for a program by its text, and as a process that no launcher has started.
fn check_all(program: &str, text: &str, arguments: &str) {
    let Some(case) = Case::new(program, &[(&format!("{program}.c"), text)]) else { return };
    case.compiled(&format!("-O2 -fopenmp ../{program}.c -o {program}"));
    check(&case, program, arguments);
    let line = format!("OMP_NUM_THREADS=2 ./{program} {arguments}");
    assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
}

#[test]
fn each_operation_is_executed_once() {
    let Some(case) = Case::new("counts", &[("counts.c", COUNTS)]) else { return };
    case.compiled("-O2 -fopenmp ../counts.c -o counts");
    check(&case, "counts", "2000");
    // Traces name the calls.
    let line = format!("DSM_TRANSPORT=stream {} --trace trace -n 2 ./counts 100", case.dsm.run.display());
    assert_eq!(case.run("dsm", "env", &line).text(), "verified\n", "{line}");
    let trace = std::fs::read(case.root.join("dsm/trace")).expect("a trace was written");
    assert!(String::from_utf8_lossy(&trace).contains("request batch"), "{line}");
}

/// What the test above counts, 10^7 times by each of eight processes.
#[test]
#[ignore = "takes minutes"]
fn nothing_is_lost_of_many_operations() {
    let Some(case) = Case::new("counts-many", &[("counts.c", COUNTS)]) else { return };
    case.compiled("-O2 -fopenmp ../counts.c -o counts");
    for transport in TRANSPORTS {
        let line =
            format!("DSM_TRANSPORT={transport} {} -n 8 -t 1 ./counts 10000000", case.dsm.run.display());
        assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
    }
}

#[test]
fn queues_keep_the_order_of_who_pushes() {
    let Some(case) = Case::new("queues", &[("queues.c", QUEUES)]) else { return };
    case.compiled("-O2 -fopenmp ../queues.c -o queues");
    check(&case, "queues", "100");
}

#[test]
fn bundles_are_one() {
    check_all("bundles", BUNDLES, "30");
}

#[test]
fn signals_run_functions_where_the_data_is() {
    check_all("signals", SIGNALS, "200");
}

/// `omp atomic` without capture is posted where that spares messages, and nobody can tell; and it is not if that is switched off.
#[test]
fn atomics_without_capture_are_posted() {
    let Some(case) = Case::new("posted", &[("posted.c", POSTED)]) else { return };
    case.compiled("-O2 -fopenmp ../posted.c -o posted");
    check(&case, "posted", "3");
    for (post, layout) in [(1, "-n 2"), (1, "-n 2 -t 2"), (0, "-n 2")] {
        let run = case.dsm.run.display();
        let line = format!(
            "DSM_TRANSPORT=stream DSM_STATS=counters.json DSM_POST_ATOMICS={post} {run} {layout} ./posted 2 sign{post}{}",
            layout.len()
        );
        assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
        let counters = std::fs::read(case.root.join("dsm/counters.json")).expect("counters were written");
        let counters: serde_json::Value = serde_json::from_slice(&counters).expect("JSON");
        let posted = counters["counters"]["atomics_posted"][1].as_u64().expect("a number");
        // In each round a thread makes some 12000 additions that nobody is told of in between.
        assert_eq!(posted > 10_000, post == 1, "{line}: {posted}");
    }
}

/// With another compiler the functions of the header are those of one process.
#[test]
fn other_compilers_have_them_too() {
    let sources =
        [("counts.c", COUNTS), ("queues.c", QUEUES), ("bundles.c", BUNDLES), ("signals.c", SIGNALS)];
    let Some(case) = Case::new("plain", &sources) else { return };
    let headers = toolchain::workspace().join("runtime/include");
    for program in ["counts", "queues", "bundles", "signals"] {
        case.native(&format!("-O2 -fopenmp -I{} ../{program}.c -o {program}", headers.display()));
        assert_eq!(case.must("clang", "env", &format!("OMP_NUM_THREADS=2 ./{program} 100")), "verified\n");
    }
}

#[test]
fn cxx_and_fortran_have_them_too() {
    let sources = [
        ("face.cpp", include_str!("../operations/face.cpp")),
        ("face.f90", include_str!("../operations/face.f90")),
    ];
    let Some(case) = Case::new("faces", &sources) else { return };
    case.must("dsm", &case.dsm.cxx, "-O2 -Wall -Wextra -Werror -fopenmp ../face.cpp -o cxx");
    case.must("dsm", &case.dsm.fc, "-O2 -fopenmp ../face.f90 -o fortran");
    for program in ["cxx", "fortran"] {
        for transport in TRANSPORTS {
            let line = format!("DSM_TRANSPORT={transport} {} -n 2 ./{program}", case.dsm.run.display());
            assert_eq!(case.must("dsm", "env", &line).trim(), "verified", "{line}");
        }
    }
}

#[test]
fn a_call_that_cannot_be_carried_out_ends_in_a_message() {
    let Some(case) = Case::new("bad", &[("bad.c", BAD)]) else { return };
    case.compiled("-O2 -fopenmp ../bad.c -o bad");
    for (what, function, cause) in [
        ("private", "process 0: dsm_add of 0x", "nothing that is private"),
        ("null", "dsm_add of 0x0", "memory that processes share"),
        ("misaligned", "dsm_add of 0x", "not a multiple of the size of its operand"),
        ("read", "dsm_read of 0x", "memory that processes share"),
        ("write", "dsm_write of 0x", "1099511627776 bytes there are not, or not all"),
        ("flag", "dsm_write_flag of 0x", "memory that processes share"),
        ("capacity", "dsm_fifo_create(0, 8)", "space for one element at least"),
        ("element", "dsm_fifo_create(8, 100000)", "of 1 to 65536 bytes"),
        ("pointer", "dsm_fifo_pop of 0x", "none that dsm_fifo_create returned"),
        ("destroyed", "process 1: dsm_fifo_push of 0x", "it was destroyed"),
        ("twice", "process 1: dsm_fifo_destroy of 0x", "it was destroyed"),
        ("unregistered", "dsm_signal: 0x", "no function that was registered"),
        ("function", "dsm_register: ", "a null pointer"),
        ("inside", "process 1: dsm_register: ", "inside a parallel region"),
        ("place", "dsm_signal of 0x", "nothing that is private"),
        ("argument", "dsm_signal: ", "an argument of 65 bytes; it has 64 at most"),
        ("process", "dsm_signal_process: there is no process 2", "0 to 1"),
        ("negative", "dsm_signal_process: there is no process -1", "0 to 1"),
        ("locks", "process 1: a function that dsm_signal has called came to a lock", "nothing that waits"),
        ("meets", "process 1: a function that dsm_signal has called came to a barrier", "nothing that waits"),
        ("forks", "process 1: a function that dsm_signal has called came to a parallel region", "waits"),
        ("signals", "a function that dsm_signal has called came to dsm_signal", "nothing that waits"),
        ("handle", "dsm_wait: 0x1, 0x0 is no handle", "what dsm_posted or dsm_signal returned"),
        ("foreign", "process 1: dsm_test: the handle is of process 0", "in the process that called it"),
        ("open", "dsm_bundle_begin between dsm_bundle_begin and", "end it first"),
        ("end", "dsm_bundle_end without dsm_bundle_begin", "in the same thread"),
        ("fetch", "dsm_add between dsm_bundle_begin and", "posted operations on single variables only"),
        ("blocks", "dsm_bundle_end of 0x", "lie in one block"),
        ("many", "dsm_bundle_end of 0x", "at most 64 operations, this one has 65"),
    ] {
        for transport in TRANSPORTS {
            let line = format!("DSM_TRANSPORT={transport} {} -n 2 ./bad {what}", case.dsm.run.display());
            let outcome = case.run("dsm", "env", &line);
            let errors: Vec<String> = outcome
                .errors()
                .lines()
                .filter(|l| l.starts_with("dsm: error: "))
                .map(str::to_owned)
                .collect();
            let [message] = &errors[..] else { panic!("{line}: {errors:?}") };
            assert_eq!(outcome.status, Some(1), "{line}");
            assert!(message.contains(function) && message.contains(cause), "{line}: {message}");
        }
    }
}
