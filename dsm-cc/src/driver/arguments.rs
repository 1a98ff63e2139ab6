//! The first walk over the argument vector: what was typed. Nothing is changed or judged here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::components::{Language, RUNTIME};
use super::error::Error;
use super::own::{Own, PREFIX};
use super::refusals::Refusals;

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `-E`, `-M`, `-MM`, `-fsyntax-only`: no code.
    NoCode,
    /// `-S`.
    Assembly,
    /// `-c`.
    Object,
    /// Nothing said: a program.
    Link,
}

/// What an input file is to the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Text that goes through the compiler, and so through the pass.
    Source,
    /// A header to precompile: text for the compiler, and nothing for the linker.
    Header,
    /// LLVM's own language, for the compiler too.
    Ir,
    /// Goes through the assembler only.
    Assembly,
    /// Goes to the linker.
    Linked,
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// As typed; `-` is standard input.
    pub path: PathBuf,
    /// See the type.
    pub kind: InputKind,
    /// Of a source, where its name or an option says it.
    pub language: Option<SourceLanguage>,
}

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// C, C++ or another language that clang takes.
    C,
    /// Fortran.
    Fortran,
}

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// How far to go.
    pub stage: Stage,
    /// Input files in order.
    pub inputs: Vec<Input>,
    /// `-L`: where the linker looks for libraries by name.
    pub library_directories: Vec<PathBuf>,
    /// `-l`: libraries by name.
    pub libraries: Vec<OsString>,
    /// Words handed to the linker that may be files: `-Wl,x.o`, `-Xlinker x.o`.
    pub linker_words: Vec<PathBuf>,
    /// `-o`: the file to make.
    pub output: Option<PathBuf>,
    /// `-w`: no warnings.
    pub quiet: bool,
    /// `-###`: the compiler says what it would do.
    pub dry: bool,
    /// The driver's own options.
    pub own: Own,
    /// A question to the compiler (`--version`, `-print-…`, `-dumpmachine`, `-cc1`): no compilation is wanted.
    pub query: bool,
    /// `--help`, which the driver answers.
    pub help: bool,
    /// OpenMP is on: the last option about it says so.
    pub openmp: bool,
    /// The last option about OpenMP switches it off.
    pub serial: bool,
    /// How an option reaches the compiler's front end alone: `-Xclang` or `-Xflang`.
    pub front_end: &'static str,
    /// The last option about it asks for code that cannot be moved: `-fno-pic`, `-fno-pie`.
    pub fixed_code: bool,
    /// `-shared`.
    pub shared: bool,
    /// `-r`.
    pub relocatable: bool,
    /// An option is about the linker, or one for it: which one links is up to the user.
    pub linker_options: bool,
    /// `-nostdlib`, `-nostartfiles` or `-nodefaultlibs`: the user links by hand.
    pub by_hand: Option<&'static str>,
    /// What cannot work.
    pub refusals: Refusals,
}

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-o",
    "--output",
    "-x",
    "--language",
    "-I",
    "--include-directory",
    "--include-directory-after",
    "-L",
    "--library-directory",
    "-D",
    "--define-macro",
    "-U",
    "--undefine-macro",
    "-B",
    "--prefix",
    "-J",
    "-l",
    "-u",
    "-z",
    "-e",
    "-T",
    "-h",
    "-include",
    "--include",
    "-include-pch",
    "-imacros",
    "--imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-cxx-isystem",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xclang",
    "-Xflang",
    "-Xlinker",
    "--for-linker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xopenmp-target",
    "-mllvm",
    "-mmlir",
    "-target",
    "-arch",
    "--param",
    "-rpath",
    "-soname",
    "-dumpdir",
    "-gcc-toolchain",
    "--sysroot",
    "--std",
    "--stdlib",
    "-wrapper",
    "-aux-info",
    "-dependency-file",
    "-serialize-diagnostics",
    "--config",
    "-module-dir",
    "-Tbss",
    "-Tdata",
    "-Ttext",
];

