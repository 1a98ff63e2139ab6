//! `OMP_ALLOCATOR`: a predefined allocator, or a memory space with traits.

use super::parse::size;

/// Handle of `omp_default_mem_alloc`.
pub const DEFAULT_ALLOCATOR: usize = 1;

/// Predefined allocators with their handles.
const ALLOCATORS: [(&str, usize); 8] = [
    ("omp_default_mem_alloc", DEFAULT_ALLOCATOR),
    ("omp_large_cap_mem_alloc", 2),
    ("omp_const_mem_alloc", 3),
    ("omp_high_bw_mem_alloc", 4),
    ("omp_low_lat_mem_alloc", 5),
    ("omp_cgroup_mem_alloc", 6),
    ("omp_pteam_mem_alloc", 7),
    ("omp_thread_mem_alloc", 8),
];

/// Memory spaces with their handles.
const SPACES: [(&str, usize); 5] = [
    ("omp_default_mem_space", 99),
    ("omp_large_cap_mem_space", 1),
    ("omp_const_mem_space", 2),
    ("omp_high_bw_mem_space", 3),
    ("omp_low_lat_mem_space", 4),
];

/// Traits with their keys.
const TRAITS: [(&str, i32); 8] = [
    ("sync_hint", 1),
    ("alignment", 2),
    ("access", 3),
    ("pool_size", 4),
    ("fallback", 5),
    ("fb_data", 6),
    ("pinned", 7),
    ("partition", 8),
];

/// Words among the values of traits.
const VALUES: [(&str, usize); 18] = [
    ("false", 0),
    ("true", 1),
    ("contended", 3),
    ("uncontended", 4),
    ("serialized", 5),
    ("private", 6),
    ("all", 19),
    ("cgroup", 10),
    ("pteam", 9),
    ("thread", 8),
    ("default_mem_fb", 11),
    ("null_fb", 12),
    ("abort_fb", 13),
    ("allocator_fb", 14),
    ("environment", 15),
    ("nearest", 16),
    ("blocked", 17),
    ("interleaved", 18),
];

/// What the variable says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocator {
    /// As given.
    pub text: String,
    /// Handle of the allocator, or of the memory space.
    pub handle: usize,
    /// Keys and values of the traits of a memory space.
    pub traits: Option<Vec<(i32, usize)>>,
}

impl Default for Allocator {
    fn default() -> Allocator {
        Allocator { text: "omp_default_mem_alloc".into(), handle: DEFAULT_ALLOCATOR, traits: None }
    }
}

fn known<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| name.trim().eq_ignore_ascii_case(known)).map(|(_, value)| *value)
}

/// `None` for what is malformed.
pub fn parse(text: &str) -> Option<Allocator> {
    let of = |handle, traits| Some(Allocator { text: text.to_owned(), handle, traits });
    if let Some(handle) = known(&ALLOCATORS, text) {
        return of(handle, None);
    }
    let (space, list) = text.split_once(':').unwrap_or((text, ""));
    let traits = list.split(',').filter(|part| !part.trim().is_empty()).map(|part| {
        let (name, value) = part.split_once('=')?;
        let number =
            || known(&VALUES, value).or_else(|| known(&ALLOCATORS, value)).or_else(|| size(value, 1));
        Some((known(&TRAITS, name)?, number()?))
    });
    of(known(&SPACES, space)?, Some(traits.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_and_spaces_with_traits() {
        assert_eq!(parse("OMP_Large_cap_mem_alloc").unwrap().handle, 2);
        let given = parse("omp_default_mem_space:alignment=4096, pool_size=1K,fallback=null_fb").unwrap();
        assert_eq!((given.handle, given.traits.unwrap()), (99, vec![(2, 4096), (4, 1024), (5, 12)]));
        assert_eq!(parse("omp_low_lat_mem_space").unwrap().traits, Some(Vec::new()));
        for wrong in [
            "fast",
            "omp_default_mem_space:speed=3",
            "omp_default_mem_space:alignment",
            "omp_default_mem_space:pool_size=x",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
