"""One step after another, and answers in between: the one trampoline of a coordinator.

A step decides, appends, applies and returns. What comes while one is under way (the end of a join phase, news
of an earlier append, a request that another's answer made room for) becomes a step of its own after it, so
that no step ever sees the half of another, and none recurses into another.

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
        # Answers that are to leave, each with the error that spoils it, oldest first.
        self._answers: deque[tuple[AnyHeldAnswer, ErrorCode]] = deque()
        self._is_answering = False

    def run(self, step: Step) -> None:
        """Run a step, now or after those that are under way; then let the answers leave.

        A step that raises keeps no other from being run. Raises what it raised, when all are done.
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
        """Run a step that answers by what it is given; the result is that answer."""
        asked = _Asked(later)
        self.run(lambda: step(asked.on_answer))
        return asked.returned()

    def answer(self, answer: AnyHeldAnswer, error: ErrorCode = ErrorCode.NONE) -> None:
        """Let an answer leave when no step is under way; with an error its refusal leaves instead."""
        self._answers.append((answer, error))

    def _send_answers(self, errors: list[Exception]) -> None:
        self._is_answering = True
        try:
            while self._answers:
                answer, error = self._answers.popleft()
                try:
                    answer.respond(answer.refusal(error) if error else answer.response)
                except Exception as failure:  # our mistake in one answer is not the others'
                    errors.append(failure)
        finally:
            self._is_answering = False


class _Asked(Generic[R]):
    """The answer to one call of `ask`: returned by it, or an event after it."""

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
