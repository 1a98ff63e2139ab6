//! What known C library functions read and write through their pointer arguments.
//!
//! The library is not instrumented, so the memory is made valid before the call. None of the functions lets other
//! threads of the program reach its pointers; a result may alias an argument. Functions that call back into the
//! program are marked, because the callback may synchronise.

use super::facts::{Kind, Length};

/// Length rule of a table entry.
#[derive(Clone, Copy)]
enum Rule {
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
}

use Rule::{A, F, L, L2, N, P, S};

type Effect = (Kind, u32, Rule);
const R: Kind = Kind::Load;
const W: Kind = Kind::Store;

/// How the arguments behind the format are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// No format.
    None,
    /// The arguments are behind a `va_list`.
    List,
    /// `printf`: the format at this argument, its arguments from that one on.
    Print(u32, u32),
    /// `scanf`, likewise; the third is the source string, which bounds `%s`.
    Scan(u32, u32, Option<u32>),
}

/// What a function does.
pub struct Function {
    effects: &'static [Effect],
    /// Format arguments.
    pub format: Format,
    /// True if it calls functions of the program.
    pub calls_back: bool,
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
        "strtok" => [(R, 0, S), (W, 0, L(0)), (R, 1, S)];
        "strtok_r" => [(R, 1, S), (W, 2, N(8))];
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
        "rand_r" => [(W, 0, N(4))];
        "erand48" | "nrand48" | "jrand48" => [(W, 0, N(6))];
        // formatted output
        "printf" => [(R, 0, S)], Format::Print(0, 1);
        "fprintf" | "dprintf" | "__printf_chk" => [(R, 1, S)], Format::Print(1, 2);
        "__fprintf_chk" => [(R, 2, S)], Format::Print(2, 3);
        "sprintf" => [(R, 1, S), (W, 0, F(1))], Format::Print(1, 2);
        "snprintf" => [(R, 2, S), (W, 0, A(1))], Format::Print(2, 3);
        "__sprintf_chk" => [(R, 3, S), (W, 0, F(3))], Format::Print(3, 4);
        "vprintf" => [(R, 0, S)], Format::List;
        "vfprintf" | "vdprintf" => [(R, 1, S)], Format::List;
        "vsnprintf" => [(R, 2, S), (W, 0, A(1))], Format::List;
        "__vsnprintf_chk" => [(R, 4, S), (W, 0, A(1))], Format::List;
        "__snprintf_chk" => [(R, 4, S), (W, 0, A(1))], Format::Print(4, 5);
        // formatted input
        "scanf" | "__isoc99_scanf" | "__isoc23_scanf" => [(R, 0, S)], Format::Scan(0, 1, None);
        "fscanf" | "__isoc99_fscanf" | "__isoc23_fscanf" => [(R, 1, S)], Format::Scan(1, 2, None);
        "sscanf" | "__isoc99_sscanf" | "__isoc23_sscanf" => [(R, 0, S), (R, 1, S)], Format::Scan(1, 2, Some(0));
        // streams and files
        "puts" | "perror" | "getenv" | "secure_getenv" | "remove" | "unlink" | "rmdir" | "chdir" | "opendir" | "system" => [(R, 0, S)];
        "fputs" | "fputs_unlocked" => [(R, 0, S)];
        "fopen" | "fopen64" | "freopen" | "popen" | "rename" | "setenv" => [(R, 0, S), (R, 1, S)];
        "open" | "open64" | "creat" | "access" | "mkdir" | "unsetenv" => [(R, 0, S)];
        "fgets" | "fgets_unlocked" => [(W, 0, A(1))];
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
        "getline" => [(W, 0, N(8)), (W, 1, N(8))];
        "readlink" => [(R, 0, S), (W, 1, A(2))];
        "realpath" => [(R, 0, S)];
        "wait" => [(W, 0, N(4))];
        "waitpid" => [(W, 1, N(4))];
        "uname" => [(W, 0, N(390))];
        "getcwd" => [(W, 0, A(1))];
        "gethostname" => [(W, 0, A(1))];
        "fgetc" | "getc" | "fclose" | "fflush" | "feof" | "ferror" | "rewind" | "fileno" | "pclose" | "ftell" | "clearerr" | "fseek" => [];
        "fputc" | "putc" | "ungetc" => [];
        // time
        "time" => [(W, 0, N(8))];
        "gettimeofday" => [(W, 0, N(16)), (W, 1, N(8))];
        "clock_gettime" | "clock_getres" => [(W, 1, N(16))];
        "timespec_get" => [(W, 0, N(16))];
        "nanosleep" => [(R, 0, N(16)), (W, 1, N(16))];
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
];

/// The function's description, if it is in the table.
pub fn function(name: &str) -> Option<Function> {
    if let Some(effects) = callback_table(name) {
        return Some(Function { effects, format: Format::None, calls_back: true });
    }
    let plain = name.strip_prefix("__isoc23_").or(name.strip_prefix("__isoc99_")).unwrap_or(name);
    let (effects, format) = table(name).or_else(|| table(plain)).or_else(|| {
        let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
        let known = MATH.contains(&name) || MATH.contains(&stem) || PLAIN.contains(&name);
        known.then_some((&[] as &[Effect], Format::None))
    })?;
    Some(Function { effects, format, calls_back: false })
}

impl Function {
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
            };
            (kind, argument, length)
        })
    }
}
