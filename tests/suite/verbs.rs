//! What `DSM_TRANSPORT=verbs` says where there is no RDMA device. What it does where there is one is tested by `tools/soft-roce.sh`.

use super::case::Case;

/// Names a device that no host has, so that the test is the same everywhere.
#[test]
fn a_job_without_a_device_ends_with_one_message() {
    let Some(case) = Case::program("verbs") else { return };
    case.compiled("-O2 -fopenmp ../main.c ../part.c -o x");
    let run = format!("DSM_TRANSPORT=verbs:no_such_device {} -n 3 ./x", case.dsm.run.display());
    let outcome = case.run("dsm", "/usr/bin/env", &run);
    let message = outcome.errors();
    assert_eq!((outcome.status, outcome.text()), (Some(1), String::new()), "{message}");
    assert_eq!(message.matches("DSM_TRANSPORT=verbs: ").count(), 1, "{message}");
    assert!(
        message.contains("without DSM_TRANSPORT") || message.contains("leave DSM_TRANSPORT out"),
        "{message}"
    );
}
