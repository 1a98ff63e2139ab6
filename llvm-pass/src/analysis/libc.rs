//! What known C library functions read and write through their pointer arguments.
//!
//! The library is not instrumented, so the memory is made valid before the call. None of the functions lets other
//! threads of the program reach its pointers; a result may alias an argument. Functions that call back into the
//! program are marked, because the callback may synchronise.

use super::facts::{Kind, Length};
use super::fortran;

/// Length rule of a table entry.
#[derive(Clone, Copy)]
pub enum Rule {
    /// Constant number of bytes.
    N(u64),
    /// The argument's value.
    A(u32),
    /// Product of two arguments.
    P(u32, u32),
    /// To the terminating NUL.
    S,
    /// Strings at one argument, with NUL.
    L(u32),
    /// Strings at two arguments, with one NUL.
    L2(u32, u32),
    /// What `sprintf` with the format at this argument writes.
    F(u32),
    /// An array descriptor of Fortran and its elements.
    D,
    /// The objects of a namelist.
    Namelist,
    /// An array constructor of Fortran: room for this many elements more.
    Constructor(u64),
    /// Number of a Fortran unit, and what is done with it.
    U(u32),
    /// The argument's value times a constant.
    M(u32, u64),
    /// As many `struct iovec` as the argument says, and what they name.
    V(u32),
}

use Rule::{A, F, L, L2, M, N, P, S, V};

/// Kind, argument with the address, length.
pub type Effect = (Kind, u32, Rule);
/// Reads.
pub const R: Kind = Kind::Load;
/// Writes.
pub const W: Kind = Kind::Store;

/// How the arguments behind the format are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// No format.
    None,
    /// `printf`: the format at this argument, its arguments from that one on.
    Print(u32, u32),
    /// `vprintf`: the format at this argument, the `va_list` at that one.
    PrintList(u32, u32),
    /// `vsprintf`: likewise; the third is where the text goes.
    PrintToList(u32, u32, u32),
    /// `scanf`: as `Print`; the third is the source string, which bounds `%s`.
    Scan(u32, u32, Option<u32>),
    /// `vscanf`, likewise.
    ScanList(u32, u32, Option<u32>),
}

/// What a function does.
pub struct Function {
    effects: &'static [Effect],
    /// Format arguments.
    pub format: Format,
    /// True if it calls functions of the program, and hands them its arguments.
    pub calls_back: bool,
    /// True if it may synchronise.
    pub syncs: bool,
    /// Argument whose address it stores.
    pub keeps: Option<u32>,
}

macro_rules! functions {
    ($name:expr; $($($f:literal)|+ => [$($effect:expr),*] $(, $format:expr)?;)*) => {
        match $name {
            $($($f)|+ => Some(({ const LIST: &[Effect] = &[$($effect),*]; LIST }, functions!(@format $($format)?))),)*
            _ => None,
        }
    };
    (@format) => { Format::None };
    (@format $format:expr) => { $format };
}

