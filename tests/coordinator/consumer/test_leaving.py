"""Members that leave: the hash of the topics that the group reads is made anew only where it changes."""

from collections.abc import Iterator

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.coordinator.consumer.draft import ITEMS_PER_STEP, Draft
from odradek.coordinator.consumer.leaving import remove
from odradek.coordinator.consumer.subscribing import topics_hash
from odradek.coordinator.consumer.topics import Topic
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ConsumerClient

NONE = ErrorCode.NONE


def true_hash(bench: GroupBench) -> int:
    return exhaust(topics_hash(Draft(bench.consumers()), bench.topics))


def join(bench: GroupBench, member: ConsumerClient) -> None:
    """A join that may take several steps."""
    reply = member.send_join()
    bench.run()
    member.take(reply)


@pytest.fixture
def looks(bench: GroupBench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics that were looked up."""
    found: list[str] = []
    by_name = bench.topics.by_name

    def looked(name: str) -> Topic | None:
        found.append(name)
        return by_name(name)

    monkeypatch.setattr(bench.topics, "by_name", looked)
    return found


@pytest.mark.parametrize("expression", [None, "wide.*"])
def test_who_leaves_others_with_the_same_topics_costs_no_look_at_them(
    bench: GroupBench, looks: list[str], expression: str | None
) -> None:
    names = [f"wide{number}" for number in range(500)]
    bench.known_topics.update(names)
    topics = names if expression is None else None
    members = [bench.consumer(name, topics=topics, expression=expression) for name in "abc"]
    for member in members:
        join(bench, member)
    epoch, known = bench.consumers().epoch, bench.consumers().topics_hash
    looks.clear()
    assert members[0].leave() is NONE
    assert looks == []
    assert (bench.consumers().epoch, bench.consumers().topics_hash) == (epoch + 1, known)
    assert known == true_hash(bench) != 0


def test_what_only_the_leaver_has_read_is_in_the_hash_no_more(bench: GroupBench) -> None:
    first, second = bench.consumer("a", topics=["t", "u"]), bench.consumer("b")
    first.join()
    second.join()
    before = bench.consumers().topics_hash
    first.leave()
    assert bench.consumers().topics_hash == true_hash(bench) != before


def test_the_last_one_leaves_no_hash(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    member.leave()
    assert bench.consumers().topics_hash == true_hash(bench) == 0


def test_topics_that_have_changed_meanwhile_are_in_the_hash(bench: GroupBench) -> None:
    """As in Kafka, the next heartbeat then raises the epoch no more."""
    first, second = bench.consumer("a"), bench.consumer("b")
    first.join()
    second.join()
    bench.topics.counts["t"] = 7
    bench.touch_topics()
    first.leave()
    assert bench.consumers().topics_hash == true_hash(bench)
    epoch = bench.consumers().epoch
    second.beat()
    assert bench.consumers().epoch == epoch


def test_a_session_that_ends_leaves_the_right_hash(bench: GroupBench) -> None:
    first, second = bench.consumer("a", topics=["t", "u"]), bench.consumer("b")
    first.join()
    bench.advance(30_000)
    second.join()
    bench.advance(30_000)
    assert list(bench.consumers().members) == ["b"]
    assert bench.consumers().topics_hash == true_hash(bench)


def test_many_topics_that_only_the_leaver_has_read_are_hashed_in_steps(bench: GroupBench) -> None:
    """The others' are, too: the hash is of all."""
    names = [f"wide{number}" for number in range(4 * ITEMS_PER_STEP)]
    bench.known_topics.update(names)
    bench.consumer("a", topics=["t"]).join()
    join(bench, bench.consumer("b", topics=names))
    draft = Draft(bench.consumers())
    steps: Iterator[None] = remove(draft, bench.topics, ["a"])
    assert sum(1 for _ in steps) >= 4
    assert draft.group.topics_hash == exhaust(topics_hash(draft, bench.topics))


def test_a_leave_in_steps_is_answered_and_heard_once(bench: GroupBench) -> None:
    names = [f"wide{number}" for number in range(4 * ITEMS_PER_STEP)]
    bench.known_topics.update(names)
    alone, wide = bench.consumer("a", topics=["t"]), bench.consumer("b", topics=names)
    alone.join()
    join(bench, wide)
    epoch = bench.consumers().epoch
    left = alone.send(member_epoch=-1)
    bench.run()
    assert left.code is NONE
    assert (list(bench.consumers().members), bench.consumers().epoch) == (["b"], epoch + 1)
    assert bench.consumers().topics_hash == true_hash(bench)
