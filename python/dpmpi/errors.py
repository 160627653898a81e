"""What can go wrong, one exception for each exit code of the program (docs/reference/exit_codes.md)."""


import re


def printable(text: str) -> str:
    """Without characters that a terminal obeys, which a file of somebody else may hold: ESC becomes \\x1b."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
                  lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class Error(Exception):
    """The program's message, with its exit code in ``code``. Control characters in it are escaped."""

    code: int = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))


class ConfigError(Error, ValueError):
    """2: the config, an argument or the run directory is wrong. Nothing has happened."""

    code = 2


class DataError(Error, ValueError):
    """3: a file is unreadable, malformed, too large for the memory, or cannot be written."""

    code = 3


class PrivacyRefusal(Error):
    """4: going on would break the promise, or somebody changed the files of a run."""

    code = 4


class MpiError(Error):
    """5: MPI failed, ranks disagree, or a rank makes no progress."""

    code = 5


class Stopped(Error):
    """6: stopped with a checkpoint. ``dpmpi.resume(RUN)`` goes on."""

    code = 6


class InternalError(Error):
    """70: a fault of the program. Please report it."""

    code = 70


_by_code = {kind.code: kind for kind in (ConfigError, DataError, PrivacyRefusal, MpiError, Stopped, InternalError)}


def error_of(code: int, message: str) -> Error:
    """The exception for an exit code, or for a signal (negative, as subprocess has it)."""
    if code in _by_code:
        return _by_code[code](message)
    error = Error(message or f"dpmpi ended with code {code}")
    error.code = code
    return error
