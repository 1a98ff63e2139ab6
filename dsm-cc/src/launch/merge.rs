//! One stream of the output of several processes: lines stay whole. Pure.
//!
//! A line is kept back until it ends. If nothing comes for a while, the beginning of one is let out all the same, as it may be a question to the user; when
//! another process writes before it ends, it gets its end there. What a process that writes alone has written is not changed. With labels, a line begins with the
//! number of its process, and only whole lines are let out.

use std::collections::BTreeMap;
use std::mem::take;

use super::label::{LONGEST, prefixed};

/// What was written and not let out.
#[derive(Default)]
pub struct Merge {
    has_labels: bool,
    /// Beginnings of lines, by process.
    pending: BTreeMap<u32, Vec<u8>>,
    /// Whose line has been let out without its end.
    open: Option<u32>,
}

impl Merge {
    /// Of nothing.
    pub fn new(has_labels: bool) -> Merge {
        Merge { has_labels, ..Merge::default() }
    }

    /// Adds what a process has written; returns what to let out.
    pub fn add(&mut self, rank: u32, bytes: &[u8]) -> Vec<u8> {
        let pending = self.pending.entry(rank).or_default();
        pending.extend_from_slice(bytes);
        let whole = match pending.iter().rposition(|b| *b == b'\n') {
            Some(last) => last + 1,
            None if pending.len() > LONGEST => pending.len(),
            None => return Vec::new(),
        };
        let rest = pending.split_off(whole);
        let lines = std::mem::replace(pending, rest);
        self.let_out(rank, &lines)
    }

    /// Whether [`Merge::pause`] may let something out.
    pub fn is_waiting(&self) -> bool {
        !self.has_labels && self.pending.iter().any(|(rank, p)| !p.is_empty() && self.is_next(*rank))
    }

    /// Nothing has come for a while: returns the beginning of a line, if there is one that is in nobody's way.
    pub fn pause(&mut self) -> Vec<u8> {
        let next = self.pending.iter().find(|(rank, p)| !p.is_empty() && self.is_next(**rank));
        match next.map(|(rank, _)| *rank).filter(|_| !self.has_labels) {
            Some(rank) => self.rest_of(rank),
            None => Vec::new(),
        }
    }

    /// Nothing more comes: returns all that is left.
    pub fn finish(&mut self) -> Vec<u8> {
        let ranks: Vec<u32> = self.pending.keys().copied().collect();
        ranks.into_iter().flat_map(|rank| self.rest_of(rank)).collect()
    }

    fn is_next(&self, rank: u32) -> bool {
        self.open.is_none_or(|open| open == rank)
    }

    fn rest_of(&mut self, rank: u32) -> Vec<u8> {
        match self.pending.get_mut(&rank).map(take) {
            Some(rest) if !rest.is_empty() => self.let_out(rank, &rest),
            _ => Vec::new(),
        }
    }

    fn let_out(&mut self, rank: u32, bytes: &[u8]) -> Vec<u8> {
        if self.has_labels {
            return prefixed(&format!("[{rank}] "), bytes);
        }
        let mut text = Vec::with_capacity(bytes.len() + 1);
        text.extend((!self.is_next(rank)).then_some(b'\n'));
        text.extend_from_slice(bytes);
        self.open = (!bytes.ends_with(b"\n")).then_some(rank);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_come_out_whole() {
        let mut merge = Merge::new(false);
        assert_eq!(text(merge.add(0, b"a")), "");
        assert_eq!(text(merge.add(1, b"x\ny")), "x\n");
        assert_eq!(text(merge.add(0, b"b\nc\nd")), "ab\nc\n");
        assert_eq!(text(merge.add(1, b"z\n")), "yz\n");
        assert!(merge.is_waiting());
        assert_eq!(text(merge.finish()), "d");
        assert!(!merge.is_waiting());
    }

    #[test]
    fn the_beginning_of_a_line_comes_out_after_a_while() {
        let mut merge = Merge::new(false);
        merge.add(2, b"2");
        merge.add(1, b"name? ");
        assert_eq!(text(merge.pause()), "name? ");
        // The other one is in the way of the first.
        assert_eq!((merge.is_waiting(), text(merge.pause())), (false, String::new()));
        merge.add(1, b"(yours) ");
        assert_eq!(text(merge.pause()), "(yours) ");
        assert_eq!(text(merge.add(1, b"thanks\n")), "thanks\n");
        assert_eq!(text(merge.pause()), "2");
        // Process 2 does not end its line: it ends where another begins.
        assert_eq!(text(merge.add(0, b"0\n")), "\n0\n");
        assert_eq!(text(merge.add(2, b"2\n")), "2\n");
    }

    #[test]
    fn what_one_process_writes_is_not_changed() {
        let bytes: Vec<u8> = (0..400_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let no_lines = vec![b'x'; 3 * LONGEST];
        for bytes in [bytes, no_lines] {
            let mut merge = Merge::new(false);
            let mut out = Vec::new();
            for (i, piece) in bytes.chunks(977).enumerate() {
                out.extend(merge.add(3, piece));
                out.extend(if i % 5 == 0 { merge.pause() } else { Vec::new() });
            }
            out.extend(merge.finish());
            assert!(out == bytes);
        }
    }

    #[test]
    fn lines_have_labels() {
        let mut merge = Merge::new(true);
        assert_eq!(text(merge.add(7, b"a\n\nb")), "[7] a\n[7] \n");
        assert_eq!((merge.is_waiting(), text(merge.pause())), (false, String::new()));
        assert_eq!(text(merge.finish()), "[7] b\n");
    }
}
