"""What Python reads from the machine, taken from the simulation instead while it runs.

    with Machine(world.clock, seed).simulated():
        time.monotonic(), time.time(), random.random(), uuid.uuid4()    the same for each run of a seed

Only calls of this thread are redirected. Not redirected: `datetime.now()`, functions that a module has
imported by name (`from time import monotonic`), and the order of an application's sets of texts.
"""

from __future__ import annotations

import gc
import os
import random
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any, Final

from odradek.base.clock import Clock
from odradek.testing.application.libraries import in_libraries
from odradek.testing.application.refusals import refused

_NS_PER_MS: Final = 1_000_000


class Machine:
    """The clocks and the randomness that an application sees."""

    def __init__(self, clock: Clock, seed: int) -> None:
        self._clock = clock
        self._seed = seed
        self._bytes = random.Random(f"os.urandom {seed}")  # noqa: S311 - it is to be predictable

    @contextmanager
    def simulated(self) -> Iterator[None]:
        """Redirect until the end of the block, and restore what was there before.

        The garbage collector is off meanwhile: objects with finalizers would end at any moment. And what is
        not closed makes no ResourceWarning: as an error it would change what a finalizer does.
        """
        state = random.getstate()
        was_collecting = gc.isenabled()
        with ExitStack() as redirected:
            redirected.callback(random.setstate, state)
            if was_collecting:
                redirected.callback(gc.enable)
            for owner, name, replacement in self._replacements():
                original = getattr(owner, name)
                is_call = callable(replacement)
                setattr(owner, name, _on_this_thread(replacement, original) if is_call else replacement)
                redirected.callback(setattr, owner, name, original)
            redirected.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", ResourceWarning)
            random.seed(self._seed)
            gc.disable()
            yield

    def _replacements(self) -> list[tuple[Any, str, Any]]:
        clock = self._clock
        return [
            (time, "time", lambda: clock.wall_ms() / 1000),
            (time, "time_ns", lambda: clock.wall_ms() * _NS_PER_MS),
            (time, "monotonic", lambda: clock.monotonic_ms() / 1000),
            (time, "monotonic_ns", lambda: clock.monotonic_ms() * _NS_PER_MS),
            (time, "perf_counter", lambda: clock.monotonic_ms() / 1000),
            (time, "perf_counter_ns", lambda: clock.monotonic_ms() * _NS_PER_MS),
            (time, "sleep", refused("time.sleep", "it stops the loop; use asyncio.sleep")),
            (os, "urandom", self._bytes.randbytes),
            (random, "_urandom", self._bytes.randbytes),  # for SystemRandom and `secrets`
            (threading.Thread, "start", refused("a thread", "use asyncio.to_thread")),
            (socket.socket, "connect", refused("a socket", "use asyncio.open_connection")),
            (subprocess.Popen, "__init__", refused("a process of the operating system")),
            *in_libraries(clock),
        ]


def _on_this_thread(replacement: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    thread = get_ident()

    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the original takes and returns
        return (replacement if get_ident() == thread else original)(*args, **kwargs)

    return call
