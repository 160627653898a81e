"""The settings in a model file: sections [data] and [objective] of a config, where they are not the defaults."""

from dataclasses import dataclass
from typing import Dict, List, Optional

from ..errors import DataError
from .safetensors import ModelFile


def read_settings(text: str) -> Dict[str, str]:
    """``{"section.key": value}`` of the text of a config."""
    settings: Dict[str, str] = {}
    section = last = ""
    for raw in text.lstrip("\ufeff").split("\n"):
        line = raw.split("#", 1)[0].strip()
        key, equals, _ = line.partition("=")
        if line.startswith("[") and line.endswith("]"):
            section, last = line[1:-1].strip() + ".", ""
        elif line and not equals and last and settings[last].endswith(","):  # a list goes on
            settings[last] += " " + line
        elif equals:
            last = section + key.strip()
            value = raw.split("=", 1)[1].strip()
            settings[last] = _unquoted(value) if value.startswith('"') else value.split("#", 1)[0].strip()
    return settings


def _unquoted(text: str) -> str:
    value, at = "", 1
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\"
        value += text[at:at + 1]
        at += 1
    return value


@dataclass(frozen=True)
class Recipe:
    """How records are read, and what the model is. features: numbers of a record, after all preparation."""

    objective: str
    settings: Dict[str, str]
    features: int
    columns: Optional[str] = None  # the text of the columns file

    def text(self, key: str, otherwise: str = "") -> str:
        return self.settings.get(key, otherwise)

    def number(self, key: str, otherwise: float) -> float:
        return float(self.settings.get(key) or otherwise)

    def list(self, key: str) -> List[str]:
        """Entries between commas."""
        value = self.settings.get(key, "")
        return [entry.strip() for entry in value.split(",")] if value.strip() else []


def recipe_in(file: ModelFile) -> Recipe:
    """Raises DataError where the file does not say how records are read."""
    says = file.metadata
    if "recipe" not in says:
        raise DataError(f"{file.path} does not say how records are read (plugins, searches, older versions and very "
                        "long columns files): use dpmpi predict with the run directory")
    if not says.get("features", "").isdigit():
        raise DataError(f"{file.path}: its header does not say how many features records have")
    return Recipe(says.get("objective", ""), read_settings(says["recipe"]), int(says["features"]), says.get("columns"))
