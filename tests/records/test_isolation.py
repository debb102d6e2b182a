"""What a reader of committed records must not see, and how much work it is to know it."""

from typing import ClassVar

from odradek.records.builder import BatchBuilder
from odradek.records.header import BatchHeader, read_header
from odradek.records.isolation import AbortedTransactions
from odradek.wire.messages.fetch import AbortedTransaction

PRODUCER = 7


class Counted(int):
    """A number that counts how often it is compared."""

    compared: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int.__eq__(self, other) if isinstance(other, int) else False

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return int.__lt__(self, other)

    __hash__ = int.__hash__


def header(offset: int) -> BatchHeader:
    builder = BatchBuilder(
        base_offset=offset, producer_id=PRODUCER, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    builder.append(1_000, None, b"value")
    return read_header(builder.build())


def test_transactions_are_hidden_in_whatever_order_and_how_often_answers_name_them() -> None:
    aborted = AbortedTransactions()
    aborted.learn([AbortedTransaction(PRODUCER, 20), AbortedTransaction(PRODUCER, 10)])
    aborted.learn([AbortedTransaction(PRODUCER, 20), AbortedTransaction(PRODUCER, 15)])
    assert list(aborted.ahead[PRODUCER]) == [10, 15, 20]
    assert [aborted.hides(header(offset), is_abort=False) for offset in (9, 10, 11)] == [False, True, True]


def test_to_learn_of_very_many_transactions_of_one_producer_is_no_quadratic_work() -> None:
    count = 2_000
    Counted.compared = 0
    AbortedTransactions().learn([AbortedTransaction(PRODUCER, Counted(offset)) for offset in range(count)])
    assert Counted.compared < 30 * count
