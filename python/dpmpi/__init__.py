"""Train models on sensitive records with a proof of privacy: the program dpmpi from Python.

``train``, ``resume``, ``plan``, ``account``, ``calibrate``, ``verify`` and ``evaluate`` run the program. ``Run`` and
``load_model`` read what it wrote, with numpy alone. ``DPClassifier``, ``DPRegressor`` and ``DPAUC`` train from arrays.
docs/guide/python.md says more.
"""

from typing import TYPE_CHECKING, Any

from .commands import account, calibrate, evaluate, plan, verify
from .errors import (ConfigError, DataError, Error, InternalError, MpiError, PrivacyRefusal, Stopped)
from .model import Model, load_model
from .run import Run
from .training import resume, train

if TYPE_CHECKING:
    from .estimators import DPAUC, DPClassifier, DPRegressor

__version__ = "0.1.0"
__all__ = ["ConfigError", "DPAUC", "DPClassifier", "DPRegressor", "DataError", "Error", "InternalError", "Model",
           "MpiError", "PrivacyRefusal", "Run", "Stopped", "account", "calibrate", "evaluate", "load_model", "plan",
           "resume", "train", "verify"]

_estimators = ("DPClassifier", "DPRegressor", "DPAUC")


def __getattr__(name: str) -> Any:
    """Estimators are loaded when they are asked for: scikit-learn takes a second, and need not be there."""
    if name in _estimators:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'dpmpi' has no attribute {name!r}")
