//! The table itself: a line for each function, or for several alike.

use super::Rule::{A, B, C, F, G, J, L, L2, M, N, P, Q, S, U, V};
use super::{Effect, Format, Limit, R, W};

#[rustfmt::skip]
pub fn table(name: &str) -> Option<(&'static [Effect], Format)> {
    functions! { name;
        // memory
        "memcpy" | "memmove" | "mempcpy" => [(R, 1, A(2)), (W, 0, A(2))];
        "memset" => [(W, 0, A(2))];
        "wmemcpy" | "wmemmove" | "wmempcpy" => [(R, 1, M(2, 4)), (W, 0, M(2, 4))];
        "wmemset" => [(W, 0, M(2, 4))];
        "wmemcmp" => [(R, 0, M(2, 4)), (R, 1, M(2, 4))];
        "wmemchr" => [(R, 0, M(2, 4))];
        "bcopy" => [(R, 0, A(2)), (W, 1, A(2))];
        "bzero" | "explicit_bzero" | "memfrob" | "arc4random_buf" => [(W, 0, A(1))];
        "memcmp" | "bcmp" => [(R, 0, A(2)), (R, 1, A(2))];
        "memrchr" => [(R, 0, A(2))];
        "memchr" => [(R, 0, U(0, 1, Limit::Arg(2)))];
        "rawmemchr" => [(R, 0, U(0, 1, Limit::None))];
        "memccpy" => [(R, 1, U(1, 2, Limit::Arg(3))), (W, 0, U(1, 2, Limit::Arg(3)))];
        "memmem" => [(R, 0, A(1)), (R, 2, A(3))];
        // strings
        "strlen" | "strchr" | "strrchr" | "strchrnul" | "index" | "rindex" => [(R, 0, S)];
        "strnlen" => [(R, 0, B(1))];
        "strcmp" | "strcasecmp" | "strcoll" | "strstr" | "strcasestr" | "strspn" | "strcspn" | "strpbrk" => [(R, 0, S), (R, 1, S)];
        "strncmp" => [(R, 0, Q(1, 2, false)), (R, 1, Q(0, 2, false))];
        "strncasecmp" => [(R, 0, Q(1, 2, true)), (R, 1, Q(0, 2, true))];
        "strcpy" | "stpcpy" => [(R, 1, S), (W, 0, L(1))];
        "strncpy" | "stpncpy" => [(R, 1, B(2)), (W, 0, A(2))];
        "strlcpy" => [(R, 1, S), (W, 0, J(&[(1, Limit::None)], Limit::Arg(2)))];
        "strlcat" => [(R, 0, B(2)), (R, 1, S), (W, 0, J(&[(0, Limit::Arg(2)), (1, Limit::None)], Limit::Arg(2)))];
        "strcat" => [(R, 0, S), (R, 1, S), (W, 0, L2(0, 1))];
        "strncat" => [(R, 0, S), (R, 1, B(2)), (W, 0, J(&[(0, Limit::None), (1, Limit::Arg(2))], Limit::None))];
        "strxfrm" | "__strxfrm_l" => [(R, 1, S), (W, 0, A(2))];
        "strverscmp" => [(R, 0, S), (R, 1, S)];
        "swab" => [(R, 0, A(2)), (W, 1, A(2))];
        "strerror_r" | "__xpg_strerror_r" => [(W, 1, C(2, TEXT_BYTES))];
        "basename" => [(R, 0, S)];
        "__xpg_basename" | "dirname" | "strfry" => [(R, 0, S), (W, 0, L(0))];
        "gettext" | "textdomain" => [(R, 0, S)];
        "dgettext" | "bindtextdomain" | "dcgettext" => [(R, 0, S), (R, 1, S)];
        "ngettext" => [(R, 0, S), (R, 1, S)];
        "setlocale" => [(R, 1, S)];
        // characters of several bytes
        "mblen" => [(R, 0, C(1, MB_BYTES))];
        "mbtowc" => [(R, 1, C(2, MB_BYTES)), (W, 0, N(4))];
        "mbrtowc" => [(R, 1, C(2, MB_BYTES)), (W, 0, N(4)), (W, 3, N(8))];
        "mbrlen" => [(R, 0, C(1, MB_BYTES)), (W, 2, N(8))];
        "mbstowcs" => [(R, 1, S), (W, 0, M(2, 4))];
        "wctomb" => [(W, 0, N(MB_BYTES))];
        "wcrtomb" => [(W, 0, N(MB_BYTES)), (W, 2, N(8))];
        // numbers
        "atoi" | "atol" | "atoll" | "atof" => [(R, 0, S)];
        "strtol" | "strtoul" | "strtoll" | "strtoull" | "strtod" | "strtof" | "strtold" | "strtoimax" | "strtoumax"
            | "strtoq" | "strtouq" | "strtof32" | "strtof64" | "strtof128" | "strtof32x" | "strtof64x" => [(R, 0, S), (W, 1, N(8))];
        "strfromd" | "strfromf" | "strfroml" => [(R, 2, S), (W, 0, C(1, TEXT_BYTES))];
        "ecvt" | "fcvt" => [(W, 2, N(4)), (W, 3, N(4))];
        "modf" => [(W, 1, N(8))];
        "modff" => [(W, 1, N(4))];
        "modfl" => [(W, 1, N(16))];
        "frexp" | "frexpf" | "frexpl" | "lgamma_r" | "lgammaf_r" | "lgammal_r" => [(W, 1, N(4))];
        "sincos" => [(W, 1, N(8)), (W, 2, N(8))];
        "sincosf" => [(W, 1, N(4)), (W, 2, N(4))];
        "sincosl" => [(W, 1, N(16)), (W, 2, N(16))];
        "remquo" | "remquof" | "remquol" => [(W, 2, N(4))];
        "drand48_r" | "lrand48_r" | "mrand48_r" => [(W, 0, N(24)), (W, 1, N(8))];
        "srand48_r" => [(W, 1, N(24))];
        "erand48_r" | "nrand48_r" | "jrand48_r" => [(W, 0, N(6)), (W, 1, N(24)), (W, 2, N(8))];
        "random_r" => [(W, 0, N(RANDOM_BYTES)), (W, 1, N(4))];
        "srandom_r" => [(W, 1, N(RANDOM_BYTES))];
        "initstate_r" => [(W, 1, A(2)), (W, 3, N(RANDOM_BYTES))];
        "lcong48" => [(R, 0, N(14))];
        "seed48" => [(R, 0, N(6))];
        "rand_r" => [(W, 0, N(4))];
        "erand48" | "nrand48" | "jrand48" => [(W, 0, N(6))];
        // formatted output
        "printf" => [(R, 0, S)], Format::Print(0, 1);
        "fprintf" | "dprintf" | "__printf_chk" => [(R, 1, S)], Format::Print(1, 2);
        "__fprintf_chk" => [(R, 2, S)], Format::Print(2, 3);
        "sprintf" => [(R, 1, S), (W, 0, F(1))], Format::Print(1, 2);
        "snprintf" => [(R, 2, S), (W, 0, G(1, 2))], Format::Print(2, 3);
        "__sprintf_chk" => [(R, 3, S), (W, 0, F(3))], Format::Print(3, 4);
        "__dprintf_chk" => [(R, 2, S)], Format::Print(2, 3);
        "__snprintf_chk" => [(R, 4, S), (W, 0, G(1, 4))], Format::Print(4, 5);
        "syslog" | "err" | "errx" => [(R, 1, S)], Format::Print(1, 2);
        "__syslog_chk" | "error" => [(R, 2, S)], Format::Print(2, 3);
        "warn" | "warnx" => [(R, 0, S)], Format::Print(0, 1);
        "vprintf" => [(R, 0, S)], Format::PrintList(0, 1);
        "vfprintf" | "vdprintf" | "__vprintf_chk" | "vsyslog" => [(R, 1, S)], Format::PrintList(1, 2);
        "__vfprintf_chk" | "__vdprintf_chk" | "__vsyslog_chk" => [(R, 2, S)], Format::PrintList(2, 3);
        "vsprintf" => [(R, 1, S)], Format::PrintToList(1, 2, 0);
        "__vsprintf_chk" => [(R, 3, S)], Format::PrintToList(3, 4, 0);
        "vsnprintf" => [(R, 2, S), (W, 0, G(1, 2))], Format::PrintList(2, 3);
        "__vsnprintf_chk" => [(R, 4, S), (W, 0, G(1, 4))], Format::PrintList(4, 5);
        // formatted input
        "scanf" | "__isoc99_scanf" | "__isoc23_scanf" => [(R, 0, S)], Format::Scan(0, 1, None);
        "fscanf" | "__isoc99_fscanf" | "__isoc23_fscanf" => [(R, 1, S)], Format::Scan(1, 2, None);
        "sscanf" | "__isoc99_sscanf" | "__isoc23_sscanf" => [(R, 0, S), (R, 1, S)], Format::Scan(1, 2, Some(0));
        "vscanf" | "__isoc99_vscanf" | "__isoc23_vscanf" => [(R, 0, S)], Format::ScanList(0, 1, None);
        "vfscanf" | "__isoc99_vfscanf" | "__isoc23_vfscanf" => [(R, 1, S)], Format::ScanList(1, 2, None);
        "vsscanf" | "__isoc99_vsscanf" | "__isoc23_vsscanf" => [(R, 0, S), (R, 1, S)], Format::ScanList(1, 2, Some(0));
        // streams and files
        "puts" | "perror" | "getenv" | "secure_getenv" | "remove" | "unlink" | "rmdir" | "chdir" | "opendir" | "system" => [(R, 0, S)];
        "mkfifo" | "mknod" | "chown" | "lchown" | "pathconf" | "eaccess" | "euidaccess" | "openlog" | "acct" | "chroot" => [(R, 0, S)];
        "psignal" | "mkdirat" | "unlinkat" | "faccessat" | "fchmodat" | "fchownat" | "mkfifoat" | "mknodat" => [(R, 1, S)];
        "renameat" | "linkat" => [(R, 1, S), (R, 3, S)];
        "symlinkat" => [(R, 0, S), (R, 2, S)];
        "readlinkat" => [(R, 1, S), (W, 2, C(3, TEXT_BYTES))];
        "utime" => [(R, 0, S), (R, 1, N(16))];
        "utimes" | "lutimes" => [(R, 0, S), (R, 1, N(32))];
        "futimes" | "futimens" => [(R, 1, N(32))];
        "utimensat" => [(R, 1, S), (R, 2, N(32))];
        "statx" => [(R, 1, S), (W, 4, N(256))];
        "fstatvfs" | "fstatvfs64" | "fstatfs" | "fstatfs64" => [(W, 1, N(128))];
        "ttyname_r" | "confstr" => [(W, 1, C(2, TEXT_BYTES))];
        "getlogin_r" | "getdomainname" => [(W, 0, C(1, TEXT_BYTES))];
        "getgroups" => [(W, 1, M(0, 4))];
        "sysinfo" => [(W, 0, N(112))];
        "getrlimit" | "getrlimit64" => [(W, 1, N(16))];
        "setrlimit" | "setrlimit64" => [(R, 1, N(16))];
        "prlimit" | "prlimit64" => [(R, 2, N(16)), (W, 3, N(16))];
        "getcpu" => [(W, 0, N(4)), (W, 1, N(4))];
        "fputs" | "fputs_unlocked" => [(R, 0, S)];
        "rename" | "setenv" => [(R, 0, S), (R, 1, S)];
        "open" | "open64" | "creat" | "access" | "mkdir" | "unsetenv" => [(R, 0, S)];
        "fgets" | "fgets_unlocked" => [(W, 0, A(1))];
        "__fgets_chk" | "__fgets_unlocked_chk" => [(W, 0, A(2))];
        "__fread_chk" | "__fread_unlocked_chk" => [(W, 0, P(2, 3))];
        "fgetpos" | "fgetpos64" => [(W, 1, N(16))];
        "fsetpos" | "fsetpos64" => [(R, 1, N(16))];
        "readv" | "preadv" | "preadv64" => [(W, 1, V(2))];
        "writev" | "pwritev" | "pwritev64" => [(R, 1, V(2))];
        "poll" => [(W, 0, M(1, 8))];
        "ppoll" => [(W, 0, M(1, 8)), (R, 2, N(16)), (R, 3, N(128))];
        "pselect" => [(W, 1, N(128)), (W, 2, N(128)), (W, 3, N(128)), (R, 4, N(16)), (R, 5, N(128))];
        "epoll_wait" => [(W, 1, M(2, 12))];
        "epoll_ctl" => [(R, 3, N(12))];
        // sockets
        "accept" | "accept4" | "getsockname" | "getpeername" => [(W, 1, N(SOCKET_ADDRESS_BYTES)), (W, 2, N(4))];
        "bind" | "connect" => [(R, 1, A(2))];
        "recvfrom" => [(W, 1, A(2)), (W, 4, N(SOCKET_ADDRESS_BYTES)), (W, 5, N(4))];
        "__recvfrom_chk" => [(W, 1, A(2)), (W, 5, N(SOCKET_ADDRESS_BYTES)), (W, 6, N(4))];
        "sendto" => [(R, 1, A(2)), (R, 4, A(5))];
        "setsockopt" => [(R, 3, A(4))];
        "inet_pton" => [(R, 1, S), (W, 2, N(16))];
        "inet_ntop" => [(R, 1, N(16)), (W, 2, C(3, TEXT_BYTES))];
        "inet_addr" => [(R, 0, S)];
        "inet_aton" => [(R, 0, S), (W, 1, N(4))];
        "getaddrinfo" => [(R, 0, S), (R, 1, S), (R, 2, N(48)), (W, 3, N(8))];
        "select" => [(W, 1, N(128)), (W, 2, N(128)), (W, 3, N(128)), (W, 4, N(16))];
        "getrandom" | "getentropy" => [(W, 0, A(1))];
        "statvfs" | "statvfs64" | "statfs" | "statfs64" => [(R, 0, S), (W, 1, N(128))];
        "symlink" | "link" => [(R, 0, S), (R, 1, S)];
        "truncate" | "chmod" | "putenv" => [(R, 0, S)];
        "dlsym" => [(R, 1, S)];
        "getopt" => [(W, 1, M(0, 8)), (R, 2, S)];
        "getloadavg" => [(W, 0, M(1, 8))];
        "mtx_init" => [(W, 0, N(40))];
        "eventfd_read" => [(W, 1, N(8))];
        "__sched_cpucount" => [(R, 1, A(0))];
        "sched_getaffinity" => [(W, 2, A(1))];
        "sched_setaffinity" => [(R, 2, A(1))];
        "sigemptyset" | "sigfillset" | "sigaddset" | "sigdelset" => [(W, 0, N(128))];
        "sigismember" => [(R, 0, N(128))];
        "sigaction" => [(R, 1, N(152)), (W, 2, N(152))];
        "sigwait" => [(R, 0, N(128)), (W, 1, N(4))];
        "sigwaitinfo" => [(R, 0, N(128)), (W, 1, N(128))];
        "sigtimedwait" => [(R, 0, N(128)), (W, 1, N(128)), (R, 2, N(16))];
        "timer_create" => [(R, 1, N(64)), (W, 2, N(8))];
        "timer_settime" => [(R, 2, N(32)), (W, 3, N(32))];
        "timer_gettime" => [(W, 1, N(32))];
        "sigpending" => [(W, 0, N(128))];
        "sigaltstack" => [(R, 0, N(24)), (W, 1, N(24))];
        "setitimer" => [(R, 1, N(32)), (W, 2, N(32))];
        "getitimer" => [(W, 1, N(32))];
        "fread" | "fread_unlocked" => [(W, 0, P(1, 2))];
        "fwrite" | "fwrite_unlocked" => [(R, 0, P(1, 2))];
        "read" | "pread" | "pread64" | "recv" => [(W, 1, A(2))];
        "write" | "pwrite" | "pwrite64" | "send" => [(R, 1, A(2))];
        "pipe" | "pipe2" => [(W, 0, N(8))];
        "socketpair" => [(W, 3, N(8))];
        "fstat" | "fstat64" => [(W, 1, N(144))];
        "stat" | "stat64" | "lstat" | "lstat64" => [(R, 0, S), (W, 1, N(144))];
        "fstatat" | "fstatat64" => [(R, 1, S), (W, 2, N(144))];
        "mkstemp" | "mkstemp64" | "mkdtemp" => [(R, 0, S), (W, 0, L(0))];
        "readlink" => [(R, 0, S), (W, 1, C(2, TEXT_BYTES))];
        "wait" => [(W, 0, N(4))];
        "waitpid" => [(W, 1, N(4))];
        "wait3" => [(W, 0, N(4)), (W, 2, N(144))];
        "wait4" => [(W, 1, N(4)), (W, 3, N(144))];
        "uname" => [(W, 0, N(390))];
        "gethostname" => [(W, 0, C(1, TEXT_BYTES))];
        "fgetc" | "getc" | "_IO_getc" | "feof" | "ferror" | "rewind" | "fileno" | "ftell" | "ftello" | "ftello64" | "clearerr" => [];
        "fseek" | "fseeko" | "fseeko64" | "fputc" | "putc" | "_IO_putc" | "ungetc" | "flockfile" | "funlockfile" | "setlinebuf" => [];
        "fgetc_unlocked" | "getc_unlocked" | "fputc_unlocked" | "putc_unlocked" | "feof_unlocked" | "ferror_unlocked" | "clearerr_unlocked"
            | "fileno_unlocked" | "fgetwc" | "getwc" | "fputwc" | "putwc" | "ungetwc" | "fwide" | "ftrylockfile" => [];
        // time
        "time" => [(W, 0, N(8))];
        "gettimeofday" => [(W, 0, N(16)), (W, 1, N(8))];
        "clock_gettime" | "clock_getres" | "clock_getcpuclockid" => [(W, 1, N(16))];
        "timespec_get" | "timespec_getres" => [(W, 0, N(16))];
        "nanosleep" => [(R, 0, N(16)), (W, 1, N(16))];
        "clock_nanosleep" => [(R, 2, N(16)), (W, 3, N(16))];
        "ftime" => [(W, 0, N(16))];
        "asctime_r" => [(R, 0, N(56)), (W, 1, N(26))];
        "ctime_r" => [(R, 0, N(8)), (W, 1, N(26))];
        "strptime" => [(R, 0, S), (R, 1, S), (W, 2, N(56))];
        "times" => [(W, 0, N(32))];
        "getrusage" => [(W, 1, N(144))];
        "ctime" | "localtime" | "gmtime" => [(R, 0, N(8))];
        "localtime_r" | "gmtime_r" => [(R, 0, N(8)), (W, 1, N(56))];
        "asctime" => [(R, 0, N(56))];
        "mktime" | "timegm" | "timelocal" => [(W, 0, N(56))];
        "strftime" => [(W, 0, C(1, TEXT_BYTES)), (R, 2, S), (R, 3, N(56))];
    }
}

