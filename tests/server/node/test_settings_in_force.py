"""Every setting that may change while a broker runs is altered, and whoever uses it is seen to change.

One entry for each; a dynamic setting without one fails. Each is altered for all brokers, taken back, and
altered again before a restart, after which it must be in force as well. Those of the listeners are altered
where there are listeners, in `tests/server/process/test_connection_limits.py`.
"""

import logging
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BROKER_SETTINGS, GROUP_SETTINGS, TopicConfig, Update
from odradek.records.builder import BatchBuilder
from odradek.records.header import HEADER_BYTES, BatchHeader, iter_headers, read_header
from odradek.replication.quota import Quota
from odradek.server.cleaning.cleaner_host import CleaningEvents
from odradek.storage import Log
from odradek.storage.compaction.job import CleaningJob
from odradek.storage.compaction.selection import choose
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)

BROKER, GROUP = 4, 32
SET, DELETE = 0, 1
DAY_MS = 24 * 3_600_000
WEEK_MS = 7 * DAY_MS
COMPRESSIBLE = b"".join(b"%d," % (number * number % 977) for number in range(8_000))
OF_LISTENERS = {"max.connections", "max.connections.per.ip"}

_producer_ids = count(1000)
_later_names = count()


class Entry(NamedTuple):
    """Another value than the default, and what its user makes of the one in force."""

    text: str
    seen: Callable[[SimNode], object]


# --- what users do


def batch_of(
    value: bytes | None = b"v", *, key: bytes | None = b"k", timestamp_ms: int = 0, **fields: int
) -> bytearray:
    builder = BatchBuilder(
        producer_id=fields.get("producer_id", -1),
        producer_epoch=fields.get("producer_epoch", -1),
        base_sequence=fields.get("base_sequence", -1),
        is_transactional=bool(fields.get("is_transactional", False)),
    )
    builder.append(timestamp_ms, key, value)
    return builder.build()


def produced(
    node: SimNode,
    records: bytes | bytearray,
    topic: str = "plain",
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> PartitionProduceResponse:
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(records))])]
    (answer,) = node.ask(ProduceRequest(transactional_id, acks, 1000, data), 9).responses
    found: PartitionProduceResponse = answer.partition_responses[0]
    return found


def write(node: SimNode, value: bytes | None = b"v", topic: str = "plain") -> PartitionProduceResponse:
    """Write one record of now."""
    written = produced(node, batch_of(value, timestamp_ms=node.clock.wall_ms()), topic)
    assert written.error_code == 0, ErrorCode(written.error_code)
    return written


def last_batch(log: Log) -> BatchHeader:
    read = log.read(log.end_offset - 1, 1 << 20, log.end_position, at_least_one=True)
    return [header for _, header in iter_headers(read.held_records)][-1]


def segments(log: Log) -> int:
    return len(list(log.segments))


# --- what is seen of a setting


def codec(node: SimNode) -> int:
    write(node, COMPRESSIBLE)
    return last_batch(node.log("plain")).codec


def size_in(topic: str) -> Callable[[SimNode], object]:
    """How large the broker's own compression makes a batch."""

    def size(node: SimNode) -> int:
        write(node, COMPRESSIBLE, topic)
        return last_batch(node.log(topic)).size_bytes

    return size


def wants_keys(node: SimNode) -> bool:
    """As compacted topics do."""
    return produced(node, batch_of(key=None)).error_code == ErrorCode.INVALID_RECORD


def keeps_tombstones_ms(node: SimNode) -> int:
    """How long after its first cleaning."""
    log = node.log("facts")
    write(node, b"v" * 2_000, "facts")
    write(node, None, "facts")
    tombstone = log.end_offset - 1
    log.roll()
    log.flush()
    node.node.cleaner.look()
    node.settle()
    read = log.read(tombstone, 1 << 20, log.end_position, at_least_one=True)
    header = next(header for _, header in iter_headers(read.held_records) if header.last_offset >= tombstone)
    assert header.delete_horizon_ms is not None
    return header.delete_horizon_ms - node.clock.wall_ms()


