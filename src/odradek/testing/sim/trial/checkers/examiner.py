"""Asks brokers when all is quiet, and notes wrong answers: `examination` says what it asks.

broker = examiner.coordinator(OFFSETS_TOPIC, "examined")
answer = examiner.ask(broker, request)          raises Unanswered after ANSWER_MS of virtual time
code = examiner.settled(ask)                    asks again while the answer is a passing error
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.records.builder import BatchBuilder
from odradek.testing.sim.client import SimRequest
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Scene
from odradek.testing.sim.trial.history import ACKS_ALL, Place
from odradek.testing.sim.trial.workloads.topics import creation
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

ANSWER_MS: Final = 10_000
STEP_MS: Final = 100
ATTEMPTS_MAX: Final = 60
FIRST_NUMBER: Final = 10**12
"""Records of the examination have numbers from here on, which no client of the trial has."""
TOPIC: Final = "orders"
"""What is written to: a topic that stays, and loses nothing."""


class Unanswered(OdradekError):
    """A request has no answer although all brokers run."""


class Examiner:
    """Asks the brokers of a settled cluster."""

    def __init__(self, scene: Scene, wrong: Callable[[str], None]) -> None:
        """`wrong` is called with what must not be."""
        self.scene = scene
        self.wrong = wrong
        self._numbers = FIRST_NUMBER

    @property
    def place(self) -> Place:
        """The partition that is written to."""
        return next(place for place, _, _ in self.scene.view.states() if place.topic == TOPIC)

    def leader(self, named: TopicPartition) -> SimNode:
        """The broker that leads a partition."""
        node = self.scene.view.leader(named)
        if node is None or not node.is_serving:
            raise Unanswered(f"{named} has no leader")
        return node

    @property
    def named_place(self) -> TopicPartition:
        """The same, as brokers name it."""
        place = self.place
        return TopicPartition(place.topic, place.partition)

    def leader_of_place(self) -> SimNode:
        """The broker that leads the partition that is written to."""
        return self.leader(self.named_place)

    def wait(self, by_ms: int = STEP_MS) -> None:
        """Let time pass."""
        self.scene.view.world.advance(by_ms)

    def ask(self, node: SimNode, request: Request[ResponseT], version: int | None = None) -> ResponseT:
        """Returns the answer, or raises Unanswered."""
        return self.answer_to(self.send(node, request, version))

    def send(
        self, node: SimNode, request: Request[ResponseT], version: int | None = None
    ) -> SimRequest[ResponseT]:
        """Send a request that may wait; it is answered now if it need not."""
        sent = node.send(request, version)
        self.scene.view.world.settle()
        return sent

    def answer_to(self, sent: SimRequest[ResponseT], within_ms: int | None = None) -> ResponseT:
        """Returns the answer to a request, or raises Unanswered after so much time, ANSWER_MS by default."""
        for _ in range((within_ms or ANSWER_MS) // STEP_MS):
            if sent.outcome is not None:
                break
            self.wait()
        if not sent.answers:
            raise Unanswered(f"{type(sent.request).__name__} is not answered when all is quiet")
        return sent.answer

    def settled(self, ask: Callable[[], ErrorCode]) -> ErrorCode:
        """Ask until the answer is no error that passes."""
        code = ErrorCode.NONE
        for _ in range(ATTEMPTS_MAX):
            code = ask()
            if not code.is_retriable:
                break
            self.wait()
        return code

    def expect(self, what: str, found: object, *expected: object) -> None:
        """Note what is none of what was expected."""
        if found not in expected:
            words = " or ".join(_word(one) for one in expected)
            self.wrong(f"{what}: {_word(found)} instead of {words}")

    def move_leader(self, named: TopicPartition) -> None:
        """Let another broker lead a partition: the session of its leader with the store ends."""
        before = self.leader(named)
        self.scene.view.world.expire_session(before.broker_id)
        for _ in range(ANSWER_MS // STEP_MS):
            self.wait()
            now = self.scene.view.leader(named)
            if now is not None and now is not before and now.is_serving:
                return
        raise Unanswered(f"{named} gets no other leader")

    def make_offsets_topic(self) -> None:
        """Make `__consumer_offsets` as trials with groups do, with one partition, if it is not there."""
        view = self.scene.view
        nodes = view.world.nodes
        if OFFSETS_TOPIC not in view.all_topics():
            settings = {"min_insync_replicas": "2", "cleanup_policy": "compact"}
            request = creation(OFFSETS_TOPIC, 1, min(3, len(nodes)), **settings)
            self.ask(nodes[view.controller()], request)
            self.wait()

    # --- records

    def next_number(self) -> int:
        """The number of another record."""
        self._numbers += 1
        return self._numbers

    def produce(
        self,
        number: int,
        producer: tuple[int, int],
        sequence: int,
        transactional_id: str | None = None,
        version: int | None = None,
    ) -> tuple[ErrorCode, Offset]:
        """Send one record until the answer is no passing error; the code and the offset."""
        place, offset = self.place, -1
        builder = BatchBuilder(
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            is_transactional=transactional_id is not None,
        )
        builder.append(self.scene.view.world.clock.wall_ms(), None, b"%d" % number)
        data = PartitionProduceData(place.partition, bytes(builder.build()))
        request = ProduceRequest(
            transactional_id, ACKS_ALL, ANSWER_MS, [TopicProduceData(place.topic, place.topic_id, [data])]
        )

        def ask() -> ErrorCode:
            nonlocal offset
            response = self.ask(self.leader_of_place(), request, version)
            (answered,) = response.responses[0].partition_responses
            offset = answered.base_offset
            return ErrorCode(answered.error_code)

        return self.settled(ask), offset


def _word(found: object) -> str:
    return found.name if isinstance(found, ErrorCode) else str(found)
