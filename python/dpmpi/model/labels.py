"""What labels mean: signs, classes, real numbers or counts, and what the classes are called."""

from typing import List, Optional, Tuple

import numpy as np

from .columns_file import ColumnRule, read_columns_file
from .fields import number_of
from .recipe import Recipe

_signs = ("logistic", "hinge", "smoothed_hinge", "sigmoid", "ramp", "auc")


def label_kind(recipe: Recipe) -> str:
    """sign, class, count or real."""
    name = recipe.objective
    if name in _signs:
        return "sign"
    if name in ("softmax", "poisson"):
        return {"softmax": "class", "poisson": "count"}[name]
    if name in ("mlp", "network", "worst_group"):
        head = recipe.text("objective.head", "softmax")
        return {"softmax": "class", "logistic": "sign", "ramp": "sign"}.get(head, "real")
    return "real"


def scores_are_logits(recipe: Recipe) -> bool:
    """Whether probabilities follow from the scores."""
    if recipe.objective in ("mlp", "network"):
        return recipe.text("objective.head", "softmax") in ("softmax", "logistic")
    return recipe.objective in ("logistic", "softmax")


def label_map(recipe: Recipe) -> List[Tuple[str, str]]:
    """Pairs of a word and its number: those of the columns file, or of data.label_map."""
    rule = _label_rule(recipe)
    if rule is not None and rule.has("classes"):
        return [(word, str(k)) for k, word in enumerate(rule.words("classes"))]
    pairs = [entry.rpartition(":") for entry in recipe.list("data.label_map")]
    return [(word.strip(), number.strip()) for word, _, number in pairs]


def class_names(recipe: Recipe, classes: int) -> np.ndarray:
    """Words of the classes if each has one of its own, else 0, 1, ..., as whole numbers."""
    words: List[List[str]] = [[] for _ in range(classes)]
    for word, number in label_map(recipe):
        k = number_of(number)
        if k is not None and 0 <= k < classes:
            words[int(k)].append(word)
    names = [own[0] if len(own) == 1 else str(k) for k, own in enumerate(words)]
    if not label_map(recipe) or len(set(names)) < classes:
        return np.arange(classes)
    return np.array(names)


def shift_of_logits(recipe: Recipe, classes: int) -> np.ndarray:
    """The logs of class weights, which scores are taken less of: training saw another population."""
    entries = recipe.list("objective.class_weights")
    if not entries or not scores_are_logits(recipe):
        return np.zeros(1)
    sign = label_kind(recipe) == "sign"
    weights = np.ones(2 if sign else classes)
    for entry in entries:
        word, _, weight = entry.rpartition(":")
        weights[_class_of(recipe, word.strip(), sign)] = float(weight)
    weights /= weights.max()
    shift = np.array([np.log(weights[1] / weights[0])]) if sign else np.log(weights)
    return shift.astype(np.float32).astype(np.float64)


def _class_of(recipe: Recipe, word: str, sign: bool) -> int:
    rule = _label_rule(recipe)
    positive = rule.words("positive") if rule is not None and rule.has("positive") else recipe.list("data.positive")
    if sign and positive:
        return int(any(_same(word, other) for other in positive))
    number = next((number for other, number in label_map(recipe) if _same(word, other)), word)
    value = float(number)
    return int(value > 0) if sign else int(value)


def _label_rule(recipe: Recipe) -> Optional[ColumnRule]:
    rules = read_columns_file(recipe.columns) if recipe.columns is not None else []
    return next((rule for rule in rules if rule.kind == "label"), None)


def _same(a: str, b: str) -> bool:
    number = number_of(a)
    return a == b or (number is not None and number == number_of(b))
