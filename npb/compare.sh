#!/bin/sh
# Times the benchmarks compiled by dsm-cc against the same sources under plain clang, in alternating runs, and prints medians.
#
#   npb/compare.sh [CLASS] [RUNS] [KERNEL...]       default: A 5 ep cg is mg ft bt sp lu ua
#
# Columns: seconds as the programs report them (NPB's "Time in seconds"). Ratio = native / ours: above 1 ours is faster.
#   1x1 against one OpenMP thread; 1x2 and 2x1 (processes x threads) against two.
# BIN_DIR, NATIVE, CFLAGS: see scripts/timing.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
class=${1:-A}
runs=${2:-5}
[ $# -lt 2 ] && set -- || shift 2
[ $# -gt 0 ] || set -- ep cg is mg ft bt sp lu ua
. "$here/../scripts/timing.sh"

run() { seconds 'Verification *= *SUCCESSFUL' 'Time in seconds' "$@"; }

printf '%-6s %9s %9s %6s   %9s %9s %6s %9s %6s\n' kernel native1 1x1 ratio native2 1x2 ratio 2x1 ratio
for kernel in "$@"; do
    make -s -C "$here" "$kernel" CLASS="$class" CC="$native" CFLAGS="$flags" BINDIR="$work/native" >/dev/null
    make -s -C "$here" "$kernel" CLASS="$class" CC="$bin/dsm-cc" CFLAGS="$flags" BINDIR="$work/dsm" >/dev/null
    rm -f "$work"/*.times
    for _ in $(seq "$runs"); do
        OMP_NUM_THREADS=1 run "$work/native/$kernel.$class" >>"$work/n1.times"
        run "$bin/dsm-run" -n 1 "$work/dsm/$kernel.$class" >>"$work/d11.times"
        OMP_NUM_THREADS=2 run "$work/native/$kernel.$class" >>"$work/n2.times"
        run "$bin/dsm-run" -n 1 -t 2 "$work/dsm/$kernel.$class" >>"$work/d12.times"
        run "$bin/dsm-run" -n 2 "$work/dsm/$kernel.$class" >>"$work/d21.times"
    done
    echo "$(median "$work/n1.times") $(median "$work/d11.times") $(median "$work/n2.times") $(median "$work/d12.times") $(median "$work/d21.times")" |
        awk -v k="$kernel.$class" '{ printf "%-6s %9.2f %9.2f %6.2f   %9.2f %9.2f %6.2f %9.2f %6.2f\n", k, $1, $2, $1 / $2, $3, $4, $3 / $4, $5, $3 / $5 }'
done
