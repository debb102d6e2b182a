from collections.abc import Callable

import pytest

from odradek.base.clock import ManualClock
from odradek.server.edge.complaints import SAID_MAX
from odradek.server.edge.loop_stalls import NOTABLE_NS, STALL_NS, LoopStalls

MS = 1_000_000


class Watch:
    """A clock for short times, moved by the work that is measured."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.waited_ns = 7 * MS
        self.stalls = LoopStalls(lambda: self.now_ns, ManualClock(), lambda: self.waited_ns)

    def work(self, elapsed_ms: int, waited_ms: int = 0) -> Callable[[], None]:
        def named_work() -> None:
            self.now_ns += elapsed_ms * MS
            self.waited_ns += waited_ms * MS

        return named_work


@pytest.fixture
def watch() -> Watch:
    return Watch()


def test_a_stall_is_counted_and_named(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    watch.stalls.run(watch.work(99))
    assert (watch.stalls.count, caplog.messages) == (0, [])
    watch.stalls.run(watch.work(250))
    watch.stalls.run(watch.work(100))
    assert (watch.stalls.count, watch.stalls.longest_ns) == (2, 250 * MS)
    first, second = caplog.messages
    assert first.startswith("the event loop stood still for 250 ms: the deferred call of ")
    assert first.endswith("named_work")
    assert "for 100 ms" in second, "a shorter stall behind a longer one is one all the same"


def test_a_wait_for_a_processor_is_no_time_of_the_work(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    watch.stalls.run(watch.work(300, waited_ms=180))
    watch.stalls.run(watch.work(300, waited_ms=290))
    stalled, starved = caplog.messages
    assert "stood still for 300 ms, of which its thread waited 180 ms for a processor: the def" in stalled
    assert starved.startswith("the broker's thread waited 290 ms for a processor, in 300 ms of the deferred")
    stalls = watch.stalls
    assert (stalls.count, stalls.longest_ns, stalls.starved_ns) == (1, 120 * MS, 290 * MS)


def test_a_wait_is_no_time_of_the_longest_work_either(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    """Below a stall, too: on a busy machine the longest work would be the machine's longest wait."""
    watch.stalls.run(watch.work(70, waited_ms=58))
    assert watch.stalls.longest_ns == 12 * MS
    watch.stalls.run(watch.work(20))
    assert (watch.stalls.longest_ns, watch.stalls.count, caplog.messages) == (12 * MS, 0, [])
    watch.stalls.note_lateness(0, 0)
    watch.stalls.run(watch.work(20))
    assert watch.stalls.longest_ns == 20 * MS


def test_a_wait_before_the_last_look_is_not_taken_off(watch: Watch) -> None:
    watch.waited_ns += 500 * MS
    watch.stalls.note_lateness(0, 0)
    watch.stalls.run(watch.work(150))
    assert (watch.stalls.count, watch.stalls.longest_ns) == (1, 150 * MS)


def test_a_wait_is_taken_off_once(watch: Watch) -> None:
    watch.stalls.run(watch.work(150, waited_ms=140))
    watch.stalls.run(watch.work(150))
    assert (watch.stalls.count, watch.stalls.longest_ns) == (1, 150 * MS)


def test_what_raises_is_measured_too(watch: Watch) -> None:
    def failing() -> None:
        watch.now_ns += STALL_NS
        raise ValueError

    with pytest.raises(ValueError):
        watch.stalls.run(failing)
    assert watch.stalls.count == 1


def test_the_probe_finds_what_nobody_measured(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    watch.stalls.run(watch.work(7))
    watch.stalls.note_lateness(300 * MS, 310 * MS)
    watch.stalls.note_lateness(STALL_NS, STALL_NS)
    many, silent = caplog.messages
    assert many.startswith("the event loop stood still for 300 ms: many short")
    assert "the longest, of 7 ms, was the deferred call of" in many
    assert silent.endswith("for 100 ms: no request and no task of the broker's took long")
    assert (watch.stalls.count, watch.stalls.longest_ns) == (2, 300 * MS)


def test_a_process_that_did_not_run_is_no_stall_of_the_brokers(watch: Watch) -> None:
    watch.stalls.note_lateness(5_000 * MS, 20 * MS)
    assert (watch.stalls.count, watch.stalls.longest_ns) == (0, 0)


def test_the_probe_does_not_count_again_what_was_named(watch: Watch) -> None:
    watch.stalls.run(watch.work(150))
    watch.stalls.note_lateness(200 * MS, 200 * MS)
    assert watch.stalls.count == 1
    watch.stalls.note_lateness(200 * MS, 200 * MS)
    assert watch.stalls.count == 2, "what was named counts for one look only"


def test_only_what_is_longer_than_the_longest_since_the_last_look_is_notable(watch: Watch) -> None:
    watch.stalls.run(watch.work(30))
    assert watch.stalls.notable_ns == 30 * MS
    watch.stalls.run(watch.work(500))
    assert watch.stalls.notable_ns < STALL_NS, "every stall is notable"
    watch.stalls.note_lateness(0, 0)
    assert watch.stalls.notable_ns == NOTABLE_NS


def test_warnings_are_bounded(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(SAID_MAX + 5):
        watch.stalls.run(watch.work(100))
    assert len(caplog.messages) == SAID_MAX
    assert watch.stalls.count == SAID_MAX + 5


def test_code_that_is_loaded_is_no_stall_but_what_comes_with_it_is(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that is the first of its API loads a handler, which happens once."""

    def first_request() -> None:
        watch.stalls.load(watch.work(400))
        watch.work(120)()

    watch.stalls.run(first_request)
    assert (watch.stalls.count, watch.stalls.longest_ns) == (1, 120 * MS)
    watch.stalls.run(lambda: watch.stalls.load(watch.work(400)))
    watch.stalls.note_lateness(900 * MS, 900 * MS)
    assert watch.stalls.count == 1, "neither the work nor the probe counts it"
    watch.stalls.run(watch.work(150))
    assert watch.stalls.count == 2, "what was loaded before does not excuse what comes later"
    assert [message.partition(":")[0][-6:] for message in caplog.messages] == ["120 ms", "150 ms"]


def test_what_is_loaded_by_work_within_work_is_left_out_of_both(watch: Watch) -> None:
    def request() -> None:
        watch.stalls.load(watch.work(400))
        watch.stalls.note(400 * MS, "the request")

    watch.stalls.run(request)
    assert watch.stalls.count == 0


def test_a_start_stalls_nobody(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    watch.stalls.has_clients = False
    watch.stalls.run(watch.work(700))
    assert (watch.stalls.count, watch.stalls.longest_ns, caplog.messages) == (0, 0, [])
    watch.stalls.has_clients = True
    watch.stalls.run(watch.work(100))
    assert watch.stalls.count == 1
