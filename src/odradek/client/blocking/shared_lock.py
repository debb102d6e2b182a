"""The lock that the application's threads share with a client's network thread.

Invariant: an exception that a signal handler raises (Ctrl-C), wherever it comes, leaves the lock free once
the `with` block is left. `threading.Condition` promises less: its `__enter__` is Python code, and an
exception between the moment at which it has the lock and its return leaves the lock held for ever.
"""

import threading
from collections.abc import Callable


class SharedLock(threading.Condition):
    """A condition that a `with` statement takes and gives back in one step of C code each."""

    _lock: threading.RLock

    @property
    def __enter__(self) -> Callable[[], bool]:
        return self._lock.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:
        return self._lock.__exit__
