"""What the clients of a trial share: the world, their scripts, their chance, the history that they write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from odradek.base.chance import Chance
from odradek.base.ids import BrokerId, LeaderEpoch, TopicPartition
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.groups import Groups
from odradek.testing.sim.trial.history import History, Place
from odradek.testing.sim.trial.plan import LOAD_MS, TopicPlan
from odradek.testing.sim.trial.scripts import Scripts, Wait
from odradek.testing.sim.trial.transactions import Transactions
from odradek.testing.sim.world import World

T = TypeVar("T")

REQUESTS: Final = 2_200
"""So many requests are to be sent in a trial."""
PAUSE_MS_MAX: Final = 2_000
"""No client rests for longer."""
SMOOTHED_MS: Final = 2_000
"""A trial as young as that has no rate yet."""


class Load:
    """The clients' side of a trial."""

    def __init__(
        self,
        world: World,
        broker_ids: Sequence[BrokerId],
        chance: Chance,
        view: ClusterView,
        topics: Sequence[TopicPlan] = (),
    ) -> None:
        """`chance` decides what clients do; the world's own decides what happens first.

        `topics` are those that exist all the time.
        """
        self.world = world
        self._topics = {topic.name: topic for topic in topics}
        self._view = view
        self.broker_ids = broker_ids
        self.chance = chance
        self.scripts = Scripts(world.clock)
        self.history = History()
        self.groups = Groups()
        self.transactions = Transactions()
        self.begin_ms = 0
        """When clients begin."""
        self.is_ending = False
        """Whether clients begin nothing new."""
        self.ended_ms = 0
        """Since when."""
        self.hosts: list[str] = []
        """Where the clients are."""
        world.actors.append(self.scripts)

    @property
    def now_ms(self) -> int:
        """The time of the world."""
        return self.world.clock.monotonic_ms()

    def leads(self, broker_id: BrokerId, place: Place) -> bool:
        """Whether that broker truly leads a partition now, in the epoch that the store names."""
        named = TopicPartition(place.topic, place.partition)
        node = self.world.nodes[broker_id]
        partition = node.core.replicas.partition(named) if node.has_opened else None
        state = self._view.state(named)
        return (
            partition is not None
            and state is not None
            and partition.leadership is not None
            and partition.topic_id == place.topic_id
            and partition.leader_epoch == state.leader_epoch
        )

    def epoch_led(self, broker_id: BrokerId, named: TopicPartition) -> LeaderEpoch | None:
        """The epoch in which that broker truly leads a partition now, None if it does not; see `leads`."""
        node, state = self.world.nodes[broker_id], self._view.state(named)
        partition = node.core.replicas.partition(named) if node.has_opened else None
        if partition is None or state is None or partition.leadership is None:
            return None
        return state.leader_epoch if partition.leader_epoch == state.leader_epoch else None

    def is_keyed(self, place: Place) -> bool:
        """Whether records for this partition need keys, because it is compacted."""
        topic = self._topics.get(place.topic)
        return topic is not None and topic.is_compacted

    def takes_transactions(self, place: Place) -> bool:
        """Whether transactional producers write to this partition: it stays, whatever happens."""
        topic = self._topics.get(place.topic)
        return topic is not None and topic.is_replicated

    def pause(self, longest_ms: int) -> Wait[None]:
        """Returns a wait of a client before its next request, of some time up to `longest_ms`.

        It is shorter where mishaps have kept clients from sending, and longer where they have sent a lot.
        """
        passed_ms = self.now_ms - self.begin_ms
        expected = REQUESTS * max(passed_ms, SMOOTHED_MS) // LOAD_MS
        # To the fourth power, since a part of the requests is not paced: those that follow errors.
        paced = self.history.requests - self.history.group_requests
        longest_ms = longest_ms * paced**4 // expected**4
        return self.scripts.pause(self.between(1, min(max(1, longest_ms), PAUSE_MS_MAX)))

    def pick(self, choices: Sequence[T]) -> T:
        """One of them, by chance."""
        return choices[self.chance.below(len(choices))]

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.chance.below(high - low + 1)
