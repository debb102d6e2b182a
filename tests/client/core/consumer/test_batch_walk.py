"""The runs of batches that are decoded together."""

import pytest

from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.client.core.consumer.batch_walk import BatchWalk, Run
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.header import HEADER_BYTES
from odradek.wire.messages.fetch import AbortedTransaction, PartitionData
from tests.batches import make_batch, numbered_batch

PRODUCER = 7


def walk_over(*batches: bytes, aborted: list[AbortedTransaction] | None = None) -> BatchWalk:
    data = PartitionData(
        partition_index=0, records=b"".join(batches), high_watermark=1 << 20, aborted_transactions=aborted
    )
    return BatchWalk(data, is_committed_only=aborted is not None, checks_crc=True)


def next_run(walk: BatchWalk, expected: int) -> Run:
    run = walk.next(expected)
    assert run is not None
    return run


def bases(run: Run) -> list[int]:
    return [header.base_offset for _, header in run.batches]


def test_batches_of_one_epoch_are_a_run() -> None:
    walk = walk_over(*(numbered_batch(base, 2, epoch=base // 4) for base in (0, 2, 4, 6)))
    assert not walk.has_begun
    first = next_run(walk, 1)
    assert (bases(first), first.first, first.end, first.epoch) == ([0, 2], 1, 4, 0)
    assert walk.has_begun
    assert not walk.is_done
    second = next_run(walk, first.end)
    assert (bases(second), second.first, second.end, second.epoch) == ([4, 6], 4, 8, 1)
    assert walk.is_done
    assert walk.next(second.end) is None


@pytest.mark.parametrize(
    ("count", "value_bytes", "run"), [(2_000, 0, 2), (10, 30_000, 1), (1, 0, 128), (9_000, 0, 1)]
)
def test_a_run_is_bounded_but_holds_a_batch(count: int, value_bytes: int, run: int) -> None:
    made = []
    for number in range(150 if count == 1 else 4):
        one = bytearray(make_batch(*[bytes(value_bytes)] * count))
        one[:8] = (number * count).to_bytes(8, "big")
        made.append(bytes(one))
    walk = walk_over(*made)
    assert len(next_run(walk, 0).batches) == run


def test_hidden_batches_are_stepped_over() -> None:
    marker = bytearray(
        build_marker(EndTxnMarker(False, 0), producer_id=PRODUCER, producer_epoch=0, timestamp_ms=1_000)
    )
    marker[:8], marker[12:16] = (4).to_bytes(8, "big"), bytes(4)
    batches = numbered_batch(0, 2), numbered_batch(2, 2, producer=PRODUCER), bytes(marker)
    committed = next_run(walk_over(*batches, aborted=[AbortedTransaction(PRODUCER, 2)]), 0)
    assert (bases(committed), committed.end, committed.steps) == ([0], 5, 3)
    uncommitted = next_run(walk_over(*batches), 0)
    assert (bases(uncommitted), uncommitted.end) == ([0, 2], 5)


def test_a_batch_that_is_refused_ends_the_run_before_it_and_is_told_each_time() -> None:
    broken = bytearray(numbered_batch(2, 2))
    broken[-1] ^= 1
    walk = walk_over(numbered_batch(0, 2), bytes(broken))
    run = next_run(walk, 0)
    assert (bases(run), run.end) == ([0], 2)
    for _ in range(2):
        with pytest.raises(CorruptRecord):
            walk.next(run.end)
    assert not walk.is_done


def test_offsets_that_go_back_begin_a_run_of_their_own() -> None:
    walk = walk_over(numbered_batch(0, 4), numbered_batch(2, 4))
    assert next_run(walk, 0).end == 4
    again = next_run(walk, 4)
    assert (again.first, again.end) == (4, 6)


def test_an_answer_without_a_whole_batch_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="no whole batch"):
        walk_over(numbered_batch(0, 9)[: HEADER_BYTES + 9]).next(0)
    assert walk_over().next(0) is None
