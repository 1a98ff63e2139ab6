//! Functions of libraries that functions of the runtime take the place of: what each is called, which takes its place, its type and its effects.
//!
//! All of them make what their arguments name valid by themselves. A type is a result and parameters: `i` (32 bits), `l` (64 bits), `d` (double), `p`
//! (address), `k` (an address that is kept beyond the call), `v` (none), `.` (more).

/// Library function, function of the runtime, type.
pub type Replacement = (&'static str, &'static str, Arguments);

/// What of a call goes on to the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arguments {
    /// The first arguments, which are of these types. The function is replaced whatever type the program declares it with.
    First(&'static str),
    /// All, unchanged: `result:parameters`. A function of another type is the program's own.
    All(&'static str),
}

use Arguments::{All, First};

impl Arguments {
    /// The types of the parameters.
    pub fn parameters(self) -> &'static str {
        match self {
            First(parameters) => parameters,
            All(signature) => signature.split_once(':').map_or("", |(_, parameters)| parameters),
        }
    }

    /// Whether the address at an argument is kept beyond the call.
    pub fn keeps(self, argument: u32) -> bool {
        self.parameters().as_bytes().get(argument as usize) == Some(&b'k')
    }
}

/// Functions with the same effect.
#[derive(Debug)]
pub struct Group {
    /// Whether they may synchronise threads, or run code that may.
    pub synchronise: bool,
    /// The functions.
    pub functions: &'static [Replacement],
}

/// All functions, each once.
pub const GROUPS: [Group; 5] = [
    Group { synchronise: true, functions: MEMORY },
    Group { synchronise: true, functions: THREADS },
    Group { synchronise: false, functions: STREAMS },
    Group { synchronise: false, functions: LIBRARY },
    Group { synchronise: false, functions: PROCESS_STATE },
];

/// Memory of the shared heap, and what is called at the end.
#[rustfmt::skip]
pub const MEMORY: &[Replacement] = &[
    ("malloc", "__dsm_malloc", First("l")), ("calloc", "__dsm_calloc", First("ll")), ("realloc", "__dsm_realloc", First("pl")),
    ("free", "__dsm_free", First("p")), ("aligned_alloc", "__dsm_aligned_alloc", First("ll")),
    ("memalign", "__dsm_aligned_alloc", First("ll")), ("posix_memalign", "__dsm_posix_memalign", First("pll")),
    ("malloc_usable_size", "__dsm_malloc_usable_size", First("p")), ("strdup", "__dsm_strdup", First("p")),
    ("__strdup", "__dsm_strdup", First("p")), ("strndup", "__dsm_strndup", First("pl")), ("cfree", "__dsm_free", First("p")),
    ("__sched_cpualloc", "__dsm_sched_cpualloc", All("p:l")), ("__sched_cpufree", "__dsm_sched_cpufree", All("v:p")),
    ("reallocarray", "__dsm_reallocarray", First("pll")), ("valloc", "__dsm_valloc", First("l")), ("pvalloc", "__dsm_pvalloc", First("l")),
    ("_Znwm", "__dsm_new", First("l")), ("_Znam", "__dsm_new_array", First("l")), ("_ZnwmRKSt9nothrow_t", "__dsm_new_nothrow", First("l")),
    ("_ZnamRKSt9nothrow_t", "__dsm_new_array_nothrow", First("l")), ("_ZnwmSt11align_val_t", "__dsm_new_aligned", First("ll")),
    ("_ZnamSt11align_val_t", "__dsm_new_aligned", First("ll")), ("_ZdlPv", "__dsm_delete", First("p")),
    ("_ZdaPv", "__dsm_delete_array", First("p")), ("_ZdlPvm", "__dsm_delete", First("p")), ("_ZdaPvm", "__dsm_delete_array", First("p")),
    ("_ZdlPvSt11align_val_t", "__dsm_delete_aligned", First("pl")), ("_ZdaPvSt11align_val_t", "__dsm_delete_aligned", First("pl")),
    ("_ZdlPvmSt11align_val_t", "__dsm_delete_sized_aligned", First("pll")),
    ("_ZdaPvmSt11align_val_t", "__dsm_delete_sized_aligned", First("pll")), ("_ZdlPvRKSt9nothrow_t", "__dsm_delete", First("p")),
    ("_ZdaPvRKSt9nothrow_t", "__dsm_delete_array", First("p")),
    ("_ZdlPvSt11align_val_tRKSt9nothrow_t", "__dsm_delete_aligned", First("pl")),
    ("_ZdaPvSt11align_val_tRKSt9nothrow_t", "__dsm_delete_aligned", First("pl")),
    ("_ZnwmSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", First("ll")),
    ("_ZnamSt11align_val_tRKSt9nothrow_t", "__dsm_new_aligned_nothrow", First("ll")), ("atexit", "__dsm_atexit", First("p")),
    ("__cxa_atexit", "__dsm_cxa_atexit", First("ppp")),
   
];

