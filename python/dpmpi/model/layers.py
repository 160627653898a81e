"""Networks of layers (docs/guide/networks.md), forwards, in float64.

Values are records x channels x height x width for images, and records x numbers for lists.
"""

from typing import Callable, Dict, List, Tuple

import numpy as np

from ..errors import DataError
from .images import normalise_groups

Values = np.ndarray
_gelu_a, _gelu_b = 0.79788456080286535588, 0.044715  # sqrt(2 / pi)
_least_weight_variance = 1e-8


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
    if name == "dropout":  # of gradients alone
        return x
    if name in ("maxpool", "avgpool"):
        return _pool(words, x)
    if name == "embedding":
        return _embed(words, _tensor(tensors, own, "weight", name), x)
    if name not in ("dense", "conv", "groupnorm", "layernorm"):
        raise DataError(f"objective.layers: layer {name!r} is not known here")
    weight, bias = (_tensor(tensors, own, kind, name) for kind in ("weight", "bias"))
    if name in ("dense", "conv"):
        weight = _made_of(words, weight.reshape(-1, bias.size), tensors, own)
        return x @ weight + bias.ravel() if name == "dense" else _convolve(words, weight, bias.ravel(), x)
    each = (1, -1) + (1,) * (x.ndim - 2)
    groups = 1 if name == "layernorm" else int(words[1])
    return normalise_groups(x, groups) * weight.reshape(each) + bias.reshape(each)


def _tensor(tensors: Dict[str, np.ndarray], own: str, kind: str, layer: str) -> Values:
    if own + kind not in tensors:
        raise DataError(f"the model file has no tensor {own}{kind} for layer {layer}")
    return tensors[own + kind].astype(np.float64)


def _made_of(words: List[str], weight: Values, tensors: Dict[str, np.ndarray], own: str) -> Values:
    """The weights that a layer works with, inputs x outputs: W + A B of an adapter, standardised by outputs."""
    if "adapter" in words:
        down, up = (_tensor(tensors, own, f"adapter_{kind}", words[0]) for kind in ("down", "up"))
        weight = weight + down.reshape(len(weight), -1) @ up.reshape(-1, weight.shape[1])
    if "standardised" in words:
        weight = weight - weight.mean(axis=0)
        weight = weight / np.sqrt((weight ** 2).sum(axis=0) + len(weight) * _least_weight_variance)
    return weight


def _embed(words: List[str], tables: Values, x: Values) -> Values:
    """``embedding SIZE of FIRST-LAST ...``: the features of no column, and then SIZE numbers for each column."""
    size = int(words[1])
    columns = [[int(feature) for feature in word.split("-")] for word in words[3:]]
    features = [np.arange(first - 1, last) for first, last in columns]
    rows = np.split(tables.reshape(-1, size), np.cumsum([len(own) for own in features])[:-1])
    others = np.setdiff1d(np.arange(x.shape[1]), np.concatenate(features))
    return np.concatenate([x[:, others]] + [x[:, own] @ table for own, table in zip(features, rows)], axis=1)


def _window(words: List[str], otherwise: int) -> Tuple[int, int, int, int]:
    """Height, width, stride and padding of ``KIND ... HxW [stride S] [pad P]``; 0: the stride is the window's."""
    at = next(i for i, word in enumerate(words) if i > 0 and not (words[0] == "conv" and i == 1))
    height, _, width = words[at].partition("x")
    stride = _after(words, "stride", otherwise or int(height))
    return int(height), int(width or height), stride, _after(words, "pad", 0)


def _after(words: List[str], name: str, otherwise: int) -> int:
    return int(words[words.index(name) + 1]) if name in words else otherwise


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
    groups = _after(words, "groups", 1)
    flat = windows.transpose(0, 2, 3, 4, 5, 1).reshape(-1, height * width, groups, channels // groups)
    flat = flat.transpose(2, 0, 1, 3).reshape(groups, len(flat), -1)  # as the weights stand
    out = flat @ weight.reshape(len(weight), groups, -1).transpose(1, 0, 2)  # groups x places x channels of a group
    out = out.transpose(1, 0, 2).reshape(records, rows, columns, -1) + bias
    return _as_list(out.transpose(0, 3, 1, 2))
