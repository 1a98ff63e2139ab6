//! The list of functions without a body here, and unknown to the tables, that get memory which may be shared. It becomes a note of the object;
//! the driver's link step finds out which of them have checks, and warns of the others.

use std::collections::BTreeMap;

use dsm_abi::note;

use super::text_note;

/// Such functions by name, with the place of the first call and the number of calls.
#[derive(Default, Debug)]
pub struct UnknownCalls {
    functions: BTreeMap<String, ((String, u32), u32)>,
}

impl UnknownCalls {
    /// A call of the function; `place` is the file and line, if they are known.
    pub fn add(&mut self, function: &str, place: Option<(String, u32)>) {
        let place = place.unwrap_or_default();
        let (_, calls) = self.functions.entry(function.to_owned()).or_insert((place, 0));
        *calls += 1;
    }

    /// The note's bytes, none if there are no such calls. `source`: file of the calls whose place is not known.
    pub fn encode(&self, source: &str) -> Vec<u8> {
        let mut text = String::new();
        for (function, ((file, line), calls)) in &self.functions {
            let file = if file.is_empty() { source } else { file };
            if ![function.as_str(), file].iter().any(|field| field.contains(['\t', '\n', '\0'])) {
                text += &format!("{function}\t{file}\t{line}\t{calls}\n");
            }
        }
        if text.is_empty() { vec![] } else { text_note::encode(note::CALLS_TYPE, text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_a_line() {
        let mut calls = UnknownCalls::default();
        assert!(calls.encode("x.c").is_empty());
        calls.add("g", Some(("a.h".into(), 3)));
        calls.add("f", None);
        calls.add("g", Some(("x.c".into(), 9)));
        let bytes = calls.encode("x.c");
        let entries: Vec<_> = note::Note::decode_all(&bytes).collect();
        assert_eq!(entries, [Some(note::Entry::Calls(b"f\tx.c\t0\t1\ng\ta.h\t3\t2\n"))]);
    }
}
