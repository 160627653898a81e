#!/usr/bin/env bash
# A C++ project out of this tree, by CMake and by pkg-config: ctest -C package -L package. Installs the build in $BUILD into a
# scratch folder, where nothing of the source is.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=launch/environment
. "$source/../../launch/environment"

cmake --install "$BUILD" --prefix "$work/prefix" >"$work/install.log"
cp -r "$source/embedding" "$work/project"
cp "$source/../comm/embedding_ranks.cpp" "$work/project/ranks.cpp"
export PATH=$work/prefix/bin:$PATH
dpmpi generate --output "$work/t.csv" --records 2000 --eval-records 400 >/dev/null
printf '[data]\nblocks = 4\ntrain = %s\neval = %s\n[method]\nbatch = 100\nepochs = 5\nrate = 2\n[privacy]\nepsilon = 1\ndelta = 1e-5\n' \
  "$work/t.csv" "$work/t-eval.csv" >"$work/run.ini"

echo "--- CMake"
cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/build/embedding" "$work/run.ini" "$work/by-cmake"
dpmpi verify "$work/by-cmake" | tail -n 1

echo "--- ranks: the same bytes on any number of them, in the first and in the second training"
for n in 1 2 3; do
  mpirun -n $n "$work/build/ranks" "$work/run.ini" "$work/ranks-$n"
  for run in "$work/ranks-$n-first" "$work/ranks-$n-second"; do
    cmp "$work/ranks-1-first/ledger.jsonl" "$run/ledger.jsonl"
    cmp "$work/ranks-1-first/metrics.jsonl" "$run/metrics.jsonl"
  done
done
echo "--- several processes without MPI_Init are refused, and an error ends the job with its code"
code=0
mpirun -n 2 "$work/build/embedding" "$work/run.ini" "$work/refused" >"$work/refused.log" 2>&1 || code=$?
[ $code -ne 0 ] && grep -q 'has not called MPI_Init' "$work/refused.log" && [ ! -e "$work/refused" ] || { cat "$work/refused.log"; exit 1; }
code=0
timeout 60 mpirun -n 2 "$work/build/ranks" "$work/run.ini" "$work/ranks-2" >"$work/ended.log" 2>&1 || code=$?
[ $code -eq 2 ] && grep -q 'already holds a finished run' "$work/ended.log" || { echo "code $code"; cat "$work/ended.log"; exit 1; }

echo "--- pkg-config"
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig:$work/prefix/lib/x86_64-linux-gnu/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs dpmpi)"
"${CXX:-c++}" -std=c++20 "$work/project/embedding.cpp" "${flags[@]}" -o "$work/by-pkg-config"
"$work/by-pkg-config" "$work/run.ini" "$work/run-2"

echo "--- the header asks for no other library"
printf '#include <dpmpi/dpmpi.hpp>\nint main() {}\n' >"$work/alone.cpp"
"${CXX:-c++}" -std=c++20 -I "$work/prefix/include" -fsyntax-only "$work/alone.cpp"
echo "done"
