"""A trained model: what it says of records."""

import hashlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

import numpy as np

from .._untrusted import DOCUMENT, parse_json, read_bytes
from ..errors import ConfigError, DataError, Error, PrivacyRefusal
from .features import features_of
from .labels import class_names, label_kind, scores_are_logits, shift_of_logits
from .recipe import recipe_in
from .safetensors import ModelFile, read_model_file
from .scores import scorer_of, sigmoid
from .table import table_of


class Model:
    """Predictions of a model file, with numpy alone: those of ``dpmpi predict``, up to 1e-6.

    X is one of these, n records of it:

    - anything with columns: a data frame, a dictionary of arrays, an array of records. Columns go by their names where
      the training had a columns file, and others are ignored.
    - an array, records x columns, in the order of the training file (of the columns file, where there was one), without
      the label.

    Values are as the table has them: the model scales them itself. NaN and None are missing values.
    """

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self.metadata = dict(file.metadata)
        with _understood(file):
            self._read(file)

    def _read(self, file: ModelFile) -> None:
        self._recipe = recipe_in(file)
        self._score = scorer_of(self._recipe, file.tensors)
        self.threshold = _middle(file) if self._recipe.objective == "auc" else 0.0  # +1 is predicted above it
        self.label_kind = label_kind(self._recipe)
        self.outputs = self._outputs(file)
        self.classes_: Optional[np.ndarray] = None
        if self.label_kind == "sign":
            self.classes_ = np.array([-1, 1])
        elif self.label_kind == "class":
            self.classes_ = class_names(self._recipe, self.outputs)
        self._shift = shift_of_logits(self._recipe, self.outputs)

    def __getstate__(self) -> ModelFile:
        return self._file

    def __setstate__(self, file: ModelFile) -> None:
        self.__init__(file)  # type: ignore[misc]

    @property
    def n_features_in_(self) -> int:
        """Numbers of a record after all preparation."""
        return self._recipe.features

    @property
    def objective(self) -> str:
        """objective.name of the training."""
        return self._recipe.objective

    def scores(self, X: Any) -> np.ndarray:
        """n x outputs, float64: margins, logits, or the outputs of a network, of one output or one for each class.

        Raises DataError for records that ``dpmpi predict`` refuses. The message quotes no value.
        """
        table = table_of(X)
        with _understood(self._file), np.errstate(all="ignore"):  # of a model that went astray
            records = features_of(self._recipe, table)
            scores = self._score(records.features) - self._shift
        if records.log_exposure is not None and self.label_kind == "count":
            scores = scores + records.log_exposure[:, None].astype(np.float64)
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores; one for each record, n, where there is one output."""
        scores = self.scores(X)
        return scores[:, 0] if self.outputs == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """n x classes, float64, in the order of ``classes_``. For logistic and softmax losses."""
        if not scores_are_logits(self._recipe):
            raise ConfigError(f"models of {self.objective} have scores, and no probabilities")
        scores = self.scores(X)
        if self.outputs == 1:
            return np.concatenate([sigmoid(-scores), sigmoid(scores)], axis=1)
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def predict(self, X: Any, threshold: Optional[float] = None) -> np.ndarray:
        """n predictions: entries of ``classes_``, or float64 numbers (expected counts of count models).

        threshold  predict +1 where its probability is above it, in (0, 1); for logistic losses.
        """
        if threshold is not None:
            return self._above(X, threshold)
        scores = self.scores(X)
        if self.classes_ is None:
            return self._quantities(scores)
        chosen = scores.argmax(axis=1) if self.outputs > 1 else (scores[:, 0] > self.threshold).astype(int)
        return self._named(chosen, np.isnan(scores).any(axis=1))

    def _above(self, X: Any, threshold: float) -> np.ndarray:
        if not 0 < threshold < 1:
            raise ConfigError(f"threshold is {threshold}, allowed: numbers in (0, 1)")
        if self.outputs > 1 or self.label_kind != "sign":
            raise ConfigError("threshold is for probabilities of +1, and this model has none")
        probability = self.predict_proba(X)[:, 1]
        return self._named((probability > threshold).astype(int), np.isnan(probability))

    def _quantities(self, scores: np.ndarray) -> np.ndarray:
        largest = float(np.finfo(np.float32).max)
        with np.errstate(over="ignore"):
            quantities = np.exp(scores[:, 0]) if self.label_kind == "count" else scores[:, 0]
        return np.where(np.isnan(scores[:, 0]), np.nan, np.clip(quantities, -largest, largest))

    def _named(self, chosen: np.ndarray, unscored: np.ndarray) -> np.ndarray:
        """The classes; records whose score is no number get NaN, or the word nan."""
        assert self.classes_ is not None
        names = self.classes_[chosen]
        if not unscored.any():
            return names
        names = names.astype(object if names.dtype.kind == "U" else float)
        names[unscored] = "nan" if names.dtype.kind == "O" else np.nan
        return names

    def _outputs(self, file: ModelFile) -> int:
        if self.label_kind != "class":
            return 1
        named = self._recipe.text("objective.classes")
        if named.isdigit():
            return int(named)
        raise DataError(f"{file.path} does not say how many classes there are")


@contextmanager
def _understood(file: ModelFile) -> Iterator[None]:
    """A file from anybody may say anything: what does not fit together is one error."""
    try:
        yield
    except Error:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration, RecursionError,
            MemoryError):
        raise DataError(f"{file.path}: its recipe, its columns and its tensors do not fit together") from None


def _middle(file: ModelFile) -> float:
    """Between the mean scores of the classes."""
    try:
        return float((file.tensors["a.bias"].ravel()[0] + file.tensors["b.bias"].ravel()[0]) / np.float32(2))
    except (KeyError, IndexError):
        raise DataError(f"{file.path} has no mean scores of the classes") from None


def load_model(path: "os.PathLike[str] | str") -> Model:
    """The model of a run directory, or of a model file alone.

    With a run directory the model is compared with certificate.json first, as ``dpmpi predict`` does. Nothing certifies
    a model file by itself. Either may come from anybody: it is read as numbers and text, and nothing of it is executed.
    """
    place = Path(path)
    if not place.is_dir():
        return Model(read_model_file(place))
    file = read_model_file(place / "model.safetensors")
    text = read_bytes(place / "certificate.json", DOCUMENT)
    certificate = parse_json(text, str(place / "certificate.json"))
    if not isinstance(certificate.get("model_digest"), str):
        raise DataError(f"{place}/certificate.json is no certificate: it has no model_digest")
    says = file.metadata.get("certificate")
    if certificate.get("model_digest") != file.digest or says not in (None, hashlib.sha256(text).hexdigest()):
        raise PrivacyRefusal(f"{file.path} is not the model of {place}/certificate.json: find out what changed with "
                             f"dpmpi verify {place}")
    return Model(file)
