//! The first walk over the argument vector: what was typed. Nothing is changed or judged here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::own::{Own, PREFIX};

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
    pub by_hand: bool,
    /// Something that cannot work, as typed, and why.
    pub refused: Option<(String, &'static str)>,
    /// The first argument that does not fit at the link, and why; it is of no matter where nothing is linked.
    pub refused_link: Option<(String, &'static str)>,
}

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-B",
    "-J",
    "-l",
    "-u",
    "-z",
    "-e",
    "-T",
    "-h",
    "-include",
    "-imacros",
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
const LINKER_OPTIONS: [&str; 10] =
    ["-Wl,", "-Xlinker", "-T", "-z", "-B", "-e", "-flto", "-fuse-ld=", "--ld-path=", "--config"];

const NO_STATIC: &str = "every process needs the system's dynamic loader and libgcc_s; link dynamically";
const NO_GNU_OPENMP: &str = "the runtime implements LLVM's OpenMP interface; use -fopenmp";
const NO_LINKER: &str =
    "the shared sections need a linker script, which this linker lacks; use -fuse-ld=bfd or lld";
const NO_32_BIT: &str = "the shared address space needs 64-bit addresses";
const NO_SANITIZER: &str =
    "its own shadow memory lies where the state table is; use DSM_DISABLE=1 to check the program by itself";
const MEMORY_SANITIZERS: [&str; 6] = ["address", "thread", "memory", "dataflow", "safe-stack", "leak"];
const NO_LIBCXX: &str = "only the headers of libstdc++ are known; leave the option out";
const NO_OFFLOAD: &str = "offloading to devices is not supported";

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
            by_hand: false,
            refused: None,
            refused_link: None,
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
            } else if argument == "-x" {
                language = rest.next().map(|l| l.to_string_lossy().into_owned()).filter(|l| l != "none");
            } else if let Some(joined) = argument.strip_prefix("-x") {
                language = Some(joined.to_owned()).filter(|l| l != "none");
            } else if argument == "-L" {
                typed.library_directories.extend(rest.next().map(PathBuf::from));
            } else if argument == "-l" {
                typed.libraries.extend(rest.next().cloned());
            } else if argument == "-Xlinker" {
                typed.linker_words.extend(rest.next().map(PathBuf::from));
            } else if argument == "-o" {
                typed.output = rest.next().map(PathBuf::from);
            } else if takes_value(word) {
                rest.next();
            } else if let Some(file) = strip(word, "-o").or(strip(word, "--output=")) {
                typed.output = Some(file.into());
            } else if let Some(words) = strip(word, "-Wl,") {
                let words = words.as_bytes().split(|c| *c == b',').map(OsStr::from_bytes);
                typed.linker_words.extend(words.map(PathBuf::from));
            } else if let Some(directory) = strip(word, "-L") {
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
            "-E" | "-M" | "-MM" | "-fsyntax-only" | "--precompile" | "--analyze" => stop_at(Stage::NoCode),
            "-S" => stop_at(Stage::Assembly),
            "-c" => stop_at(Stage::Object),
            "-w" => self.quiet = true,
            "-###" => self.dry = true,
            "-g0" => self.own.keeps_places = false,
            "-fwrapv" => self.own.wraps = true,
            "-fno-wrapv" => self.own.wraps = false,
            "-fno-pic" | "-fno-PIC" | "-fno-pie" | "-fno-PIE" => self.fixed_code = true,
            "-fpic" | "-fPIC" | "-fpie" | "-fPIE" => self.fixed_code = false,
            "-shared" | "--shared" => self.shared = true,
            "-r" => self.relocatable = true,
            "-nostdlib" | "-nostartfiles" | "-nodefaultlibs" => self.by_hand = true,
            "--help" | "-help" => self.help = true,
            "--version" | "-dumpmachine" | "-dumpversion" | "--help-hidden" | "-cc1" | "-cc1as" | "-fc1" => {
                self.query = true;
            }
            "-static" | "--static" | "-static-pie" => {
                self.refused_link.get_or_insert((argument.to_owned(), NO_STATIC));
            }
            "-fopenmp" | "-fopenmp=libomp" | "-fopenmp=libiomp5" => {
                (self.openmp, self.serial) = (true, false)
            }
            "-fno-openmp" => (self.openmp, self.serial) = (false, true),
            "-m32" | "-mx32" => self.refuse(argument, NO_32_BIT),
            "-stdlib=libc++" => self.refuse(argument, NO_LIBCXX),
            _ if argument.starts_with("-fopenmp=") => self.refuse(argument, NO_GNU_OPENMP),
            _ if argument.starts_with("-fsanitize=")
                && MEMORY_SANITIZERS.iter().any(|s| argument.contains(s)) =>
            {
                self.refuse(argument, NO_SANITIZER);
            }
            _ if argument.starts_with("-fopenmp-targets") || argument.starts_with("--offload-arch") => {
                self.refuse(argument, NO_OFFLOAD);
            }
            _ if argument.starts_with("-g")
                || argument.starts_with("-Rpass")
                || argument.starts_with("-fsave-optimization-record") =>
            {
                self.own.keeps_places = true;
            }
            _ if argument.starts_with("-print-") || argument.starts_with("--print-") => self.query = true,
            _ => {
                if let Some(linker) = argument.strip_prefix("-fuse-ld=")
                    && !["bfd", "ld", "lld", "ld.lld", "ld.bfd", ""].contains(&file_name(linker))
                {
                    self.refuse(argument, NO_LINKER);
                }
            }
        }
    }

    fn refuse(&mut self, argument: &str, reason: &'static str) {
        self.refused.get_or_insert((argument.to_owned(), reason));
    }

    fn input(&mut self, path: &OsStr, language: Option<&str>) {
        let kind = match language {
            Some("assembler" | "assembler-with-cpp") => InputKind::Assembly,
            Some("ir") => InputKind::Ir,
            Some(_) => InputKind::Source,
            None => kind_by_name(path),
        };
        self.inputs.push(Input { path: path.into(), kind });
    }

    /// Whether any input goes through the compiler.
    pub fn compiles(&self) -> bool {
        let compiled = |i: &Input| matches!(i.kind, InputKind::Source | InputKind::Ir);
        self.stage > Stage::NoCode && self.inputs.iter().any(compiled)
    }

    /// Whether any input is text for the compiler.
    pub fn reads_text(&self) -> bool {
        !self.query && self.inputs.iter().any(|i| i.kind == InputKind::Source)
    }

    /// Whether sources are read, be it only by the preprocessor.
    pub fn reads_sources(&self) -> bool {
        self.inputs.iter().any(|i| i.kind == InputKind::Source)
    }

    /// Whether there is anything to work on. A program may be made of nothing but libraries, of which one has its `main`.
    pub fn has_inputs(&self) -> bool {
        !self.inputs.is_empty() || !self.libraries.is_empty()
    }

    /// Whether a program or library comes out.
    pub fn links(&self) -> bool {
        self.stage == Stage::Link && !self.query && self.has_inputs()
    }
}

