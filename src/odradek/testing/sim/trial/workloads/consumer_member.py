"""A member of a consumer group (KIP-848): one heartbeat for everything, partitions given up before others own
them.

    beat        epoch 0 joins; the answer names the partitions that it may own
    revoke      what the answer does not name any more it commits, gives up, and says so with the next beat
    no answer   the next beat says everything, so that its answer does, too

A static member that goes for a while (epoch -2) comes back under another member id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim.trial.group_settings import CONSUMER_SESSION_MS
from odradek.testing.sim.trial.groups import Asked, Beaten, FinalState, Left, PlaceNumber
from odradek.testing.sim.trial.scripts import Script
from odradek.testing.sim.trial.workloads.classic_member import Ghost
from odradek.testing.sim.trial.workloads.group_client import TOPICS, GroupClient, Result
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

REBALANCE_MS: Final = 20_000
"""Longer than a session, so a member whose session lasts knows what it has to revoke."""
PAUSE_MS: Final = 1_300
LIFE_MAX: Final = 40
SUBSCRIPTIONS: Final[tuple[tuple[str, ...], ...]] = (TOPICS, TOPICS[:1], TOPICS[1:])
JOINING: Final = 0
LEAVING: Final = -1
AWAY: Final = -2
FENCED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.FENCED_INSTANCE_ID)
"""After these a member gives up everything and joins again."""


class ConsumerMember:
    """One member, in life after life."""

    def __init__(self, base: GroupClient, instance_id: str | None) -> None:
        self._base = base
        self._load = base.load
        self._instance_id = instance_id
        self._member_id = str(self._load.chance.uuid())
        self._epoch = JOINING
        self._owned: tuple[PlaceNumber, ...] = ()
        self._topics: tuple[str, ...] = TOPICS
        # Whether the next heartbeat says everything.
        self._is_unsure = True
        # Whether brokers know that it owns what it owns.
        self._is_told = True
        self._ghost: Ghost | None = None
        self._words = "it has not joined"

    def run(self) -> Script:
        """Is a member until the trial is nearly over."""
        base, load = self._base, self._load
        left = load.between(2, LIFE_MAX)
        while not base.is_over:
            yield load.scripts.pause(load.between(1, PAUSE_MS * (2 if load.is_ending else 1)))
            if load.is_ending and len(self._topics) < len(TOPICS):
                self._topics, self._is_unsure = TOPICS, True
            if not base.places():
                yield from base.client.refresh()
            elif base.coordinator is None:
                yield from base.find()
            elif self._epoch == JOINING or load.is_ending:
                yield from self._beat()
            elif left > 0:
                left -= 1
                yield from self._work()
            else:
                yield from self._meet_its_fate()
                left = load.between(2, LIFE_MAX)
        load.groups.final.append(FinalState(base.group, base.name, self._words, -1, self._owned))

    def _work(self) -> Script:
        base, load = self._base, self._load
        places = base.named(self._owned)
        match load.chance.below(10):
            case 0 | 1 | 2 if places:
                yield from base.read(load.pick(places))
            case 3 | 4 if places:
                yield from self._commit(self._owned)
            case 5 if places:
                yield from base.begin_at_committed(places, self._member_id, self._epoch)
            case 6 if self._ghost is not None:
                yield from self._haunt(self._ghost)
            case _:
                yield from self._beat()

    # --- heartbeats

    def _beat(self) -> Script:
        """Send a heartbeat, and do what the answer says."""
        base, load = self._base, self._load
        begun_ms, is_joining = load.now_ms, self._epoch == JOINING
        request = self._heartbeat(self._epoch)
        response, code, asked = yield from base.ask(request, lambda answer: answer.error_code)
        if response is None or code is not ErrorCode.NONE:
            self._words = f"its heartbeat was answered {code.name}"
            self._is_unsure = True
            if code in FENCED:
                self._lose_everything()
            return
        self._words = ""
        load.groups.learned.append(
            Beaten(base.group, self._member_id, self._instance_id, self._epoch, response.member_epoch, asked)
        )
        self._epoch = response.member_epoch
        self._is_unsure, self._is_told = False, True
        if asked.is_firm:
            load.groups.keep_session(base.group, self._member_id, begun_ms + CONSUMER_SESSION_MS)
        if response.assignment is not None:
            assigned = self._named(response)
            yield from self._take(assigned, asked)
            if len(assigned) < sum(len(topic.partitions) for topic in response.assignment.topic_partitions):
                # Its metadata lacks a topic, so far: the next answer names everything again.
                self._is_unsure = True
                yield from base.client.refresh()
        elif is_joining:
            self._words = "it was told no assignment"

    def _heartbeat(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._base.group,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._instance_id,
        )
        if epoch == JOINING or (epoch > JOINING and self._is_unsure):
            request.rebalance_timeout_ms = REBALANCE_MS
            request.subscribed_topic_names = list(self._topics)
        if epoch >= JOINING and (epoch == JOINING or self._is_unsure or not self._is_told):
            request.topic_partitions = self._told()
        return request

    def _told(self) -> list[TopicPartitions]:
        topics: dict[str, TopicPartitions] = {}
        for place in self._base.named(self._owned):
            topic = topics.setdefault(place.topic, TopicPartitions(place.topic_id, []))
            topic.partitions.append(place.partition)
        return list(topics.values())

    def _named(self, response: ConsumerGroupHeartbeatResponse) -> list[PlaceNumber]:
        """The partitions of an assignment."""
        assert response.assignment is not None, "it is there"
        names = {place.topic_id: place.topic for place in self._base.places()}
        return [
            (names[topic.topic_id], number)
            for topic in response.assignment.topic_partitions
            for number in topic.partitions
            if topic.topic_id in names
        ]

    def _take(self, assigned: list[PlaceNumber], asked: Asked) -> Script:
        """Give up what is not assigned any more, and begin with what is new."""
        base, load = self._base, self._load
        revoked = [place for place in self._owned if place not in assigned]
        added = [place for place in assigned if place not in self._owned]
        if added:
            load.groups.own(base.group, self._member_id, added, asked, load.now_ms)
        self._owned = tuple(assigned)
        self._is_told = not (revoked or added)
        if revoked:
            if load.chance.below(2) and base.coordinator is not None:
                yield from self._commit(revoked)
            load.groups.give_up(base.group, self._member_id, revoked)
        if added and base.coordinator is not None:
            yield from base.begin_at_committed(base.named(added), self._member_id, self._epoch)

    def _lose_everything(self) -> None:
        self._load.groups.give_up(self._base.group, self._member_id, self._owned)
        self._epoch, self._owned = JOINING, ()

    # --- the rest

    def _commit(self, places: Iterable[PlaceNumber]) -> Result[ErrorCode]:
        base = self._base
        offsets = {place: base.positions.get(place, 0) for place in base.named(places)}
        return (yield from base.commit(offsets, self._member_id, self._epoch))

    def _meet_its_fate(self) -> Script:
        base, load = self._base, self._load
        match load.pick(("leave", "leave", "vanish", "stand still", "subscribe")):
            case "leave":
                self._remember()
                load.groups.give_up(base.group, self._member_id, self._owned)
                epoch = LEAVING if self._instance_id is None or load.chance.below(2) else AWAY
                _, code, asked = yield from base.ask(self._heartbeat(epoch), lambda answer: answer.error_code)
                if code is ErrorCode.NONE:
                    load.groups.learned.append(Left(base.group, self._member_id, asked))
                yield load.scripts.pause(load.between(1, CONSUMER_SESSION_MS))
                self._become_new()
            case "vanish":
                self._remember()
                self._become_new()
            case "stand still":
                yield load.scripts.pause(load.between(CONSUMER_SESSION_MS // 2, 3 * CONSUMER_SESSION_MS))
                if self._owned and base.coordinator is not None:
                    yield from self._commit(self._owned)
            case "subscribe":
                self._topics = load.pick(SUBSCRIPTIONS)
                self._is_unsure = True

    def _become_new(self) -> None:
        """It is another member from now on; what it owned before, its session keeps."""
        self._member_id = str(self._load.chance.uuid())
        self._epoch, self._owned = JOINING, ()
        self._is_unsure = True

    def _remember(self) -> None:
        if self._owned:
            self._ghost = Ghost(self._member_id, self._epoch, self._owned)

    def _haunt(self, ghost: Ghost) -> Script:
        """Commit as it was before: brokers must refuse that where others are in its place."""
        base = self._base
        offsets = {place: base.positions.get(place, 0) for place in base.named(ghost.places)}
        if offsets:
            yield from base.commit(offsets, ghost.member_id, ghost.generation)
        self._ghost = None