#[rustfmt::skip]
fn table(name: &str) -> Option<(&'static [Effect], Format)> {
    functions! { name;
        // memory
        "memcpy" | "memmove" | "mempcpy" | "__memcpy_chk" | "__memmove_chk" | "__mempcpy_chk" => [(R, 1, A(2)), (W, 0, A(2))];
        "memset" | "__memset_chk" => [(W, 0, A(2))];
        "wmemcpy" | "wmemmove" => [(R, 1, M(2, 4)), (W, 0, M(2, 4))];
        "wmemset" => [(W, 0, M(2, 4))];
        "bcopy" => [(R, 0, A(2)), (W, 1, A(2))];
        "bzero" | "explicit_bzero" => [(W, 0, A(1))];
        "memcmp" | "bcmp" => [(R, 0, A(2)), (R, 1, A(2))];
        "memchr" | "memrchr" => [(R, 0, A(2))];
        "memccpy" => [(R, 1, A(3)), (W, 0, A(3))];
        "memmem" => [(R, 0, A(1)), (R, 2, A(3))];
        // strings
        "strlen" | "strchr" | "strrchr" | "strchrnul" | "index" | "rindex" => [(R, 0, S)];
        "strnlen" => [(R, 0, A(1))];
        "strcmp" | "strcasecmp" | "strcoll" | "strstr" | "strcasestr" | "strspn" | "strcspn" | "strpbrk" => [(R, 0, S), (R, 1, S)];
        "strncmp" | "strncasecmp" => [(R, 0, A(2)), (R, 1, A(2))];
        "strcpy" | "stpcpy" | "__strcpy_chk" | "__stpcpy_chk" => [(R, 1, S), (W, 0, L(1))];
        "strncpy" | "stpncpy" | "__strncpy_chk" => [(R, 1, A(2)), (W, 0, A(2))];
        "strlcpy" => [(R, 1, S), (W, 0, A(2))];
        "strcat" | "__strcat_chk" | "strncat" | "__strncat_chk" => [(R, 0, S), (R, 1, S), (W, 0, L2(0, 1))];
        "strxfrm" | "__strxfrm_l" => [(R, 1, S), (W, 0, A(2))];
        "strverscmp" => [(R, 0, S), (R, 1, S)];
        "swab" => [(R, 0, A(2)), (W, 1, A(2))];
        "strerror_r" => [(W, 1, A(2))];
        // numbers
        "atoi" | "atol" | "atoll" | "atof" => [(R, 0, S)];
        "strtol" | "strtoul" | "strtoll" | "strtoull" | "strtod" | "strtof" | "strtold" | "strtoimax" | "strtoumax" => [(R, 0, S), (W, 1, N(8))];
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
        "seed48" => [(R, 0, N(6))];
        "rand_r" => [(W, 0, N(4))];
        "erand48" | "nrand48" | "jrand48" => [(W, 0, N(6))];
        // formatted output
        "printf" => [(R, 0, S)], Format::Print(0, 1);
        "fprintf" | "dprintf" | "__printf_chk" => [(R, 1, S)], Format::Print(1, 2);
        "__fprintf_chk" => [(R, 2, S)], Format::Print(2, 3);
        "sprintf" => [(R, 1, S), (W, 0, F(1))], Format::Print(1, 2);
        "snprintf" => [(R, 2, S), (W, 0, A(1))], Format::Print(2, 3);
        "__sprintf_chk" => [(R, 3, S), (W, 0, F(3))], Format::Print(3, 4);
        "__dprintf_chk" => [(R, 2, S)], Format::Print(2, 3);
        "__snprintf_chk" => [(R, 4, S), (W, 0, A(1))], Format::Print(4, 5);
        "syslog" => [(R, 1, S)], Format::Print(1, 2);
        "vprintf" => [(R, 0, S)], Format::PrintList(0, 1);
        "vfprintf" | "vdprintf" | "__vprintf_chk" | "vsyslog" => [(R, 1, S)], Format::PrintList(1, 2);
        "__vfprintf_chk" | "__vdprintf_chk" => [(R, 2, S)], Format::PrintList(2, 3);
        "vsprintf" => [(R, 1, S)], Format::PrintToList(1, 2, 0);
        "__vsprintf_chk" => [(R, 3, S)], Format::PrintToList(3, 4, 0);
        "vsnprintf" => [(R, 2, S), (W, 0, A(1))], Format::PrintList(2, 3);
        "__vsnprintf_chk" => [(R, 4, S), (W, 0, A(1))], Format::PrintList(4, 5);
        // formatted input
        "scanf" | "__isoc99_scanf" | "__isoc23_scanf" => [(R, 0, S)], Format::Scan(0, 1, None);
        "fscanf" | "__isoc99_fscanf" | "__isoc23_fscanf" => [(R, 1, S)], Format::Scan(1, 2, None);
        "sscanf" | "__isoc99_sscanf" | "__isoc23_sscanf" => [(R, 0, S), (R, 1, S)], Format::Scan(1, 2, Some(0));
        "vscanf" | "__isoc99_vscanf" | "__isoc23_vscanf" => [(R, 0, S)], Format::ScanList(0, 1, None);
        "vfscanf" | "__isoc99_vfscanf" | "__isoc23_vfscanf" => [(R, 1, S)], Format::ScanList(1, 2, None);
        "vsscanf" | "__isoc99_vsscanf" | "__isoc23_vsscanf" => [(R, 0, S), (R, 1, S)], Format::ScanList(1, 2, Some(0));
        // streams and files
        "puts" | "perror" | "getenv" | "secure_getenv" | "remove" | "unlink" | "rmdir" | "chdir" | "opendir" | "system" => [(R, 0, S)];
        "fputs" | "fputs_unlocked" => [(R, 0, S)];
        "rename" | "setenv" => [(R, 0, S), (R, 1, S)];
        "open" | "open64" | "creat" | "access" | "mkdir" | "unsetenv" => [(R, 0, S)];
        "fgets" | "fgets_unlocked" => [(W, 0, A(1))];
        "__fgets_chk" => [(W, 0, A(2))];
        "__fread_chk" => [(W, 0, P(2, 3))];
        "__read_chk" => [(W, 1, A(2))];
        "fgetpos" | "fgetpos64" => [(W, 1, N(16))];
        "fsetpos" | "fsetpos64" => [(R, 1, N(16))];
        "readv" | "preadv" | "preadv64" => [(W, 1, V(2))];
        "writev" | "pwritev" | "pwritev64" => [(R, 1, V(2))];
        "poll" => [(W, 0, M(1, 8))];
        "select" => [(W, 1, N(128)), (W, 2, N(128)), (W, 3, N(128)), (W, 4, N(16))];
        "getrandom" | "getentropy" => [(W, 0, A(1))];
        "statvfs" | "statvfs64" | "statfs" | "statfs64" => [(R, 0, S), (W, 1, N(128))];
        "symlink" | "link" => [(R, 0, S), (R, 1, S)];
        "truncate" | "chmod" | "putenv" => [(R, 0, S)];
        "dlsym" => [(R, 1, S)];
        "getopt" => [(R, 2, S)];
        "getloadavg" => [(W, 0, M(1, 8))];
        "sched_getaffinity" => [(W, 2, A(1))];
        "sched_setaffinity" => [(R, 2, A(1))];
        "sigemptyset" | "sigfillset" | "sigaddset" | "sigdelset" => [(W, 0, N(128))];
        "sigismember" => [(R, 0, N(128))];
        "sigaction" => [(R, 1, N(152)), (W, 2, N(152))];
        "sigprocmask" | "pthread_sigmask" => [(R, 1, N(128)), (W, 2, N(128))];
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
        "readlink" => [(R, 0, S), (W, 1, A(2))];
        "wait" => [(W, 0, N(4))];
        "waitpid" => [(W, 1, N(4))];
        "uname" => [(W, 0, N(390))];
        "gethostname" => [(W, 0, A(1))];
        "fgetc" | "getc" | "_IO_getc" | "feof" | "ferror" | "rewind" | "fileno" | "ftell" | "ftello" | "ftello64" | "clearerr" => [];
        "fseek" | "fseeko" | "fseeko64" | "fputc" | "putc" | "_IO_putc" | "ungetc" | "flockfile" | "funlockfile" | "setlinebuf" => [];
        // time
        "time" => [(W, 0, N(8))];
        "gettimeofday" => [(W, 0, N(16)), (W, 1, N(8))];
        "clock_gettime" | "clock_getres" => [(W, 1, N(16))];
        "timespec_get" => [(W, 0, N(16))];
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
        "mktime" | "timegm" => [(W, 0, N(56))];
        "strftime" => [(W, 0, A(1)), (R, 2, S), (R, 3, N(56))];
    }
}

