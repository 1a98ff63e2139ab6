//! Text that is put together and written without an allocator or a lock.

use std::fmt::{self, Write};

/// Longer text is cut off: a pipe takes as many bytes in one piece.
const BYTES: usize = libc::PIPE_BUF;

/// See the module.
pub struct Line {
    bytes: [u8; BYTES],
    len: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line { bytes: [0; BYTES], len: 0 }
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let taken = text.len().min(BYTES - self.len);
        self.bytes[self.len..self.len + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        Ok(())
    }
}

impl Line {
    /// Appends text.
    pub fn add(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.write_fmt(text);
    }

    /// The text; empty if a character is cut off.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    /// Writes the text to standard error.
    pub fn write(&self) {
        // SAFETY: bytes of this value.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_beyond_the_end_is_cut_off() {
        let mut line = Line::default();
        line.add(format_args!("{:>1$}", "x", BYTES - 2));
        line.add(format_args!("abc"));
        assert_eq!((line.len, &line.bytes[BYTES - 3..]), (BYTES, &b"xab"[..]));
        line.add(format_args!("d"));
        assert_eq!(line.bytes[BYTES - 1], b'b');
    }
}
