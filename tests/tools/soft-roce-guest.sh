#!/bin/sh
# The virtual machine's first process: see soft-roce.sh.
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t devpts pts /dev/pts
for directory in /dev/shm /tmp /run; do mount -t tmpfs tmp $directory; done
# The shell has another command of this name.
ip() { /bin/ip "$@"; }
now() { cut -d ' ' -f 1 /proc/uptime; }
say() { echo "soft-roce: $*" | sed "s/\$/ ($(now) s)/"; }
failures=0
bad() {
    say "FAILED: $*"
    failures=$((failures + 1))
}
value() { sed -n "s/.*$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
steps=$(value STEPS)
wants() { case ,$steps, in *,$1,*) ;; *) return 1 ;; esac }

while read -r module; do
    insmod "/modules/$module" || bad "insmod $module"
done </modules/order
ip link set lo up
ulimit -l unlimited
ulimit -n 65536
cd /tmp || exit

# Two hosts: each an interface with an address and a device, connected by a bridge. All are in one network namespace, since devices of rxe are, so rules for routes see to it
# that packets from one address to the other one go through the bridge.
# Only the interface that has an address says so: the bridge would answer for both.
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
ip link add bridge type bridge
ip link set bridge up
ip rule add priority 90 lookup local
for host in 1 2; do
    ip link add "eth$host" type veth peer name "port$host"
    ip link set "port$host" master bridge
    ip link set "port$host" mtu 5000 up
    ip link set "eth$host" mtu 5000
    ip address add "10.3.0.$host/24" dev "eth$host"
    ip link set "eth$host" up
    for setting in accept_local=1 rp_filter=0 arp_announce=2; do
        echo "${setting#*=}" >"/proc/sys/net/ipv4/conf/eth$host/${setting%=*}"
    done
    ip rule add priority "$host" to "10.3.0.$host" iif lo lookup 100
done
ip link set bridge mtu 5000
ip rule del priority 0
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
echo 100000 >/proc/sys/net/core/netdev_max_backlog
ip route add 10.3.0.2 dev eth1 src 10.3.0.1 table 100
ip route add 10.3.0.1 dev eth2 src 10.3.0.2 table 100
for host in 1 2; do
    rdma link add "rxe$host" type rxe netdev "eth$host" || bad "no device rxe$host"
done
# Addresses come to the devices a little later.
for try in 1 2 3 4 5 6 7 8 9 10; do
    grep -qs 0a03:0001 /sys/class/infiniband/rxe1/ports/1/gids/* &&
        grep -qs 0a03:0002 /sys/class/infiniband/rxe2/ports/1/gids/* && break
    sleep 1
done
[ "$try" -lt 10 ] || bad "the devices have no addresses"
say "booted: $(uname -r)"

# Packets that a device has sent.
sent() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }

dsm-run --transports >transports
sed -n '/^verbs/,$p' transports
grep -q 'active ports: rxe1:1 (Ethernet), rxe2:1 (Ethernet)' transports || bad "dsm-run --transports"

if wants suite; then
    # Each test when it has ended: what stands still is seen.
    (
        ROUNDS=$(value ROUNDS) suite "$(value TESTS)" --skip structures_are_those_of_the_header --test-threads=1 --nocapture 2>&1
        echo $? >suite.status
    ) | tee suite.log | while read -r line; do
        case $line in "test "*) say "$line" ;; esac
    done
    [ "$(cat suite.status)" = 0 ] || bad "the conformance suite"
    grep -v '^$' suite.log | tail -n 60
    ! grep -q skipped: suite.log || bad "tests were skipped"
fi

if wants litmus; then
    ROUNDS=$(value ROUNDS) suite verbs::litmus --test-threads=1 --nocapture >litmus.log 2>&1 || bad "the litmus tests"
    grep -E -A3 'rounds|panicked|test result' litmus.log
    say "litmus tests"
fi

# run NAME DEVICE COMMAND...: the program's own check succeeds, and the device has sent packets.
run() {
    name=$1 device=$2
    shift 2
    before=$(sent "$device")
    "$@" >run.log 2>&1 || bad "$name: status $?"
    grep -iE 'verif|time in|error' run.log
    grep -qi 'verification *= *successful' run.log || { bad "$name: not verified"; cat run.log; }
    say "$name: $(($(sent "$device") - before)) packets of $device"
    [ "$(sent "$device")" -gt $((before + 500)) ] || bad "$name: too few packets"
}

if wants programs; then
    for program in is.S cg.S; do
        DSM_TRANSPORT=verbs:rxe1 run "$program, two processes, one device" rxe1 dsm-run -n 2 -t 1 "/bin/$program"
    done
    DSM_BULK_READ=1 DSM_TRANSPORT=verbs:rxe1 run "is.S, with bulk reads" rxe1 dsm-run -n 2 -t 1 /bin/is.S
    DSM_TRANSPORT=verbs:rxe1 run "is.S, four processes, one device" rxe1 dsm-run -n 4 -t 1 /bin/is.S
    # What they print by themselves.
    for program in locks tasks shared_streams library_lists; do
        text="one two three four five six seven eight\nnine ten"
        echo -e "$text" | OMP_NUM_THREADS=4 "/bin/$program" >alone.out 2>&1 || bad "$program, one process: status $?"
        echo -e "$text" | DSM_TRANSPORT=verbs dsm-run -n 2 -t 2 "/bin/$program" >job.out 2>&1 || bad "$program: status $?"
        cmp alone.out job.out || { bad "$program prints something else"; cat job.out; }
        say "$program: $(wc -l <job.out) lines"
    done
fi

# Read misses by the adapter alone: programs, and what a miss takes with and without, by turns.
if wants one-sided; then
    for program in is.S cg.S; do
        DSM_ONE_SIDED_READ=1 DSM_TRANSPORT=verbs:rxe1 run "$program, one-sided" rxe1 dsm-run -s -n 2 -t 1 "/bin/$program"
        grep -E 'reads_(not_)?one_sided' run.log
        grep -Eq 'reads_one_sided.* [1-9]' run.log || bad "$program: no read was one-sided"
    done
    text="one two three four five six seven eight\nnine ten"
    for program in locks tasks; do
        echo -e "$text" | OMP_NUM_THREADS=4 "/bin/$program" >alone.out 2>&1 || bad "$program, one process: status $?"
        echo -e "$text" | DSM_ONE_SIDED_READ=1 DSM_TRANSPORT=verbs dsm-run -n 2 -t 2 "/bin/$program" >job.out 2>&1 || bad "$program: status $?"
        cmp alone.out job.out || { bad "$program prints something else"; cat job.out; }
        say "$program, one-sided"
    done
    for round in 1 2 3; do
        for switch in 0 1; do
            DSM_BLOCK=4096 DSM_ONE_SIDED_READ=$switch DSM_TRANSPORT=verbs:rxe1 dsm-run -s -n 2 -t 1 /bin/cold_misses >misses.log 2>&1 || bad "cold_misses"
            sed -n "s/^cold/one-sided $switch: cold/p" misses.log
            grep -E 'reads_(not_)?one_sided' misses.log
        done
    done
fi

printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >rsh
chmod 755 rsh
if wants hosts; then
    for program in is.S cg.S; do
        run "$program, two hosts, a device each" rxe2 dsm-run --rsh /tmp/rsh -H 10.3.0.1:1,10.3.0.2:1 -x DSM_TRANSPORT=shm,verbs -t 1 "/bin/$program"
    done
fi

# A job one of whose processes is killed ends soon, with one message, and leaves nothing.
kill_one() {
    name=$1
    shift
    "$@" /bin/victim run >kill.log 2>&1 &
    launcher=$!
    for try in $(busybox seq 150); do
        grep -q running kill.log && break
        sleep 1
    done
    grep -q running kill.log || bad "$name: it does not get to work"
    say "$name: at work after $try s"
    # The last one that was started.
    victim=$(pidof victim | sed 's/ .*//')
    kill -9 "$victim"
    begin=$(cut -d . -f 1 /proc/uptime)
    wait "$launcher"
    status=$?
    took=$(($(cut -d . -f 1 /proc/uptime) - begin))
    cat kill.log
    say "$name: ended with status $status after $took s"
    [ "$status" = 137 ] || bad "$name: status $status"
    [ "$(grep -v '^running$' kill.log | grep -c .)" = 1 ] || bad "$name: not one message"
    grep -q "(pid $victim.*killed by signal 9" kill.log || bad "$name: another message"
    ! pidof victim || bad "$name: processes are left"
    [ "$took" -le 10 ] || bad "$name: it took more than ten seconds"
}

