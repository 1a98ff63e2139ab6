//! `--wrap=SYMBOL`, an option for the linker that is meant for references of the program, and would apply to those of the runtime as well.
//!
//! The linker takes a reference to SYMBOL for one to `__wrap_SYMBOL`, and one to `__real_SYMBOL` for one to SYMBOL. So what the driver adds to
//! the link is copied, and references to SYMBOL become references to `__real_SYMBOL` in the copies.
//!
//! Where the pass makes calls of a function of the runtime out of those of SYMBOL, nothing is left for the linker to wrap: `malloc` has become
//! `__dsm_malloc`. The option is not passed on then. That function is called `__real_SYMBOL` in the copies, and its former name leads to `__wrap_SYMBOL`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use dsm_abi::entries::libatomic;
use dsm_abi::entries::replaced::{GROUPS, Replacement};
use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use crate::elf::{self, FileKind, Member, Unit};

use super::arguments::{Typed, hands_to_linker, strip, takes_value};
use super::components;
use super::error::Error;
use super::objects;

/// What the link has to wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wraps {
    /// Symbols that the linker wraps.
    linked: Vec<String>,
    /// Functions that the pass has replaced, with the function of the runtime that is called instead.
    replaced: Vec<(String, &'static str)>,
}

impl Wraps {
    /// What the words for the linker ask for.
    ///
    /// # Errors
    /// A function that the pass replaces cannot be wrapped.
    pub fn read(typed: &Typed) -> Result<Wraps, Error> {
        let words: Vec<&OsStr> = typed.linker_words.iter().map(|word| word.as_os_str()).collect();
        let mut out = Wraps::default();
        for (symbol, _) in wrapped(&words) {
            let known = out.linked.contains(&symbol) || out.replaced.iter().any(|(name, _)| *name == symbol);
            if known {
                continue;
            }
            match entry(&symbol).map_err(|problem| refused(&symbol, problem))? {
                None => out.linked.push(symbol),
                Some(entry) => {
                    if let Some((other, _)) = out.replaced.iter().find(|(_, taken)| *taken == entry) {
                        return Err(refused(&symbol, same_entry(&symbol, &[other])));
                    }
                    out.replaced.push((symbol, entry));
                }
            }
        }
        let Some((symbol, _)) = out.replaced.first() else { return Ok(out) };
        if typed.shared || typed.relocatable || typed.by_hand.is_some() {
            let problem = format!(
                "dsm-cc replaces calls of {symbol} by calls of its runtime, which is no part of this link; {}",
                remedy(symbol)
            );
            return Err(refused(symbol, problem));
        }
        out.check_files(typed)?;
        Ok(out)
    }

    /// Nothing is wrapped.
    pub fn is_empty(&self) -> bool {
        self.linked.is_empty() && self.replaced.is_empty()
    }

    /// The program has a wrapper of a function that the pass replaces.
    pub fn replaces(&self, function: &str) -> bool {
        self.replaced.iter().any(|(name, _)| name == function)
    }

