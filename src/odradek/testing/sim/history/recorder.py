"""Records the history of a world: attached before the world runs, read afterwards.

    recorder = Recorder(world)
    ... the world runs ...
    recorder.history.events         what happened, in order
    write_page(recorder, path, title="seed 17", outcome="no acknowledged record is lost")

After each step it compares what brokers and the metadata store hold with what they held before, and records
only what has changed. It changes nothing in the world: a seed gives the same history with and without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.base.ids import NO_EPOCH, BrokerId, TopicPartition
from odradek.testing.sim.history.cluster_state import BrokerState, Phase, ReplicaState
from odradek.testing.sim.history.conversations import Conversations
from odradek.testing.sim.history.events import (
    NO_EVENT,
    Answered,
    BrokerChanged,
    Change,
    ControllerElected,
    Event,
    Faulted,
    Message,
    Registered,
    ReplicaChanged,
    Requested,
    StateStored,
    Unanswered,
    changes_between,
)
from odradek.testing.sim.history.history import EVENTS_MAX, History
from odradek.testing.sim.history.watching import ReplicaWatch, StoreWatch, broker_state
from odradek.testing.sim.observer import Fault

if TYPE_CHECKING:
    from odradek.testing.sim.streams import Place, Stream
    from odradek.testing.sim.world import World

EPOCH_APIS: Final = ("OffsetForLeaderEpoch", "Fetch", "ListOffsets")
"""The APIs whose answers can make a follower truncate its log."""


class Recorder:
    """The `Observer` of one world."""

    def __init__(self, world: World, *, events_max: int = EVENTS_MAX, internal_topics: bool = False) -> None:
        """At most the last `events_max` events are kept; `internal_topics` are recorded, too, or not."""
        assert world.observer is None, "the world has an observer"
        self.history = History(events_max)
        """What has happened since this recorder was made."""
        self._world = world
        self._internal_topics = internal_topics
        self._store = StoreWatch(world.store.table)
        self._conversations = Conversations(self._store.names)
        self._watches: dict[BrokerId, ReplicaWatch] = {}
        # By broker and partition: the last message that reached the broker and names the partition, and the
        # last answer of a leader about epochs or offsets.
        self._last_message: dict[tuple[BrokerId, TopicPartition], int] = {}
        self._last_answer: dict[tuple[BrokerId, TopicPartition], str] = {}
        world.observer = self
        self.on_step()

    @property
    def _now_ms(self) -> int:
        return self._world.clock.monotonic_ms()

    # --- `Observer`

    def on_step(self) -> None:
        """See `Observer.on_step`."""
        if self._store.has_changed():
            self._look_at_store()
        for broker_id, node in self._world.nodes.items():
            before = self.history.now.brokers.get(broker_id, BrokerState())
            after = broker_state(node)
            if after != before:
                reason = "" if node.start_error is None else str(node.start_error)
                self._add(
                    BrokerChanged(self._now_ms, self.history.next_number, broker_id, before, after, reason)
                )
            if after.phase is not Phase.DOWN and node.has_opened:
                self._look_at_replicas(broker_id)

    def on_delivered(self, stream: Stream, data: bytes, *, to_server: bool) -> None:
        """See `Observer.on_delivered`."""
        if to_server:
            self._on_requests(stream, data)
        else:
            self._on_answers(stream, data)

    def on_ended(self, stream: Stream, reason: str) -> None:
        """See `Observer.on_ended`."""
        sender, receiver = stream.between
        assert isinstance(receiver, BrokerId)
        for asked in self._conversations.end(stream):
            self._add(
                Unanswered(
                    self._now_ms,
                    self.history.next_number,
                    sender,
                    asked.client_id,
                    receiver,
                    asked.message,
                    asked.number,
                    reason,
                )
            )

    def on_fault(self, fault: Fault) -> None:
        """See `Observer.on_fault`."""
        self._add(Faulted(self._now_ms, self.history.next_number, fault))

    # --- messages

    def _on_requests(self, stream: Stream, data: bytes) -> None:
        sender, receiver = stream.between
        assert isinstance(receiver, BrokerId)
        for asked in self._conversations.requests(stream, data):
            asked.number = self.history.next_number
            self._add(Requested(self._now_ms, asked.number, sender, asked.client_id, receiver, asked.message))
            self._note_message(receiver, asked.message, asked.number)

    def _on_answers(self, stream: Stream, data: bytes) -> None:
        receiver, sender = stream.between
        assert isinstance(sender, BrokerId)
        for asked, message in self._conversations.answers(stream, data):
            number = self.history.next_number
            self._add(
                Answered(self._now_ms, number, sender, receiver, asked.client_id, message, asked.number)
            )
            self._note_message(receiver, message, number)
            if isinstance(receiver, BrokerId) and message.api in EPOCH_APIS:
                for name, words in message.parts:
                    self._last_answer[receiver, name] = f"broker {sender} answered: {words}"

    def _note_message(self, receiver: Place, message: Message, number: int) -> None:
        if isinstance(receiver, BrokerId):
            for name, _ in message.parts:
                self._last_message[receiver, name] = number

    # --- state

    def _look_at_store(self) -> None:
        store, now = self._store, self.history.now
        controller, epoch = store.controller()
        if (controller, epoch) != (now.controller, now.controller_epoch):
            self._add(ControllerElected(self._now_ms, self.history.next_number, controller, epoch))
        registered = store.registered()
        for broker_id in sorted(registered | now.registered):
            broker_epoch = registered.get(broker_id, NO_EPOCH)
            if broker_epoch != now.registered.get(broker_id, NO_EPOCH):
                self._add(Registered(self._now_ms, self.history.next_number, broker_id, broker_epoch))
        for name, state in store.changed_states():
            if self._is_shown(name):
                before = now.stored.get(name)
                self._add(StateStored(self._now_ms, self.history.next_number, name, before, state))

    def _is_shown(self, topic_partition: TopicPartition) -> bool:
        return self._internal_topics or not topic_partition.topic.startswith("__")

    def _look_at_replicas(self, broker_id: BrokerId) -> None:
        node = self._world.nodes[broker_id]
        watch = self._watches.get(broker_id)
        is_new_life = watch is None or watch.node is not node
        if watch is None or is_new_life:
            watch = self._watches[broker_id] = ReplicaWatch(node, internal_topics=self._internal_topics)
        for name, after, is_truncated in watch.changed():
            before = self.history.now.replicas.get((broker_id, name))
            changes = changes_between(before, after, is_new_life=is_new_life, is_truncated=is_truncated)
            if changes:
                self._add_replica(watch, name, before, after, changes)
        if is_new_life:  # what an earlier life had and this one has not
            for name in watch.missing(self.history.now.replicas):
                before = self.history.now.replicas[broker_id, name]
                self._add_replica(watch, name, before, None, (Change.GONE,))

    def _add_replica(
        self,
        watch: ReplicaWatch,
        name: TopicPartition,
        before: ReplicaState | None,
        after: ReplicaState | None,
        changes: tuple[Change, ...],
    ) -> None:
        broker_id = watch.node.broker_id
        waits_for = ""
        if after is not None and after.produces > (0 if before is None else before.produces):
            waits_for = watch.waits_for(name)
        is_truncated = Change.TRUNCATED in changes
        self._add(
            ReplicaChanged(
                self._now_ms,
                self.history.next_number,
                broker_id,
                name,
                before,
                after,
                changes,
                waits_for,
                self._last_message.get((broker_id, name), NO_EVENT),
                self._last_answer.get((broker_id, name), "") if is_truncated else "",
            )
        )

    def _add(self, event: Event) -> None:
        self.history.add(event)
