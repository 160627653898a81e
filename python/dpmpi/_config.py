"""Configs as dictionaries."""

import os
import re
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Tuple

from ._private_folder import private_folder
from .errors import ConfigError, Error

_files = ("objective.trainer", "objective.library")  # are looked for beside the config, which a dictionary is not


def texts_of(config: Mapping) -> Dict[str, str]:
    """``{"method.rate": "0.5", ...}`` of ``{"method": {"rate": 0.5}}`` or ``{"method.rate": 0.5}``, without None."""
    return {key: _text(key, value) for key, value in flat(config) if value is not None}


def settings_of(config: Mapping) -> Dict[str, str]:
    """The same of a whole config, whose relative paths are those of the working directory."""
    settings = texts_of(config)
    settings.setdefault("data.root", os.getcwd())
    for key in _files:
        if settings.get(key):
            settings[key] = os.path.abspath(settings[key])
    return settings


@contextmanager
def config_file(config: "Mapping[str, Any] | os.PathLike[str] | str") -> Iterator[str]:
    """The path of a config; of a dictionary's while it lasts. Messages call that one ``config``."""
    if not isinstance(config, Mapping):
        yield os.path.abspath(config)
        return
    with private_folder() as folder:
        written = folder / "python.ini"
        written.write_text(ini_of(settings_of(config)), encoding="utf-8")
        try:
            yield str(written)
        except Error as error:
            error.args = tuple(str(arg).replace(str(written), "config") for arg in error.args)
            raise


def ini_of(settings: Mapping) -> str:
    """The text of a config file."""
    text = ""
    for section in dict.fromkeys(key.split(".", 1)[0] for key in settings):
        text += f"[{section}]\n"
        for key, value in settings.items():
            if key.startswith(section + "."):
                text += f"{key.split('.', 1)[1]} = {_written(value)}\n"
    return text


def flat(config: Mapping) -> Iterator[Tuple[str, Any]]:
    """Pairs of section.key and value. Raises ConfigError for keys that are written otherwise."""
    for key, value in config.items():
        inner = value.items() if isinstance(value, Mapping) else [(None, value)]
        for name, setting in inner:
            full = key if name is None else f"{key}.{name}"
            if not isinstance(full, str) or not re.fullmatch(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+", full):
                raise ConfigError(f"{full!r} is no setting: they are written section.key, or {{section: {{key: ...}}}}")
            yield full, setting


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(key, entry) for entry in value)
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text):
        raise ConfigError(f"{key} holds a line break or a control character, which no config can hold")
    return text


def _written(value: str) -> str:
    """As config files quote values."""
    if value == value.strip() and not value.startswith('"') and "#" not in value and not value.endswith(","):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
