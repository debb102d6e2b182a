"""The check of `./dev crash --brokers 3` fails when the replicas of a partition are not alike."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.replicas_check import check_replicas

from odradek.base.ids import TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.records.builder import BatchBuilder
from odradek.storage import file_names
from odradek.storage.checkpoint import write_offsets
from odradek.storage.os_files import OsFileSystem

PAID = TopicPartition("paid", 0)
OFFSETS = TopicPartition(OFFSETS_TOPIC, 3)
IDS = (1, 2, 3)

Batch: TypeAlias = tuple[int, Sequence[tuple[str, str | None]]]
"""First offset; keys and values."""
Cluster: TypeAlias = dict[int, Path]
Change: TypeAlias = Callable[[list[Batch]], list[Batch]]

WRITTEN: list[Batch] = [
    (0, [("a", "1"), ("b", "1")]),
    (2, [("c", "1")]),
    (3, [("a", "2"), ("b", None)]),
]
END = 5


def write(directory: Path, partition: TopicPartition, batches: Sequence[Batch], high_watermark: int) -> None:
    """The files of one broker's replica."""
    (directory / str(partition)).mkdir(parents=True, exist_ok=True)
    content = b""
    for base_offset, records in batches:
        builder = BatchBuilder(base_offset=base_offset)
        for key, value in records:
            builder.append(7, key.encode(), None if value is None else value.encode())
        content += bytes(builder.build())
    name = file_names.segment_file(0, file_names.LOG)
    (directory / str(partition) / name).write_bytes(content)
    checkpoint = directory / file_names.HIGH_WATERMARKS
    write_offsets(OsFileSystem(), str(checkpoint), {partition: high_watermark})


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """The log directories of three brokers, empty."""
    return {number: tmp_path / f"broker-{number}" for number in IDS}


def fill(
    cluster: Cluster, partition: TopicPartition, change: Change = list, high_watermark: int = END
) -> None:
    """All brokers have what was written, the second with a change."""
    for number, directory in cluster.items():
        write(directory, partition, change(WRITTEN) if number == 2 else WRITTEN, high_watermark)


def removed(batches: list[Batch]) -> list[Batch]:
    """A batch in the middle is not there."""
    return [batches[0], batches[2]]


def cut(batches: list[Batch]) -> list[Batch]:
    """The last batch is not there."""
    return batches[:-1]


def doubled(batches: list[Batch]) -> list[Batch]:
    """A batch is there again, with the next one's offset."""
    return [batches[0], batches[1], (3, batches[1][1]), (4, batches[2][1])]


def altered(batches: list[Batch]) -> list[Batch]:
    """A record has another value."""
    return [batches[0], (2, [("c", "2")]), batches[2]]


def grown(batches: list[Batch]) -> list[Batch]:
    """A batch more, above HW."""
    return [*batches, (END, [("d", "1")])]


def compacted(batches: list[Batch]) -> list[Batch]:
    """As the cleaner leaves it: only the last of each key, without the tombstone."""
    return [batches[1], (3, [("a", "2")])]


@pytest.mark.parametrize("partition", [PAID, OFFSETS])
def test_equal_replicas_hold(cluster: Cluster, partition: TopicPartition) -> None:
    fill(cluster, partition)
    assert check_replicas(cluster) == 1


@pytest.mark.parametrize("partition", [PAID, OFFSETS])
def test_what_is_above_the_high_watermark_may_differ(cluster: Cluster, partition: TopicPartition) -> None:
    fill(cluster, partition, grown)
    assert check_replicas(cluster) == 1


def test_a_compacted_replica_holds(cluster: Cluster) -> None:
    fill(cluster, OFFSETS, compacted)
    assert check_replicas(cluster) == 1


@pytest.mark.parametrize(
    ("partition", "change", "words"),
    [
        (PAID, removed, "differs below HW 5"),
        (PAID, cut, "ends at 3 at broker 2, its HW is 5"),
        (PAID, doubled, "ends at 4 at broker 2, its HW is 5"),
        (PAID, altered, "differs below HW 5"),
        (PAID, compacted, "ends at 4 at broker 2, its HW is 5"),
        (OFFSETS, removed, "different last values below HW 5"),
        (OFFSETS, cut, "different last values below HW 5"),
        (OFFSETS, doubled, "different records at offset 3"),
        (OFFSETS, altered, "different records at offset 2"),
    ],
)
def test_a_replica_that_is_not_like_the_others_is_found(
    cluster: Cluster, partition: TopicPartition, change: Change, words: str
) -> None:
    fill(cluster, partition, change)
    with pytest.raises(Broken, match=words):
        check_replicas(cluster)


def test_a_replica_that_is_not_there_is_found(cluster: Cluster) -> None:
    fill(cluster, PAID)
    for path in (cluster[3] / str(PAID)).iterdir():
        path.unlink()
    (cluster[3] / str(PAID)).rmdir()
    with pytest.raises(Broken, match=r"paid-0 has no replica at the brokers \[3\]"):
        check_replicas(cluster)
