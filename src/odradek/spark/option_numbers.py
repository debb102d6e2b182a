"""Whole numbers among the options of the source."""

from collections.abc import Mapping

from odradek.base.errors import SettingError


def whole_number(given: Mapping[str, str], name: str, *, lowest: int = 1, highest: int) -> int | None:
    """The option, None if it is missing; `given` has its names in lower case. Raises SettingError."""
    text = given.get(name.lower())
    if text is None:
        return None
    digits = text.isascii() and text.isdecimal() and len(text) <= len(str(highest))
    if not digits or not lowest <= int(text) <= highest:
        raise SettingError(f"{name} must be a whole number from {lowest} to {highest}, not '{text}'")
    return int(text)
