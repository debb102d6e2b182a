"""The ledger of `./dev clients` knows lost, doubled, reordered and misplaced records, and wrong commits."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from campaigns.clients.ledger import Ledger, Reader

from odradek.aio import ConsumerRecord, OffsetAndMetadata, TopicPartition
from odradek.testing.topic_records import TestRecord

P0 = TopicPartition("orders", 0)


def held(*records: tuple[int, bytes]) -> list[TestRecord]:
    """What the partition holds in the end."""
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return [TestRecord("orders", 0, offset, None, value, (), when) for offset, value in records]


def got(offset: int, value: bytes) -> ConsumerRecord:
    """A record as a consumer returns it."""
    return ConsumerRecord("orders", 0, offset, 0, None, value, (), 0, False)


def reader(ledger: Ledger, name: str = "r1") -> Reader:
    """A reader of the partition."""
    made = ledger.reader("billing", name)
    ledger.assigned(made, [P0])
    return made


def test_what_is_read_and_committed_in_order_is_fine() -> None:
    ledger = Ledger()
    one = reader(ledger)
    for offset in (0, 1, 3):  # at 2 is a marker
        ledger.handed_out(one, got(offset, b"w %d" % offset))
    ledger.committed(one, {P0: OffsetAndMetadata(4)})
    ledger.acknowledged(P0, 1, b"w 1")
    ledger.acknowledged(P0, None, b"w 3")
    records = held((0, b"w 0"), (1, b"w 1"), (3, b"w 3"))
    ledger.check("orders", records)
    ledger.check_series(records)
    assert ledger.violations == []
    assert ledger.is_read("billing", records)
    assert not ledger.is_read("billing", held((4, b"w 4")))
    assert not ledger.is_read("others", records)


def _left_out(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.handed_out(one, got(0, b"w 0"))
    ledger.handed_out(one, got(2, b"w 2"))


def _begun_behind(ledger: Ledger) -> None:
    ledger.handed_out(reader(ledger), got(1, b"w 1"))


def _committed_behind(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.handed_out(one, got(0, b"w 0"))
    ledger.committed(one, {P0: OffsetAndMetadata(2)})


def _twice(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.handed_out(one, got(0, b"w 0"))
    ledger.handed_out(one, got(0, b"w 0"))


def _again_though_committed(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.handed_out(one, got(0, b"w 0"))
    ledger.committed(one, {P0: OffsetAndMetadata(1)})
    ledger.handed_out(reader(ledger, "r2"), got(0, b"w 0"))


def _not_its_own(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.taken_away(one, [P0])
    ledger.handed_out(one, got(0, b"w 0"))


def _assigned_twice(ledger: Ledger) -> None:
    ledger.assigned(reader(ledger), [P0])


def _lost_twice(ledger: Ledger) -> None:
    one = reader(ledger)
    ledger.taken_away(one, [P0])
    ledger.taken_away(one, [P0])


def _not_stored(ledger: Ledger) -> None:
    ledger.acknowledged(P0, 5, b"w 5")


def _stored_elsewhere(ledger: Ledger) -> None:
    ledger.acknowledged(P0, 1, b"w 2")


def _never_committed(ledger: Ledger) -> None:
    one = reader(ledger)
    for offset in range(4):
        ledger.handed_out(one, got(offset, b"w %d" % offset))


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (_left_out, "r1 leaves out records of orders-0: 1 to 1"),
        (_begun_behind, "r1 begins behind records of orders-0: 0 to 0"),
        (_committed_behind, "r1 commits behind records of orders-0: 1 to 1"),
        (_twice, "r1 gets orders-0 at 0 after 0"),
        (_again_though_committed, "r2 begins orders-0 at 0, below 1, which was committed"),
        (_not_its_own, "r1 gets orders-0 at 0, which it does not have"),
        (_assigned_twice, "r1 is assigned orders-0, which it has already"),
        (_lost_twice, "r1 loses orders-0, which it does not have"),
        (_not_stored, "b'w 5' was acknowledged in orders-0 at 5, which holds None"),
        (_stored_elsewhere, "b'w 2' was acknowledged in orders-0 at 1, which holds b'w 1'"),
        (_never_committed, "r1 got b'w 3' in orders-0 at 3, which holds None"),
    ],
)
def test_a_broken_promise_is_named(happens: Callable[[Ledger], None], words: str) -> None:
    ledger = Ledger()
    happens(ledger)
    ledger.check("orders", held((0, b"w 0"), (1, b"w 1"), (2, b"w 2")))
    assert ledger.violations == [words]


def test_numbers_that_come_twice_or_late_are_named() -> None:
    ledger = Ledger()
    ledger.check_series(held((0, b"w 0"), (1, b"v 0"), (2, b"w 2"), (3, b"w 1"), (4, b"w 2")))
    assert ledger.violations == [
        "orders-0 has w 1 at 3, after w 2",
        "orders-0 has w 2 at 4, after w 2",
    ]


def test_of_many_cases_of_one_kind_some_are_named() -> None:
    ledger = Ledger()
    for number in range(8):
        ledger.acknowledged(P0, number, b"w %d" % number)
    ledger.check("orders", [])
    assert len(ledger.violations) == 6
    assert ledger.violations[-1] == "... and 3 more of the kind of the last one"


def test_a_group_may_go_back_to_a_commit_without_an_answer_and_no_further() -> None:
    """`./dev clients --seed 456` at 89c29e7e: the broker carried it out after two newer ones."""
    ledger = Ledger()
    one = reader(ledger)
    for offset in range(5):
        ledger.handed_out(one, got(offset, b"w %d" % offset))
    ledger.committed(one, {P0: OffsetAndMetadata(5)})
    ledger.unanswered("billing", {P0: 3})
    ledger.unanswered("others", {P0: 0})
    ledger.handed_out(reader(ledger, "r2"), got(3, b"w 3"))
    assert ledger.violations == []
    ledger.handed_out(reader(ledger, "r3"), got(2, b"w 2"))
    assert ledger.violations == ["r3 begins orders-0 at 2, below 5, which was committed"]
