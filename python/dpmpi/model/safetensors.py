"""The format of model files: the length of a JSON header, the header, and the float32 numbers it names."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Dict

import numpy as np

from .._untrusted import MEBIBYTE, parse_json, read_bytes
from ..errors import DataError

_largest_file = 1 << 40


@dataclass(frozen=True)
class ModelFile:
    """metadata: pairs of texts. tensors: float32 arrays by name. digest: SHA-256 of the parameters."""

    path: str
    metadata: Dict[str, str]
    tensors: Dict[str, np.ndarray]
    digest: str


def read_model_file(path: "os.PathLike[str]") -> ModelFile:
    """Reads a whole model file, which may come from anybody."""
    name = os.fspath(path)
    content = read_bytes(path, _largest_file)
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size == 0 or size > min(MEBIBYTE, len(content) - 8):
        raise DataError(f"{name} is no model file, or is cut")
    header = parse_json(content[8:8 + size], name)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise DataError(f"{name}: its header is not understood")
    data = memoryview(content)[8 + size:]
    tensors = {key: _tensor(name, key, entry, data) for key, entry in header.items()}
    return ModelFile(name, {str(key): str(value) for key, value in metadata.items()}, tensors, _digest(header, data))


def _tensor(path: str, name: str, entry: Any, data: memoryview) -> np.ndarray:
    try:
        shape, (begin, end) = [int(n) for n in entry["shape"]], entry["data_offsets"]
        count = 1
        for side in shape:
            count *= side
        sound = entry["dtype"] == "F32" and min(shape, default=1) > 0 and 0 <= begin and end <= len(data)
        if not sound or end - begin != 4 * count:
            raise ValueError
        return np.frombuffer(data[begin:end], "<f4").reshape(shape)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: tensor {name!r} is not where its header says, or not of float32") from None


def _digest(header: Dict[str, Any], data: memoryview) -> str:
    """As certificates state it: of the header without its metadata, and the numbers."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode() + bytes(data)).hexdigest()
