//! What C++ writes in its own way: kernels are templates of the types of their operands, which are pointers, iterators, or a small class with
//! a subscript operator; loops go over a range class; records have methods; sums begin with what a static object of a function has.

use super::super::program::{Kernel, Place};
use super::{Emitter, c_name};

pub(super) const INCLUDES: &str = "#include <algorithm>\n#include <vector>\n";

pub(super) const CLASSES: &str = "using byte = unsigned char;
template <class T> class window {
    T *first;

public:
    explicit window(T *first) : first(first) {}
    T &operator[](long i) const { return first[i]; }
};
template <class T> struct range {
    struct iterator {
        T at, step;
        T operator*() const { return at; }
        iterator &operator++() { at += step; return *this; }
        bool operator!=(const iterator &end) const { return at < end.at; }
    };
    iterator first, last;
    range(T low, T high, T step) : first{low, step}, last{high, step} {}
    iterator begin() const { return first; }
    iterator end() const { return last; }
};
struct seeds {
    long first = 0;
    seeds() { first = getenv(\"PATH\") ? 5 : 6; }
    static const seeds &get() {
        static const seeds only;
        return only;
    }
};
";

pub(super) const METHODS: &str = "    long low_bits() const { return b; }
    rec &set_a(long value) { a = (int)value; return *this; }
";

impl Emitter<'_> {
    /// `template <...>` on a line of its own, then the function.
    pub(super) fn template_head(&self, number: usize, kernel: &Kernel) -> String {
        let names = |kind: &str, count: usize| (0..count).map(|n| format!("{kind}{n}")).collect::<Vec<_>>();
        let mut types = names("D", kernel.targets.len());
        types.extend(names("S", kernel.sources.len()));
        let parameters: Vec<String> = types.iter().map(|t| format!("class {t}_")).collect();
        let arguments: Vec<String> = types.iter().map(|t| format!("{t}_ {}", t.to_lowercase())).collect();
        format!(
            "template <{}>\nlong k{number}({}, const unsigned *ix, const unsigned *oix, long me, long other)",
            parameters.join(", "),
            arguments.join(", ")
        )
    }

    /// A window as an argument of a template: an iterator, a class, a lambda's result or the pointer itself.
    pub(super) fn template_argument(&self, array: usize, item: &str, pointer: &str) -> String {
        let ty = c_name(self.program.arrays[array].ty);
        match self.program.arrays[array].place {
            Place::Rows => format!("a{array}[{item}].begin()"),
            Place::Heap if self.is_vector(array) => format!("a{array}.begin() + {item} * PITCH"),
            Place::Global if array.is_multiple_of(2) => format!("window<{ty}>({pointer})"),
            Place::Member(_) => format!("[&](long at) {{ return {pointer} + at; }}(0)"),
            _ => pointer.to_owned(),
        }
    }
}