#[rustfmt::skip]
fn callback_table(name: &str) -> Option<&'static [Effect]> {
    match name {
        "qsort" | "qsort_r" => Some(&[(W, 0, P(1, 2))]),
        // The key is read by the callback alone.
        "bsearch" => Some(&[(R, 1, P(2, 3))]),
        // Control comes back from wherever `longjmp` is called, so whatever happened until then lies before the return.
        "setjmp" | "_setjmp" | "__sigsetjmp" | "sigsetjmp" => Some(&[(W, 0, N(JMP_BUF_BYTES))]),
        "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => Some(&[(R, 0, N(JMP_BUF_BYTES))]),
        _ => None,
    }
}

/// Size of a `jmp_buf`, the largest of the targets that are supported (AArch64).
const JMP_BUF_BYTES: u64 = if cfg!(target_arch = "aarch64") { 312 } else { 200 };

/// The functions whose only memory is `errno`, without the suffixes for `float` and `long double`.
const MATH: &[&str] = &[
    "cabs",
    "cacos",
    "cacosh",
    "carg",
    "casin",
    "casinh",
    "catan",
    "catanh",
    "ccos",
    "ccosh",
    "cexp",
    "cimag",
    "clog",
    "conj",
    "cpow",
    "cproj",
    "creal",
    "csin",
    "csinh",
    "csqrt",
    "ctan",
    "ctanh",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "rint",
    "round",
    "scalbln",
    "scalbn",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
];

