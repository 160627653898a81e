"""From features to scores, for every model that has them."""

from typing import Callable, Dict, List, Optional, Tuple

import numpy as np

from ..errors import DataError
from .layers import ACTIVATIONS, run_layers
from .recipe import Recipe

Tensors = Dict[str, np.ndarray]

LINEAR = ("absolute", "capped_l1", "hinge", "huber", "logistic", "mallows", "phase_retrieval", "pinball", "poisson",
          "ramp", "sigmoid", "smoothed_hinge", "squared")
_at_once = 1024  # records, so that windows of convolutions fit into memory


def scorer_of(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    """A function of float32 features, records x features: float64 scores, records x outputs."""
    score = _score_function(recipe, tensors)

    def in_parts(features: np.ndarray) -> np.ndarray:
        parts = [features[at:at + _at_once] for at in range(0, len(features), _at_once)] or [features]
        return np.concatenate([score(part.astype(np.float64)) for part in parts])

    return in_parts


def _score_function(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    name = recipe.objective
    if recipe.text("objective.layers") and name in ("network", "auc", "worst_group"):
        score = _of_layers(recipe, tensors)
    elif name in LINEAR + ("softmax", "mlp", "auc", "worst_group"):
        score = _of_perceptron(recipe, tensors)
    elif name == "td":
        score = _of_states(recipe, tensors)
    elif name == "mean":
        score = _distance(recipe, tensors)
    else:
        raise DataError(f"models of {name!r} are not known here: use dpmpi predict")
    if name == "auc" and recipe.text("objective.output", "sigmoid") == "sigmoid":
        return lambda x: sigmoid(score(x))
    return score


def sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


def _of_layers(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    shape = [int(side) for side in recipe.text("objective.input").split("x") if side]
    layers = recipe.text("objective.layers")
    return lambda x: run_layers(layers, tensors, x.reshape(len(x), *shape) if len(shape) == 3 else x)


def _of_perceptron(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    """Dense layers with one activation between; a linear model is one of them."""
    layers = _dense_layers(tensors, recipe.number("data.bias", 1.0))
    activate = ACTIVATIONS[recipe.text("objective.activation", "relu" if recipe.objective == "mlp" else "tanh")]
    left_out = _left_out(recipe)

    def score(x: np.ndarray) -> np.ndarray:
        x = np.delete(x, left_out, axis=1) if left_out is not None else x
        for i, (weight, bias) in enumerate(layers):
            x = x if i == 0 else activate(x)
            if x.shape[1] != weight.shape[1]:
                raise DataError(f"a layer of the model takes {weight.shape[1]} numbers, and there are {x.shape[1]}")
            x = x @ weight.T + bias
        return x

    return score


def _of_states(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    """The value of the first state of a record, by a function with tanh units whose tensors begin with theta."""
    value = _of_perceptron(recipe, {name[len("theta."):]: tensor for name, tensor in tensors.items()
                                    if name.startswith("theta.")})
    state = min(tensor.shape[-1] for name, tensor in tensors.items() if name in ("theta.weight", "theta.layer1.weight"))
    return lambda x: value(x[:, :state])


def _distance(recipe: Recipe, tensors: Tensors) -> Callable[[np.ndarray], np.ndarray]:
    """Of a record from the mean, with its constant."""
    mean = np.append(tensors["mean"].ravel(), tensors.get("bias", ())).astype(np.float64)
    constant = recipe.number("data.bias", 1.0)

    def distance(x: np.ndarray) -> np.ndarray:
        x = np.concatenate([x, np.full((len(x), len(mean) - x.shape[1]), constant)], axis=1)
        return np.sqrt(((x - mean) ** 2).sum(axis=1, keepdims=True))

    return distance


def _dense_layers(tensors: Tensors, constant: float) -> List[Tuple[np.ndarray, np.ndarray]]:
    """Weights, outputs x inputs, and biases. That of the first layer is multiplied by data.bias."""
    prefixes = [""] if "weight" in tensors else []
    while f"layer{len(prefixes) + 1}.weight" in tensors:
        prefixes.append(f"layer{len(prefixes) + 1}.")
    if not prefixes:
        raise DataError("the model file has no tensor called weight or layer1.weight")
    layers = []
    for number, prefix in enumerate(prefixes):
        weight = np.atleast_2d(tensors[prefix + "weight"].astype(np.float64))
        bias = tensors.get(prefix + "bias", np.zeros(len(weight), np.float32)).astype(np.float64).ravel()
        layers.append((weight, bias * (constant if number == 0 else 1.0)))
    return layers


def _left_out(recipe: Recipe) -> Optional[int]:
    """The feature of worst_group that holds the group, from 0, where it is no input."""
    number = int(recipe.number("objective.group_feature", 0))
    given = recipe.text("objective.group_input") == "true"
    return number - 1 if recipe.objective == "worst_group" and number > 0 and not given else None
