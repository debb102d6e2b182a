"""Every setting that may change while a broker runs is altered, and whoever uses it is seen to change.

One entry for each; a dynamic setting without one fails. Each is altered for all brokers, taken back, and
altered again before a restart, after which it must be in force as well.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest

from odradek.base.settings import BROKER_SETTINGS, TOPIC_SETTINGS, Update
from odradek.base.settings.definition import attribute_of
from odradek.records.builder import BatchBuilder
from odradek.server.edge.listener import Listeners
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BROKER = 4
SET, DELETE = 0, 1

_producer_ids = count(1000)


class Entry(NamedTuple):
    """Another value than the default, and what its user makes of the one in force."""

    text: str
    seen: Callable[[Any], object]


def of_log(topic_setting: str) -> Callable[[Any], object]:
    return lambda node: getattr(node.log("plain").config, attribute_of(topic_setting))


class Caller:
    """A connection that asks to be let in."""

    peer_host = "10.0.0.1"


def admitted(node: SimNode) -> int:
    """How many of three connections are let in."""
    table = Listeners(lambda: node.core.settings, node.clock, node.calls).table
    return sum(table.admit(Caller()) is None for _ in range(3))  # type: ignore[arg-type]


class Recorder:
    """A runner of cleanings that does nothing but remember what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []

    def run(self, job: Any, *, bytes_per_second: float, **reports: Any) -> Callable[[], None]:
        self.told.append((job.map_bytes_max, bytes_per_second))
        return lambda: None


def cleanings(node: SimNode) -> list[tuple[int, float]]:
    """What is told to who cleans: the bytes of the offset map, and the rate."""
    host, recorder = node.node.cleaner, Recorder()
    host._runner = recorder
    host._running.clear()
    host.look()
    return recorder.told


def looks_for_cleaning_ms(node: SimNode) -> int:
    (task,) = [task for task in node.node.schedule._tasks if task.name == "log-cleaner"]
    interval_ms: int = task._interval_ms()
    return interval_ms


def forgets_a_producer(node: SimNode) -> bool:
    """Whether a producer that wrote a moment ago is forgotten a second later."""
    builder = BatchBuilder(producer_id=next(_producer_ids), producer_epoch=0, base_sequence=0)
    builder.append(node.clock.wall_ms(), None, b"v")
    produce(node, bytes(builder.build()), None)
    return bool(node.logs.expire_producers(node.clock.wall_ms() + 1000))


def takes_unverified_writes(node: SimNode) -> bool:
    """Whether a transactional write to a partition that its coordinator does not know is taken."""
    builder = BatchBuilder(
        producer_id=next(_producer_ids), producer_epoch=0, base_sequence=0, is_transactional=True
    )
    builder.append(node.clock.wall_ms(), None, b"v")
    return produce(node, bytes(builder.build()), "payments") == 0


def produce(node: SimNode, records: bytes, transactional_id: str | None) -> int:
    data = [TopicProduceData("plain", partition_data=[PartitionProduceData(0, records)])]
    (answer,) = node.ask(ProduceRequest(transactional_id, -1, 1000, data), 9).responses
    code: int = answer.partition_responses[0].error_code
    return code


def elects_uncleanly(node: SimNode) -> bool:
    active = node.core.controller._controller._active
    assert active is not None
    allowed: bool = active._cluster.unclean_allowed("plain")
    return allowed


TOPIC_DEFAULTS = {
    "compression.gzip.level": "3",
    "compression.lz4.level": "5",
    "compression.type": "gzip",
    "compression.zstd.level": "7",
    "log.cleanup.policy": "compact",
    "log.cleaner.delete.retention.ms": "1000",
    "log.cleaner.max.compaction.lag.ms": "2000",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.cleaner.min.compaction.lag.ms": "1000",
    "log.flush.interval.messages": "10",
    "log.flush.interval.ms": "1000",
    "log.index.interval.bytes": "1024",
    "log.index.size.max.bytes": "65536",
    "log.message.timestamp.after.max.ms": "5000",
    "log.message.timestamp.before.max.ms": "5000",
    "log.message.timestamp.type": "LogAppendTime",
    "log.retention.bytes": "1000000",
    "log.retention.ms": "5000",
    "log.roll.ms": "6000",
    "log.roll.jitter.ms": "100",
    "log.segment.bytes": "2000000",
    "log.segment.delete.delay.ms": "100",
    "message.max.bytes": "5000",
    "min.insync.replicas": "2",
    "odradek.log.flush.before.ack": "true",
    "odradek.record.validation": "header",
}

