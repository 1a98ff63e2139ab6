//! Names of the C library that a program must not give to functions of its own.
//!
//! ISO C leaves POSIX's names to programs. With a C library in a shared object that does no harm: it calls its functions by
//! other names. The runtime is linked into the program, so that its calls would reach the program's function.
//!
//! A call of a function that another module defines is taken for one of the C library's function of the name and the type, if the runtime replaces that. Most of these do not synchronise, and neither may
//! the program's: the caller goes on with what it has checked.

use std::collections::HashSet;

use crate::llvm::{Linkage, Module, Opcode, Severity, Value};

use super::callee::{Callee, callee, replaced};
use super::sync::calls_back;
use super::{openmp, order};

/// What the runtime calls and ISO C does not reserve.
const CALLED: &[&str] = &[
    "backtrace",
    "clock_gettime",
    "clock_nanosleep",
    "close",
    "dl_iterate_phdr",
    "dladdr",
    "dlsym",
    "dup",
    "dup2",
    "fcntl",
    "fdopen",
    "fileno",
    "flock",
    "fopencookie",
    "fork",
    "fseeko",
    "fstat",
    "fstat64",
    "ftello",
    "ftruncate",
    "ftruncate64",
    "getauxval",
    "getcwd",
    "getdelim",
    "getpid",
    "getppid",
    "getrandom",
    "gettid",
    "ioctl",
    "kill",
    "lseek",
    "lseek64",
    "madvise",
    "memfd_create",
    "mlock",
    "mmap",
    "mmap64",
    "mprotect",
    "mremap",
    "msync",
    "munlock",
    "munmap",
    "open64",
    "openat64",
    "pclose",
    "pipe2",
    "poll",
    "popen",
    "pread",
    "pread64",
    "preadv",
    "pwrite64",
    "pwritev",
    "read",
    "readlink",
    "readv",
    "realpath",
    "sched_getaffinity",
    "sched_yield",
    "setenv",
    "sigaction",
    "sigaddset",
    "sigaltstack",
    "sigemptyset",
    "sigfillset",
    "stat64",
    "statx",
    "strnlen",
    "strtok_r",
    "syscall",
    "sysconf",
    "unlink",
    "unsetenv",
    "waitpid",
    "write",
    "writev",
];

/// Refuses functions with such a name that other objects, the runtime among them, can see.
pub fn check(module: Module) {
    let local = |l| matches!(l, Linkage::LLVMInternalLinkage | Linkage::LLVMPrivateLinkage);
    let seen = |l| !local(l) && l != Linkage::LLVMAvailableExternallyLinkage;
    for function in module.functions().into_iter().filter(|f| !f.is_declaration() && seen(f.linkage())) {
        let name = function.name();
        if CALLED.contains(&name.as_str()) || name.starts_with("pthread_") {
            let text = format!(
                "the program's function `{name}` would take the place of the C library's, which the runtime calls; make it \
                 static or give it another name, for example with -D{name}=program_{name}"
            );
            function.diagnose(None, Severity::Error, &text);
        } else if is_library_without_synchronisation(function)
            && synchronises(function, &mut HashSet::from([function]))
        {
            let text = format!(
                "the program's function `{name}` synchronises threads, and other files take it for the C library's, which does not; make it \
                 static or give it another name, for example with -D{name}=program_{name}"
            );
            function.diagnose(None, Severity::Error, &text);
        }
    }
}

/// Whether calls in other modules are taken for those of a library function that the runtime replaces, and that does not synchronise.
fn is_library_without_synchronisation(function: Value) -> bool {
    replaced(function).is_some_and(|replaced| !replaced.synchronises && !calls_back(&function.name()))
}

/// Whether a function is seen to synchronise, by itself or by others of the module. What it calls elsewhere, and the heap, may synchronise, but mostly does not.
fn synchronises(function: Value, seen: &mut HashSet<Value>) -> bool {
    function.function_instructions().any(|instruction| match instruction.opcode() {
        Opcode::LLVMFence | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => true,
        Opcode::LLVMLoad | Opcode::LLVMStore => !order::is_relaxed(instruction.ordering()),
        Opcode::LLVMCall | Opcode::LLVMInvoke => match callee(instruction) {
            Callee::OpenMp(name) => openmp::entry(&name).is_some_and(|entry| entry.syncs),
            Callee::Heap(name) => name.starts_with("pthread_"),
            Callee::Own(called) => seen.insert(called) && synchronises(called, seen),
            _ => false,
        },
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::CALLED;

    #[test]
    fn each_name_is_listed_once_in_order() {
        assert!(CALLED.is_sorted_by(|a, b| a < b));
    }
}
