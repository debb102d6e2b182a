"""What a client knows about the cluster: brokers, topics and their ids, leaders and their epochs.

It refreshes itself: when a topic is wanted that it does not know, when a core reports that a leader is wrong
(`refresh_soon`), and after `metadata.max.age.ms`. One Metadata request is under way at a time.

    view.want({"orders"})      due(0): a MetadataRequest for orders
    outcome(...)               leader(orders-0) = Leader(2, epoch 5); `version` has risen by 1
    view.refresh_soon(100)     due(100): another one, after a backoff if the last one was just answered

A producer forgets topics that it has not used for `metadata.max.idle.ms`: `use` says that one is used.

Invariant: the known leader epoch of a partition never falls while its topic keeps its id, so that a broker
with old metadata does not undo what a newer one said.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, LeaderEpoch, TopicId, TopicPartition
from odradek.client.core.backoff import Backoff
from odradek.client.core.requests import Outcome, Send, ToAny, earliest
from odradek.client.refusal import may_pass
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

MAX_AGE_MS: Final = 300_000
BACKOFF_MS: Final = 100
BACKOFF_MAX_MS: Final = 1_000

_REFUSALS: Final = frozenset(
    {
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.ILLEGAL_SASL_STATE,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


@dataclass(frozen=True, slots=True)
class Node:
    """One broker and where it listens."""

    id: BrokerId
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads a partition."""

    node: BrokerId
    """NO_BROKER while nobody does."""
    epoch: LeaderEpoch
    replicas: tuple[BrokerId, ...] = ()
    in_sync: tuple[BrokerId, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicView:
    """One topic that exists."""

    name: str
    id: TopicId
    """NO_TOPIC_ID where the broker does not know ids."""
    is_internal: bool
    leaders: Mapping[int, Leader]
    """By partition, all of them."""


class ClusterView:
    """See the module. Cores that share it read it; only its own `outcome` changes what it knows."""

    def __init__(
        self,
        chance: Chance,
        *,
        max_age_ms: int = MAX_AGE_MS,
        max_idle_ms: int | None = None,
        backoff_ms: int = BACKOFF_MS,
        backoff_max_ms: int = BACKOFF_MAX_MS,
        may_create_topics: bool = False,
    ) -> None:
        """`may_create_topics`: a broker may make wanted topics that are missing, where its settings allow.

        Topics that were not used for `max_idle_ms` are not wanted any more; None: they stay wanted.
        """
        self._max_age_ms = max_age_ms
        self._max_idle_ms = max_idle_ms
        # The topics used since the last `due` (the values mean nothing), and when each was used last.
        self._used: dict[str, None] = {}
        self._used_ms: dict[str, int] = {}
        self._backoff = Backoff(backoff_ms, backoff_max_ms, chance)
        self._may_create = may_create_topics
        # The topics that some core wants to know; None once all are wanted.
        self._wanted: set[str] | None = set()
        # The request under way, None while there is none, and what it asks for.
        self._under_way: Send | None = None
        # Whether something was asked for that no answer has covered yet.
        self._is_needed = True
        # The earliest time of the next request, and how many in a row have failed or left something open.
        self._not_before_ms = 0
        self._failures = 0
        # When the knowledge is too old; None before the first answer.
        self._stale_at_ms: int | None = None
        self._names: dict[TopicId, str] = {}
        self.version = 0
        """Rises with every answer: whoever stores it sees whether something may have changed."""
        self.nodes: Mapping[BrokerId, Node] = {}
        """The brokers by id; empty before the first answer."""
        self.controller: BrokerId = NO_BROKER
        """The active controller; NO_BROKER while none is known."""
        self.cluster_id: str | None = None
        self.topics: dict[str, TopicView] = {}
        """The known topics, by name: those that exist, among those wanted."""
        self.errors: dict[str, ErrorCode] = {}
        """Why a wanted topic is not among them, by name."""
        self.last_error: ApiError | None = None
        """Why the latest request failed; None after an answer."""
        self.failing_since_ms = 0
        """When the first request after the last answer failed; meaningless without `last_error`."""

    # --- what cores read

    def leader(self, partition: TopicPartition) -> Leader | None:
        """The leader, whose `node` may be NO_BROKER; None for an unknown partition."""
        topic = self.topics.get(partition.topic)
        return None if topic is None else topic.leaders.get(partition.partition)

    def topic_id(self, topic: str) -> TopicId:
        """The id of a topic; NO_TOPIC_ID if it is unknown."""
        known = self.topics.get(topic)
        return NO_TOPIC_ID if known is None else known.id

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic with this id; None if it is unknown."""
        return self._names.get(topic_id)

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None if it is unknown."""
        known = self.topics.get(topic)
        return None if known is None else len(known.leaders)

    @property
    def is_known(self) -> bool:
        """Whether a broker has answered yet."""
        return self.version > 0

    @property
    def refusal(self) -> ApiError | None:
        """Why the broker that was asked last refuses this client; None if it does not, or did not answer.

        It does not let the client in, or serves Metadata in no version that is known here. The application
        must be told: to wait is no use.
        """
        error = self.last_error
        return error if error is not None and error.code in _REFUSALS else None

    # --- what cores ask for

    def want(self, topics: Iterable[str]) -> None:
        """Know these topics from now on; those that are not known yet are asked for soon."""
        if self._wanted is None:
            return
        new = set(topics) - self._wanted
        if new:
            self._wanted |= new
            self._need()

    def use(self, topic: str) -> None:
        """This topic is used: if it is wanted it stays so for `max_idle_ms`."""
        self._used[topic] = None

    def want_all(self) -> None:
        """Know all topics from now on."""
        if self._wanted is not None:
            self._wanted = None
            self._need()

    def want_only(self, topics: Iterable[str]) -> None:
        """Know these topics and no others."""
        wanted = set(topics)
        is_new = self._wanted is not None and not wanted <= self._wanted
        self._wanted = wanted
        for gone in self.topics.keys() - wanted:
            self._forget(gone)
        for gone in self.errors.keys() - wanted:
            del self.errors[gone]
        if is_new:
            self._need()

    def refresh_soon(self, now_ms: int) -> None:
        """What is known is wrong or incomplete: ask again, after a backoff since the last answer."""
        del now_ms  # the backoff counts from the last answer
        self._is_needed = True

    def leader_is(self, partition: TopicPartition, node: BrokerId, epoch: LeaderEpoch) -> None:
        """Take over the leader that a refusal named (KIP-951), if it is newer than the known one."""
        topic = self.topics.get(partition.topic)
        known = self.leader(partition)
        if topic is None or known is None or epoch <= known.epoch or node not in self.nodes:
            return
        changed = Leader(node, epoch, known.replicas, known.in_sync)
        leaders = {**topic.leaders, partition.partition: changed}
        self.topics[topic.name] = TopicView(topic.name, topic.id, topic.is_internal, leaders)
        self.version += 1

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        if self._used:
            self._used_ms.update(dict.fromkeys(self._used, now_ms))
            self._used.clear()
        if self._stale_at_ms is not None and now_ms >= self._stale_at_ms:
            self._is_needed = True
        if not self._is_needed or self._under_way is not None or now_ms < self._not_before_ms:
            return ()
        self._is_needed = False
        self._drop_idle(now_ms)
        names = None if self._wanted is None else sorted(self._wanted)
        asked = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=self._may_create)
        self._under_way = Send(ToAny(), request, tag=names)
        return (self._under_way,)

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        assert outcome.send is self._under_way, "one request is under way at a time"
        self._under_way = None
        if isinstance(outcome.error, ApiError):
            if self.last_error is None:
                self.failing_since_ms = now_ms
            self.last_error = outcome.error
            self._is_needed = True
            self._retry_later(now_ms)
            return
        answer = outcome.answer(MetadataResponse)
        self.last_error = None
        self._take(answer)
        self._stale_at_ms = now_ms + self._max_age_ms
        if self._is_incomplete:
            self._is_needed = True
            self._retry_later(now_ms)
        else:
            self._failures = 0
            self._not_before_ms = now_ms + self._backoff.after(0)

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        if self._under_way is not None:
            return None
        return earliest(self._stale_at_ms, self._not_before_ms if self._is_needed else None)

    # --- helpers

    def _drop_idle(self, now_ms: int) -> None:
        if self._max_idle_ms is None or self._wanted is None:
            return
        for name in sorted(self._wanted):
            if now_ms - self._used_ms.setdefault(name, now_ms) >= self._max_idle_ms:
                self._wanted.discard(name)
                self._used_ms.pop(name)
                self.errors.pop(name, None)
                self._forget(name)

    def _need(self) -> None:
        self._is_needed = True
        self._not_before_ms = 0

    def _retry_later(self, now_ms: int) -> None:
        self._not_before_ms = now_ms + self._backoff.after(self._failures)
        self._failures += 1

    @property
    def _is_incomplete(self) -> bool:
        """Whether asking again soon may tell more: a topic or a leader is missing."""
        return any(map(may_pass, self.errors.values())) or any(
            leader.node == NO_BROKER for topic in self.topics.values() for leader in topic.leaders.values()
        )

    def _take(self, answer: MetadataResponse) -> None:
        self.version += 1
        # A negative id stands for no broker everywhere else.
        self.nodes = {
            one.node_id: Node(one.node_id, one.host, one.port, one.rack)
            for one in answer.brokers
            if one.node_id >= 0
        }
        self.controller = answer.controller_id
        self.cluster_id = answer.cluster_id
        named = set()
        for topic in answer.topics:
            if topic.name is None:
                continue
            named.add(topic.name)
            code = known_code(topic.error_code)
            if code is ErrorCode.NONE:
                self._learn(topic.name, topic)
                self.errors.pop(topic.name, None)
            elif self._wanted is None or topic.name in self._wanted:
                self.errors[topic.name] = code
                if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    self._forget(topic.name)
        if self._wanted is None:
            for gone in self.topics.keys() - named:
                self._forget(gone)

    def _learn(self, name: str, topic: MetadataResponseTopic) -> None:
        known = self.topics.get(name)
        if known is not None and known.id != topic.topic_id:
            self._forget(name)
            known = None
        leaders = {}
        for one in sorted(topic.partitions, key=lambda partition: partition.partition_index):
            before = known.leaders.get(one.partition_index) if known is not None else None
            if before is not None and 0 <= one.leader_epoch < before.epoch:
                leaders[one.partition_index] = before
                continue
            leaders[one.partition_index] = Leader(
                one.leader_id, one.leader_epoch, tuple(one.replica_nodes), tuple(one.isr_nodes)
            )
        self.topics[name] = TopicView(name, topic.topic_id, topic.is_internal, leaders)
        if topic.topic_id != NO_TOPIC_ID:
            self._names[topic.topic_id] = name

    def _forget(self, name: str) -> None:
        known = self.topics.pop(name, None)
        if known is not None:
            self._names.pop(known.id, None)
