"""What the checkers of transactions find."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest

from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.storage import reads
from odradek.testing.sim.trial.checkers import Checker
from odradek.testing.sim.trial.checkers.transactions import (
    EveryTransactionEnds,
    ReadCommittedIsExact,
    TransactionsAreWhole,
)
from odradek.testing.sim.trial.history import ACKS_ALL
from odradek.testing.sim.trial.transactions import Fate, SentTransaction
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench


@pytest.fixture
def bench() -> ClusterBench:
    return ClusterBench("orders")


def batch(*numbers: int, producer_id: int = 7, base_sequence: int = 0) -> bytearray:
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=base_sequence, is_transactional=True
    )
    for number in numbers:
        builder.append(0, None, b"%d" % number)
    return builder.build()


def marker(*, committed: bool, producer_id: int = 7) -> bytearray:
    return build_marker(EndTxnMarker(committed, 0), producer_id=producer_id, producer_epoch=0, timestamp_ms=0)


def sent(bench: ClusterBench, fate: Fate, counts: Sequence[int]) -> SentTransaction:
    """A transaction with batches of so many records, whose numbers count from 0."""
    transaction = bench.transactions.begin("account", "teller/7:0", 0, 1_000)
    for count in counts:
        transaction.batches.append(
            bench.history.next_batch(bench.place, "teller/7:0", count, ACKS_ALL, 0, is_idempotent=True)
        )
    transaction.fate = fate
    return transaction


def found_by(checker: type[Checker], bench: ClusterBench) -> list[str]:
    made = checker(bench.scene)
    made.conclude()
    return [violation.words for violation in made.found.values()]


@pytest.mark.parametrize("fate", [Fate.COMMITTED, Fate.UNKNOWN])
def test_a_committed_transaction_that_is_there(bench: ClusterBench, fate: Fate) -> None:
    sent(bench, fate, [2])
    bench.write(batch(0, 1), marker(committed=True))
    assert found_by(TransactionsAreWhole, bench) == []
    assert found_by(ReadCommittedIsExact, bench) == []
    assert found_by(EveryTransactionEnds, bench) == []


@pytest.mark.parametrize("fate", [Fate.ABORTED, Fate.UNKNOWN])
def test_an_aborted_transaction_that_is_not_shown(bench: ClusterBench, fate: Fate) -> None:
    sent(bench, fate, [2])
    bench.write(batch(0, 1), marker(committed=False))
    assert found_by(TransactionsAreWhole, bench) == []
    assert found_by(ReadCommittedIsExact, bench) == []


def test_an_acknowledged_commit_that_is_lost(bench: ClusterBench) -> None:
    sent(bench, Fate.COMMITTED, [2])
    bench.write(batch(0, 1), marker(committed=False))
    (words,) = found_by(TransactionsAreWhole, bench)
    assert words.startswith("record 0 of orders-0 is lost; it is of the transaction of teller/7:0 as account")


def test_a_commit_that_nobody_asked_for(bench: ClusterBench) -> None:
    sent(bench, Fate.ABORTED, [1])
    bench.write(batch(0), marker(committed=True))
    (words,) = found_by(TransactionsAreWhole, bench)
    assert words.startswith("record 0 of orders-0 is committed; the transaction of teller/7:0")


def test_a_torn_transaction(bench: ClusterBench) -> None:
    sent(bench, Fate.UNKNOWN, [1, 1])
    bench.write(batch(0), marker(committed=True))
    (words,) = found_by(TransactionsAreWhole, bench)
    assert words.endswith("record 0 of orders-0 is committed, and record 1 of orders-0 is not")


def test_an_abort_that_readers_are_not_told_of(bench: ClusterBench) -> None:
    """F10."""
    sent(bench, Fate.ABORTED, [1])
    bench.write(batch(0), marker(committed=False))
    with patch.object(reads, "aborted_among", lambda *_: []):
        assert found_by(ReadCommittedIsExact, bench) == [
            "record 0 at offset 0 of orders-0 was shown, and is not committed by broker 1"
        ]


def test_a_reader_that_was_shown_too_much_and_too_little(bench: ClusterBench) -> None:
    sent(bench, Fate.ABORTED, [1])
    bench.write(batch(0), marker(committed=False), batch(1, producer_id=8))
    bench.write(marker(committed=True, producer_id=8))
    bench.transactions.note_visible("reader", bench.place, 0, 0)
    bench.transactions.note_read_to("reader", bench.place, 4)
    assert found_by(ReadCommittedIsExact, bench) == [
        "reader was shown record 0 at offset 0 of orders-0, which was never committed",
        "record 0 at offset 0 of orders-0 was shown, and is not committed by reader",
    ]


def test_a_transaction_that_does_not_end(bench: ClusterBench) -> None:
    bench.write(batch(0))
    assert found_by(EveryTransactionEnds, bench) == [
        "the last stable offset of orders-0 at broker 1 is 0, and its high watermark 1: a transaction does"
        " not end"
    ]
