"""The definition of one setting. A settings class declares each of its fields with `setting(...)`, the only
place that has the name, the kind, the default, the bounds and the description."""

import sys
from collections.abc import Callable
from dataclasses import field, fields
from enum import Enum, IntEnum
from typing import Any, TypeAlias

from odradek.base.errors import SettingError
from odradek.base.values import value

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | frozenset[str] | None

LONG_MAX = (1 << 63) - 1
INT_MAX = (1 << 31) - 1
INT_MIN = -(1 << 31)


class Kind(IntEnum):
    """The type of a setting; the numbers are those of DescribeConfigs responses."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Update(Enum):
    """How a broker setting may change while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


NUMBER_RANGES: dict[Kind, tuple[float, float]] = {
    Kind.SHORT: (-(1 << 15), (1 << 15) - 1),
    Kind.INT: (INT_MIN, INT_MAX),
    Kind.LONG: (-(1 << 63), LONG_MAX),
    Kind.DOUBLE: (-sys.float_info.max, sys.float_info.max),
}
"""What a number may be by its kind; within the range of a double, there is no infinity."""


@value
class Setting:
    """One setting by its Kafka name; `parse` and `render` translate between text and value."""

    name: str
    kind: Kind
    default: Value
    doc: str
    # The bounds of a number, both inclusive; None where the kind's own range is the bound.
    least: float | None = None
    most: float | None = None
    # The texts that may stand here (in each element of a list); empty when any may.
    choices: tuple[str, ...] = ()
    # How the setting may change at run time; topic settings always may.
    update: Update = Update.READ_ONLY
    # For a topic setting: (broker setting, factor to this setting's unit), the first one given wins.
    broker_names: tuple[tuple[str, int], ...] = ()
    # A check that bounds and choices cannot express: says what is wrong, or None.
    fault: Callable[[Any], str | None] | None = None
    # Why the setting has no effect; for settings accepted only because Kafka has them.
    no_effect: str = ""

    @property
    def is_secret(self) -> bool:
        """Whether the value is never shown: a password, or a setting of an unknown name, which may be one."""
        return self.kind in (Kind.PASSWORD, Kind.UNKNOWN)

    @property
    def documentation(self) -> str:
        """The documentation that DescribeConfigs returns."""
        if not self.no_effect:
            return self.doc
        return f"{self.doc} No effect here: {self.no_effect}.".lstrip()

    def parse(self, text: str) -> Value:
        """The value of `text`, or SettingError in one sentence that names the setting."""
        stripped = text.strip()
        if self.kind is Kind.BOOLEAN:
            return self._boolean(stripped)
        if self.kind in NUMBER_RANGES:
            return self._number(stripped)
        if self.kind is Kind.LIST:
            return self._list(stripped)
        if self.choices and stripped not in self.choices:
            raise SettingError(f"{self.name} must be one of {', '.join(self.choices)}, not '{text}'")
        self._refuse_faulty(stripped)
        return stripped

    def render(self, value: Value) -> str | None:
        """The text of a value as DescribeConfigs shows it; None stays None."""
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, frozenset):
            return ",".join(sorted(value))
        if isinstance(value, tuple):
            return ",".join(value)
        return str(value)

    def canonical(self, text: str) -> str | None:
        """`text` as DescribeConfigs shows it; a list keeps its order. Raises SettingError."""
        value = self.parse(text)
        return ",".join(_parts(text)) if self.kind is Kind.LIST else self.render(value)

    def _boolean(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise SettingError(f"{self.name} must be true or false, not '{text}'")
        return text.lower() == "true"

    def _number(self, text: str) -> int | float:
        try:
            if "_" in text:  # a number for Python alone
                raise ValueError
            value = float(text) if self.kind is Kind.DOUBLE else int(text)
        except ValueError:
            noun = "a number" if self.kind is Kind.DOUBLE else "a whole number"
            raise SettingError(f"{self.name} must be {noun}, not '{text}'") from None
        lowest, highest = NUMBER_RANGES[self.kind]
        least = self.least if self.least is not None else lowest
        most = self.most if self.most is not None else highest
        if not value >= least:  # as NaN is not
            raise SettingError(f"{self.name} must be at least {least}, not {text}")
        if not value <= most:
            raise SettingError(f"{self.name} must be at most {most}, not {text}")
        if self.choices and str(value) not in self.choices:
            raise SettingError(f"{self.name} must be one of {', '.join(self.choices)}, not '{text}'")
        self._refuse_faulty(value)
        return value

    def _list(self, text: str) -> Value:
        parts = _parts(text)
        for part in parts:
            if self.choices and part not in self.choices:
                raise SettingError(f"{self.name} may hold {', '.join(self.choices)}, not '{part}'")
        self._refuse_faulty(parts)
        return frozenset(parts) if isinstance(self.default, frozenset) else parts

    def _refuse_faulty(self, value: Value) -> None:
        fault = self.fault(value) if self.fault else None
        if fault is not None:
            raise SettingError(f"{self.name} {fault}")


def fault_if_empty(value: tuple[str, ...]) -> str | None:
    """The fault of a list that must not be empty."""
    return None if value else "must hold at least one"


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def setting(kind: Kind, name: str, default: Value, doc: str, **rest: Any) -> Any:
    """Declare a dataclass field that is a setting; `rest` are further fields of `Setting`."""
    return field(default=default, metadata={"setting": Setting(name, kind, default, doc, **rest)})


def settings_of(declaring: type) -> dict[str, Setting]:
    """The settings that a class declares, by their Kafka names, in order of declaration.

    The attribute's name must be the setting's, with '_' for '.'.
    """
    table: dict[str, Setting] = {}
    for declared in fields(declaring):
        found: Setting = declared.metadata["setting"]
        assert declared.name == attribute_of(found.name), f"{declared.name} declares {found.name}"
        table[found.name] = found
    return table


def attribute_of(name: str) -> str:
    """The attribute that holds the setting `name`."""
    return name.replace(".", "_")