    /// Code that was not compiled by the driver calls the function itself, and frees what instrumented code has allocated or the reverse.
    fn check_files(&self, typed: &Typed) -> Result<(), Error> {
        let calls = |unit: &Unit| {
            let plain = unit.notes.is_empty();
            self.replaced.iter().map(|(name, _)| name).find(|name| plain && unit.missing.contains(*name))
        };
        for path in objects::files(typed) {
            let kind =
                elf::inspect(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
            let found = match &kind {
                FileKind::Object(unit) => calls(unit),
                FileKind::Archive(members) => members.iter().find_map(|(_, member)| match member {
                    Member::Object(unit) => calls(unit),
                    _ => None,
                }),
                _ => None,
            };
            if let Some(symbol) = found {
                let problem = format!(
                    "'{}' calls {symbol} and was not compiled by dsm-cc; compile it with dsm-cc, or make a shared library of it",
                    path.display()
                );
                return Err(refused(symbol, problem));
            }
        }
        Ok(())
    }

    /// The arguments without the options that are not for the linker, and with what takes their place.
    pub fn arguments(&self, arguments: &[OsString]) -> Vec<OsString> {
        if self.replaced.is_empty() {
            return arguments.to_vec();
        }
        let mut out = Vec::with_capacity(arguments.len() + self.replaced.len());
        for (symbol, entry) in &self.replaced {
            // A static library may have the wrapper.
            out.push(format!("-Wl,-u,__wrap_{symbol},--defsym={entry}=__wrap_{symbol}").into());
        }
        let words = linker_words(arguments);
        let texts: Vec<&OsStr> = words.iter().map(|(_, word)| *word).collect();
        let dropped: Vec<usize> = wrapped(&texts)
            .into_iter()
            .filter(|(symbol, _)| self.replaces(symbol))
            .flat_map(|(_, at)| at)
            .collect();
        let kept = |index: usize| {
            let of_argument = words.iter().enumerate().filter(move |(_, (argument, _))| *argument == index);
            of_argument.filter(|(word, _)| !dropped.contains(word)).map(|(_, (_, text))| *text)
        };
        let has_words = |index: usize| words.iter().any(|(argument, _)| *argument == index);
        let mut index = 0;
        while index < arguments.len() {
            let argument = &arguments[index];
            if hands_to_linker(argument) && has_words(index + 1) {
                if let Some(word) = kept(index + 1).next() {
                    out.extend([argument.clone(), word.to_owned()]);
                }
                index += 1;
            } else if has_words(index) {
                let rest: Vec<&OsStr> = kept(index).collect();
                if rest.len() == words.iter().filter(|(argument, _)| *argument == index).count() {
                    out.push(argument.clone());
                } else if !rest.is_empty() {
                    let mut joined = OsString::from("-Wl,");
                    joined.push(rest.join(OsStr::new(",")));
                    out.push(joined);
                }
            } else {
                out.push(argument.clone());
            }
            index += 1;
        }
        out
    }

    /// An object or archive of the driver in which no reference is wrapped; nothing if that is so already.
    ///
    /// # Errors
    /// There are no tools beside the compiler, or they fail.
    pub fn renamed(&self, compiler: &Path, contents: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        let failed = |problem: String| Error::WrapCopy { problem };
        let members = members(contents).map_err(|e| failed(e.to_string()))?;
        let mut concerned = false;
        let mut defining = Vec::new();
        for (name, data) in members {
            // What is no object of ELF has no symbols that matter.
            let Ok(object) = ElfFile64::<Endianness>::parse(data) else { continue };
            let mut definitions = Vec::new();
            for symbol in object.symbols().filter(|symbol| symbol.is_global()) {
                let Ok(text) = symbol.name() else { continue };
                let linked = self.linked.iter().any(|name| name == text);
                concerned |= linked || self.replaced.iter().any(|(_, entry)| *entry == text);
                if linked && symbol.is_definition() {
                    let section =
                        symbol.section_index().and_then(|index| object.section_by_index(index).ok());
                    let section = section.as_ref().and_then(|section| section.name().ok()).unwrap_or(".text");
                    let weak = if symbol.is_weak() { ",weak" } else { ",global" };
                    definitions.push((text, format!("{text}={section}:{},function{weak}", symbol.address())));
                }
            }
            if !definitions.is_empty() {
                defining.push((name, data, definitions));
            }
        }
        if !concerned {
            return Ok(None);
        }
        let directory = tempfile::Builder::new().prefix("dsm-wrap-").tempdir();
        let directory = directory.map_err(|e| failed(e.to_string()))?;
        let whole = directory.path().join("copy");
        fs::write(&whole, contents).map_err(|e| failed(e.to_string()))?;
        let objcopy = components::find_tool(compiler, "llvm-objcopy")?;
        self.objcopy(&objcopy, &whole, &[])?;
        for (name, data, definitions) in defining {
            let file = directory.path().join(name.as_deref().unwrap_or(Path::new("copy")));
            fs::write(&file, data).map_err(|e| failed(e.to_string()))?;
            self.objcopy(&objcopy, &file, &definitions)?;
            if name.is_some() {
                let ar = components::find_tool(compiler, "llvm-ar")?;
                run(Command::new(ar).arg("rs").args([&whole, &file]))?;
            }
        }
        fs::read(&whole).map(Some).map_err(|e| failed(e.to_string()))
    }

    /// Renames references. Linkers that wrap those to a definition in the same object as well get another name for it.
    fn objcopy(&self, program: &Path, file: &Path, definitions: &[(&str, String)]) -> Result<(), Error> {
        let mut command = Command::new(program);
        for symbol in &self.linked {
            let defined = definitions.iter().any(|(name, _)| name == symbol);
            let prefix = if defined { "__dsm_defined_" } else { "__real_" };
            command.arg(format!("--redefine-sym={symbol}={prefix}{symbol}"));
        }
        for (symbol, entry) in &self.replaced {
            command.arg(format!("--redefine-sym={entry}=__real_{symbol}"));
        }
        command.args(definitions.iter().map(|(_, symbol)| format!("--add-symbol={symbol}")));
        run(command.arg(file))
    }
}

fn refused(symbol: &str, problem: String) -> Error {
    Error::Refused { option: format!("--wrap={symbol}"), reason: problem.into() }
}

fn remedy(symbol: &str) -> String {
    if symbol.starts_with("_Z") {
        "define the operator or function in the program instead".into()
    } else {
        format!("leave the option out and have the sources call the wrapper (-D{symbol}=wrapper)")
    }
}

fn same_entry(symbol: &str, others: &[&str]) -> String {
    format!(
        "dsm-cc replaces calls of {symbol} and of {} by the same function of its runtime, and the linker cannot tell them apart; {}",
        others.join(", "),
        remedy(symbol)
    )
}

/// The function of the runtime that the pass calls instead of a library function; none if it leaves that as it is.
fn entry(symbol: &str) -> Result<Option<&'static str>, String> {
    let all = || GROUPS.iter().flat_map(|group| group.functions);
    let found = all().find(|(name, ..)| *name == symbol);
    let Some((_, entry, _)) = found else {
        return match libatomic::in_library(symbol) {
            true => Err(format!("dsm-cc replaces calls of {symbol} by its own; {}", remedy(symbol))),
            false => Ok(None),
        };
    };
    if !entry.starts_with("__dsm_") {
        return Err(same_entry(symbol, &[entry]));
    }
    let differs = |&(name, other, _): &Replacement| {
        // No C library has `cfree` any more.
        (other == *entry && base(name) != base(symbol) && name != "cfree").then_some(name)
    };
    let others: Vec<&str> = all().filter_map(differs).collect();
    if others.is_empty() { Ok(Some(entry)) } else { Err(same_entry(symbol, &others)) }
}

