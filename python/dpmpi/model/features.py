"""From records to what a model sees: float32 features, as the program makes them of the same records."""

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence

import numpy as np

from ..errors import DataError
from .coding import code_column, makes_features
from .columns_file import ColumnRule, USUAL_GAPS, read_columns_file
from .fields import numbers_of, texts_of
from .images import image_transform
from .recipe import Recipe
from .table import Table

_largest = float(np.finfo(np.float32).max)
_label_names = ("label", "target", "class", "y")


@dataclass(frozen=True)
class Records:
    """features: records x features, float32. log_exposure: one for each record, float32, where there is a column."""

    features: np.ndarray
    log_exposure: Optional[np.ndarray] = None


def features_of(recipe: Recipe, table: Table) -> Records:
    """All that [data] says of features, in the order of docs/guide/data.md."""
    if recipe.columns is not None:
        records = _by_columns_file(read_columns_file(recipe.columns), table, recipe)
    else:
        records = Records(_rounded(_by_settings(table, recipe)))
    if recipe.text("data.transform"):
        records = Records(_rounded(image_transform(recipe)(records.features), clip=True))
    if records.features.shape[1] != recipe.features:
        raise DataError(f"X has {records.features.shape[1]} features, but the model is expecting {recipe.features} "
                        "features as input")
    if recipe.text("data.normalize") == "l2":
        records = Records(_with_unit_norm(records.features), records.log_exposure)
    return records


def _rounded(values: np.ndarray, clip: bool = False) -> np.ndarray:
    """To float32. What is beyond it is an error, or the largest there is."""
    if clip:
        values = np.clip(values, -_largest, _largest)
    elif not (np.abs(values) <= _largest).all():
        raise DataError("X holds NaN, infinity or a value too large for float32: finite numbers of magnitude up to "
                        "3.4e38 are allowed")
    return values.astype(np.float32)


def _with_unit_norm(features: np.ndarray) -> np.ndarray:
    """A record of zeros stays as it is."""
    exact = features.astype(np.float64)
    norm = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    return (exact / np.where(norm > 0, norm, 1.0)).astype(np.float32)


# With a columns file


def _by_columns_file(rules: Sequence[ColumnRule], table: Table, recipe: Recipe) -> Records:
    comma = recipe.text("data.decimal") == "comma"
    place = _places(rules, table)
    blocks = [code_column(rule, table.column(place[rule.name]), comma) for rule in rules if makes_features(rule)]
    exposure = None
    for rule in rules:
        if rule.kind == "exposure" and rule.name in place:
            amount = code_column(rule, table.column(place[rule.name]), comma)[:, 0]
            exposure = np.log(amount.astype(np.float32).astype(np.float64)).astype(np.float32)
    return Records(_rounded(np.concatenate(blocks, axis=1)), exposure)


def _places(rules: Sequence[ColumnRule], table: Table) -> Dict[str, int]:
    """Which column of the table is which of the file: by name, or else in the order of the file."""
    needed = [rule.name for rule in rules if makes_features(rule)]
    if table.names is not None:
        lacking = [name for name in needed if name not in table.names]
        if lacking:
            raise DataError(f"columns that the table has not: {', '.join(map(repr, lacking))}")
        return {name: i for i, name in enumerate(table.names)}
    with_exposure = [rule.name for rule in rules if makes_features(rule) or rule.kind == "exposure"]
    everything = [rule.name for rule in rules]
    for names in (needed, with_exposure, everything):
        if len(names) == table.width:
            return {name: i for i, name in enumerate(names)}
    raise DataError(f"X has {table.width} features, but the model is expecting {len(needed)} features as input: "
                    f"{', '.join(needed)}")


# Without one


@dataclass
class _Column:
    """A column that becomes features: its place in the table, its name, and the words of a text column."""

    place: int
    name: str
    words: Optional[List[str]] = None

    @property
    def width(self) -> int:
        return 1 if self.words is None else len(self.words)


def _by_settings(table: Table, recipe: Recipe) -> np.ndarray:
    """data.scale, mean and std of the columns, float64. Pixels of images have no names."""
    columns = _columns(table, recipe)
    comma, missing = recipe.text("data.decimal") == "comma", recipe.text("data.missing")
    if table.names is None and all(c.words is None and c.place == i for i, c in enumerate(columns)):
        values = _plain_numbers(table, len(columns), comma, missing)
    else:
        values = np.concatenate([_values(table, c, comma, missing, recipe) for c in columns], axis=1)
    scale = recipe.number("data.scale", 1.0)
    if not recipe.list("data.mean") and not recipe.list("data.std"):
        if _stay_bytes(table, recipe):
            return (values.astype(np.float32) * np.float32(scale)).astype(np.float64)
        return values * scale
    values = values * scale
    mean = _per_feature(recipe.list("data.mean"), 0.0, columns, table)
    return (values - mean) / _per_feature(recipe.list("data.std"), 1.0, columns, table)


