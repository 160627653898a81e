"""data.transform: public functions of one image, a step after the other."""

from typing import Callable, List

import numpy as np

from ..errors import DataError
from .recipe import Recipe
from .scattering import Scattering

Step = Callable[[np.ndarray], np.ndarray]
_at_once = 256  # images, so that planes of all wavelets fit into memory


def image_transform(recipe: Recipe) -> Step:
    """From records x pixels to records x features, float64."""
    channels, height, width = (int(side) for side in recipe.text("data.image").split("x"))
    steps = [_step(text.split()) for text in recipe.list("data.transform")]

    def transform(pixels: np.ndarray) -> np.ndarray:
        if pixels.shape[1] != channels * height * width:
            raise DataError(f"X has {pixels.shape[1]} features, but the model is expecting images of "
                            f"{channels}x{height}x{width}")
        parts = [pixels[at:at + _at_once] for at in range(0, len(pixels), _at_once)] or [pixels]
        return np.concatenate([_all(steps, part.reshape(-1, channels, height, width)) for part in parts])

    return transform


def _all(steps: List[Step], images: np.ndarray) -> np.ndarray:
    images = images.astype(np.float64)
    for step in steps:
        images = step(images)
    return images.reshape(len(images), -1)


def _step(words: List[str]) -> Step:
    if words[0] == "scattering":
        settings = dict(word.split("=") for word in words[1:])
        return Scattering(int(settings["J"]), int(settings["L"]))
    if words[0] == "groupnorm":
        return lambda images: normalise_groups(images, int(words[1]))
    raise DataError(f"data.transform: step {words[0]} is not known here")


def normalise_groups(images: np.ndarray, groups: int) -> np.ndarray:
    """Mean 0 and variance 1 within groups of channels of each image by itself (Wu and He 2018)."""
    grouped = images.reshape(len(images), groups, -1)
    off = grouped - grouped.mean(axis=2, keepdims=True)
    variance = (off * off).mean(axis=2, keepdims=True)
    return (off / np.sqrt(variance + 1e-5)).reshape(images.shape)
