"""The loop of a pipeline over topics in memory: kills at every step, fields, dead letters, loss."""

import json
import random
import shutil
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError, SettingError
from odradek.base.ids import TopicPartition
from odradek.spark.pipeline.engine import BrokersAway, Engine, Step, TooManyDeadLetters
from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.spark.pipeline.planning import LogChanged, View
from tests.spark.pipeline.fake_topics import (
    FLIGHTS,
    FakeJob,
    FakeTopics,
    Heard,
    described,
    rows_of,
    run,
    verified,
)


class Killed(BaseException):
    """The process ended here."""


def value(**fields: object) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_a_kill_at_any_step_costs_nothing(seed: int, tmp_path: Path) -> None:
    """Runs are killed at steps drawn from the seed while records, partitions and fields are added."""
    chance = random.Random(seed)
    topics = FakeTopics(chance.randint(1, 3))
    description = described(tmp_path, records_max=chance.choice([1, 3, 10]))
    kills = 0

    def reached(step: Step) -> None:
        nonlocal kills
        if chance.random() < 0.15:
            kills += 1
            raise Killed(step)

    for turn in range(8):
        if chance.random() < 0.2:
            topics.logs.append([])
        for log in topics.logs:
            for _ in range(chance.randint(0, 5)):
                drawn = chance.random()
                extra = {f"added_{turn}": turn} if chance.random() < 0.05 else {}
                log.append(None if drawn < 0.1 else b"broken" if drawn < 0.2 else value(n=len(log), **extra))
        try:
            run(description, topics, reached)
        except Killed:
            continue
    run(description, topics)
    found = verified(description, topics)
    assert found.faults == []
    visible = sum(1 for log in topics.logs for one in log if one is not None)
    assert found.compared == found.records == found.rows + found.dead_letters == visible
    places = [(row["_partition"], row["_offset"]) for row in rows_of(description)]
    assert len(set(places)) == len(places) == found.rows
    assert topics.group == {
        TopicPartition(FLIGHTS, number): len(log) for number, log in enumerate(topics.logs)
    }
    assert not list(description.table.glob("_staging-*"))


@pytest.mark.parametrize("step", Step)
def test_a_batch_is_whole_or_absent_after_each_step(step: Step, tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), b"broken"]
    description = described(tmp_path)

    def reached(at: Step) -> None:
        if at is step:
            raise Killed(at)

    with pytest.raises(Killed):
        run(description, topics, reached)
    is_visible = step in (Step.PUBLISHED, Step.GROUP_COMMITTED)
    assert len(rows_of(description)) == (1 if is_visible else 0)
    assert Table(description.table, description.name).batches() == ([1] if is_visible else [])
    assert len(run(description, topics).commits) == (0 if is_visible else 1)
    assert verified(description, topics).records == 2


def test_new_fields_become_columns_and_lose_no_value(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    description = described(tmp_path)
    run(description, topics)
    topics.logs[0] += [value(n=2, gate="B4"), value(n=True)]
    heard = run(description, topics)
    assert heard.warnings == ["new fields are added: gate (string)"]
    assert (heard.commits[0].rows, heard.commits[0].dead_letters) == (1, 1)
    assert [row.get("gate") for row in rows_of(description)] == [None, "B4"]
    assert json.loads(description.fields_file.read_text())["fields"].keys() == {"n", "gate"}
    assert verified(description, topics).faults == []


def test_new_fields_are_dead_letters_where_that_is_wanted(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), value(n=2, gate="B4")]
    description = described(tmp_path, decode='new_fields = "dead-letter"\nfields = { n = "long" }')
    heard = run(description, topics)
    assert (heard.commits[0].rows, heard.commits[0].dead_letters) == (1, 1)


def test_too_many_dead_letters_stop_the_run_and_commit_nothing(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), b"broken", value(n="two")]
    fields = 'fields = { n = "long" }'
    description = described(tmp_path, dead_letters_max=1, decode=fields)
    with pytest.raises(TooManyDeadLetters, match=r"2 records .* more than the 1 .* flights-0 at offset 1"):
        run(description, topics)
    assert rows_of(description) == []
    assert not list(description.table.glob("_staging-*"))
    assert run(described(tmp_path, dead_letters_max=2, decode=fields), topics).commits[0].dead_letters == 2


def test_offsets_lost_to_retention_fail_the_run_or_are_recorded(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=number) for number in range(4)]
    run(described(tmp_path), topics)
    topics.logs[0] += [value(n=number) for number in range(4, 10)]
    topics.earliest[0] = 7
    with pytest.raises(LogChanged, match="flights-0 has lost its records from 4 to 6 before"):
        run(described(tmp_path), topics)
    continuing = described(tmp_path, source='on_lost_offsets = "continue"')
    commit = run(continuing, topics).commits[0]
    assert commit.holes == {FLIGHTS: {"0": (4, 7)}}
    found = verified(continuing, topics)
    assert (found.faults, found.holes, found.compared) == ([], 3, 3)


