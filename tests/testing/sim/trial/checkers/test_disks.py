"""What the checker of disks finds: files that promise more than a power cut would leave."""

import pytest

from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.storage import Log
from odradek.storage.checkpoint import write_epochs, write_offsets
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.selection import cleanable_part, job_for
from odradek.storage.transaction_index import AbortedTransaction
from odradek.testing.sim import World
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers import Scene
from odradek.testing.sim.trial.checkers.disks import DisksKeepTheirPromises
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.history import History
from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.workloads.topics import creation
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench

PLACE = TopicPartition("t", 0)


class Found:
    """A broker with one log of three records, of which the first two are flushed."""

    def __init__(self) -> None:
        self.node: SimNode = World(brokers=1).nodes[1]
        self.node.ask(creation("t", 1, 1))
        self.log: Log = self.node.log("t")
        self.append(2)
        self.log.flush()
        self.append(1)
        view = ClusterView(self.node.world)
        self.checker = DisksKeepTheirPromises(Scene(view, History(), DiskLosses(view), draw_plan(0)))

    def append(self, count: int) -> None:
        """Append records of one producer."""
        for _ in range(count):
            builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=self.log.end_offset)
            builder.append(0, None, b"value")
            self.log.append_as_leader(bytes(builder.build()), 0, now_ms=0)

    def violations(self) -> list[str]:
        """What the checker finds now."""
        self.checker.look()
        self.checker.conclude()
        return [violation.words for violation in self.checker.found.values()]


def test_a_disk_in_order() -> None:
    found = Found()
    write_offsets(found.node.disk, "/data/recovery-point-offset-checkpoint", {PLACE: 2})
    assert found.violations() == []


def test_a_recovery_point_above_what_is_flushed() -> None:
    """L4."""
    found = Found()
    write_offsets(found.node.disk, "/data/recovery-point-offset-checkpoint", {PLACE: 3})
    (words,) = found.violations()
    assert words.endswith("a power cut may change its records from offset 2 on")


@pytest.mark.parametrize("is_settled", [False, True])
def test_a_cut_that_is_not_on_the_disk_before_more_is_written(is_settled: bool) -> None:
    """X6."""
    found = Found()
    found.log.truncate_to(1)
    if not is_settled:
        found.log.settle(found.log.truncations)
    found.append(1)
    assert [words.split(", and ")[1] for words in found.violations()] == (
        [] if is_settled else ["a power cut may bring back what it has cut off"]
    )


def test_epochs_on_the_disk_that_are_not_those_of_the_batches() -> None:
    """X4."""
    found = Found()
    write_epochs(found.node.disk, f"{found.log.path}/leader-epoch-checkpoint", [(0, 0), (1, 2)])
    (words,) = found.violations()
    assert words == "offset 2 of t-0 is of epoch 0; broker 1 takes it for epoch 0, and has 1 on its disk"


def test_producers_that_are_not_those_of_the_batches() -> None:
    found = Found()
    found.log.producers.clear()
    (words,) = found.violations()
    assert words == "producer 7 has written sequence 2 to t-0; broker 1 knows None as its last one"


def test_a_producer_whose_earlier_batches_are_forgotten() -> None:
    found = Found()
    entry = found.log.producers.get(7)
    assert entry is not None
    entry.batches.popleft()
    (words,) = found.violations()
    assert words == (
        "broker 1 knows of producer 7 in t-0 (0, -1, None, [(1, 1, 1), (2, 2, 2)]);"
        " its batches say (0, -1, None, [(0, 0, 0), (1, 1, 1), (2, 2, 2)])"
    )


def test_an_aborted_transaction_that_no_batch_has() -> None:
    found = Found()
    (segment,) = found.log.segments
    segment.transaction_index.append(AbortedTransaction(7, 0, 2, 0))
    (words,) = found.violations()
    assert words == (
        "broker 1 has the aborted transactions [(7, 0, 2)] in the indexes of t-0; its batches say []"
    )


def test_a_batch_that_was_cleaned_away_for_one_that_a_power_cut_took() -> None:
    """L5: the producer's sequences are known from a snapshot; the batches that are left say less."""
    bench = ClusterBench("facts", cleanup_policy="compact", min_cleanable_dirty_ratio="0")
    log, now_ms = bench.world.nodes[1].log("facts"), bench.world.clock.wall_ms()
    for offset, (producer_id, sequence, key) in enumerate(
        [(7, 0, b"a"), (7, 1, b"b"), (8, 0, b"b"), (7, 2, b"c")]
    ):
        if offset == 3:
            log.roll()
        builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
        builder.append(now_ms, key, b"value")
        log.append_as_leader(bytes(builder.build()), 0, now_ms=now_ms)
    log.restore_high_watermark(4)
    log.flush()
    part = cleanable_part(log, now_ms)
    job = job_for(log, part, now_ms=now_ms, map_bytes_max=1 << 20)
    swapped: list[bool] = []
    clean(job, bench.world.nodes[1].disk, lambda done: swapped.append(log.swap_in(done, 0)))
    assert swapped == [True]
    log.truncate_to(3)
    log.settle(log.truncations)
    entry = log.producers.get(7)
    assert entry is not None
    assert entry.last_sequence == 1
    checker = DisksKeepTheirPromises(bench.scene)
    checker.look()
    checker.conclude()
    assert [violation.words for violation in checker.found.values()] == []


def test_a_high_watermark_that_is_forgotten_at_a_start() -> None:
    """R12."""
    found = Found()
    write_offsets(found.node.disk, "/data/replication-offset-checkpoint", {PLACE: 3})
    found.log.restore_high_watermark(1)
    (words,) = found.violations()
    assert words == "broker 1 begins with the high watermark 1 of t-0; its disk had 3, and its log ends at 3"
