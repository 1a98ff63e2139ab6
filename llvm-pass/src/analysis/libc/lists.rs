//! Functions of which no more need be said than their names.

/// The functions whose only memory is `errno`, without the suffixes for `float` and `long double`.
#[rustfmt::skip]
pub const MATH: &[&str] = &[
    "cabs", "cacos", "cacosh", "carg", "casin", "casinh", "catan", "catanh", "ccos", "ccosh", "cexp", "cimag", "clog", "conj", "cpow",
    "cproj", "creal", "csin", "csinh", "csqrt", "ctan", "ctanh", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil",
    "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod",
    "hypot", "ilogb", "j0", "j1", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround",
    "nearbyint", "nextafter", "pow", "remainder", "rint", "round", "scalbln", "scalbn", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma",
    "trunc", "y0", "y1",
];

/// Functions that store to every byte of what the table says that they write.
pub const FILLING: &[&str] = &[
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "wmemcpy",
    "wmemmove",
    "wmempcpy",
    "wmemset",
    "bcopy",
    "bzero",
    "explicit_bzero",
];

/// Functions of ISO C, whose names programs leave to the library (ISO/IEC 9899:2018, 7.1.3), and some of POSIX that programs wait by, for which the same is taken for granted.
#[rustfmt::skip]
pub const RESERVED: &[&str] = &[
    "memchr", "memcmp", "memcpy", "memmove", "memset", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strerror", "strlen",
    "strncat", "strncmp", "strncpy", "strpbrk", "strrchr", "strspn", "strstr", "strtok", "strxfrm",
    "clearerr", "fclose", "feof", "ferror", "fflush", "fgetc", "fgetpos", "fgets", "fopen", "fprintf", "fputc", "fputs", "fread", "freopen",
    "fscanf", "fseek", "fsetpos", "ftell", "fwrite", "getc", "getchar", "perror", "printf", "putc", "putchar", "puts", "remove", "rename",
    "rewind", "scanf", "setbuf", "setvbuf", "snprintf", "sprintf", "sscanf", "tmpfile", "tmpnam", "ungetc", "vfprintf", "vfscanf",
    "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf",
    "abort", "abs", "aligned_alloc", "atof", "atoi", "atol", "atoll", "bsearch", "calloc", "div", "exit", "free", "getenv", "labs", "ldiv",
    "llabs", "lldiv", "malloc", "mblen", "mbstowcs", "mbtowc", "qsort", "rand", "realloc", "srand", "strtod", "strtof", "strtol", "strtold",
    "strtoll", "strtoul", "strtoull", "system", "wcstombs", "wctomb",
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint", "ispunct", "isspace", "isupper", "isxdigit",
    "tolower", "toupper", "asctime", "clock", "ctime", "difftime", "gmtime", "localtime", "mktime", "strftime", "time", "timespec_get",
    "setlocale", "localeconv", "signal", "raise", "setjmp", "longjmp", "imaxabs", "imaxdiv", "strtoimax", "strtoumax",
    "feclearexcept", "fegetenv", "fegetexceptflag", "fegetround", "feholdexcept", "feraiseexcept", "fesetenv", "fesetexceptflag",
    "fesetround", "fetestexcept", "feupdateenv",
    "btowc", "fgetwc", "fgetws", "fputwc", "fputws", "fwide", "fwprintf", "fwscanf", "getwc", "getwchar", "mbrlen", "mbrtowc", "mbsinit",
    "mbsrtowcs", "putwc", "putwchar", "swprintf", "swscanf", "ungetwc", "vfwprintf", "vfwscanf", "vswprintf", "vswscanf", "vwprintf",
    "vwscanf", "wcrtomb", "wcscat", "wcschr", "wcscmp", "wcscoll", "wcscpy", "wcscspn", "wcsftime", "wcslen", "wcsncat", "wcsncmp",
    "wcsncpy", "wcspbrk", "wcsrchr", "wcsrtombs", "wcsspn", "wcsstr", "wcstod", "wcstof", "wcstok", "wcstol", "wcstold", "wcstoll",
    "wcstoul", "wcstoull", "wcsxfrm", "wctob", "wmemchr", "wmemcmp", "wmemcpy", "wmemmove", "wmemset", "wprintf", "wscanf",
    "iswalnum", "iswalpha", "iswblank", "iswcntrl", "iswctype", "iswdigit", "iswgraph", "iswlower", "iswprint", "iswpunct", "iswspace",
    "iswupper", "iswxdigit", "towctrans", "towlower", "towupper", "wctrans", "wctype",
    "usleep", "nanosleep", "clock_nanosleep", "sched_yield", "sleep", "gettimeofday", "clock_gettime",
];