/// What synchronises threads, or calls functions of the program, which may.
#[rustfmt::skip]
pub const THREADS: &[Replacement] = &[
    ("pthread_mutex_lock", "__dsm_mutex_lock", First("p")), ("pthread_mutex_trylock", "__dsm_mutex_trylock", First("p")),
    ("pthread_mutex_unlock", "__dsm_mutex_unlock", First("p")),
    // These call functions of the program, or keep addresses in its memory.
    ("glob", "__dsm_glob", All("i:pipp")), ("glob64", "__dsm_glob", All("i:pipp")), ("scandir", "__dsm_scandir", All("i:pppp")),
    ("scandir64", "__dsm_scandir", All("i:pppp")), ("wcstok", "__dsm_wcstok", All("p:kpp")), ("sem_init", "__dsm_sem_init", All("i:pii")),
    ("sem_destroy", "__dsm_sem_destroy", All("i:p")), ("sem_wait", "__dsm_sem_wait", All("i:p")),
    ("sem_timedwait", "__dsm_sem_timedwait", All("i:pp")), ("sem_clockwait", "__dsm_sem_clockwait", All("i:pip")),
    ("sem_trywait", "__dsm_sem_trywait", All("i:p")), ("sem_post", "__dsm_sem_post", All("i:p")),
    ("sem_getvalue", "__dsm_sem_getvalue", All("i:pp")), ("pthread_barrier_init", "__dsm_barrier_init", All("i:ppi")),
    ("pthread_barrier_destroy", "__dsm_barrier_destroy", All("i:p")), ("pthread_barrier_wait", "__dsm_barrier_wait", All("i:p")),
    ("pthread_rwlock_init", "__dsm_rwlock_init", All("i:pp")), ("pthread_rwlock_destroy", "__dsm_rwlock_destroy", All("i:p")),
    ("pthread_rwlock_rdlock", "__dsm_rwlock_rdlock", All("i:p")), ("pthread_rwlock_wrlock", "__dsm_rwlock_wrlock", All("i:p")),
    ("pthread_rwlock_tryrdlock", "__dsm_rwlock_tryrdlock", All("i:p")), ("pthread_rwlock_trywrlock", "__dsm_rwlock_trywrlock", All("i:p")),
    ("pthread_rwlock_timedrdlock", "__dsm_rwlock_timedrdlock", All("i:pp")),
    ("pthread_rwlock_timedwrlock", "__dsm_rwlock_timedwrlock", All("i:pp")),
    ("pthread_rwlock_clockrdlock", "__dsm_rwlock_clockrdlock", All("i:pip")),
    ("pthread_rwlock_clockwrlock", "__dsm_rwlock_clockwrlock", All("i:pip")), ("pthread_rwlock_unlock", "__dsm_rwlock_unlock", All("i:p")),
    ("pthread_spin_init", "__dsm_spin_init", All("i:pi")), ("pthread_spin_destroy", "__dsm_spin_destroy", All("i:p")),
    ("pthread_spin_lock", "__dsm_spin_lock", All("i:p")), ("pthread_spin_trylock", "__dsm_spin_trylock", All("i:p")),
    ("pthread_mutex_init", "__dsm_mutex_init", All("i:pp")), ("pthread_mutex_destroy", "__dsm_mutex_destroy", All("i:p")),
    ("pthread_spin_unlock", "__dsm_spin_unlock", All("i:p")), ("pthread_mutex_timedlock", "__dsm_mutex_timedlock", All("i:pp")),
    ("pthread_mutex_clocklock", "__dsm_mutex_clocklock", All("i:pip")), ("pthread_once", "__dsm_once", All("i:pp")),
    ("call_once", "__dsm_once", All("v:pp")), ("mtx_lock", "__dsm_mutex_lock", All("i:p")),
    ("mtx_unlock", "__dsm_mutex_unlock", All("i:p")), ("cnd_wait", "pthread_cond_wait", All("i:pp")),
    ("cnd_signal", "pthread_cond_signal", All("i:p")), ("cnd_broadcast", "pthread_cond_broadcast", All("i:p")),
    ("swapcontext", "__dsm_swapcontext", All("i:pp")), ("setcontext", "__dsm_setcontext", All("i:p")),
    ("makecontext", "__dsm_makecontext", All("v:ppi.")),
    // Keep an argument.
    ("putenv", "__dsm_putenv", All("i:k")), ("fmemopen", "__dsm_fmemopen", All("p:klp")),
    // Keep keys, or call functions of the program, which may synchronise.
    ("tsearch", "__dsm_tsearch", All("p:ppp")), ("tfind", "__dsm_tfind", All("p:ppp")), ("tdelete", "__dsm_tdelete", All("p:ppp")),
    ("twalk", "__dsm_twalk", All("v:pp")), ("twalk_r", "__dsm_twalk_r", All("v:ppp")), ("tdestroy", "__dsm_tdestroy", All("v:pp")),
    // Their comparison is a function of the program, which may synchronise.
    ("qsort", "__dsm_qsort", All("v:pllp")), ("qsort_r", "__dsm_qsort_r", All("v:pllpp")), ("lfind", "__dsm_lfind", All("p:ppplp")),
    ("lsearch", "__dsm_lsearch", All("p:ppplp")),
];