def _stay_bytes(table: Table, recipe: Recipe) -> bool:
    """Whether the program keeps the records as bytes, and multiplies them by a scale of float32 when it needs them."""
    others = recipe.text("data.transform") or recipe.text("data.normalize") == "l2"
    return not others and all(table.column(i).dtype == np.uint8 for i in range(table.width))


def _plain_numbers(table: Table, width: int, comma: bool, missing: str) -> np.ndarray:
    """Faster than column by column for thousands of them."""
    columns = [table.column(i) for i in range(width)]
    if not columns or any(column.dtype.kind not in "buif" for column in columns) or missing:
        columns = [_numbers(str(i + 1), column, comma, missing) for i, column in enumerate(columns)]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.empty((table.records, 0))


def _values(table: Table, column: _Column, comma: bool, missing: str, recipe: Recipe) -> np.ndarray:
    """Of one column: records x its features."""
    values = table.column(column.place)
    if column.words is None:
        return _numbers(column.name, values, comma, missing)[:, None]
    texts = np.array(texts_of(values), dtype=object)
    chosen = np.stack([texts == word for word in column.words], axis=1).astype(np.float64)
    if recipe.text("data.unknown") != "zero" and not chosen.any(axis=1).all():
        raise DataError(f"column {column.name!r}: a value is not in its vocabulary in data.one_hot")
    return chosen


def _numbers(name: str, values: np.ndarray, comma: bool, missing: str) -> np.ndarray:
    numbers = numbers_of(name, values, USUAL_GAPS, comma)
    if np.isnan(numbers).any() and not missing:
        raise DataError(f"column {name!r}: a value is missing (NaN or a gap), and data.missing is not set")
    return np.where(np.isnan(numbers), float(missing or 0), numbers)


def _columns(table: Table, recipe: Recipe) -> List[_Column]:
    """Those that become features: data.datasets, or all but the label, a person and data.drop."""
    find = _finder(table)
    if table.names is not None and recipe.list("data.datasets"):
        return [_Column(find(name), name) for name in recipe.list("data.datasets")]
    names = table.names or [str(i + 1) for i in range(table.width)]
    vocabularies: Dict[int, List[str]] = {}
    left_out = {find(name) for name in recipe.list("data.drop")}
    person = recipe.text("data.person")
    if person and (table.names is None or person in table.names):
        left_out.add(find(person))
    for entry in recipe.list("data.one_hot"):
        name, words = entry.split(":", 1)
        vocabularies[find(name.strip())] = [word.strip() for word in words.split("|")]
    columns = [_Column(i, name, vocabularies.get(i)) for i, name in enumerate(names) if i not in left_out]
    label = _label_place(table, recipe, columns)
    return [column for column in columns if column.place != label]


def _finder(table: Table) -> Callable[[str], int]:
    """By name, or by number from 1."""

    def find(name: str) -> int:
        if table.names is not None and name in table.names:
            return table.names.index(name)
        if name.isdigit() and 1 <= int(name) <= table.width:
            return int(name) - 1
        raise DataError(f"there is no column {name!r} in the table, which has {table.width}")

    return find


def _label_place(table: Table, recipe: Recipe, columns: Sequence[_Column]) -> Optional[int]:
    """Where the label stands, if the records have one: by its name, or where there is one column too many."""
    label = recipe.text("data.label", "auto")
    if label == "none":
        return None
    if table.names is not None and label == "auto":
        return next((i for i, name in enumerate(table.names) if name.lower() in _label_names), None)
    if table.names is not None and label in table.names:
        return table.names.index(label)
    expected = _width_before_transform(recipe)
    if sum(column.width for column in columns) != expected + 1:
        return None
    places = {"first": 0, "last": table.width - 1}
    return places.get(label, int(label) - 1 if label.isdigit() else None)


def _width_before_transform(recipe: Recipe) -> int:
    if not recipe.text("data.image"):
        return recipe.features
    channels, height, width = (int(side) for side in recipe.text("data.image").split("x"))
    return channels * height * width


def _per_feature(entries: Sequence[str], otherwise: float, columns: Sequence[_Column], table: Table) -> np.ndarray:
    """One number, one for each feature, or name:number entries."""
    starts = np.cumsum([0] + [column.width for column in columns])
    out = np.full(starts[-1], otherwise)
    if not any(":" in entry for entry in entries):
        if len(entries) > 1 and len(entries) != len(out):
            raise DataError(f"X has {len(out)} features, but the model is expecting {len(entries)} features as input")
        return out if not entries else np.broadcast_to(np.array([float(e) for e in entries]), out.shape)
    find = _finder(table)
    for entry in entries:
        name, value = entry.rsplit(":", 1)
        at = [i for i, column in enumerate(columns) if column.place == find(name.strip())]
        if at:
            out[starts[at[0]]] = float(value)
    return out
