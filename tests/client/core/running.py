"""An operation of a client that a test runs step by step."""

from typing import Generic, TypeVar

from odradek.base.errors import ApiError
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import Outcome, Send
from odradek.wire.message import Message

T = TypeVar("T")


class Running(Generic[T]):
    """What an operation asks for now, and its result at the end."""

    def __init__(self, operation: Operation[T]) -> None:
        self._operation = operation
        self._asked: list[Send] | Pause | None = None
        self._result: list[T] = []
        self._go_on(None)

    @property
    def sends(self) -> list[Send]:
        """The requests that it waits for."""
        assert isinstance(self._asked, list), f"it sends nothing: {self._asked}"
        return self._asked

    @property
    def pause(self) -> Pause:
        """The pause that it makes."""
        assert isinstance(self._asked, Pause), f"it makes no pause: {self._asked}"
        return self._asked

    @property
    def is_done(self) -> bool:
        """Whether it has returned."""
        return bool(self._result)

    @property
    def result(self) -> T:
        """What it has returned."""
        assert self._result, f"it asks for more: {self._asked}"
        return self._result[0]

    def answer(self, *said: Message | ApiError) -> None:
        """Give each request its answer, or why there is none. Raises what the operation raises."""
        assert len(said) == len(self.sends)
        outcomes = [
            Outcome(send, error=one) if isinstance(one, ApiError) else Outcome(send, one)
            for send, one in zip(self.sends, said, strict=True)
        ]
        self._go_on(outcomes)

    def resume(self) -> None:
        """End its pause."""
        assert self.pause
        self._go_on([])

    def _go_on(self, outcomes: list[Outcome] | None) -> None:
        try:
            asked = next(self._operation) if outcomes is None else self._operation.send(outcomes)
            self._asked = asked if isinstance(asked, Pause) else list(asked)
        except StopIteration as end:
            self._asked = None
            self._result.append(end.value)