def test_a_topic_that_was_made_anew_is_refused(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    description = described(tmp_path)
    run(description, topics)
    topics.topic_id = "second"
    with pytest.raises(LogChanged, match="topic flights was deleted and made anew"):
        run(description, topics)
    found = verified(description, topics)
    assert found.compared == 0
    assert found.faults == ["topic flights was deleted and made anew: its records are not those of the table"]


def test_the_end_as_a_start_is_remembered_from_the_first_run_on(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    description = described(tmp_path, source='start = "latest"')
    run(description, topics)
    topics.logs[0] += [value(n=2)]
    run(description, topics)
    assert [row["n"] for row in rows_of(description)] == [2]


def test_records_before_the_first_run_are_no_hole(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), value(n=2)]
    topics.earliest[0] = 1
    assert run(described(tmp_path), topics).commits[0].holes == {}


def test_a_group_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    topics.group_fault = "the group has members"
    heard = run(described(tmp_path), topics)
    assert len(heard.commits) == 1
    assert "the group has members" in heard.warnings[0]


def test_a_field_whose_type_was_changed_is_refused(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    run(described(tmp_path), topics)
    with pytest.raises(TableRefused, match=r"field n is a long .* and a string"):
        run(described(tmp_path, decode='fields = { n = "string" }'), topics)


def test_a_table_that_was_deleted_is_begun_anew_with_all_records(tmp_path: Path) -> None:
    """Nothing but the table knows how far it was: no checkpoint and no group passes over records."""
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1), value(n=2)]
    description = described(tmp_path)
    run(description, topics)
    shutil.rmtree(description.table)
    topics.logs[0].append(value(n=3))
    assert run(description, topics).commits[0].batch == 1
    assert [row["n"] for row in rows_of(description)] == [1, 2, 3]
    assert verified(description, topics).faults == []


def test_a_table_that_was_changed_is_found_out(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    description = described(tmp_path, records_max=2)
    topics.logs[0] = [value(n=number) for number in range(6)]
    run(description, topics)
    table = description.table
    (table / "batch=1" / "part-9.parquet").write_bytes((table / "batch=2" / "part-0.parquet").read_bytes())
    (table / "batch=2" / "part-0.parquet").unlink()
    (table / "batch=3" / "_commit.json").write_text("{")
    faults = "\n".join(verified(description, topics).faults)
    assert "batch=1 has a file that its commit does not name: part-9.parquet" in faults
    assert "batch=2 has lost part-0.parquet" in faults
    assert "batch=2 lacks records of flights-0: 2 offsets, the first 2, 3" in faults
    assert "batch=3" in faults
    with pytest.raises(OdradekError, match="is missing or damaged"):
        run(description, topics)


def test_a_batch_that_fills_the_disk_gives_it_back(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    description = described(tmp_path)

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with Table(description.table, description.name, synced=full) as table:
        table.open_for_writing()
        engine = Engine(description, table, topics, FakeJob(topics, description), ManualClock(), Heard())
        with pytest.raises(TableRefused, match="no space left on device"):
            engine.run_once()
        assert table.staged() == []
    run(description, topics)
    assert verified(description, topics).faults == []


def test_fields_that_cannot_be_kept_are_said(tmp_path: Path) -> None:
    topics = FakeTopics(1)
    topics.logs[0] = [value(n=1)]
    description = described(tmp_path)
    description.fields_file.with_suffix(".new").mkdir()
    with pytest.raises(
        SettingError, match=r"cannot write .*flights\.fields\.json, which keeps the fields: is a"
    ):
        run(description, topics)


@pytest.mark.parametrize("code", [ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_brokers_that_are_away_are_told_from_those_that_refuse(code: ErrorCode, tmp_path: Path) -> None:
    class Away(FakeTopics):
        def view(self) -> View:
            raise ApiError(failure, "the brokers' reason")

    description = described(tmp_path)
    with Table(description.table, description.name) as table:
        table.open_for_writing()
        topics = Away(1)
        engine = Engine(description, table, topics, FakeJob(topics, description), ManualClock(), Heard())
        failure = code
        with pytest.raises(BrokersAway, match="the brokers' reason"):
            engine.run_batch()
        failure = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        with pytest.raises(ApiError) as refused:
            engine.run_batch()
    assert not isinstance(refused.value, BrokersAway)
