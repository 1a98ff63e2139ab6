//! Programs over libfabric (`DSM_TRANSPORT=ofi`), by its provider for TCP: some of [`super::differential`]'s, each in one configuration of several
//! processes. `-- --ignored ofi` takes all programs. Where the library is not installed (Debian: libfabric1), the tests say so and
//! pass.

use dsm_tests::{differential, program};

use super::stream::{TOO_MANY_MESSAGES, configuration};

const TRANSPORT: &str = "ofi:tcp;ofi_rxm";

/// Whether the library can be loaded.
fn is_installed() -> bool {
    // SAFETY: its constructors expect nothing of this process.
    let library = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        println!("skipped: libfabric.so.1 cannot be loaded");
    }
    !library.is_null()
}

fn check(names: &[String]) {
    if !is_installed() {
        return;
    }
    let all = program::all_names();
    let mut failures = Vec::new();
    for name in names {
        let number = all.iter().position(|other| other == name).expect("a program");
        let mut program = program::Program::load(name);
        program.environment.push(("DSM_TRANSPORT".into(), TRANSPORT.into()));
        // Every other one with bulk reads by the provider.
        program.environment.push(("DSM_BULK_READ".into(), (number % 2).to_string()));
        failures.extend(differential::check(&program, &[configuration(number)]));
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn some_programs() {
    check(&["locks", "tasks", "shared_streams"].map(str::to_owned));
}

#[test]
#[ignore = "takes minutes"]
fn all_programs() {
    let mut names = program::all_names();
    names.retain(|name| !TOO_MANY_MESSAGES.contains(&name.as_str()));
    check(&names);
}
