#!/bin/sh
# Makes the archive that programs are linked with. The one that cargo builds has a member for each crate and a section for each function, which take a linker longer than all else in a small program.
#
#   scripts/link-runtime.sh ARCHIVE DIRECTORY
#
# In DIRECTORY, libdsm_rt.a has all crates of ARCHIVE as one object, without what no entry point leads to, and the other members as they are. libdsm_rt_debug.a is the same with debug information. libdsm_rt_exceptions.a
# has what stands in front of a shared libstdc++ for exceptions: a program that is linked with the static one has the originals. All stay as they are if they are newer than ARCHIVE.
set -eu

script=$(realpath "$0")
. "$(dirname "$script")/llvm.sh"
archive=$(realpath "$1")
directory=$2

is_current() {
    [ -n "$(find "$1" -newer "$archive" -newer "$script" 2>/dev/null)" ]
}

if is_current "$directory/libdsm_rt.a" && is_current "$directory/libdsm_rt_debug.a" && is_current "$directory/libdsm_rt_exceptions.a"; then exit; fi
mkdir -p "$directory"
directory=$(realpath "$directory")
work=$(mktemp -d "$directory/link.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/members"
cd "$work/members"

# Nobody needs the bitcode that objects of Rust's own library have beside their code. Linkers that have a plugin for it would read it.
llvm llvm-objcopy --remove-section=.llvmbc --remove-section=.llvmcmd "$archive" ../all.a
llvm llvm-ar t ../all.a >../names
twice=$(sort ../names | uniq -d)
[ -z "$twice" ] || { echo "link-runtime: $archive has several members of these names: $twice" >&2; exit 1; }
llvm llvm-ar x ../all.a
# A program has what it needs of the C half, and of the functions that compilers call.
crates=$(grep '\.rcgu\.o$' ../names | grep -v '^compiler_builtins-')
exceptions=$(grep -- '-exception\.o$' ../names)
others=$(grep -v -e '\.rcgu\.o$' -e '-exception\.o$' ../names; grep '^compiler_builtins-.*\.rcgu\.o$' ../names)

# Entry points have names of C, which Rust has not mangled.
# shellcheck disable=SC2086 # no name of a member has a space
roots=$(llvm llvm-nm --quiet --defined-only --extern-only --format=just-symbols $crates |
    grep -v -E '^_R|^_ZN.*17h[0-9a-f]{16}E|:$|^$' | sort -u | sed 's/^/--undefined=/')
[ -n "$roots" ] || { echo "link-runtime: the crates of $archive have no entry points" >&2; exit 1; }

# One section of a kind, as a linker takes longer over a section than over what is in it; but the functions of crates that many programs do not lead to keep theirs, and the program's link drops them.
apart='dsm_arrays-* dsm_fortran-* dsm_operations-* dsm_posix-*'
{
    echo 'SECTIONS {'
    for kind in .text.unlikely .text .rodata .gcc_except_table .data.rel.ro .data .bss .tdata .tbss; do
        echo "$kind : { EXCLUDE_FILE($apart) *($kind $kind.*) }"
    done
    echo '.eh_frame : { KEEP(*(.eh_frame)) } }'
} >../sections.ld
# shellcheck disable=SC2086
ld.bfd -r --gc-sections -T ../sections.ld $roots -o dsm_rt.o $crates
# shellcheck disable=SC2086
llvm llvm-ar rcs ../libdsm_rt_debug.a dsm_rt.o $others
# shellcheck disable=SC2086
llvm llvm-ar rcs ../libdsm_rt_exceptions.a $exceptions
# A function of the program with the name of a library function that the runtime replaces takes the place of the runtime's.
for made in ../libdsm_rt_debug.a ../libdsm_rt_exceptions.a; do
    llvm llvm-objcopy --wildcard --weaken-symbol='__dsm_*' "$made"
done
llvm llvm-objcopy --strip-debug ../libdsm_rt_exceptions.a
# The debugger's script is for all programs.
llvm llvm-objcopy --strip-debug --keep-section=.debug_gdb_scripts ../libdsm_rt_debug.a ../libdsm_rt.a
mv ../libdsm_rt_debug.a ../libdsm_rt_exceptions.a ../libdsm_rt.a "$directory"
