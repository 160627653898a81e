"""scikit-learn's conventions, from scikit-learn where it is installed, and as much of them as is needed where not."""

import inspect
import warnings
from typing import Any, Callable, Dict, Tuple, TypeVar

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.multiclass import check_classification_targets

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """predict before fit."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters are the arguments of the constructor, kept under their names."""

        def get_params(self, deep: bool = True) -> Dict[str, Any]:
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> "BaseEstimator":
            for name, value in params.items():
                if name not in self.get_params():
                    raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """Mean accuracy."""

        _estimator_type = "classifier"

        def score(self, X: Any, y: Any) -> float:
            return float(np.mean(self.predict(X) == np.asarray(y)))  # type: ignore[attr-defined]

    class RegressorMixin:  # type: ignore[no-redef]
        """R squared."""

        _estimator_type = "regressor"

        def score(self, X: Any, y: Any) -> float:
            y = np.asarray(y, float)
            off = y - self.predict(X)  # type: ignore[attr-defined]
            return float(1 - off @ off / ((y - y.mean()) @ (y - y.mean())))


def checked(estimator: Any, X: Any, y: Any, numeric_y: bool) -> Tuple[np.ndarray, np.ndarray]:
    """X as n x d float64 and y as n labels, both finite; sets n_features_in_ and the names of the columns."""
    if HAS_SKLEARN:
        y = numbers(y) if numeric_y and y is not None else y  # scikit-learn leaves texts as they are
        X, y = _sklearn_data(estimator, X, y, y_numeric=numeric_y, reset=True)
        if not numeric_y:
            check_classification_targets(y)
        return X, y
    _plain_names(estimator, X, reset=True)
    X, y = _plain(X), numbers(y) if numeric_y else np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"y has the shape {y.shape}, where X has {len(X)} records")
    if numeric_y and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity")
    estimator.n_features_in_ = X.shape[1]
    return X, y


def checked_new(estimator: Any, X: Any) -> np.ndarray:
    """X as n x d float64 with as many columns as fit() had. Raises NotFittedError before it."""
    require_fitted(estimator)
    if HAS_SKLEARN:
        return _sklearn_data(estimator, X, reset=False)
    _plain_names(estimator, X, reset=False)
    X = _plain(X)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                         f"{estimator.n_features_in_} features as input")
    return X


def require_fitted(estimator: Any) -> None:
    if not hasattr(estimator, "model_"):
        raise NotFittedError(f"this {type(estimator).__name__} instance is not fitted yet: call fit first")


def _sklearn_data(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    try:
        from sklearn.utils.validation import validate_data  # 1.6 and later
    except ImportError:
        validate_data = type(estimator)._validate_data
    if any(np.iscomplexobj(values) for values in (X, *y)):  # scikit-learn quotes them
        raise ValueError("Complex data not supported")
    return values_not_quoted(lambda: validate_data(estimator, X, *y, dtype=np.float64, **how))


Made = TypeVar("Made")


def values_not_quoted(make: Callable[[], Made]) -> Made:
    """numpy quotes the text that is no number, and it may be of a private record. Nor is it left in __context__."""
    try:
        return make()
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
    raise ValueError("X or y holds a text that is no number")


def numbers(values: Any) -> np.ndarray:
    """As float64. Raises ValueError without their values for what is no number."""
    if np.iscomplexobj(values):
        raise ValueError("Complex data not supported")
    return values_not_quoted(lambda: np.asarray(values, dtype=np.float64))


def _plain(X: Any) -> np.ndarray:
    array = numbers(X)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"X has the shape {array.shape}, where records x features are needed")
    if not np.isfinite(array).all():
        raise ValueError("X contains NaN or infinity")
    return array


def _plain_names(estimator: Any, X: Any, reset: bool) -> None:
    """Warns where columns have other names than in fit()."""
    names = [str(name) for name in getattr(X, "columns", ())]
    if reset:
        estimator._names = names
    elif names != estimator._names:
        warnings.warn("the names of the columns are not those that fit was given", UserWarning, stacklevel=3)
