"""What `odradek produce --format json` takes, and what it says of a line that it refuses."""

import pytest

from odradek.base.errors import OdradekError
from odradek.cli.record_input import LineRules, record_of_json


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"key": 1', "this is not JSON (expecting ',' delimiter at column 10): {\"key\": 1"),
        (b"\xff{}", "this is not JSON"),
        (b"[" * 100_000, "this JSON is nested too deeply: [[["),
        (b"[1]", "this is not a JSON object: [1]"),
        (b'{"kee": 1}', "the JSON object has the field kee; known are headers, key, "),
        (b'{"timestamp": "now"}', "its timestamp is not a number of milliseconds"),
        (b'{"timestamp": 9223372036854775808}', "its timestamp is out of range"),
        (b'{"timestamp": -2}', "its timestamp is out of range"),
        (b'{"key": "\\ud800"}', "its key is not Unicode text"),
    ],
)
def test_a_line_that_is_no_record_is_refused_in_one_sentence(line: bytes, sentence: str) -> None:
    with pytest.raises(OdradekError) as refused:
        record_of_json(line, LineRules("flights"))
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("timestamp", [-1, 0, 9223372036854775807])
def test_every_time_that_a_record_may_have_is_taken(timestamp: int) -> None:
    assert record_of_json(b'{"timestamp": %d}' % timestamp, LineRules("flights")).timestamp_ms == timestamp
