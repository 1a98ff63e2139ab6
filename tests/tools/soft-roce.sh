#!/bin/sh
# Tests the transport `verbs` where there is no RDMA adapter: boots Debian's kernel in a virtual machine with Soft-RoCE (rdma_rxe), and runs
# soft-roce-guest.sh in it: the transports' conformance suite, CG and IS of class S, some of the differential tests' programs, and a job whose process is killed. The processor is emulated; all steps take three
# minutes on a quiet machine. Run it by hand, after `make build`:
#
#   tests/tools/soft-roce.sh                  status 0 if all went well
#   STEPS="suite kill" tests/tools/soft-roce.sh     some of: suite programs one-sided hosts kill, and litmus, bench
#   STEPS=suite TESTS=reads:: tests/tools/soft-roce.sh    the tests of the suite whose names have this in them
#   STEPS=litmus ROUNDS=10000000 LIMIT=100000 tests/tools/soft-roce.sh     the litmus tests between adapter and processor, which suite has, too, for longer
#
# `bench` compares round trips with those of ibv_rc_pingpong (Debian: ibverbs-utils), whose `-e` waits as the transport does when it sleeps, bulk reads with ib_read_bw (perftest), and IS with IS over TCP.
#
# Debian: qemu-system-x86 busybox-static cpio kmod iproute2 rdma-core ibverbs-providers; the kernel's package is only downloaded and unpacked. No root is
# needed. Variables: SMP (2) and MEMORY (2048) of the machine, LIMIT in seconds (1500), ROUNDS of the litmus tests (3000), TARGET (cargo's directory), WORK (what is kept between runs).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${TARGET:-${CARGO_TARGET_DIR:-$root/target}}
work=${WORK:-$target/soft-roce}
bin=$target/release
PATH=$PATH:/usr/sbin:/sbin:$HOME/.cargo/bin

fail() { echo "soft-roce: $*" >&2; exit 2; }
for tool in qemu-system-x86_64 busybox cpio modprobe depmod ip rdma dpkg-deb xz; do
    command -v "$tool" >/dev/null || fail "$tool is missing; apt-get install qemu-system-x86 busybox-static cpio kmod iproute2 xz-utils"
done
rxe=$(ls /usr/lib/*/libibverbs/librxe-rdmav*.so 2>/dev/null | head -n 1)
[ -n "$rxe" ] || fail "the library for Soft-RoCE is missing; apt-get install rdma-core ibverbs-providers"
[ -x "$bin/dsm-cc" ] && [ -x "$bin/dsm-run" ] || fail "run make build first"
mkdir -p "$work/kernel" "$work/programs"
steps=${STEPS:-suite programs one-sided hosts kill}

# The newest kernel of the Debian release; those for clouds have no rdma_rxe.
if ! [ -e "$work/kernel/boot" ]; then
    package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    [ -n "$package" ] || fail "no package linux-image-amd64; run apt-get update"
    (cd "$work" && apt-get download -q "$package" && dpkg-deb -x "$package"_*.deb kernel && rm -f "$package"_*.deb)
fi
kernel=$(basename "$work"/kernel/lib/modules/*)
[ -e "$work/kernel/lib/modules/$kernel/modules.dep" ] || depmod -b "$work/kernel" "$kernel"

# The programs. The emulated processor is not this machine's.
executable() {
    made=$(cd "$root" && cargo "$@" -p dsm-comm --profile tests --no-run 2>&1 | sed -n 's/.*Executable .*(\(.*\))/\1/p')
    [ -n "$made" ] || fail "cargo $* -p dsm-comm does not succeed"
    case $made in /*) echo "$made" ;; *) echo "$root/$made" ;; esac
}
cp "$(executable test --lib)" "$work/programs/suite"
case $steps in *bench*)
    for bench in round_trips bulk; do
        cp "$(executable bench --bench $bench)" "$work/programs/$bench"
    done
    for tool in ibv_rc_pingpong ib_read_bw; do
        cp "$(command -v $tool)" "$work/programs/" || fail "$tool is missing; apt-get install ibverbs-utils perftest"
    done
    ;;
esac
for program in cg is; do
    make -s -C "$root/npb" "$program" CLASS=S CC="$bin/dsm-cc" CFLAGS="-O2 -fopenmp" BINDIR="$work/programs"
done
for source in kill/victim programs/locks programs/tasks programs/shared_streams programs/library_lists tools/cold_misses; do
    "$bin/dsm-cc" -O2 -fopenmp "$root/tests/$source.c" -o "$work/programs/${source#*/}"
done

# The root directory, with the libraries where they are here.
image=$work/root
rm -rf "$image"
for directory in bin dev proc sys tmp run root modules etc/libibverbs.d; do
    mkdir -p "$image/$directory"
done
cp "$(command -v busybox)" "$image/bin/"
for tool in sh awk mount cat ls insmod mkdir grep sed sleep poweroff cut head tail ps kill pidof wc tee timeout hostname cmp; do
    ln -s busybox "$image/bin/$tool"
done
cp /etc/libibverbs.d/rxe.driver "$image/etc/libibverbs.d/"
put() {
    mkdir -p "$image$(dirname "$1")"
    [ -e "$image$1" ] || cp -L "$1" "$image$1"
}
cp -L "$(command -v ip)" "$(command -v rdma)" "$bin/dsm-run" "$work"/programs/* "$image/bin/"
put "$rxe"
for file in "$image"/bin/ip "$image"/bin/rdma "$image"/bin/dsm-run "$work"/programs/* "$rxe"; do
    ldd "$file" | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
    put "$library"
done
# What threads that end need.
put "$(ldconfig -p 2>/dev/null | sed -n 's/.*libgcc_s\.so\.1 .*x86-64.* => //p' | head -n 1)"
for module in rdma_rxe veth bridge crc32_generic; do
    modprobe -D -d "$work/kernel" -S "$kernel" "$module" 2>/dev/null || true
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
    name=$(basename "$path" .xz)
    case $path in
    *.xz) xz -dc "$path" >"$image/modules/$name" ;;
    *) cp "$path" "$image/modules/$name" ;;
    esac
    echo "$name" >>"$image/modules/order"
done
cp "$here/soft-roce-guest.sh" "$image/init"
chmod +x "$image/init"
(cd "$image" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"

log=$work/log
echo "soft-roce: booting $kernel; what it says is in $log" >&2
timeout "${LIMIT:-1500}" qemu-system-x86_64 -nodefaults -no-user-config -M q35,accel=tcg -cpu max -smp "${SMP:-2}" -m "${MEMORY:-2048}" -nographic \
    -serial stdio -no-reboot -kernel "$work/kernel/boot/vmlinuz-$kernel" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off TESTS=${TESTS:-verbs} STEPS=$(echo "$steps" | tr ' ' ,) ROUNDS=${ROUNDS:-3000}" |
    tee "$log" || true
grep -q '^soft-roce: all passed' "$log" || { echo "soft-roce: failed, or not done within ${LIMIT:-1500} s" >&2; exit 1; }
