"""Apache Kafka's dump tool reads the files that the broker leaves on disk and finds them right."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from peers import KafkaTools

from compat.clients import CLIENTS, CODECS, Client, Record


@pytest.fixture
def confluent(tools: KafkaTools) -> Client:
    return CLIENTS["confluent-kafka"](tools.bootstrap)


def dump(tools: KafkaTools, *paths: Path, options: tuple[str, ...] = ()) -> str:
    return tools.run("dump-log", "--files", ",".join(map(str, paths)), *options)


@pytest.mark.parametrize("codec", CODECS)
def test_every_batch_and_record_is_valid(
    tools: KafkaTools, confluent: Client, topic: str, data_directory: Path, codec: str
) -> None:
    # Long enough that compression shrinks a batch of one, too: otherwise librdkafka sends it uncompressed.
    values = [f"v{number}".ljust(300, "x") for number in range(50)]
    records = [Record(key=f"k{number}".encode(), value=value.encode()) for number, value in enumerate(values)]
    confluent.write(topic, records, codec=codec)
    segment = data_directory / f"{topic}-0" / f"{0:020}.log"
    printed = dump(tools, segment, options=("--print-data-log",))
    batches = re.findall(
        r"baseOffset: \d+ lastOffset: \d+ count: (\d+) .*compresscodec: (\w+) .*isvalid: (\w+)", printed
    )
    assert sum(int(count) for count, _, _ in batches) == 50, printed
    assert {(name, valid) for _, name, valid in batches} == {(codec, "true")}, printed
    found = re.findall(r"\| offset: (\d+) .* key: (\w+) payload: (\w+)", printed)
    assert found == [(str(number), f"k{number}", value) for number, value in enumerate(values)]


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topics_own_codec_is_what_lies_on_disk(
    tools: KafkaTools,
    confluent: Client,
    new_topic: Callable[..., str],
    data_directory: Path,
    compression: str,
) -> None:
    topic = new_topic(compression_type=compression)
    confluent.write(
        topic, [Record(key=b"k", value=b"v" * 100)] * 50, codec="gzip" if compression != "gzip" else "lz4"
    )
    printed = dump(tools, data_directory / f"{topic}-0" / f"{0:020}.log")
    codecs = set(re.findall(r"compresscodec: (\w+)", printed))
    assert codecs == {"none" if compression == "uncompressed" else compression}, printed


def test_segments_indexes_and_producer_snapshots_are_whole(
    tools: KafkaTools, confluent: Client, new_topic: Callable[..., str], data_directory: Path
) -> None:
    topic = new_topic(segment_bytes=1024 * 1024, index_interval_bytes=4096)
    for start in range(0, 60, 20):
        numbers = range(start, start + 20)
        records = [Record(key=b"k", value=str(number).encode() * 25_000) for number in numbers]
        confluent.write(topic, records, idempotent=True)
    folder = data_directory / f"{topic}-0"
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 1, "the log never rolled"
    printed = dump(tools, *segments)
    assert "isvalid: false" not in printed
    spans = [
        (int(first), int(last)) for first, last in re.findall(r"baseOffset: (\d+) lastOffset: (\d+)", printed)
    ]
    assert spans[0][0] == 0
    assert spans[-1][1] == 59
    for (_, last), (following, _) in itertools.pairwise(spans):
        assert following == last + 1, printed

    # The active segment's indexes are larger than what is in them, with zeros behind.
    indexes = [path.with_suffix(kind) for path in segments[:-1] for kind in (".index", ".timeindex")]
    checked = dump(tools, *indexes, options=("--index-sanity-check",))
    assert len(re.findall("passed sanity check|is empty", checked)) == len(indexes), checked
    for path in indexes:
        # Without an option the tool compares each index with its log, and prints mismatches.
        told = dump(tools, path)
        assert "Mismatches" not in told, told
        assert "Found timestamp mismatch" not in told, told

    snapshots = sorted(folder.glob("*.snapshot"))
    assert snapshots, "no producer snapshot was written when the log rolled"
    told = dump(tools, *snapshots)
    assert re.search(r"producerId: \d+ producerEpoch: 0 .*lastSequence", told), told
