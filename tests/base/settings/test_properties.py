import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.settings.properties import parse_properties, render_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b", {"a": "b"}),
        ("a: b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("# note\n! note\n\n  a=b  \n", {"a": "b  "}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a=b=c", {"a": "b=c"}),
        ("path=c:\\\\logs", {"path": "c:\\logs"}),
        ("a=\\u00e9\\t", {"a": "é\t"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_reads_what_java_reads(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_reads_a_file_written_for_kafka() -> None:
    text = "broker.id=0\nlisteners=PLAINTEXT://:9092\nlog.dirs=/a,/b\nlog.retention.hours=168\n"
    assert parse_properties(text)["listeners"] == "PLAINTEXT://:9092"


KEYS = st.text(min_size=1)


@given(st.dictionaries(KEYS, st.text()))
def test_what_is_rendered_is_read_back(properties: dict[str, str]) -> None:
    assert parse_properties(render_properties(properties)) == properties


def test_bytes_of_a_path_that_are_not_utf_8_are_escaped() -> None:
    properties = {"log.dirs": b"/data/\xff".decode(errors="surrogateescape")}
    text = render_properties(properties)
    assert text.encode() == b"log.dirs=/data/\\udcff\n"
    assert parse_properties(text) == properties
