#!/usr/bin/env bash
# launch/job-functions, launch/pbs.sh and the launcher's command of launch/kubernetes-mpijob.yaml without their managers:
#   DPMPI=build/release/dpmpi tests/cluster/launchers_test.sh          takes about a minute
# What PBS and Kubernetes do to a script (variables, qsub, SIGTERM) is done here; how the real ones behave is not tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
DPMPI=$(realpath "${DPMPI:-build/release/dpmpi}")
. tests/cluster/functions.sh
DPMPI_RANKS=2
. launch/environment

scratch=$(mktemp -d /tmp/dpmpi-launchers-XXXXXX)
script=   # the process of the job script that is running
end() {
  local status=$?
  trap - EXIT
  set +e
  [ -z "$script" ] || { kill -TERM "$script" && wait "$script"; } 2>/dev/null
  [ "$status" -eq 0 ] || tail -n 30 "$scratch"/*.log >&2
  rm -rf "$scratch"
  exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

start() {  # log, command...
  log=$scratch/$1.log
  shift
  "$@" >>"$log" 2>&1 &
  script=$!
}
end_is() {  # exit code
  local status=0
  wait "$script" || status=$?
  script=
  [ "$status" -eq "$1" ] || { say "exit code $status"; return 1; }
}
checkpoint_is_newer() { [ "$run/checkpoint/latest" -nt "$scratch/mark" ]; }
wait_for_steps() {
  touch "$scratch/mark"
  wait_until 40 "the run trains (a new checkpoint)" checkpoint_is_newer
}
stops_are() { [ "$(grep -c '^stopped after step' "$log")" -eq "$1" ]; }

keep_program "$scratch"
make_training "$scratch" 1000
steps=$(steps_for 12 "$scratch" mpirun -n 2)
sed -i "s/^steps = .*/steps = $steps/" "$scratch/train.ini"
say "$steps steps, uninterrupted, on one rank"
mpirun -n 1 "$DPMPI" --quiet --config "$scratch/train.ini" --set run.dir="$scratch/alone"

say "== the scripts themselves"
if command -v shellcheck >/dev/null; then
  check "shellcheck finds nothing" shellcheck --external-sources --source-path=. launch/job-functions launch/pbs.sh launch/lsf.sh \
    launch/slurm.sbatch launch/environment launch/build launch/fetch-data launch/quickstart launch/setup launch/test \
    tests/cluster/*.sh
else
  say "no shellcheck here"
fi

say "== launch/job-functions"
. launch/job-functions
run=$scratch/unstarted
mkdir -p "$run/checkpoint"
touch "$run/ledger.jsonl" "$run/config.ini"
exec 9<"$run/ledger.jsonl"
flock 9
check "a folder that another process starts in is left alone" \
  test "$(train_or_resume "$run" x false >/dev/null 2>&1; echo $?)-$(ls "$run")" = "3-checkpoint
config.ini
ledger.jsonl"
exec 9<&-
printf '{}\n{}\n' >"$run/ledger.jsonl"
check "a folder whose ledger has spent budget is not started in again" \
  test "$(train_or_resume "$run" x false >/dev/null 2>&1; echo $?)$(ls -d "$run"*)" = "4$run"
printf '{}\n' >"$run/ledger.jsonl"
check "a folder of a run that never began is moved aside, and the run starts" \
  test "$(train_or_resume "$run" the.ini echo 2>/dev/null)" = "--config the.ini --set run.dir=$run"
check "it is kept" test -e "$run".unstarted-*/unstarted/ledger.jsonl
run=$scratch/ended
mkdir -p "$run/checkpoint"
touch "$run/certificate.json" "$run/model.safetensors" "$run/checkpoint/key"
check "a key that a kill left in a finished run is wiped by resume" \
  test "$(train_or_resume "$run" x sh -c 'echo "$1"; exit 2' sh; echo $?)" = "$run is finished
resume
0"
check "and a failure to wipe it is not hidden" \
  test "$(train_or_resume "$run" x sh -c 'exit 3' sh; echo $?)" = "$run is finished
3"
check "a stop that comes before the ranks catch signals is a stop" \
  test "$(bash -c '. launch/job-functions
    (sleep 1; kill -USR1 $$) &
    train_or_resume '"$scratch"'/none x bash -c "exec sleep 30"
    echo $?-$stopped_by' 2>/dev/null)" = 6-USR1

say "== launch/pbs.sh"
# qsub of the test writes down how it was called; the test then starts the next job as PBS would, under the next number.
mkdir "$scratch/bin"
cat >"$scratch/bin/qsub" <<END
#!/bin/sh
printf '%s\n' "\$@" >$scratch/qsub
END
chmod +x "$scratch/bin/qsub"
printf 'localhost\nlocalhost\n' >"$scratch/nodes"
run=$scratch/pbs
pbs_job() {  # number, variable=value...
  local number=$1
  shift
  rm -f "$scratch/qsub"
  start pbs env --chdir=/ PATH="$scratch/bin:$PATH" PBS_JOBID="$number.server" PBS_NODEFILE="$scratch/nodes" \
    PBS_O_WORKDIR="$PWD" "$@" bash "$PWD/launch/pbs.sh"
}
pbs_job 1 RUN="$run" CONFIG="$scratch/train.ini" SECONDS_TO_RUN=5
check "job 1 ends well before its walltime" end_is 0
check "with a checkpoint" stops_are 1
check "job 2 was submitted" grep -qx launch/pbs.sh "$scratch/qsub"
IFS=, read -ra handed_on < <(sed -n '/^-v$/{n;p}' "$scratch/qsub")
pbs_job 2 "${handed_on[@]}"
wait_for_steps
kill -TERM "$script"
check "qdel: job 2 ends with exit code 6" end_is 6
check "with a checkpoint" stops_are 2
check "and submits no other" test ! -e "$scratch/qsub"
pbs_job 3 "${handed_on[@]}" SECONDS_TO_RUN=1000
check "job 3 completes" end_is 0
check "same bytes as on one rank" same_bytes "$scratch/alone" "$run"
pbs_job 4 "${handed_on[@]}"
check "job 4 finds nothing to do" end_is 0

say "== launch/kubernetes-mpijob.yaml"
if python3 -c 'import yaml' 2>/dev/null; then
  check "it is YAML" python3 -c 'import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))' \
    launch/kubernetes-mpijob.yaml
else
  say "no YAML parser here"
fi
# The launcher's args: the lines below the first "- |", without the image's paths and with two slots for eight.
run=$scratch/train
sed -n '/^ *- |$/,/^ *volumeMounts:/p' launch/kubernetes-mpijob.yaml | sed '1d;$d;s/^ *//' |
  sed "s|/opt/dpmpi/launch|$PWD/launch|; s|/runs/|$scratch/|; s|/data/|$scratch/|; s|-n 8 \(.*\)dpmpi|-n 2 \1$DPMPI|" \
    >"$scratch/entry"
check "the command uses the job functions" grep -q "train_or_resume $run $scratch/train.ini mpirun -n 2 .*$DPMPI" \
  "$scratch/entry"
pod() { start kubernetes bash -c "$(cat "$scratch/entry")"; }
pod
wait_for_steps
kill -TERM "$script"
check "eviction: the launcher ends with exit code 6" end_is 6
check "with a checkpoint" stops_are 1
pod
wait_for_steps
kill -KILL "$(ranks_of "$run" | tail -n 1)"
check "kill -9 of a rank: the launcher ends with 137" end_is 137
pod
check "the next launcher completes" end_is 0
check "same bytes as on one rank" same_bytes "$scratch/alone" "$run"
pod
check "a launcher after that finds nothing to do" end_is 0
say "all passed"
