//! Memory-based operations (`dsm.h`, `dsm.hpp`, module `dsm`): counts are exactly right, order is kept, and calls that cannot be carried out end in one message, over shared memory
//! and where no memory of another process is mapped.

use super::case::Case;
use dsm_tests::toolchain;

const COUNTS: &str = include_str!("../operations/counts.c");
const QUEUES: &str = include_str!("../operations/queues.c");
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

#[test]
fn queues_keep_the_order_of_who_pushes() {
    let Some(case) = Case::new("queues", &[("queues.c", QUEUES)]) else { return };
    case.compiled("-O2 -fopenmp ../queues.c -o queues");
    check(&case, "queues", "100");
}

/// With another compiler the functions of the header are those of one process.
#[test]
fn other_compilers_have_them_too() {
    let Some(case) = Case::new("plain", &[("counts.c", COUNTS), ("queues.c", QUEUES)]) else { return };
    let headers = toolchain::workspace().join("runtime/include");
    for program in ["counts", "queues"] {
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
        ("capacity", "dsm_fifo_create(0, 8)", "room for one element at least"),
        ("element", "dsm_fifo_create(8, 100000)", "of 1 to 65536 bytes"),
        ("pointer", "dsm_fifo_pop of 0x", "none that dsm_fifo_create returned"),
        ("destroyed", "process 1: dsm_fifo_push of 0x", "it was destroyed"),
        ("twice", "process 1: dsm_fifo_destroy of 0x", "it was destroyed"),
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
