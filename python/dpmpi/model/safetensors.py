"""The format of model files: the length of a JSON header, the header, and the float32 numbers it names."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, BinaryIO, Dict, Tuple

import numpy as np

from .._untrusted import MEBIBYTE, open_regular, parse_json, size_of
from ..errors import DataError

Places = Dict[str, Tuple[Tuple[int, ...], int, int]]  # of each tensor: shape, first byte, end

_most_sides = 32  # that numpy takes
_at_work = 3  # times the file: float32 as they are read, and float64 to work with


@dataclass(frozen=True)
class ModelFile:
    """metadata: pairs of texts. tensors: float32 arrays by name. digest: SHA-256 of the parameters."""

    path: str
    metadata: Dict[str, str]
    tensors: Dict[str, np.ndarray]
    digest: str


def read_model_file(path: "os.PathLike[str]") -> ModelFile:
    """Reads a whole model file, which may come from anybody.

    Before there is memory for the numbers, their places must fill the file, and there must be so much memory.
    """
    name = os.fspath(path)
    with open_regular(path) as file:
        header = _header(name, file)
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict):
            raise DataError(f"{name}: its header is not understood")
        bytes_left = size_of(file) - file.tell()
        places = {key: _place(name, key, entry) for key, entry in header.items()}
        _fill_the_file(name, places, bytes_left)
        data = _numbers(name, file, bytes_left)
    tensors = {key: data[begin // 4:end // 4].reshape(shape) for key, (shape, begin, end) in places.items()}
    return ModelFile(name, {str(key): str(value) for key, value in metadata.items()}, tensors, _digest(header, data))


def _header(path: str, file: BinaryIO) -> Dict[str, Any]:
    size, left = int.from_bytes(file.read(8), "little"), size_of(file) - 8
    if left < 0 or size == 0 or size > min(MEBIBYTE, left):
        raise DataError(f"{path} is no model file, or is cut")
    return parse_json(file.read(size), path)


def _place(path: str, name: str, entry: Any) -> Tuple[Tuple[int, ...], int, int]:
    try:
        shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
        if any(type(n) is not int for n in (*shape, begin, end)) or len(shape) > _most_sides:
            raise ValueError
        count = 1
        for side in shape:
            count *= side
        sound = entry["dtype"] == "F32" and min(shape, default=1) > 0 and 0 <= begin and begin % 4 == 0
        if not sound or end - begin != 4 * count:
            raise ValueError
        return shape, begin, end
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: tensor {name!r} is not where its header says, or not of float32") from None


def _fill_the_file(path: str, places: Places, bytes_left: int) -> None:
    """One tensor begins where another ends, and the last one ends with the file."""
    at = 0
    for name, (_, begin, end) in sorted(places.items(), key=lambda place: place[1][1]):
        if begin != at or end > bytes_left:
            raise DataError(f"{path}: tensor {name!r} is not where its header says, or not of float32")
        at = end
    if at != bytes_left:
        raise DataError(f"{path} has {bytes_left} bytes of numbers, and its header speaks of {at}")


def _numbers(path: str, file: BinaryIO, size: int) -> np.ndarray:
    """Float32. A file with holes has more bytes than its disk has, so they are compared with the memory."""
    too_large = f"{path} has {size} bytes of numbers, for which there is not enough memory"
    if _at_work * size > _memory():
        raise DataError(too_large)
    try:
        data = np.fromfile(file, "<f4", size // 4)
    except MemoryError:
        raise DataError(too_large) from None
    if data.nbytes != size:
        raise DataError(f"{path} was changed while it was read")
    data.setflags(write=False)
    return data


def _memory() -> int:
    """Bytes of this machine that a program can have now, by Linux; elsewhere all that there are."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _digest(header: Dict[str, Any], data: np.ndarray) -> str:
    """As certificates state it: of the header without its metadata, and the numbers."""
    digest = hashlib.sha256(json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass"))
    digest.update(data)  # type: ignore[arg-type]
    return digest.hexdigest()
