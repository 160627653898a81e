"""What a column of a columns file becomes: its features, by its line alone."""

from typing import Dict, Optional

import numpy as np

from ..errors import DataError
from .columns_file import ColumnRule
from .fields import days_of, numbers_of, texts_of

_unit_days = {"days": 1.0, "weeks": 7.0, "months": 365.25 / 12, "years": 365.25}
_factors = ("weight", "exposure")
_others = "\n"  # stands for all words that a column does not list: no field is this one


def makes_features(rule: ColumnRule) -> bool:
    return rule.kind not in ("ignore", "label", "person") + _factors


def width_of(rule: ColumnRule) -> int:
    """How many features."""
    own = len(rule.words("words")) if rule.kind == "category" else 1
    return own + rule.has("other") + rule.has("indicator")


def code_column(rule: ColumnRule, values: np.ndarray, decimal_comma: bool) -> np.ndarray:
    """Features, records x width, float64."""
    gaps = rule.gaps
    if rule.kind == "date":
        numbers = days_of(rule.name, values, gaps, _word(rule, "format"))
    elif rule.kind == "number" or rule.kind in _factors:
        numbers = numbers_of(rule.name, values, gaps, decimal_comma)
    else:
        return _words(rule, values)
    return _numbers(rule, numbers)


def _numbers(rule: ColumnRule, numbers: np.ndarray) -> np.ndarray:
    missing = np.isnan(numbers)
    out = np.zeros((len(numbers), width_of(rule)))
    out[:, 0] = np.where(missing, _if_missing(rule, bool(missing.any())), _scaled(rule, numbers))
    if rule.has("indicator"):
        out[:, -1] = missing
    return out


def _scaled(rule: ColumnRule, numbers: np.ndarray) -> np.ndarray:
    if rule.kind == "date":
        start = days_of(rule.name, np.array([_word(rule, "from")], object), (), "%Y-%m-%d")[0]
        return (numbers - start) / _unit_days[rule.word("unit") or "days"]
    ends = rule.range
    if ends:
        numbers = np.clip(numbers, *ends)
    if rule.kind in _factors:
        return numbers
    alone = ends is not None and not rule.has("mean") and not rule.has("std")
    center = ends[0] if alone and ends else rule.number("mean", 0.0)
    width = ends[1] - ends[0] if alone and ends else rule.number("std", 1.0)
    return (numbers - center) / width


def _if_missing(rule: ColumnRule, any_missing: bool) -> float:
    """The feature of a missing number."""
    imputed = rule.word("impute")
    if imputed is None:
        if any_missing and not rule.has("indicator"):
            raise _missing(rule)
        return 0.0
    texts = np.array([imputed], object)
    if rule.kind == "date":
        return float(_scaled(rule, days_of(rule.name, texts, (), _word(rule, "format")))[0])
    return float(_scaled(rule, numbers_of(rule.name, texts, (), False))[0])


def _words(rule: ColumnRule, values: np.ndarray) -> np.ndarray:
    table = _rows_of_words(rule)
    if values.dtype.kind == "b" and rule.kind == "yes/no":
        yes, no = rule.yes_no
        values = np.where(values, yes[0], no[0]).astype(object)
    out = np.empty((len(values), width_of(rule)))
    for i, text in enumerate(texts_of(values, gap=next(iter(rule.gaps), ""))):
        row = table.get(text, table.get(_others))
        if row is None:
            raise _missing(rule) if text in table else DataError(f"column {rule.name!r}: a value is none of its words")
        out[i] = row
    return out


def _rows_of_words(rule: ColumnRule) -> Dict[str, Optional[np.ndarray]]:
    """The features of each word; none for a gap that is refused."""
    rows: Dict[str, Optional[np.ndarray]] = {}

    def put(word: str, feature: int, value: float) -> None:
        row = rows[word] = np.zeros(width_of(rule))
        row[feature] = value

    words = rule.words("words")
    if rule.kind == "yes/no":
        for value, group in zip((1.0, 0.0), rule.yes_no):
            for word in group:
                put(word, 0, value)
    for w, word in enumerate(words):
        ordinal = rule.kind == "ordinal"
        put(word, 0 if ordinal else w, w / (len(words) - 1) if ordinal else 1.0)
    rare = rule.words("rare")
    shared = len(words) if rule.has("other") else next((w for w, word in enumerate(words) if word in rare), 0)
    for word in rare:
        put(word, shared, 1.0)
    if rule.has("other"):
        put(_others, len(words), 1.0)
    row = _row_of_gaps(rule, rows)
    rows.update((gap, row) for gap in rule.gaps)
    return rows


def _row_of_gaps(rule: ColumnRule, rows: Dict[str, Optional[np.ndarray]]) -> Optional[np.ndarray]:
    imputed = rule.word("impute")
    if imputed is None and not rule.has("indicator"):
        return None
    row = np.zeros(width_of(rule)) if imputed is None else rows.get(imputed, rows.get(_others))
    if row is None:
        raise DataError(f"column {rule.name!r}: impute={imputed} is none of its words")
    row = row.copy()
    if rule.has("indicator"):
        row[-1] = 1.0
    return row


def _missing(rule: ColumnRule) -> DataError:
    return DataError(f"column {rule.name!r}: a value is missing (NaN or a gap), and its line says neither impute= nor "
                     "indicator")


def _word(rule: ColumnRule, key: str) -> str:
    word = rule.word(key)
    if word is None:
        raise DataError(f"column {rule.name!r} needs {key}=")
    return word
