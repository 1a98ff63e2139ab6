//! Shared and static libraries of instrumented code, in programs of one and of several languages.

use dsm_tests::execute::{self, Outcome};
use dsm_tests::toolchain;
use std::process::Command;

use super::case::{Case, Language, MAIN, PART};

/// What a library shares with the program: a variable that both know, one of its own, one of a function.
const LIBRARY: &str = "int part[1000];
static long own[500];
long *inner(void) { static long values[4096]; return values; }
void fill(int i) { own[i % 500] += i; }
long sum(void)
{
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 1000; i++)
        n += part[i] + own[i % 500] + inner()[4 * i];
    return n;
}
";

const USER: &str = "#include <stdio.h>
extern int part[1000];
long sum(void);
long *inner(void);
void fill(int i);
int mine[1000];
int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        part[i] = 3 * i;
        mine[i] = i;
        inner()[4 * i] = 7 * i;
    }
    for (int i = 0; i < 500; i++) fill(i);
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 1000; i++)
        n += part[999 - i] + mine[999 - i] + inner()[4 * (999 - i)];
    printf(\"%ld %ld\\n\", n, sum());
    return 3;
}
";

const ORIGIN: &str = "-Wl,-rpath,$ORIGIN";

#[test]
fn shared_libraries_share_their_globals() {
    let Some(case) = Case::new("shared", &[("user.c", USER), ("library.c", LIBRARY)]) else { return };
    case.both("-O2 -fopenmp -fPIC -c ../library.c -o library.o");
    for (linker, code) in [("bfd", "-fPIE -pie"), ("lld", "-fno-pie -no-pie"), ("bfd", "-fno-pie -no-pie")] {
        // From an object, and straight from the source.
        let source = if linker == "lld" { "library.o" } else { "-O2 -fPIC ../library.c" };
        case.both(&format!("-fuse-ld={linker} -fopenmp -shared {source} -o lib.so"));
        case.both(&format!("-fuse-ld={linker} -O2 -fopenmp {code} ../user.c lib.so {ORIGIN} -o x"));
        case.agrees("x");
        // The linker would have moved `part` out of the shared memory.
        let relocations = case.must("dsm", "readelf", "--wide --relocs x");
        assert!(!relocations.contains("R_X86_64_COPY"), "{linker} {code}\n{relocations}");
    }
    let text = case.must("dsm", &case.dsm.cc, "--dsm-check lib.so");
    assert!(text.starts_with("lib.so: shared library, compiled by dsm-cc ("), "{text}");
}

/// Symbols that only the library sees, a library that needs another, one that is found by name.
#[test]
fn shared_libraries_hide_and_need_symbols() {
    let outer = "extern int part[1000];
static int calls[3];
__attribute__((constructor)) static void begin(void) { calls[1]++; }
__attribute__((constructor)) static void more(void) { calls[1] += part[7]; }
long sum(void);
long outer(void)
{
    calls[2]++;
    return sum() + calls[1] + calls[2];
}
";
    let inner = format!("{PART}__attribute__((constructor)) static void first(void) {{ part[7] = 41; }}\n");
    let user = MAIN.replace("long sum(void);", "long outer(void);\n#define sum outer");
    let sources = [
        ("outer.c", outer),
        ("inner.c", &inner),
        ("user.c", &user),
        ("outer.map", "{ global: outer; local: *; };\n"),
        ("inner.map", "{ global: part; sum; local: *; };\n"),
    ];
    let Some(case) = Case::new("shared_symbols", &sources) else { return };
    case.both("-O2 -fPIC -shared ../inner.c -Wl,--version-script=../inner.map -o libinner.so");
    case.both(&format!(
        "-O2 -fPIC -shared ../outer.c -L. -linner -Wl,-Bsymbolic -Wl,--version-script=../outer.map {ORIGIN} -o libouter.so"
    ));
    case.both(&format!("-O2 -fopenmp ../user.c -L. -louter -linner {ORIGIN} -o x"));
    case.agrees("x");
}

