//! One place that says what a call does, by who is called: intrinsic, OpenMP, C library, own function, unknown.

use crate::llvm::Value;

use super::libatomic;
use super::libc;
use super::openmp;

/// Who is called.
pub enum Callee {
    /// An LLVM intrinsic, by name.
    Intrinsic(String),
    /// An OpenMP entry point (listed or not).
    OpenMp(String),
    /// A function of the C library table.
    Libc(String, libc::Function),
    /// A library function that is redirected to the runtime and may synchronise there: of the heap, of libatomic, a mutex.
    Heap(String),
    /// A library function that is redirected to the runtime, which keeps none of its pointers and does not synchronise.
    Replaced(String),
    /// A function with a body in this module that the linker cannot replace.
    Own(Value),
    /// Inline assembly.
    Asm,
    /// A function of another module, by name.
    Extern(String),
    /// A function pointer.
    Indirect,
}

/// Library functions that become entries of the runtime and may synchronise there, the shared heap's above all: (name, entry,
/// number of arguments kept).
#[rustfmt::skip]
pub const HEAP: &[(&str, &str, u32)] = &[
    ("malloc", "__dsm_malloc", 1), ("calloc", "__dsm_calloc", 2), ("realloc", "__dsm_realloc", 2), ("free", "__dsm_free", 1),
    ("aligned_alloc", "__dsm_aligned_alloc", 2), ("memalign", "__dsm_aligned_alloc", 2),
    ("posix_memalign", "__dsm_posix_memalign", 3), ("malloc_usable_size", "__dsm_malloc_usable_size", 1),
    ("strdup", "__dsm_strdup", 1), ("__strdup", "__dsm_strdup", 1), ("strndup", "__dsm_strndup", 2),
    ("cfree", "__dsm_free", 1), ("reallocarray", "__dsm_reallocarray", 3),
    ("valloc", "__dsm_valloc", 1), ("pvalloc", "__dsm_pvalloc", 1),
    ("_Znwm", "__dsm_new", 1), ("_Znam", "__dsm_new", 1),
    ("_ZnwmRKSt9nothrow_t", "__dsm_malloc", 1), ("_ZnamRKSt9nothrow_t", "__dsm_malloc", 1),
    ("_ZnwmSt11align_val_t", "__dsm_new_aligned", 2), ("_ZnamSt11align_val_t", "__dsm_new_aligned", 2),
    ("_ZdlPv", "__dsm_free", 1), ("_ZdaPv", "__dsm_free", 1), ("_ZdlPvm", "__dsm_free", 1), ("_ZdaPvm", "__dsm_free", 1),
    ("_ZdlPvSt11align_val_t", "__dsm_free", 1), ("_ZdaPvSt11align_val_t", "__dsm_free", 1),
    ("_ZdlPvmSt11align_val_t", "__dsm_free", 1), ("_ZdaPvmSt11align_val_t", "__dsm_free", 1),
    ("_ZdlPvRKSt9nothrow_t", "__dsm_free", 1), ("_ZdaPvRKSt9nothrow_t", "__dsm_free", 1),
    ("_ZdlPvSt11align_val_tRKSt9nothrow_t", "__dsm_free", 1), ("_ZdaPvSt11align_val_tRKSt9nothrow_t", "__dsm_free", 1),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", 2),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", 2),
    ("atexit", "__dsm_atexit", 1), ("__cxa_atexit", "__dsm_cxa_atexit", 3),
    ("pthread_mutex_lock", "__dsm_mutex_lock", 1), ("pthread_mutex_trylock", "__dsm_mutex_trylock", 1),
    ("pthread_mutex_unlock", "__dsm_mutex_unlock", 1),
    ("pthread_rwlock_rdlock", "__dsm_rwlock_rdlock", 1), ("pthread_rwlock_wrlock", "__dsm_rwlock_wrlock", 1),
    ("pthread_rwlock_tryrdlock", "__dsm_rwlock_tryrdlock", 1), ("pthread_rwlock_trywrlock", "__dsm_rwlock_trywrlock", 1),
    ("pthread_rwlock_unlock", "__dsm_rwlock_unlock", 1),
];

/// Library functions that become entries because what they open, allocate or go on with must serve all processes, likewise.
#[rustfmt::skip]
pub const LIBRARY: &[(&str, &str, u32)] = &[
    ("fopen", "__dsm_fopen", 2), ("fopen64", "__dsm_fopen", 2), ("fdopen", "__dsm_fdopen", 2),
    ("freopen", "__dsm_freopen", 3), ("freopen64", "__dsm_freopen", 3), ("fclose", "__dsm_fclose", 1),
    ("tmpfile", "__dsm_tmpfile", 0), ("tmpfile64", "__dsm_tmpfile", 0), ("fflush", "__dsm_fflush", 1),
    ("fflush_unlocked", "__dsm_fflush", 1), ("fileno", "__dsm_fileno", 1), ("fileno_unlocked", "__dsm_fileno", 1),
    ("popen", "__dsm_popen", 2), ("pclose", "__dsm_pclose", 1),
    ("getline", "__dsm_getline", 3), ("getdelim", "__dsm_getdelim", 4), ("__getdelim", "__dsm_getdelim", 4),
    ("strtok", "__dsm_strtok", 2), ("strtok_r", "__dsm_strtok_r", 3), ("__strtok_r", "__dsm_strtok_r", 3),
    ("strsep", "__dsm_strsep", 2), ("realpath", "__dsm_realpath", 2), ("getcwd", "__dsm_getcwd", 2),
    ("fork", "__dsm_fork", 0), ("dlopen", "__dsm_dlopen", 2),
    ("mmap", "__dsm_mmap", 6), ("mmap64", "__dsm_mmap", 6), ("munmap", "__dsm_munmap", 2),
];

