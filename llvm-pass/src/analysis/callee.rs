//! One place that says what a call does, by who is called: intrinsic, OpenMP, C library, own function, unknown.

use crate::llvm::{Type, TypeKind, Value};

use super::libatomic;
use super::libc;
use super::openmp;
use super::process_state::PROCESS_STATE;

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
    ("_Znwm", "__dsm_new", 1), ("_Znam", "__dsm_new_array", 1),
    ("_ZnwmRKSt9nothrow_t", "__dsm_new_nothrow", 1), ("_ZnamRKSt9nothrow_t", "__dsm_new_array_nothrow", 1),
    ("_ZnwmSt11align_val_t", "__dsm_new_aligned", 2), ("_ZnamSt11align_val_t", "__dsm_new_aligned", 2),
    ("_ZdlPv", "__dsm_delete", 1), ("_ZdaPv", "__dsm_delete_array", 1), ("_ZdlPvm", "__dsm_delete", 1), ("_ZdaPvm", "__dsm_delete_array", 1),
    ("_ZdlPvSt11align_val_t", "__dsm_delete_aligned", 2), ("_ZdaPvSt11align_val_t", "__dsm_delete_aligned", 2),
    ("_ZdlPvmSt11align_val_t", "__dsm_delete_sized_aligned", 3), ("_ZdaPvmSt11align_val_t", "__dsm_delete_sized_aligned", 3),
    ("_ZdlPvRKSt9nothrow_t", "__dsm_delete", 1), ("_ZdaPvRKSt9nothrow_t", "__dsm_delete_array", 1),
    ("_ZdlPvSt11align_val_tRKSt9nothrow_t", "__dsm_delete_aligned", 2), ("_ZdaPvSt11align_val_tRKSt9nothrow_t", "__dsm_delete_aligned", 2),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", 2),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", 2),
    ("atexit", "__dsm_atexit", 1), ("__cxa_atexit", "__dsm_cxa_atexit", 3),
    ("pthread_mutex_lock", "__dsm_mutex_lock", 1), ("pthread_mutex_trylock", "__dsm_mutex_trylock", 1),
    ("pthread_mutex_unlock", "__dsm_mutex_unlock", 1),
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

