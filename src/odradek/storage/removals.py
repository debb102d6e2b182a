"""Files that have been taken out of use and are removed later, when no reader can have them open any more."""

from collections.abc import Callable

from odradek.base.clock import Clock
from odradek.storage.files import FileSystem


class Removals:
    """Paths by the time they are due. Losing the list is harmless: their names say what they are (L4)."""

    __slots__ = ("_clock", "_file_system", "_waiting")

    def __init__(self, file_system: FileSystem, clock: Clock) -> None:
        self._file_system = file_system
        self._clock = clock
        self._waiting: list[tuple[int, str]] = []  # (due on the monotonic clock, path), in no order

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, path: str, delay_ms: int) -> None:
        """Remove a file or a directory with all that is in it, `delay_ms` from now."""
        self._waiting.append((self._clock.monotonic_ms() + delay_ms, path))

    def take_due(self) -> list[Callable[[], None]]:
        """What is due by now, as calls that may block, may raise OSError and may run on any thread."""
        now_ms = self._clock.monotonic_ms()
        due = [path for due_ms, path in self._waiting if due_ms <= now_ms]
        if due:
            self._waiting = [entry for entry in self._waiting if entry[0] > now_ms]
        return [self._removal(path) for path in due]

    def _removal(self, path: str) -> Callable[[], None]:
        return lambda: self._file_system.remove(path)
