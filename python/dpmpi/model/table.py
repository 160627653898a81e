"""Records as columns: from arrays, data frames, dictionaries, and whatever else has columns."""

from collections.abc import Mapping
from typing import Any, Callable, List, Optional

import numpy as np

from ..errors import DataError


class Table:
    """names of the columns, or None if they go by their places; ``column(i)``: an array of one entry a record."""

    def __init__(self, names: Optional[List[str]], width: int, records: int,
                 column: Callable[[int], np.ndarray]) -> None:
        self.names, self.width, self.records, self.column = names, width, records, column


def table_of(X: Any) -> Table:
    """A table of anything with columns, or of an array, records x columns."""
    if isinstance(X, Mapping):
        return _by_names(list(X.keys()), lambda name: X[name])
    if isinstance(X, np.ndarray) and X.dtype.names:
        return _by_names(list(X.dtype.names), lambda name: X[name])
    names = getattr(X, "column_names", None)
    names = getattr(X, "columns", None) if names is None else names
    if names is not None and hasattr(X, "__getitem__") and not callable(names):
        return _by_names(list(names), lambda name: X[name])
    if hasattr(X, "toarray"):  # sparse matrices
        X = X.toarray()
    array = np.asarray(X)
    if array.ndim != 2:
        raise DataError(f"Expected 2D array of records x columns, got {array.ndim}D array instead. Reshape your data "
                        "with array.reshape(-1, 1) for one column or array.reshape(1, -1) for one record")
    return Table(None, array.shape[1], array.shape[0], lambda i: array[:, i])


def _by_names(keys: List[Any], get: Callable[[Any], Any]) -> Table:
    columns = [np.asarray(get(key)) for key in keys]
    names = [str(key) for key in keys]
    if len(set(names)) < len(names):
        raise DataError(f"columns that the table has twice: {sorted({n for n in names if names.count(n) > 1})}")
    for name, column in zip(names, columns):
        if column.ndim != 1 or len(column) != len(columns[0]):
            raise DataError(f"column {name!r} is not one value for each record")
    return Table(names, len(names), len(columns[0]) if columns else 0, lambda i: columns[i])