/// The same for functions whose arguments go on unchanged, variadic ones among them: (name, function of the runtime).
#[rustfmt::skip]
pub const LIBRARY_VARIADIC: &[(&str, &str)] = &[
    ("open", "__dsm_open"), ("open64", "__dsm_open"), ("openat", "__dsm_openat"), ("openat64", "__dsm_openat"),
    ("mkstemp", "__dsm_mkstemp"), ("mkstemp64", "__dsm_mkstemp"), ("dup", "__dsm_dup"), ("pipe", "__dsm_pipe"), ("creat", "__dsm_creat"),
    ("creat64", "__dsm_creat"), ("close", "__dsm_close"), ("asprintf", "__dsm_asprintf"), ("vasprintf", "__dsm_vasprintf"),
    ("__asprintf_chk", "__dsm_asprintf_chk"), ("__vasprintf_chk", "__dsm_vasprintf_chk"), ("__open_2", "__dsm_open_2"),
    ("__open64_2", "__dsm_open_2"), ("__openat_2", "__dsm_openat_2"), ("__openat64_2", "__dsm_openat_2"),
    ("__getcwd_chk", "__dsm_getcwd_chk"), ("__realpath_chk", "__dsm_realpath_chk"), ("get_current_dir_name", "__dsm_get_current_dir_name"),
    ("canonicalize_file_name", "__dsm_canonicalize_file_name"), ("mkostemp", "__dsm_mkostemp"), ("mkostemp64", "__dsm_mkostemp"),
    ("mkstemps", "__dsm_mkstemps"), ("mkstemps64", "__dsm_mkstemps"), ("mkostemps", "__dsm_mkostemps"), ("mkostemps64", "__dsm_mkostemps"),
    ("dup2", "__dsm_dup2"), ("dup3", "__dsm_dup3"), ("pipe2", "__dsm_pipe2"), ("socket", "__dsm_socket"),
    ("socketpair", "__dsm_socketpair"), ("accept", "__dsm_accept"), ("accept4", "__dsm_accept4"), ("epoll_create", "__dsm_epoll_create"),
    ("epoll_create1", "__dsm_epoll_create1"), ("eventfd", "__dsm_eventfd"), ("timerfd_create", "__dsm_timerfd_create"),
    ("memfd_create", "__dsm_memfd_create"), ("fcntl", "__dsm_fcntl"), ("ioctl", "__dsm_ioctl"), ("poll", "__dsm_poll"),
    ("ppoll", "__dsm_ppoll"), ("select", "__dsm_select"), ("pselect", "__dsm_pselect"), ("fcntl64", "__dsm_fcntl"),
    ("__poll_chk", "__dsm_poll"), ("__ppoll_chk", "__dsm_ppoll"),
];

/// True if calls of the library function go to the shared heap's entries.
pub fn is_heap(name: &str) -> bool {
    HEAP.iter().any(|(from, ..)| *from == name)
}

/// True if calls of the library function go to other entries.
pub fn is_replaced(name: &str) -> bool {
    LIBRARY.iter().any(|(from, ..)| *from == name) || LIBRARY_VARIADIC.iter().any(|(from, _)| *from == name)
}

/// Looks through aliases of casts at the callee.
pub fn callee(call: Value) -> Callee {
    let target = call.callee();
    if target.is_inline_asm() {
        return Callee::Asm;
    }
    if !target.is_function() {
        return Callee::Indirect;
    }
    let name = target.name();
    if call.is_intrinsic_call() {
        return Callee::Intrinsic(name);
    }
    if !target.is_declaration() {
        return if is_exact(target) { Callee::Own(target) } else { Callee::Extern(name) };
    }
    if openmp::is_openmp(&name) {
        return Callee::OpenMp(name);
    }
    if is_heap(&name) || libatomic::in_library(&name) {
        return Callee::Heap(name);
    }
    if is_replaced(&name) || name == super::annotated::POINTER {
        return Callee::Replaced(name);
    }
    match libc::function(&name) {
        Some(function) => Callee::Libc(name, function),
        None => Callee::Extern(name),
    }
}

/// True if the body seen here is the one that will run: facts about other bodies may not be inferred from it.
pub fn is_exact(function: Value) -> bool {
    use crate::llvm::Linkage::*;
    matches!(function.linkage(), LLVMExternalLinkage | LLVMInternalLinkage | LLVMPrivateLinkage)
}
