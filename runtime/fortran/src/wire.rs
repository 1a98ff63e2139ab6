//! How statements and their data look on the way to another process: words and pieces of bytes, each behind its length.

/// What is to be sent.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Appends a word.
    pub fn word(&mut self, value: u64) {
        self.0.extend(value.to_ne_bytes());
    }

    /// Appends a signed word.
    pub fn signed(&mut self, value: i64) {
        self.word(value.cast_unsigned());
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// What has arrived.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// # Panics
    /// If there is no word left: both sides are this runtime.
    pub fn word(&mut self) -> u64 {
        let (word, rest) = self.0.split_first_chunk().expect("a word was sent");
        self.0 = rest;
        u64::from_ne_bytes(*word)
    }

    /// A signed word.
    pub fn signed(&mut self) -> i64 {
        self.word().cast_signed()
    }

    /// Bytes.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = self.word() as usize;
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.word(7);
        writer.bytes(b"abc");
        writer.bytes(b"");
        writer.signed(-1);
        let mut reader = Reader(&writer.0);
        assert_eq!(
            (reader.word(), reader.bytes(), reader.bytes(), reader.signed()),
            (7, &b"abc"[..], &b""[..], -1)
        );
        assert!(reader.is_at_end());
    }
}