/// What opens, allocates or goes on with something that serves all processes.
#[rustfmt::skip]
pub const STREAMS: &[Replacement] = &[
    ("fopen", "__dsm_fopen", First("pp")), ("fopen64", "__dsm_fopen", First("pp")), ("fdopen", "__dsm_fdopen", First("ip")),
    ("freopen", "__dsm_freopen", First("ppp")), ("freopen64", "__dsm_freopen", First("ppp")), ("fclose", "__dsm_fclose", First("p")),
    ("tmpfile", "__dsm_tmpfile", First("")), ("tmpfile64", "__dsm_tmpfile", First("")), ("fflush", "__dsm_fflush", First("p")),
    ("fflush_unlocked", "__dsm_fflush", First("p")), ("fileno", "__dsm_fileno", First("p")),
    ("fileno_unlocked", "__dsm_fileno", First("p")), ("popen", "__dsm_popen", First("pp")), ("pclose", "__dsm_pclose", First("p")),
    ("getline", "__dsm_getline", First("ppp")), ("getdelim", "__dsm_getdelim", First("ppip")),
    ("__getdelim", "__dsm_getdelim", First("ppip")), ("strtok", "__dsm_strtok", First("kp")), ("strtok_r", "__dsm_strtok_r", First("kpp")),
    ("__strtok_r", "__dsm_strtok_r", First("kpp")), ("strsep", "__dsm_strsep", First("pp")), ("realpath", "__dsm_realpath", First("pp")),
    ("getcwd", "__dsm_getcwd", First("pl")), ("fork", "__dsm_fork", First("")), ("dlopen", "__dsm_dlopen", First("pi")),
    ("mmap", "__dsm_mmap", First("pliiil")), ("mmap64", "__dsm_mmap", First("pliiil")), ("munmap", "__dsm_munmap", First("pl")),
];

