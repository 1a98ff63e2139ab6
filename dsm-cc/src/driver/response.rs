//! Response files: `@file` stands for the arguments in the file, quoted as GNU tools do.

use std::path::Path;

use super::error::Error;

/// Deepest nesting, against files that name themselves.
const DEPTH: usize = 32;

/// Replaces response files by their contents. An `@name` that is no file stays, as with other compilers.
pub fn expand(arguments: Vec<String>) -> Result<Vec<String>, Error> {
    expand_at(arguments, 0)
}

fn expand_at(arguments: Vec<String>, depth: usize) -> Result<Vec<String>, Error> {
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.strip_prefix('@').map(Path::new) {
            Some(path) if path.is_file() && depth < DEPTH => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| Error::ResponseFile { path: path.to_owned(), source })?;
                out.extend(expand_at(split(&text), depth + 1)?);
            }
            _ => out.push(argument),
        }
    }
    Ok(out)
}

/// Splits at white space; quotes of both kinds keep it, a backslash takes the next character as it is.
fn split(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => out.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(split("a 'b c' \"d\\\" e\"\n f\\ g ''"), ["a", "b c", "d\" e", "f g", ""]);
    }

    #[test]
    fn files_nest_and_unknown_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, outer) = (dir.path().join("inner"), dir.path().join("outer"));
        std::fs::write(&inner, "-c x.c").unwrap();
        std::fs::write(&outer, format!("-O2 @{}", inner.display())).unwrap();
        let got = expand(vec![format!("@{}", outer.display()), "@nowhere".into()]).unwrap();
        assert_eq!(got, ["-O2", "-c", "x.c", "@nowhere"]);
    }
}
