//! What may be linked: every object must have been compiled by this version, for one line size.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dsm_abi::ABI_VERSION;
use dsm_abi::note::{Checking, Note};
use dsm_abi::state::DEFAULT_LINE_SHIFT;

use crate::elf::{self, FileKind, Member, Unit};

use super::arguments::{InputKind, Typed, strip};
use super::error::Error;

const RECOMPILE: &str = "compile it with dsm-cc, dsm-c++ or dsm-fc (or, if it touches no shared memory, link with -fdsm-allow-plain)";

const ASSEMBLY: &str = "only an object tells whether assembly came from dsm-cc; assemble it with -c first and link the object \
                        (or, if it touches no shared memory, link with -fdsm-allow-plain)";

/// Objects that need the compiled templates of the C++ library refer to this symbol (`runtime/cxx/bits/dsm_instances.h`).
const TEMPLATES_SYMBOL: &str = "__dsm_templates";

/// The compiler's own start and end of programs, which build systems that link by hand name.
const STARTUP: &[&str] = &[
    "crt1.o",
    "Scrt1.o",
    "rcrt1.o",
    "gcrt1.o",
    "crti.o",
    "crtn.o",
    "crtbegin.o",
    "crtbeginS.o",
    "crtbeginT.o",
    "crtend.o",
    "crtendS.o",
    "crtfastmath.o",
];

/// The line size a program has so far, and which object said so.
struct Agreed {
    driver: &'static str,
    shift: Option<(u32, String)>,
    /// How accesses are checked, and which object said so.
    checking: Option<(Checking, String)>,
    allow_plain: bool,
}

/// What a link depends on, of the files that go into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Instrumented shared libraries have indirect functions.
    pub indirect_functions: bool,
    /// An object asks for a stack that may be executed, or does not say that it needs none.
    pub executable_stack: bool,
    /// An object may take the compiled templates of the C++ library, which then has to be linked.
    pub templates: bool,
    /// There are files of which this is not known: bitcode, linker scripts.
    pub unknown: bool,
}

impl Needs {
    fn object(&mut self, unit: &Unit) {
        self.executable_stack |= unit.executable_stack;
        self.templates |= unit.missing.contains(TEMPLATES_SYMBOL);
    }

    fn member(&mut self, member: &Member) {
        match member {
            Member::Object(unit) => self.object(unit),
            Member::Bitcode(_) => self.unknown = true,
            Member::Other => {}
        }
    }
}

/// Looks at everything on the command line that goes to the linker. Prints a note for each static library with members that are not
/// instrumented.
///
/// # Errors
/// The first object that does not fit, with the remedy.
pub fn check(typed: &Typed, driver: &'static str) -> Result<Needs, Error> {
    let mut needs = Needs::default();
    let mut agreed = Agreed { driver, shift: None, checking: None, allow_plain: typed.own.allow_plain };
    if typed.compiles() {
        let now = || "the sources compiled now".to_owned();
        agreed.shift = Some((typed.own.compile_shift(), now()));
        agreed.checking = Some((typed.own.checking, now()));
    } else if let Some(shift) = typed.own.line_shift {
        agreed.shift = Some((shift, "-fdsm-line".into()));
    }
    let assembly = typed.inputs.iter().find(|i| i.kind == InputKind::Assembly);
    if let Some(assembly) = assembly.filter(|_| !typed.own.allow_plain) {
        let object = assembly.path.display().to_string();
        return Err(Error::Object { object, problem: ASSEMBLY.into() });
    }
    for path in files(typed) {
        let name = path.display().to_string();
        let kind = elf::inspect(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        match kind {
            FileKind::Object(unit) => {
                needs.object(&unit);
                agreed.object(&name, &unit, false)?;
            }
            FileKind::Bitcode(unit) => {
                needs.unknown = true;
                agreed.object(&name, &unit, false)?;
            }
            FileKind::Archive(members) => {
                members.iter().for_each(|(_, member)| needs.member(member));
                agreed.archive(&name, &members)?;
            }
            FileKind::SharedLibrary(unit) => {
                needs.indirect_functions |= unit.indirect_functions && !unit.notes.is_empty();
                agreed.object(&name, &unit, true)?;
            }
            FileKind::Program(_) => {}
            FileKind::Other => needs.unknown = true,
        }
    }
    Ok(needs)
}

/// The files among what was typed that the linker reads.
pub fn files(typed: &Typed) -> Vec<PathBuf> {
    let named = typed.libraries.iter().filter_map(|name| library(name, &typed.library_directories));
    let typed_paths = typed.inputs.iter().filter(|i| i.kind == InputKind::Linked).map(|i| i.path.clone());
    let all = typed_paths.chain(typed.linker_words.iter().cloned()).chain(named);
    // A missing file is for the linker to complain about; a word for the linker need not be a file.
    all.filter(|path| path.is_file() && !is_startup(path)).collect()
}

fn is_startup(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| STARTUP.contains(&name))
}

