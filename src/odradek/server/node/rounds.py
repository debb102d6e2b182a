"""Does work for many partitions in rounds: while one is under way, what comes is collected for the next."""

from collections.abc import Callable

from odradek.base.execution import Defer
from odradek.base.ids import TopicPartition


class Rounds:
    """At most one round is under way: the first begins in a later turn, another when the one before ends."""

    def __init__(self, defer: Defer, begin: Callable[[list[TopicPartition]], None]) -> None:
        """`begin` is called with the partitions of a round; `end` must be called when the round is over."""
        self._defer = defer
        self._begin = begin
        # The partitions of the next round, in the order in which they came.
        self._wanted: dict[TopicPartition, None] = {}
        # Whether a round is under way, or about to begin.
        self._busy = False

    def want(self, topic_partition: TopicPartition) -> None:
        """Let the next round include this partition."""
        self._wanted[topic_partition] = None
        if not self._busy:
            self._busy = True
            self._defer(self._begin_next)

    def end(self) -> None:
        """Called when a round is over: the next one begins, if anything was wanted meanwhile."""
        self._begin_next()

    def _begin_next(self) -> None:
        if self._wanted:
            wanted, self._wanted = list(self._wanted), {}
            self._begin(wanted)
        else:
            self._busy = False
