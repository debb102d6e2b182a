"""What the checker of acknowledged records finds."""

from odradek.testing.sim.trial.checkers.records import NothingAcknowledgedIsLost
from odradek.testing.sim.trial.history import ACKS_ALL, Place
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench


def found_after_an_acknowledgement(bench: ClusterBench, place: Place) -> list[str]:
    batch = bench.history.next_batch(place, "p", 1, ACKS_ALL, 0, is_idempotent=False)
    bench.history.note_acknowledged(batch, 0, 0)
    checker = NothingAcknowledgedIsLost(bench.scene)
    checker.conclude()
    return [violation.words for violation in checker.found.values()]


def test_an_acknowledged_record_that_no_log_has() -> None:
    """R7."""
    bench = ClusterBench()
    assert found_after_an_acknowledgement(bench, bench.place) == [
        "record 0 of t-0, acknowledged to p at 0 ms, is lost"
    ]


def test_a_topic_of_the_plan_that_has_vanished() -> None:
    """Nobody deletes it, so nobody may lose it."""
    bench = ClusterBench()
    place = Place("orders", bench.place.topic_id, 7)
    assert found_after_an_acknowledgement(bench, place) == [
        "no broker leads orders-7, which has acknowledged records"
    ]


def test_a_topic_that_clients_may_delete_can_vanish() -> None:
    bench = ClusterBench()
    assert found_after_an_acknowledgement(bench, Place("admin-1", bench.place.topic_id, 7)) == []
