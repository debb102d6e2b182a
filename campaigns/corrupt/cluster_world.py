"""A broker with its metadata store in a real file, which is damaged between two of its lives.

The broker is a simulated one with its logs on a disk in memory; the store is SQLite's, in a directory of its
own. A seed decides what the broker is asked for, when SQLite moves its write-ahead log into the file, and
how the first life ends. The files are copied at that moment, damaged, and the second life begins on them.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from campaigns.corrupt.check import Findings
from campaigns.corrupt.damage import WAYS, Damage, change_bytes
from campaigns.corrupt.world import batches
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.metadata.embedded import METADATA_FILE, EmbeddedEngine, SqliteTable
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import StoreEngine
from odradek.records.builder import BatchBuilder
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.testing.sim import SimNode
from odradek.testing.sim import World as SimWorld
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FILE_KINDS = (METADATA_FILE, f"{METADATA_FILE}-wal")

_TOPIC, _SET = 2, 0


class _StoreInFile(MemoryStore):
    """The simulator's store over another engine than its own."""

    def __init__(self, engine: StoreEngine) -> None:
        super().__init__()
        self.engine = engine  # type: ignore[assignment]


@dataclass
class _Expected:
    """What the second life has to show, or to report as missing."""

    topics: dict[str, tuple[TopicId, int]] = field(default_factory=dict)
    """Id and number of partitions, by name."""
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    records: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    """The values by offset."""
    deleted: set[str] = field(default_factory=set)
    last_producer_id: int = -1


class ClusterWorld:
    """A broker and its store, for two lives."""

    def __init__(self, random: Random, folder: Path) -> None:
        self._random = random
        self._first, self._second = folder / "first", folder / "second"
        self._first.mkdir()
        self._second.mkdir()
        self._world = SimWorld(random.randrange(1 << 30))
        self._engine = EmbeddedEngine(self._first / METADATA_FILE, durable=False)
        self._world.store = _StoreInFile(self._engine)
        self._expected = _Expected()

    def run(self, kind: str) -> tuple[Damage, bool, Findings]:
        """One damage of a file of that kind. Returns it, whether the stop was clean, and the findings."""
        # After a clean stop there is no write-ahead log.
        clean_stop = kind == METADATA_FILE and self._random.random() < 0.6
        self._live()
        self._end(clean_stop=clean_stop)
        damage = self._damage(kind)
        return damage, clean_stop, self._start_and_check()

    # --- the first life

    def _live(self) -> None:
        node = self._world.node()
        for _ in range(self._random.randint(6, 30)):
            self._do_something(node)
            if self._random.random() < 0.15:
                self._move_log_into_file()

    def _do_something(self, node: SimNode) -> None:
        random, expected = self._random, self._expected
        names = sorted(expected.topics)
        match random.choice(["create", "create", "set", "produce", "produce", "delete", "producer id"]):
            case "create":
                name, partitions = f"topic-{random.randrange(1000)}", random.randint(1, 3)
                if name in expected.topics or name in expected.deleted:
                    return
                answer = node.ask(
                    CreateTopicsRequest([CreatableTopic(name, partitions, 1)], timeout_ms=5_000)
                )
                assert answer.topics[0].error_code == 0, answer
                topic = node.core.image.topic(name)
                assert topic is not None, "it has been made"
                expected.topics[name] = (topic.topic_id, partitions)
            case "set" if names:
                name, value = random.choice(names), str(random.randrange(10**8, 10**9))
                setting = AlterableConfig("retention.ms", _SET, value)
                resource = AlterConfigsResource(_TOPIC, name, [setting])
                answered = node.ask(IncrementalAlterConfigsRequest([resource]))
                assert answered.responses[0].error_code == 0, answered
                expected.settings[name] = {"retention.ms": value}
            case "produce" if names:
                name = random.choice(names)
                partition = random.randrange(expected.topics[name][1])
                values = [random.randbytes(random.randint(5, 40)) for _ in range(random.randint(1, 4))]
                first_offset = self._produce(node, name, partition, values)
                written = expected.records.setdefault(TopicPartition(name, partition), [])
                assert first_offset == len(written)
                written += values
            case "delete" if len(names) > 2:
                name = random.choice(names)
                deleted = node.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), 4)
                assert deleted.responses[0].error_code == 0, deleted
                self._world.settle()
                expected.deleted.add(name)
                for partition in range(expected.topics.pop(name)[1]):
                    expected.records.pop(TopicPartition(name, partition), None)
                expected.settings.pop(name, None)
            case "producer id":
                expected.last_producer_id = max(expected.last_producer_id, self._new_producer_id(node))

    @staticmethod
    def _produce(node: SimNode, name: str, partition: int, values: list[bytes]) -> int:
        builder = BatchBuilder()
        for value in values:
            builder.append(1_700_000_000_000, None, value)
        data = TopicProduceData(name, partition_data=[PartitionProduceData(partition, builder.build())])
        answer = node.ask(ProduceRequest(None, -1, 5_000, [data]), 9)
        (row,) = answer.responses[0].partition_responses
        assert row.error_code == 0, answer
        return row.base_offset

    @staticmethod
    def _new_producer_id(node: SimNode) -> int:
        answer = node.ask(InitProducerIdRequest(None, 60_000))
        assert answer.error_code == 0, answer
        return answer.producer_id

    def _move_log_into_file(self) -> None:
        table = self._engine._table
        assert isinstance(table, SqliteTable)
        table._database.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _end(self, *, clean_stop: bool) -> None:
        """End the first life, and copy the files that it leaves."""
        if clean_stop:
            self._world.stop(0)
            self._world.settle()
            self._engine.close()
        else:
            self._world.kill(0)
        for path in self._first.iterdir():
            if not path.name.endswith("-shm"):
                shutil.copy(path, self._second / path.name)
        (self._second / "meta.properties").write_bytes(
            self._world.nodes[0].disk.read("/data/meta.properties")
        )
        if not clean_stop:
            self._world.settle()
            self._engine.close()

    def _damage(self, kind: str) -> Damage:
        path = self._second / kind
        content = path.read_bytes() if path.exists() else b""
        way = self._random.choice(WAYS if content else WAYS[:1])
        position = self._random.randrange(len(content)) if content else 0
        if way == "removed":
            path.unlink(missing_ok=True)
        elif way == "emptied":
            path.write_bytes(b"")
        elif way == "truncated":
            path.write_bytes(content[:position])
        else:
            path.write_bytes(change_bytes(content, way, position, self._random))
        return Damage(path.name, kind, way, position)

    # --- the second life

    def _start_and_check(self) -> Findings:
        findings = Findings()
        with _warnings() as said:
            try:
                engine = open_embedded_engine(
                    BrokerSettings(log_dirs=(str(self._second),), node_id=0), durable=False
                )
            except OdradekError as error:
                return _refused(findings, error)
            self._world.store = _StoreInFile(engine)
            try:
                node = self._world.begin(0)
                self._world.settle()
                if node.start_error is not None:
                    if not isinstance(node.start_error, OdradekError):
                        raise node.start_error
                    return _refused(findings, node.start_error)
                if not node.is_serving:
                    findings.wrong.append(f"the start hangs: {node.stage}")
                    return findings
                findings.lines = [*said, *map(str, node.findings)]
                _Check(self._expected, node, findings).run()
                findings.lines = [*said, *map(str, node.findings)]
            finally:
                engine.close()
        return findings


