"""Java's properties format, in which `server.properties` is written.

Comments start with '#' or '!', a key ends at the first '=' , ':' or blank that is not escaped, a backslash
at the end of a line continues it, and '\\uXXXX' names a character.
"""

import re
from collections.abc import Mapping

_KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """The keys and values of `text`; of a key given twice the last one counts."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _KEY_AND_VALUE.match(line)
        assert match is not None, "every part of the pattern may be empty"
        found[_unescaped(match.group(1))] = _unescaped(match.group(2))
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending = ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        lines.append(pending)
        pending = ""
    if pending:
        lines.append(pending)
    return lines


def _unescaped(text: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        escaped = match.group(1)
        if len(escaped) == 5:
            return chr(int(escaped[1:], 16))
        return _NAMED.get(escaped, escaped)

    return _ESCAPE.sub(replacement, text)


def render_properties(properties: Mapping[str, str]) -> str:
    """Returns a text from which `parse_properties` reads the same keys and values; it is UTF-8.

    Bytes of paths that are not UTF-8, which Python has as surrogates, are escaped.
    """
    return "".join(f"{_escaped(name, ' =:#!')}={_escaped(text, ' ')}\n" for name, text in properties.items())


def _escaped(text: str, reserved: str) -> str:
    return "".join(_escape_of(character, reserved) for character in text)


def _escape_of(character: str, reserved: str) -> str:
    if character in reserved or character == "\\":
        return f"\\{character}"
    if character.isprintable() or ord(character) > _ESCAPABLE_MAX:
        return character
    return f"\\u{ord(character):04x}"


_ESCAPABLE_MAX = 0xFFFF
