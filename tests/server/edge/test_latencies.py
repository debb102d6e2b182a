from odradek.base.durations import BOUNDS_NS
from odradek.server.edge.latencies import PHASES, QUICK_NS, ApiLatencies, Latencies, Sends

MS = 1_000_000


def test_quick_requests_are_in_the_first_bucket_of_every_phase() -> None:
    latencies = ApiLatencies()
    latencies.quick, latencies.quick_ns = 3, 3 * QUICK_NS
    counts, sum_s = latencies.phase("total")
    assert counts == [3] * (len(BOUNDS_NS) + 1)
    assert sum_s == 3 * QUICK_NS / 1e9
    for phase in ("queue", "remote", "send"):
        assert latencies.phase(phase) == ([3] * (len(BOUNDS_NS) + 1), 0.0)


def test_a_bound_is_in_its_own_bucket() -> None:
    latencies = ApiLatencies()
    for bound_ns in BOUNDS_NS:
        latencies.note(0, bound_ns, 0)
    latencies.note(0, BOUNDS_NS[-1] + 1, 0)
    counts, _ = latencies.phase("total")
    assert counts == list(range(1, len(BOUNDS_NS) + 2))


def test_all_phases_count_as_many_requests() -> None:
    latencies = ApiLatencies()
    latencies.quick = 1
    latencies.note(0, 2 * MS, 0)
    latencies.note(30 * MS, 2 * MS, 0)
    latencies.note(30 * MS, 2 * MS, 600 * MS)
    assert {latencies.phase(phase)[0][-1] for phase in PHASES} == {4}
    assert latencies.phase("queue")[1] == 0.06
    assert latencies.phase("remote")[1] == 0.6
    assert latencies.phase("total")[1] == 0.666
    assert latencies.phase("remote")[0][0] == 3, "those that did not wait"


def test_an_answer_that_waits_is_counted_when_it_was_taken() -> None:
    """No bucket ever shrinks, as Prometheus expects of a counter."""
    now_ns = 0
    latencies = Latencies()
    sends = Sends(latencies, lambda: now_ns)
    connection = object()
    found = latencies[1]
    found.quick = 2
    sends.began(connection, 1)
    waiting, _ = found.phase("send")
    assert (waiting[0], waiting[-1], found.phase("total")[0][-1]) == (1, 1, 2)
    now_ns = 30 * MS
    sends.ended(connection)
    counts, sum_s = found.phase("send")
    assert counts == [1, 1, 1, 1, 2, 2, 2, 2, 2]
    assert sum_s == 0.03
