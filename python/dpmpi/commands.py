"""Commands whose answers are JSON: plan, account, calibrate, verify, evaluate."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _program
from ._config import config_file
from .run import Run
from .training import Config, PathLike

Events = Union[PathLike, Iterable["Mapping[str, Any]"]]


def plan(config: Config, ranks: Iterable[int] = (1, 2, 4, 8)) -> Dict[str, Any]:
    """What a training would promise and cost: noise, events, epsilon, seconds. No record is used.

    config  as for ``train``
    ranks   numbers of processes to predict the time for
    """
    wanted = ["--ranks", ",".join(str(int(n)) for n in ranks), "--json"]
    with config_file(config) as path:
        return json.loads(_program.ask(["plan", "--config", path, *wanted]))


def account(events: Events, *, delta: Optional[float] = None, epsilon: Optional[float] = None,
            accountant: str = "best", adjacency: Optional[str] = None, group: int = 1) -> Dict[str, Any]:
    """epsilon at ``delta``, or delta at ``epsilon``, of a ledger or a list of events.

    events  a path of a ledger, or dictionaries such as
            ``{"event": "poisson_gaussian", "sampling_rate": 0.01, "noise_multiplier": 1, "count": 1000}``
    group   asks for somebody who has so many records

    The answer has ``epsilon``, ``delta``, ``by`` (of each accountant) and ``interval`` (lower and upper bound).
    """
    options = _options(delta=delta, epsilon=epsilon, accountant=accountant, adjacency=adjacency, group=group)
    return json.loads(_ask_of("account", events, options))


def calibrate(events: Events, *, epsilon: float, delta: float, accountant: str = "best",
              adjacency: Optional[str] = None) -> Dict[str, Any]:
    """The number that stands for every ``"?"`` of the events, so that (epsilon, delta) is kept."""
    options = _options(epsilon=epsilon, delta=delta, accountant=accountant, adjacency=adjacency)
    return json.loads(_ask_of("calibrate", events, options))


def verify(run: Union[PathLike, Run]) -> Dict[str, Any]:
    """Whether the files of a run fit together: ``verified``, and ``checks`` with result, place and detail.

    Does not raise if they do not fit: look at ``verified``.
    """
    folder = run.path if isinstance(run, Run) else run
    bad = 4
    return json.loads(_program.ask(["verify", os.path.abspath(folder), "--json"], answers=(0, bad)))


def evaluate(run: Union[PathLike, Run], data: Optional[PathLike] = None, *, by: Optional[str] = None,
             bootstrap: Optional[int] = None) -> Dict[str, Any]:
    """How good a model is on PUBLIC labelled records: ``metrics``, ``intervals`` and ``constants`` by name.

    run        the run directory, or its model.safetensors
    data       a file; without it the run's data.eval. The numbers have no noise
    by         a feature: the same for each of its values
    bootstrap  resamples for the intervals; 0: none
    """
    folder = run.path if isinstance(run, Run) else run
    options = _options(data=None if data is None else os.path.abspath(data), by=by, bootstrap=bootstrap)
    return json.loads(_program.ask(["evaluate", os.path.abspath(folder), *options, "--json"]))


def _options(**given: Any) -> List[str]:
    options: List[str] = []
    for name, value in given.items():
        if value is not None:
            options += [f"--{name}", repr(value) if isinstance(value, float) else str(value)]
    return options


def _ask_of(command: str, events: Events, options: List[str]) -> str:
    if isinstance(events, (str, Path, os.PathLike)):
        return _program.ask([command, os.path.abspath(events), *options, "--json"])
    lines = "".join(json.dumps(dict(event)) + "\n" for event in events)
    return _program.ask([command, "-", *options, "--json"], given=lines)
