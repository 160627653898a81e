"""The program: where it is, how it is started, and what it says.

Python sees what somebody sees who types the same command: exit code, standard output and standard error.
"""

import codecs
import numbers
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from ._last_will import last_will
from .errors import ConfigError, error_of

_kept = 1 << 16  # of what a training says: its end holds the message of an error


def find_program() -> str:
    """The path of dpmpi: $DPMPI, or the one in PATH, or that of the checkout this file belongs to."""
    named = os.environ.get("DPMPI")
    if named:
        if os.access(named, os.X_OK) and os.path.isfile(named):
            return os.path.abspath(named)
        raise ConfigError(f"DPMPI={named} is no program")
    folders = [folder for folder in os.get_exec_path() if os.path.isabs(folder)]  # never the working directory
    found = shutil.which("dpmpi", path=os.pathsep.join(folders))
    built = Path(__file__).resolve().parents[2] / "build" / "release" / "dpmpi"
    if found or built.is_file():
        return found or str(built)
    raise ConfigError("the program dpmpi was not found: name it by the environment variable DPMPI, or put it in PATH")


def environment(ranks: int = 1) -> Dict[str, str]:
    """That of this process, with what launch/environment sets for mpirun, unless it is set already."""
    settings = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_pml": "ob1",
    }
    if ranks > (os.cpu_count() or 1):  # a rank that waits gives its core to one that works
        settings["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if os.geteuid() == 0:
        settings.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return {**settings, **os.environ}


def launcher(ranks: int) -> List[str]:
    """What stands before the program: nothing for one rank, srun within a Slurm allocation, else mpirun."""
    if isinstance(ranks, bool) or not isinstance(ranks, numbers.Integral) or ranks < 1:
        raise ConfigError(f"ranks is {ranks!r}, allowed: whole numbers from 1")
    if "SLURM_JOB_ID" in os.environ and shutil.which("srun"):
        return ["srun", "--mpi=pmix", "-n", str(ranks)]
    if ranks == 1:
        return []
    if not shutil.which("mpirun"):
        raise ConfigError(f"ranks={ranks} needs mpirun, which is not in PATH")
    return ["mpirun", "-n", str(ranks)]


def ask(arguments: Sequence[str], given: str = "", answers: Sequence[int] = (0,)) -> str:
    """What a command without ranks prints. ``given`` is its standard input.

    Raises the exception of its exit code, unless that is one of ``answers``.
    """
    done = subprocess.run([find_program(), *arguments], input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace", env=environment())
    if done.returncode not in answers:
        raise error_of(done.returncode, message_in(done.stderr))
    return done.stdout


def message_in(text: str) -> str:
    """The program's message, without the lines that mpirun adds and without progress."""
    lines = re.split(r"[\r\n]+", text)
    for at, line in enumerate(lines):
        if re.match(r"dpmpi: |rank \d+", line):
            end = at + 1
            while end < len(lines) and lines[end].startswith("  "):
                end += 1
            return "\n".join(lines[at:end])
    return "\n".join(line for line in lines[-20:] if line.strip())


class _StopRequests:
    """While it lasts, Ctrl-C and the signals below ask the child for a checkpoint and a stop; a second one ends it."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)  # USR1: of job scripts

    def __init__(self) -> None:
        self.child: Optional["subprocess.Popen[bytes]"] = None
        self.asked: List[int] = []
        self._before: Dict[int, object] = {}

    def __enter__(self) -> "_StopRequests":
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            for number in self.SIGNALS:
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def watch(self, child: "subprocess.Popen[bytes]") -> None:
        self.child = child
        if self.asked:
            child.send_signal(signal.SIGUSR1)

    def _ask(self, number: int, _frame: object) -> None:
        self.asked.append(number)
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGUSR1 if len(self.asked) == 1 else signal.SIGTERM)


def follow(arguments: Sequence[str], ranks: int, show: bool) -> None:
    """Runs a command on ranks, and shows what it says as it comes if ``show``.

    Raises the exception of its exit code. After Ctrl-C it waits until the checkpoint is written and raises
    KeyboardInterrupt; after the other signals that ask for a stop, SystemExit. If this process is killed, the command
    stops with a checkpoint.
    """
    command = [*launcher(ranks), find_program(), *arguments]
    with _StopRequests() as stops:
        # In a session of its own, so that a terminal's Ctrl-C comes here alone, and once.
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment(ranks), start_new_session=True) as child:
            stops.watch(child)
            try:
                with last_will('kill -USR1 "$1"', str(child.pid)):
                    said = _relay(child, show)
            except BaseException:
                child.terminate()
                raise
        code = child.returncode
    if stops.asked and stops.asked[0] != signal.SIGINT:
        raise SystemExit(128 + stops.asked[0])
    if stops.asked:
        raise KeyboardInterrupt(message_in(said) if code else "")
    if code:
        raise error_of(code, message_in(said))


def _relay(child: "subprocess.Popen[bytes]", show: bool) -> str:
    """Passes on all that the child says; returns the end of it."""
    assert child.stdout is not None
    text = codecs.getincrementaldecoder("utf-8")("replace")  # pieces may end within a character
    said = ""
    while True:
        piece = os.read(child.stdout.fileno(), 4096)
        new = text.decode(piece, final=not piece)
        said = (said + new)[-_kept:]
        if show:
            sys.stdout.write(new)
            sys.stdout.flush()
        if not piece:
            return said


def is_shown_live() -> bool:
    """Whether standard output redraws a line after a carriage return: terminals and notebooks do."""
    return sys.stdout.isatty() or "ipykernel" in sys.modules
