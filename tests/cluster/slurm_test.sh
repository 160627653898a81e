#!/usr/bin/env bash
# launch/slurm.sbatch under a real Slurm: two nodes on loopback in a scratch folder, which this test starts and ends.
#   DPMPI=build/release/dpmpi tests/cluster/slurm_test.sh          as root on Debian 12; takes about five minutes
# Installs slurmctld, slurmd, slurm-client and munge if they are missing; uses no configuration, port or folder of an
# installed Slurm. A job is stopped by its time limit, by signals, by kill -9 of a rank and by requeueing, and must end
# with the bytes of a run on one rank without Slurm. Exits with 77 (skipped) if it is not run by root.
set -euo pipefail
cd "$(dirname "$0")/../.."
DPMPI=$(realpath "${DPMPI:-build/release/dpmpi}")
. tests/cluster/functions.sh

if [ "$(id -u)" -ne 0 ]; then
  echo "skipped: a Slurm that runs jobs must be started by root"
  exit 77
fi
packages=()
for package in slurmctld slurmd slurm-client munge; do
  dpkg-query -W -f='${Status}' $package 2>/dev/null | grep -q ' installed$' || packages+=("$package")
done
if [ ${#packages[@]} -gt 0 ]; then
  say "installing ${packages[*]}"
  apt-get -q update >/dev/null || say "apt-get update failed; trying with the package lists at hand"
  DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${packages[@]}" >/dev/null
fi

# ---- a Slurm of our own ------------------------------------------------------------------------------------------------

scratch=$(mktemp -d /tmp/dpmpi-slurm-XXXXXX)
chmod 755 "$scratch"  # munged insists on a folder that everybody can pass and nobody else can write
export SLURM_CONF=$scratch/slurm.conf

# Ours are the processes that were started with this configuration's path in their environment.
our_processes() {
  local process
  for process in /proc/[0-9]*; do
    if grep -qsF "SLURM_CONF=$SLURM_CONF" "$process/environ"; then echo "${process#/proc/}"; fi
  done
}

end_slurm() {
  local status=$? log pid
  trap - EXIT
  set +e
  if [ "$status" -ne 0 ]; then
    squeue --long
    sinfo --Node --long
    for log in "$scratch"/log/* "$scratch"/*.log; do
      printf '\n---- the end of %s\n' "$log"
      tail -n 40 "$log"
    done
  fi >&2
  scancel --user=root --quiet
  for _ in $(seq 20); do
    [ -n "$(squeue --noheader)" ] || break
    sleep 0.5
  done
  for pid in "$scratch"/*.pid; do kill "$(cat "$pid")" 2>/dev/null; done
  for _ in $(seq 20); do
    [ -n "$(our_processes)" ] || break
    sleep 0.5
  done
  for pid in $(our_processes); do kill -KILL "$pid" 2>/dev/null; done
  rm -rf "$scratch"
  exit "$status"
}
trap end_slurm EXIT
trap 'exit 130' INT TERM

start_slurm() {
  local host port=$((20000 + $$ % 4000 * 3)) node
  host=$(hostname -s)
  mkdir "$scratch"/{log,munge,state,spool,spool/a,spool/b}
  head -c 128 /dev/urandom >"$scratch/munge.key"
  chmod 600 "$scratch/munge.key"
  # cred_expire: also how long a requeued job waits (5 is the least; 120 by default). linuxproc, affinity none: containers have no cgroups to give away.
  # config_overrides: a node may claim more cores than there are.
  cat >"$SLURM_CONF" <<END
ClusterName=dpmpi
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmctldLogFile=$scratch/log/slurmctld
SlurmUser=root
SlurmdUser=root
SlurmdPidFile=$scratch/slurmd-%n.pid
SlurmdLogFile=$scratch/log/slurmd-%n
SlurmdSpoolDir=$scratch/spool/%n
SlurmdParameters=config_overrides
StateSaveLocation=$scratch/state
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerParameters=sched_interval=2
JobRequeue=1
KillWait=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
NodeName=a NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=2
NodeName=b NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=2
PartitionName=all Nodes=a,b Default=YES State=UP
END
  munged --socket="$scratch/munge/socket" --key-file="$scratch/munge.key" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/log/munged" --seed-file="$scratch/munge.seed"
  slurmctld -f "$SLURM_CONF" >/dev/null
  for node in a b; do slurmd -N $node -f "$SLURM_CONF"; done
  wait_until 30 "both nodes are idle" test_idle
}
test_idle() { [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | xargs)" = "idle idle" ]; }

# ---- jobs --------------------------------------------------------------------------------------------------------------

field() { scontrol --oneliner show job "$job" | tr ' ' '\n' | sed -n "s/^$1=//p"; }  # of the job $job
field_is() { [ "$(field "$1")" = "$2" ]; }
lines_are() { [ "$(grep -c "$1" "$log")" -ge "$2" ]; }
# A job that resumes replays up to a checkpoint's distance before it writes the next one: then it has really gone on.
checkpoint_is_newer() { [ "$run/checkpoint/latest" -nt "$scratch/mark" ]; }
wait_for_steps() {
  touch "$scratch/mark"
  wait_until 40 "the job trains (a new checkpoint)" checkpoint_is_newer
}
submit() {  # run, option of sbatch...
  run=$scratch/$1 log=$scratch/$1.log
  shift
  : >"$log"
  job=$(CONFIG=$scratch/train.ini RUN=$run sbatch --parsable --output="$log" "$@" \
    launch/slurm.sbatch)
  say "submitted job $job: $*"
}

start_slurm
. launch/environment
# Both "nodes" are this machine: what they say to each other goes over loopback, and each would bind its rank to core 0.
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_hwloc_base_binding_policy=none

reference() {
  sed -i "s/^steps = .*/steps = $steps/" "$scratch/train.ini"
  say "$steps steps, uninterrupted, on one rank, without Slurm"
  rm -rf "$scratch/alone"
  mpirun -n 1 "$DPMPI" --quiet --config "$scratch/train.ini" --set run.dir="$scratch/alone"
}
keep_program "$scratch"
make_training "$scratch" 1000
steps=$(steps_for 60 "$scratch" mpirun -n 2 --mca btl tcp,self)
reference

say "== 1. the time limit"
# Slurm looks at limits every 30 seconds: the warning comes 10 to 40 seconds after the start. On a machine that has become
# much faster since its speed was tried, the job may be done before that.
stopped_or_completed() { lines_are '^stopped after step' 1 || field_is JobState COMPLETED; }
submit limit --ntasks-per-node=1 --time=1 --signal=B:USR1@20
wait_until 75 "it stopped before its limit, or completed" stopped_or_completed
if ! lines_are '^stopped after step' 1; then
  steps=$((steps * 3))
  reference
  submit limit-again --ntasks-per-node=1 --time=1 --signal=B:USR1@20
fi
wait_until 60 "it stopped with a checkpoint before its limit" lines_are '^stopped after step' 1
wait_until 30 "it queued itself again" field_is Restarts 1
wait_until 180 "it completed" field_is JobState COMPLETED
say "restarts: $(field Restarts); stops: $(grep '^stopped after step' "$log" | cut -d' ' -f4 | xargs)"
check "as many stops with a checkpoint as restarts" lines_are '^stopped after step' "$(field Restarts)"
check "same bytes as on one rank" same_bytes "$scratch/alone" "$run"

say "== 2. signals, a killed rank, scontrol requeue"
submit kills --ntasks-per-node=1 --time=10
wait_for_steps
scancel --signal=TERM --batch "$job"
wait_until 20 "SIGTERM to the script: it ended, and did not queue itself again" field_is JobState FAILED
check "exit code 6" field_is ExitCode 6:0
check "it stopped with a checkpoint" lines_are '^stopped after step' 1
scontrol requeue "$job"
wait_until 40 "scontrol requeue: it runs again" field_is JobState RUNNING
wait_for_steps
kill -KILL "$(ranks_of "$run" | tail -n 1)"
wait_until 20 "kill -9 of a rank: the job ended" field_is JobState FAILED
say "exit code $(field ExitCode)"
check "no rank is left" test -z "$(ranks_of "$run")"
scontrol requeue "$job"
wait_until 40 "it runs again" field_is JobState RUNNING
wait_for_steps
scontrol requeue "$job"
wait_until 30 "scontrol requeue of the running job: it waits" field_is JobState PENDING
wait_until 150 "it completed" field_is JobState COMPLETED
check "same bytes as on one rank" same_bytes "$scratch/alone" "$run"

say "== 3. srun in place of mpirun, and scancel"
# One node: the PMIx servers of two nodes on one machine would meet in one folder in /tmp.
LAUNCHER="srun --mpi=pmix" submit srun --time=10 --nodes=1 --ntasks-per-node=2
wait_for_steps
scancel --signal=USR1 --batch "$job"
wait_until 20 "SIGUSR1 to the script: it queued itself again" field_is Restarts 1
check "it stopped with a checkpoint" lines_are '^stopped after step' 1
wait_until 40 "it runs again" field_is JobState RUNNING
wait_for_steps
scancel "$job"
wait_until 20 "scancel: it is cancelled" field_is JobState CANCELLED
sleep 8
check "it stays cancelled" field_is JobState CANCELLED
check "no rank is left" test -z "$(ranks_of "$run")"
say "all passed"