class _Check:
    """What the second life shows, beside what the first one has acknowledged."""

    def __init__(self, expected: _Expected, node: SimNode, findings: Findings) -> None:
        self._expected = expected
        self._node = node
        self._findings = findings
        self._is_loss_told = any("lacks its last" in line for line in findings.lines)

    def run(self) -> None:
        """Compare."""
        for name in self._expected.topics:
            self._check_topic(name)
        for name in sorted(self._expected.deleted):
            if self._node.core.image.topic(name) is not None:
                self._miss(name, f"the deleted topic {name} is back")
        producer_id = ClusterWorld._new_producer_id(self._node)
        if producer_id <= self._expected.last_producer_id:
            self._wrong(f"producer id {producer_id} was given out again")

    def _check_topic(self, name: str) -> None:
        topic_id, partitions = self._expected.topics[name]
        topic = self._node.core.image.topic(name)
        if topic is None or topic.topic_id != topic_id:
            self._miss(name, f"the topic {name} is gone")
            return
        if len(topic.partitions) != partitions:
            self._miss(name, f"the topic {name} has {len(topic.partitions)} partitions")
        if dict(self._node.core.image.topic_config(name)) != self._expected.settings.get(name, {}):
            self._miss(name, f"the settings of {name} are {self._node.core.image.topic_config(name)}")
        for partition in range(partitions):
            self._check_partition(TopicPartition(name, partition))

    def _check_partition(self, named: TopicPartition) -> None:
        written = self._expected.records.get(named, [])
        log = self._node.core.logs.get(named)
        seen: dict[int, bytes | None] = {}
        if log is not None:
            for _, records in batches(log, log.log_start_offset):
                seen.update((record.offset, record.value) for record in records)
        for offset, value in seen.items():
            if offset >= len(written) or value != written[offset]:
                self._wrong(f"{named}: offset {offset} holds {value!r}")
        if len(seen) < len(written):
            self._miss(str(named), f"{named}: {len(written) - len(seen)} records are gone")
        offset = ClusterWorld._produce(self._node, *named, [b"new"])
        if offset < len(written):
            self._wrong(f"{named}: offset {offset} was given out again")

    def _miss(self, name: str, what: str) -> None:
        """Something is missing: wrong unless the start said so."""
        if not self._is_loss_told and not any(name in line for line in self._findings.lines):
            self._wrong(f"{what}, without a word")

    def _wrong(self, what: str) -> None:
        self._findings.wrong.append(what)


def _refused(findings: Findings, error: Exception) -> Findings:
    findings.refused = str(error)
    if "\n" in findings.refused or not findings.refused:
        findings.wrong.append(f"refused in another way than a sentence: {findings.refused}")
    return findings


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The warnings that are logged meanwhile."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("odradek.metadata")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
