"""The descriptions of the demo, and what a look at a table says."""

from pathlib import Path

import pytest
from demo.flights import JOINED
from demo.tables import TABLES, Reached, prepare, reached

from odradek.spark.pipeline.description import check_transforms
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.ledger import TableRefused
from tests.spark.pipeline.fake_topics import FakeTopics, described, run


@pytest.fixture(autouse=True)
def where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "127.0.0.1:1")


def test_the_folder_has_all_that_the_pipelines_name(tmp_path: Path) -> None:
    found = prepare(tmp_path / "demo", has_delta=True)
    assert [one.name for one in found] == list(TABLES)
    assert [one.sink_format for one in found] == ["parquet", "delta", "delta"]
    for one in found:
        check_transforms(one)
    assert all((tmp_path / "demo" / f"{name}.parquet").is_file() for name in JOINED)


def test_without_delta_no_row_is_replaced_and_the_others_are_parquet(tmp_path: Path) -> None:
    found = prepare(tmp_path, has_delta=False)
    assert [(one.name, one.sink_format, one.keying.columns) for one in found] == [
        ("raw", "parquet", ()),
        ("flights", "parquet", ()),
    ]


def test_a_look_sees_the_last_batch_and_the_one_that_a_kill_left(tmp_path: Path) -> None:
    description, topics = described(tmp_path), FakeTopics(1)
    assert reached(description) == Reached()
    topics.logs[0] = [b'{"n": 1}', b'{"n": 2}']
    run(description, topics)
    assert reached(description) == Reached(1, 2)

    def killed(step: Step) -> None:
        if step is Step.SEALED:
            raise KeyboardInterrupt

    topics.logs[0].append(b'{"n": 3}')
    with pytest.raises(KeyboardInterrupt):
        run(description, topics, killed)
    assert reached(description) == Reached(1, 2, is_writing=True)


def test_the_first_commit_of_a_delta_table_does_not_end_the_looking(tmp_path: Path) -> None:
    description = described(tmp_path, sink='format = "delta"')
    log = description.table / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / ".00000000000000000000.json.5f1c.tmp").write_text("")
    assert reached(description) == Reached()


def test_a_table_that_is_not_the_pipelines_ends_it_with_the_sentence(tmp_path: Path) -> None:
    description = described(tmp_path, sink='format = "delta"')
    log = description.table / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text('{"commitInfo": {"operation": "WRITE"}}\n')
    with pytest.raises(TableRefused, match="holds a table that no pipeline wrote"):
        reached(description)
