#!/usr/bin/env bash
# Jobs under Slurm on this one machine: starts munged, slurmctld and slurmd with a configuration of
# its own in a temporary directory, runs jobs through srun --mpi=pmix, and stops all of it again.
# No systemd needed; root is.
#
#   tests/multi/slurm.sh [--install] BIN_DIRECTORY     BIN_DIRECTORY holds test-process and weftrun
#
# --install installs the Debian packages first. Exit status 77: skipped, and why.
set -euo pipefail

install=false
if [[ ${1-} == --install ]]; then install=true; shift; fi
(($# == 1)) || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
bin=$(realpath "$1")

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; tail -n 20 "$work"/*.log; exit 1; }

((EUID == 0)) || skip "only root can start Slurm's daemons"
if $install; then
  apt-get -q update >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
    slurmctld slurmd slurm-client munge </dev/null >/dev/null
fi
for program in munged slurmctld slurmd srun; do
  command -v "$program" >/dev/null || skip "$program is not installed (--install does it)"
done

work=$(mktemp -d /tmp/weft-slurm.XXXXXX)
daemons=()
stop() {
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  # Steps have daemons of their own, which end a while after the last word of their job.
  for ((i = 0; i < 300; ++i)); do
    jobs -r | grep -q . || grep -lqs "$work" /proc/[0-9]*/environ || break
    sleep 0.1
  done
  for daemon in "${daemons[@]}"; do kill -9 "$daemon" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
host=$(hostname -s)
cpus=$(nproc)
mkdir -p "$work"/{state,spool,munge}
chmod 755 "$work"

dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 2>/dev/null
chmod 700 "$work/munge"
chmod 600 "$work/munge/key"
munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge.socket" \
  --pid-file "$work/munge.pid" --log-file "$work/munge.log" --seed-file "$work/munge.seed" 2>/dev/null &
daemons+=($!)

cat >"$work/slurm.conf" <<CONF
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$((cpus > 4 ? cpus : 4)) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
CONF
export SLURM_CONF=$work/slurm.conf
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no PMIx"
for ((i = 0; i < 50; ++i)); do [[ -S $work/munge.socket ]] && break; sleep 0.1; done
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >/dev/null 2>&1 &
daemons+=($!)
for ((i = 0; i < 100; ++i)); do
  sinfo -h -o %T 2>/dev/null | grep -q idle && break
  sleep 0.2
done
sinfo -h -o %T 2>/dev/null | grep -q idle || fail "no node of this Slurm becomes idle"

run() { timeout 60 srun --overcommit "$@"; }

output=$(run --mpi=pmix -n 2 "$bin/test-process" identify) || fail "srun --mpi=pmix -n 2: $output"
for process in 0 1; do
  grep -q "^pmix $process of 2 job " <<<"$output" || fail "process $process did not join: $output"
done
[[ $(cut -d' ' -f6 <<<"$output" | sort -u | wc -l) == 1 ]] || fail "not one job: $output"

output=$(run --mpi=pmix -n 3 "$bin/test-process" exchange 5 2000) || fail "exchange: $output"
[[ $(grep -c "of 3 read 15 keys" <<<"$output") == 3 ]] || fail "exchange: $output"

for transport in shm ofi:tcp; do
  output=$(WEFT_TRANSPORT=$transport WEFT_RANKS=4 run --mpi=pmix -n 2 "$bin/test-survivors" 0 none) ||
    fail "ranks over $transport: $output"
  [[ $(grep -c " went on" <<<"$output") == 4 ]] || fail "ranks over $transport: $output"
done

# Without PMIx srun starts what weft cannot join: one line, and no two jobs of one.
if output=$(run --mpi=none -n 2 "$bin/test-process" identify 2>&1); then fail "ran as singletons: $output"; fi
grep -q "srun started 2 processes" <<<"$output" || fail "no word about srun: $output"

if output=$(run --mpi=pmix --kill-on-bad-exit=1 -n 2 "$bin/test-process" die 1 abort 2>&1); then
  fail "an abort ended with status 0: $output"
fi
grep -q "weft: process 1 has had enough" <<<"$output" || fail "abort: $output"

echo "passed: srun --mpi=pmix"
