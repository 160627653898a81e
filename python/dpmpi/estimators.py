"""Estimators with scikit-learn's conventions: each fit is one training, with one promise.

What fit takes from its arguments without noise, and so takes to be public: the number of records, the number and names
of the columns, whether all values are finite, and the set of the classes (or ``classes``). All else of X and y goes
into the training alone. Two fits on the same records are two promises, whose epsilons add up at worst: grid searches
and cross-validation on private records spend a multiple of epsilon. ``dpmpi tune`` pays for a choice once.
"""

from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from ._config import flat
from ._conventions import BaseEstimator, ClassifierMixin, RegressorMixin
from ._conventions import checked, checked_new, numbers, require_fitted
from ._private_folder import private_folder
from ._records_file import Columns, text_of_columns, write_arrays, write_table
from .errors import Error, Stopped
from .model import Model
from .model.fields import is_gap
from .model.table import Table, table_of
from .run import Run
from .training import resume, train

_fresh_noise = "it compares two fits, and each has noise of its own: noise that came again could be subtracted"
_few_records = "it wants every class among the predictions, and noise that hides one of 30 records may hide a class"

# Checks of scikit-learn that no private estimator passes (docs/guide/python.md).
FORCED_BY_PRIVACY = {
    "check_fit_idempotent": _fresh_noise,
    "check_supervised_y_2d": _fresh_noise,
    "check_classifier_data_not_an_array": _fresh_noise,
    "check_regressor_data_not_an_array": _fresh_noise,
    "check_regressors_int": _fresh_noise,
    "check_classifiers_classes": _few_records,
}


