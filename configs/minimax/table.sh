#!/usr/bin/env bash
# Runs the AUC table of docs/methods/minimax.md, from the top of a checkout:
#   configs/minimax/table.sh FILE [CONFIG]...      CONFIG: mnist, fashion-mnist-imbalanced, ... (default: all four)
# Appends a line "config method epsilon seed auc" to FILE for every cell; cells that FILE has already are left out, so
# it goes on where it was stopped. Needs the data: launch/fetch-data mnist fashion-mnist, or DPMPI_DATA set.
#   DPMPI    the program (default: build/release/dpmpi)
#   SEEDS    of the start point (default: 1); noise is fresh in every run
#   METHODS  default: dp-sgda private-diff sgda
set -euo pipefail

[[ $# -ge 1 ]] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,8p; exit 2; }
file=$1
shift
configs=("$@")
[[ $# -ge 1 ]] || configs=(mnist fashion-mnist mnist-imbalanced fashion-mnist-imbalanced)
program=${DPMPI:-build/release/dpmpi}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$file"

# What differs from the config, which is for dp-sgda: config method epsilon
settings() {
  case $2 in
    dp-sgda)
      case $1-$3 in
        *-imbalanced-0.5) echo --set method.rate=0.1 ;;
        *-imbalanced-5 | *-imbalanced-10) echo --set method.rate=0.4 ;;
      esac
      ;;
    private-diff) echo --set method.restart=4 --set method.rate=0.1 --set method.batch=4096 ;;
    sgda) [[ $1 != *-imbalanced ]] || echo --set method.rate=0.4 ;;
  esac
}

# config method epsilon (0: without noise) seed
cell() {
  ! grep -q "^$1 $2 $3 $4 " "$file" || return 0
  local run=$folder/$1-$2-$3-$4 private=()
  [[ $3 == 0 ]] || private=(--set "privacy.epsilon=$3")
  # shellcheck disable=SC2046,SC2086
  $program --quiet --config "configs/minimax/$1.ini" --set "method.name=$2" $(settings "$1" "$2" "$3") \
    "${private[@]}" --set "method.seed=$4" --set "run.dir=$run"
  echo "$1 $2 $3 $4 $(tail -n 1 "$run/metrics.jsonl" | sed 's/.*"eval.auc":\([0-9.]*\).*/\1/')" | tee -a "$file"
}

for seed in ${SEEDS:-1}; do
  for method in ${METHODS:-dp-sgda private-diff sgda}; do
    for config in "${configs[@]}"; do
      for epsilon in $([[ $method == sgda ]] && echo 0 || echo 0.5 1 5 10); do
        cell "$config" "$method" "$epsilon" "$seed"
      done
    done
  done
done
