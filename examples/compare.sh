#!/bin/sh
# Times jacobi.c as compiled by dsm-cc, on two processes, against plain clang with two OpenMP threads, in alternating runs; prints medians.
#
#   examples/compare.sh [RUNS] [N] [SWEEPS]        default: 5 2048 200
#
# Ratio = ours / native: the bar is 1.25. BIN_DIR, NATIVE, CFLAGS: see scripts/timing.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-5}
n=${2:-2048}
sweeps=${3:-200}
. "$here/../scripts/timing.sh"

run() { seconds '^verified$' seconds "$@" "$n" "$sweeps"; }

# shellcheck disable=SC2086
"$native" $flags "$here/jacobi.c" -o "$work/native" -lm
# shellcheck disable=SC2086
"$bin/dsm-cc" $flags "$here/jacobi.c" -o "$work/dsm" -lm
for _ in $(seq "$runs"); do
    OMP_NUM_THREADS=2 run "$work/native" >>"$work/native.times"
    run "$bin/dsm-run" -n 2 "$work/dsm" >>"$work/dsm.times"
done
echo "$(median "$work/native.times") $(median "$work/dsm.times")" |
    awk -v n="$n" -v s="$sweeps" '{ printf "jacobi %d x %d, %d sweeps: native, two threads %.3f s; two processes %.3f s; ratio %.2f\n", n, n, s, $1, $2, $2 / $1 }'
