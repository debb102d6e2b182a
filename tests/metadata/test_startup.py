"""A store is founded once, and read into an image; what cannot be read is named."""

from collections import Counter
from typing import Protocol, TypeVar
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import NO_BROKER
from odradek.metadata import codec, paths
from odradek.metadata.image import ClusterImage, PartitionImage
from odradek.metadata.memory import MemorySession, MemoryStore
from odradek.metadata.startup import found_cluster, load_image, register_broker
from odradek.metadata.store import (
    READS_MAX,
    Committed,
    Create,
    Delete,
    Exists,
    Multi,
    Operation,
    Result,
    SetData,
    StoreRefused,
    StoreSteps,
    WriteOperation,
)
from tests.metadata.controllers import make_broker

T = TypeVar("T")


class Run(Protocol):
    """Drives a process to its end, in the session."""

    def __call__(self, process: StoreSteps[T], /) -> T: ...


class Write(Protocol):
    """Writes one after another, in the session."""

    def __call__(self, *operations: Operation) -> None: ...


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def session(store: MemoryStore) -> MemorySession:
    return store.connect()


@pytest.fixture
def run(store: MemoryStore, session: MemorySession) -> Run:
    def run_here(process: StoreSteps[T]) -> T:
        return exhaust(process, lambda operation: store.engine.apply(session.session_id, operation).result)

    return run_here


@pytest.fixture
def write(store: MemoryStore, session: MemorySession) -> Write:
    def write_at_once(*operations: Operation) -> None:
        for operation in operations:
            session.submit(operation)
        store.deliver()

    return write_at_once


def test_a_fresh_store_is_founded_in_one_write(store: MemoryStore, run: Run) -> None:
    cluster_id = run(found_cluster(SeededChance(1)))
    assert len(cluster_id) == 22
    made_at = {stat.created_at for path, (_, stat) in store.table.snapshot().items() if path != "/"}
    assert len(made_at) == 1


def test_a_founded_store_keeps_its_id(run: Run) -> None:
    first = run(found_cluster(SeededChance(1)))
    assert run(found_cluster(SeededChance(2))) == first


def test_a_store_that_kafka_began_is_completed(store: MemoryStore, run: Run, write: Write) -> None:
    write(Create("/brokers"), Create("/brokers/ids"), Create("/cluster"))
    write(Create(paths.CLUSTER_ID, codec.encode_cluster_id("theirs")))
    assert run(found_cluster(SeededChance(1))) == "theirs"
    assert set(paths.ROOTS) <= set(store.table.snapshot())


def test_a_broker_s_epoch_is_the_making_of_its_node(run: Run, session: MemorySession, write: Write) -> None:
    run(found_cluster(SeededChance(1)))
    first = run(register_broker(make_broker(1), session.session_id, 5))
    write(Delete(paths.broker(1)))
    second = run(register_broker(make_broker(1), session.session_id, 6))
    assert second.epoch > first.epoch > 0
    assert run(load_image()).brokers == {1: second}


def test_an_id_is_registered_once(run: Run, session: MemorySession) -> None:
    run(found_cluster(SeededChance(1)))
    run(register_broker(make_broker(1), session.session_id, 5))
    with pytest.raises(ApiError) as refused:
        run(register_broker(make_broker(1), session.session_id + 1, 5))
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_an_id_is_free_when_its_session_ends_while_the_registration_looks(
    store: MemoryStore, session: MemorySession, run: Run
) -> None:
    """The other session ended between the attempt to register and the look at who holds the id."""
    run(found_cluster(SeededChance(1)))
    other = store.connect()
    store.engine.apply(other.session_id, Create(paths.broker(1), b"{}", ephemeral=True))

    def apply(operation: Operation) -> Result:
        if isinstance(operation, Exists) and operation.path == paths.broker(1) and other.session_id:
            store.expire(other.session_id)
            other.session_id = 0
        return store.engine.apply(session.session_id, operation).result

    registered = exhaust(register_broker(make_broker(1), session.session_id, 5), apply)
    assert run(load_image()).brokers == {1: registered}


def test_an_empty_store_is_an_empty_image(run: Run) -> None:
    assert run(load_image()) == ClusterImage()


