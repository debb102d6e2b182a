from collections.abc import Callable

from odradek.base.clock import ManualClock
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.loop_probe import LOOK_EVERY_NS, LoopProbe

MS = 1_000_000


class Loop:
    """A loop whose next callback the test calls, as late as it likes."""

    def __init__(self) -> None:
        self.now_ns = self.computed_ns = 0
        self.call: Callable[[], None] | None = None

    def call_later(self, delay_s: float, call: Callable[[], None]) -> "Loop":
        self.call = call
        return self

    def cancel(self) -> None:
        self.call = None

    def look(self, late_ms: int, computed_ms: int = 0) -> None:
        assert self.call is not None, "nothing is armed"
        self.now_ns += LOOK_EVERY_NS + late_ms * MS
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
