"""What the checker of ISRs and acknowledgements finds."""

from odradek.testing.sim.trial.checkers.in_sync import MembersAreInSync
from odradek.testing.sim.trial.history import ACKS_ALL
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench


def words_of(checker: MembersAreInSync) -> list[str]:
    return [violation.words for violation in checker.found.values()]


def test_a_member_that_joins_without_what_is_committed() -> None:
    """R3, R16."""
    bench = ClusterBench()
    checker = MembersAreInSync(bench.scene)
    bench.append(1)
    bench.write_state(isr=(1,), leader=1)
    checker.on_store()
    bench.write_state(isr=(1, 2), leader=1)
    checker.on_store()
    (words,) = words_of(checker)
    assert words.startswith("broker 2 joined the ISR of t-0 with its log up to 0; the high watermark of")


def test_an_acknowledgement_of_what_one_broker_has() -> None:
    """P3, R7."""
    bench = ClusterBench()
    checker = MembersAreInSync(bench.scene)
    bench.append(1)
    batch = bench.history.next_batch(bench.place, "p", 1, ACKS_ALL, 0, is_idempotent=False)
    bench.history.note_acknowledged(batch, 0, 0)
    checker.look()
    assert words_of(checker) == [
        "the records up to 1 of t-0 were acknowledged to p, and brokers 2, 3 do not have them"
    ]


def test_an_acknowledgement_of_what_two_brokers_have() -> None:
    """P3, R7."""
    bench = ClusterBench()
    checker = MembersAreInSync(bench.scene)
    bench.append(1)
    bench.append(3)
    batch = bench.history.next_batch(bench.place, "p", 1, ACKS_ALL, 0, is_idempotent=False)
    bench.history.note_acknowledged(batch, 0, 0)
    checker.look()
    assert words_of(checker) == []
