"""Log directories that fail while their broker goes on: the controller learns of it, and others lead."""

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import Create, Operation
from odradek.server.node.log_dir_events import LogDirEvents
from odradek.server.node.store_session import StoreSession
from odradek.timer import Timer
from tests.server.node.test_replica_fetchers import BROKERS, SESSION_MS, Cluster, code_of

PARTITIONS = range(4)


def is_announcement(operation: Operation) -> bool:
    return isinstance(operation, Create) and operation.path == paths.LOG_DIR_EVENT_PREFIX


class Disks(Cluster):
    """Brokers with two log directories each, and four partitions, led by broker 1 or as told."""

    def __init__(self, replicas: tuple[BrokerId, ...] = BROKERS) -> None:
        super().__init__(partitions=len(PARTITIONS), replicas=replicas, log_dirs="/data,/more")

    def fail_directory(self, broker_id: BrokerId) -> list[int]:
        """Returns the partitions that were in it."""
        node = self[broker_id]
        failing = [log.topic_partition.partition for log in node.logs.logs() if log.directory == "/more"]
        assert 0 < len(failing) < len(PARTITIONS)
        node.core.replicas.directory_failed("/more", "input/output error")
        return failing

    def stored(self, partition: int) -> codec.StateDocument:
        path = paths.partition_state("orders", partition)
        return codec.decode_state(self.world.store.table.snapshot()[path][0])

    def check_elected(self, failing: list[int], without: BrokerId) -> None:
        """The partitions in the directory are led by others, the rest is as it was."""
        first, second = (broker_id for broker_id in BROKERS if broker_id != without)
        for number in PARTITIONS:
            state = self.stored(number)
            if number in failing:
                assert state.leader == first
                assert sorted(state.isr) == [first, second]
                leader = self[state.leader]
                sent = self.produce(at=leader, partition=number)
                self.world.advance(1_000)
                assert code_of(sent) is ErrorCode.NONE
            else:
                assert (state.leader, state.leader_epoch, sorted(state.isr)) == (1, 0, list(BROKERS))
        assert self.world.store.table.child_names(paths.LOG_DIR_EVENTS) == ()


def test_a_leader_whose_directory_fails_is_replaced_at_once() -> None:
    """R6, L7: its other partitions stay where they are."""
    cluster = Disks()
    failing = cluster.fail_directory(1)
    cluster.world.settle()
    cluster.check_elected(failing, without=1)


def test_a_follower_whose_directory_fails_leaves_the_isr_at_once() -> None:
    """R6: a produce that waits for it is answered, long before it would lag."""
    cluster = Disks()
    failing = cluster.fail_directory(3)
    sent = cluster.produce(at=cluster[1], partition=failing[0])
    cluster.world.advance(2_000)
    assert code_of(sent) is ErrorCode.NONE
    for number in PARTITIONS:
        state = cluster.stored(number)
        assert state.leader == 1
        assert sorted(state.isr) == ([1, 2] if number in failing else [1, 2, 3])


@pytest.mark.parametrize("leader", [1, 2])
def test_the_failing_leader_may_be_the_controller_or_not(leader: BrokerId) -> None:
    """R6."""
    other = 3 - leader
    cluster = Disks(replicas=(leader, other))
    assert cluster.controller.broker_id == 1
    failing = cluster.fail_directory(leader)
    cluster.world.settle()
    for number in PARTITIONS:
        assert cluster.stored(number).leader == (other if number in failing else leader)


def test_the_only_replica_is_without_a_leader_until_its_directory_is_back() -> None:
    """R6, R15e: it is the last known leader then."""
    cluster = Disks(replicas=(2,))
    failing = cluster.fail_directory(2)
    cluster.world.settle()
    state = cluster.stored(failing[0])
    assert (state.leader, state.isr, state.last_known_leader) == (-1, (), 2)
    cluster.world.kill(2)
    cluster.world.node(2, log_dirs="/data,/more")
    cluster.world.advance(1_000)
    assert [cluster.stored(number).leader for number in PARTITIONS] == [2] * len(PARTITIONS)


