#!/usr/bin/env bash
# Runs the AUC table of docs/results/minimax.md, from the top of a checkout:
#   configs/minimax/table.sh FILE [CONFIG]...      CONFIG: mnist, fashion-mnist-imbalanced, ... (default: all four)
# Appends a line "config method epsilon seed auc" to FILE for every cell; cells that FILE has already are left out, so
# it goes on where it was stopped. Needs the data: launch/fetch-data mnist fashion-mnist, or DPMPI_DATA set.
#   DPMPI    the program (default: build/release/dpmpi)
#   SEEDS    of the start point (default: 1); noise is fresh in every run
#   METHODS  default: dp-sgda private-diff sgda (dp-sgda without noise); also diff (private-diff without noise)
#   CURVES   a file that gets a line "config method epsilon seed epoch auc" for every evaluation on the way (default: none)
#   METRIC   what FILE and these lines have: auc (default), or gradient_norm, with "--set report.gradient_norm=true" among the OPTIONS
#   OPTIONS  more options of every run (default: none), such as "--set method.rate=0.2"
set -euo pipefail

[[ $# -ge 1 ]] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,11p; exit 2; }
file=$1
shift
configs=("$@")
[[ $# -ge 1 ]] || configs=(mnist fashion-mnist mnist-imbalanced fashion-mnist-imbalanced)
program=${DPMPI:-build/release/dpmpi}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$file"

# What differs from the config, which is for dp-sgda at epsilon 1: config method epsilon
settings() {
  case $2 in
    dp-sgda)
      case $1-$3 in
        mnist-imbalanced-0.5) echo --set method.rate=0.1 ;;
        mnist-imbalanced-5 | mnist-imbalanced-10) echo --set method.rate=0.4 ;;
        fashion-mnist-imbalanced-0.5) echo --set method.rate=0.05 ;;
        fashion-mnist-imbalanced-5 | fashion-mnist-imbalanced-10) echo --set method.rate=0.2 ;;
      esac
      ;;
    private-diff | diff)
      echo --set objective.hidden=64 --set method.restart=2 --set method.batch=4096 --set method.epochs=20 --set method.average=0.97
      case $1 in
        *-imbalanced) echo --set method.clip=8 --set method.rate="$(falling 0.025 0.05 0.1 "$3")" ;;
        mnist) echo --set method.clip=4 --set method.rate="$(falling 0.05 0.1 0.2 "$3")" ;;
        *) echo --set method.clip=4 --set method.rate="$(falling 0.05 0.1 0.1 "$3")" --set data.mean=0.3 ;;
      esac
      ;;
    sgda)
      case $1 in
        mnist-imbalanced) echo --set method.rate=0.4 ;;
        fashion-mnist-imbalanced) echo --set method.rate=0.2 ;;
      esac
      ;;
  esac
}

# The rate at epsilon 0.5, at 1, above; epsilon
falling() {
  case $4 in
    0.5) echo "$1" ;;
    1) echo "$2" ;;
    *) echo "$3" ;;
  esac
}

# METRIC at every evaluation of a run, as lines "epoch value"; run
curve() {
  awk -v metric="eval.${METRIC:-auc}" -v epochs="$(sed -n 's/^ *"epochs": \([0-9.]*\).*/\1/p' "$1/plan.json")" -F '[:,]' '
    { step[NR] = $2; for (i = 3; i < NF; ++i) if (index($i, "\"" metric "\"")) value[NR] = $(i + 1) + 0 }
    END { for (i = 1; i <= NR; ++i) printf "%.2f %.4f\n", epochs * step[i] / step[NR], value[i] }' "$1/metrics.jsonl"
}

# config method epsilon (0: without noise) seed
cell() {
  ! grep -q "^$1 $2 $3 $4 " "$file" || return 0
  local run=$folder/$1-$2-$3-$4 method=$2 private
  case $2 in
    sgda) method=dp-sgda ;;
    diff) method="private-diff" ;;
  esac
  private=(--set "privacy.epsilon=$3")
  [[ $3 == 0 ]] && private=(--set privacy.noise=none)
  # shellcheck disable=SC2046,SC2086
  $program --quiet --config "configs/minimax/$1.ini" --set "method.name=$method" $(settings "$1" "$2" "$3") \
    "${private[@]}" --set "method.seed=$4" --set "run.dir=$run" ${OPTIONS:-}
  [[ -z ${CURVES:-} ]] || curve "$run" | sed "s/^/$1 $2 $3 $4 /" >>"$CURVES"
  echo "$1 $2 $3 $4 $(curve "$run" | tail -n 1 | cut -d ' ' -f 2)" | tee -a "$file"
}

for seed in ${SEEDS:-1}; do
  for method in ${METHODS:-dp-sgda private-diff sgda}; do
    for config in "${configs[@]}"; do
      for epsilon in $([[ $method == sgda || $method == diff ]] && echo 0 || echo 0.5 1 5 10); do
        cell "$config" "$method" "$epsilon" "$seed"
      done
    done
  done
done
