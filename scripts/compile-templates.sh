#!/bin/sh
# Compiles the string and stream templates of libstdc++ with checks, once for all C++ programs.
#
#   scripts/compile-templates.sh BIN DIRECTORY
#
# BIN has the drivers and the pass. DIRECTORY gets dsm_templates.o, and bits/dsm_templates.h, by which headers know which version of libstdc++ it was made of. They stay as they are if they are newer than what they are made by.
set -eu

script=$(realpath "$0")
bin=$(realpath "$1")
directory=$2
source=$(dirname "$script")/../runtime/c/libstdcxx_templates.cc
object=$directory/dsm_templates.o
header=$directory/bits/dsm_templates.h

changed=$(find "$source" "$script" "$bin/libdsm_pass.so" "$bin/dsm-include" -newer "$object" 2>/dev/null) || changed=all
version=$(echo '#include <cstddef>' | "$bin/dsm-c++" -x c++ -E -dM - | sed -n 's/^#define __GLIBCXX__ //p')
[ -n "$version" ] || { echo "compile-templates: the C++ library's headers are not those of libstdc++" >&2; exit 1; }
if [ -z "$changed" ] && [ -e "$header" ] && grep -q " $version\$" "$header"; then exit; fi

mkdir -p "$directory/bits"
work=$(mktemp -d "$directory/compile.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# The standards for which libstdc++ has strings compiled. Parts of any program may have the object, so it is position independent.
for standard in 17 14; do
    "$bin/dsm-c++" -std=gnu++$standard -O2 -fPIC -D_DSM_INSTANTIATE -c "$source" -o "$work/$standard.o"
done
ld.bfd -r "$work/17.o" "$work/14.o" -o "$work/dsm_templates.o"
echo "#define _DSM_TEMPLATES_OF $version" >"$work/dsm_templates.h"
mv "$work/dsm_templates.o" "$object"
mv "$work/dsm_templates.h" "$header"
