"""Networks of layers (docs/guide/networks.md), forwards, in float64.

Values are records x channels x height x width for images, and records x numbers for lists.
"""

from typing import Callable, Dict, List, Tuple

import numpy as np

from ..errors import DataError
from .images import normalise_groups

Values = np.ndarray
_gelu_a, _gelu_b = 0.79788456080286535588, 0.044715  # sqrt(2 / pi)


def softplus(x: Values) -> Values:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


ACTIVATIONS: Dict[str, Callable[[Values], Values]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "leaky_relu": lambda x: np.where(x > 0, x, float(np.float32(0.2)) * x),
    "tanh": np.tanh,
    "softplus": softplus,
    "gelu": lambda x: 0.5 * x * (1.0 + np.tanh(_gelu_a * (x + _gelu_b * x * x * x))),
}


def run_layers(text: str, tensors: Dict[str, np.ndarray], x: Values, place: str = "") -> Values:
    """The list of layers ``text``. Tensors are called NUMBER.weight and NUMBER.bias, within residual NUMBER.NUMBER."""
    for number, item in enumerate(_split(text), 1):
        head, _, inside = item.partition("(")
        own = f"{place}{number}."
        if inside:
            x = x + run_layers(inside.rsplit(")", 1)[0], tensors, x, own)
        else:
            x = _layer(head.split(), tensors, own, x)
    return x


def _split(text: str) -> List[str]:
    """At the commas that stand in no parentheses."""
    items, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return items


def _layer(words: List[str], tensors: Dict[str, np.ndarray], own: str, x: Values) -> Values:
    name = words[0] if words else ""
    if name in ACTIVATIONS:
        return ACTIVATIONS[name](x)
    if name == "flatten":
        return x.reshape(len(x), -1)
    if name in ("maxpool", "avgpool"):
        return _pool(words, x)
    if name not in ("dense", "conv", "groupnorm", "layernorm"):
        raise DataError(f"objective.layers: layer {name!r} is not known here")
    if f"{own}weight" not in tensors or f"{own}bias" not in tensors:
        raise DataError(f"the model file has no tensors {own}weight and {own}bias for layer {name}")
    weight, bias = (tensors[own + kind].astype(np.float64) for kind in ("weight", "bias"))
    if name == "dense":
        return x @ weight.reshape(x.shape[1], -1) + bias.ravel()
    if name == "conv":
        return _convolve(words, weight, bias.ravel(), x)
    each = (1, -1) + (1,) * (x.ndim - 2)
    groups = 1 if name == "layernorm" else int(words[1])
    return normalise_groups(x, groups) * weight.reshape(each) + bias.reshape(each)


def _window(words: List[str], otherwise: int) -> Tuple[int, int, int, int]:
    """Height, width, stride and padding of ``KIND ... HxW [stride S] [pad P]``; 0: the stride is the window's."""
    at = next(i for i, word in enumerate(words) if i > 0 and not (words[0] == "conv" and i == 1))
    height, _, width = words[at].partition("x")
    named = dict(zip(words[at + 1::2], words[at + 2::2]))
    return int(height), int(width or height), int(named.get("stride", otherwise or height)), int(named.get("pad", 0))


def _windows(words: List[str], otherwise: int, x: Values) -> Values:
    """records x channels x rows x columns x height x width."""
    height, width, stride, pad = _window(words, otherwise)
    if x.ndim == 2:  # a list is an image of one pixel
        x = x[:, :, None, None]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(x, (height, width), axis=(2, 3))[:, :, ::stride, ::stride]


def _as_list(x: Values) -> Values:
    """Images of one pixel are lists."""
    return x[:, :, 0, 0] if x.shape[2:] == (1, 1) else x


def _pool(words: List[str], x: Values) -> Values:
    windows = _windows(words, 0, x)
    return _as_list(windows.max(axis=(4, 5)) if words[0] == "maxpool" else windows.mean(axis=(4, 5)))


def _convolve(words: List[str], weight: Values, bias: Values, x: Values) -> Values:
    windows = _windows(words, 1, x)
    records, channels, rows, columns, height, width = windows.shape
    flat = windows.transpose(0, 2, 3, 4, 5, 1).reshape(-1, height * width * channels)  # as the weights stand
    out = flat @ weight.reshape(height * width * channels, -1) + bias
    return _as_list(out.reshape(records, rows, columns, -1).transpose(0, 3, 1, 2))
