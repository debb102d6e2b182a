"""What the checker of compacted topics finds."""

from odradek.records.builder import BatchBuilder
from odradek.testing.sim.trial.checkers.compaction import KeysKeepTheirLast
from odradek.testing.sim.trial.history import ACKS_ALL, key_of
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench


def batch(*numbers: int) -> bytearray:
    builder = BatchBuilder()
    for number in numbers:
        builder.append(0, key_of(number), b"%d" % number)
    return builder.build()


def acknowledged(bench: ClusterBench, count: int) -> None:
    """So many records were acknowledged at the beginning of the log; their numbers count from 0."""
    sent = bench.history.next_batch(bench.place, "writer", count, ACKS_ALL, 0, is_idempotent=False)
    bench.history.note_acknowledged(sent, 0, 0)


def found_in(bench: ClusterBench) -> list[str]:
    checker = KeysKeepTheirLast(bench.scene)
    checker.conclude()
    return [violation.words for violation in checker.found.values()]


def test_what_is_there_is_enough() -> None:
    bench = ClusterBench("facts", cleanup_policy="compact")
    acknowledged(bench, 2)
    bench.write(batch(0, 1))
    assert found_in(bench) == []


def test_a_key_that_has_lost_its_last_record() -> None:
    """L5."""
    bench = ClusterBench("facts", cleanup_policy="compact")
    acknowledged(bench, 2)
    bench.write(batch(0))
    (words,) = found_in(bench)
    assert words == (
        "record 1 was acknowledged at offset 1 of facts-0, the last one of key"
        f" {key_of(1)!r}; broker 1 has missing"
    )


def test_replicas_that_differ_in_a_key() -> None:
    """L5."""
    bench = ClusterBench("facts", cleanup_policy="compact")
    bench.write(batch(0))
    bench.write(batch(1), to=(1,))
    bench.write(batch(2), to=(2, 3))
    assert key_of(1) < key_of(2)
    (words,) = found_in(bench)
    assert words == (
        f"the last record of key {key_of(1)!r} in facts-0 is at offset 1 on broker 1, and missing on broker 2"
    )
