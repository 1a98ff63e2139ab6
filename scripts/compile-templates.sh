#!/bin/sh
# Compiles the string and stream templates of libstdc++ with checks, once for all C++ programs.
#
#   scripts/compile-templates.sh BIN DIRECTORY
#
# BIN has the drivers and the pass. DIRECTORY gets libdsm_templates.a, and bits/dsm_templates.h, by which headers
# know which version of libstdc++ it was made of. They stay as they are if they are newer than what makes them.
set -eu
# With it the drivers would compile without checks.
unset DSM_DISABLE

script=$(realpath "$0")
. "$(dirname "$script")/llvm.sh"
bin=$(realpath "$1")
directory=$2
source=$(dirname "$script")/../runtime/c/libstdcxx_templates.cc
archive=$directory/libdsm_templates.a
header=$directory/bits/dsm_templates.h

changed=$(find "$source" "$script" "$bin/libdsm_pass.so" "$bin/dsm-include" -newer "$archive" 2>/dev/null) || changed=all
version=$(echo '#include <cstddef>' | "$bin/dsm-c++" -x c++ -E -dM - | sed -n 's/^#define __GLIBCXX__ //p')
[ -n "$version" ] || { echo "compile-templates: the C++ library's headers are not those of libstdc++" >&2; exit 1; }
if [ -z "$changed" ] && [ -e "$header" ] && grep -q " $version\$" "$header"; then exit; fi

mkdir -p "$directory/bits"
work=$(mktemp -d "$directory/compile.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# The standards for which libstdc++ has strings compiled. Libraries may have the object, so it is position independent.
for standard in 17 14; do
    "$bin/dsm-c++" -std=gnu++$standard -O2 -fPIC -D_DSM_INSTANTIATE -c "$source" -o "$work/$standard.o"
done
ld.bfd -r "$work/17.o" "$work/14.o" -o "$work/dsm_templates.o"
# libstdc++, which would call members of strings that others can see, stores to what they allocate without checks.
llvm llvm-nm --defined-only --format=just-symbols "$work/dsm_templates.o" | grep -E '^_ZNK?St7__cxx1112basic_string' >"$work/hidden"
llvm llvm-objcopy --set-symbols-visibility="$work/hidden=hidden" "$work/dsm_templates.o"
llvm llvm-ar rcs "$work/libdsm_templates.a" "$work/dsm_templates.o"
echo "#define _DSM_TEMPLATES_OF $version" >"$work/dsm_templates.h"
mv "$work/libdsm_templates.a" "$archive"
mv "$work/dsm_templates.h" "$header"
