//! Functions and lines of a crash. Reads what the kernel says is mapped, since the loader's list has a lock.

use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object, ObjectSymbol, ReadCache, SymbolKind};

use super::line::Line;
use crate::image::{Place, program_name};

/// What calls the functions of regions: what is further out is the runtime's.
const REGION: &str = "dsm_rt_call_microtask";

/// A part of a file in memory.
struct Mapping {
    memory: Range<usize>,
    /// Where in the file it begins.
    offset: usize,
    path: PathBuf,
}

/// What a file says about its addresses.
struct Names {
    path: PathBuf,
    bias: usize,
    /// First address, size and name of functions.
    functions: Vec<(u64, u64, String)>,
    lines: Option<Loader>,
}

/// Adds a line for the instruction and for each call that led to it, up to the program's `main` or region. Each begins with `prefix`.
pub fn describe(text: &mut Line, prefix: &str, pc: usize, callers: &[usize]) {
    let mappings = mappings();
    let mut files = Vec::new();
    let mut is_nameless = false;
    // A call returns behind itself.
    let called = callers.iter().map(|at| at.wrapping_sub(1));
    for (index, probe) in [pc].into_iter().chain(called).enumerate() {
        let Some(names) = names(probe, &mappings, &mut files) else { continue };
        let Place { function, line } = names.place(probe);
        if index > 0 && function.as_deref() == Some(REGION) {
            break;
        }
        text.add(format_args!("{prefix}{} ", if index == 0 { "in" } else { "called by" }));
        match (&function, line) {
            (Some(function), Some((file, line))) => text.add(format_args!("{function} at {file}:{line}\n")),
            (Some(function), None) => text.add(format_args!("{function} ({})\n", names.path.display())),
            // As addresses of the file, which a copy of it that is not stripped has names for.
            (None, _) => {
                text.add(format_args!("{}+{:#x}", names.path.display(), probe - names.bias));
                text.add(format_args!(
                    "{}\n",
                    if is_nameless { "" } else { ", which has no name for the place" }
                ));
                is_nameless = true;
            }
        }
        if function.as_deref() == Some("main") {
            break;
        }
    }
}

/// The file that an instruction is of.
fn names<'a>(probe: usize, mappings: &[Mapping], files: &'a mut Vec<Names>) -> Option<&'a Names> {
    let mapping = mappings.iter().find(|m| m.memory.contains(&probe))?;
    let index = match files.iter().position(|names| names.path == mapping.path) {
        Some(index) => index,
        None => {
            files.push(Names::read(&mapping.path, bias(&mapping.path, mappings)?));
            files.len() - 1
        }
    };
    Some(&files[index])
}

impl Names {
    fn read(path: &Path, bias: usize) -> Names {
        Names {
            path: path.to_owned(),
            bias,
            functions: functions(path).unwrap_or_default(),
            lines: Loader::new(path).ok(),
        }
    }

    fn place(&self, probe: usize) -> Place {
        let at = (probe - self.bias) as u64;
        let found = self.functions.iter().find(|(start, bytes, _)| (*start..start + bytes).contains(&at));
        let location = self.lines.as_ref().and_then(|lines| lines.find_location(at).ok().flatten());
        Place {
            function: found.map(|(_, _, name)| program_name(name).to_owned()),
            line: location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?))),
        }
    }
}

/// The functions that a file's symbol tables name.
fn functions(path: &Path) -> Option<Vec<(u64, u64, String)>> {
    let data = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&data).ok()?;
    let symbols = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|s| s.kind() == SymbolKind::Text && s.is_definition());
    Some(symbols.filter_map(|s| Some((s.address(), s.size(), s.name().ok()?.to_owned()))).collect())
}

/// What the addresses in a file are shifted by in memory.
fn bias(path: &Path, mappings: &[Mapping]) -> Option<usize> {
    /// Where the kind of file stands, and that of programs at fixed addresses.
    const KIND: usize = 16;
    const FIXED: u16 = 2;
    let mut header = [0; KIND + 2];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    if u16::from_le_bytes([header[KIND], header[KIND + 1]]) == FIXED {
        return Some(0);
    }
    mappings.iter().find(|m| m.path == path && m.offset == 0).map(|m| m.memory.start)
}

fn mappings() -> Vec<Mapping> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(mapping).collect()
}

/// Reads a line of `/proc/self/maps`: range, permissions, offset, device, inode, path.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let offset = number(fields.nth(1)?)?;
    let path = fields.nth(2)?.trim_start();
    path.starts_with('/').then_some(())?;
    Some(Mapping { memory: number(start)?..number(end)?, offset, path: path.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let read = mapping("7f00-7f80 r-xp 00001000 08:01 1234       /usr/lib/a b.so").unwrap();
        assert_eq!((read.memory, read.offset, read.path), (0x7f00..0x7f80, 0x1000, "/usr/lib/a b.so".into()));
        for other in
            ["7f00-7f80 rw-p 00000000 00:00 0 ", "7f00-7f80 rw-p 00000000 00:00 0          [heap]", ""]
        {
            assert!(mapping(other).is_none(), "{other}");
        }
    }

    #[test]
    fn own_functions_are_found() {
        let mut text = Line::default();
        let pc = own_functions_are_found as *const () as usize + 1;
        crate::crash::arena::with(|| describe(&mut text, "prefix: ", pc, &[])).unwrap();
        assert!(
            text.text().starts_with("prefix: in ") && text.text().contains("own_functions_are_found"),
            "{}",
            text.text()
        );
    }
}
