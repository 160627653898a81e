#!/usr/bin/env bash
# The .deb on a bare Debian 12: ctest -C package -L package in a portable build. Packs the build in $BUILD, installs the
# package in a chroot, and runs the quickstart there and, with Debian's numpy, the Python package. Skips (77) without root,
# debootstrap or a mirror, and in a build that is tuned for this machine.
#   DPMPI_CHROOT: a bare Debian 12 that is there already (it gets the package); else one is made and removed.
#   DPMPI_MIRROR: where it comes from.
set -euo pipefail
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || skip "a chroot needs root"
grep -q '^DPMPI_NATIVE:BOOL=OFF' "$BUILD/CMakeCache.txt" || skip "$BUILD is tuned for this machine: launch/build portable"
mirror=${DPMPI_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
root=${DPMPI_CHROOT:-$work/debian}
clean() {
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  ! mountpoint -q "$root/dev/shm" || umount "$root/dev/shm"
  rm -rf --one-file-system "$work"
}
trap clean EXIT

(cd "$BUILD" && cpack -G DEB -B "$work/package" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; fail cpack; }
package=$(ls "$work"/package/dpmpi_*.deb)
dpkg-deb --info "$package" | grep -E 'Package|Version|Depends|Installed-Size'
dpkg-deb --field "$package" Depends | grep -q openmpi-bin || fail "no openmpi-bin among what it depends on"
dpkg-deb --field "$package" Depends | grep -q libc6 || fail "dpkg-shlibdeps found nothing"

if [ ! -x "$root/bin/sh" ]; then
  command -v debootstrap >/dev/null || skip "debootstrap is not installed"
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || {
    tail -n 3 "$work/debootstrap.log"
    skip "no Debian from $mirror"
  }
fi
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"
cp "$package" "$root/tmp/dpmpi.deb"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive bash -eo pipefail -c "$1"; }
inside 'apt-get -q update && apt-get -qy --no-install-recommends install /tmp/dpmpi.deb' >"$work/install.log" 2>&1 || {
  tail -n 20 "$work/install.log"
  fail "the package does not install"
}

inside '
mkdir -p /root/try && cd /root/try && rm -rf data runs
. /usr/share/dpmpi/launch/environment
dpmpi version
dpmpi generate --output data/quickstart.csv
run=$(mpirun -n 2 dpmpi --config /usr/share/dpmpi/configs/quickstart.ini)
dpmpi verify "$run" | tail -n 1
test -s /usr/share/man/man1/dpmpi.1 && test -s /usr/include/dpmpi/plugin.h
. /usr/share/bash-completion/completions/dpmpi
COMP_WORDS=(dpmpi --set method.name = dp-f) COMP_CWORD=4
_dpmpi
test "${COMPREPLY[*]}" = dp-ftrl
dpkg --verify dpmpi' | tee "$work/quickstart.log"
grep -q '^wrote 20000 records' "$work/quickstart.log" || fail "no data"
grep -q '^everything fits together' "$work/quickstart.log" || fail "the run does not verify"

inside 'apt-get -qy --no-install-recommends install python3-numpy' >"$work/numpy.log" 2>&1 || {
  tail -n 20 "$work/numpy.log"
  fail "no numpy"
}
inside '
cd /root/try
python3 -c "
import dpmpi
run = dpmpi.train(\"/usr/share/dpmpi/configs/quickstart.ini\", settings={\"method.epochs\": 1}, show=False)
print(\"python:\", dpmpi.verify(run)[\"verified\"], run.model.predict([[0.0] * 40]))"' | tee "$work/python.log"
grep -qE '^python: True \[-?1\]$' "$work/python.log" || fail "the Python package does not train"
echo "the package runs the quickstart on a bare Debian 12"
