"""What Prometheus reads of a run, and where it reads it."""

import http.client
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.engine import Engine, Written
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.figures import Figures, MeasuredTell, MeasuredTopics
from odradek.spark.pipeline.figures_listener import CannotServe, served
from odradek.spark.pipeline.ledger import Table
from tests.spark.pipeline.fake_topics import FakeJob, FakeTopics, Heard, described


def samples(figures: Figures) -> dict[str, float]:
    """The samples, by name and labels without that of the pipeline."""
    from prometheus_client.parser import text_string_to_metric_families

    found = {}
    for family in text_string_to_metric_families(figures.text()):
        for one in family.samples:
            assert one.labels.pop("pipeline") == "flights"
            labels = ",".join(f"{name}={value}" for name, value in sorted(one.labels.items()))
            found[f"{one.name.removeprefix('odradek_pipeline_')}{{{labels}}}"] = one.value
    return found


def run_measured(directory: Path, topics: FakeTopics, figures: Figures, clock: ManualClock) -> None:
    """One batch, whose records are decoded in two seconds."""
    description = described(directory, records_max=2)

    class SlowJob(FakeJob):
        def write(self, ranges: Sequence[OffsetRange], fields: Fields, directory: Path) -> Written:
            clock.advance(2_000)
            return replace(super().write(ranges, fields, directory), late=3)

    with Table(description.table, description.name, synced=lambda path: None) as table:
        table.open_for_writing()
        figures.started(table.last())
        job, tell = SlowJob(topics, description), MeasuredTell(Heard(), figures)
        Engine(description, table, MeasuredTopics(topics, figures), job, clock, tell).run_batch()


def test_a_run_has_figures_that_go_on_where_the_one_before_ended(tmp_path: Path) -> None:
    clock = ManualClock()
    topics = FakeTopics(1)
    topics.logs[0] = [b'{"n": 1}', b"broken", b'{"n": 3}']
    figures = Figures("flights", clock)
    figures.started(None)
    assert samples(figures)["records_total{}"] == 0
    assert "lag{partition=0,topic=flights}" not in samples(figures)
    asked_s = clock.wall_ms() / 1000
    run_measured(tmp_path, topics, figures, clock)
    first = samples(figures)
    assert first["records_total{}"] == 2
    assert first["batches_total{}"] == 1
    assert first["dead_letters{}"] == 1
    assert first["late_rows_total{}"] == 3
    assert first["lag{partition=0,topic=flights}"] == 1
    assert first["last_look_timestamp_seconds{}"] == asked_s
    assert first["last_commit_timestamp_seconds{}"] == asked_s + 2
    assert first["batch_seconds_sum{}"] == 2
    assert (first["batch_seconds_bucket{le=1.0}"], first["batch_seconds_bucket{le=2.5}"]) == (0, 1)
    again = Figures("flights", clock)
    run_measured(tmp_path, topics, again, clock)
    second = samples(again)
    assert (second["records_total{}"], second["batches_total{}"], second["batch_seconds_count{}"]) == (
        3,
        2,
        1,
    )
    assert second["late_rows_total{}"] == 6
    assert second["lag{partition=0,topic=flights}"] == 0


def ask(address: str, path: str, host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": host or address})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_figures_are_served_on_loopback_to_those_who_may_ask() -> None:
    figures = Figures("flights", ManualClock())
    with served(0, figures.text) as address:
        assert address.startswith("127.0.0.1:")
        status, text = ask(address, "/metrics")
        assert (status, 'odradek_pipeline_records_total{pipeline="flights"} 0.0' in text) == (200, True)
        assert ask(address, "/healthz") == (200, "alive\n")
        assert ask(address, "/", "localhost")[0] == 404
        assert ask(address, "/metrics", "evil.example") == (
            403,
            "This listener answers to localhost and to addresses.\n",
        )
        with pytest.raises(CannotServe, match=f"cannot listen on {address}: address already in use"):
            served(int(address.rpartition(":")[2]), figures.text).__enter__()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 5)
