#!/bin/sh
# Times jacobi.c as compiled by dsm-cc, on two processes, against plain clang with two OpenMP threads, in alternating runs; prints medians.
#
#   examples/compare.sh [RUNS] [N] [SWEEPS]        default: 5 2048 200
#
# Ratio = ours / native: the bar is 1.25. BIN_DIR: where dsm-cc and dsm-run are; NATIVE: the plain compiler; CFLAGS for both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-5}
n=${2:-2048}
sweeps=${3:-200}
bin=${BIN_DIR:-$here/../target/release}
native=${NATIVE:-clang-22}
flags=${CFLAGS:--O3 -march=native -fopenmp}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One run: its time, or the end of the comparison if it did not verify.
seconds() {
    "$@" "$n" "$sweeps" >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
    grep -qx verified "$work/out" || { cat "$work/out" >&2; exit 1; }
    awk '/^seconds/ { print $2 }' "$work/out"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# shellcheck disable=SC2086
"$native" $flags "$here/jacobi.c" -o "$work/native" -lm
# shellcheck disable=SC2086
"$bin/dsm-cc" $flags "$here/jacobi.c" -o "$work/dsm" -lm
for _ in $(seq "$runs"); do
    OMP_NUM_THREADS=2 seconds "$work/native" >>"$work/native.times"
    seconds "$bin/dsm-run" -n 2 "$work/dsm" >>"$work/dsm.times"
done
echo "$(median "$work/native.times") $(median "$work/dsm.times")" |
    awk -v n="$n" -v s="$sweeps" '{ printf "jacobi %d x %d, %d sweeps: native, two threads %.3f s; two processes %.3f s; ratio %.2f\n", n, n, s, $1, $2, $2 / $1 }'
