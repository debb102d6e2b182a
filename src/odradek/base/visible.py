"""Escapes text from clients before it is printed, so that it cannot control a terminal.

Clients choose group ids, client ids, transactional ids, member ids, metadata and records as they like.
Printed as they are, these could clear a screen, forge the next row of a table or turn a line around:

    "g\\x1b[2J"            shown as g\\x1b[2J
    "a\\nGroup b is empty"  shown in one line, with \\n
    "\\u202egpj.exe"        shown with \\u202e, from left to right

Escaped are control characters (U+0000 to U+001F, U+007F to U+009F), those that change the direction of
writing or are not seen, line and paragraph separators, and lone surrogates. Everything else stays, in every
script.
"""

import json
from typing import Any, Final

_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """`text` with everything escaped that is not seen when it is printed; one line."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or _is_space(character) else _escaped(character)
        for character in text
    )


def visible_json(value: object, **options: Any) -> str:  # noqa: ANN401 - those of `json.dumps`
    """JSON in ASCII alone: its own escapes cover all but DEL, which JSON would leave as it is."""
    return json.dumps(value, **options).replace("\x7f", "\\u007f")


def _is_space(character: str) -> bool:
    """Whether it is a blank of some width: to Python those are not printable, but for the plain one."""
    return character.isspace() and character not in _BREAKING


_BREAKING: Final = frozenset("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