#[rustfmt::skip]
pub fn callback_table(name: &str) -> Option<&'static [Effect]> {
    match name {
        "pthread_join" | "pthread_tryjoin_np" | "pthread_timedjoin_np" | "pthread_clockjoin_np" => Some(&[(W, 1, N(8))]),
        "pthread_exit" => Some(&[]),
        // A handler of the program may run inside of them.
        "raise" | "kill" | "killpg" | "pthread_kill" => Some(&[]),
        "sigqueue" | "pthread_sigqueue" => Some(&[]),
        "sigsuspend" => Some(&[(R, 0, N(128))]),
        "sigprocmask" | "pthread_sigmask" => Some(&[(R, 1, N(128)), (W, 2, N(128))]),
        // The key is read by the callback alone.
        "bsearch" => Some(&[(R, 1, P(2, 3))]),
        // Control comes back from wherever `longjmp` is called, so whatever happened until then lies before the return.
        "setjmp" | "_setjmp" | "__sigsetjmp" | "sigsetjmp" => Some(&[(W, 0, N(JMP_BUF_BYTES))]),
        "getcontext" => Some(&[(W, 0, N(CONTEXT_BYTES))]),
        "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => Some(&[(R, 0, N(JMP_BUF_BYTES))]),
        _ => None,
    }
}

/// Longer than what functions write that name things of the system: paths, hosts, errors, times.
const TEXT_BYTES: u64 = 1 << 16;
/// Most bytes of a character in any locale (`MB_LEN_MAX`).
const MB_BYTES: u64 = 16;
/// Size of a `struct random_data`.
const RANDOM_BYTES: u64 = 48;
/// Size of a `struct sockaddr_storage`.
const SOCKET_ADDRESS_BYTES: u64 = 128;

/// Size of a `ucontext_t`.
const CONTEXT_BYTES: u64 = 968;

/// Size of a `jmp_buf`.
const JMP_BUF_BYTES: u64 = 200;
