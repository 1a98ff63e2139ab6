//! What an ELF file says about itself: the notes of instrumented code, and what else decides whether it may be linked
//! or launched. Reads files, judges nothing.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;

use dsm_abi::note::{self, Note, OpenMp};
use memmap2::Mmap;
use object::read::archive::ArchiveFile;
use object::read::elf::Sym as _;
use object::read::elf::{ElfFile, FileHeader};
use object::{Object, ObjectSection, ObjectSymbol, ReadRef, SectionFlags, SectionKind, SymbolKind, elf};

/// What a file on a link line, or a program to launch, turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A relocatable object.
    Object(Unit),
    /// A linked program.
    Program(Unit),
    /// A shared library (a position-independent program has an interpreter and counts as program).
    SharedLibrary(Unit),
    /// A static library: member names with what they are.
    Archive(Vec<(String, Member)>),
    /// LLVM bitcode, which `-flto` compilers write under the name of an object.
    Bitcode(Unit),
    /// Anything else: linker scripts, import files, text.
    Other,
}

/// A member of a static library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A relocatable object.
    Object(Unit),
    /// LLVM bitcode.
    Bitcode(Unit),
    /// Something that no linker reads.
    Other,
}

/// One ELF file's contents, as far as they matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// All notes, in file order; several after a relocatable link.
    pub notes: Vec<Note>,
    /// The note section exists and something in it is not a note of ours.
    pub damaged: bool,
    /// It has code or writable data; an object with neither is harmless whoever compiled it.
    pub has_code_or_data: bool,
    /// Options of the pass that are not as usual, as typed; each combination once.
    pub options: Vec<String>,
    /// Bytes of writable globals that instrumented code put into the shared sections.
    pub shared_bytes: u64,
    /// It has code and asks for a stack that may be executed, as code with trampolines does, or does not say that it needs none.
    pub executable_stack: bool,
    /// Of a shared library: it has functions whose address the loader asks a resolver for.
    pub indirect_functions: bool,
    /// Calls that hand memory which may be shared to functions that are not known where they are called.
    pub calls: Vec<UnknownCall>,
    /// Instrumented code in it calls the OpenMP library.
    pub uses_openmp: bool,
    /// File and line of an OpenMP directive that was compiled without `-fopenmp`.
    pub ignored_directive: Option<(String, u32)>,
    /// Names of the functions that other files can see.
    pub functions: HashSet<String>,
    /// Names of the functions that other files have to define.
    pub missing: HashSet<String>,
}

/// Calls of one function in one source, as the pass describes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownCall {
    /// Its symbol.
    pub function: String,
    /// Source file of the first call.
    pub file: String,
    /// Line of the first call, 0 if it is not known.
    pub line: u32,
    /// How many there are.
    pub calls: u32,
}

/// Reads the file at `path`.
pub fn inspect(path: &Path) -> io::Result<FileKind> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(FileKind::Other);
    }
    // SAFETY: the file is not shortened while it is mapped; linkers assume that of their inputs, too.
    let map = unsafe { Mmap::map(&file)? };
    let data = &map[..];
    if let Ok(archive) = ArchiveFile::parse(data) {
        return members(&archive, data, path);
    }
    Ok(inspect_elf(data))
}

fn members<'data, R: ReadRef<'data>>(
    archive: &ArchiveFile<'data, R>,
    data: R,
    path: &Path,
) -> io::Result<FileKind> {
    let mut found = Vec::new();
    for member in archive.members() {
        let member = member.map_err(io::Error::other)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let kind = if archive.is_thin() {
            // Members of a thin archive are files; their names are relative to the archive.
            inspect(&path.with_file_name(&name))?
        } else {
            inspect_elf(member.data(data).map_err(io::Error::other)?)
        };
        let kind = match kind {
            FileKind::Object(unit) => Member::Object(unit),
            FileKind::Bitcode(unit) => Member::Bitcode(unit),
            _ => Member::Other,
        };
        found.push((name, kind));
    }
    Ok(FileKind::Archive(found))
}

