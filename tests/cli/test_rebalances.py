"""The sentences of `odradek consume --group --verbose`."""

from odradek.base.ids import TopicPartition
from odradek.cli.rebalances import Rebalances
from odradek.client.core.membership.member import Membership

P = [TopicPartition("flights", number) for number in range(4)]
CLASSIC = Membership("classic", "range", 2)


def test_a_member_says_what_it_has_and_how_that_has_changed() -> None:
    told = Rebalances("tower")
    assert not told.has_news
    told.on_partitions_assigned(frozenset(P))
    assert told.has_news
    assert told.sentences(CLASSIC, P) == [
        "group tower (classic protocol, range, generation 2): this member has flights 0-3; got flights 0-3"
    ]
    assert not told.has_news
    told.on_partitions_revoked(frozenset(P[2:]))
    assert told.sentences(Membership("consumer", "", 5), P[:2]) == [
        "group tower (consumer protocol, epoch 5): this member has flights 0-1; gave back flights 2-3"
    ]


def test_a_member_that_gave_back_all_waits_for_the_rest_of_the_rebalance() -> None:
    told = Rebalances("tower")
    told.on_partitions_revoked(frozenset(P))
    assert told.sentences(CLASSIC, []) == ["group tower is rebalancing: gave back flights 0-3"]
    told.on_partitions_assigned(frozenset())
    assert told.sentences(CLASSIC, []) == [
        "group tower (classic protocol, range, generation 2): this member has no partitions"
    ]


def test_what_was_lost_is_told_first() -> None:
    told = Rebalances("tower")
    told.on_partitions_lost(frozenset(P[:1]))
    told.on_partitions_assigned(frozenset(P[:1]))
    lost, has = told.sentences(CLASSIC, P[:1])
    assert lost == "group tower no longer has this member, which joins again: lost flights 0"
    assert has.endswith("this member has flights 0; got flights 0")
