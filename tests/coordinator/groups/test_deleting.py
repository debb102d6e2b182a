"""DeleteGroups: each group by itself, and one with many offsets in steps."""

from collections.abc import Mapping

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups import deleting
from odradek.coordinator.groups.deleting import FEW_OFFSETS_MAX, TOMBSTONES_PER_STEP
from tests.coordinator.group_bench import GroupBench

MANY = FEW_OFFSETS_MAX + 10
NONE = ErrorCode.NONE


def partitions(count: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in range(count)]


class Deletion:
    """A DeleteGroups on its way."""

    def __init__(self, bench: GroupBench, *group_ids: str) -> None:
        self.answers: list[Mapping[str, ErrorCode]] = []
        self.steps: Steps[None] = bench.coordinator.delete_groups(group_ids, self.answers.append)

    def step(self) -> None:
        next(self.steps)

    def finish(self) -> Mapping[str, ErrorCode]:
        exhaust(self.steps)
        (answer,) = self.answers
        return answer


def commit(bench: GroupBench, group_id: str, keys: list[TopicPartition], offset: int = 1) -> None:
    assert set(bench.commit(group_id, dict.fromkeys(keys, offset)).answer.values()) == {NONE}


def restarted(bench: GroupBench) -> GroupBench:
    """What the log says is all that is left."""
    bench.start()
    bench.run()
    return bench


def test_groups_are_deleted_one_after_another(bench: GroupBench) -> None:
    for group_id in ("a", "b"):
        commit(bench, group_id, partitions(2))
    deletion = Deletion(bench, "a", "nobody's", "b", "a")
    deletion.step()
    assert (bench.committed("a"), len(bench.committed("b"))) == ({}, 2)  # type: ignore[arg-type]
    assert deletion.answers == []
    assert deletion.finish() == {"a": NONE, "nobody's": ErrorCode.GROUP_ID_NOT_FOUND, "b": NONE}
    assert bench.coordinator._groups() == []


def test_nothing_is_answered_at_once_where_nothing_is_named(bench: GroupBench) -> None:
    assert Deletion(bench).finish() == {}


def test_a_group_of_many_offsets_is_prepared_in_steps_and_goes_in_one(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "TOMBSTONES_PER_BATCH", TOMBSTONES_PER_STEP)
    commit(bench, "g", partitions(MANY))
    deletion = Deletion(bench, "g")
    for _ in range(MANY // TOMBSTONES_PER_STEP):
        deletion.step()
        assert len(bench.committed()) == MANY  # type: ignore[arg-type]
    assert deletion.finish() == {"g": NONE}
    assert bench.coordinator._groups() == []
    assert restarted(bench).coordinator._groups() == [], "the log says so, too"


def test_a_group_that_is_in_use_meanwhile_keeps_everything(bench: GroupBench) -> None:
    commit(bench, "g", partitions(MANY))
    deletion = Deletion(bench, "g")
    deletion.step()
    bench.stable(bench.member())
    assert deletion.finish() == {"g": ErrorCode.NON_EMPTY_GROUP}
    assert len(bench.committed()) == MANY  # type: ignore[arg-type]


def test_what_was_committed_meanwhile_goes_with_the_rest(bench: GroupBench) -> None:
    commit(bench, "g", partitions(MANY))
    deletion = Deletion(bench, "g")
    deletion.step()
    commit(bench, "g", [TopicPartition("u", 0), TopicPartition("t", 0)], offset=2)
    assert deletion.finish() == {"g": NONE}
    assert bench.coordinator._groups() == []
    assert restarted(bench).coordinator._groups() == []


def test_a_leadership_that_ends_meanwhile_is_an_error(bench: GroupBench) -> None:
    commit(bench, "g", partitions(MANY))
    deletion = Deletion(bench, "g")
    deletion.step()
    bench.coordinator.resign(bench.coordinator._partition_of("g"))
    assert deletion.finish() == {"g": ErrorCode.NOT_COORDINATOR}


def test_a_group_of_the_consumer_protocol_with_many_offsets_goes_too(bench: GroupBench) -> None:
    member = bench.consumer("m")
    assert member.join() is NONE
    member.leave()
    commit(bench, "g", partitions(MANY))
    assert Deletion(bench, "g").finish() == {"g": NONE}
    assert bench.coordinator._groups() == []
    assert restarted(bench).coordinator._groups() == []


@pytest.mark.parametrize("count", [2, MANY])
@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_a_write_that_failed_is_an_error_to_try_again_on(
    bench: GroupBench, failure: ErrorCode, code: ErrorCode, count: int
) -> None:
    commit(bench, "g", partitions(count))
    bench.log.failure = failure
    assert Deletion(bench, "g").finish() == {"g": code}
    assert len(bench.committed("g")) == count  # type: ignore[arg-type]
