"""The log of one led partition: appends, and the answers held until they are replicated (R19).

append(a), HW is there at once    hold(answer)      → it leaves
append(b), followers are behind   hold(answer of b) → held at b
a heartbeat, nothing to append    hold(its answer)  → held at b too: the decision used b
HW reaches b                      both leave, in that order
or b times out                    both are refused, and b still counts: HW may reach it yet
or the leadership ends            both are refused, and b is dropped with the rest of the state
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, Offset, TopicPartition
from odradek.coordinator.ports import PartitionWriter
from odradek.coordinator.runtime.answers import AnyHeldAnswer, HeldAnswer
from odradek.coordinator.runtime.trampoline import Trampoline

E = TypeVar("E")

_REPLICATED = (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
"""HW has reached the records; with the second, too few replicas are left that have them."""


class AppendResult(NamedTuple):
    """Whether records are in the log."""

    error: ErrorCode
    """NONE when they are; else nothing was written, and nothing has happened."""
    base_offset: Offset = NO_OFFSET
    """Of the first of them."""


class _Held(Generic[E]):
    """What waits for one append to be replicated."""

    __slots__ = ("answers", "effects")

    def __init__(self) -> None:
        self.answers: list[AnyHeldAnswer] = []
        self.effects: list[E] = []


def answer_when_all(
    trampoline: Trampoline, logs: Iterable["PartitionLog[Any]"], answer: AnyHeldAnswer
) -> None:
    """Send an answer when everything appended to several logs so far is replicated."""
    behind = [log for log in logs if not log.is_replicated]
    if not behind:
        trampoline.answer(answer)
        return
    left, failure = len(behind), ErrorCode.NONE

    def one(error: ErrorCode) -> None:
        nonlocal left, failure
        left, failure = left - 1, failure or error
        if not left:
            trampoline.run(lambda: trampoline.answer(answer, failure))

    for log in behind:
        log.answer(HeldAnswer(one, ErrorCode.NONE, lambda error: error))


class PartitionLog(Generic[E]):
    """One partition, for as long as this broker leads it in one epoch. E: effects that leave the broker."""

    __slots__ = ("_carry_out", "_held", "_timeout_ms", "_trampoline", "_writer", "is_open", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        writer: PartitionWriter,
        trampoline: Trampoline,
        timeout_ms: Callable[[], int],
        carry_out: Callable[[E], None],
    ) -> None:
        """`timeout_ms` says how long answers wait; `carry_out` is called with effects that may leave."""
        self.topic_partition = topic_partition
        self.is_open = True
        """False for ever once the leadership has ended; callers may hold this object longer than that."""
        self._writer = writer
        self._trampoline = trampoline
        self._timeout_ms = timeout_ms
        self._carry_out = carry_out
        # By append that is not known to be replicated, oldest first.
        self._held: deque[_Held[E]] = deque()

    def append(self, batch: Buffer) -> AppendResult:
        """Append one batch; every later answer waits for it, too."""
        if not self.is_open:
            return AppendResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        held: _Held[E] = _Held()
        appended = self._writer.append(
            self.topic_partition,
            batch,
            timeout_ms=self._timeout_ms(),
            settled=lambda code: self._trampoline.run(lambda: self._on_settled(held, code)),
        )
        if appended.error is ErrorCode.NONE:
            self._wait_for(held, appended.outcome)
        return AppendResult(appended.error, appended.base_offset)

    def await_replication(self, end_offset: Offset) -> None:
        """Hold all answers until the loaded records up to `end_offset` are replicated."""
        held: _Held[E] = _Held()
        outcome = self._writer.await_replication(
            self.topic_partition,
            end_offset,
            timeout_ms=self._timeout_ms(),
            settled=lambda code: self._trampoline.run(lambda: self._on_settled(held, code)),
        )
        self._wait_for(held, outcome)

    def answer(self, answer: AnyHeldAnswer) -> None:
        """Send an answer when everything appended so far is replicated."""
        if self._held:
            self._held[-1].answers.append(answer)
        else:
            self._trampoline.answer(answer)

    def carry_out(self, effect: E) -> None:
        """Carry out an effect, in a new step, when everything appended so far is replicated."""
        if self._held:
            self._held[-1].effects.append(effect)
        else:
            self._take_step(effect)

    @property
    def is_replicated(self) -> bool:
        """Whether nothing that was appended waits for replicas."""
        return not self._held

    def close(self) -> None:
        """Called when the leadership ends: refuse the waiting answers, and drop the effects."""
        self.is_open = False
        for held in self._held:
            self._refuse(held, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._held.clear()

    def _wait_for(self, held: _Held[E], outcome: ErrorCode | None) -> None:
        if outcome is ErrorCode.NONE and not self._held:
            return  # as with the only replica: nothing ever waits
        self._held.append(held)
        if outcome is not None:
            self._on_settled(held, outcome)

    def _on_settled(self, held: _Held[E], code: ErrorCode) -> None:
        if held not in self._held:
            return  # a later append was replicated, and so this one, or the leadership is over
        if code is not ErrorCode.NONE:
            self._refuse(held, code)
        if code not in _REPLICATED:
            return  # it may be replicated yet
        done = None
        while done is not held:
            done = self._held.popleft()
            for answer in done.answers:
                self._trampoline.answer(answer)
            for effect in done.effects:
                self._take_step(effect)

    def _take_step(self, effect: E) -> None:
        self._trampoline.run(lambda: self._carry_out_if_open(effect))

    def _carry_out_if_open(self, effect: E) -> None:
        if self.is_open:
            self._carry_out(effect)

    def _refuse(self, held: _Held[E], code: ErrorCode) -> None:
        for answer in held.answers:
            self._trampoline.answer(answer, code)
        held.answers.clear()
