"""Records of arrays and tables as files that the program reads."""

import csv
import os
from pathlib import Path
from typing import Any, Dict, List, Sequence, Union

import numpy as np

from .errors import ConfigError
from .model.columns_file import ColumnRule, read_columns_file
from .model.fields import is_gap
from .model.table import Table

Columns = Union[str, "os.PathLike[str]", Sequence[str]]


def text_of_columns(columns: Columns) -> str:
    """Of a columns file that is given by its path, or by its lines."""
    if isinstance(columns, (str, os.PathLike)):
        return Path(columns).read_text(encoding="utf-8")
    return "".join(line + "\n" for line in columns)


def write_arrays(folder: Path, X: np.ndarray, y: np.ndarray) -> Dict[str, str]:
    """X: n x d; y: n. Returns the settings that read them."""
    np.save(folder / "features.npy", np.ascontiguousarray(X))
    np.save(folder / "labels.npy", np.ascontiguousarray(y))
    return {"data.train": "features.npy,labels.npy"}


def write_table(folder: Path, table: Table, y: np.ndarray, columns_file: str) -> Dict[str, str]:
    """The columns that the file names, and y beside them. Returns the settings that read them."""
    rules = read_columns_file(columns_file)
    if table.names is None:
        raise ConfigError("columns name the columns of X, and X has no names: give a data frame or a dictionary")
    if any(rule.kind == "label" for rule in rules):
        raise ConfigError("columns have a line of kind label, and the labels are y: leave the line out")
    lacking = [rule.name for rule in rules if rule.name not in table.names]
    if lacking:
        raise ConfigError(f"columns that the table has not: {', '.join(map(repr, lacking))}")
    label = "label"
    while label in table.names:
        label += "_"
    fields = [_fields(rule, table.column(table.names.index(rule.name))) for rule in rules]
    with open(folder / "records.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*(rule.name for rule in rules), label])
        rows.writerows(zip(*fields, y.tolist()))
    (folder / "columns.txt").write_text(f"{columns_file}\n{label} label\n", encoding="utf-8")
    return {"data.train": "records.csv", "data.columns": "columns.txt", "data.header": "yes"}


def _fields(rule: ColumnRule, values: np.ndarray) -> List[Any]:
    """As a table has them: a gap is the first word for one, dates have their format."""
    gap = next(iter(rule.gaps), "")
    if values.dtype.kind in "if" and rule.kind == "number" and not np.isnan(values).any():
        return values.tolist()
    if values.dtype.kind == "M":
        values = np.array(values.astype("datetime64[us]").tolist(), dtype=object)
    yes, no = (words[0] for words in rule.yes_no)
    names = {True: yes, False: no} if values.dtype.kind == "b" and rule.kind == "yes/no" else {}
    return [gap if is_gap(value) else names.get(value, _field(rule, value)) for value in values.tolist()]


def _field(rule: ColumnRule, value: Any) -> Any:
    if rule.kind == "date" and hasattr(value, "strftime"):
        return value.strftime(rule.word("format"))
    if isinstance(value, float) and value.is_integer():  # a word of a column with gaps, which are floats in numpy
        return int(value)
    return value
