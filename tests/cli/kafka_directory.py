"""A log directory as Apache Kafka leaves it."""

from collections.abc import Sequence
from pathlib import Path

from odradek import Admin
from odradek.base.uuids import parse_uuid
from odradek.cli.main import run
from odradek.client.core.admin.configs import TOPIC_RESOURCE
from odradek.metadata.kraft.records import KINDS
from odradek.records.builder import BatchBuilder
from odradek.testing import Broker
from odradek.wire.message import Message
from odradek.wire.messages.cluster_metadata import (
    ConfigRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)

NODE = 1
KEYS = {kind: key for key, kind in KINDS.items()}

Written = Message | int


def value_of(record: Written) -> bytes:
    """A metadata record as KRaft frames it; of kinds that are not read only the key."""
    if isinstance(record, int):
        return bytes([1, record, 0])
    return bytes([1, KEYS[type(record)], 0]) + record.encode(0)


def batch_of(records: Sequence[Written], base_offset: int = 0) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=1)
    for record in records:
        builder.append(0, None, value_of(record))
    return bytes(builder.build())


class KafkaDirectory:
    """A log directory with one topic of two partitions, and what a quorum says of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with Broker(data_dir=path, settings={"node.id": str(NODE)}) as broker:
            assert (
                run(["topics", "create", "flights", "--partitions", "2", "-b", broker.bootstrap_servers]) == 0
            )
            file = path.parent / "lines"
            file.write_bytes(b"a\nb\nc\n")
            send = ["produce", "flights", "-q", "--partition", "0", "--file", str(file)]
            assert run([*send, "-b", broker.bootstrap_servers]) == 0
            with Admin(broker.bootstrap_servers) as admin:
                topic_id = parse_uuid(admin.describe_topics()[0].topic_id)
        assert topic_id is not None
        self.topic_id = topic_id
        for name in ("metadata.db", "metadata.db.lock"):
            (path / name).unlink()
        self.records: list[Written] = [
            TopicRecord("flights", self.topic_id),
            *(self.partition(number) for number in (0, 1)),
            ConfigRecord(TOPIC_RESOURCE, "flights", "retention.ms", "5000"),
            ProducerIdsRecord(NODE, 0, 3000),
        ]

    def partition(
        self, number: int, replicas: Sequence[int] = (NODE,), leader_epoch: int = 3
    ) -> PartitionRecord:
        return PartitionRecord(
            number,
            self.topic_id,
            list(replicas),
            list(replicas),
            leader=replicas[0],
            leader_epoch=leader_epoch,
        )

    def write(self, snapshot: Sequence[Written] | None = None) -> None:
        log = self.path / "__cluster_metadata-0"
        log.mkdir(exist_ok=True)
        begin = 0
        if snapshot is not None:
            begin = 100
            (log / f"{begin:020}-{1:010}.checkpoint").write_bytes(batch_of(snapshot))
        (log / f"{0:020}.log").write_bytes(batch_of(self.records, begin))

    def contents(self) -> dict[str, bytes]:
        return {str(one): one.read_bytes() for one in sorted(self.path.rglob("*")) if one.is_file()}
