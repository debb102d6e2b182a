"""Sets the names of topics that a request names by id (KIP-848, KIP-1319): groups store offsets by name."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from odradek.base.ids import TopicId
from odradek.server.node.core import BrokerCore


class TopicById(Protocol):
    """A topic of a request, whose versions name it either by name or by id."""

    name: str
    topic_id: TopicId


T = TypeVar("T", bound=TopicById)


def with_names(core: BrokerCore, topics: Iterable[T]) -> list[T]:
    """Set the name of each topic from its id. Returns the topics that this broker knows.

    An unknown topic keeps the empty name with which it was decoded.
    """
    known = []
    for topic in topics:
        name = core.topic_name(topic.topic_id)
        if name is not None:
            topic.name = name
            known.append(topic)
    return known
