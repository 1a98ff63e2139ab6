//! The table's second part, by families of the C library: wide characters, patterns, users and groups, terminals, scheduling, threads.

use super::Rule::{A, M, N, S, Strings, WideLength, WideString, WideWithin};
use super::{Effect, Format, R, W};

#[rustfmt::skip]
pub fn table(name: &str) -> Option<(&'static [Effect], Format)> {
    functions! { name;
        // wide strings
        "wcslen" | "wcschr" | "wcsrchr" | "wcschrnul" | "wctype" | "wctrans" => [(R, 0, WideString)];
        "wcsnlen" | "wcswidth" => [(R, 0, WideWithin(1))];
        "wcscmp" | "wcscasecmp" | "wcscoll" | "wcsstr" | "wcswcs" | "wcsspn" | "wcscspn" | "wcspbrk" => [(R, 0, WideString), (R, 1, WideString)];
        "wcsncmp" | "wcsncasecmp" => [(R, 0, WideWithin(2)), (R, 1, WideWithin(2))];
        "wcscpy" | "wcpcpy" => [(R, 1, WideString), (W, 0, WideLength(&[1]))];
        "wcsncpy" | "wcpncpy" => [(R, 1, WideWithin(2)), (W, 0, M(2, WIDE))];
        "wcscat" => [(R, 0, WideString), (R, 1, WideString), (W, 0, WideLength(&[0, 1]))];
        "wcslcpy" => [(R, 1, WideString), (W, 0, M(2, WIDE))];
        "wcslcat" => [(R, 0, WideString), (R, 1, WideString), (W, 0, M(2, WIDE))];
        "wcsxfrm" => [(R, 1, WideString), (W, 0, M(2, WIDE))];
        "wcsftime" => [(W, 0, M(1, WIDE)), (R, 2, WideString), (R, 3, N(TM))];
        "wcstombs" => [(R, 1, WideString), (W, 0, A(2))];
        "wcstol" | "wcstoul" | "wcstoll" | "wcstoull" | "wcstod" | "wcstof" | "wcstold" | "wcstoimax" | "wcstoumax"
            | "wcstoq" | "wcstouq" => [(R, 0, WideString), (W, 1, N(8))];
        "mbsinit" => [(R, 0, N(8))];
        "mbrtoc8" => [(W, 0, N(1)), (R, 1, A(2)), (W, 3, N(8))];
        "mbrtoc16" => [(W, 0, N(2)), (R, 1, A(2)), (W, 3, N(8))];
        "mbrtoc32" => [(W, 0, N(4)), (R, 1, A(2)), (W, 3, N(8))];
        "c8rtomb" | "c16rtomb" | "c32rtomb" => [(W, 0, N(16)), (W, 2, N(8))];
        "fgetws" => [(W, 0, M(1, WIDE))];
        "__fgetws_chk" => [(W, 0, M(2, WIDE))];
        "fputws" => [(R, 0, WideString)];
        // formats of wide characters
        "wprintf" => [(R, 0, WideString)], Format::WidePrint(0, 1);
        "fwprintf" | "__wprintf_chk" => [(R, 1, WideString)], Format::WidePrint(1, 2);
        "__fwprintf_chk" => [(R, 2, WideString)], Format::WidePrint(2, 3);
        "swprintf" => [(R, 2, WideString), (W, 0, M(1, WIDE))], Format::WidePrint(2, 3);
        "__swprintf_chk" => [(R, 4, WideString), (W, 0, M(1, WIDE))], Format::WidePrint(4, 5);
        "vwprintf" => [(R, 0, WideString)], Format::WidePrintList(0, 1);
        "vfwprintf" | "__vwprintf_chk" => [(R, 1, WideString)], Format::WidePrintList(1, 2);
        "__vfwprintf_chk" => [(R, 2, WideString)], Format::WidePrintList(2, 3);
        "vswprintf" => [(R, 2, WideString), (W, 0, M(1, WIDE))], Format::WidePrintList(2, 3);
        "__vswprintf_chk" => [(R, 4, WideString), (W, 0, M(1, WIDE))], Format::WidePrintList(4, 5);
        "wscanf" => [(R, 0, WideString)], Format::WideScan(0, 1, None);
        "fwscanf" => [(R, 1, WideString)], Format::WideScan(1, 2, None);
        "swscanf" => [(R, 0, WideString), (R, 1, WideString)], Format::WideScan(1, 2, Some(0));
        "vwscanf" => [(R, 0, WideString)], Format::WideScanList(0, 1, None);
        "vfwscanf" => [(R, 1, WideString)], Format::WideScanList(1, 2, None);
        "vswscanf" => [(R, 0, WideString), (R, 1, WideString)], Format::WideScanList(1, 2, Some(0));
        // patterns, names, answers
        "fnmatch" | "iconv_open" => [(R, 0, S), (R, 1, S)];
        "regerror" => [(W, 2, A(3))];
        "rpmatch" | "nan" | "nanf" | "nanl" | "a64l" | "crypt_gensalt" | "getpass" => [(R, 0, S)];
        "crypt" => [(R, 0, S), (R, 1, S)];
        "crypt_r" => [(R, 0, S), (R, 1, S), (R, 2, N(32768)), (W, 2, N(32768))];
        "tmpnam" | "tmpnam_r" => [(W, 0, N(20))];
        "ctermid" => [(W, 0, N(9))];
        "mktemp" => [(R, 0, S), (W, 0, super::Rule::L(0))];
        "newlocale" => [(R, 1, S)];
        "strfmon" => [(W, 0, A(1)), (R, 2, S)];
        // users, groups, hosts
        "getpwnam" | "getgrnam" | "gethostbyname" | "gethostbyname2" | "getprotobyname" | "getnetbyname" | "if_nametoindex" | "inet_network" => [(R, 0, S)];
        "getservbyname" => [(R, 0, S), (R, 1, S)];
        "getservbyport" => [(R, 1, S)];
        "gethostbyaddr" => [(R, 0, A(1))];
        "getpwnam_r" => [(R, 0, S), (W, 1, N(48)), (W, 2, A(3)), (W, 4, N(8))];
        "getpwuid_r" => [(W, 1, N(48)), (W, 2, A(3)), (W, 4, N(8))];
        "getgrnam_r" => [(R, 0, S), (W, 1, N(32)), (W, 2, A(3)), (W, 4, N(8))];
        "getgrgid_r" => [(W, 1, N(32)), (W, 2, A(3)), (W, 4, N(8))];
        "getgrouplist" => [(R, 0, S), (W, 3, N(4))];
        "initgroups" => [(R, 0, S)];
        "setgroups" => [(R, 1, M(0, 4))];
        "getresuid" | "getresgid" => [(W, 0, N(4)), (W, 1, N(4)), (W, 2, N(4))];
        "getnameinfo" => [(R, 0, A(1)), (W, 2, A(3)), (W, 4, A(5))];
        "if_indextoname" => [(W, 1, N(16))];
        "sethostname" | "setdomainname" => [(R, 0, A(1))];
        "getsockopt" => [(W, 3, N(SOCKET_OPTION)), (W, 4, N(4))];
        // terminals, descriptors
        "tcgetattr" => [(W, 1, N(TERMINAL))];
        "tcsetattr" => [(R, 2, N(TERMINAL))];
        "cfsetispeed" | "cfsetospeed" | "cfsetspeed" | "cfmakeraw" => [(W, 0, N(TERMINAL))];
        "cfgetispeed" | "cfgetospeed" => [(R, 0, N(TERMINAL))];
        "ptsname_r" => [(W, 1, A(2))];
        "sendfile" | "sendfile64" => [(W, 2, N(8))];
        "splice" | "copy_file_range" => [(W, 1, N(8)), (W, 3, N(8))];
        "getdents64" => [(W, 1, A(2))];
        "timerfd_settime" | "timer_settime" => [(R, 2, N(32)), (W, 3, N(32))];
        "timerfd_gettime" | "timer_gettime" => [(W, 1, N(32))];
        "epoll_pwait" => [(W, 1, M(2, 12)), (R, 4, N(SIGNALS))];
        "inotify_add_watch" => [(R, 1, S)];
        "shm_unlink" | "mq_unlink" | "sem_unlink" | "shm_open" => [(R, 0, S)];
        "getxattr" | "lgetxattr" => [(R, 0, S), (R, 1, S), (W, 2, A(3))];
        "fgetxattr" => [(R, 1, S), (W, 2, A(3))];
        "setxattr" | "lsetxattr" => [(R, 0, S), (R, 1, S), (R, 2, A(3))];
        "fsetxattr" => [(R, 1, S), (R, 2, A(3))];
        "listxattr" | "llistxattr" => [(R, 0, S), (W, 1, A(2))];
        "flistxattr" => [(W, 1, A(2))];
        "removexattr" | "lremovexattr" => [(R, 0, S), (R, 1, S)];
        "mq_send" => [(R, 1, A(2))];
        "mq_receive" => [(W, 1, A(2)), (W, 3, N(4))];
        "semop" => [(R, 1, M(2, 6))];
        "msgrcv" => [(W, 1, A(2)), (W, 1, N(8))];
        "msgsnd" => [(R, 1, A(2)), (R, 1, N(8))];
        "readdir_r" | "readdir64_r" => [(W, 1, N(280)), (W, 2, N(8))];
        "alphasort" | "versionsort" | "alphasort64" | "versionsort64" => [(R, 0, N(8)), (R, 1, N(8))];
        // programs
        "execv" | "execvp" => [(R, 0, S), (R, 1, Strings)];
        "execve" | "execvpe" => [(R, 0, S), (R, 1, Strings), (R, 2, Strings)];
        "fexecve" => [(R, 1, Strings), (R, 2, Strings)];
        "posix_spawn" | "posix_spawnp" => [(W, 0, N(4)), (R, 1, S), (R, 2, N(80)), (R, 3, N(336)), (R, 4, Strings), (R, 5, Strings)];
        "posix_spawnattr_init" | "posix_spawnattr_destroy" | "posix_spawnattr_setflags" | "posix_spawnattr_setpgroup" => [(W, 0, N(336))];
        "posix_spawn_file_actions_init" | "posix_spawn_file_actions_destroy" | "posix_spawn_file_actions_addclose"
            | "posix_spawn_file_actions_adddup2" => [(W, 0, N(80))];
        "posix_spawn_file_actions_addopen" => [(W, 0, N(80)), (R, 2, S)];
        "waitid" => [(W, 2, N(128))];
        // signals, timers, the processor
        "sigtimedwait" => [(R, 0, N(SIGNALS)), (W, 1, N(128)), (R, 2, N(16))];
        "sigwaitinfo" => [(R, 0, N(SIGNALS)), (W, 1, N(128))];
        "sigandset" | "sigorset" => [(W, 0, N(SIGNALS)), (R, 1, N(SIGNALS)), (R, 2, N(SIGNALS))];
        "sigisemptyset" => [(R, 0, N(SIGNALS))];
        "signalfd" => [(R, 1, N(SIGNALS))];
        "timer_create" => [(R, 1, N(64)), (W, 2, N(8))];
        "clock_settime" => [(R, 1, N(16))];
        "sched_getparam" | "pthread_getcpuclockid" => [(W, 1, N(4))];
        "sched_setparam" => [(R, 1, N(4))];
        "sched_setscheduler" => [(R, 2, N(4))];
        "sched_rr_get_interval" => [(W, 1, N(16))];
        "feholdexcept" | "fegetenv" => [(W, 0, N(FLOATING))];
        "fegetexceptflag" => [(W, 0, N(2))];
        "fesetexceptflag" => [(R, 0, N(2))];
        "fegetmode" => [(W, 0, N(8))];
        "fesetmode" => [(R, 0, N(8))];
        "canonicalize" => [(W, 0, N(8)), (R, 1, N(8))];
        "canonicalizef" => [(W, 0, N(4)), (R, 1, N(4))];
        "canonicalizel" => [(W, 0, N(16)), (R, 1, N(16))];
        "mincore" => [(W, 2, A(1))];
        "backtrace" => [(W, 0, M(1, 8))];
        "backtrace_symbols_fd" => [(R, 0, M(1, 8))];
        "dladdr" => [(W, 1, N(32))];
        "dlvsym" => [(R, 1, S), (R, 2, S)];
        "verr" | "verrx" => [(R, 1, S)], Format::PrintList(1, 2);
        "vwarn" | "vwarnx" => [(R, 0, S)], Format::PrintList(0, 1);
        "error_at_line" => [(R, 2, S), (R, 4, S)], Format::Print(4, 5);
        // attributes of threads and their objects
        "pthread_attr_init" | "pthread_attr_destroy" | "pthread_attr_setdetachstate" | "pthread_attr_setguardsize" | "pthread_attr_setinheritsched"
            | "pthread_attr_setschedpolicy" | "pthread_attr_setscope" | "pthread_attr_setstack" | "pthread_attr_setstacksize"
            | "pthread_attr_setstackaddr" => [(W, 0, N(THREAD_ATTRIBUTES))];
        "pthread_attr_setschedparam" => [(W, 0, N(THREAD_ATTRIBUTES)), (R, 1, N(4))];
        "pthread_attr_setaffinity_np" => [(W, 0, N(THREAD_ATTRIBUTES)), (R, 2, A(1))];
        "pthread_attr_getaffinity_np" => [(R, 0, N(THREAD_ATTRIBUTES)), (W, 2, A(1))];
        "pthread_attr_getdetachstate" | "pthread_attr_getinheritsched" | "pthread_attr_getschedpolicy" | "pthread_attr_getscope"
            | "pthread_attr_getschedparam" => [(R, 0, N(THREAD_ATTRIBUTES)), (W, 1, N(4))];
        "pthread_attr_getguardsize" | "pthread_attr_getstacksize" | "pthread_attr_getstackaddr" => [(R, 0, N(THREAD_ATTRIBUTES)), (W, 1, N(8))];
        "pthread_attr_getstack" => [(R, 0, N(THREAD_ATTRIBUTES)), (W, 1, N(8)), (W, 2, N(8))];
        "pthread_getattr_np" => [(W, 1, N(THREAD_ATTRIBUTES))];
        "pthread_mutexattr_init" | "pthread_mutexattr_destroy" | "pthread_mutexattr_settype" | "pthread_mutexattr_setpshared"
            | "pthread_mutexattr_setprotocol" | "pthread_mutexattr_setrobust" | "pthread_mutexattr_setprioceiling" | "pthread_condattr_init"
            | "pthread_condattr_destroy" | "pthread_condattr_setclock" | "pthread_condattr_setpshared" | "pthread_barrierattr_init"
            | "pthread_barrierattr_destroy" | "pthread_barrierattr_setpshared" => [(W, 0, N(4))];
        "pthread_mutexattr_gettype" | "pthread_mutexattr_getpshared" | "pthread_mutexattr_getprotocol" | "pthread_mutexattr_getrobust"
            | "pthread_mutexattr_getprioceiling" | "pthread_condattr_getclock" | "pthread_condattr_getpshared"
            | "pthread_barrierattr_getpshared" => [(R, 0, N(4)), (W, 1, N(4))];
        "pthread_rwlockattr_init" | "pthread_rwlockattr_destroy" | "pthread_rwlockattr_setpshared" | "pthread_rwlockattr_setkind_np" => [(W, 0, N(8))];
        "pthread_rwlockattr_getpshared" | "pthread_rwlockattr_getkind_np" => [(R, 0, N(8)), (W, 1, N(4))];
        "pthread_setname_np" => [(R, 1, S)];
        "pthread_getname_np" => [(W, 1, A(2))];
        "pthread_getschedparam" => [(W, 1, N(4)), (W, 2, N(4))];
        "pthread_setschedparam" => [(R, 2, N(4))];
        "pthread_getaffinity_np" => [(W, 2, A(1))];
        "pthread_setaffinity_np" => [(R, 2, A(1))];
        "pthread_setcancelstate" | "pthread_setcanceltype" => [(W, 1, N(4))];
        // a locale is a pointer to what its process knows of it; the result is a string
        "_ZNKSt6locale4nameB5cxx11Ev" | "_ZNKSt6locale4nameEv" => [(R, 1, N(8)), (W, 0, N(32))];
        // advice about memory: nothing is read or written
        "mprotect" | "mlock" | "munlock" | "mlock2" | "posix_madvise" | "msync" | "freelocale" | "uselocale" | "duplocale" | "nl_langinfo_l"
            | "__uselocale" | "__freelocale" | "__duplocale" | "dlerror" | "mallinfo" | "mallinfo2" | "malloc_trim" | "malloc_stats"
            | "mallopt" | "_Exit" | "_exit" | "quick_exit" | "exit" | "freeifaddrs" => [];
    }
}

/// Functions that call back into the program, or wait for other threads, likewise.
#[rustfmt::skip]
pub fn callback_table(name: &str) -> Option<&'static [Effect]> {
    match name {
        // What the callbacks get belongs to the calling process.
        "nftw" | "nftw64" | "ftw" | "ftw64" => Some(&[(R, 0, S)]),
        "dl_iterate_phdr" => Some(&[]),
        _ => None,
    }
}

/// Bytes of a wide character.
const WIDE: u64 = 4;
/// Bytes of a `struct tm`.
const TM: u64 = 56;
/// Bytes of a `sigset_t`.
const SIGNALS: u64 = 128;
/// Bytes of a `struct termios`.
const TERMINAL: u64 = 60;
/// Bytes of a `fenv_t`.
const FLOATING: u64 = 32;
/// Bytes of a `pthread_attr_t`.
const THREAD_ATTRIBUTES: u64 = 56;
/// Bytes of the largest option of a socket that has a fixed size.
const SOCKET_OPTION: u64 = 256;
