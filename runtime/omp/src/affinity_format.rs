//! `OMP_AFFINITY_FORMAT`: the text that says where a thread runs, and the routines that set, expand and print it.

use std::ffi::{CStr, CString, c_char};

use super::{frame, get};
use crate::control::Watched;
use crate::{check, config, heap, process_state};

crate::control::declare! {
    /// Address of the format in shared memory, or 0; in process 0.
    static FORMAT: Watched;
}

/// The affinity-format-var, of which all processes have one: a text in shared memory that is never changed, only replaced.
fn current() -> Vec<u8> {
    let address = FORMAT.shared(0).load() as usize;
    if address == 0 {
        return config::get().affinity_format.clone().into_bytes();
    }
    // SAFETY: what `set` made; who reads it synchronises with who set it.
    unsafe {
        let len = get(address as *const usize);
        let text = address + size_of::<usize>();
        check::readable(text, len);
        std::slice::from_raw_parts(text as *const u8, len).to_vec()
    }
}

/// Replaces the affinity-format-var; `None` stands for that of the environment. The old text stays: another thread may be reading it.
fn set(text: Option<Vec<u8>>) {
    let Some(text) = text else { return FORMAT.shared(0).store(0) };
    let bytes = size_of::<usize>() + text.len();
    let Some((address, _)) = heap::allocate(bytes, align_of::<usize>()) else { return };
    check::writable(address, bytes);
    // SAFETY: a new writable object of this many bytes.
    unsafe {
        (address as *mut usize).write(text.len());
        ((address + size_of::<usize>()) as *mut u8).copy_from_nonoverlapping(text.as_ptr(), text.len());
    }
    FORMAT.shared(0).store(address as u64);
}

/// What a field of a format stands for, by its letter or its name.
fn field(letter: u8, name: &[u8]) -> String {
    let frame = frame::current();
    let league = frame.league.get();
    let long: [(&[u8], u8); 10] = [
        (b"team_num", b't'),
        (b"num_teams", b'T'),
        (b"nesting_level", b'L'),
        (b"thread_num", b'n'),
        (b"num_threads", b'N'),
        (b"ancestor_tnum", b'a'),
        (b"host", b'H'),
        (b"process_id", b'P'),
        (b"native_thread_id", b'i'),
        (b"thread_affinity", b'A'),
    ];
    let letter = long.iter().find(|(known, _)| *known == name).map_or(letter, |(_, letter)| *letter);
    match letter {
        b't' => league.team.to_string(),
        b'T' => league.size().to_string(),
        b'L' => frame.level.to_string(),
        b'n' => frame.tid.to_string(),
        b'N' => frame.team().size.to_string(),
        b'a' => match frame.level.checked_sub(1) {
            Some(level) => frame.ancestor(level).map_or(0, |f| f.tid).to_string(),
            None => "-1".into(),
        },
        b'H' => host(),
        b'P' => process_state::__dsm_getpid().to_string(),
        // SAFETY: no arguments.
        b'i' => unsafe { libc::syscall(libc::SYS_gettid) }.to_string(),
        b'A' => processors(),
        _ => "undefined".into(),
    }
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer's size; the last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map_or_else(|_| String::new(), |n| n.to_string_lossy().into_owned())
}

/// Processors that the calling thread may run on, in runs.
fn processors() -> String {
    // SAFETY: an empty set is all zeros; the call writes at most its size; numbers are inside the set.
    let allowed: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|&n| libc::CPU_ISSET(n, &set)).collect()
    };
    runs(&allowed)
}

/// As libomp writes sets: pairs with a comma, longer runs with a hyphen.
fn runs(numbers: &[usize]) -> String {
    let parts = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [one, other] => format!("{one},{other}"),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Expands `%[[[0].]size]type`, where the type is a letter or a name in braces.
fn expand(format: &[u8], field: impl Fn(u8, &[u8]) -> String) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            out.push(first);
            continue;
        }
        if rest.first() == Some(&b'%') {
            out.push(b'%');
            rest = &rest[1..];
            continue;
        }
        let zeros = rest.first() == Some(&b'0');
        rest = &rest[usize::from(zeros)..];
        let right = rest.first() == Some(&b'.');
        rest = &rest[usize::from(right)..];
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        let width: usize = str::from_utf8(&rest[..digits]).ok().and_then(|d| d.parse().ok()).unwrap_or(0);
        rest = &rest[digits..];
        let text = match rest.split_first() {
            Some((b'{', inner)) => {
                let end = inner.iter().position(|&c| c == b'}').unwrap_or(inner.len());
                rest = inner.get(end + 1..).unwrap_or_default();
                field(0, &inner[..end])
            }
            Some((&letter, after)) => {
                rest = after;
                field(letter, b"")
            }
            None => break,
        };
        let width = width.min(1 << 10);
        let padded = match (right, zeros) {
            (true, true) => match text.strip_prefix('-') {
                Some(digits) => format!("-{digits:0>0$}", width.saturating_sub(1)),
                None => format!("{text:0>width$}"),
            },
            (true, false) => format!("{text:>width$}"),
            (false, _) => format!("{text:<width$}"),
        };
        out.extend(padded.into_bytes());
    }
    out
}

