import json
import sys
import unicodedata

import pytest

from odradek.base.visible import visible, visible_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("payments", "payments"),
        ("Zürich 東京 שלום", "Zürich 東京 שלום"),
        ("a b\u00a0c\u3000d", "a b\u00a0c\u3000d"),
        ("g\x1b[2J", "g\\x1b[2J"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x00\x7f\x85\x9b", "\\x00\\x7f\\x85\\x9b"),
        ("\u202egpj.exe\u2066", "\\u202egpj.exe\\u2066"),
        ("\u2028\u2029\u200b\ufeff", "\\u2028\\u2029\\u200b\\ufeff"),
        ("\ud800\U000e0001", "\\ud800\\U000e0001"),
    ],
)
def test_what_would_steer_a_terminal_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_character_that_is_not_seen_passes() -> None:
    for code in range(sys.maxunicode + 1):
        shown = visible(chr(code))
        harmful = unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        assert not harmful or (shown != chr(code) and shown.isascii() and shown.isprintable()), hex(code)


def test_json_is_ascii_without_controls_and_says_the_same() -> None:
    value = {"group": "\x1b\x7f\x85\u202e東\n"}
    text = visible_json(value)
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == value
