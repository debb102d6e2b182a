"""One table of a TOML file: its values by their kinds, and a sentence for each mistake."""

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError

MISSING: Final = object()
"""The default of a setting that has none: the file must give it."""
_FROM_VARIABLE: Final = ".env"
_TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class TomlTable:
    """One table of the file; knows which of its keys were looked at."""

    def __init__(self, file: Path, path: str, content: Mapping[str, Any]) -> None:
        self.file = file
        self._path = path
        self._content = content
        self._known: list[str] = []

    def wrong(self, key: str, wanted: str) -> SettingError:
        """The error for a value that is not `wanted`."""
        return SettingError(
            f"{self.file}: {self._path}{key} must be {wanted}, not {self._content.get(key)!r}"
        )

    def has(self, key: str) -> bool:
        """Whether the table has that key, which is one that it may have."""
        self._known.append(key)
        return key in self._content

    def content(self, key: str) -> Mapping[str, Any]:
        """A table as it is; empty if it is missing."""
        found: Mapping[str, Any] = self._value(key, {}, dict, "a table")
        return found

    def table(self, key: str) -> "TomlTable":
        """A table; empty if it is missing."""
        return TomlTable(self.file, f"{self._path}{key}.", self.content(key))

    def tables(self, key: str) -> list["TomlTable"]:
        """An array of tables, `[[key]]`; empty if it is missing."""
        found = self._value(key, [], list, "written as [[transform]]")
        if not all(isinstance(one, dict) for one in found):
            raise self.wrong(key, "written as [[transform]]")
        return [TomlTable(self.file, f"{self._path}{key}.", one) for one in found]

    def text(self, key: str, default: object) -> str:
        """Text that is not empty."""
        found: str = self._value(key, default, str, "text")
        if key in self._content and not found.strip():
            raise self.wrong(key, "text that is not empty")
        return found

    def topic(self, key: str) -> str:
        """The name of a topic."""
        found = self.text(key, MISSING)
        if not _TOPIC_NAME.fullmatch(found):
            raise self.wrong(key, "the name of a topic")
        return found

    def topics(self, key: str) -> tuple[str, ...]:
        """The names of topics, at least one."""
        found = self.texts(key, MISSING)
        if not all(map(_TOPIC_NAME.fullmatch, found)):
            raise self.wrong(key, "a list of the names of topics")
        return found

    def texts(self, key: str, default: object) -> tuple[str, ...]:
        """A list of texts."""
        found = self._value(key, default, list if key in self._content else tuple, "a list of texts")
        if not all(isinstance(one, str) and one for one in found) or (not found and default is MISSING):
            raise self.wrong(key, "a list of texts")
        return tuple(dict.fromkeys(found))

    def columns(self, key: str) -> tuple[str, ...]:
        """The name of a column or a list of them; empty if it is missing."""
        if isinstance(self._content.get(key), str):
            return (self.text(key, ""),)
        found = self.texts(key, ())
        if key in self._content and not found:
            raise self.wrong(key, "a column or a list of columns")
        return found

    def option(self, key: str, choices: tuple[str, ...]) -> str:
        """One of `choices`; "" if it is missing."""
        return self.choice(key, choices, MISSING) if key in self._content else self.text(key, "")

    def choice(self, key: str, choices: tuple[str, ...], default: object) -> str:
        """One of `choices`."""
        found = self.text(key, default)
        if found not in choices:
            raise self.wrong(key, f"one of {', '.join(choices)}")
        return found

    def number(self, key: str, default: int, *, lowest: int = 0) -> int:
        """A whole number of at least `lowest`."""
        found: int = self._value(key, default, int, "a whole number")
        if isinstance(found, bool) or not lowest <= found < 1 << 53:
            raise self.wrong(key, f"a whole number of at least {lowest}")
        return found

    def refuse_the_rest(self) -> None:
        """Raises SettingError for a key that was not asked for."""
        for key in self._content:
            if key not in self._known:
                close = get_close_matches(key, self._known, 1)
                hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(self._known)}"
                raise SettingError(f"{self.file}: there is no setting {self._path}{key}; {hint}")

    def _missing(self, key: str) -> str:
        """That a key is not there, or what stands there in its place by mistake."""
        close = get_close_matches(key, self._content, 1)
        if close and close[0] not in self._known:
            return f"there is no setting {self._path}{close[0]}; did you mean {key}?"
        return f"{self._path}{key} is missing"

    def _value(self, key: str, default: object, kind: type, wanted: str) -> Any:
        self._known.append(key)
        if key not in self._content:
            if default is MISSING:
                raise SettingError(f"{self.file}: {self._missing(key)}")
            return default
        if not isinstance(self._content[key], kind):
            raise self.wrong(key, wanted)
        return self._content[key]


def named_values(where: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a table of settings, and of those in it. Raises SettingError.

    In TOML `sasl.mechanism = "PLAIN"` makes a table of its own. `{ env = "NAME" }` stands for the value of a
    variable, so that no secret need be in the file.
    """
    for name, value in _dotted("", given):
        if not name.endswith(_FROM_VARIABLE):
            yield name, value
            continue
        if not isinstance(value, str):
            raise SettingError(f"{where}.{name} must be text")
        if value not in os.environ:
            raise SettingError(f"{where}.{name}: there is no variable {value} in the environment")
        yield name.removesuffix(_FROM_VARIABLE), os.environ[value]


def _dotted(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(f"{path}{key}.", value)
        else:
            yield f"{path}{key}", value
