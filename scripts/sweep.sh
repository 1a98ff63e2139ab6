#!/bin/sh
# Makes the figures and tables of the book's chapter on block sizes: each kernel of npb/ with all block sizes.
#
#   scripts/sweep.sh [RUNS] [KERNEL...]       default: 3 cg is mg ft bt sp lu ua
#
# CLASS: W for CG, IS, MG and FT, S for the others, unless set. BIN_DIR: where the commands are, target/release unless set.
# Runs are kept in WORK (target/sweep): interrupted, it goes on where it stopped. What is in WORK/KERNEL is not run again.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-3}
[ $# -lt 1 ] || shift
[ $# -gt 0 ] || set -- cg is mg ft bt sp lu ua
bin=$(cd "${BIN_DIR:-target/release}" && pwd)
work=${WORK:-target/sweep}
pages=book/src/research/blocks
mkdir -p "$work"
binaries=$(cd "$work" && pwd)/bin

for kernel in "$@"; do
    case $kernel in
        cg | is | mg | ft) class=${CLASS:-W} ;;
        *) class=${CLASS:-S} ;;
    esac
    echo "sweep: $kernel, class $class" >&2
    "$bin/dsm-sweep" --block 64..65536 --line 64 -n 2 --repeat "$runs" --by counts --out "$work/$kernel.$class" \
        --build "make -s -C npb $kernel CLASS=$class CC={cc} CFLAGS={flags} BINDIR='$binaries'" -- "$binaries/$kernel.$class" >/dev/null
    cp "$work/$kernel.$class/report.md" "$pages/$kernel.md"
    cp "$work/$kernel.$class/chart.svg" "$pages/$kernel.svg"
done