def is_cleaned(topic: str, after_ms: int = 0) -> Callable[[SimNode], object]:
    """Whether the log is due, some time after it was written to."""

    def due(node: SimNode) -> bool:
        log = node.log(topic)
        write(node, topic=topic)
        log.roll()
        log.flush()
        return choose([log], node.clock.wall_ms() + after_ms) is not None

    return due


def is_cleaned_when_a_third_is_dirty(node: SimNode) -> bool:
    log = node.log("facts")
    for _ in range(3):
        write(node, topic="facts")
        log.roll()
    log.flush()
    bases = [segment.base_offset for segment in log.segments]
    log.mark_cleaned(bases[2 * len(bases) // 3])
    return choose([log], node.clock.wall_ms()) is not None


def is_flushed_after(records: int, ms: int) -> Callable[[SimNode], object]:
    def flushed(node: SimNode) -> bool:
        log = node.log("plain")
        log.flush()
        for _ in range(records):
            write(node)
        node.settle()
        node.advance(ms)
        return log.flushed_offset == log.end_offset

    return flushed


def indexes_each_batch(node: SimNode) -> bool:
    """Whether batches of 2 KB have entries of their own; the first of five may come too early for one."""
    write(node)
    *_, active = node.log("plain").segments
    before = len(active.offset_index.entries)
    for _ in range(5):
        write(node, b"v" * 2_000)
    return len(active.offset_index.entries) - before >= 4


def rolled_by_bytes(record_bytes: int, records: int, topic: str = "plain") -> Callable[[SimNode], object]:
    """How many segments the records fill."""

    def rolled(node: SimNode) -> int:
        write(node, topic=topic)
        node.log(topic).roll()
        before = segments(node.log(topic))
        for _ in range(records):
            write(node, b"v" * record_bytes, topic)
        return segments(node.log(topic)) - before

    return rolled


def rolls_after(ms: int) -> Callable[[SimNode], object]:
    """Whether a record that comes so much later begins a segment."""

    def rolled(node: SimNode) -> bool:
        log = node.log("plain")
        log.roll()
        write(node)
        node.clock.advance(ms)
        write(node)
        *_, active = log.segments
        return active.base_offset == log.end_offset - 1

    return rolled


def deletes(after_ms: int, record_bytes: int) -> Callable[[SimNode], object]:
    """Whether retention takes an old segment, some time after it was written."""

    def deleted(node: SimNode) -> bool:
        log = node.log("plain")
        write(node, b"v" * record_bytes)
        log.roll()
        write(node)
        return bool(log.delete_old_segments(node.clock.wall_ms() + after_ms))

    return deleted


def removes_files_after(ms: int) -> Callable[[SimNode], object]:
    def removed(node: SimNode) -> bool:
        log = node.log("plain")
        write(node)
        log.roll()
        write(node)
        log.delete_records_before(log.end_offset)
        log.delete_old_segments(node.clock.wall_ms())
        node.clock.advance(ms)
        return bool(node.logs.take_due_removals())

    return removed


def takes_a_timestamp_off_by(ms: int) -> Callable[[SimNode], object]:
    def taken(node: SimNode) -> bool:
        answer = produced(node, batch_of(timestamp_ms=node.clock.wall_ms() + ms))
        return answer.error_code != ErrorCode.INVALID_TIMESTAMP

    return taken


def stamps(node: SimNode) -> bool:
    return write(node).log_append_time_ms >= 0


def takes_large(node: SimNode) -> bool:
    return produced(node, batch_of(b"v" * 6_000)).error_code != ErrorCode.MESSAGE_TOO_LARGE


def takes_writes_without_its_follower(node: SimNode) -> bool:
    """The other replica is dead."""
    return produced(node, batch_of(), "pair").error_code == 0


def fetchers_of_one_leader(node: SimNode) -> int:
    """Over how many the partitions are spread that one broker leads."""
    manager = node.core.fetchers.manager
    followed = [TopicPartition("far", number) for number in range(12)]
    for partition in followed:
        manager.follow(partition, UUID(int=1), leader_id=77, leader_epoch=0)
    found = len(list(manager.fetchers()))
    for partition in followed:
        manager.unfollow(partition)
    return found


def throttles_after(size_bytes: int, side: str) -> Callable[[SimNode], bool]:
    """Whether the quota of a side is exceeded after that many bytes of throttled replicas."""
    listing = TopicConfig(
        leader_replication_throttled_replicas=("*",), follower_replication_throttled_replicas=("*",)
    )

    def throttled(node: SimNode) -> bool:
        quota: Quota = getattr(node.core.replication_quotas, side)
        quota.record(TopicPartition("plain", 0), listing, size_bytes)
        return quota.is_exceeded()

    return throttled


def moves_a_log_at_once(node: SimNode) -> bool:
    """Whether a log has moved to another log directory, and back, before time passes."""
    log = node.log("plain")
    while log.end_offset < 5:
        write(node)
    home = log.directory
    for directory in ("/more", home):
        node.core.log_mover.move(log.topic_partition, directory)
        node.settle()
    has_moved = node.log("plain").directory == home and node.log("plain") is not log
    node.core.log_mover.move(log.topic_partition, node.log("plain").directory)
    node.advance(12_000)  # over all windows of the quota
    return has_moved


def is_on_disk_when_acknowledged(node: SimNode) -> bool:
    log = node.log("plain")
    log.flush()
    write(node)
    return log.flushed_offset == log.end_offset


def walks_records(node: SimNode) -> bool:
    """Whether a batch is refused whose record claims the next one's offset, under a CRC that holds."""
    lying = batch_of(timestamp_ms=node.clock.wall_ms())
    offset_delta_at = HEADER_BYTES + 3  # behind length, attributes and timestamp delta, a byte each
    assert lying[offset_delta_at] == 0
    lying[offset_delta_at] = 2
    read_header(lying).seal_into(lying)
    return produced(node, lying).error_code == ErrorCode.INVALID_RECORD


class Recorder:
    """A runner of cleanings that does nothing but remember what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
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
    return task._interval_ms()


def forgets_a_producer(node: SimNode) -> bool:
    """Whether a producer that wrote a moment ago is forgotten a second later."""
    producer_id = next(_producer_ids)
    produced(
        node,
        batch_of(
            timestamp_ms=node.clock.wall_ms(), producer_id=producer_id, producer_epoch=0, base_sequence=0
        ),
    )
    return bool(exhaust(node.logs.expire_producers(node.clock.wall_ms() + 1000)))


def takes_unverified_writes(node: SimNode) -> bool:
    """Whether a transactional write to a partition that its coordinator does not know is taken."""
    batch = batch_of(
        timestamp_ms=node.clock.wall_ms(),
        producer_id=next(_producer_ids),
        producer_epoch=0,
        base_sequence=0,
        is_transactional=1,
    )
    return produced(node, batch, transactional_id="payments").error_code == 0


def elects_uncleanly(node: SimNode) -> bool:
    active = node.core.controller._controller._active
    assert active is not None
    return active._cluster.settings.allows_unclean("plain")


ENTRIES = {
    "compression.gzip.level": Entry("1", size_in("gzip")),
    "compression.lz4.level": Entry("2", size_in("lz4")),
    "compression.type": Entry("gzip", codec),
    "compression.zstd.level": Entry("12", size_in("zstd")),
    "follower.replication.throttled.rate": Entry("10", throttles_after(1_000, "follower")),
    "leader.replication.throttled.rate": Entry("10", throttles_after(1_000, "leader")),
    "log.cleanup.policy": Entry("compact", wants_keys),
    "log.cleaner.backoff.ms": Entry("250", looks_for_cleaning_ms),
    "log.cleaner.dedupe.buffer.size": Entry("2000000", cleanings),
    "log.cleaner.delete.retention.ms": Entry("1000", keeps_tombstones_ms),
    "log.cleaner.io.max.bytes.per.second": Entry("1000", cleanings),
    "log.cleaner.max.compaction.lag.ms": Entry("2000", is_cleaned("lazy", after_ms=3_000)),
    "log.cleaner.min.cleanable.ratio": Entry("0.25", is_cleaned_when_a_third_is_dirty),
    "log.cleaner.min.compaction.lag.ms": Entry("1000", is_cleaned("facts")),
    "log.cleaner.threads": Entry("0", cleanings),
    "log.flush.interval.messages": Entry("10", is_flushed_after(10, ms=0)),
    "log.flush.interval.ms": Entry("600000", is_flushed_after(1, ms=2_500)),
    "log.index.interval.bytes": Entry("1024", indexes_each_batch),
    "log.index.size.max.bytes": Entry("24", rolled_by_bytes(100, 8, "indexed")),
    "log.message.timestamp.after.max.ms": Entry("5000", takes_a_timestamp_off_by(10_000)),
    "log.message.timestamp.before.max.ms": Entry("5000", takes_a_timestamp_off_by(-10_000)),
    "log.message.timestamp.type": Entry("LogAppendTime", stamps),
    "log.retention.bytes": Entry("1000", deletes(0, 4_000)),
    "log.retention.ms": Entry("5000", deletes(10_000, 100)),
    "log.roll.ms": Entry("6000", rolls_after(10_000)),
    "log.roll.jitter.ms": Entry(str(WEEK_MS - DAY_MS), rolls_after(WEEK_MS - 1)),
    "log.segment.bytes": Entry("1048576", rolled_by_bytes(900_000, 3)),
    "log.segment.delete.delay.ms": Entry("100", removes_files_after(200)),
    "message.max.bytes": Entry("5000", takes_large),
    "min.insync.replicas": Entry("2", takes_writes_without_its_follower),
    "num.replica.fetchers": Entry("5", fetchers_of_one_leader),
    "replica.alter.log.dirs.io.max.bytes.per.second": Entry("10", moves_a_log_at_once),
    "odradek.log.flush.before.ack": Entry("true", is_on_disk_when_acknowledged),
    "odradek.record.validation": Entry("header", walks_records),
    "producer.id.expiration.ms": Entry("500", forgets_a_producer),
    "transaction.partition.verification.enable": Entry("false", takes_unverified_writes),
    "unclean.leader.election.enable": Entry("true", elects_uncleanly),
}


def dynamic() -> Iterator[str]:
    for name, setting in BROKER_SETTINGS.items():
        if setting.update is not Update.READ_ONLY and not setting.no_effect:
            yield name


def alter(
    node: SimNode, name: str, operation: int, text: str | None, of: tuple[int, str] = (BROKER, "")
) -> None:
    resource = AlterConfigsResource(*of, [AlterableConfig(name, operation, text)])
    (answer,) = node.ask(IncrementalAlterConfigsRequest([resource])).responses
    assert answer.error_code == 0, answer.error_message
    node.turns.run()


TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "facts": {"cleanup.policy": "compact"},
    "lazy": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"},
    "gzip": {"compression.type": "gzip"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "indexed": {"index.interval.bytes": "0"},
    "pair": {},
}


def make_topics(controller: SimNode, leader: int, follower: int) -> None:
    """Create the TOPICS, led by one broker; `pair` has a follower."""
    topics = [
        CreatableTopic(
            name,
            -1,
            -1,
            [CreatableReplicaAssignment(0, [leader, follower] if name == "pair" else [leader])],
            [CreatableTopicConfig(*each) for each in configs.items()],
        )
        for name, configs in TOPICS.items()
    ]
    answer = controller.ask(CreateTopicsRequest(topics, timeout_ms=1000))
    assert [topic.error_code for topic in answer.topics] == [0] * len(TOPICS)


def make_dirty(node: SimNode) -> None:
    """Give the compacted topic `facts` a segment to clean."""
    log = node.log("facts")
    write(node, topic="facts")
    log.roll()
    log.flush()


@pytest.fixture
def busy() -> SimNode:
    """A broker that leads topics of all kinds; the other replica of one of them is dead."""
    world = World()
    node = world.node(0, log_flush_scheduler_interval_ms="1000", log_dirs="/data,/more")
    other = world.node(1)
    make_topics(node, leader=node.broker_id, follower=other.broker_id)
    other.kill()
    world.settle()
    make_dirty(node)
    return node


def test_every_dynamic_setting_has_an_entry() -> None:
    seen = set(ENTRIES) | OF_LISTENERS
    missing = sorted(set(dynamic()) - seen)
    assert not missing, f"give these an entry in ENTRIES of this file, or in OF_LISTENERS: {missing}"
    assert seen == set(dynamic()), "ENTRIES or OF_LISTENERS of this file has settings that are not dynamic"


@pytest.mark.parametrize("name", ENTRIES)
def test_a_changed_setting_is_in_force_for_who_uses_it(busy: SimNode, name: str) -> None:
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


def test_what_has_no_effect_is_said_in_the_log(busy: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    alter(busy, "num.io.threads", SET, "3")
    alter(busy, "foo.bar", SET, "1")
    alter(busy, "log.retention.ms", SET, "1000")
    assert caplog.messages == [
        "num.io.threads has no effect here: one thread does all the work",
        "there is no setting named foo.bar; it is ignored",
    ]


def test_peers_do_not_decide_how_much_is_logged_of_it(
    busy: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(200):
        alter(busy, "foo.bar", SET, str(number))
    assert len(caplog.messages) <= 20


def test_a_stored_value_that_is_refused_by_now_does_not_stop_a_start(
    busy: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    said = busy.layers.let_in_force({"max.connections": "0", "log.retention.ms": "1000"}, {})
    assert said == ["a stored setting is not in force: max.connections must be at least 1, not 0"]
    assert busy.core.settings.max_connections == 2_147_483_647
    assert busy.core.settings.log_retention_ms == 1000


# --- of one group


def beat(node: SimNode, member_id: str = "m", epoch: int = 0) -> ConsumerGroupHeartbeatResponse:
    """A member of the group "g" joins, or goes on; with epoch -1 it leaves."""
    request = ConsumerGroupHeartbeatRequest(
        "g",
        member_id,
        epoch,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["plain"],
        topic_partitions=[],
    )
    answer: ConsumerGroupHeartbeatResponse = node.ask(request)
    assert answer.error_code == 0, answer.error_message
    return answer


def sends_heartbeats_every_ms(node: SimNode) -> int:
    told = beat(node).heartbeat_interval_ms
    beat(node, epoch=-1)
    return told


def may_be_silent_for(ms: int) -> Callable[[SimNode], object]:
    def is_a_member(node: SimNode) -> bool:
        beat(node)
        node.advance(ms)
        (group,) = node.ask(ConsumerGroupDescribeRequest(["g"])).groups
        if group.members:
            beat(node, epoch=-1)
        return bool(group.members)

    return is_a_member


GROUP_ENTRIES = {
    "consumer.heartbeat.interval.ms": Entry("7000", sends_heartbeats_every_ms),
    "consumer.session.timeout.ms": Entry("60000", may_be_silent_for(50_000)),
}


def test_every_setting_of_a_group_has_an_entry() -> None:
    assert set(GROUP_ENTRIES) == set(GROUP_SETTINGS)


@pytest.mark.parametrize("name", GROUP_ENTRIES)
def test_a_changed_setting_of_a_group_is_in_force_for_its_members(name: str) -> None:
    """R18: without a restart, when it is taken back, and after a restart."""
    node = World().node(offsets_topic_num_partitions="1")
    node.ask(CreateTopicsRequest([CreatableTopic("plain", 1, 1)], timeout_ms=1000))
    node.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    node.settle()
    text, seen = GROUP_ENTRIES[name]
    before = seen(node)
    alter(node, name, SET, text, of=(GROUP, "g"))
    after = seen(node)
    assert after != before
    alter(node, name, DELETE, None, of=(GROUP, "g"))
    assert seen(node) == before
    alter(node, name, SET, text, of=(GROUP, "g"))
    again = node.restarted()
    again.settle()
    assert seen(again) == after, "in force after a restart too"
