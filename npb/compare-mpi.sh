#!/bin/sh
# Times the benchmarks on two processes of one thread each: the OpenMP version compiled by dsm-cc under dsm-run, and the MPI version
# (mpi/) compiled by plain clang under mpirun, in alternating runs. Prints medians.
#
#   npb/compare-mpi.sh [CLASS] [RUNS] [KERNEL...]       default: A 5 cg is mg ft
#
# Columns: seconds as the programs report them (NPB's "Time in seconds"). Ratio = MPI / dsm-cc: above 1 dsm-cc is faster.
# MPICC, MPIRUN: the MPI library's commands (mpicc, mpirun), MPIRUN with its options; as root Open MPI wants --allow-run-as-root.
# BIN_DIR, NATIVE, CFLAGS: see scripts/timing.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
class=${1:-A}
runs=${2:-5}
mpicc=${MPICC:-mpicc}
mpirun=${MPIRUN:-mpirun}
[ $# -lt 2 ] && set -- || shift 2
[ $# -gt 0 ] || set -- cg is mg ft
for command in "$mpicc" "${mpirun%% *}"; do
    command -v "$command" >/dev/null || {
        echo "compare-mpi.sh: no $command; install an MPI library for C (Debian: openmpi-bin, libopenmpi-dev) or set MPICC and MPIRUN" >&2
        exit 1
    }
done
. "$here/../scripts/timing.sh"

run() { seconds 'Verification *= *SUCCESSFUL' 'Time in seconds' "$@"; }

printf '%-6s %9s %9s %6s\n' kernel mpi 2x1 ratio
for kernel in "$@"; do
    make -s -C "$here" "mpi-$kernel" CLASS="$class" CC="$native" MPICC="$mpicc" CFLAGS="$flags" BINDIR="$work/mpi" >/dev/null
    make -s -C "$here" "$kernel" CLASS="$class" CC="$bin/dsm-cc" CFLAGS="$flags" BINDIR="$work/dsm" >/dev/null
    rm -f "$work"/*.times
    for _ in $(seq "$runs"); do
        # shellcheck disable=SC2086
        run $mpirun -n 2 "$work/mpi/mpi-$kernel.$class" >>"$work/mpi.times"
        run "$bin/dsm-run" -n 2 "$work/dsm/$kernel.$class" >>"$work/dsm.times"
    done
    echo "$(median "$work/mpi.times") $(median "$work/dsm.times")" |
        awk -v k="$kernel.$class" '{ printf "%-6s %9.2f %9.2f %6.2f\n", k, $1, $2, $1 / $2 }'
done
