//! Response files: `@file` stands for the arguments in the file, quoted as GNU tools do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::arguments::strip;
use super::error::Error;

/// Deepest nesting, against files that name themselves.
const DEPTH: usize = 32;

/// Replaces response files by their contents. An `@name` that is no file stays, as with other compilers.
pub fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    expand_at(arguments, 0)
}

fn expand_at(arguments: Vec<OsString>, depth: usize) -> Result<Vec<OsString>, Error> {
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match strip(&argument, "@").map(Path::new) {
            Some(path) if path.is_file() && depth < DEPTH => {
                let text = std::fs::read(path)
                    .map_err(|source| Error::ResponseFile { path: path.to_owned(), source })?;
                out.extend(expand_at(split(&text), depth + 1)?);
            }
            _ => out.push(argument),
        }
    }
    Ok(out)
}

/// Splits at white space; quotes of both kinds keep it, a backslash takes the next character as it is.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(c) = bytes.next() {
        match (c, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            (b'"' | b'\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_ascii_whitespace() => out.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(split(b"a 'b c' \"d\\\" e\"\n f\\ g '' caf\xe9")[..5], ["a", "b c", "d\" e", "f g", ""]);
    }

    #[test]
    fn files_nest_and_unknown_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, outer) = (dir.path().join("inner"), dir.path().join("outer"));
        std::fs::write(&inner, "-c x.c").unwrap();
        std::fs::write(&outer, format!("-O2 @{}", inner.display())).unwrap();
        let got = expand(vec![format!("@{}", outer.display()).into(), "@nowhere".into()]).unwrap();
        assert_eq!(got, ["-O2", "-c", "x.c", "@nowhere"]);
    }
}