/// The same for functions whose arguments go on unchanged: (name, function of the runtime, signature). A function of another type is the
/// program's own. Signature: result and parameters as `i` (32 bits), `l` (64 bits), `d` (double), `p` (address), `v` (none), `.` (more).
#[rustfmt::skip]
pub const LIBRARY_VARIADIC: &[(&str, &str, &str)] = &[
    ("open", "__dsm_open", "i:pi."), ("open64", "__dsm_open", "i:pi."), ("openat", "__dsm_openat", "i:ipi."),
    ("openat64", "__dsm_openat", "i:ipi."), ("mkstemp", "__dsm_mkstemp", "i:p"), ("mkstemp64", "__dsm_mkstemp", "i:p"),
    ("dup", "__dsm_dup", "i:i"), ("pipe", "__dsm_pipe", "i:p"), ("creat", "__dsm_creat", "i:pi"), ("creat64", "__dsm_creat", "i:pi"),
    ("close", "__dsm_close", "i:i"), ("asprintf", "__dsm_asprintf", "i:pp."), ("vasprintf", "__dsm_vasprintf", "i:ppp"),
    ("__asprintf_chk", "__dsm_asprintf_chk", "i:pip."), ("__vasprintf_chk", "__dsm_vasprintf_chk", "i:pipp"),
    ("__open_2", "__dsm_open_2", "i:pi"), ("__open64_2", "__dsm_open_2", "i:pi"), ("__openat_2", "__dsm_openat_2", "i:ipi"),
    ("__openat64_2", "__dsm_openat_2", "i:ipi"), ("__getcwd_chk", "__dsm_getcwd_chk", "p:pll"),
    ("__realpath_chk", "__dsm_realpath_chk", "p:ppl"), ("get_current_dir_name", "__dsm_get_current_dir_name", "p:"),
    ("canonicalize_file_name", "__dsm_canonicalize_file_name", "p:p"), ("mkostemp", "__dsm_mkostemp", "i:pi"),
    ("mkostemp64", "__dsm_mkostemp", "i:pi"), ("mkstemps", "__dsm_mkstemps", "i:pi"), ("mkstemps64", "__dsm_mkstemps", "i:pi"),
    ("mkostemps", "__dsm_mkostemps", "i:pii"), ("mkostemps64", "__dsm_mkostemps", "i:pii"), ("dup2", "__dsm_dup2", "i:ii"),
    ("dup3", "__dsm_dup3", "i:iii"), ("pipe2", "__dsm_pipe2", "i:pi"), ("socket", "__dsm_socket", "i:iii"),
    ("socketpair", "__dsm_socketpair", "i:iiip"), ("accept", "__dsm_accept", "i:ipp"), ("accept4", "__dsm_accept4", "i:ippi"),
    ("epoll_create", "__dsm_epoll_create", "i:i"), ("epoll_create1", "__dsm_epoll_create1", "i:i"), ("eventfd", "__dsm_eventfd", "i:ii"),
    ("timerfd_create", "__dsm_timerfd_create", "i:ii"), ("memfd_create", "__dsm_memfd_create", "i:pi"), ("fcntl", "__dsm_fcntl", "i:ii."),
    ("ioctl", "__dsm_ioctl", "i:il."), ("poll", "__dsm_poll", "i:pli"), ("ppoll", "__dsm_ppoll", "i:plpp"),
    ("select", "__dsm_select", "i:ipppp"), ("pselect", "__dsm_pselect", "i:ippppp"), ("fcntl64", "__dsm_fcntl", "i:ii."),
    ("__poll_chk", "__dsm_poll", "i:plil"), ("__ppoll_chk", "__dsm_ppoll", "i:plppl"), ("pthread_key_create", "__dsm_key_create", "i:pp"),
    ("pthread_key_delete", "__dsm_key_delete", "i:i"), ("pthread_setspecific", "__dsm_setspecific", "i:ip"),
    ("pthread_getspecific", "__dsm_getspecific", "p:i"), ("tss_create", "__dsm_key_create", "i:pp"),
    ("tss_delete", "__dsm_key_delete", "v:i"), ("tss_set", "__dsm_setspecific", "i:ip"), ("tss_get", "__dsm_getspecific", "p:i"),
    ("open_memstream", "__dsm_open_memstream", "p:pp"), ("fesetenv", "__dsm_fesetenv", "i:p"),
    ("feupdateenv", "__dsm_feupdateenv", "i:p"), ("setvbuf", "__dsm_setvbuf", "i:ppil"), ("setbuf", "__dsm_setbuf", "v:pp"),
    ("setbuffer", "__dsm_setbuffer", "v:ppl"), ("setlinebuf", "__dsm_setlinebuf", "v:p"),
    ("mremap", "__dsm_mremap", "p:plli."), ("madvise", "__dsm_madvise", "i:pli"), ("sbrk", "__dsm_sbrk", "p:l"), ("brk", "__dsm_brk", "i:p"),
    // What they store is known when it has arrived.
    ("read", "__dsm_read", "l:ipl"), ("pread", "__dsm_pread", "l:ipll"), ("pread64", "__dsm_pread", "l:ipll"),
    ("recv", "__dsm_recv", "l:ipli"), ("recvfrom", "__dsm_recvfrom", "l:iplipp"), ("fread", "__dsm_fread", "l:pllp"),
    ("fread_unlocked", "__dsm_fread_unlocked", "l:pllp"), ("fgets", "__dsm_fgets", "p:pip"),
    ("fgets_unlocked", "__dsm_fgets_unlocked", "p:pip"),
    // These are carried out where the file is, on whatever host.
    ("write", "__dsm_write", "l:ipl"), ("pwrite", "__dsm_pwrite", "l:ipll"), ("pwrite64", "__dsm_pwrite", "l:ipll"),
    ("lseek", "__dsm_lseek", "l:ili"), ("lseek64", "__dsm_lseek", "l:ili"), ("fsync", "__dsm_fsync", "i:i"),
    ("fdatasync", "__dsm_fdatasync", "i:i"), ("ftruncate", "__dsm_ftruncate", "i:il"), ("ftruncate64", "__dsm_ftruncate", "i:il"),
    ("fstat", "__dsm_fstat", "i:ip"), ("fstat64", "__dsm_fstat", "i:ip"), ("isatty", "__dsm_isatty", "i:i"),
    ("__dynamic_cast", "__dsm_dynamic_cast", "p:pppl"),
    ("wcsdup", "__dsm_wcsdup", "p:p"), ("wcsncat", "__dsm_wcsncat", "p:ppl"), ("mbsrtowcs", "__dsm_mbsrtowcs", "l:pplp"),
    ("wcsrtombs", "__dsm_wcsrtombs", "l:pplp"), ("regcomp", "__dsm_regcomp", "i:ppi"), ("regexec", "__dsm_regexec", "i:pplpi"),
    ("regfree", "__dsm_regfree", "v:p"), ("globfree", "__dsm_globfree", "v:p"), ("globfree64", "__dsm_globfree", "v:p"),
    ("wordexp", "__dsm_wordexp", "i:ppi"), ("wordfree", "__dsm_wordfree", "v:p"),
    ("mbsnrtowcs", "__dsm_mbsnrtowcs", "l:ppllp"), ("wcsnrtombs", "__dsm_wcsnrtombs", "l:ppllp"),
    ("__mbsnrtowcs_chk", "__dsm_mbsnrtowcs", "l:ppllpl"), ("__wcsnrtombs_chk", "__dsm_wcsnrtombs", "l:ppllpl"),
    ("iconv_open", "__dsm_iconv_open", "p:pp"), ("iconv", "__dsm_iconv", "l:ppppp"), ("sendmsg", "__dsm_sendmsg", "l:ipi"), ("recvmsg", "__dsm_recvmsg", "l:ipi"),
    ("getaddrinfo", "__dsm_getaddrinfo", "i:pppp"), ("freeaddrinfo", "__dsm_freeaddrinfo", "v:p"),
    ("getifaddrs", "__dsm_getifaddrs", "i:p"), ("freeifaddrs", "__dsm_freeifaddrs", "v:p"),
    ("getopt_long", "__dsm_getopt_long", "i:ipppp"), ("getopt_long_only", "__dsm_getopt_long_only", "i:ipppp"),
    ("execl", "__dsm_execl", "i:pp."), ("execlp", "__dsm_execlp", "i:pp."), ("execle", "__dsm_execle", "i:pp."),
    ("__cxa_throw", "__dsm_cxa_throw", "v:ppp"), ("__cxa_rethrow", "__dsm_cxa_rethrow", "v:"),
];

