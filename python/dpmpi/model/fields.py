"""Values of a column as the program reads the fields of a table."""

import datetime
import re
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from ..errors import DataError

_number = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_blanks = " \t\r\n"  # as the program: a no-break space is a part of a word
_digits = {"Y": r"(?P<Y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})", "H": r"(?P<H>\d{1,2})",
           "M": r"(?P<M>\d{1,2})", "S": r"(?P<S>\d{1,2})", "%": "%"}
_epoch = datetime.date(1970, 1, 1).toordinal()


def is_text(values: np.ndarray) -> bool:
    return values.dtype.kind in "OUS"


def is_gap(value: Any) -> bool:
    """None, NaN, NaT and their like: what is not equal to itself is no value."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True  # pandas.NA


def text_of(value: Any) -> str:
    """As a table would have it, without blanks around. 1.0 is 1."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode("utf-8", "replace").strip(_blanks)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip(_blanks)


def texts_of(values: np.ndarray, gap: str = "") -> List[str]:
    """The same of a whole column; ``gap`` stands for what is no value."""
    return [gap if is_gap(value) else text_of(value) for value in values.tolist()]


def number_of(text: str, decimal_comma: bool = False) -> Optional[float]:
    """None if the field is no finite number."""
    if decimal_comma:
        if "." in text:  # of thousands, perhaps
            return None
        text = text.replace(",", ".")
    number = float(text) if _number.match(text) else None
    return number if number is not None and np.isfinite(number) else None


def numbers_of(name: str, values: np.ndarray, gaps: Sequence[str], decimal_comma: bool) -> np.ndarray:
    """float64, NaN where a value is missing. Raises DataError, which quotes no value: records may be private."""
    if not is_text(values):
        if values.dtype.kind not in "buif":
            raise DataError(f"column {name!r} holds {values.dtype}, and numbers are needed")
        numbers = values.astype(np.float64)
    else:
        numbers = by_text(values, lambda text: np.nan if text in gaps else _needed(name, text, decimal_comma))
    if np.isinf(numbers).any():
        raise DataError(f"column {name!r}: {int(np.isinf(numbers).sum())} values are infinite (infinity)")
    return numbers


def _needed(name: str, text: str, decimal_comma: bool) -> float:
    number = number_of(text, decimal_comma)
    if number is None:
        raise DataError(f"column {name!r}: a value is not a finite number")
    return number


def by_text(values: np.ndarray, make: Callable[[str], float]) -> np.ndarray:
    """make(text) of each value, called once for each text. A gap stays one: NaN."""
    made: Dict[str, float] = {}
    out = np.empty(len(values))
    for i, value in enumerate(values):
        if is_gap(value):
            out[i] = np.nan
            continue
        text = text_of(value)
        if text not in made:
            made[text] = make(text)
        out[i] = made[text]
    return out


def days_of(name: str, values: np.ndarray, gaps: Sequence[str], pattern: str) -> np.ndarray:
    """Days since 1970-01-01 of texts by a pattern, or of numpy's, pandas' and Python's dates. NaN: missing."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[us]").astype(np.int64) / 86400e6
        return np.where(np.isnat(values), np.nan, days)
    if values.dtype.kind in "uif":
        raise DataError(f"column {name!r} holds numbers, and dates are needed: texts in the format {pattern}, or "
                        "datetime64")
    if any(isinstance(value, datetime.date) for value in values):
        return days_of(name, np.array([None if is_gap(v) else v for v in values], "datetime64[us]"), gaps, pattern)
    format_ = _pattern(pattern)

    def day(text: str) -> float:
        found = np.nan if text in gaps else _day(format_, text)
        if found is None:
            raise DataError(f"column {name!r}: a value is not a date of the calendar in the format {pattern}")
        return found

    return by_text(values, day)


def _pattern(pattern: str) -> "re.Pattern[str]":
    pieces: List[str] = []
    for code, plain in re.findall(r"%(.)|([^%])", pattern):
        pieces.append(_digits[code] if code else re.escape(plain))
    return re.compile("".join(pieces) + r"\Z", re.ASCII)


def _day(pattern: "re.Pattern[str]", text: str) -> Optional[float]:
    match = pattern.match(text)
    if not match:
        return None
    part = {key: int(value) for key, value in match.groupdict().items()}
    hour, minute, second = part.get("H", 0), part.get("M", 0), part.get("S", 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        ordinal = datetime.date(part["Y"], part.get("m", 1), part.get("d", 1)).toordinal()
    except ValueError:
        return None
    return ordinal - _epoch + (3600.0 * hour + 60.0 * minute + second) / 86400