/// The text for the calling thread; an empty format stands for the variable.
fn text(format: Option<&[u8]>) -> Vec<u8> {
    match format.filter(|f| !f.is_empty()) {
        Some(format) => expand(format, field),
        None => expand(&current(), field),
    }
}

/// Prints the text and a line end to standard output.
pub fn display(format: Option<&[u8]>) {
    let mut line = text(format);
    line.retain(|&c| c != 0);
    let line = CString::new(line).expect("zeros are gone");
    // SAFETY: a string of this process; the stream belongs to the C library.
    unsafe { libc::puts(line.as_ptr()) };
}

/// A copy of a string of the program; `None` for a null pointer.
///
/// # Safety
/// `string` is null or a C string.
unsafe fn c_string(string: *const c_char) -> Option<Vec<u8>> {
    if string.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; readable up to its end after the first call.
    unsafe {
        check::__dsm_load_str(string.cast_mut().cast());
        Some(CStr::from_ptr(string).to_bytes().to_vec())
    }
}

/// The same of a Fortran string of `len` characters, without trailing blanks.
///
/// # Safety
/// `string` is valid for `len` bytes.
unsafe fn fortran_string(string: *const c_char, len: usize) -> Vec<u8> {
    check::readable(string as usize, len);
    // SAFETY: the caller's promise, readable now.
    let bytes = unsafe { std::slice::from_raw_parts(string.cast::<u8>(), len) };
    bytes[..bytes.iter().rposition(|&c| c != b' ').map_or(0, |last| last + 1)].to_vec()
}

/// Copies as much as fits, and what fills the rest up: a zero for C, blanks for Fortran. Returns the length of the whole text.
///
/// # Safety
/// `buffer` is null or valid for writing `size` bytes.
unsafe fn give(text: &[u8], buffer: *mut c_char, size: usize, fortran: bool) -> usize {
    if buffer.is_null() || size == 0 {
        return text.len();
    }
    check::writable(buffer as usize, size);
    let fits = text.len().min(size - usize::from(!fortran));
    // SAFETY: within the buffer by the two lines above.
    unsafe {
        buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), fits);
        if fortran {
            buffer.cast::<u8>().add(fits).write_bytes(b' ', size - fits);
        } else {
            buffer.add(fits).write(0);
        }
    }
    text.len()
}

/// Sets the affinity-format-var.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompc_set_affinity_format(format: *const c_char) {
    // SAFETY: the program's string.
    set(unsafe { c_string(format) });
}

/// Copies the affinity-format-var; returns its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompc_get_affinity_format(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the program's buffer.
    unsafe { give(&current(), buffer, size, false) }
}

/// Prints where the calling thread runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompc_display_affinity(format: *const c_char) {
    // SAFETY: the program's string.
    display(unsafe { c_string(format) }.as_deref());
}

/// Copies what [`ompc_display_affinity`] would print; returns its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompc_capture_affinity(
    buffer: *mut c_char,
    size: usize,
    format: *const c_char,
) -> usize {
    // SAFETY: the program's string and buffer.
    unsafe { give(&text(c_string(format).as_deref()), buffer, size, false) }
}

/// As [`ompc_set_affinity_format`] for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format_(format: *const c_char, len: usize) {
    // SAFETY: a Fortran string.
    set(Some(unsafe { fortran_string(format, len) }));
}

/// As [`ompc_get_affinity_format`] for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_affinity_format_(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: a Fortran string.
    unsafe { give(&current(), buffer, size, true) }
}

/// As [`ompc_display_affinity`] for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_display_affinity_(format: *const c_char, len: usize) {
    // SAFETY: a Fortran string.
    display(Some(&unsafe { fortran_string(format, len) }));
}

/// As [`ompc_capture_affinity`] for Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_capture_affinity_(
    buffer: *mut c_char,
    format: *const c_char,
    size: usize,
    len: usize,
) -> usize {
    // SAFETY: Fortran strings.
    unsafe { give(&text(Some(&fortran_string(format, len))), buffer, size, true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(format: &str) -> String {
        let field = |letter: u8, name: &[u8]| match (letter, name) {
            (b'n', _) | (_, b"thread_num") => "17".to_owned(),
            (b'a', _) => "-1".to_owned(),
            _ => "undefined".to_owned(),
        };
        String::from_utf8(expand(format.as_bytes(), field)).unwrap()
    }

    #[test]
    fn fields_are_padded_as_the_specification_says() {
        assert_eq!(expanded("%n|%5n|%.5n|%0.5n|%{thread_num}"), "17|17   |   17|00017|17");
        assert_eq!(expanded("%a|%5a|%.5a|%0.5a|%0.1a"), "-1|-1   |   -1|-0001|-1");
        assert_eq!(expanded("100%% %x %{nobody} %"), "100% undefined undefined ");
        assert_eq!(expanded("%{thread_num"), "17");
    }

    #[test]
    fn sets_are_written_in_runs() {
        assert_eq!(runs(&[0, 1, 3, 5, 6, 7, 9]), "0,1,3,5-7,9");
        assert_eq!(runs(&[]), "");
    }
}