/// Functions that synchronise threads, or run what may, and become functions of the runtime with the same arguments, likewise.
#[rustfmt::skip]
pub const SYNCHRONISING: &[(&str, &str, &str)] = &[
    // These call functions of the program, or keep addresses in its memory.
    ("glob", "__dsm_glob", "i:pipp"), ("glob64", "__dsm_glob", "i:pipp"), ("scandir", "__dsm_scandir", "i:pppp"),
    ("scandir64", "__dsm_scandir", "i:pppp"), ("wcstok", "__dsm_wcstok", "p:ppp"),
    ("sem_init", "__dsm_sem_init", "i:pii"), ("sem_destroy", "__dsm_sem_destroy", "i:p"), ("sem_wait", "__dsm_sem_wait", "i:p"),
    ("sem_timedwait", "__dsm_sem_timedwait", "i:pp"), ("sem_clockwait", "__dsm_sem_clockwait", "i:pip"),
    ("sem_trywait", "__dsm_sem_trywait", "i:p"), ("sem_post", "__dsm_sem_post", "i:p"), ("sem_getvalue", "__dsm_sem_getvalue", "i:pp"),
    ("pthread_barrier_init", "__dsm_barrier_init", "i:ppi"), ("pthread_barrier_destroy", "__dsm_barrier_destroy", "i:p"),
    ("pthread_barrier_wait", "__dsm_barrier_wait", "i:p"), ("pthread_rwlock_init", "__dsm_rwlock_init", "i:pp"),
    ("pthread_rwlock_destroy", "__dsm_rwlock_destroy", "i:p"), ("pthread_rwlock_rdlock", "__dsm_rwlock_rdlock", "i:p"),
    ("pthread_rwlock_wrlock", "__dsm_rwlock_wrlock", "i:p"), ("pthread_rwlock_tryrdlock", "__dsm_rwlock_tryrdlock", "i:p"),
    ("pthread_rwlock_trywrlock", "__dsm_rwlock_trywrlock", "i:p"), ("pthread_rwlock_timedrdlock", "__dsm_rwlock_timedrdlock", "i:pp"),
    ("pthread_rwlock_timedwrlock", "__dsm_rwlock_timedwrlock", "i:pp"), ("pthread_rwlock_clockrdlock", "__dsm_rwlock_clockrdlock", "i:pip"),
    ("pthread_rwlock_clockwrlock", "__dsm_rwlock_clockwrlock", "i:pip"), ("pthread_rwlock_unlock", "__dsm_rwlock_unlock", "i:p"),
    ("pthread_spin_init", "__dsm_spin_init", "i:pi"), ("pthread_spin_destroy", "__dsm_spin_destroy", "i:p"),
    ("pthread_spin_lock", "__dsm_spin_lock", "i:p"), ("pthread_spin_trylock", "__dsm_spin_trylock", "i:p"),
    ("pthread_mutex_init", "__dsm_mutex_init", "i:pp"), ("pthread_mutex_destroy", "__dsm_mutex_destroy", "i:p"),
    ("pthread_spin_unlock", "__dsm_spin_unlock", "i:p"), ("pthread_mutex_timedlock", "__dsm_mutex_timedlock", "i:pp"),
    ("pthread_mutex_clocklock", "__dsm_mutex_clocklock", "i:pip"), ("pthread_once", "__dsm_once", "i:pp"),
    ("call_once", "__dsm_once", "v:pp"), ("mtx_lock", "__dsm_mutex_lock", "i:p"), ("mtx_unlock", "__dsm_mutex_unlock", "i:p"),
    ("cnd_wait", "pthread_cond_wait", "i:pp"), ("cnd_signal", "pthread_cond_signal", "i:p"),
    ("cnd_broadcast", "pthread_cond_broadcast", "i:p"), ("swapcontext", "__dsm_swapcontext", "i:pp"),
    ("setcontext", "__dsm_setcontext", "i:p"), ("makecontext", "__dsm_makecontext", "v:ppi."),
    // Keep an argument.
    ("putenv", "__dsm_putenv", "i:p"), ("fmemopen", "__dsm_fmemopen", "p:plp"),
    // Keep keys, or call functions of the program, which may synchronise.
    ("tsearch", "__dsm_tsearch", "p:ppp"), ("tfind", "__dsm_tfind", "p:ppp"), ("tdelete", "__dsm_tdelete", "p:ppp"),
    ("twalk", "__dsm_twalk", "v:pp"), ("twalk_r", "__dsm_twalk_r", "v:ppp"), ("tdestroy", "__dsm_tdestroy", "v:pp"),
    // Their comparison is a function of the program, which may synchronise.
    ("qsort", "__dsm_qsort", "v:pllp"), ("qsort_r", "__dsm_qsort_r", "v:pllpp"), ("lfind", "__dsm_lfind", "p:ppplp"),
    ("lsearch", "__dsm_lsearch", "p:ppplp"),
];

