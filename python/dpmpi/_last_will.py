"""What is done where this process is killed and cannot do it itself."""

import os
import subprocess
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def last_will(command: str, argument: str) -> Iterator[None]:
    """While it lasts, the death of this process runs a command: after SIGKILL and crashes, too.

    A shell waits at a pipe of this process: a line releases it, and an end without one is our death, and that of
    processes that were forked from us meanwhile. Its session is its own, so that what a terminal or a notebook kills
    is not the shell.

    command   of /bin/sh, with the argument as "$1"
    """
    script = f"trap '' HUP INT QUIT TERM USR1 USR2; read -r line || {command}"
    shell = subprocess.Popen(["/bin/sh", "-c", script, "sh", argument], stdin=subprocess.PIPE, cwd="/",
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:  # and no fork of it
            shell.communicate(b"\n")
