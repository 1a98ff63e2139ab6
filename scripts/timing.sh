# Read by the scripts that compare dsm-cc with plain clang: what both need. `here` is the directory of the script that reads it.
#
# BIN_DIR: where dsm-cc and dsm-run are; NATIVE: the plain compiler; CFLAGS for both.
# shellcheck shell=sh disable=SC2034,SC2154
bin=${BIN_DIR:-$here/../target/release}
native=${NATIVE:-clang-22}
flags=${CFLAGS:--O3 -march=native -fopenmp}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# seconds VERIFIED TIME COMMAND...: the last word of the line that begins with TIME in what the command prints. Ends the comparison
# unless a line matches VERIFIED.
seconds() {
    verified=$1 time=$2
    shift 2
    "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
    grep -q "$verified" "$work/out" || { cat "$work/out" >&2; exit 1; }
    awk -v time="$time" '$0 ~ "^ *" time { print $NF }' "$work/out"
}

# The middle one of the numbers in a file.
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
