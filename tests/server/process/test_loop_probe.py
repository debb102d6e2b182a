from collections.abc import Callable

from odradek.base.clock import ManualClock
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.loop_probe import LoopProbe

MS = 1_000_000


class Loop:
    """A loop whose next callback the test calls, as late as it likes."""

    def __init__(self) -> None:
        self.now_ns = self.computed_ns = 0
        self.call: Callable[[], None] | None = None
        self.delay_ms = 0

    def call_later(self, delay_s: float, call: Callable[[], None]) -> "Loop":
        self.call = call
        self.delay_ms = round(delay_s * 1000)
        return self

    def cancel(self) -> None:
        self.call = None

    def look(self, late_ms: int, computed_ms: int = 0) -> None:
        assert self.call is not None, "nothing is armed"
        self.now_ns += (self.delay_ms + late_ms) * MS
        self.computed_ns += computed_ms * MS
        self.call()


def test_a_probe_that_comes_late_tells_of_a_stall() -> None:
    loop = Loop()
    stalls = LoopStalls(lambda: loop.now_ns, ManualClock())
    probe = LoopProbe(loop, stalls, lambda: loop.computed_ns)  # type: ignore[arg-type]
    probe.start()
    loop.look(late_ms=5)
    assert stalls.count == 0
    loop.look(late_ms=240, computed_ms=290)
    assert (stalls.count, stalls.longest_ns) == (1, 240 * MS)
    loop.look(late_ms=5_000, computed_ms=3)
    assert stalls.count == 1, "the process did not run"
    loop.look(late_ms=0)
    assert stalls.count == 1
    probe.close()
    assert loop.call is None


def test_an_idle_loop_is_looked_at_more_rarely() -> None:
    loop = Loop()
    stalls = LoopStalls(lambda: loop.now_ns, ManualClock())
    probe = LoopProbe(loop, stalls, lambda: loop.computed_ns)  # type: ignore[arg-type]
    probe.start()
    delays = [loop.delay_ms]
    for computed_ms in (1, 0, 4, 5, 1, 0):
        loop.look(late_ms=0, computed_ms=computed_ms)
        delays.append(loop.delay_ms)
    assert delays == [50, 50, 250, 250, 50, 50, 250]
    loop.look(late_ms=120, computed_ms=130)
    assert (stalls.count, stalls.longest_ns) == (1, 120 * MS)
    assert loop.delay_ms == 50
