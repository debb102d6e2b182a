"""The trampoline of a coordinator: runs one step after another, and sends answers between steps.

A step decides, appends, applies and returns. What happens while a step runs (the end of a join phase, the
outcome of an earlier append, a request that an answer made room for) becomes a new step after it. Invariant:
no step sees another half done, and no step runs inside another.

    run(A)     A appends; that wakes a reader, whose connection brings request B: B waits
    A is done  B runs
    all done   the answers of A and B leave, in the order in which they were given
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later
from odradek.coordinator.runtime.answers import AnyHeldAnswer

R = TypeVar("R")
Step: TypeAlias = Callable[[], None]


class Trampoline:
    """The steps and answers of one coordinator."""

    __slots__ = ("_answers", "_is_answering", "_is_running", "_steps")

    def __init__(self) -> None:
        # Steps that are to run, oldest first; empty unless one is running.
        self._steps: deque[Step] = deque()
        self._is_running = False
        # Answers to be sent, each with the error that replaces it or NONE, oldest first.
        self._answers: deque[tuple[AnyHeldAnswer, ErrorCode]] = deque()
        self._is_answering = False

    def run(self, step: Step) -> None:
        """Run a step, now or after those that are under way; then send the answers.

        If a step raises, the others still run; then `run` raises that exception.
        """
        if self._is_running:
            self._steps.append(step)
            return
        errors: list[Exception] = []
        self._is_running = True
        try:
            while True:
                try:
                    step()
                except Exception as error:
                    errors.append(error)
                if not self._steps:
                    break
                step = self._steps.popleft()
        finally:
            self._is_running = False
        if self._answers and not self._is_answering:
            self._send_answers(errors)
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("steps failed", errors)

    def ask(self, step: Callable[[Callable[[R], None]], None], later: Later[R]) -> R | None:
        """Run a step that answers through the callback it is passed; returns that answer."""
        asked = _Asked(later)
        self.run(lambda: step(asked.on_answer))
        return asked.returned()

    def answer(self, answer: AnyHeldAnswer, error: ErrorCode = ErrorCode.NONE) -> None:
        """Send an answer when no step is under way; with an error, send its refusal instead."""
        self._answers.append((answer, error))

    def _send_answers(self, errors: list[Exception]) -> None:
        self._is_answering = True
        try:
            while self._answers:
                answer, error = self._answers.popleft()
                try:
                    answer.respond(answer.refusal(error) if error else answer.response)
                except Exception as failure:  # a bug in one answer must not stop the others
                    errors.append(failure)
        finally:
            self._is_answering = False


class _Asked(Generic[R]):
    """The answer to one call of `ask`: returned at once, or delivered as a later event."""

    __slots__ = ("_early", "_has_returned", "_later")

    def __init__(self, later: Later[R]) -> None:
        self._later = later
        self._early: R | None = None
        self._has_returned = False

    def on_answer(self, answer: R) -> None:
        if self._has_returned:
            self._later(answer)
        else:
            self._early = answer

    def returned(self) -> R | None:
        self._has_returned = True
        return self._early