@pytest.mark.parametrize("executed", [True, False])
def test_the_answer_of_the_announcement_may_be_lost(executed: bool) -> None:
    """R6."""
    cluster = Disks()
    cluster.world.lose_store_answer(1, executed=executed, of=is_announcement)
    failing = cluster.fail_directory(1)
    cluster.world.advance(1_000)
    cluster.check_elected(failing, without=1)


def test_a_directory_that_fails_while_the_store_is_away_is_announced_afterwards() -> None:
    """R6."""
    cluster = Disks()
    cluster.world.cut_store(1)
    failing = cluster.fail_directory(1)
    cluster.world.advance(SESSION_MS // 2)
    assert cluster.stored(failing[0]).leader == 1
    cluster.world.heal()
    cluster.world.advance(5_000)
    cluster.check_elected(failing, without=1)


def test_a_directory_that_fails_before_the_session_ends_is_known_in_the_next_one() -> None:
    """R6, R15."""
    cluster = Disks()
    failing = cluster.fail_directory(1)
    cluster.world.expire_session(1)
    cluster.world.advance(10_000)
    for number in failing:
        assert cluster.stored(number).leader == 2
        assert sorted(cluster.stored(number).isr) == [2, 3]


@pytest.mark.parametrize("steps", range(0, 40, 3))
def test_the_controller_may_change_meanwhile(steps: int) -> None:
    """R6: an announcement that its controller has not dealt with is left for the next one."""
    cluster = Disks(replicas=(3, 2, 1))
    first = cluster.controller.broker_id
    assert first != 3
    failing = cluster.fail_directory(3)
    for _ in range(steps):
        cluster.world.step()
    cluster.world.kill(first)
    cluster.world.advance(SESSION_MS + 5_000)
    survivor = 3 - first
    assert cluster.controller.broker_id in (survivor, 3)
    for number in PARTITIONS:
        assert cluster.stored(number).leader == (survivor if number in failing else 3)


class Bench:
    """The announcements of broker 4, with a store."""

    def __init__(self, *, is_new: bool = False) -> None:
        """With `is_new` the store has no nodes yet."""
        self.store = MemoryStore()
        self.port = self.store.session()
        self.session = StoreSession(self.port, Timer(ManualClock()))
        self.events = LogDirEvents(4, self.session)
        if not is_new:
            self.make_roots()

    def make_roots(self) -> None:
        self.store.connect().submit(Create(paths.LOG_DIR_EVENTS))
        self.store.deliver()

    def announced(self) -> list[BrokerId]:
        nodes = self.store.table.snapshot()
        return [
            codec.decode_log_dir_event(data)
            for path, (data, _) in nodes.items()
            if path.startswith(paths.LOG_DIR_EVENT_PREFIX)
        ]


def test_each_failure_is_announced_once_and_nothing_without_one() -> None:
    """R6: one that comes while an announcement is under way may not be covered by it."""
    bench = Bench()
    bench.session.open()
    bench.events.announce()
    bench.store.deliver()
    assert bench.announced() == []
    bench.events.announce_failure()
    bench.events.announce_failure()
    bench.events.announce_failure()
    assert bench.announced() == [], "no port calls back before it returns"
    bench.store.deliver()
    assert bench.announced() == [4, 4]
    bench.events.announce()
    bench.store.deliver()
    assert bench.announced() == [4, 4]


def test_a_failure_before_the_first_session_is_announced_in_it() -> None:
    bench = Bench()
    bench.events.announce_failure()
    bench.session.open()
    bench.store.deliver()
    bench.events.announce()
    bench.store.deliver()
    assert bench.announced() == [4]


def test_an_announcement_without_an_answer_is_made_again_in_the_next_session() -> None:
    bench = Bench()
    bench.session.open()
    bench.store.deliver()
    bench.events.announce_failure()
    bench.port.expire()
    bench.store.deliver()
    bench.events.announce()
    bench.store.deliver()
    assert bench.announced() == [4]


def test_a_store_that_refuses_is_asked_again_with_the_next_round() -> None:
    bench = Bench(is_new=True)
    bench.session.open()
    bench.store.deliver()
    bench.events.announce_failure()
    bench.store.deliver()
    assert bench.announced() == []
    bench.make_roots()
    bench.events.announce()
    bench.store.deliver()
    assert bench.announced() == [4]