/// How options begin that choose a linker, or go to it; a configuration file may have any of them.
const LINKER_OPTIONS: [&str; 12] = [
    "-Wl,",
    "-Xlinker",
    "--for-linker",
    "-T",
    "-z",
    "-B",
    "--prefix",
    "-e",
    "-flto",
    "-fuse-ld=",
    "--ld-path=",
    "--config",
];

/// Options that begin like those for debug information and make none.
const NO_PLACES: [&str; 17] = [
    "-gz",
    "-gno-",
    "-gsplit-dwarf",
    "-gdwarf-aranges",
    "-gcolumn-info",
    "-gpubnames",
    "-ggnu-pubnames",
    "-gembed-source",
    "-gstrict-dwarf",
    "-grecord-",
    "-gsimple-template-names",
    "-ginline-line-tables",
    "-gkey-instructions",
    "-gtemplate-alias",
    "-gomit-",
    "-gen-",
    "-gcc-",
];

impl Typed {
    /// Walks over the arguments (without the program's name; response files replaced by their contents).
    ///
    /// # Errors
    /// A wrong option of the driver's own.
    pub fn read(arguments: &[OsString]) -> Result<Typed, Error> {
        let mut typed = Typed {
            stage: Stage::Link,
            inputs: Vec::new(),
            library_directories: Vec::new(),
            libraries: Vec::new(),
            linker_words: Vec::new(),
            output: None,
            quiet: false,
            dry: false,
            own: Own::default(),
            query: false,
            help: false,
            openmp: false,
            serial: false,
            front_end: "-Xclang",
            fixed_code: false,
            shared: false,
            relocatable: false,
            linker_options: false,
            by_hand: None,
            refusals: Refusals::default(),
        };
        let mut language: Option<String> = None;
        let mut only_files = false;
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            // Options are ASCII; what else stands in a word is looked at as it is.
            let argument: &str = &word.to_string_lossy();
            typed.linker_options |=
                !only_files && LINKER_OPTIONS.iter().any(|option| argument.starts_with(option));
            if only_files || argument == "-" || !argument.starts_with('-') {
                typed.input(word, language.as_deref());
            } else if argument == "--" {
                only_files = true;
            } else if argument.starts_with(PREFIX) {
                typed.own.parse(argument)?;
            } else if argument == "-x" || argument == "--language" {
                language = rest.next().map(|l| l.to_string_lossy().into_owned()).filter(|l| l != "none");
            } else if let Some(joined) = argument.strip_prefix("--language=").or(argument.strip_prefix("-x"))
            {
                language = Some(joined.to_owned()).filter(|l| l != "none");
            } else if argument == "-L" || argument == "--library-directory" {
                typed.library_directories.extend(rest.next().map(PathBuf::from));
            } else if argument == "-l" {
                typed.libraries.extend(rest.next().cloned());
            } else if hands_to_linker(word) {
                typed.linker_words.extend(rest.next().map(PathBuf::from));
            } else if argument == "-o" || argument == "--output" {
                typed.output = rest.next().map(PathBuf::from);
            } else if takes_value(word) {
                rest.next();
            } else if let Some(file) = strip(word, "-o").or(strip(word, "--output=")) {
                typed.output = Some(file.into());
            } else if let Some(words) = strip(word, "-Wl,") {
                let words = words.as_bytes().split(|c| *c == b',').map(OsStr::from_bytes);
                typed.linker_words.extend(words.map(PathBuf::from));
            } else if let Some(word) = strip(word, "--for-linker=") {
                typed.linker_words.push(word.into());
            } else if let Some(directory) = strip(word, "--library-directory=").or(strip(word, "-L")) {
                typed.library_directories.push(directory.into());
            } else if let Some(name) = strip(word, "-l") {
                typed.libraries.push(name.to_owned());
            } else {
                typed.option(argument);
            }
        }
        typed.own.agree()?;
        Ok(typed)
    }

    fn option(&mut self, argument: &str) {
        let mut stop_at = |stage: Stage| self.stage = self.stage.min(stage);
        match argument {
            "-E" | "--preprocess" | "-M" | "--dependencies" | "-MM" | "--user-dependencies" => {
                stop_at(Stage::NoCode);
            }
            "-fsyntax-only" | "--precompile" | "--analyze" => stop_at(Stage::NoCode),
            "-S" | "--assemble" => stop_at(Stage::Assembly),
            "-c" | "--compile" => stop_at(Stage::Object),
            "-w" | "--no-warnings" => self.quiet = true,
            "-###" => self.dry = true,
            "-g0" | "-ggdb0" => self.own.keeps_places = false,
            "-fwrapv" => self.own.wraps = true,
            "-fno-wrapv" => self.own.wraps = false,
            "-fno-pic" | "-fno-PIC" | "-fno-pie" | "-fno-PIE" => self.fixed_code = true,
            "-fpic" | "-fPIC" | "-fpie" | "-fPIE" => self.fixed_code = false,
            "-shared" | "--shared" => self.shared = true,
            "-r" => self.relocatable = true,
            "-nostdlib" | "--no-standard-libraries" => self.by_hand = Some("-nostdlib"),
            "-nostartfiles" => self.by_hand = Some("-nostartfiles"),
            "-nodefaultlibs" => self.by_hand = Some("-nodefaultlibs"),
            "--help" | "-help" => self.help = true,
            "--version" | "-dumpmachine" | "-dumpversion" | "--help-hidden" | "-cc1" | "-cc1as" | "-fc1" => {
                self.query = true;
            }
            "-fopenmp" | "-fopenmp=libomp" | "-fopenmp=libiomp5" => {
                (self.openmp, self.serial) = (true, false)
            }
            "-fno-openmp" => (self.openmp, self.serial) = (false, true),
            _ if NO_PLACES.iter().any(|option| argument.starts_with(option)) => {}
            _ if argument.starts_with("-g")
                || argument.starts_with("-Rpass")
                || argument.starts_with("-fsave-optimization-record") =>
            {
                self.own.keeps_places = true;
            }
            _ if argument.starts_with("-print-") || argument.starts_with("--print-") => self.query = true,
            _ => {}
        }
        self.refusals.option(argument);
    }

    fn input(&mut self, path: &OsStr, language: Option<&str>) {
        let (kind, language) = match language {
            Some("assembler" | "assembler-with-cpp") => (InputKind::Assembly, None),
            Some("ir") => (InputKind::Ir, None),
            Some(language) if language.ends_with("-header") => (InputKind::Header, Some(SourceLanguage::C)),
            Some("f95" | "f95-cpp-input" | "fortran") => (InputKind::Source, Some(SourceLanguage::Fortran)),
            Some(_) => (InputKind::Source, Some(SourceLanguage::C)),
            None => kind_by_name(path),
        };
        self.inputs.push(Input { path: path.into(), kind, language });
    }

    /// The inputs that go through the compiler.
    pub fn compiled(&self) -> impl Iterator<Item = &Input> {
        let kinds = [InputKind::Source, InputKind::Header, InputKind::Ir];
        self.inputs.iter().filter(move |i| kinds.contains(&i.kind))
    }

    /// Whether any input goes through the compiler.
    pub fn compiles(&self) -> bool {
        self.stage > Stage::NoCode && self.compiled().next().is_some()
    }

    /// Whether any input is text for the compiler.
    pub fn reads_text(&self) -> bool {
        !self.query && self.reads_sources()
    }

    /// Whether sources are read, be it only by the preprocessor.
    pub fn reads_sources(&self) -> bool {
        self.inputs.iter().any(|i| matches!(i.kind, InputKind::Source | InputKind::Header))
    }

    /// Whether the linker is to use a version script of the user's.
    pub fn has_version_script(&self) -> bool {
        let option =
            |word: &PathBuf| word.to_string_lossy().trim_start_matches('-').starts_with("version-script");
        let is_option = |word: &&PathBuf| word.as_os_str().as_bytes().starts_with(b"-");
        self.linker_words.iter().filter(is_option).any(option)
    }

    /// The option that leaves the runtime out of a program, as it does the system's libraries.
    pub fn leaves_runtime_out(&self) -> Option<&'static str> {
        const NO_PROGRAM: [&str; 7] =
            ["-r", "-i", "--relocatable", "-relocatable", "-shared", "--shared", "-Bshareable"];
        let is_no_program = |word: &PathBuf| NO_PROGRAM.iter().any(|option| word.as_os_str() == *option);
        let names_runtime = |word: &PathBuf| word.file_name() == Path::new(RUNTIME).file_name();
        let is_program = self.links() && !self.shared && !self.relocatable;
        let has_reason = self.linker_words.iter().any(|word| is_no_program(word) || names_runtime(word));
        self.by_hand.filter(|_| is_program && !has_reason)
    }

    /// The first source that the compiler does not take: Fortran's is another one than that of C.
    pub fn foreign_source(&self, language: Language) -> Option<&Path> {
        let foreign = match language {
            Language::Fortran => SourceLanguage::C,
            Language::C | Language::Cxx => SourceLanguage::Fortran,
        };
        // To preprocess Fortran, clang starts GCC's compiler; no code comes out.
        let reads = self.stage > Stage::NoCode || language == Language::Fortran;
        let found = self.inputs.iter().find(|input| input.language == Some(foreign));
        found.filter(|_| reads && !self.query).map(|input| &*input.path)
    }

    /// Whether there is anything to work on. A program may be made of nothing but libraries, of which one has its `main`.
    pub fn has_inputs(&self) -> bool {
        !self.inputs.is_empty() || !self.libraries.is_empty()
    }

    /// Whether a program or library comes out. Headers by themselves are precompiled.
    pub fn links(&self) -> bool {
        let has_only_headers =
            !self.inputs.is_empty() && self.inputs.iter().all(|i| i.kind == InputKind::Header);
        self.stage == Stage::Link && !self.query && self.has_inputs() && !has_only_headers
    }
}

