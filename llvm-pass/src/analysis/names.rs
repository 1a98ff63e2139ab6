//! Names of the C library that a program must not give to functions of its own.
//!
//! ISO C leaves POSIX's names to programs. With a C library in a shared object that does no harm: it calls its functions by
//! other names. The runtime is linked into the program, so that its calls would reach the program's function.

use crate::llvm::{Linkage, Module, Severity};

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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CALLED;

    #[test]
    fn each_name_is_listed_once_in_order() {
        assert!(CALLED.is_sorted_by(|a, b| a < b));
    }
}
