"""Orders of the controller: one after another, in slices, each answered once."""

from collections.abc import Callable
from uuid import UUID

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.metadata.image import PartitionImage
from odradek.metadata.messages import BrokerMessage, LeaderAndIsr, LeaderAndIsrPartition, UpdateMetadata
from odradek.server.node.orders import Errors, Orders
from odradek.server.node.slices import Slices
from odradek.testing.sim import CountedTime


class Bench:
    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []
        self.obeyed: list[BrokerMessage] = []
        self.answers: list[tuple[str, Errors]] = []
        self.is_broken = False
        self.orders = Orders(self._obey, Slices(self.turns.append, CountedTime()))

    def _obey(self, message: BrokerMessage) -> Errors:
        if self.is_broken:
            raise ValueError("broken")
        self.obeyed.append(message)
        if isinstance(message, LeaderAndIsr):
            return {role.topic_partition: ErrorCode.NONE for role in message.partitions}
        return {}

    def take(self, name: str, message: BrokerMessage) -> None:
        self.orders.take(message, lambda errors: self.answers.append((name, errors)))

    def turn(self) -> None:
        self.turns.pop(0)()

    def finish(self) -> None:
        while self.turns:
            self.turn()


def roles(count: int) -> LeaderAndIsr:
    state = PartitionImage((1,), (1,), 1)
    named = [TopicPartition("flights", number) for number in range(count)]
    return LeaderAndIsr(
        1, 1, 1, tuple(LeaderAndIsrPartition(one, UUID(int=1), state, is_new=True) for one in named), ()
    )


def test_an_order_for_many_partitions_is_obeyed_a_few_in_each_turn() -> None:
    bench = Bench()
    bench.take("wide", roles(100))
    most, turns = len(bench.obeyed), 0
    while bench.turns:
        before = len(bench.obeyed)
        bench.turn()
        most, turns = max(most, len(bench.obeyed) - before), turns + 1
    assert (most <= 2, turns >= 49) == (True, True)
    ((_, errors),) = bench.answers
    assert len(errors) == len(bench.obeyed) == 100


def test_the_next_order_waits_for_the_one_in_hand() -> None:
    bench = Bench()
    bench.take("roles", roles(10))
    bench.take("facts", UpdateMetadata(1, 1, 1, (), ()))
    assert not any(isinstance(part, UpdateMetadata) for part in bench.obeyed)
    bench.finish()
    assert [name for name, _ in bench.answers] == ["roles", "facts"]
    assert isinstance(bench.obeyed[-1], UpdateMetadata)


def test_an_order_that_names_nothing_is_obeyed_all_the_same() -> None:
    """R5a: it carries the controller's epoch."""
    bench = Bench()
    bench.take("roles", roles(0))
    assert bench.obeyed == [roles(0)]


def test_an_order_that_fails_does_not_hold_up_the_next() -> None:
    bench = Bench()
    bench.is_broken = True
    bench.take("roles", roles(3))
    bench.is_broken = False
    bench.take("facts", UpdateMetadata(1, 1, 1, (), ()))
    bench.finish()
    assert [name for name, _ in bench.answers] == ["facts"]
