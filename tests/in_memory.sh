#!/usr/bin/env bash
# Runs a test program with its files in memory, if there is room and programs may be started there: what is tested makes
# files durable all the time, and would mostly wait for the disk. Without room they stay in TEST_TMPDIR.
#   TEST_TMPDIR=FOLDER tests/in_memory.sh PROGRAM [ARGUMENT...]
# Files of a program that failed are kept, and it is said where.
set -u
needed=$((2 << 20)) # KiB for all programs at once, of which a tenth is used

room() {
  local free
  free=$(df --output=avail -k "$1" 2>/dev/null | tail -n 1)
  [[ $free -ge $needed && $(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo) -ge $((2 * needed)) ]]
}

startable() {
  printf '#!/bin/sh\nexit 0\n' >"$1/probe" && chmod +x "$1/probe" && "$1/probe" 2>/dev/null && rm "$1/probe"
}

folder=/dev/shm/dpmpi_$(id -u)_$(cksum <<<"$TEST_TMPDIR" | cut -d ' ' -f 1)
rm -rf "$folder"
if ! room /dev/shm || ! mkdir "$folder" 2>/dev/null || ! startable "$folder"; then
  rm -rf "$folder"
  exec "$@"
fi
TEST_TMPDIR=$folder TMPDIR=$folder "$@"
code=$?
if [[ $code == 0 ]]; then rm -rf "$folder"; else echo "files: $folder"; fi
exit "$code"
