"""Training, and going on with it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Iterator, List, Optional, Union

from . import _program
from ._config import config_file, settings_of, texts_of
from .errors import Error
from .model.recipe import read_settings
from .run import Run

PathLike = Union[str, "os.PathLike[str]"]
Config = Union[PathLike, "Mapping[str, Any]"]


def train(config: Config, ranks: int = 2, *, run_dir: Optional[PathLike] = None,
          settings: Optional["Mapping[str, Any]"] = None, show: bool = True) -> Run:
    """Trains, and returns the finished run.

    config   a path of a config file, or a dictionary of sections: ``{"data": {"train": "people.csv"}, ...}``.
             Relative paths of a dictionary are those of the working directory.
    ranks    processes, started by mpirun, or by srun within a Slurm allocation. Results do not depend on it.
    run_dir  the folder of the run. Without it the config's run.dir, else runs/NAME or runs/NAME-2 and so on, where
             NAME is that of the config file, and ``python`` for a dictionary.
    settings over those of the config, as ``--set``: ``{"method.epochs": 1}``
    show     whether the plan and the progress are printed.

    Ctrl-C waits for the step at hand and for a checkpoint, then raises KeyboardInterrupt. ``resume`` goes on.
    Raises the exception of the program's exit code, with its message.
    """
    named = run_dir or texts_of(settings or {}).get("run.dir") or _folder_of(config)
    folder = Path(os.path.abspath(named))
    with config_file(config) as path:
        sets = [*_sets(settings), "--set", f"run.dir={folder}", *_progress(show)]
        _program.follow(["--config", path, *sets], ranks, show)
    return _finished(folder)


def resume(run: Union[PathLike, Run], ranks: int = 2, *, settings: Optional["Mapping[str, Any]"] = None,
           show: bool = True) -> Run:
    """Goes on with a run that was stopped or killed, on any number of ranks, to the bytes of an unstopped one.

    settings  new values of [run] and [report], and of data.root: the folder that relative paths of the data start from.
    """
    folder = Path(os.path.abspath(run.path if isinstance(run, Run) else run))
    _program.follow(["resume", str(folder), *_sets(settings), *_progress(show)], ranks, show)
    return _finished(folder)


def _sets(settings: Optional["Mapping[str, Any]"]) -> List[str]:
    return [word for key, value in texts_of(settings or {}).items() for word in ("--set", f"{key}={value}")]


def _progress(show: bool) -> List[str]:
    how = "none" if not show else "bar" if _program.is_shown_live() else "lines"
    return ["--set", f"report.progress={how}"]


def _finished(folder: Path) -> Run:
    """A module with losses in Python can end the program as if all were well."""
    run = Run(folder)
    if not run.finished:
        raise Error(f"the program ended without an error, and left no certificate in {folder}")
    return run


def _folder_of(config: Config) -> Path:
    """That of the config's run.dir, else a new one."""
    if isinstance(config, Mapping):
        settings, name = settings_of(config), "python"
    else:
        name = Path(config).stem
        try:
            settings = read_settings(Path(config).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            settings = {}  # the program says what is wrong with it
    return Path(settings.get("run.dir") or next(_free_folders(name)))


def _free_folders(name: str) -> Iterator[Path]:
    """runs/NAME, runs/NAME-2, ... of those that are not there. The program refuses one that appears meanwhile."""
    number = 1
    while True:
        folder = Path("runs") / (name if number == 1 else f"{name}-{number}")
        if not os.path.lexists(folder):
            yield folder
        number += 1