/// Functions without pointer arguments that neither touch the program's memory nor synchronise.
#[rustfmt::skip]
pub const PLAIN: &[&str] = &[
    "fgetwc", "getwchar", "putwchar", "wctob", "towctrans", "iswctype", "getw", "putw", "getauxval", "sched_get_priority_max", "sched_get_priority_min", "sched_getcpu",
    "sched_getscheduler", "feclearexcept", "feraiseexcept", "fetestexcept", "fegetround", "feenableexcept", "fedisableexcept",
    "fegetexcept", "setsid", "setpgid", "setuid", "setgid", "seteuid", "setegid", "tcgetpgrp", "tcsetpgrp",
    "tcdrain", "tcflow", "tcflush", "tcsendbreak", "timer_delete", "timer_getoverrun", "strerror_l", "strerrorname_np", "strerrordesc_np",
    "sigabbrev_np", "sigdescr_np", "getpwuid", "getgrgid", "getpwent", "getgrent", "setpwent", "setgrent", "endgrent", "mlockall",
    "munlockall",
    "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", "__errno_location", "__fdelt_chk", "abort", "abs", "alarm", "arc4random",
    "arc4random_uniform", "btowc", "clock", "close", "closedir", "ctermid", "difftime", "dirfd", "div", "dlclose", "drand48", "dup", "dup2",
    "endpwent", "fallocate", "fallocate64", "fchdir", "fchmod", "fchown", "fdatasync", "ffs", "ffsl", "ffsll", "finite", "flock",
    "fpathconf", "freeaddrinfo", "fsync", "ftruncate", "gai_strerror", "get_nprocs", "get_nprocs_conf", "getchar", "getchar_unlocked",
    "getdtablesize", "getegid", "geteuid", "getgid", "getlogin", "getpagesize", "getpgid", "getpgrp", "getpid", "getppid",
    "getpriority", "getsid", "gettid", "getuid", "gnu_get_libc_version", "htonl", "htons", "iconv_close", "imaxabs", "imaxdiv", "isalnum", "isalpha",
    "isascii", "isatty", "isblank", "iscntrl", "isdigit", "isgraph", "isinf", "islower", "isnan", "isprint", "ispunct", "isspace",
    "isupper", "iswalnum", "iswalpha", "iswblank", "iswcntrl", "iswdigit", "iswgraph", "iswlower", "iswprint", "iswpunct", "iswspace",
    "iswupper", "iswxdigit", "isxdigit", "labs", "ldiv", "listen", "llabs", "lldiv", "localeconv", "lockf", "lrand48", "lseek",
    "lseek64", "mrand48", "nice", "nl_langinfo", "ntohl", "ntohs", "posix_fadvise", "posix_fadvise64", "posix_fallocate",
    "posix_fallocate64", "putchar", "putchar_unlocked", "rand", "random", "readdir", "readdir64", "rewinddir", "sched_yield",
    "seekdir", "setpriority", "shutdown", "signal", "sleep", "socket", "srand", "srand48", "srandom", "strerror", "strsignal", "sync",
    "syncfs", "sysconf", "telldir", "toascii", "tolower", "toupper", "towlower", "towupper", "tzset", "umask", "usleep", "wcwidth",
];
