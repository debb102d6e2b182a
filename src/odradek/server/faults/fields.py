"""The fields of requests about faults."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from odradek.base.errors import FaultRefused

Document: TypeAlias = Mapping[str, Any]


def text_in(document: Document, name: str) -> str:
    """Returns a field that is a text. Raises FaultRefused."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise FaultRefused(f"{name} is a text, not {value!r}")
    return value


def number_in(document: Document, name: str, least: int, most: int) -> int:
    """Returns a field that is a number within bounds. Raises FaultRefused."""
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise FaultRefused(f"{name} is a number from {least} to {most}, not {value!r}")
    return value