ENTRIES = {
    "log.cleaner.backoff.ms": Entry("250", looks_for_cleaning_ms),
    "log.cleaner.dedupe.buffer.size": Entry("2000000", cleanings),
    "log.cleaner.io.max.bytes.per.second": Entry("1000", cleanings),
    "log.cleaner.threads": Entry("0", cleanings),
    "max.connections": Entry("2", admitted),
    "max.connections.per.ip": Entry("1", admitted),
    "producer.id.expiration.ms": Entry("500", forgets_a_producer),
    "transaction.partition.verification.enable": Entry("false", takes_unverified_writes),
    "unclean.leader.election.enable": Entry("true", elects_uncleanly),
    **{
        broker_name: Entry(TOPIC_DEFAULTS[broker_name], of_log(topic_name))
        for topic_name, setting in TOPIC_SETTINGS.items()
        for broker_name, _ in setting.broker_names
        if broker_name in TOPIC_DEFAULTS
    },
}


def dynamic() -> Iterator[str]:
    for name, setting in BROKER_SETTINGS.items():
        if setting.update is not Update.READ_ONLY and not setting.no_effect:
            yield name


def alter(node: SimNode, name: str, operation: int, text: str | None) -> None:
    resource = AlterConfigsResource(BROKER, "", [AlterableConfig(name, operation, text)])
    (answer,) = node.ask(IncrementalAlterConfigsRequest([resource])).responses
    assert answer.error_code == 0, answer.error_message
    node.turns.run()


@pytest.fixture
def busy(node: SimNode, batch: Any) -> Any:
    """A broker with a topic that sets nothing, and one that has something to be cleaned."""
    compacted = [CreatableTopicConfig("cleanup.policy", "compact")]
    topics = [CreatableTopic("plain", 1, 1), CreatableTopic("facts", 1, 1, configs=compacted)]
    answer = node.ask(CreateTopicsRequest(topics, timeout_ms=1000))
    assert [topic.error_code for topic in answer.topics] == [0, 0]
    log = node.log("facts")
    builder = BatchBuilder()
    builder.append(node.clock.wall_ms(), b"k", b"v")
    data = [TopicProduceData("facts", partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    node.ask(ProduceRequest(None, -1, 1000, data), 9)
    log.roll()
    log.flush()
    return node


def test_every_dynamic_setting_has_an_entry() -> None:
    assert set(ENTRIES) == set(dynamic())


@pytest.mark.parametrize("name", ENTRIES)
def test_a_changed_setting_is_in_force_for_who_uses_it(busy: Any, name: str) -> None:
    """R18: without a restart, when it is taken back, and after a restart."""
    text, seen = ENTRIES[name]
    before = seen(busy)
    alter(busy, name, SET, text)
    after = seen(busy)
    assert after != before
    alter(busy, name, DELETE, None)
    assert seen(busy) == before
    alter(busy, name, SET, text)
    again = busy.restarted()
    assert seen(again) == after, "in force after a restart too"


def test_what_has_no_effect_is_said_in_the_log(busy: Any, caplog: pytest.LogCaptureFixture) -> None:
    alter(busy, "num.io.threads", SET, "3")
    alter(busy, "foo.bar", SET, "1")
    alter(busy, "log.retention.ms", SET, "1000")
    assert caplog.messages == [
        "num.io.threads has no effect here: one thread does all the work",
        "there is no setting named foo.bar; it is ignored",
    ]


def test_peers_do_not_decide_how_much_is_logged_of_it(busy: Any, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(200):
        alter(busy, "foo.bar", SET, str(number))
    assert len(caplog.messages) <= 20


def test_a_stored_value_that_is_refused_by_now_does_not_stop_a_start(
    busy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    said = busy.layers.let_in_force({"max.connections": "0", "log.retention.ms": "1000"}, {})
    assert said == ["a stored setting is not in force: max.connections must be at least 1, not 0"]
    assert busy.core.settings.max_connections == 2_147_483_647
    assert busy.core.settings.log_retention_ms == 1000
