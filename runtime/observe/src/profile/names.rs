//! What the program calls its memory, its lines and its barriers.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fs;

use dsm_comm::Segments;

use super::places;
use crate::image::{self, Place};
use crate::race::sites::{self, Allocation};
use dsm_geometry::Geometry;

/// A variable, or all objects that one place in the program has allocated.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Tells it from others.
    pub key: usize,
    /// As a reader knows it.
    pub name: String,
    /// Bytes; of allocations, of the largest.
    pub bytes: usize,
    /// Where it was allocated, and by which calls, innermost first.
    pub allocated: Vec<Place>,
    /// How many allocations.
    pub count: usize,
    /// What a rule of a block file calls it.
    pub rule: Option<String>,
    /// Whose its blocks were at the start.
    pub home: u32,
}

impl Object {
    /// Whether it is a global variable.
    pub fn is_variable(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.starts_with("symbol "))
    }
}

/// An object and where it begins.
#[derive(Clone, Debug)]
pub struct Found {
    /// Key of the object.
    pub key: usize,
    /// First address; of an allocation, the one that holds what was asked for; `None` where nothing has a name.
    pub start: Option<usize>,
}

/// Finds objects by address.
pub struct Objects<'a> {
    geometry: &'a Geometry,
    /// Of each process, by address; of those with the same address the latest.
    allocations: Vec<Vec<Allocation>>,
    known: HashMap<usize, Object>,
}

impl<'a> Objects<'a> {
    /// Reads what all processes allocated.
    pub fn new(segments: &Segments, geometry: &'a Geometry) -> Objects<'a> {
        let of = |rank| {
            let mut all = sites::all(segments, geometry, rank);
            all.reverse();
            all.sort_by_key(|a| a.address);
            all.dedup_by_key(|a| a.address);
            all
        };
        Objects { geometry, allocations: (0..geometry.processes()).map(of).collect(), known: HashMap::new() }
    }

    /// The object with this key, which was found.
    pub fn get(&self, key: usize) -> &Object {
        &self.known[&key]
    }

    /// The object that holds a shared address.
    pub fn at(&mut self, address: usize) -> Found {
        if let Some(v) = image::variable_at(address) {
            let object = || Object {
                key: v.address,
                name: format!("variable {}", v.name),
                bytes: v.bytes,
                allocated: Vec::new(),
                count: 1,
                rule: Some(format!("symbol {}", v.name)),
                home: 0,
            };
            self.known.entry(v.address).or_insert_with(object);
            return Found { key: v.address, start: Some(v.address) };
        }
        let home = if self.geometry.is_shared(address) {
            self.geometry.default_home(self.geometry.block(address)).0
        } else {
            0
        };
        match self.allocation(home, address) {
            Some(found) => self.allocated(home, found),
            None => self.unnamed(home, address),
        }
    }

    fn allocation(&self, rank: u32, address: usize) -> Option<Allocation> {
        let all = &self.allocations[rank as usize];
        let end = all.partition_point(|a| a.address <= address);
        // Objects that were freed may reach into those that came later.
        let holds = |a: &&Allocation| address < a.address + a.bytes.max(1);
        all[..end].iter().rev().take(64).find(holds).copied()
    }

    fn allocated(&mut self, home: u32, found: Allocation) -> Found {
        let key = if found.site == 0 { 1 } else { found.site };
        let object = self.known.entry(key).or_insert_with(|| Object {
            key,
            name: String::new(),
            bytes: 0,
            allocated: std::iter::once(found.site)
                .chain(found.callers)
                .filter(|call| *call != 0)
                .map(image::call_site)
                .take_while(|place| !places::is_runtime(place))
                .collect(),
            count: self.allocations.iter().flatten().filter(|a| a.site == found.site).count(),
            rule: None,
            home,
        });
        object.bytes = object.bytes.max(found.bytes);
        let bytes = text_of_bytes(object.bytes as u64);
        object.name = match (object.allocated.first(), object.count) {
            (None, _) => "memory that the runtime allocated".into(),
            (Some(place), 1) => format!("{bytes} allocated at {place}"),
            (Some(place), count) => format!("{count} objects of up to {bytes} allocated at {place}"),
        };
        object.rule = object.allocated.first().and_then(|place| place.line.as_ref()).map(|(file, line)| {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("alloc {name}:{line}")
        });
        Found { key, start: Some(found.address) }
    }

    fn unnamed(&mut self, home: u32, address: usize) -> Found {
        let (key, name) = match self.geometry.stack_of(address) {
            Some((rank, thread)) => (
                self.geometry.stack_top(rank, thread).unwrap_or(address),
                format!("local variables of thread {thread} of process {rank}"),
            ),
            None => (
                address >> 20 << 20,
                format!("memory at {:#x} (no symbol, no allocation)", address >> 20 << 20),
            ),
        };
        let object = Object { key, name, bytes: 0, allocated: Vec::new(), count: 1, rule: None, home };
        self.known.entry(key).or_insert(object);
        Found { key, start: None }
    }
}

/// A line of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line {
    /// `file:line (function)`, or as much of it as is known.
    pub place: String,
    /// What stands there, if the source file is at hand.
    pub text: Option<String>,
}