/// What names of the C library for the same function have in common.
fn base(name: &str) -> &str {
    let name = name.strip_prefix("__").unwrap_or(name);
    let name = name.strip_suffix("_chk").unwrap_or(name);
    name.strip_suffix("64").unwrap_or(name)
}

/// Symbols that words for the linker ask it to wrap, each with the places of its words.
fn wrapped(words: &[&OsStr]) -> Vec<(String, Vec<usize>)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let option = strip(word, "--wrap").or(strip(word, "-wrap"));
        if let Some(symbol) = option.and_then(|rest| strip(rest, "=")) {
            out.push((symbol.to_string_lossy().into_owned(), vec![at]));
        } else if option.is_some_and(OsStr::is_empty)
            && let Some(symbol) = words.get(at + 1)
        {
            out.push((symbol.to_string_lossy().into_owned(), vec![at, at + 1]));
            at += 1;
        }
        at += 1;
    }
    out
}

/// The words for the linker, each with the place of its argument.
fn linker_words(arguments: &[OsString]) -> Vec<(usize, &OsStr)> {
    let mut out = Vec::new();
    let mut rest = arguments.iter().enumerate();
    while let Some((index, argument)) = rest.next() {
        if argument == "--" {
            break;
        } else if hands_to_linker(argument) {
            out.extend(rest.next().map(|(index, word)| (index, word.as_os_str())));
        } else if takes_value(argument) {
            rest.next();
        } else if let Some(words) = strip(argument, "-Wl,") {
            out.extend(words.as_bytes().split(|c| *c == b',').map(|word| (index, OsStr::from_bytes(word))));
        } else if let Some(word) = strip(argument, "--for-linker=") {
            out.push((index, word));
        }
    }
    out
}

