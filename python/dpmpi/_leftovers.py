"""Private folders that a killed process left behind, and how the next one knows them for sure.

A folder's name says who made it: ``dpmpi-MACHINE-PROCESS-START-...``. MACHINE is this boot of this machine, as the
processes of one container see it; START is when the process began, in ticks since the boot. So a process that has its
number again is another one, and folders of other machines are left alone.
"""

import hashlib
import os
import re
import shutil
import stat
from typing import Iterator, Optional

_name = re.compile(r"dpmpi-([0-9a-f]{12})-([1-9][0-9]*)-([0-9]+)-[^/]+")
_after_the_name, _start = 2, 19  # of the fields of /proc/PID/stat: the state stands behind the name, field 22 is 19 on


def prefix_of_this_process() -> str:
    """Of the names of its private folders. Where there is no /proc, one that nobody takes for a left-over."""
    machine, start = _machine(), _start_of(os.getpid())
    return "dpmpi-" if machine is None or start is None else f"dpmpi-{machine}-{os.getpid()}-{start}-"


def remove_leftovers(place: str) -> None:
    """Removes the private folders in ``place`` that this user's dead processes on this machine left."""
    machine = _machine()
    if machine is None:
        return
    for folder in _folders_of(place, machine):
        shutil.rmtree(folder, ignore_errors=True)  # another process may be at it, too


def _folders_of(place: str, machine: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for entry in entries:
        says = _name.fullmatch(entry.name)
        if says and says[1] == machine and _is_own(entry) and _start_of(int(says[2])) != int(says[3]):
            yield entry.path


def _is_own(entry: "os.DirEntry[str]") -> bool:
    """A folder, not a link to one, of this user, as mkdtemp makes them."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and stat.S_IMODE(facts.st_mode) == 0o700


def _machine() -> Optional[str]:
    """Of this boot and this container: numbers of processes mean nothing in another."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read()
        return hashlib.sha256((boot + os.readlink("/proc/self/ns/pid")).encode()).hexdigest()[:12]
    except OSError:
        return None


def _start_of(process: int) -> Optional[int]:
    """In ticks since the boot; none of a process that is no more."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    return int(text[text.rindex(b")") + _after_the_name:].split()[_start])
