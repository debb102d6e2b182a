"""What an application hears of a rebalance."""

from collections.abc import Awaitable

from odradek.base.ids import TopicPartition


class RebalanceListener:
    """Override what you need; each method may be a coroutine function. They are called within `poll`."""

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> Awaitable[None] | None:
        """These are given back after this call; the last moment to commit what was read of them."""
        return None

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> Awaitable[None] | None:
        """These are new; `seek` in here chooses where reading begins."""
        return None

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> Awaitable[None] | None:
        """These are gone: others may read them already. By default the same as revoked."""
        return self.on_partitions_revoked(partitions)