def test_everything_is_read(run: Run, write: Write) -> None:
    run(found_cluster(SeededChance(1)))
    states = {
        number: PartitionImage((1, 2), (2,), 2, leader_epoch=3, controller_epoch=4) for number in (0, 1)
    }
    write(
        Create(paths.topic("a"), codec.encode_topic(UUID(int=1), states)),
        Create(paths.partitions("a")),
        Create(paths.partition("a", 0)),
        Create(paths.partition_state("a", 0), codec.encode_state(states[0], 4)),
        SetData(paths.partition_state("a", 0), codec.encode_state(states[0], 4)),
        Create(paths.topic_config("a"), codec.encode_config({"retention.ms": "1"})),
        Create(paths.broker_config(None), codec.encode_config({"log.retention.ms": "2"})),
        Create(paths.broker_config(7), codec.encode_config({"log.retention.ms": "3"})),
        Create(paths.group_config("a/b"), codec.encode_config({"consumer.session.timeout.ms": "5"})),
        Create(paths.CONTROLLER, codec.encode_controller(2, 5)),
        Create(paths.CONTROLLER_EPOCH, b"4"),
        Create(paths.topic_deletion("a")),
        Create(paths.topic_deletion("gone")),
    )
    image = run(load_image())
    assert image.topics["a"].partitions == {
        0: PartitionImage((1, 2), (2,), 2, leader_epoch=3, state_version=1, controller_epoch=4),
        1: PartitionImage((1, 2), (), NO_BROKER, state_version=-1),
    }
    assert image.topic_config("a") == {"retention.ms": "1"}
    assert image.default_broker_config == {"log.retention.ms": "2"}
    assert image.broker_config(7) == {"log.retention.ms": "3"}
    assert image.group_config("a/b") == {"consumer.session.timeout.ms": "5"}
    assert (image.controller_id, image.controller_epoch) == (2, 4)
    assert list(image.deleting) == ["a"]


def test_a_node_that_cannot_be_read_is_named(run: Run, write: Write) -> None:
    run(found_cluster(SeededChance(1)))
    write(Create(paths.topic("a"), b"nonsense"))
    with pytest.raises(codec.MalformedNode, match="/brokers/topics/a: cannot read b'nonsense'"):
        run(load_image())


def test_a_session_that_is_over_reads_nothing(run: Run, session: MemorySession) -> None:
    session.expire()
    with pytest.raises(StoreRefused, match="session is over"):
        run(load_image())


def test_a_store_is_read_in_batches(store: MemoryStore, session: MemorySession, run: Run) -> None:
    """The trips to the store grow with the nodes by one in a hundred, not one by one."""
    run(found_cluster(SeededChance(1)))
    count = 1000
    document = codec.encode_topic(UUID(int=7), dict.fromkeys(range(count), PartitionImage((1,), (1,), 1)))
    state = codec.encode_state(PartitionImage((1,), (1,), 1), 1)
    nodes: list[WriteOperation] = [Create(paths.topic("t"), document), Create(paths.partitions("t"))]
    for number in range(count):
        nodes += [Create(paths.partition("t", number)), Create(paths.partition_state("t", number), state)]
    store.engine.apply(session.session_id, Multi(tuple(nodes)))
    trips: list[Operation] = []

    def apply(operation: Operation) -> Result:
        trips.append(operation)
        return store.engine.apply(session.session_id, operation).result

    image = exhaust(load_image(), apply)
    assert len(image.topics["t"].partitions) == count
    assert all(state.leader == 1 for state in image.topics["t"].partitions.values())
    assert len(trips) == count // READS_MAX + 5


def test_no_step_of_reading_a_store_decodes_more_than_a_few_nodes(
    store: MemoryStore, session: MemorySession, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that is elected reads ten thousand partitions, and its broker serves meanwhile."""
    run(found_cluster(SeededChance(1)))
    state = PartitionImage((1,), (1,), 1)
    for number in range(2 * READS_MAX):
        name = f"t{number}"
        nodes: list[WriteOperation] = [
            Create(paths.topic(name), codec.encode_topic(UUID(int=number + 1), {0: state})),
            Create(paths.topic_config(name), codec.encode_config({"retention.ms": "7"})),
            *(Create(path) for path in (paths.partitions(name), paths.partition(name, 0))),
            Create(paths.partition_state(name, 0), codec.encode_state(state, 1)),
        ]
        assert isinstance(store.engine.apply(session.session_id, Multi(tuple(nodes))).result, Committed)
    decoded: Counter[str] = Counter()

    def count(name: str) -> None:
        decode = getattr(codec, name)

        def counted(data: bytes) -> object:
            decoded[name] += 1
            decoded["in this step"] += 1
            return decode(data)

        monkeypatch.setattr(codec, name, counted)

    for name in ("decode_topic", "decode_state", "decode_config"):
        count(name)
    process, image, longest = load_image(), ClusterImage(), 0
    answer: Result | None = None
    while not image.topics:
        try:
            operation = process.send(answer) if answer is not None else next(process)
        except StopIteration as end:
            image, operation = end.value, None
        longest = max(longest, decoded.pop("in this step", 0))
        answer = None
        if operation is not None:
            answer = store.engine.apply(session.session_id, operation).result
    assert len(image.topics) == 2 * READS_MAX
    assert decoded == dict.fromkeys(("decode_topic", "decode_state", "decode_config"), 2 * READS_MAX)
    assert longest <= ITEMS_PER_STEP