/// The line of the instruction before the one at `pc`.
pub fn line(pc: usize) -> Line {
    if pc == 0 {
        return Line { place: "the C library or the runtime".into(), text: None };
    }
    line_of(&image::call_site(pc))
}

fn line_of(place: &Place) -> Line {
    let text = place.line.as_ref().and_then(|(file, line)| {
        let source = fs::read_to_string(file).ok()?;
        Some(source.lines().nth(*line as usize - 1)?.trim().to_owned()).filter(|text| !text.is_empty())
    });
    Line { place: place.to_string(), text }
}

/// The line in which a function begins.
pub fn function(address: usize) -> Line {
    let mut line = line(address + 1);
    // The compiler's names for the bodies of regions and loops.
    line.place = without_suffix(&line.place);
    line
}

/// Without what clang and the pass append to the function's name.
fn without_suffix(place: &str) -> String {
    match place.split_once(".omp_outlined") {
        Some((front, behind)) => {
            format!("{front}{}", behind.trim_start_matches(|c: char| c != ')' && c != ' '))
        }
        None => place.to_owned(),
    }
}

/// What the compiler says of a construct: `;file;function;line;column;;`, behind 16 bytes of flags.
///
/// # Safety
/// `loc` is null or a source position that the program has passed.
pub unsafe fn position(loc: usize) -> Option<Place> {
    const TEXT_AT: usize = 16;
    if loc == 0 {
        return None;
    }
    // SAFETY: the structure of LLVM's interface, constant in the program; its text ends with NUL.
    let text = unsafe {
        let text = ((loc + TEXT_AT) as *const *const c_char).read();
        if text.is_null() {
            return None;
        }
        CStr::from_ptr(text).to_str().ok()?
    };
    parse_position(text)
}

fn parse_position(text: &str) -> Option<Place> {
    let mut fields = text.split(';').skip(1);
    let (file, function) = (fields.next()?, fields.next()?);
    let line: u32 = fields.next()?.parse().ok()?;
    // What clang and flang write where they know no file.
    let known = |name: &str| !["", "unknown", "FIRModule"].contains(&name);
    let known = |name: &str| known(name).then(|| name.to_owned());
    Some(Place { function: known(function), line: known(file).map(|file| (file, line)).filter(|_| line > 0) })
}

/// The line of a construct.
pub fn construct(loc: u64) -> Option<Line> {
    // SAFETY: keys of waits at barriers are what the program passed.
    let place = unsafe { position(loc as usize) }?;
    place.has_line().then(|| line_of(&place))
}

/// A lock by its variable.
pub fn lock(name: u64) -> String {
    match image::variable_at(name as usize) {
        Some(v) => match critical(&v.name) {
            Some(section) => format!("critical section {section}"),
            None if v.address == name as usize => format!("lock {}", v.name),
            None => format!("lock at byte {} of {}", name as usize - v.address, v.name),
        },
        None if name < 4096 => "the runtime's lock for atomic operations".into(),
        None => format!("lock at {name:#x}"),
    }
}

/// The name of a critical section whose lock has this symbol; clang and flang make the same.
fn critical(symbol: &str) -> Option<String> {
    let name = symbol.trim_start_matches(['.', '_']).strip_prefix("gomp_critical_user_")?;
    let name = name.trim_end_matches(".var").trim_end_matches(".reduction");
    Some(if name.is_empty() { "(without a name)".into() } else { name.to_owned() })
}

/// A number of bytes as people write it.
pub fn text_of_bytes(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_positions_are_read() {
        let place = parse_position(";dir/a.c;main;12;9;;").expect("it has all fields");
        assert_eq!(place.to_string(), "dir/a.c:12 (main)");
        assert!(!parse_position(";unknown;unknown;0;0;;").expect("it has all fields").has_line());
        assert!(!parse_position(";FIRModule;HEAT;52;9;;").expect("it has all fields").has_line());
        assert_eq!(parse_position("nonsense"), None);
    }

    #[test]
    fn bodies_of_regions_have_the_names_of_their_functions() {
        for (place, expected) in [
            ("a.c:3 (f.omp_outlined)", "a.c:3 (f)"),
            ("a.c:3 (f.omp_outlined_debug__.12)", "a.c:3 (f)"),
            ("f.omp_outlined.1 (no debug information)", "f (no debug information)"),
            ("a.c:3 (main)", "a.c:3 (main)"),
        ] {
            assert_eq!(without_suffix(place), expected);
        }
    }

    #[test]
    fn critical_sections_have_their_names() {
        assert_eq!(critical(".gomp_critical_user_sum.var").as_deref(), Some("sum"));
        assert_eq!(critical(".gomp_critical_user_.var").as_deref(), Some("(without a name)"));
        assert_eq!(critical("table"), None);
    }

    #[test]
    fn bytes_are_rounded_up() {
        let texts = [512, 4096, 65536, 64 << 20].map(text_of_bytes);
        assert_eq!(texts, ["512 bytes", "4096 bytes", "64 KiB", "64 MiB"]);
    }
}
