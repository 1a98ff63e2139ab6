//! Compiles the C half: what stable Rust cannot express (variadic entries, thread-local and weak symbols).

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=gdb");
    println!("cargo:rerun-if-changed=include/dsm_operations.h");
    cc::Build::new()
        .files([
            "c/arguments.c",
            "c/atomic.c",
            "c/check.c",
            "c/context.c",
            "c/cxx.c",
            "c/debugger.c",
            "c/demangle.c",
            "c/entries.c",
            "c/exception.c",
            "c/format.c",
            "c/fortran.c",
            "c/fortran_io.c",
            "c/wrap_free.c",
            "c/heap.c",
            "c/kmpc_atomic.c",
            "c/library.c",
            "c/main.c",
            "c/microtask.c",
            "c/network.c",
            "c/patterns.c",
            "c/process.c",
            "c/once.c",
            "c/operations.c",
            "c/own_allocator.c",
            "c/program.c",
            "c/rtti.c",
            "c/search.c",
            "c/shared_ptr.c",
            "c/sort.c",
            "c/thread.c",
            "c/tls.c",
            "c/wide.c",
        ])
        .include("c")
        // For `.incbin`.
        .flag("-Wa,-Igdb")
        .opt_level(2)
        .flag("-fno-strict-aliasing")
        // What `operator new` and comparisons throw passes through.
        .flag("-fexceptions")
        .flag_if_supported("-Wno-deprecated-non-prototype")
        .flag_if_supported("-Wno-strict-prototypes")
        .warnings(true)
        .compile("dsm_rt_c");
}