/// True if calls of the library function go to the shared heap's entries, or others that may synchronise.
pub fn is_heap(name: &str) -> bool {
    HEAP.iter().any(|(from, ..)| *from == name)
}

/// True if calls of the library function go to other entries.
pub fn is_replaced(name: &str) -> bool {
    LIBRARY.iter().any(|(from, ..)| *from == name)
}

/// Whether the list has the function, with its type.
pub fn lists(list: &[(&str, &str, &str)], function: Value) -> bool {
    let name = function.name();
    list.iter().any(|(from, _, signature)| *from == name && has_signature(function, signature))
}

/// Whether the function is of the type that the signature of a list describes.
pub fn has_signature(function: Value, signature: &str) -> bool {
    let letter = |ty: Type| match ty.kind() {
        TypeKind::LLVMPointerTypeKind => 'p',
        TypeKind::LLVMVoidTypeKind => 'v',
        TypeKind::LLVMDoubleTypeKind => 'd',
        TypeKind::LLVMIntegerTypeKind if ty.int_width() == 32 => 'i',
        TypeKind::LLVMIntegerTypeKind if ty.int_width() == 64 => 'l',
        _ => '?',
    };
    let ty = function.value_type();
    let Some((result, params)) = signature.split_once(':') else { return false };
    // A function without a prototype has whatever arguments the call passes.
    let unknown = ty.params().is_empty() && ty.is_variadic();
    let more = if ty.is_variadic() { "." } else { "" };
    let given: String = ty.params().into_iter().map(letter).collect();
    letter(ty.result()).to_string() == result && (unknown || format!("{given}{more}") == params)
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
    declared(target)
}

/// What a call of a function that is only declared here does.
pub fn declared(target: Value) -> Callee {
    let name = target.name();
    if openmp::is_openmp(&name) {
        return Callee::OpenMp(name);
    }
    if is_heap(&name) || libatomic::in_library(&name) || lists(SYNCHRONISING, target) {
        return Callee::Heap(name);
    }
    if is_replaced(&name)
        || lists(LIBRARY_VARIADIC, target)
        || lists(PROCESS_STATE, target)
        || name == super::annotated::POINTER
    {
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