/// The objects of an archive with their names; an object is its only one, and has none.
fn members(contents: &[u8]) -> object::Result<Vec<(Option<PathBuf>, &[u8])>> {
    if !contents.starts_with(b"!<arch>\n") {
        return Ok(vec![(None, contents)]);
    }
    let archive = ArchiveFile::parse(contents)?;
    let mut out = Vec::new();
    for member in archive.members() {
        let member = member?;
        out.push((Some(PathBuf::from(OsStr::from_bytes(member.name()))), member.data(contents)?));
    }
    Ok(out)
}

fn run(command: &mut Command) -> Result<(), Error> {
    let path = PathBuf::from(command.get_program());
    let output = command.output().map_err(|source| Error::Exec { path: path.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let problem = format!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim_end());
    Err(Error::WrapCopy { problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn read(line: &str) -> Result<Wraps, Error> {
        Wraps::read(&Typed::read(&split(line)).unwrap())
    }

    #[test]
    fn all_spellings_are_understood() {
        for line in [
            "-Wl,--wrap=f",
            "-Wl,--wrap,f",
            "-Wl,-wrap=f",
            "-Wl,-wrap,f",
            "-Xlinker --wrap=f",
            "-Xlinker --wrap -Xlinker f",
            "--for-linker --wrap=f",
            "--for-linker=--wrap=f",
            "-Wl,--wrap -Wl,f",
            "-Wl,--wrap=f,--wrap=f",
        ] {
            assert_eq!(read(&format!("x.o {line}")).unwrap().linked, ["f"], "{line}");
        }
        for line in ["-Wl,--wrapper=f", "-Wl,--no-wrap", "-Wl,--wrap", "-- -Wl,--wrap=f"] {
            assert!(read(&format!("x.o {line}")).unwrap().is_empty(), "{line}");
        }
    }

    #[test]
    fn options_for_functions_that_are_replaced_are_not_passed_on() {
        let line = "a.o -Wl,--wrap=malloc,-O1,--wrap,f -Xlinker --wrap -Xlinker malloc -o x -Wl,--wrap,malloc -- -b.o";
        let wraps = read(line).unwrap();
        assert_eq!((wraps.linked.len(), wraps.replaces("malloc")), (1, true));
        let arguments = wraps.arguments(&split(line)).join(OsStr::new(" "));
        assert_eq!(
            arguments,
            "-Wl,-u,__wrap_malloc,--defsym=__dsm_malloc=__wrap_malloc a.o -Wl,-O1,--wrap,f -o x -- -b.o"
        );
        let line = "a.o --for-linker=--wrap=malloc --for-linker --wrap=f --for-linker=-rpath=a,b";
        let arguments = read(line).unwrap().arguments(&split(line)).join(OsStr::new(" "));
        assert_eq!(
            arguments,
            "-Wl,-u,__wrap_malloc,--defsym=__dsm_malloc=__wrap_malloc a.o --for-linker --wrap=f --for-linker=-rpath=a,b"
        );
        let line = "a.o -Wl,--wrap=f -Xlinker -O1 -o x";
        assert_eq!(read(line).unwrap().arguments(&split(line)), split(line));
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for (line, word) in [
            ("-Wl,--wrap=memalign", "aligned_alloc"),
            ("-Wl,--wrap=_ZdlPv", "define the operator"),
            ("-Wl,--wrap=fopen,--wrap=fopen64", "fopen"),
            ("-Wl,--wrap=cnd_wait", "pthread_cond_wait"),
            ("-Wl,--wrap=__atomic_load", "its own"),
            ("-shared -Wl,--wrap=malloc", "no part of this link"),
        ] {
            let message = read(&format!("x.o {line}")).unwrap_err().to_string();
            assert!(message.starts_with("--wrap=") && message.contains(word), "{message}");
        }
        for symbol in ["malloc", "calloc", "realloc", "free", "posix_memalign", "_Znwm", "fopen", "read"] {
            assert!(read(&format!("x.o -Wl,--wrap={symbol}")).unwrap().replaces(symbol), "{symbol}");
        }
    }
}
