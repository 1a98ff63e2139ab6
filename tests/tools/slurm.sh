#!/bin/sh
# Brings Slurm up on this machine, runs a command under it, and takes it down. Debian: slurm-wlm munge. As root.
#   slurm.sh srun -n 4 --overcommit --mpi=pmix ./program
# With DSM_SLURM_LOG=FILE the daemons' messages are kept there.
set -eu
directory=$(mktemp -d)
log=${DSM_SLURM_LOG:-/dev/null}
daemons=
finish() {
    for daemon in $daemons; do
        kill "$daemon" 2>/dev/null && wait "$daemon" || true
    done
    rm -rf "$directory"
}
trap finish EXIT
host=$(hostname -s)
mkdir "$directory/state" "$directory/spool" "$directory/munge"
head -c 1024 /dev/urandom >"$directory/munge/key"
chmod -R go= "$directory"
# Ports that nobody listens at, as far as a number tells.
port=$((20000 + $$ % 20000))
cat >"$directory/slurm.conf" <<CONF
ClusterName=scratch
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$directory/munge/socket
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$directory/slurm.conf"
munged --force --foreground --socket="$directory/munge/socket" --key-file="$directory/munge/key" \
    --pid-file="$directory/munge/pid" --log-file="$directory/munge/log" --seed-file="$directory/munge/seed" >>"$log" 2>&1 &
daemons=$!
until [ -S "$directory/munge/socket" ]; do
    kill -0 "$daemons" 2>/dev/null || { echo "slurm.sh: munged does not start" >&2; exit 1; }
    sleep 0.1
done
slurmctld -D >>"$log" 2>&1 &
daemons="$! $daemons"
slurmd -D -N "$host" >>"$log" 2>&1 &
daemons="$! $daemons"
tries=0
until sinfo -h -o %T 2>/dev/null | grep -q idle; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "slurm.sh: the node does not become idle; DSM_SLURM_LOG=FILE keeps what the daemons say" >&2; exit 1; }
    sleep 0.2
done
"$@"
