//! Notes of the object whose contents are text.

use dsm_abi::note;

/// The bytes of a note of this type.
pub fn encode(kind: u32, text: String) -> Vec<u8> {
    let mut contents = text.into_bytes();
    contents.resize(contents.len().next_multiple_of(4), 0);
    let mut out = note::text_header(kind, contents.len()).to_vec();
    out.extend(contents);
    out
}
