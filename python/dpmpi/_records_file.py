"""Records of arrays as files that the program reads."""

import csv
from pathlib import Path
from typing import Dict, Iterable, Sequence

import numpy as np

LABEL = "label"


def write_arrays(folder: Path, X: np.ndarray, y: np.ndarray) -> Dict[str, str]:
    """X: n x d; y: n. Returns the settings that read them."""
    np.save(folder / "features.npy", np.ascontiguousarray(X))
    np.save(folder / "labels.npy", np.ascontiguousarray(y))
    return {"data.train": "features.npy,labels.npy"}


def write_table(folder: Path, names: Sequence[str], columns: Iterable[np.ndarray], y: np.ndarray,
                columns_file: str) -> Dict[str, str]:
    """Named columns, of numbers or words, and a line of the columns file for each of them but the label."""
    with open(folder / "records.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*names, LABEL])
        table.writerows(zip(*(column.tolist() for column in columns), y.tolist()))
    (folder / "columns.txt").write_text(f"{columns_file}\n{LABEL} label\n", encoding="utf-8")
    return {"data.train": "records.csv", "data.columns": "columns.txt", "data.header": "yes"}
