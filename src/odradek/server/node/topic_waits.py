"""Topic operations that wait until this broker sees them done (G3).

The controller has decided and written the change. The operation waits until every partition has a leader
known here, or until no partition is known any more and the name is free. At the deadline the unfinished
topics are answered with REQUEST_TIMED_OUT, and are still created (or deleted) later.

    deliver(operation.park(purgatory, names), answered)    at once if all are done, else in an event
"""

from collections.abc import Callable, Mapping, Set
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from odradek.base.execution import Later
from odradek.base.ids import NO_BROKER, TopicId
from odradek.base.some_names import some_of
from odradek.metadata.image import ClusterImage
from odradek.replication.delayed_result import DelayedResult

Late: TypeAlias = Set[str]
"""The names of the topics that were not done in time."""

NAMES_SHOWN_MAX: Final = 10

G = TypeVar("G")


class DelayedTopicOperation(DelayedResult[Late], Generic[G]):
    """Waits for several topics, each with a goal; `_is_done` says when one of them has reached it."""

    __slots__ = ("_image", "_open")

    def __init__(
        self, deadline_ms: int, image: ClusterImage, topics: Mapping[str, G], later: Later[Late]
    ) -> None:
        super().__init__(deadline_ms, later)
        self._image = image
        # The topics that may not be done yet, by name with their goals; entries are only removed.
        self._open = dict(topics)

    def try_complete(self) -> bool:
        """See `DelayedOperation.try_complete`. Stops at the first topic that is not done: when thousands of
        topics are made one after another, all attempts together look at each topic about once."""
        while self._open:
            name, goal = next(iter(self._open.items()))
            if not self._is_done(name, goal):
                return False
            del self._open[name]
        return self.force_complete()

    def result(self) -> Late:
        """See `DelayedResult.result`."""
        return dict.fromkeys(self._not_done()).keys()

    def _not_done(self) -> list[str]:
        return [name for name, goal in self._open.items() if not self._is_done(name, goal)]

    def _names(self) -> str:
        """The names of the topics that it still waits for, for people to read."""
        return some_of(self._not_done(), NAMES_SHOWN_MAX)

    def _is_done(self, name: str, goal: G) -> bool:
        raise NotImplementedError


class DelayedCreateTopics(DelayedTopicOperation[TopicId]):
    """Waits until every partition of new topics, by their ids, has a leader that this broker knows."""

    __slots__ = ()

    kind: ClassVar[str] = "create-topics"

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"a leader for every partition of {self._names()}"

    def _is_done(self, name: str, goal: TopicId) -> bool:
        topic = self._image.topic(name)
        if topic is None or topic.topic_id != goal:
            return False
        return all(state.leader != NO_BROKER for state in topic.partitions.values())


class DelayedCreatePartitions(DelayedTopicOperation[int]):
    """Waits until topics have the requested number of partitions, each with a leader known here."""

    __slots__ = ()

    kind: ClassVar[str] = "create-partitions"

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"a leader for every new partition of {self._names()}"

    def _is_done(self, name: str, goal: int) -> bool:
        topic = self._image.topic(name)
        if topic is None or len(topic.partitions) < goal:
            return False
        return all(state.leader != NO_BROKER for state in topic.partitions.values())


class DelayedDeleteTopics(DelayedTopicOperation[TopicId]):
    """Waits until deleted topics, by their ids, are gone from this broker's image, and from the cluster.

    The image forgets a topic first, then brokers delete its replicas, then its name is free. A client that
    was answered in between could still read and write the topic, and could not create another of that name. A
    dead broker delays the last two steps; the answer does not wait for it.
    """

    __slots__ = ("_is_deleting",)

    kind: ClassVar[str] = "delete-topics"

    def __init__(
        self,
        deadline_ms: int,
        image: ClusterImage,
        topics: Mapping[str, TopicId],
        later: Later[Late],
        is_deleting: Callable[[str], bool],
    ) -> None:
        """`is_deleting` returns whether the controller, if it runs on this broker, is deleting a topic."""
        super().__init__(deadline_ms, image, topics, later)
        self._is_deleting = is_deleting

    def waits_for(self) -> str:
        """See `DelayedOperation.waits_for`."""
        return f"the last partition of {self._names()} to be gone"

    def _is_done(self, name: str, goal: TopicId) -> bool:
        topic = self._image.topics.get(name)
        return (topic is None or topic.topic_id != goal) and not self._is_deleting(name)
