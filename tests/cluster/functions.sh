# shellcheck shell=bash
# For the launchers' tests: checks that end the test, a scratch folder, and a training long enough to be interrupted.
# Before sourcing: DPMPI names the program; the working directory is the source folder.

seconds_at_start=$SECONDS
say() { printf '[%3d s] %s\n' $((SECONDS - seconds_at_start)) "$*"; }
fail() {
  say "FAILED: $*" >&2
  exit 1
}
check() {  # description, command...
  local what=$1
  shift
  "$@" || fail "$what"
  say "checked: $what"
}
wait_until() {  # seconds, description, command...
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "waited in vain until $what"
    sleep 0.5
  done
  say "seen: $what"
}

# A run must be resumed by the program that began it, and a build may replace the program while the test runs.
keep_program() {  # folder
  cp "$DPMPI" "$1/dpmpi"
  export DPMPI=$1/dpmpi
}

# Data and a config whose secret randomness comes from a seed, for two runs have the same bytes only then.
make_training() {  # folder, steps
  "$DPMPI" generate --output "$1/train.csv" --records 20000 --eval_records 2000 --features 40 >/dev/null
  cat >"$1/train.ini" <<END
[run]
checkpoint_every = 20
[data]
root = $1
train = train.csv
eval = train-eval.csv
[objective]
name = mlp
hidden = 256
head = logistic
[method]
name = dp-sgd
batch = 8192
steps = $2
rate = 1
[privacy]
noise_multiplier = 10
delta = 1e-5
adjacency = add_remove
seed = 7
END
}

# How many steps take about so many seconds here, under the given launcher: found by trying.
steps_for() {  # seconds, folder, launcher...
  local seconds=$1 folder=$2 done_steps
  shift 2
  done_steps=$("$@" "$DPMPI" --config "$folder/train.ini" --set run.dir="$folder/trial" --set method.steps=100000000 \
    --set run.max_hours=0.0014 2>&1 | sed -n 's/^stopped after step \([0-9]*\) of.*/\1/p')
  [ -n "$done_steps" ] || fail "the trial run did not stop after 5 seconds"
  echo $((done_steps * seconds / 5))
}

same_bytes() {  # run, run
  local file
  for file in model.safetensors ledger.jsonl metrics.jsonl certificate.json plan.json; do
    cmp "$1/$file" "$2/$file" || return 1
  done
}

ranks_of() {  # run: the processes that train it on this machine
  local process
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/exe")" = "$DPMPI" ] && grep -qsF "$1" "$process/cmdline"; then
      echo "${process#/proc/}"
    fi
  done
}
