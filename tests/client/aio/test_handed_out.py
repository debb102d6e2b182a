"""The records between a consumer's core and its application."""

from odradek.base.chance import SeededChance
from odradek.base.ids import TopicPartition
from odradek.client.aio.handed_out import HandedOut
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.subscription import Subscription

P = TopicPartition("orders", 0)


def record(offset: int) -> ConsumerRecord:
    return ConsumerRecord(P.topic, P.partition, offset, 0, None, b"", (), 0, is_append_time=False)


def handed_out(*offsets: int) -> HandedOut:
    """One whose core has given it these records of P."""
    subscription = Subscription(ClusterView(SeededChance(1)), excludes_internal=True)
    subscription.assign([P])
    subscription.states[P].offset = offsets[-1] + 1
    one = HandedOut(subscription)
    one.pending.extend(map(record, offsets))
    return one


def test_what_the_application_did_not_get_is_withheld() -> None:
    """Else `records-consumed-total` counts records twice that are put back and taken again."""
    one = handed_out(5, 6, 7)
    assert one.withheld == 3
    taken = one.take(2)
    assert one.withheld == 1
    one.put_back(taken[1:])
    assert [record.offset for record in one.pending] == [6, 7]
    assert one.withheld == 2


def test_what_went_back_to_the_core_stays_withheld() -> None:
    """The core gives it a second time."""
    one = handed_out(5, 6, 7)
    one.take(1)
    one.give_back([P])
    assert (one.withheld, list(one.pending)) == (2, [])
    one.pending.extend(map(record, (6, 7)))
    one.take(2)
    assert one.withheld == 2, "so three of the five that were taken were given"


def test_what_is_forgotten_was_never_given() -> None:
    one = handed_out(5, 6)
    one.clear()
    assert one.withheld == 2