class _Private(BaseEstimator):
    """What the estimators share: from records to a trained model."""

    epsilon: float
    delta: Optional[float]
    columns: Optional[Columns]
    settings: Optional["Mapping[str, Any]"]
    run_dir: Optional[str]
    ranks: int
    show: bool
    model_: Model
    _goes_on = False

    def _checked(self, X: Any, y: Any, numeric_y: bool) -> Tuple[Union[np.ndarray, Table], np.ndarray]:
        """n x d numbers, or the table that ``columns`` speaks of; and n labels."""
        if self.columns is None:
            return checked(self, X, y, numeric_y)
        table, y = table_of(X), numbers(y) if numeric_y else np.asarray(y)
        if y.shape != (table.records,):
            raise ValueError(f"y has the shape {y.shape}, where X has {table.records} records")
        if any(is_gap(label) for label in y.tolist()):
            raise ValueError("y contains NaN")
        self.n_features_in_ = table.width
        return table, y

    def _train(self, X: Union[np.ndarray, Table], y: np.ndarray, prepare: str, settings: Dict[str, Any]) -> None:
        """X: n x d, or a table; y: labels as the program takes them, n."""
        if prepare not in ("private", "none"):
            raise ValueError(f"prepare is {prepare!r}, allowed: 'private' and 'none'")
        if len(y) == 1 and self.delta is None:
            raise ValueError("n_samples=1: delta = n^-1.1 is not below 1, so delta is needed")
        with private_folder(_bytes_of(X, y)) as folder:
            config = {**self._files(folder, X, y, prepare), "data.root": str(folder), "data.prepare": prepare,
                      "privacy.epsilon": self.epsilon, "privacy.delta": self.delta,
                      "data.blocks": _blocks(self.ranks), **settings, **dict(flat(self.settings or {}))}
            with self._stops_told(folder):
                run = self._run(config, folder)
            self.model_ = run.model
            self.certificate_ = run.certificate
            self.run_ = run if self.run_dir else None

    def _run(self, config: Dict[str, Any], folder: Path) -> Run:
        """A new training, or the rest of one."""
        if not self._goes_on:
            return train(config, self.ranks, run_dir=self.run_dir or folder / "run", show=self.show)
        ours = {key: value for key, value in flat(self.settings or {}) if key.startswith(("run.", "report."))}
        return resume(Run(Path(self.run_dir or "")), self.ranks, settings={"data.root": folder, **ours}, show=self.show)

    @contextmanager
    def _stops_told(self, folder: Path) -> Iterator[None]:
        """A message about files in ``folder`` would send people to what is not there any more."""
        try:
            yield
        except (KeyboardInterrupt, Stopped) as stop:
            stop.args = (self._how_to_go_on(),)
            raise
        except Error as error:
            error.args = tuple(str(arg).replace(f"{folder}/", "") for arg in error.args)
            raise

    def _how_to_go_on(self) -> str:
        if not self.run_dir:
            return ("fit was stopped, and all that it had trained is gone with its private folder; with run_dir= it "
                    "would have left a checkpoint")
        if not (Path(self.run_dir) / "checkpoint" / "latest").is_file():
            return f"fit was stopped before there was a checkpoint in {self.run_dir}"
        return f"fit was stopped with a checkpoint in {self.run_dir}: resume_fit(X, y) on the same records goes on"

    def resume_fit(self, X: Any, y: Any) -> Any:
        """Goes on with the fit in ``run_dir`` that was stopped. X and y are those of that fit; others are refused.

        What it trains is what ``run_dir`` says: arguments of the constructor that changed meanwhile change nothing,
        but ``ranks``, ``show``, and settings of [run] and [report]. The promise is that of the one fit.
        """
        if not self.run_dir:
            raise ValueError("resume_fit needs the run_dir in which fit left its checkpoint")
        self._goes_on = True
        try:
            return self.fit(X, y)  # type: ignore[attr-defined]
        finally:
            del self._goes_on

    def _files(self, folder: Path, X: Union[np.ndarray, Table], y: np.ndarray, prepare: str) -> Dict[str, str]:
        """Writes the records; returns the settings that read them."""
        if isinstance(X, Table):
            assert self.columns is not None
            return write_table(folder, X, y, text_of_columns(self.columns))
        if prepare == "none":
            return write_arrays(folder, X, y)
        names = [f"x{i + 1}" for i in range(X.shape[1])]
        table = Table(names, len(names), len(X), lambda i: X[:, i])
        return write_table(folder, table, y, "".join(f"{name} number\n" for name in names))

    def _scores(self, X: Any) -> np.ndarray:
        X = self._checked_new(X)
        return self.model_.decision_function(X)

    def _checked_new(self, X: Any) -> Any:
        if getattr(self, "columns", None) is None:
            return checked_new(self, X)
        require_fitted(self)
        return X

    @property
    def epsilon_(self) -> float:
        """Of the certificate."""
        require_fitted(self)
        return float(self.certificate_["epsilon"])

    @property
    def delta_(self) -> float:
        """Of the certificate."""
        require_fitted(self)
        return float(self.certificate_["delta"])

    def _more_tags(self) -> Dict[str, Any]:
        """Of scikit-learn before 1.6, where the checks to leave out are a tag, too."""
        return {"non_deterministic": True, "poor_score": True, "_xfail_checks": FORCED_BY_PRIVACY}

    def __sklearn_tags__(self) -> Any:
        """Of scikit-learn 1.6 and later, where ``check_estimator`` takes FORCED_BY_PRIVACY as an argument."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.non_deterministic = True
        return tags


def _bytes_of(X: Union[np.ndarray, Table], y: np.ndarray) -> int:
    """At most, of the file of the records: a number in a text takes 25 bytes, and a word less, mostly."""
    numbers = X.width * X.records if isinstance(X, Table) else X.size
    return 25 * (numbers + y.size)


def _blocks(ranks: int) -> Optional[int]:
    """Few records have one block, and every rank needs one."""
    return None if ranks == 1 else 1 << (int(ranks) - 1).bit_length()


def _settings_of(objective: str, hidden: Sequence[int], records: int) -> Dict[str, Any]:
    """Of dp-sgd: those that follow from what is public for linear models, and numbers for networks."""
    settings: Dict[str, Any] = {"objective.name": objective, "method.name": "dp-sgd"}
    if not hidden:
        names = ("batch", "epochs", "clip", "rate", "momentum", "schedule")
        return {**settings, **{f"method.{name}": "auto" for name in names}}
    return {**settings, "objective.hidden": list(hidden), "method.batch": max(1, min(1024, records // 10)),
            "method.epochs": 20, "method.clip": 1, "method.rate": 1, "method.schedule": "linear"}


class DPClassifier(ClassifierMixin, _Private):
    """Logistic or softmax regression, or a perceptron, trained by dp-sgd.

    epsilon   the budget of a fit
    delta     probability that the promise may fail; None: n^-1.1
    hidden    units of the hidden layers, e.g. (64,); none: a linear model
    classes   the classes, in order. None takes the set of y, which is then public: give them if a class might be absent
    columns   a columns file (docs/guide/columns.md), as a path or a list of its lines, without one of the label: X is
              then a table whose columns go by their names, with words, dates and gaps
    prepare   "private": mean, deviation and range of numbers of which ``columns`` says none are found out under the
              promise, for a tenth of the budget. "none": they are taken as they stand, and should be of about the same
              size, near 1
    settings  settings of a config, over those that are chosen here: {"method.epochs": 20}
    run_dir   keeps the run in this folder. Without it nothing is left on disk
    ranks     processes
    show      whether plan and progress are printed

    After fit: ``classes_``, ``model_`` (of ``load_model``), ``certificate_`` (a dictionary), ``epsilon_``, ``delta_``,
    ``n_features_in_``, and with run_dir ``run_``.
    """

    def __init__(self, epsilon: float = 1.0, delta: Optional[float] = None, *, hidden: Sequence[int] = (),
                 classes: Optional[Sequence[Any]] = None, columns: Optional[Columns] = None,
                 prepare: str = "private",
                 settings: Optional["Mapping[str, Any]"] = None, run_dir: Optional[str] = None, ranks: int = 1,
                 show: bool = False) -> None:
        self.epsilon, self.delta, self.hidden, self.classes = epsilon, delta, hidden, classes
        self.columns, self.prepare, self.settings = columns, prepare, settings
        self.run_dir, self.ranks, self.show = run_dir, ranks, show

    def fit(self, X: Any, y: Any) -> "DPClassifier":
        """X: n x d numbers, or a table of ``columns``. y: n classes. Trains once, and spends epsilon."""
        X, y = self._checked(X, y, numeric_y=False)
        self.classes_, of_class = _encoded(y, self.classes)
        settings = _settings_of("mlp" if self.hidden else "logistic", self.hidden, len(y))
        labels = of_class.astype(np.float64)
        if len(self.classes_) == 2:
            labels = 2 * labels - 1
            settings["objective.head"] = "logistic" if self.hidden else None
        else:
            settings["objective.name"] = "mlp" if self.hidden else "softmax"
            settings["objective.classes"] = len(self.classes_)
        self._train(X, labels, self.prepare, settings)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """n scores of ``classes_[1]``, or n x classes."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """n x classes, in the order of ``classes_``."""
        X = self._checked_new(X)
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """n classes."""
        scores = self.decision_function(X)
        return self.classes_[_chosen(scores)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class DPRegressor(RegressorMixin, _Private):
    """Linear regression, or a perceptron, trained by dp-sgd.

    loss      "squared", "huber" or "absolute" (a perceptron has no "huber")
    y_range   (low, high), public: y counts as its nearer end beyond it, and training sees it scaled to -1 .. 1. None:
              y is taken as it stands, and should be near 1

    All else as for ``DPClassifier``. After fit as there, but for the classes.
    """

    def __init__(self, epsilon: float = 1.0, delta: Optional[float] = None, *, loss: str = "squared",
                 y_range: Optional[Tuple[float, float]] = None, hidden: Sequence[int] = (),
                 columns: Optional[Columns] = None, prepare: str = "private",
                 settings: Optional["Mapping[str, Any]"] = None, run_dir: Optional[str] = None, ranks: int = 1,
                 show: bool = False) -> None:
        self.epsilon, self.delta, self.loss, self.y_range, self.hidden = epsilon, delta, loss, y_range, hidden
        self.columns, self.prepare, self.settings = columns, prepare, settings
        self.run_dir, self.ranks, self.show = run_dir, ranks, show

    def fit(self, X: Any, y: Any) -> "DPRegressor":
        """X: n x d numbers, or a table of ``columns``. y: n numbers. Trains once, and spends epsilon."""
        X, y = self._checked(X, y, numeric_y=True)
        low, high = _ends(self.y_range)
        self._center, self._width = (low + high) / 2, (high - low) / 2
        settings = _settings_of("mlp" if self.hidden else self.loss, self.hidden, len(y))
        if self.hidden:
            settings["objective.head"] = self.loss
        labels = y if self.y_range is None else (np.clip(y, low, high) - self._center) / self._width
        self._train(X, labels, self.prepare, settings)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """n numbers."""
        scores = self._scores(X)
        return self._center + self._width * scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class DPAUC(ClassifierMixin, _Private):
    """A score that ranks one class above the other: the area under the ROC curve, trained by dp-sgda.

    prior     the share of ``classes_[1]``, a public number. None: it is released once with noise, within the promise
    hidden    units of the hidden layers; none: a linear score

    All else as for ``DPClassifier``, but ``prepare``: columns are taken as they stand, and should be of about the same
    size, near 1.
    """

    def __init__(self, epsilon: float = 1.0, delta: Optional[float] = None, *, prior: Optional[float] = None,
                 hidden: Sequence[int] = (), classes: Optional[Sequence[Any]] = None,
                 columns: Optional[Columns] = None,
                 settings: Optional["Mapping[str, Any]"] = None, run_dir: Optional[str] = None, ranks: int = 1,
                 show: bool = False) -> None:
        self.epsilon, self.delta, self.prior, self.hidden, self.classes = epsilon, delta, prior, hidden, classes
        self.columns, self.settings = columns, settings
        self.run_dir, self.ranks, self.show = run_dir, ranks, show

    def fit(self, X: Any, y: Any) -> "DPAUC":
        """X: n x d numbers, or a table of ``columns``. y: n labels of two classes. Trains once, and spends epsilon."""
        X, y = self._checked(X, y, numeric_y=False)
        self.classes_, of_class = _encoded(y, self.classes)
        if len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported. There are {len(self.classes_)} classes")
        records = len(y)
        settings = {"objective.name": "auc", "objective.scorer": "mlp" if self.hidden else "linear",
                    "objective.hidden": list(self.hidden) or None,
                    "objective.prior": 0.5 if self.prior is None else self.prior,
                    "method.name": "dp-sgda", "method.batch": max(1, min(1024, records // 10)), "method.epochs": 20,
                    "method.schedule": "linear"}
        if self.prior is None:  # to a hundredth or two of the records, which costs next to nothing
            settings.update({"method.prior": "private", "method.prior_noise": max(10, records // 50)})
        self._train(X, 2.0 * of_class - 1, "none", settings)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """n scores: higher ones for ``classes_[1]``. Their order is what was trained."""
        scores = self._scores(X)
        return scores - self.model_.threshold

    def predict(self, X: Any) -> np.ndarray:
        """n classes: the second one for scores above the middle of the classes' mean scores."""
        scores = self.decision_function(X)
        return self.classes_[_chosen(scores)]

    def _more_tags(self) -> Dict[str, Any]:
        return {**super()._more_tags(), "binary_only": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score, tags.classifier_tags.multi_class = True, False
        return tags


def _ends(y_range: Optional[Tuple[float, float]]) -> Tuple[float, float]:
    """Of the range, which is -1 .. 1 where nothing is said."""
    if y_range is None:
        return -1.0, 1.0
    ends = np.asarray(y_range)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not np.isfinite(ends).all():
        raise ValueError(f"y_range is {y_range!r}: two finite numbers are needed, (low, high)")
    low, high = ends.astype(float).tolist()
    if not low < high or high - low == np.inf:
        raise ValueError(f"y_range is {y_range!r}: the lower end must be below the higher one, by less than 1.8e308")
    return low, high


def _chosen(scores: np.ndarray) -> np.ndarray:
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def _encoded(y: np.ndarray, classes: Optional[Sequence[Any]]) -> Tuple[np.ndarray, np.ndarray]:
    """The classes, and the number of each label's."""
    known, of_class = np.unique(y, return_inverse=True)
    if classes is not None:
        given = np.asarray(classes)
        place = {label: k for k, label in enumerate(given.tolist())}
        if len(place) < len(given):
            raise ValueError("classes has a class twice")
        strange = [label for label in known.tolist() if label not in place]
        if strange:
            raise ValueError(f"y has {len(strange)} labels that are none of classes")
        of_class = np.array([place[label] for label in known.tolist()])[of_class]
        known = given
    if len(known) < 2:
        raise ValueError("there is one class alone: two are needed (classes= names those that y lacks)")
    return known, of_class
