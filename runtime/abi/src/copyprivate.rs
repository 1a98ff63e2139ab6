//! The variables of a `copyprivate` clause as they lie in a message from the process that has executed the construct to the others.

/// Longest message, words.
pub const MOST_WORDS: usize = 1024;

/// Words of the message for variables of so many bytes: each begins with a word.
pub fn words_of(bytes: impl Iterator<Item = u64>) -> usize {
    bytes.fold(0, |words, bytes| {
        words.saturating_add(usize::try_from(bytes.div_ceil(8)).unwrap_or(usize::MAX))
    })
}
