"""A thread that stands still, as SIGSTOP would leave it, until the test lets it go on."""

import threading
from collections.abc import Callable


class Standstill:
    """The pause of one thread that runs what is submitted to it."""

    def __init__(self) -> None:
        # Set by `end`; None while the thread runs.
        self._ended: threading.Event | None = None

    @property
    def is_on(self) -> bool:
        """Whether the thread stands still."""
        return self._ended is not None

    def begin(self, submit: Callable[[Callable[[], None]], object]) -> None:
        """Returns when the thread stands still; `submit` gives it a call to run."""
        if self._ended is not None:
            return
        ended, reached = threading.Event(), threading.Event()

        def wait() -> None:
            reached.set()
            ended.wait()

        submit(wait)
        reached.wait()
        self._ended = ended

    def end(self) -> None:
        """Let the thread go on; otherwise does nothing."""
        if self._ended is not None:
            self._ended.set()
            self._ended = None
