"""A run directory: what a training released."""

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from ._untrusted import read_json, read_json_lines
from .errors import DataError

if TYPE_CHECKING:
    from .model import Model


class Run:
    """The files of a run, read when they are asked for. It may be one of somebody else: nothing of it is executed.

    path  the folder
    """

    def __init__(self, path: "os.PathLike[str]") -> None:
        self.path = Path(os.path.abspath(path))
        if not (self.path / "ledger.jsonl").is_file():
            raise DataError(f"{self.path} is no run directory: it has no ledger.jsonl")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def finished(self) -> bool:
        """Whether it has a certificate. Else ``dpmpi.resume`` goes on with it."""
        return (self.path / "certificate.json").is_file()

    @property
    def certificate(self) -> Dict[str, Any]:
        """The guarantee: ``certificate["epsilon"]``, ``["delta"]``, ``["statement"]``, ...

        It is what the file says. ``dpmpi.verify`` computes it again.
        """
        if not self.finished:
            raise DataError(f"{self.path} has no certificate.json: the run is not finished")
        certificate = read_json(self.path / "certificate.json")
        lacking = [name for name in ("epsilon", "delta") if not _is_amount(certificate.get(name))]
        if lacking:
            raise DataError(f"{self.path / 'certificate.json'} is no certificate: it has no {' and no '.join(lacking)}")
        return certificate

    @property
    def epsilon(self) -> float:
        """Of the certificate."""
        return float(self.certificate["epsilon"])

    @property
    def delta(self) -> float:
        """Of the certificate."""
        return float(self.certificate["delta"])

    @property
    def plan(self) -> Dict[str, Any]:
        """What was known before a record was used."""
        return read_json(self.path / "plan.json")

    @property
    def ledger(self) -> List[Dict[str, Any]]:
        """A dictionary for each line: the header, then every event, written before its noise was drawn."""
        return read_json_lines(self.path / "ledger.jsonl")

    @property
    def metrics(self) -> Dict[str, np.ndarray]:
        """Arrays of one length, an entry for each evaluation; NaN where one has no such number.

        ``step`` (int64), ``epsilon`` so far, ``eval.loss``, ``eval.accuracy``, ... (float64).
        """
        lines = read_json_lines(self.path / "metrics.jsonl")
        names = list(dict.fromkeys(name for line in lines for name in line))
        if len(names) * len(lines) > _MOST_METRICS or not all(_is_step(line.get("step")) for line in lines):
            raise DataError(f"{self.path / 'metrics.jsonl'} holds what no run writes: over {_MOST_METRICS} numbers, or "
                            "a line without its step")
        columns = {name: [line.get(name) for line in lines] for name in names}
        arrays = {name: np.array([np.nan if x is None else x for x in column], float)
                  for name, column in columns.items() if all(_is_number(x) for x in column)}
        if lines:
            arrays["step"] = arrays["step"].astype(np.int64)
        return arrays

    @property
    def model(self) -> "Model":
        """The model, which is compared with the certificate."""
        from .model import load_model

        return load_model(self.path)

    def open_report(self) -> bool:
        """Shows report.html in a browser; False if there is none to show it in."""
        report = self.path / "report.html"
        if not report.is_file():
            raise DataError(f"{report} is not there: dpmpi report {self.path} writes it")
        return webbrowser.open(report.as_uri())


_MOST_METRICS = 10_000_000


def _is_amount(x: Any) -> bool:
    """Of privacy: a number from 0, or what the program writes where there is no noise."""
    return x == "infinity" or (x is not None and _is_number(x) and x >= 0)


def _is_step(x: Any) -> bool:
    return isinstance(x, int) and 0 <= x < 2**53


def _is_number(x: Any) -> bool:
    """Of float64: JSON knows larger ones."""
    return x is None or (isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 2**1023)
