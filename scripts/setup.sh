#!/bin/sh
# Installs what the build, the demo and the tests need on Debian 12 (bookworm), as far as it is missing.
#
#   scripts/setup.sh            install what is missing, as root or through sudo
#   scripts/setup.sh --check    only say what is missing; status 1 if something is
#
# Elsewhere it says what is missing, and the rest is up to the reader.
set -eu

llvm=22
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
case ":$PATH:" in
*":$HOME/.cargo/bin:"*) ;;
*) PATH="$PATH:$HOME/.cargo/bin" ;; # where rustup installs
esac

say() { echo "setup: $*" >&2; }
fail() { say "$@"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
have_llvm() { have "$1-$llvm" || [ -x "/usr/lib/llvm-$llvm/bin/$1" ]; }

# The Debian packages that are missing, found by what they are for.
missing_packages() {
    have make || echo make
    # cargo fetches the dependencies through TLS.
    [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
    have c++ || echo g++
    have ld.bfd || echo binutils
    have_llvm clang || echo "clang-$llvm"
    have_llvm flang || echo "flang-$llvm"
    have_llvm ld.lld || echo "lld-$llvm"
    have_llvm llvm-objcopy || echo "llvm-$llvm"
    have_llvm FileCheck || echo "llvm-$llvm-tools"
    { have_llvm llvm-config && [ -e "$(llvm_directory --includedir)/llvm-c/Core.h" ]; } || echo "llvm-$llvm-dev"
    # Build systems that the tests put the drivers into.
    for tool in cmake ccache autoconf automake; do
        have "$tool" || echo "$tool"
    done
    have libtoolize || echo libtool
    # The tests have it start processes.
    have mpirun || echo openmpi-bin
    # The tests have it look at programs.
    have gdb || echo gdb
    [ -e "/usr/lib/llvm-$llvm/lib/libomp.so" ] || echo "libomp-$llvm-dev"
    # A transport of the runtime, which programs run without, too.
    ldconfig -p 2>/dev/null | grep -q 'libfabric\.so\.1 ' || [ -e "/usr/lib/$(uname -m)-linux-gnu/libfabric.so.1" ] || echo libfabric1
    # Debian's own `cargo` is too old; these are its current versions, meant for building browsers.
    have cargo || echo cargo-web rustc-web
    if ! have cargo || have_package rustc-web; then
        have rustfmt || echo rustfmt-web
        have cargo-clippy || echo rust-web-clippy
    fi
}

llvm_directory() {
    if have "llvm-config-$llvm"; then
        "llvm-config-$llvm" "$1"
    else
        "/usr/lib/llvm-$llvm/bin/llvm-config" "$1"
    fi
}

have_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Whether version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

check_rust() {
    have cargo || fail "cargo is missing: install Rust $rust_needed or newer from https://rustup.rs"
    version=$(cargo --version | cut -d ' ' -f 2)
    at_least "$version" "$rust_needed" ||
        fail "cargo $version is too old: $rust_needed or newer is needed: 'rustup update', or in its place Debian's cargo-web rustc-web rustfmt-web rust-web-clippy"
    for tool in fmt clippy; do
        cargo "$tool" --version >/dev/null 2>&1 ||
            say "note: 'cargo $tool', which the tests need, is missing; 'rustup component add rustfmt clippy' installs it"
    done
}

install_packages() {
    have apt-get || fail "this is no Debian system; install the equivalents of: $*"
    if [ "$(id -u)" = 0 ]; then
        as_root=env
    elif have sudo; then
        as_root="sudo env"
    else
        fail "missing: $*; run 'apt-get install $*' as root, or install sudo"
    fi
    say "installing $*"
    $as_root apt-get update -q || say "note: 'apt-get update' failed; trying with the package lists that are there"
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 ||
            fail "no package source offers $package; Debian 12 has it in bookworm-security, and https://apt.llvm.org has LLVM $llvm"
    done
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

missing=$(missing_packages | tr '\n' ' ')
if [ "${1:-}" = --check ]; then
    [ -z "$missing" ] || fail "missing: $missing"
elif [ -n "$missing" ]; then
    # shellcheck disable=SC2086 # a list of words
    install_packages $missing
    missing=$(missing_packages | tr '\n' ' ')
    [ -z "$missing" ] || fail "still missing after the installation: $missing"
fi
check_rust
say "everything is there"