/// The resolver of a library's function runs at the start, not at the first call, where it would see shared memory.
#[test]
fn indirect_functions_of_libraries_are_bound_at_the_start() {
    let library = "int level = 2;
static void one(long *p) { *p += 1; }
static void two(long *p) { *p += 2; }
static void (*pick(void))(long *) { level = level == 2 ? 7 : 8; return level > 2 ? two : one; }
void f(long *) __attribute__((ifunc(\"pick\")));
void twice(long *p) { f(p); f(p); }
";
    let user = "#include <stdio.h>
extern int level;
void f(long *);
void twice(long *);
static long a[200];
int main(void)
{
    int before = level;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 200; i++)
        if (i & 1) f(&a[i]); else twice(&a[i]);
    long n = 0;
    for (int i = 0; i < 200; i++) n += a[i] * i;
    printf(\"%ld %d\\n\", n, level == before);
}
";
    let Some(case) = Case::new("indirect", &[("user.c", user), ("library.c", library)]) else { return };
    let (part, whole) = (
        "-O2 -fopenmp -fPIC -shared ../library.c -o lib.so",
        format!("-O2 -fopenmp ../user.c lib.so {ORIGIN} -o x"),
    );
    case.native(&format!("{part} -Wl,-z,now"));
    case.native(&format!("{whole} -Wl,-z,now"));
    case.compiled(part);
    case.compiled(&whole);
    case.agrees("x");
}

#[test]
fn cxx_libraries() {
    let header = "#include <cstdio>
#include <string>
#include <vector>
struct Loud {
    const char *name;
    explicit Loud(const char *name) : name(name) { std::printf(\"begin %s\\n\", name); }
    ~Loud() { std::printf(\"end %s\\n\", name); }
};
inline Loud both(\"inline\");
struct Shape {
    virtual long area() const = 0;
    virtual ~Shape() = default;
};
Shape *make(long n);
extern std::vector<std::string> names;
void check(int i);
";
    let library = "#include \"common.h\"
static Loud loud(\"library\");
std::vector<std::string> names;
struct Square : Shape {
    long n;
    explicit Square(long n) : n(n) {}
    long area() const override { return n * n; }
};
Shape *make(long n) { return new Square(n); }
void check(int i)
{
    if (i % 10 == 3) throw names[i / 10];
#pragma omp critical
    names.push_back(\"a name that needs memory of its own\" + std::to_string(i));
}
";
    let user = "#include \"common.h\"
static Loud loud(\"program\");
int main()
{
    // Elements stay where they are while others come.
    names.reserve(64);
    names.resize(4, \"in front of all the others\");
    Shape *shapes[40];
    long total = 0;
    int caught = 0;
#pragma omp parallel for
    for (int i = 0; i < 40; i++) shapes[i] = make(i);
#pragma omp parallel for reduction(+ : total, caught)
    for (int i = 0; i < 40; i++) {
        total += shapes[39 - i]->area();
        try { check(i); } catch (const std::string &s) { caught += (int)s.size(); }
        delete shapes[39 - i];
    }
    std::printf(\"%ld %d %zu\\n\", total, caught, names.size());
}
";
    let sources = [("common.h", header), ("library.cpp", library), ("user.cpp", user)];
    let Some(case) = Case::new("shared_cxx", &sources) else { return };
    case.both_as(Language::Cxx, "-O2 -fopenmp -fPIC -shared ../library.cpp -o lib.so");
    case.both_as(Language::Cxx, &format!("-O2 -fopenmp ../user.cpp lib.so {ORIGIN} -o x"));
    case.agrees("x");
}

/// A number for each element, in C, summed up in Fortran, called from C++; every order of drivers links it.
const MIXED: [(&str, &str); 3] = [
    (
        "fill.c",
        "int table[2000];
void fill(void)
{
#pragma omp parallel for
    for (int i = 0; i < 2000; i++) table[i] = 5 * i;
}
",
    ),
    (
        "total.f90",
        "module store
  use iso_c_binding
  integer(c_long), allocatable :: squares(:)
  integer(c_long) :: largest = -1
end module
subroutine total(a, n, s) bind(c)
  use store
  integer(c_int), value :: n
  integer(c_int) :: a(n)
  integer(c_long) :: s, again(n)
  integer :: i
  if (allocated(squares)) deallocate(squares)
  allocate(squares(n))
  s = 0
  !$omp parallel do
  do i = 1, n
    squares(i) = int(a(i), c_long) * a(i)
  end do
  !$omp parallel do reduction(+:s) reduction(max:largest)
  do i = 1, n
    s = s + squares(n + 1 - i)
    largest = max(largest, squares(i))
    again(i) = squares(i)
  end do
  s = s + again(n)
  print '(a,i0,a,i0)', 'sum ', s, ', largest ', largest
end subroutine
",
    ),
    (
        "main.cpp",
        "#include <memory>
#include <vector>
extern \"C\" {
extern int table[2000];
void fill(void);
void total(int *, int, long *);
}
int main()
{
    fill();
    std::vector<int> copy(table, table + 2000);
    auto s = std::make_unique<long>(0);
    for (int i = 0; i < 2; i++) total(copy.data(), (int)copy.size(), s.get());
    return *s % 100;
}
",
    ),
];

/// Uses what C++ and its library have of constructors that run before those of the program.
const EARLY_PROGRAM: &str = "#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <omp.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
static int numbers[100];
static std::atomic<long> count;
static std::atomic<double> sum;
std::mutex mutex;
struct Named { std::string name; Named() : name(\"static\") {} };
extern \"C\" int answer();
extern \"C\" int hook()
{
    static Named named;
    std::vector<int> values;
    for (int i = 0; i < 1000; i++) values.push_back(i * 7 % 1000);
    std::sort(values.begin(), values.end());
    for (int i = 0; i < 100; i++) numbers[i] += values[i];
    std::map<std::string, int> places;
    for (int i = 0; i < 50; i++) places[std::to_string(i) + named.name] = i;
    std::lock_guard<std::mutex> guard(mutex);
    count += places.size();
    count++;
    for (double old = sum; !sum.compare_exchange_weak(old, old + 1.5);)
        ;
    __atomic_store_n(&numbers[0], 7, __ATOMIC_RELEASE);
    char from[3000], to[3000];
    memset(from, 1, sizeof from);
    memcpy(to, from, sizeof from);
    int total = 0;
    for (char c : to) total += c;
    auto shared = std::make_shared<int>(5);
    std::shared_ptr<int> other = shared;
    try {
        throw std::runtime_error(\"early\");
    } catch (std::exception &error) {
        total += *other + strlen(error.what());
    }
#pragma omp atomic
    total += 3;
    char *copy = strdup(\"copy\");
    total += strcmp(copy, \"copy\");
    free(copy);
    return (int)count + total;
}
int main()
{
    long n = 0;
    std::ostringstream text;
    text << answer() << ' ' << numbers[99] << ' ' << (long)count;
    puts(text.str().c_str());
#pragma omp parallel num_threads(2) reduction(+ : n)
    {
        n += numbers[0] + (long)count;
        for (double old = sum; !sum.compare_exchange_weak(old, old + 1);)
            ;
    }
    printf(\"%ld %g\\n\", n, sum.load());
    printf(\"%d %ld\\n\", hook(), (long)count);
    return 0;
}
";

/// A library that another compiler has made: its constructors begin the streams, and call a function of the program.
const EARLY_LIBRARY: &str = "#include <iostream>
extern \"C\" int hook(void);
static int seen = hook();
extern \"C\" int answer(void) { return seen + (std::cout ? 0 : 1); }
";

#[test]
fn constructors_of_plain_libraries_call_the_program() {
    let Some(case) = Case::new("early", &[("user.cpp", EARLY_PROGRAM), ("library.cpp", EARLY_LIBRARY)])
    else {
        return;
    };
    for directory in ["clang", "dsm"] {
        case.must(directory, toolchain::clangxx(), "-O2 -shared -fPIC ../library.cpp -o lib.so");
    }
    for level in ["-O0", "-O2"] {
        case.both_as(Language::Cxx, &format!("{level} -rdynamic -fopenmp ../user.cpp lib.so {ORIGIN} -o x"));
        case.agrees("x");
    }
}

/// Functions with names of the C library: two of its types, which the runtime replaces, one of another type, and one that it leaves as it is.
const NAMESAKES: [(&str, &str); 2] = [
    (
        "own.c",
        "#include <stdio.h>
static unsigned state = 1;
void srand(unsigned seed) { state = seed; }
int rand(void) { return (int)((state = state * 69069u + 1u) >> 16); }
char *strdup(const char *s) { static char own[64]; snprintf(own, sizeof own, \"(%s)\", s); return own; }
int getline(char line[], int most) { line[0] = 'a' + most % 26; line[1] = 0; return 1; }
int index(int row, int column) { return 10 * row + column; }
",
    ),
    (
        "main.c",
        "int printf(const char *, ...);
void srand(unsigned); int rand(void); char *strdup(const char *); int getline(char [], int); int index(int, int);
int main(void)
{
    char line[8];
    long sum = 0;
    srand(5);
    long first = rand();
    getline(line, 30);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += index(i, 3);
    printf(\"%ld %s %s %ld\\n\", first, strdup(\"text\"), line, sum);
    return 0;
}
",
    ),
];

#[test]
fn functions_of_the_program_with_names_of_the_c_library() {
    let Some(case) = Case::new("namesakes", &NAMESAKES) else { return };
    for level in ["-O0", "-O2", "-O2 -flto"] {
        case.both(&format!("{level} -std=c99 -fno-builtin -fopenmp ../main.c ../own.c -o x"));
        case.agrees("x");
    }
    case.both("-O2 -std=c99 -fno-builtin -fopenmp -c ../own.c -o own.o");
    for directory in ["clang", "dsm"] {
        case.must(directory, "ar", "rcs libown.a own.o");
    }
    case.both("-O2 -std=c99 -fno-builtin -fopenmp ../main.c -L. -lown -o x");
    case.agrees("x");
}

#[test]
fn mixed_languages_in_a_static_library() {
    let Some(case) = Case::new("mixed_static", &MIXED) else { return };
    case.both("-O2 -fopenmp -c ../fill.c -o fill.o");
    case.both_as(Language::Fortran, "-O2 -fopenmp -c ../total.f90 -o total.o");
    case.both_as(Language::Cxx, "-O2 -fopenmp -c ../main.cpp -o main.o");
    for directory in ["clang", "dsm"] {
        case.must(directory, "ar", "rcs libparts.a fill.o total.o");
    }
    let runtime = flang_library();
    for (language, libraries) in [
        (Language::Cxx, &*runtime),
        (Language::Fortran, "-lstdc++"),
        (Language::C, &*format!("{runtime} -lstdc++")),
    ] {
        case.both_as(language, &format!("-fopenmp main.o -L. -lparts {libraries} -lm -o x"));
        case.agrees("x");
    }
}

#[test]
fn mixed_languages_in_shared_libraries() {
    let Some(case) = Case::new("mixed_shared", &MIXED) else { return };
    case.both("-O2 -fopenmp -fPIC -shared ../fill.c -o libfill.so");
    case.both_as(Language::Fortran, "-O2 -fopenmp -fPIC -shared ../total.f90 -o libtotal.so");
    case.both_as(Language::Cxx, &format!("-O2 -fopenmp ../main.cpp -L. -lfill -ltotal {ORIGIN} -o x"));
    case.agrees("x");
}

/// As those of test frameworks: nothing but the start of the program refers to the member, or library, that has `main`.
#[test]
fn main_in_a_library() {
    let fortran = "program squares
  integer :: i, a(1000)
  !$omp parallel do
  do i = 1, 1000
    a(i) = i * i
  end do
  print '(i0)', sum(a)
end program
";
    let Some(case) = Case::program("main_in_a_library") else { return };
    case.write("squares.f90", fortran);
    case.both("-O2 -fopenmp -fPIC -c ../main.c -o main.o");
    case.both("-O2 -fopenmp -fPIC -c ../part.c -o part.o");
    case.both_as(Language::Fortran, "-O2 -fopenmp -c ../squares.f90 -o squares.o");
    for directory in ["clang", "dsm"] {
        case.must(directory, "ar", "rcs libmain.a main.o");
        case.must(directory, "ar", "rcs libsquares.a squares.o");
    }
    for (language, linker) in [(Language::C, "bfd"), (Language::C, "lld"), (Language::Cxx, "lld")] {
        case.both_as(language, &format!("-fuse-ld={linker} -fopenmp part.o -L. -lmain -o x"));
        case.agrees("x");
    }
    case.both_as(Language::Fortran, "-fopenmp -L. -lsquares -o y");
    case.agrees("y");
    case.both("-fopenmp -shared main.o -o libprogram.so");
    case.both(&format!("-fopenmp part.o -L. -lprogram {ORIGIN} -o z"));
    case.agrees("z");
}

/// The pass runs before the bitcode is written. Variables that the linker sees all uses of must stay shared: common ones, which
/// it makes ordinary ones of, those of one source only, and those that it moves to where they are used.
#[test]
fn link_time_optimisation() {
    let user = "#include <stdio.h>
int common[3000];
int both;
static long quiet[100];
int part[1000];
long sum(void);
void set(int i, int n);
__attribute__((noinline)) static long get(int i) { return quiet[i]; }
int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        set(i, 3 * i);
        part[i] = i;
        quiet[i % 100] = i % 100;
    }
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 100; i++)
        n += get(99 - i) + common[i] + common[2999 - i];
#pragma omp parallel num_threads(2)
    for (int round = 0; round < 50; round++) {
#pragma omp critical
        both++;
#pragma omp barrier
    }
    printf(\"%ld %ld %d\\n\", n, sum(), both);
    return 3;
}
";
    let part = "extern int part[1000];
int common[1000];
int both;
static int last;
void set(int i, int n) { common[i] = n; if (i == 999) last = n; }
long sum(void)
{
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 1000; i++) n += part[999 - i] + common[999 - i] + last;
    return n;
}
";
    let Some(case) = Case::new("lto", &[("user.c", user), ("part.c", part)]) else { return };
    for (kind, linker) in [("full", "lld"), ("thin", "lld"), ("full", "bfd"), ("thin", "bfd")] {
        let flags = format!("-O2 -fcommon -fopenmp -flto={kind}");
        case.both(&format!("{flags} -c ../user.c -o user.o"));
        case.both(&format!("{flags} -c ../part.c -o part.o"));
        case.both(&format!("-O2 -fopenmp -flto={kind} -fuse-ld={linker} user.o part.o -o x"));
        case.agrees("x");
    }
    case.both("-O2 -fcommon -fopenmp -flto -fuse-ld=lld ../user.c ../part.c -o x");
    case.agrees("x");
    let text = case.must("dsm", &case.dsm.cc, "--dsm-check part.o");
    assert!(
        text.starts_with("part.o: LLVM bitcode, compiled by dsm-cc (") && text.contains("4096"),
        "{text}"
    );

    case.compiled("-O2 -fcommon -flto -fdsm-line=64 -c ../part.c -o narrow.o");
    case.must("dsm", toolchain::clang(), "-O2 -flto -c ../part.c -o plain.o");
    case.must("dsm", "llvm-ar-22", "rcs libnarrow.a narrow.o");
    let link = "-fopenmp -flto -fuse-ld=lld user.o";
    case.refused(
        &format!("{link} narrow.o -o bad"),
        "bad",
        &["narrow.o", "64", "user.o", "4096", "-fdsm-line"],
    );
    case.refused(&format!("{link} -L. -lnarrow -o bad"), "bad", &["libnarrow.a(narrow.o)", "64", "4096"]);
    case.refused(&format!("{link} plain.o -o bad"), "bad", &["plain.o", "was not compiled by dsm-cc"]);
}

/// What a C or C++ link of Fortran objects names, as `dsm-fc -v` and build systems do.
fn flang_library() -> String {
    let mut command = Command::new(toolchain::flang());
    let outcome = execute::run(command.arg("-print-resource-dir"), "", execute::time_limit());
    let text = outcome.text();
    // <LLVM>/lib/clang/22
    let library = std::path::Path::new(text.trim()).ancestors().nth(2).expect("LLVM has a directory");
    format!("-L{} -lflang_rt.runtime", library.display())
}

fn run(case: &Case, arguments: &str) -> Outcome {
    case.run("dsm", &case.dsm.run, arguments)
}

#[test]
fn libraries_that_do_not_fit() {
    let Some(case) = Case::new("shared_unfit", &[("user.c", USER), ("library.c", LIBRARY)]) else { return };
    case.compiled("-O2 -fPIC -fopenmp -fdsm-line=64 -shared ../library.c -o narrow.so");
    for link in ["narrow.so -o x", "-L. -l:narrow.so -o x"] {
        case.refused(
            &format!("-O2 -fopenmp ../user.c {link}"),
            "x",
            &["narrow.so", "64", "4096", "-fdsm-line"],
        );
    }
    case.compiled("-O2 -fPIC -fopenmp -shared ../library.c -o lib.so");
    case.compiled(&format!("-O2 -fopenmp ../user.c lib.so {ORIGIN} -o x"));
    let dies = |parts: &[&str]| {
        for processes in ["1", "2"] {
            let outcome = run(&case, &format!("-n {processes} ./x"));
            let message = outcome.errors();
            assert_eq!(outcome.status, Some(1), "{message}");
            assert_eq!(message.matches("error:").count(), 1, "{message}");
            for part in parts {
                assert!(message.contains(part), "not '{part}' in: {message}");
            }
        }
    };
    // Exchanged after the link.
    std::fs::copy(case.root.join("dsm/narrow.so"), case.root.join("dsm/lib.so"))
        .expect("a file can be copied");
    dies(&["lib.so for lines of 64", "x was compiled for lines of 4096 bytes", "-fdsm-line"]);
    case.compiled("-O2 -fPIC -fopenmp -c ../library.c -o library.o");
    case.must("dsm", toolchain::clang(), "-shared library.o -o lib.so");
    dies(&["lib.so", "linked by another command", "dsm-cc -shared"]);
}
