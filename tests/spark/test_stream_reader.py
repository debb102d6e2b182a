"""How patient a stream is with brokers that are away."""

from typing import Any

import pytest

pytest.importorskip("pyspark")

from odradek.spark import stream_reader
from odradek.spark.source_options import SourceOptions
from odradek.spark.stream_reader import ATTEMPTS_OF_A_RUNNING_STREAM, OdradekStreamReader

GIVEN = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "flights"}


@pytest.mark.parametrize(
    ("given", "attempts"),
    [({}, [3, ATTEMPTS_OF_A_RUNNING_STREAM]), ({"fetchoffset.numRetries": "5"}, [5, 5])],
)
def test_a_stream_that_was_answered_waits_longer(
    given: dict[str, str], attempts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def latest_position(options: SourceOptions) -> Any:
        asked.append(options.offset_attempts)
        return {"flights": {"0": 1}}

    monkeypatch.setattr(stream_reader, "latest_position", latest_position)
    reader = OdradekStreamReader(GIVEN | given)
    for _ in range(2):
        reader.latestOffset()
    assert asked == attempts
