"""What was measured in the last time: rates, averages and maxima, as Kafka's clients sample them.

A `Sampled` keeps the sums of a few windows, `metrics.num.samples` of `metrics.sample.window.ms` each. The
oldest is dropped when a new one begins, so a rate covers between one window and all of them:

    two windows of 30 s
    at 0 s     100 bytes        rate after 0 s: 100 / 30 s    a rate never covers less than one window
    at 40 s    200 bytes        rate after 40 s: 300 / 40 s
    at 70 s    nothing          the first window is over: 200 / 40 s
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from odradek.base.values import value

SAMPLES: Final = 2
WINDOW_MS: Final = 30_000


@value
class Sampling:
    """How long measurements count."""

    samples: int = SAMPLES
    """`metrics.num.samples`; at least 1."""
    window_ms: int = WINDOW_MS
    """`metrics.sample.window.ms`; at least 1."""


USUAL: Final = Sampling()


@dataclass(slots=True)
class _Window:
    since_ms: int
    count: int = 0
    total: float = 0.0
    maximum: float = 0.0


class Sampled:
    """Measurements of one kind, none of them below 0. Times are on the monotonic clock and never fall."""

    __slots__ = ("_sampling", "_windows")

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        # The windows with measurements, the oldest first.
        self._windows: deque[_Window] = deque()

    def add(self, amount: float, now_ms: int) -> None:
        """Note a measurement."""
        windows = self._windows
        if not windows or now_ms - windows[-1].since_ms >= self._sampling.window_ms:
            self._drop(now_ms)
            windows.append(_Window(now_ms))
            if len(windows) > self._sampling.samples:
                windows.popleft()
        window = windows[-1]
        window.count += 1
        window.total += amount
        window.maximum = max(window.maximum, amount)

    def total_per_second(self, now_ms: int) -> float:
        """The sum of the amounts, for each second."""
        return self._per_second(sum(window.total for window in self._live(now_ms)), now_ms)

    def count_per_second(self, now_ms: int) -> float:
        """How many measurements there were in each second."""
        return self._per_second(sum(window.count for window in self._live(now_ms)), now_ms)

    def average(self, now_ms: int) -> float | None:
        """Of the amounts; None without measurements."""
        windows = self._live(now_ms)
        count = sum(window.count for window in windows)
        return sum(window.total for window in windows) / count if count else None

    def maximum(self, now_ms: int) -> float | None:
        """The greatest amount; None without measurements."""
        return max((window.maximum for window in self._live(now_ms)), default=None)

    def _per_second(self, total: float, now_ms: int) -> float:
        windows = self._windows
        if not windows:
            return 0.0
        covered_ms = max(now_ms - windows[0].since_ms, self._sampling.window_ms)
        return total * 1000 / covered_ms

    def _live(self, now_ms: int) -> deque[_Window]:
        self._drop(now_ms)
        return self._windows

    def _drop(self, now_ms: int) -> None:
        age_ms = self._sampling.samples * self._sampling.window_ms
        while self._windows and now_ms - self._windows[0].since_ms >= age_ms:
            self._windows.popleft()


def average_and_maximum(name: str, sampled: Sampled, now_ms: int) -> dict[str, float]:
    """Returns `NAME-avg` and `NAME-max`; nothing where nothing was measured."""
    average, maximum = sampled.average(now_ms), sampled.maximum(now_ms)
    if average is None or maximum is None:
        return {}
    return {f"{name}-avg": average, f"{name}-max": maximum}
