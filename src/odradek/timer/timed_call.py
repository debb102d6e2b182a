"""A timer task that calls a function, for tasks without state of their own."""

from collections.abc import Callable

from odradek.timer.timer_task import TimerTask


class TimedCall(TimerTask):
    """Calls `call` at its deadline, unless it is cancelled before."""

    __slots__ = ("_call",)

    def __init__(self, deadline_ms: int, call: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._call = call

    @property
    def label(self) -> str:
        """See `TimerTask.label`: the name of what is called."""
        return getattr(self._call, "__qualname__", type(self).__qualname__)

    def run(self) -> None:
        """See `TimerTask.run`."""
        self._call()
