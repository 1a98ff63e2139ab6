#!/bin/bash
# The kernels on two hosts of one process and one thread each, over TCP: OpenMP under dsm-run, in turns with the same kernels by MPI (mpi/). Seconds, as the kernels report
# them, the median of the runs; and the ratios to MPI and to one process of plain OpenMP. The hosts are network namespaces of this machine that a link joins, so it runs as root
# (Debian: iproute2, openmpi-bin, libopenmpi-dev).
#
#   npb/two-hosts.sh [-c CLASS] [-r RUNS] [-o OTHER] [KERNEL ...]
#
# -o names the directory of other builds of dsm-cc and dsm-run, which get a column of their own. Kernels: ep cg is mg ft, or those named.
set -eu
class=W runs=3 other= here=$(cd "$(dirname "$0")" && pwd)
while getopts c:r:o: option; do
    case $option in
    c) class=$OPTARG ;;
    r) runs=$OPTARG ;;
    o) other=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
kernels=${*:-ep cg is mg ft}
tools=$here/../target/release
work=$(mktemp -d)
name=npb$$
cleanup() {
    ip netns del $name-0 2>/dev/null || true
    ip netns del $name-1 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# Two hosts, 198.18.77.1 and 198.18.77.2, of the range for tests of networks.
for host in 0 1; do ip netns add $name-$host; done
ip link add veth0 netns $name-0 type veth peer name veth0 netns $name-1
for host in 0 1; do
    ip -n $name-$host link set lo up
    ip -n $name-$host address add 198.18.77.$((host + 1))/24 dev veth0
    ip -n $name-$host link set veth0 up
done
# Stands in for ssh: the host's address, then the command.
cat >"$work/shell" <<SHELL
#!/bin/sh
host=\$((\${1##*.} - 1))
shift
exec ip netns exec $name-\$host unshare -u sh -c "hostname node\$host; \$*"
SHELL
chmod +x "$work/shell"
on_first() { timeout -k 10 300 ip netns exec $name-0 unshare -u sh -c 'hostname node0; exec "$@"' sh "$@"; }

build() { # what it is, compiler: the kernels
    mkdir -p "$work/$1"
    for kernel in $kernels; do make -s -C "$here" "$kernel" CLASS="$class" CC="$2" BINDIR="$work/$1"; done
}
has_mpi() { [ -f "$here/mpi/$1.c" ] && command -v mpicc >/dev/null; }
build plain "${CLANG:-clang-22}"
build dsm "$tools/dsm-cc"
[ -z "$other" ] || build other "$other/dsm-cc"
mkdir -p "$work/mpi"
for kernel in $kernels; do
    ! has_mpi "$kernel" || make -s -C "$here" mpi-"$kernel" CLASS="$class" CC="${CLANG:-clang-22}" BINDIR="$work/mpi"
done

dsm() { # directory of dsm-run, program
    on_first "$1/dsm-run" --rsh "$work/shell" -H 198.18.77.1:1,198.18.77.2:1 -t 1 "$2"
}
mpi() {
    on_first mpirun --allow-run-as-root --bind-to none --mca btl tcp,self --mca pml ob1 --mca mpi_yield_when_idle 1 \
        --mca plm_rsh_agent "$work/shell" -H 198.18.77.1,198.18.77.2 -n 2 "$1"
}
run() { # file of times, command: one more time, if the kernel verifies; a run that takes 300 s is none
    times=$1
    shift
    "$@" >"$work/output" 2>&1 || true
    if grep -qi 'verification *= *successful' "$work/output"; then
        sed -n 's/^ *Time in seconds *= *//p' "$work/output" >>"$times"
    else
        tail -n 3 "$work/output" >&2
    fi
}
median() { sort -g "$1" 2>/dev/null | awk '{ t[NR] = $1 } END { if (NR) printf "%.2f", t[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a != "" && b > 0) printf "%.2f", a / b }'; }

echo "| kernel, class $class | plain OpenMP, 1 thread | MPI, 2 hosts |${other:+ other, 2 hosts |} DSM, 2 hosts | DSM over MPI | DSM over plain |"
echo "| --- | ---: | ---: |${other:+ ---: |} ---: | ---: | ---: |"
for kernel in $kernels; do
    for _ in $(seq "$runs"); do
        run "$work/$kernel.plain" env OMP_NUM_THREADS=1 "$work/plain/$kernel.$class"
        ! has_mpi "$kernel" || run "$work/$kernel.mpi" mpi "$work/mpi/mpi-$kernel.$class"
        [ -z "$other" ] || run "$work/$kernel.other" dsm "$other" "$work/other/$kernel.$class"
        run "$work/$kernel.dsm" dsm "$tools" "$work/dsm/$kernel.$class"
    done
    for what in plain mpi other dsm; do declare "t_$what=$(median "$work/$kernel.$what")"; done
    echo "| ${kernel^^} | $t_plain | $t_mpi |${other:+ $t_other |} $t_dsm | $(ratio "$t_dsm" "$t_mpi") | $(ratio "$t_dsm" "$t_plain") |"
done
