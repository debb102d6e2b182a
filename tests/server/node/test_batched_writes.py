"""Writes of one turn in one request; what conflicts, lost answers and the end of a session do to them."""

from collections.abc import Callable
from random import Random

import pytest

from odradek.base.clock import ManualClock
from odradek.metadata.memory import MemorySession, MemoryStore
from odradek.metadata.store import (
    Create,
    Failed,
    Fault,
    Multi,
    Operation,
    Result,
    SetData,
    StoreLimits,
    Written,
)
from odradek.server.node.batched_writes import WRITES_PER_REQUEST_MAX, BatchedWrites
from odradek.server.node.store_session import StoreSession
from odradek.timer import Timer


class Bench:
    """Nodes /0, /1, ... at version 0, and the results of the writes to them."""

    def __init__(self, nodes: int, limits: StoreLimits | None = None) -> None:
        self.store = MemoryStore(limits)
        self.other = self.store.connect()
        for number in range(nodes):
            self.other.submit(Create(f"/{number}"))
        self.store.deliver()
        self.port = Port(self.store)
        self.session = StoreSession(self.port.session, Timer(ManualClock()))
        self.turns: list[Callable[[], None]] = []
        self.writes = BatchedWrites(self.session, self.turns.append)
        self.results: dict[int, list[Result]] = {number: [] for number in range(nodes)}
        self.session.open()
        self.store.deliver()

    def write(self, number: int, data: bytes = b"ours") -> None:
        self.writes.submit(SetData(f"/{number}", data, 0), self.results[number].append)

    def write_first(self, number: int) -> None:
        """Another session wins the race for this node."""
        self.other.submit(SetData(f"/{number}", b"theirs"))

    def run(self) -> None:
        """The turn, and what the store makes of it."""
        while self.turns:
            self.turns.pop(0)()
        self.store.deliver()

    def data(self, number: int) -> bytes:
        return self.store.table.snapshot()[f"/{number}"][0]


class Port:
    """The session, with the operations that were submitted to it."""

    def __init__(self, store: MemoryStore) -> None:
        self.session: MemorySession = store.session()
        self.submitted: list[Operation] = []
        submit = self.session.submit

        def noted(operation: Operation) -> int:
            self.submitted.append(operation)
            return submit(operation)

        self.session.submit = noted  # type: ignore[method-assign]


WRITTEN = Written(1)


def test_the_writes_of_a_turn_are_one_request() -> None:
    """R2: a thousand ISRs that shrink at once are ten requests, none of which waits for another."""
    bench = Bench(1_000)
    for number in range(1_000):
        bench.write(number)
    assert bench.port.submitted == []
    bench.turns.pop()()
    assert [type(operation) for operation in bench.port.submitted] == [Multi] * 10
    assert bench.results[0] == []
    bench.run()
    assert len(bench.port.submitted) == 1_000 // WRITES_PER_REQUEST_MAX
    assert all(results == [WRITTEN] for results in bench.results.values())


def test_a_single_write_is_no_batch() -> None:
    bench = Bench(1)
    bench.write(0)
    bench.run()
    assert bench.port.submitted == [SetData("/0", b"ours", 0)]
    assert bench.results[0] == [WRITTEN]


@pytest.mark.parametrize(
    ("limits", "requests"),
    [
        (StoreLimits(multi_operations_max=3), [3, 3, 3, 1]),
        (StoreLimits(multi_bytes_max=13), [2, 2, 2, 2, 2]),
        (StoreLimits(multi_bytes_max=5), [1] * 10),
    ],
    ids=["operations", "bytes", "bytes of one"],
)
def test_a_request_is_no_larger_than_the_store_takes(limits: StoreLimits, requests: list[int]) -> None:
    """Each path is two bytes here, each value four."""
    bench = Bench(10, limits)
    for number in range(10):
        bench.write(number)
    bench.run()
    sizes = [len(one.operations) if isinstance(one, Multi) else 1 for one in bench.port.submitted]
    assert sizes == requests
    assert all(results == [WRITTEN] for results in bench.results.values())


def test_a_conflict_fails_its_own_write_only() -> None:
    """R2: the others of its request are written singly, those of other requests as before."""
    bench = Bench(3 * WRITES_PER_REQUEST_MAX)
    bench.write_first(7)
    for number in range(3 * WRITES_PER_REQUEST_MAX):
        bench.write(number)
    bench.run()
    lost = bench.results.pop(7)
    assert [result.fault for result in lost if isinstance(result, Failed)] == [Fault.BAD_VERSION]
    assert all(results == [WRITTEN] for results in bench.results.values())
    assert bench.data(7) == b"theirs"
    assert len(bench.port.submitted) == 3 + WRITES_PER_REQUEST_MAX


@pytest.mark.parametrize("executed", [True, False])
def test_a_lost_answer_leaves_the_outcome_of_all_unknown(executed: bool) -> None:
    bench = Bench(3)
    bench.port.session.lose_answer(lambda operation: isinstance(operation, Multi), executed=executed)
    for number in range(3):
        bench.write(number)
    bench.run()
    faults = [result.fault for (result,) in bench.results.values() if isinstance(result, Failed)]
    assert faults == [Fault.CONNECTION_LOSS] * 3
    assert [bench.data(number) for number in range(3)] == [b"ours" if executed else b""] * 3


def test_what_was_not_sent_when_the_session_ends_is_not_sent_in_the_next() -> None:
    bench = Bench(2)
    bench.write(0)
    bench.writes.forget()
    bench.write(1)
    bench.run()
    assert bench.port.submitted == [SetData("/1", b"ours", 0)]
    assert bench.results == {0: [], 1: [WRITTEN]}


@pytest.mark.parametrize("seed", range(20))
def test_any_writes_and_conflicts_end_as_if_each_were_written_alone(seed: int) -> None:
    """R2: against a model in which the first write to a node wins."""
    random = Random(seed)
    bench = Bench(60, StoreLimits(multi_operations_max=random.choice((2, 7, 1_000))))
    winner: dict[int, bytes] = {}
    expected: dict[int, list[bool]] = {number: [] for number in range(60)}
    for _ in range(6):
        theirs = random.sample(range(60), random.randint(0, 6))
        ours = random.choices(range(60), k=random.randint(1, 40))
        for number in theirs:
            bench.write_first(number)
            winner[number] = b"theirs"
        for number in ours:
            bench.write(number)
            expected[number].append(winner.setdefault(number, b"ours") == b"ours" and not expected[number])
        bench.run()
    for number in range(60):
        assert [isinstance(result, Written) for result in bench.results[number]] == expected[number]
        assert bench.data(number) == winner.get(number, b"")