/// The library that the linker takes for `-l<name>`, if it comes from one of `directories`: the system's own are not looked at.
pub fn library(name: &OsStr, directories: &[PathBuf]) -> Option<PathBuf> {
    let file = |ending: &str| {
        let mut file = OsStr::new("lib").to_owned();
        file.push(name);
        file.push(ending);
        file
    };
    let files = match strip(name, ":") {
        Some(file) => vec![file.to_owned()],
        None => vec![file(".so"), file(".a")],
    };
    let in_directory = |d: &PathBuf| files.iter().map(|file| d.join(file)).find(|path| path.exists());
    directories.iter().find_map(in_directory)
}

impl Agreed {
    fn archive(&mut self, path: &str, members: &[(String, Member)]) -> Result<(), Error> {
        let mut plain = 0;
        for (name, member) in members {
            let name = format!("{path}({name})");
            match member {
                Member::Object(unit) | Member::Bitcode(unit) if unit.notes.is_empty() && !unit.damaged => {
                    plain += usize::from(unit.has_code_or_data);
                }
                Member::Object(unit) | Member::Bitcode(unit) => self.object(&name, unit, true)?,
                Member::Other => {}
            }
        }
        if plain > 0 {
            let (members, they) = if plain == 1 { ("member was", "it") } else { ("members were", "they") };
            eprintln!(
                "{}: note: {path}: {plain} {members} not compiled by dsm-cc; {they} must not touch memory that several \
                 processes share",
                self.driver
            );
        }
        Ok(())
    }

    fn object(&mut self, name: &str, unit: &Unit, library: bool) -> Result<(), Error> {
        let refuse = |problem: String| Err(Error::Object { object: name.to_owned(), problem });
        if unit.damaged {
            return refuse("its .note.dsm section is damaged; compile it again".into());
        }
        if unit.notes.is_empty() && unit.has_code_or_data && !library && !self.allow_plain {
            return refuse(format!("was not compiled by dsm-cc; {RECOMPILE}"));
        }
        let usual = |note: &Note| note.line_shift == DEFAULT_LINE_SHIFT && note.checking == Checking::Inline;
        if unit.missing.contains(TEMPLATES_SYMBOL) && !unit.notes.iter().all(usual) {
            return refuse("its headers were read for other lines or checks than it was compiled for; compile the source again".into());
        }
        for Note { abi_version, line_shift, checking } in &unit.notes {
            if *abi_version != ABI_VERSION {
                return refuse(format!(
                    "was compiled by a dsm-cc of ABI version {abi_version}, this one has {ABI_VERSION}; compile it again"
                ));
            }
            let (shift, who) = self.shift.get_or_insert((*line_shift, name.to_owned()));
            if shift != line_shift {
                return refuse(format!(
                    "was compiled for lines of {} bytes, {who} for lines of {}; compile all with the same -fdsm-line",
                    1u32 << line_shift,
                    1u32 << *shift
                ));
            }
            let (other, who) = self.checking.get_or_insert((*checking, name.to_owned()));
            if other != checking {
                return refuse(format!(
                    "was compiled with -fdsm-check={}, {who} with -fdsm-check={}; compile all with the same",
                    checking.name(),
                    other.name()
                ));
            }
        }
        Ok(())
    }
}

/// Describes a file for `--dsm-check`.
pub fn describe(path: &Path) -> Result<String, Error> {
    let kind = elf::inspect(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    let name = path.display();
    Ok(match kind {
        FileKind::Object(unit) => format!("{name}: object, {}", describe_unit(&unit)),
        FileKind::Program(unit) => format!("{name}: program, {}", describe_unit(&unit)),
        FileKind::SharedLibrary(unit) => format!("{name}: shared library, {}", describe_unit(&unit)),
        FileKind::Bitcode(unit) => format!("{name}: LLVM bitcode, {}", describe_unit(&unit)),
        FileKind::Other => format!("{name}: neither object nor program"),
        FileKind::Archive(members) => {
            let mut out = format!("{name}: static library of {} members", members.len());
            for (member, kind) in members {
                let what = match kind {
                    Member::Object(unit) => describe_unit(&unit),
                    Member::Bitcode(unit) => format!("LLVM bitcode, {}", describe_unit(&unit)),
                    Member::Other => "no object".into(),
                };
                out += &format!("\n{name}({member}): {what}");
            }
            out
        }
    })
}

fn describe_unit(unit: &Unit) -> String {
    if unit.damaged {
        return "with a damaged dsm note".into();
    }
    let Some(note) = unit.notes.first() else { return "not compiled by dsm-cc".into() };
    let mut sizes: Vec<u32> = unit.notes.iter().map(|n| 1 << n.line_shift).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let mut text = format!(
        "compiled by dsm-cc (ABI version {}, lines of {} bytes, {} bytes of shared globals",
        note.abi_version,
        sizes.join(" and "),
        unit.shared_bytes
    );
    if note.checking != Checking::Inline {
        text += &format!(", -fdsm-check={}", note.checking.name());
    }
    for options in &unit.options {
        text += &format!(", {options}");
    }
    text + ")"
}
