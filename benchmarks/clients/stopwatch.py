"""The time and the processor time of a piece of work in this process."""

import time
from collections.abc import Sequence
from types import TracebackType

from benchmarks.clients.job import Figures


class Stopwatch:
    """Runs while the block runs."""

    def __enter__(self) -> "Stopwatch":
        self._began_s, self._cpu_began_s = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.took_s = time.perf_counter() - self._began_s
        self.cpu_s = time.process_time() - self._cpu_began_s

    def of_records(self, count: int) -> Figures:
        """The speed, and the processor time for a million records."""
        return {"records": count / self.took_s, "CPU": self.cpu_s / count * 1e6}

    def of_rest(self) -> Figures:
        """The processor time in a second."""
        return {"CPU": 100 * self.cpu_s / self.took_s}


def of_trips(seconds: Sequence[float]) -> Figures:
    """The median and the 99th percentile of what some trips took, in ms."""
    ordered = sorted(seconds)
    return {"p50": 1e3 * ordered[len(ordered) // 2], "p99": 1e3 * ordered[len(ordered) * 99 // 100]}
