"""Settings as a person gives them; names the one that was perhaps meant where a name is unknown."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.cli.command_line import meant


def assignments(texts: list[str]) -> dict[str, str]:
    """Read "name=value" texts. Raises SettingError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise SettingError(f"a setting is given as name=value, not '{text}'")
        found[name] = value
    return found


@contextmanager
def hinting(kind: str, names: Collection[str]) -> Iterator[None]:
    """Add `(did you mean retention.ms?)` to an INVALID_CONFIG raised in the block.

    `names` are the settings that the block sets, of a "topic" or a "group"; brokers take every name.
    """
    try:
        yield
    except ApiError as refused:
        hint = _hint(kind, names) if refused.code is ErrorCode.INVALID_CONFIG else ""
        if not hint:
            raise
        raise ApiError(refused.code, f"{refused}{hint}") from refused


def _hint(kind: str, names: Collection[str]) -> str:
    from odradek.base.settings.group import GROUP_SETTINGS
    from odradek.base.settings.topic import TOPIC_SETTINGS

    known = {"topic": TOPIC_SETTINGS, "group": GROUP_SETTINGS}.get(kind, {})
    unknown = [name for name in names if name not in known]
    return meant(unknown[0], list(known)) if unknown else ""