if wants kill; then
    kill_one "a killed process" dsm-run -n 2 -t 1 -x DSM_TRANSPORT=verbs
    kill_one "a killed process of two hosts" dsm-run --rsh /tmp/rsh -H 10.3.0.1:1,10.3.0.2:1 -x DSM_TRANSPORT=shm,verbs -t 1
fi

if wants bench; then
    for options in "-s 64" "-s 64 -e" "-s 4096" "-s 4096 -e"; do
        # shellcheck disable=SC2086 # words
        ibv_rc_pingpong -d rxe1 -g 1 -n 2000 $options >/dev/null &
        sleep 1
        # shellcheck disable=SC2086
        ibv_rc_pingpong -d rxe1 -g 1 -n 2000 $options 127.0.0.1 | grep usec/iter | sed "s/^/ibv_rc_pingpong $options: /"
        wait
    done
    ROUNDS=1 round_trips verbs:rxe1 || bad "round_trips"
    # Bulk reads, and READs by themselves in between.
    for round in 1 2 3; do
        for bytes in 65536 1048576; do
            count=$((134217728 / bytes))
            [ "$count" -le 200 ] || count=200
            ib_read_bw -d rxe1 -x 1 -s "$bytes" -n "$count" >/dev/null 2>&1 &
            sleep 1
            ib_read_bw -d rxe1 -x 1 -s "$bytes" -n "$count" 127.0.0.1 2>&1 |
                awk -v bytes="$bytes" '$1 == bytes { printf "ib_read_bw, %d bytes: %.0f MB/s\n", bytes, $4 * 1.048576 }'
            wait
        done
        THREADS=1 ROUNDS=1 bulk verbs:rxe1 verbs:rxe1+read || bad "bulk"
    done
    THREADS=4 ROUNDS=1 bulk verbs:rxe1 verbs:rxe1+read || bad "bulk of four threads"
    for transport in auto shm,verbs auto shm,verbs; do
        dsm-run --rsh /tmp/rsh -H 10.3.0.1:1,10.3.0.2:1 -x "DSM_TRANSPORT=$transport" -t 1 /bin/is.S | grep 'Time in' | sed "s/^/is.S, two hosts, $transport:/"
    done
fi

# What the devices count: packets that were sent again, receivers that were not ready.
for device in rxe1 rxe2; do
    (cd "/sys/class/infiniband/$device/ports/1/hw_counters" && grep -v '^0$' ./* /dev/null | sed "s,^\./,$device ," | grep -v lifespan)
done

if [ "$failures" = 0 ]; then say "all passed"; else say "$failures failures"; fi
poweroff -f