/// Functions without pointer arguments that neither touch the program's memory nor synchronise.
const PLAIN: &[&str] = &[
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "rand",
    "srand",
    "random",
    "srandom",
    "drand48",
    "lrand48",
    "mrand48",
    "srand48",
    "clock",
    "putchar",
    "getchar",
    "toupper",
    "tolower",
    "isalpha",
    "isdigit",
    "isspace",
    "isalnum",
    "isupper",
    "islower",
    "isxdigit",
    "ispunct",
    "isprint",
    "getpid",
    "__errno_location",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "sysconf",
    "close",
    "lseek",
    "lseek64",
    "fsync",
    "ftruncate",
    "fchmod",
    "dup",
    "dup2",
    "sleep",
    "usleep",
    "sched_yield",
    "getppid",
    "gettid",
    "getuid",
    "alarm",
    "isatty",
    "umask",
    "dlclose",
    "sync",
];

/// Functions that use a stream, and the argument that it is.
#[rustfmt::skip]
pub const STREAMS: &[(&str, u32)] = &[
    ("fprintf", 0), ("vfprintf", 0), ("__fprintf_chk", 0), ("__vfprintf_chk", 0),
    ("fscanf", 0), ("__isoc99_fscanf", 0), ("__isoc23_fscanf", 0),
    ("vfscanf", 0), ("__isoc99_vfscanf", 0), ("__isoc23_vfscanf", 0),
    ("fgetc", 0), ("getc", 0), ("_IO_getc", 0), ("ungetc", 1), ("fgets", 2), ("fgets_unlocked", 2), ("__fgets_chk", 3),
    ("fread", 3), ("fread_unlocked", 3), ("__fread_chk", 4),
    ("fputc", 1), ("putc", 1), ("_IO_putc", 1), ("fputs", 1), ("fputs_unlocked", 1),
    ("fwrite", 3), ("fwrite_unlocked", 3),
    ("feof", 0), ("ferror", 0), ("clearerr", 0), ("fileno", 0), ("rewind", 0),
    ("fseek", 0), ("fseeko", 0), ("fseeko64", 0), ("ftell", 0), ("ftello", 0), ("ftello64", 0),
    ("fgetpos", 0), ("fgetpos64", 0), ("fsetpos", 0), ("fsetpos64", 0),
    ("setvbuf", 0), ("setbuf", 0), ("setlinebuf", 0), ("flockfile", 0), ("funlockfile", 0),
];

/// The function's description, if it is in the table.
pub fn function(name: &str) -> Option<Function> {
    if let Some(effects) = callback_table(name) {
        return Some(Function { effects, format: Format::None, calls_back: true, syncs: true, keeps: None });
    }
    if let Some(function) = fortran::function(name) {
        return Some(function);
    }
    let plain = name.strip_prefix("__isoc23_").or(name.strip_prefix("__isoc99_")).unwrap_or(name);
    if let Some(effects) = super::libstdcxx::effects(name) {
        return Some(Function {
            effects,
            format: Format::None,
            calls_back: false,
            syncs: false,
            keeps: None,
        });
    }
    let (effects, format) = table(name).or_else(|| table(plain)).or_else(|| {
        let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
        let known = MATH.contains(&name) || MATH.contains(&stem) || PLAIN.contains(&name);
        known.then_some((&[] as &[Effect], Format::None))
    })?;
    Some(Function { effects, format, calls_back: false, syncs: false, keeps: None })
}

impl Function {
    /// An entry of the Fortran runtime library.
    pub fn fortran(effects: &'static [Effect], syncs: bool, keeps: Option<u32>) -> Function {
        Function { effects, format: Format::None, calls_back: false, syncs, keeps }
    }

    /// Memory touched, as (kind, argument, length).
    pub fn effects(&self) -> impl Iterator<Item = (Kind, u32, Length)> + '_ {
        self.effects.iter().map(|&(kind, argument, rule)| {
            let length = match rule {
                N(bytes) => Length::Bytes(bytes),
                A(argument) => Length::Arg(argument),
                P(x, y) => Length::Product(x, y),
                S => Length::Str,
                L(argument) => Length::StrLen(vec![argument]),
                L2(x, y) => Length::StrLen(vec![x, y]),
                F(format) => Length::Formatted { format },
                Rule::D => Length::Descriptor,
                Rule::Namelist => Length::Namelist,
                Rule::Constructor(elements) => Length::Constructor { elements },
                Rule::U(role) => Length::Unit { role },
                M(argument, scale) => Length::Scaled(argument, scale),
                V(count) => Length::Vectors(count),
            };
            (kind, argument, length)
        })
    }
}
