"""The moments of `./dev kills`: what is drawn, and when a stage is within its query."""

from pathlib import Path
from random import Random

from campaigns.pipelines.moments import QUERY, is_in_query, moment_of

from odradek.spark.pipeline.engine import Step


def test_all_steps_up_to_the_commit_are_drawn_at_them_and_after_them() -> None:
    drawn = [moment_of(Random(seed), has_stages=False) for seed in range(200)]
    wanted = {Step.PLANNED, Step.STAGED, Step.WRITTEN, Step.SEALED, Step.PUBLISHED}
    for is_later in (False, True):
        assert {one.name for one in drawn if (one.after_ms > 0) is is_later} == {one.name for one in wanted}


def test_with_stages_many_are_within_a_query() -> None:
    drawn = [moment_of(Random(seed), has_stages=True) for seed in range(200)]
    assert 60 < sum(one.name == QUERY for one in drawn) < 140
    assert {str(one) for one in drawn} > {"a stage's query", "after a stage's query", "staged"}


def test_a_query_is_on_from_the_note_of_its_step_to_that_of_its_commit(tmp_path: Path) -> None:
    """A checkpoint also has the steps of the batches before."""
    checkpoint = tmp_path / "_staging-0" / "_state" / "stage=1"
    assert not is_in_query(tmp_path)
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "0").touch()
    (checkpoint / "offsets" / ".1.tmp").touch()
    assert not is_in_query(tmp_path)
    (checkpoint / "offsets" / "1").touch()
    assert is_in_query(tmp_path)
    (checkpoint / "commits" / "1").touch()
    assert not is_in_query(tmp_path)
