"""A folder for this user alone, that is gone afterwards."""

import os
import shutil
import signal
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, List

from ._last_will import last_will
from ._leftovers import prefix_of_this_process, remove_leftovers
from .errors import ConfigError


def _candidates() -> List[str]:
    """Memory before disks: what was on a disk may be found there later."""
    return [folder for folder in ("/dev/shm", os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir()) if folder]


def _place_for(size: int) -> str:
    chosen = os.environ.get("DPMPI_PRIVATE_FOLDER")
    if chosen:
        return chosen
    if int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) > 1:
        raise ConfigError("this job has several nodes: set DPMPI_PRIVATE_FOLDER to a folder that all of them see")
    for folder in _candidates():
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            if shutil.disk_usage(folder).free > size + (16 << 20):
                return folder
    raise ConfigError(f"no folder has room for {size} bytes: tried {', '.join(_candidates())}; "
                      "set DPMPI_PRIVATE_FOLDER to one that has")


def _exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


@contextmanager
def _ends_in_order() -> Iterator[None]:
    """Signals that would end the process at once raise SystemExit, so that it tidies up. Others' handlers stay."""
    changed = []
    if threading.current_thread() is threading.main_thread():  # others cannot have handlers
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _exit)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def private_folder(size: int = 0) -> Iterator[Path]:
    """A new folder of mode 0700 with room for ``size`` bytes. It is removed at the end, whatever the end is.

    Where this process cannot do it, a shell that outlives it does. If that is killed as well, the next call removes it.
    """
    for seen in {*_candidates(), os.environ.get("DPMPI_PRIVATE_FOLDER") or "/dev/shm"}:
        remove_leftovers(seen)
    place = _place_for(size)
    with _ends_in_order():
        folder, owner = Path(tempfile.mkdtemp(prefix=prefix_of_this_process(), dir=place)), os.getpid()
        with last_will('rm -rf -- "$1"', os.path.abspath(folder)):
            try:
                yield folder
            finally:
                if os.getpid() == owner:  # and no fork of it
                    shutil.rmtree(folder)
