//! Which functions of libatomic there are: clang and flang call them for objects without atomic instructions.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// The functions of libatomic that compilers and programs call, `__atomic_NAME`: with the object's size as first argument, or with
/// the size in the name.
pub const ANY_SIZE: [&str; 4] = ["load", "store", "exchange", "compare_exchange"];
/// Those that exist only with the size in the name.
pub const SIZED: [&str; 12] = [
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_nand",
    "add_fetch",
    "sub_fetch",
    "and_fetch",
    "or_fetch",
    "xor_fetch",
    "nand_fetch",
];

/// Names of libatomic's functions, and the runtime's functions of the same types that take their places.
pub fn library() -> impl Iterator<Item = (String, String)> {
    let sized = ANY_SIZE.into_iter().chain(SIZED);
    let sized = sized.flat_map(|name| [1, 2, 4, 8, 16].map(|bytes| format!("{name}_{bytes}")));
    let all = ANY_SIZE.into_iter().map(str::to_owned).chain(sized);
    all.map(|name| (format!("__atomic_{name}"), format!("__dsm_library_atomic_{name}")))
}

/// Whether [`library`] lists the name.
pub fn in_library(name: &str) -> bool {
    let Some(name) = name.strip_prefix("__atomic_") else { return false };
    let (operation, size) = name.rsplit_once('_').unwrap_or((name, ""));
    ANY_SIZE.contains(&name)
        || ["1", "2", "4", "8", "16"].contains(&size)
            && (ANY_SIZE.contains(&operation) || SIZED.contains(&operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_library_functions_and_the_test_agree() {
        assert_eq!(library().count(), 84);
        assert!(library().all(|(name, _)| in_library(&name)));
        for other in ["__atomic_is_lock_free", "__atomic_fetch_add", "__atomic_load_3", "load", "__atomic_"] {
            assert!(!in_library(other), "{other}");
        }
    }
}