/// The same, for functions whose arguments go on unchanged.
#[rustfmt::skip]
pub const LIBRARY: &[Replacement] = &[
    ("open", "__dsm_open", All("i:pi.")), ("open64", "__dsm_open", All("i:pi.")), ("openat", "__dsm_openat", All("i:ipi.")),
    ("openat64", "__dsm_openat", All("i:ipi.")), ("mkstemp", "__dsm_mkstemp", All("i:p")), ("mkstemp64", "__dsm_mkstemp", All("i:p")),
    ("dup", "__dsm_dup", All("i:i")), ("pipe", "__dsm_pipe", All("i:p")), ("creat", "__dsm_creat", All("i:pi")),
    ("creat64", "__dsm_creat", All("i:pi")), ("close", "__dsm_close", All("i:i")), ("asprintf", "__dsm_asprintf", All("i:pp.")),
    ("vasprintf", "__dsm_vasprintf", All("i:ppp")), ("__asprintf_chk", "__dsm_asprintf_chk", All("i:pip.")),
    ("__vasprintf_chk", "__dsm_vasprintf_chk", All("i:pipp")), ("__open_2", "__dsm_open_2", All("i:pi")),
    ("__open64_2", "__dsm_open_2", All("i:pi")), ("__openat_2", "__dsm_openat_2", All("i:ipi")),
    ("__openat64_2", "__dsm_openat_2", All("i:ipi")), ("__getcwd_chk", "__dsm_getcwd_chk", All("p:pll")),
    ("__realpath_chk", "__dsm_realpath_chk", All("p:ppl")), ("get_current_dir_name", "__dsm_get_current_dir_name", All("p:")),
    ("canonicalize_file_name", "__dsm_canonicalize_file_name", All("p:p")), ("mkostemp", "__dsm_mkostemp", All("i:pi")),
    ("mkostemp64", "__dsm_mkostemp", All("i:pi")), ("mkstemps", "__dsm_mkstemps", All("i:pi")),
    ("mkstemps64", "__dsm_mkstemps", All("i:pi")), ("mkostemps", "__dsm_mkostemps", All("i:pii")),
    ("mkostemps64", "__dsm_mkostemps", All("i:pii")), ("dup2", "__dsm_dup2", All("i:ii")), ("dup3", "__dsm_dup3", All("i:iii")),
    ("pipe2", "__dsm_pipe2", All("i:pi")), ("socket", "__dsm_socket", All("i:iii")), ("socketpair", "__dsm_socketpair", All("i:iiip")),
    ("accept", "__dsm_accept", All("i:ipp")), ("accept4", "__dsm_accept4", All("i:ippi")),
    ("epoll_create", "__dsm_epoll_create", All("i:i")), ("epoll_create1", "__dsm_epoll_create1", All("i:i")),
    ("eventfd", "__dsm_eventfd", All("i:ii")), ("timerfd_create", "__dsm_timerfd_create", All("i:ii")),
    ("memfd_create", "__dsm_memfd_create", All("i:pi")), ("fcntl", "__dsm_fcntl", All("i:ii.")), ("ioctl", "__dsm_ioctl", All("i:il.")),
    ("poll", "__dsm_poll", All("i:pli")), ("ppoll", "__dsm_ppoll", All("i:plpp")), ("select", "__dsm_select", All("i:ipppp")),
    ("pselect", "__dsm_pselect", All("i:ippppp")), ("fcntl64", "__dsm_fcntl", All("i:ii.")), ("__poll_chk", "__dsm_poll", All("i:plil")),
    ("__ppoll_chk", "__dsm_ppoll", All("i:plppl")), ("pthread_key_create", "__dsm_key_create", All("i:pp")),
    ("pthread_key_delete", "__dsm_key_delete", All("i:i")), ("pthread_setspecific", "__dsm_setspecific", All("i:ik")),
    ("pthread_getspecific", "__dsm_getspecific", All("p:i")), ("tss_create", "__dsm_key_create", All("i:pp")),
    ("tss_delete", "__dsm_key_delete", All("v:i")), ("tss_set", "__dsm_setspecific", All("i:ik")),
    ("tss_get", "__dsm_getspecific", All("p:i")), ("open_memstream", "__dsm_open_memstream", All("p:kk")),
    ("__cxa_demangle", "__dsm_demangle", All("p:pppp")),
    ("fesetenv", "__dsm_fesetenv", All("i:p")), ("feupdateenv", "__dsm_feupdateenv", All("i:p")),
    ("setvbuf", "__dsm_setvbuf", All("i:pkil")), ("setbuf", "__dsm_setbuf", All("v:pk")), ("setbuffer", "__dsm_setbuffer", All("v:pkl")),
    ("setlinebuf", "__dsm_setlinebuf", All("v:p")), ("mremap", "__dsm_mremap", All("p:plli.")), ("madvise", "__dsm_madvise", All("i:pli")),
    ("mprotect", "__dsm_protect", All("i:pli")),
    ("sbrk", "__dsm_sbrk", All("p:l")), ("brk", "__dsm_brk", All("i:p")),
    // What they store is known when it has arrived.
    ("read", "__dsm_read", All("l:ipl")), ("pread", "__dsm_pread", All("l:ipll")), ("pread64", "__dsm_pread", All("l:ipll")),
    ("recv", "__dsm_recv", All("l:ipli")), ("recvfrom", "__dsm_recvfrom", All("l:iplipp")), ("fread", "__dsm_fread", All("l:pllp")),
    ("fread_unlocked", "__dsm_fread_unlocked", All("l:pllp")), ("fgets", "__dsm_fgets", All("p:pip")), ("feof", "__dsm_feof", All("i:p")),
    ("feof_unlocked", "__dsm_feof", All("i:p")), ("clearerr", "__dsm_clearerr", All("v:p")), ("clearerr_unlocked", "__dsm_clearerr", All("v:p")),
    ("fgets_unlocked", "__dsm_fgets_unlocked", All("p:pip")),
    // These are carried out where the file is, on whatever host.
    ("write", "__dsm_write", All("l:ipl")), ("pwrite", "__dsm_pwrite", All("l:ipll")), ("pwrite64", "__dsm_pwrite", All("l:ipll")),
    ("lseek", "__dsm_lseek", All("l:ili")), ("lseek64", "__dsm_lseek", All("l:ili")), ("fsync", "__dsm_fsync", All("i:i")),
    ("fdatasync", "__dsm_fdatasync", All("i:i")), ("ftruncate", "__dsm_ftruncate", All("i:il")),
    ("ftruncate64", "__dsm_ftruncate", All("i:il")), ("fstat", "__dsm_fstat", All("i:ip")), ("fstat64", "__dsm_fstat", All("i:ip")),
    ("isatty", "__dsm_isatty", All("i:i")), ("__dynamic_cast", "__dsm_dynamic_cast", All("p:pppl")), ("wcsdup", "__dsm_wcsdup", All("p:p")),
    ("wcsncat", "__dsm_wcsncat", All("p:ppl")), ("mbsrtowcs", "__dsm_mbsrtowcs", All("l:pplp")),
    ("wcsrtombs", "__dsm_wcsrtombs", All("l:pplp")), ("regcomp", "__dsm_regcomp", All("i:ppi")),
    ("regexec", "__dsm_regexec", All("i:pplpi")), ("regfree", "__dsm_regfree", All("v:p")), ("globfree", "__dsm_globfree", All("v:p")),
    ("globfree64", "__dsm_globfree", All("v:p")), ("wordexp", "__dsm_wordexp", All("i:ppi")), ("wordfree", "__dsm_wordfree", All("v:p")),
    ("mbsnrtowcs", "__dsm_mbsnrtowcs", All("l:ppllp")), ("wcsnrtombs", "__dsm_wcsnrtombs", All("l:ppllp")),
    ("__mbsnrtowcs_chk", "__dsm_mbsnrtowcs", All("l:ppllpl")), ("__wcsnrtombs_chk", "__dsm_wcsnrtombs", All("l:ppllpl")),
    ("iconv_open", "__dsm_iconv_open", All("p:pp")), ("iconv", "__dsm_iconv", All("l:ppppp")), ("sendmsg", "__dsm_sendmsg", All("l:ipi")),
    ("recvmsg", "__dsm_recvmsg", All("l:ipi")), ("getaddrinfo", "__dsm_getaddrinfo", All("i:pppp")),
    ("freeaddrinfo", "__dsm_freeaddrinfo", All("v:p")), ("getifaddrs", "__dsm_getifaddrs", All("i:p")),
    ("freeifaddrs", "__dsm_freeifaddrs", All("v:p")), ("getopt_long", "__dsm_getopt_long", All("i:ipppp")),
    ("getopt_long_only", "__dsm_getopt_long_only", All("i:ipppp")), ("execl", "__dsm_execl", All("i:pp.")),
    ("execlp", "__dsm_execlp", All("i:pp.")), ("execle", "__dsm_execle", All("i:pp.")), ("__cxa_throw", "__dsm_cxa_throw", All("v:ppp")),
    ("__cxa_rethrow", "__dsm_cxa_rethrow", All("v:")),
];

