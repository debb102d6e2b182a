import pytest

from odradek.base.settings.properties import parse_properties


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
