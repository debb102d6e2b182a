"""A rate of bytes over the last few windows of time, as Kafka measures replication for its quotas.

With windows of 1 s, of which the last 11 count, and 100 bytes at 0 s and at 3 s:

    at 0 s     100 bytes in 1 s    100 bytes/s    the time counted is at least one window
    at 4 s     200 bytes in 4 s     50 bytes/s
    at 11 s    100 bytes in 8 s     12 bytes/s    the window that began at 0 s is over; the other began at 3 s
    at 14 s    nothing               0 bytes/s
"""

from collections import deque

_MS_PER_S = 1_000


class ByteRate:
    """Counts bytes by the window in which they came. Times are on the monotonic clock."""

    __slots__ = ("_counted_ms", "_sum", "_window_ms", "_windows")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._window_ms = window_ms
        self._counted_ms = windows * window_ms
        """For how long a window counts from its beginning."""
        self._windows: deque[tuple[int, int]] = deque()
        """When each window began, and its bytes; the oldest first."""
        self._sum = 0
        """The bytes of all windows."""

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes that come now."""
        self._forget(now_ms)
        if self._windows and now_ms - self._windows[-1][0] < self._window_ms:
            began_ms, before = self._windows.pop()
            self._windows.append((began_ms, before + size_bytes))
        else:
            self._windows.append((now_ms, size_bytes))
        self._sum += size_bytes

    def exceeds(self, limit: int, now_ms: int) -> bool:
        """Whether the rate is above `limit` bytes per second."""
        self._forget(now_ms)
        if not self._windows:
            return False
        elapsed_ms = max(now_ms - self._windows[0][0], self._window_ms)
        return self._sum * _MS_PER_S > limit * elapsed_ms

    def falls_at_ms(self, limit: int, now_ms: int) -> int:
        """When the rate may have fallen to `limit`, if no more bytes come; now if it is not above."""
        if not self.exceeds(limit, now_ms):
            return now_ms
        oldest_ms = self._windows[0][0]
        over_ms = oldest_ms + self._counted_ms
        return min(over_ms, oldest_ms - (-self._sum * _MS_PER_S // limit)) if limit else over_ms

    def _forget(self, now_ms: int) -> None:
        while self._windows and now_ms - self._windows[0][0] >= self._counted_ms:
            self._sum -= self._windows.popleft()[1]