/// Whether the next argument belongs to this one.
pub fn takes_value(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|a| WITH_VALUE.contains(&a))
}

/// What follows `prefix`, an ASCII text.
pub fn strip<'a>(word: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    word.as_bytes().strip_prefix(prefix.as_bytes()).map(OsStr::from_bytes)
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|n| n.to_str()).unwrap_or(path)
}

fn kind_by_name(path: &OsStr) -> InputKind {
    const SOURCES: &[&str] = &[
        "c", "i", "cc", "cp", "cpp", "cxx", "c++", "C", "CC", "CPP", "ii", "iim", "cppm", "ccm", "cxxm",
        "c++m", "m", "mm", "M", "mi", "mii", "h", "hh", "hpp", "H", "hxx", "f", "F", "for", "FOR", "fpp",
        "FPP", "ftn", "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08", "f18", "F18", "cu", "cui",
    ];
    match Path::new(path).extension().and_then(|e| e.to_str()) {
        _ if path == "-" => InputKind::Source,
        Some("s" | "S" | "sx" | "asm") => InputKind::Assembly,
        Some("ll" | "bc") => InputKind::Ir,
        Some(extension) if SOURCES.contains(&extension) => InputKind::Source,
        _ => InputKind::Linked,
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
    fn any_bytes_make_a_name() {
        let name = OsString::from(OsStr::from_bytes(b"caf\xe9.c"));
        let library = OsString::from(OsStr::from_bytes(b"-lcaf\xe9"));
        let typed = Typed::read(&[name.clone(), library]).unwrap();
        assert_eq!(typed.inputs, [Input { path: name.into(), kind: InputKind::Source }]);
        assert_eq!(typed.libraries[0].as_bytes(), b"caf\xe9");
    }

    #[test]
    fn languages() {
        let typed = read("-x c - -x none a.o -xassembler b.c");
        let kinds: Vec<_> = typed.inputs.iter().map(|i| i.kind).collect();
        assert_eq!(kinds, [InputKind::Source, InputKind::Linked, InputKind::Assembly]);
    }

    #[test]
    fn refusals_name_what_was_typed() {
        for line in [
            "-m32",
            "-fsanitize=undefined,address",
            "-fopenmp=libgomp",
            "-fuse-ld=gold",
            "-fopenmp-targets=nvptx64",
            "-stdlib=libc++",
        ] {
            assert_eq!(read(&format!("x.c {line}")).refused.map(|r| r.0).as_deref(), Some(line));
        }
        assert_eq!(read("-flto -fuse-ld=lld -fsanitize=undefined x.c").refused, None);
        let links = read("x.c -static");
        assert_eq!((links.refused, links.refused_link.map(|r| r.0).as_deref()), (None, Some("-static")));
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
