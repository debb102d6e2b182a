"""Sends the flights while the pipeline runs: a thread adds one month after the other to the topic."""

import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from demo.flights import records_of
from odradek import Producer

# Each month is acknowledged within this time, or the demo ends.
_ACKNOWLEDGED_S = 60


class Feed:
    """The thread, as a `with` block; its end ends the thread.

    From month number `held` on (from 0) nothing is sent before `release`: so there is more to come when the
    pipeline is killed, however fast or slow a machine is.
    """

    def __init__(
        self, bootstrap: str, topic: str, months: Sequence[Any], *, pace_s: float, held: int
    ) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._months = months
        # From the start of one month to that of the next.
        self._pace_s = pace_s
        self._held = held
        self._released = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self.month = 0
        """The months that were sent."""
        self.sent = 0
        """The flights that brokers acknowledged."""
        self.sending_s = 0.0
        """The time that sending took: making records of columns, and waiting for acknowledgements."""
        self.error: Exception | None = None
        """What ended the thread before its time."""

    @property
    def rate(self) -> float:
        """Flights a second while it was sending."""
        return self.sent / self.sending_s if self.sending_s else 0.0

    @property
    def is_done(self) -> bool:
        """Whether all months were sent."""
        return self.month == len(self._months)

    def release(self) -> None:
        """Let the months that are held back go, too."""
        self._released.set()

    def wait(self) -> None:
        """Wait until all months were sent, or an error ended the thread."""
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._released.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with Producer(self._bootstrap, compression_type="lz4", batch_size=256 * 1024) as producer:
                for number, month in enumerate(self._months):
                    if number == self._held:
                        self._released.wait()
                    if self._ended.is_set():
                        return
                    self._send(producer, month)
                    self.month = number + 1
        except Exception as error:  # the person is told by the main thread
            self.error = error

    def _send(self, producer: Producer, month: Any) -> None:
        started = time.perf_counter()
        receipt = producer.produce_batch(records_of(month), topic=self._topic).result(_ACKNOWLEDGED_S)
        took = time.perf_counter() - started
        self.sent += receipt.records
        self.sending_s += took
        self._ended.wait(max(0.0, self._pace_s - took))
