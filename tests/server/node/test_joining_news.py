"""What a joining broker has yet to hear, order by order."""

from odradek.base.ids import TopicPartition
from odradek.metadata.image import ClusterImage, PartitionImage, TopicCreated
from odradek.metadata.orders import TopicStates, UpdateMetadata
from odradek.server.node.joining_news import JoiningNews
from tests.replication.fetcher.brokers import topic_id_of

US, OTHER = 1, 2
A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Bench:
    def __init__(self) -> None:
        self.image = ClusterImage()
        self.news = JoiningNews(US)

    def facts(self, *led: tuple[TopicPartition, int], gone: tuple[str, ...] = ()) -> None:
        topics = tuple(
            TopicStates(
                one.topic, topic_id_of(one), {one.partition: PartitionImage((leader,), (leader,), leader, 0)}
            )
            for one, leader in led
        )
        self.news.on_facts(UpdateMetadata(OTHER, 1, 1, (), topics, gone))

    def complete(self) -> bool:
        self.news.on_obeyed()
        return self.news.is_complete


def test_a_broker_without_topics_has_heard_all_with_their_names() -> None:
    bench = Bench()
    bench.facts()
    assert not bench.complete(), "settings may come before the names of topics"
    bench.news.on_all_topics([], bench.image)
    assert bench.complete()


def test_every_named_topic_has_to_come_and_every_role() -> None:
    bench = Bench()
    bench.news.on_all_topics(["a", "b"], bench.image)
    bench.facts((B, OTHER))
    assert not bench.complete(), "the second UpdateMetadata may say that this broker leads a"
    bench.facts((A, US))
    assert not bench.complete()
    bench.news.on_roles([A])
    assert bench.complete()


def test_roles_in_several_orders_have_all_to_come() -> None:
    bench = Bench()
    bench.news.on_all_topics(["a", "b"], bench.image)
    bench.facts((A, US), (B, US))
    bench.news.on_roles([A])
    assert not bench.complete()
    bench.news.on_roles([B])
    assert bench.complete()


def test_what_is_gone_or_led_elsewhere_meanwhile_is_not_waited_for() -> None:
    bench = Bench()
    bench.news.on_all_topics(["a", "b", "c"], bench.image)
    bench.facts((A, US), (B, US))
    bench.facts((A, OTHER), gone=("b", "c"))
    assert bench.complete()


def test_roles_may_come_before_the_facts() -> None:
    """From a controller that has made the topic meanwhile."""
    bench = Bench()
    bench.news.on_roles([A])
    bench.news.on_all_topics(["a"], bench.image)
    bench.facts((A, US))
    assert bench.complete()


def test_the_names_of_another_controller_are_those_that_count() -> None:
    bench = Bench()
    bench.news.on_all_topics(["a", "b"], bench.image)
    bench.facts((B, OTHER))
    bench.image.apply(TopicCreated("b", topic_id_of(B), {0: PartitionImage((OTHER,), (OTHER,), OTHER, 0)}))
    bench.news.on_all_topics(["b", "c"], bench.image)
    assert not bench.complete()
    bench.facts((TopicPartition("c", 0), OTHER))
    assert bench.complete()


def test_news_that_were_complete_stay_complete() -> None:
    bench = Bench()
    bench.news.on_all_topics([], bench.image)
    assert bench.complete()
    bench.facts((A, US))
    bench.news.on_all_topics(["b"], bench.image)
    assert bench.complete()
