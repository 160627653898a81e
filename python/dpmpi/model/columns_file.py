"""Columns files (docs/guide/columns.md): what every column of a table is."""

import re
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Tuple

from ..errors import DataError

KINDS = ("number", "yes/no", "category", "ordinal", "date", "ignore", "label", "person", "weight", "exposure")
USUAL_GAPS = ("", "?", "NA")

_word = re.compile(r'"((?:[^"]|"")*)"|([^ \t,="]+)')
_value = re.compile(r'"((?:[^"]|"")*)"|([^ \t,"]*)')


@dataclass
class ColumnRule:
    """A line of the file. attributes: the words behind each key, none for a flag."""

    name: str
    kind: str
    attributes: Dict[str, List[str]] = field(default_factory=dict)

    def has(self, key: str) -> bool:
        return key in self.attributes

    def words(self, key: str) -> List[str]:
        return self.attributes.get(key, [])

    def word(self, key: str) -> Optional[str]:
        return self.attributes[key][0] if self.attributes.get(key) else None

    def number(self, key: str, otherwise: float) -> float:
        return float(self.attributes[key][0]) if key in self.attributes else otherwise

    @property
    def range(self) -> Optional[Tuple[float, float]]:
        text = self.word("range")
        if text is None:
            return None
        low, high = text.split("..", 1)
        return float(low), float(high)

    @property
    def yes_no(self) -> Tuple[List[str], List[str]]:
        return self.attributes.get("true", ["yes", "true", "1"]), self.attributes.get("false", ["no", "false", "0"])

    @property
    def known_words(self) -> List[str]:
        yes, no = self.yes_no if self.kind == "yes/no" else ([], [])
        return self.words("words") + yes + no

    @property
    def gaps(self) -> List[str]:
        """The words that mean "there is no value"."""
        if self.has("missing"):
            return self.words("missing")
        return [gap for gap in USUAL_GAPS if gap not in self.known_words]


def read_columns_file(text: str) -> List[ColumnRule]:
    """Its lines, in their order."""
    return [_rule(line) for line in _whole_lines(text)]


def _is_open(line: str) -> bool:
    """Whether the line ends in a comma behind which it goes on."""
    bare = re.sub(r'"(?:[^"]|"")*"', '""', line)
    bare = re.sub(r"(^|[ \t])#.*", "", bare)
    return bare.rstrip().endswith(",")


def _begins_column(line: str) -> bool:
    """Whether it is NAME KIND ..., which what goes on behind a comma cannot be."""
    words = [_text(match) for match in _word.finditer(line)][:2]
    return len(words) == 2 and words[1] in KINDS and not re.match(r"\s*\S*,", line)


def _whole_lines(text: str) -> Iterator[str]:
    whole, is_open = "", False
    for line in text.lstrip("\ufeff").split("\n"):
        line = line.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if is_open and _begins_column(line):
            yield whole
            whole = ""
        whole += line
        is_open = _is_open(line)
        if not is_open:
            yield whole
            whole = ""
    if whole:
        yield whole


def _text(match: "re.Match[str]") -> str:
    return match.group(1).replace('""', '"') if match.group(1) is not None else match.group(2)


def _rule(line: str) -> ColumnRule:
    words, at = [], 0
    for _ in range(2):  # a name or a kind is all up to a blank
        match = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^ \t"]+))').match(line, at)
        if not match:
            raise DataError("a columns file has a line that is not NAME KIND ATTRIBUTES")
        words.append(_text(match))
        at = match.end()
    rule = ColumnRule(words[0], words[1])
    if rule.kind not in KINDS:
        raise DataError(f"kind {rule.kind!r} of column {rule.name!r} is not known here")
    while True:
        at += len(line[at:]) - len(line[at:].lstrip(" \t"))
        match = _word.match(line, at)
        if not match or line[at] == "#":
            return rule
        at = match.end()
        rule.attributes[_text(match)], at = _values(line, at)


def _values(line: str, at: int) -> Tuple[List[str], int]:
    """The words behind a key, each behind = or a comma."""
    values: List[str] = []
    while at < len(line) and line[at] in "=,":
        skipped = re.compile(r"[ \t]*").match(line, at + 1) if values else None
        match = _value.match(line, skipped.end() if skipped else at + 1)
        assert match is not None  # it matches the empty word
        values.append(_text(match))
        at = match.end()
    return values, at
