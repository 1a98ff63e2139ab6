//! The unit tests of this crate are linked without what the library has in C (`runtime/c`), of which they use nothing: its names stand for another function there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["dsm_rt_thread", "dsm_rt_program_image"] {
        println!("cargo::rustc-link-arg=-Wl,--defsym={name}=main");
    }
}
