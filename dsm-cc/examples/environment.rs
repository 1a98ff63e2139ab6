//! Prints the book's page of environment variables.

fn main() {
    print!("{}", dsm_cc::launch::environment::page());
}