fn inspect_elf<'data, R: ReadRef<'data>>(data: R) -> FileKind {
    match data.read_bytes_at(0, 4) {
        Ok(b"BC\xc0\xde") => return FileKind::Bitcode(unit_of_bitcode(data)),
        Ok(b"\x7fELF") => {}
        _ => return FileKind::Other,
    }
    match data.read_bytes_at(4, 1) {
        Ok([elf::ELFCLASS64]) => inspect_class::<elf::FileHeader64<object::Endianness>, R>(data),
        Ok([elf::ELFCLASS32]) => inspect_class::<elf::FileHeader32<object::Endianness>, R>(data),
        _ => FileKind::Other,
    }
}

fn inspect_class<'data, H, R>(data: R) -> FileKind
where
    H: FileHeader<Endian = object::Endianness>,
    R: ReadRef<'data>,
{
    let Ok(file) = ElfFile::<H, R>::parse(data) else {
        return FileKind::Other;
    };
    let unit = unit_of(&file);
    match file.kind() {
        object::ObjectKind::Relocatable => FileKind::Object(unit),
        object::ObjectKind::Executable => FileKind::Program(unit),
        object::ObjectKind::Dynamic if file.section_by_name(".interp").is_some() => FileKind::Program(unit),
        // A static position-independent program has no interpreter, but an entry point.
        object::ObjectKind::Dynamic if file.entry() != 0 => FileKind::Program(unit),
        object::ObjectKind::Dynamic => {
            let mut symbols = file.dynamic_symbols();
            let indirect_functions = symbols.any(|s| s.elf_symbol().st_type() == elf::STT_GNU_IFUNC);
            FileKind::SharedLibrary(Unit { indirect_functions, ..unit })
        }
        _ => FileKind::Other,
    }
}

fn unit_of<'data>(file: &impl Object<'data>) -> Unit {
    let mut unit = Unit::default();
    let mut stack = None;
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        let allocated = sh_flags & u64::from(elf::SHF_ALLOC) != 0;
        let active = u64::from(elf::SHF_EXECINSTR | elf::SHF_WRITE);
        unit.has_code_or_data |= allocated && sh_flags & active != 0 && section.size() > 0;
        let name = section.name().unwrap_or("");
        if name == ".note.GNU-stack" {
            stack = Some(sh_flags & u64::from(elf::SHF_EXECINSTR) != 0);
        }
        if section.kind() == SectionKind::Note && name == note::SECTION {
            read_notes(section.data().unwrap_or(&[]), &mut unit);
        }
        if name.starts_with(dsm_abi::layout::DATA_SECTION) || name.starts_with(dsm_abi::layout::BSS_SECTION) {
            unit.shared_bytes += section.size();
        }
    }
    unit.executable_stack = stack.unwrap_or(unit.has_code_or_data);
    // A linked file is seen by others through its dynamic symbols; the full table may be stripped.
    for symbol in file.symbols().chain(file.dynamic_symbols()).filter(|s| s.is_global()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.is_undefined() {
            unit.missing.insert(name.to_owned());
        } else if symbol.kind() == SymbolKind::Text {
            unit.functions.insert(name.to_owned());
        }
    }
    unit
}

/// Reads the note of calls; `None` for what the pass does not write.
fn unknown_calls(text: &[u8]) -> Option<Vec<UnknownCall>> {
    let call = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [function, file, line, calls] = fields[..] else { return None };
        let (line, calls) = (line.parse().ok()?, calls.parse().ok()?);
        Some(UnknownCall { function: function.into(), file: file.into(), line, calls })
    };
    std::str::from_utf8(text).ok()?.lines().map(call).collect()
}