/// What changes or shows the state that a process has once, or keeps its result in memory of the C library. A program takes all of that for its own,
/// whichever process a thread is in.
#[rustfmt::skip]
pub const PROCESS_STATE: &[Replacement] = &[
    // environment, working directory, settings
    ("setenv", "__dsm_setenv", All("i:ppi")), ("unsetenv", "__dsm_unsetenv", All("i:p")), ("clearenv", "__dsm_clearenv", All("i:")),
    ("getenv", "__dsm_getenv", All("p:p")), ("secure_getenv", "__dsm_secure_getenv", All("p:p")), ("chdir", "__dsm_chdir", All("i:p")),
    ("fchdir", "__dsm_fchdir", All("i:i")), ("umask", "__dsm_umask", All("i:i")), ("setlocale", "__dsm_setlocale", All("p:ip")),
    ("setrlimit", "__dsm_setrlimit", All("i:ip")), ("setrlimit64", "__dsm_setrlimit", All("i:ip")), ("nice", "__dsm_nice", All("i:i")),
    ("setpriority", "__dsm_setpriority", All("i:iii")), ("getpid", "__dsm_getpid", All("i:")),
    ("_ZNSt6locale6globalERKS_", "__dsm_locale_global", All("v:pp")), ("_ZSt15set_new_handlerPFvvE", "__dsm_set_new_handler", All("p:p")),
    ("_ZSt13set_terminatePFvvE", "__dsm_set_terminate", All("p:p")), ("_ZNSt6locale5_ImplC1ERKS0_m", "__dsm_locale_copy", All("v:ppl")),
    ("_ZNSt6locale5_ImplC2ERKS0_m", "__dsm_locale_copy", All("v:ppl")),
    ("_ZNSt6locale5_ImplD1Ev", "__dsm_locale_implementation_end", All("v:p")),
    ("_ZNSt6locale5_ImplD2Ev", "__dsm_locale_implementation_end", All("v:p")), ("_ZNSt6localeD1Ev", "__dsm_locale_end", All("v:p")),
    ("_ZNSt6localeD2Ev", "__dsm_locale_end", All("v:p")), ("_ZNSt6localeaSERKS_", "__dsm_locale_assign", All("p:pp")),
    ("_ZNSt8ios_baseD2Ev", "__dsm_stream_end", All("v:p")), ("_ZNSt6localeC1ERKS_S1_i", "__dsm_locale_combine", All("v:pppi")),
    ("_ZNSt6localeC2ERKS_S1_i", "__dsm_locale_combine", All("v:pppi")), ("_ZNSt6localeC1ERKS_PKci", "__dsm_locale_named", All("v:pppi")),
    ("_ZNSt6localeC2ERKS_PKci", "__dsm_locale_named", All("v:pppi")),
    ("_ZNSt6locale5_Impl16_M_replace_facetEPKS0_PKNS_2idE", "__dsm_locale_replace", All("v:ppp")),
    // signals
    ("signal", "__dsm_signal", All("p:ip")), ("bsd_signal", "__dsm_signal", All("p:ip")), ("ssignal", "__dsm_signal", All("p:ip")),
    ("__sysv_signal", "__dsm_sysv_signal", All("p:ip")), ("sysv_signal", "__dsm_sysv_signal", All("p:ip")),
    ("sigaction", "__dsm_sigaction", All("i:ipp")), ("siginterrupt", "__dsm_siginterrupt", All("i:ii")),
    ("sigaltstack", "__dsm_sigaltstack", All("i:pp")),
    // random numbers
    ("rand", "__dsm_rand", All("i:")), ("srand", "__dsm_srandom", All("v:i")), ("random", "__dsm_random", All("l:")),
    ("srandom", "__dsm_srandom", All("v:i")), ("initstate", "__dsm_initstate", All("p:ikl")), ("setstate", "__dsm_setstate", All("p:k")),
    ("drand48", "__dsm_drand48", All("d:")), ("lrand48", "__dsm_lrand48", All("l:")), ("mrand48", "__dsm_mrand48", All("l:")),
    ("erand48", "__dsm_erand48", All("d:p")), ("nrand48", "__dsm_nrand48", All("l:p")), ("jrand48", "__dsm_jrand48", All("l:p")),
    ("srand48", "__dsm_srand48", All("v:l")), ("seed48", "__dsm_seed48", All("p:p")), ("lcong48", "__dsm_lcong48", All("v:p")),
    // results
    ("gmtime", "__dsm_gmtime", All("p:p")), ("localtime", "__dsm_localtime", All("p:p")), ("asctime", "__dsm_asctime", All("p:p")),
    ("ctime", "__dsm_ctime", All("p:p")), ("inet_ntoa", "__dsm_inet_ntoa", All("p:i")), ("l64a", "__dsm_l64a", All("p:l")),
    ("ecvt", "__dsm_ecvt", All("p:dipp")), ("fcvt", "__dsm_fcvt", All("p:dipp")), ("tmpnam", "__dsm_tmpnam", All("p:p")),
    ("tempnam", "__dsm_tempnam", All("p:pp")), ("ctermid", "__dsm_ctermid", All("p:p")), ("strerror", "__dsm_strerror", All("p:i")),
    ("strsignal", "__dsm_strsignal", All("p:i")), ("nl_langinfo", "__dsm_nl_langinfo", All("p:i")),
    ("ttyname", "__dsm_ttyname", All("p:i")), ("ptsname", "__dsm_ptsname", All("p:i")), ("getlogin", "__dsm_getlogin", All("p:")),
    ("dlerror", "__dsm_dlerror", All("p:")), ("gai_strerror", "__dsm_gai_strerror", All("p:i")),
    ("hstrerror", "__dsm_hstrerror", All("p:i")), ("gettext", "__dsm_gettext", All("p:p")), ("dgettext", "__dsm_dgettext", All("p:pp")),
    ("dcgettext", "__dsm_dcgettext", All("p:ppi")), ("ngettext", "__dsm_ngettext", All("p:ppl")),
    ("textdomain", "__dsm_textdomain", All("p:p")), ("bindtextdomain", "__dsm_bindtextdomain", All("p:pp")),
    ("localeconv", "__dsm_localeconv", All("p:")), ("getpwent", "__dsm_getpwent", All("p:")), ("getpwnam", "__dsm_getpwnam", All("p:p")),
    ("getpwuid", "__dsm_getpwuid", All("p:i")), ("getgrent", "__dsm_getgrent", All("p:")), ("getgrnam", "__dsm_getgrnam", All("p:p")),
    ("getgrgid", "__dsm_getgrgid", All("p:i")), ("gethostbyname", "__dsm_gethostbyname", All("p:p")),
    ("getservbyname", "__dsm_getservbyname", All("p:pp")), ("getservbyport", "__dsm_getservbyport", All("p:ip")),
    ("getprotobyname", "__dsm_getprotobyname", All("p:p")), ("getprotobynumber", "__dsm_getprotobynumber", All("p:i")),
];

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::{HashMap, HashSet};
    use std::string::String;

    use super::{First, GROUPS};

    macro_rules! parameters {
        ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ident),* $(,)?) -> $result:ident;)*) => {
            [$((stringify!($name), joined(&[$(letter(stringify!($ty))),*])),)*]
        };
    }

    fn joined(letters: &[&str]) -> String {
        letters.concat()
    }

    fn letter(ty: &str) -> &str {
        match ty {
            "ptr" => "p",
            "i64" => "l",
            _ => "i",
        }
    }

    #[test]
    fn each_function_is_replaced_once() {
        let mut seen = HashSet::new();
        for (name, ..) in GROUPS.iter().flat_map(|group| group.functions) {
            assert!(seen.insert(*name), "{name} is listed twice");
        }
    }

    #[test]
    fn types_are_those_of_the_entries() {
        let entries: HashMap<&str, String> = crate::for_each_entry!(parameters).into_iter().collect();
        for (name, entry, arguments) in GROUPS.iter().flat_map(|group| group.functions) {
            if let First(parameters) = arguments {
                assert_eq!(entries[entry], parameters.replace('k', "p"), "{name}");
            }
        }
    }

    #[test]
    fn types_have_no_other_letters() {
        for (name, _, arguments) in GROUPS.iter().flat_map(|group| group.functions) {
            assert!(arguments.parameters().chars().all(|c| "ildpk.".contains(c)), "{name}");
        }
    }
}
