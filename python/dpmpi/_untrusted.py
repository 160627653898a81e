"""Files that may come from anybody: regular, of bounded size, text and JSON. Nothing of them is imported or run."""

import json
import os
import stat
from typing import Any, BinaryIO, Dict, Iterator, List

from .errors import DataError

MEBIBYTE = 1 << 20
DOCUMENT, LEDGER = 16 * MEBIBYTE, 256 * MEBIBYTE  # the largest of their kinds (docs/reference/files.md)


def read_bytes(path: "os.PathLike[str]", most: int) -> bytes:
    """The bytes of a regular file of bounded size."""
    with open_regular(path) as file:
        size = size_of(file)
        if size > most:
            raise DataError(f"{os.fspath(path)} has {size} bytes; at most {most} are allowed")
        return file.read(size)


def size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def open_regular(path: "os.PathLike[str]") -> BinaryIO:
    """A regular file, to read from. A pipe or a device in its place could wait for ever."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        raise DataError(f"cannot read {os.fspath(path)}: {problem.strerror}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError(f"{os.fspath(path)} is no regular file")
    return open(handle, "rb")


def parse_json(text: bytes, place: str) -> Dict[str, Any]:
    """An object of JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(f"{place}: not JSON") from None
    if not isinstance(value, dict):
        raise DataError(f"{place}: no JSON object")
    return value


def read_json(path: "os.PathLike[str]") -> Dict[str, Any]:
    return parse_json(read_bytes(path, DOCUMENT), os.fspath(path))


def read_json_lines(path: "os.PathLike[str]") -> List[Dict[str, Any]]:
    """One object for each whole line; what a kill cut off is left out."""
    return list(_objects(read_bytes(path, LEDGER), os.fspath(path)))


def _objects(text: bytes, path: str) -> Iterator[Dict[str, Any]]:
    lines = text.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        yield parse_json(line, f"{path}:{number}")