/// Bitcode ends with the names of its variables, one behind the other: the note's is one of them.
fn unit_of_bitcode<'data, R: ReadRef<'data>>(data: R) -> Unit {
    let bytes = data.len().and_then(|len| data.read_bytes_at(0, len)).unwrap_or(&[]);
    let name = note::VARIABLE.as_bytes();
    let at = bytes.windows(name.len()).position(|window| window == name);
    let note = at.map(|at| Note::from_name(&bytes[at + name.len()..]));
    Unit {
        notes: note.flatten().into_iter().collect(),
        damaged: note == Some(None),
        has_code_or_data: true,
        ..Unit::default()
    }
}

fn read_notes(bytes: &[u8], unit: &mut Unit) {
    for entry in note::Note::decode_all(bytes) {
        match entry {
            Some(note::Entry::Note(note)) if note.line_shift < u32::BITS => unit.notes.push(note),
            Some(note::Entry::Options(text)) => {
                let text = String::from_utf8_lossy(text).into_owned();
                if !unit.options.contains(&text) {
                    unit.options.push(text);
                }
            }
            Some(note::Entry::Calls(text)) => match unknown_calls(text) {
                Some(calls) => unit.calls.extend(calls),
                None => unit.damaged = true,
            },
            Some(note::Entry::OpenMp(OpenMp::Used)) => unit.uses_openmp = true,
            Some(note::Entry::OpenMp(OpenMp::Ignored { file, line })) => {
                unit.ignored_directive.get_or_insert((file.to_owned(), line));
            }
            Some(note::Entry::OpenMp(OpenMp::Absent)) => {}
            _ => unit.damaged = true,
        }
    }
    unit.damaged |= bytes.is_empty();
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsm_abi::note::Checking;

    fn note(abi_version: u32, line_shift: u32) -> Note {
        Note { abi_version, line_shift, checking: Checking::Inline }
    }

    #[test]
    fn own_program_is_a_program_without_notes() {
        let FileKind::Program(unit) = inspect(Path::new("/proc/self/exe")).unwrap() else {
            panic!("not recognised as a program");
        };
        assert!(unit.notes.is_empty() && !unit.damaged && unit.has_code_or_data);
    }

    #[test]
    fn text_and_bitcode_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("libx.so");
        std::fs::write(&text, "INPUT(-lfoo)\n").unwrap();
        assert_eq!(inspect(&text).unwrap(), FileKind::Other);
        std::fs::write(&text, b"BC\xc0\xde....").unwrap();
        let unit = |notes: &[Note]| Unit { notes: notes.to_vec(), has_code_or_data: true, ..Unit::default() };
        assert_eq!(inspect(&text).unwrap(), FileKind::Bitcode(unit(&[])));
        std::fs::write(&text, b"BC\xc0\xde....main__dsm_note.2.12.0printf").unwrap();
        assert_eq!(inspect(&text).unwrap(), FileKind::Bitcode(unit(&[note(2, 12)])));
        assert!(inspect(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn calls_are_lines_of_four_fields() {
        let call = UnknownCall { function: "f".into(), file: "a b.c".into(), line: 3, calls: 2 };
        assert_eq!(unknown_calls(b"f\ta b.c\t3\t2\n"), Some(vec![call]));
        assert_eq!(unknown_calls(b""), Some(vec![]));
        assert!([&b"f\ta.c\t3\n"[..], b"f\ta.c\tx\t2\n", b"\xff"].iter().all(|t| unknown_calls(t).is_none()));
    }

    #[test]
    fn notes_after_each_other_are_all_read() {
        let mut unit = Unit::default();
        let mut bytes = note(1, 6).encode().to_vec();
        bytes.extend(note(1, 12).encode());
        read_notes(&bytes, &mut unit);
        assert_eq!(unit.notes.iter().map(|n| n.line_shift).collect::<Vec<_>>(), [6, 12]);
        assert!(!unit.damaged);
        bytes[dsm_abi::note::SIZE] = 9;
        read_notes(&bytes, &mut unit);
        assert!(unit.damaged);
    }
}
