//! Every program of `programs/` gives the output and exit status that it has under plain clang or flang.
//!
//! One test a program, in a covering sample of the matrix; `DSM_TEST_MATRIX=full` takes all of it.

use dsm_tests::{differential, matrix, program};

fn check(name: &str) {
    let number = program::all_names().iter().position(|n| n == name).expect("a listed program exists");
    let full = std::env::var("DSM_TEST_MATRIX").is_ok_and(|v| v == "full");
    let configs = if full { matrix::full() } else { matrix::sample(number) };
    let failures = differential::check(&program::Program::load(name), &configs);
    assert!(
        failures.is_empty(),
        "{} of {} configurations failed\n{}",
        failures.len(),
        configs.len(),
        failures.join("\n")
    );
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_program_is_listed_here() {
            let mut listed = vec![$(stringify!($name)),*];
            listed.sort();
            assert_eq!(listed, program::all_names());
        }
    };
}

programs! {
    abort_status
    affinity
    arguments
    atomic_float
    atomic_int
    atomic_kmpc
    atomic_library
    atomic_mixed
    atomic_sized
    bitfields
    byte_neighbours
    c11_atomics
    callers
    captured_locals
    collapse_nowait
    complex_numbers
    constructors
    contended
    contexts
    control_variables
    copies
    critical
    cxx_casts
    cxx_clauses
    cxx_containers
    cxx_coroutines
    cxx_end_regions
    cxx_exception_copies
    cxx_exception_ptr
    cxx_exceptions
    cxx_globals
    cxx_library_pointers
    cxx_memory
    cxx_mutex
    cxx_mutex_lifetimes
    cxx_objects
    cxx_process_state
    cxx_own_operators
    cxx_parallel_sort
    cxx_once
    cxx_overwrite
    cxx_resources
    cxx_streams
    cxx_thread_local
    cxx_threads
    cxx_versions
    descriptor_calls
    descriptors
    end_regions
    exit_call
    exit_status
    f_allocatable
    f_arguments
    f_clauses
    f_environment
    f_gather
    f_intrinsics
    f_io
    f_loops
    f_modules
    f_objects
    f_overwrite
    f_procedures
    f_several_files
    f_stop
    f_strings
    f_sync
    f_tasks
    f_threadprivate
    f_trampolines
    f_units
    f_walks
    f_workshare
    file_io
    flags
    float_environment
    flush_flag
    for_dynamic
    for_static
    fortified
    function_pointers
    gather
    globals
    hash_table
    heap_kinds
    heap_pipeline
    kmpc_calls
    large_frames
    leagues
    library_bounds
    library_lists
    library_memory
    library_patterns
    library_pointers
    library_results
    linked_list
    lock_evictions
    lock_lifetimes
    lock_tests
    locks
    loop_limits
    long_double
    many_captures
    many_regions
    master_masked
    matrix
    matrix_extension
    mem_functions
    memory_streams
    ordered
    ordered_conditional
    orphaned
    overwrite
    own_allocator
    own_break
    parallel_clauses
    part_teams
    plain_c
    polling
    printf_shared
    private_clauses
    private_data
    pthread_objects
    pthreads
    process_state
    queries
    queue_pool
    random_numbers
    recursion
    resolvers
    reduction_array
    reduction_float
    reduction_int
    reduction_wide
    remapped
    row_windows
    run_time_formats
    sections
    setjmp
    several_files
    shared_streams
    short_neighbours
    signal_flags
    signal_jumps
    simd
    single_copyprivate
    small_allocs
    sort_search
    sort_synchronises
    static_results
    spin_functions
    stencil
    strided
    stream_buffers
    string_functions
    struct_values
    task_cancel
    task_clauses
    task_depend
    task_kernels
    task_loops
    task_polling
    task_regions
    target_gathers
    tasks
    thread_locals
    threadprivate
    threadprivate_copies
    thread_ends
    thread_identity
    time_spent
    tree
    unaligned
    unions
    unlocked_streams
    varargs
    vla_alloca
    volatile
    wall_clock
    wide_characters
    writer_rotation
}