/// Whether the next argument belongs to this one.
pub fn takes_value(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|a| WITH_VALUE.contains(&a))
}

/// Whether the next argument is a word for the linker.
pub fn hands_to_linker(argument: &OsStr) -> bool {
    argument == "-Xlinker" || argument == "--for-linker"
}

/// What follows `prefix`, an ASCII text.
pub fn strip<'a>(word: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    word.as_bytes().strip_prefix(prefix.as_bytes()).map(OsStr::from_bytes)
}

fn kind_by_name(path: &OsStr) -> (InputKind, Option<SourceLanguage>) {
    const C: &[&str] = &[
        "c", "i", "cc", "cp", "cpp", "cxx", "c++", "C", "CC", "CPP", "ii", "iim", "cppm", "ccm", "cxxm",
        "c++m", "m", "mm", "M", "mi", "mii", "cu", "cui",
    ];
    const FORTRAN: &[&str] = &[
        "f", "F", "for", "FOR", "fpp", "FPP", "ftn", "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08",
        "f18", "F18",
    ];
    match Path::new(path).extension().and_then(|e| e.to_str()) {
        // Its language depends on the compiler.
        _ if path == "-" => (InputKind::Source, None),
        Some("s" | "S" | "sx" | "asm") => (InputKind::Assembly, None),
        Some("ll" | "bc") => (InputKind::Ir, None),
        Some("h" | "hh" | "hpp" | "hxx" | "H") => (InputKind::Header, Some(SourceLanguage::C)),
        Some(extension) if C.contains(&extension) => (InputKind::Source, Some(SourceLanguage::C)),
        Some(extension) if FORTRAN.contains(&extension) => (InputKind::Source, Some(SourceLanguage::Fortran)),
        _ => (InputKind::Linked, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Typed {
        Typed::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn options_for_a_linker_are_noticed() {
        for line in [
            "-Wl,-O1 x.o",
            "-Xlinker -O1 x.o",
            "-z now x.o",
            "-znow x.o",
            "-T x.ld x.o",
            "-B /x x.o",
            "-flto x.o",
            "-fuse-ld=lld x.o",
            "--config x.cfg x.o",
        ] {
            assert!(read(line).linker_options, "{line}");
        }
        for line in ["-O2 x.c -lm -L. -o x", "-fopenmp -g -I -z x.c", "-shared x.o", "-- -z.o"] {
            assert!(!read(line).linker_options, "{line}");
        }
    }

    #[test]
    fn stages() {
        for (line, stage) in [
            ("x.c", Stage::Link),
            ("-c x.c", Stage::Object),
            ("-S x.c", Stage::Assembly),
            ("-c -E x.c", Stage::NoCode),
            ("-MM x.c", Stage::NoCode),
            ("-c -MMD x.c", Stage::Object),
        ] {
            assert_eq!(read(line).stage, stage, "{line}");
        }
    }

    #[test]
    fn values_are_not_inputs() {
        let typed =
            read("-o out.c -I dir.c -Xlinker a.c -MF d.c -include pre.c -lm -Lx main.o -D X=y.c y.f90");
        let paths: Vec<_> = typed.inputs.iter().map(|i| (i.path.to_str().unwrap(), i.kind)).collect();
        assert_eq!(paths, [("main.o", InputKind::Linked), ("y.f90", InputKind::Source)]);
    }

    #[test]
    fn words_for_the_linker() {
        let typed = read("x.o -Wl,-rpath,dir,a.o -Xlinker b.o -Wl,--as-needed");
        let words: Vec<_> = typed.linker_words.iter().map(|w| w.to_str().unwrap()).collect();
        assert_eq!(words, ["-rpath", "dir", "a.o", "b.o", "--as-needed"]);
    }

    #[test]
    fn version_scripts_are_named_to_the_linker() {
        for line in
            ["-Wl,--version-script=x", "-Wl,-version-script,x", "-Xlinker --version-script -Xlinker x"]
        {
            assert!(read(&format!("x.o {line}")).has_version_script(), "{line}");
        }
        for line in ["version-script.o", "-o version-script", "-Wl,version-script.o", "-Iversion-script"] {
            assert!(!read(&format!("x.o {line}")).has_version_script(), "{line}");
        }
    }

    #[test]
    fn any_bytes_make_a_name() {
        let name = OsString::from(OsStr::from_bytes(b"caf\xe9.c"));
        let library = OsString::from(OsStr::from_bytes(b"-lcaf\xe9"));
        let typed = Typed::read(&[name.clone(), library]).unwrap();
        let language = Some(SourceLanguage::C);
        assert_eq!(typed.inputs, [Input { path: name.into(), kind: InputKind::Source, language }]);
        assert_eq!(typed.libraries[0].as_bytes(), b"caf\xe9");
    }

    #[test]
    fn languages() {
        let typed = read("-x c - -x none a.o -xassembler b.c");
        let kinds: Vec<_> = typed.inputs.iter().map(|i| i.kind).collect();
        assert_eq!(kinds, [InputKind::Source, InputKind::Linked, InputKind::Assembly]);
    }

    #[test]
    fn long_and_short_spellings_are_the_same() {
        for (long, short) in [
            ("--compile x.c --output y.o", "-c x.c -o y.o"),
            ("--compile x.c --output=y.o", "-c x.c -oy.o"),
            ("--preprocess x.c", "-E x.c"),
            ("--dependencies x.c", "-M x.c"),
            ("--user-dependencies x.c", "-MM x.c"),
            ("--assemble x.c --no-warnings", "-S x.c -w"),
            ("--language c x --language=none y.o", "-x c x -xnone y.o"),
            ("x.c --include-directory a --define-macro b --undefine-macro c", "x.c -I a -D b -U c"),
            ("x.o --library-directory a --library-directory=b", "x.o -L a -Lb"),
        ] {
            assert_eq!(read(long), read(short), "{long}");
        }
        assert_eq!(
            read("x.o --for-linker a.o --for-linker=b.o").linker_words,
            read("x.o -Xlinker a.o -Wl,b.o").linker_words
        );
    }

    #[test]
    fn headers_are_precompiled_and_not_linked() {
        for line in ["x.h", "x.hpp -o x.hpp.pch", "-x c-header x", "-xc++-header x.h", "x.h y.hh"] {
            let typed = read(line);
            assert!(typed.compiles() && typed.reads_text() && !typed.links(), "{line}");
        }
        for line in ["x.h x.c", "x.h x.o", "-x c x.h"] {
            assert!(read(line).links(), "{line}");
        }
    }

    #[test]
    fn sources_are_for_their_compiler() {
        let foreign =
            |language, line: &str| read(line).foreign_source(language).map(|path| path.display().to_string());
        for (line, c, fortran) in [
            ("-c y.f90", Some("y.f90"), None),
            ("a.o y.F -o y", Some("y.F"), None),
            ("-c -xf95 y", Some("y"), None),
            ("-E y.F90", None, None),
            ("--version y.f90", None, None),
            ("-c x.c", None, Some("x.c")),
            ("-E x.cc", None, Some("x.cc")),
            ("-c -x c y.f90", None, Some("y.f90")),
            ("-c -", None, None),
            ("a.o b.a x.s y.ll -o z", None, None),
        ] {
            assert_eq!(foreign(Language::C, line).as_deref(), c, "{line}");
            assert_eq!(foreign(Language::Cxx, line).as_deref(), c, "{line}");
            assert_eq!(foreign(Language::Fortran, line).as_deref(), fortran, "{line}");
        }
    }

    #[test]
    fn programs_need_the_runtime() {
        for option in ["-nostdlib", "-nostartfiles", "-nodefaultlibs"] {
            for line in ["x.o", "x.c -o x", "x.o -Wl,-O1"] {
                assert_eq!(read(&format!("{line} {option}")).leaves_runtime_out(), Some(option), "{line}");
            }
            for line in [
                "-shared x.o",
                "-r x.o",
                "-Wl,-r x.o",
                "-Wl,-shared x.o",
                "-c x.c",
                "x.o -Wl,/x/libdsm_rt.a",
                "--version",
            ] {
                assert_eq!(read(&format!("{line} {option}")).leaves_runtime_out(), None, "{line}");
            }
        }
        assert_eq!(read("x.o").leaves_runtime_out(), None);
    }

    #[test]
    fn options_that_remember_places() {
        for line in
            ["-g", "-g1", "-ggdb3", "-gdwarf-4", "-gline-tables-only", "-ggdb0 -g", "-g -gno-column-info"]
        {
            assert!(read(&format!("-c x.c {line}")).own.keeps_places, "{line}");
        }
        for line in [
            "",
            "-g0",
            "-g -ggdb0",
            "-gz",
            "-gz=zlib",
            "-gsplit-dwarf",
            "-gno-column-info",
            "-gdwarf-aranges",
        ] {
            assert!(!read(&format!("-c x.c {line}")).own.keeps_places, "{line}");
        }
    }

    #[test]
    fn queries_do_not_link() {
        for line in ["--version", "-print-prog-name=ld", "-dumpmachine", "-v"] {
            assert!(!read(line).links(), "{line}");
        }
    }

    #[test]
    fn a_program_may_be_made_of_libraries() {
        assert!(read("-fopenmp -L. -lx -o y").links() && !read("-c -lx").links());
    }
}
