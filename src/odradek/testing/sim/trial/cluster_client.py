"""A client of the simulated cluster: it learns leaders and topic ids, and sends requests to brokers.

    yield from client.refresh()                     one Metadata request to a broker chosen by chance
    client.places()                                 the partitions that it knows to have a leader
    client.known()                                  all partitions that it knows
    response = yield client.ask(1, request)         None when there was no answer

It speaks the newest version of each API that brokers serve, unless it is told another one, so topics are
named by their ids wherever that is possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch
from odradek.net.request_pipeline import Answer, ConnectionFailed, Outcome, decode_answer
from odradek.server.handlers.registry import Handlers
from odradek.testing.sim.client import CLIENT_PORT, SimClient, SimConnection, is_answered
from odradek.testing.sim.listener import CLIENTS
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.scripts import Asking, Script, Wait
from odradek.wire.apis import APIS
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

if TYPE_CHECKING:
    from odradek.testing.sim.trial.load import Load

REFRESH_PAUSE_MS: Final = 100
TRANSACTION: Final = 1
"""The kind of key that is a transactional id."""


class ClusterClient:
    """One client; as in a real one, requests to one broker share a connection."""

    def __init__(self, load: Load, name: str, timeout_ms: int, *, heeds_epochs: bool) -> None:
        """`timeout_ms` is how long it waits for an answer before it ends the connection.

        With `heeds_epochs` it ignores what Metadata says of a partition with an older leader epoch than it
        has seen, as clients do since KIP-320. Other clients go back to a deposed leader that names itself.
        """
        self.name = name
        self.host = f"{name}.example"
        self.controller_id: BrokerId = NO_BROKER
        """As a broker said last."""
        self._load = load
        self._timeout_ms = timeout_ms
        self._client = SimClient(load.world.clock, self.host, name)
        self._connections: dict[BrokerId, SimConnection] = {}
        self._known: list[Place] = []
        self._leaders: dict[Place, BrokerId] = {}
        self._epochs: dict[Place, LeaderEpoch] = {}
        self._heeds_epochs = heeds_epochs
        # The highest leader epoch that any Metadata answer had.
        self._newest: dict[Place, LeaderEpoch] = {}
        self._handlers = Handlers()

    # --- what it knows

    def places(self) -> Sequence[Place]:
        """The partitions that had a leader when it last looked."""
        return tuple(self._leaders)

    def known(self) -> Sequence[Place]:
        """The partitions that existed when it last looked, those without a leader, too."""
        return tuple(self._known)

    def leader_of(self, place: Place) -> BrokerId | None:
        """The leader as it knows it."""
        return self._leaders.get(place)

    def epoch_of(self, place: Place) -> LeaderEpoch:
        """The leader epoch as it knows it; -1 if it does not."""
        return self._epochs.get(place, NO_EPOCH)

    def refresh(self) -> Script:
        """Learn topics and leaders from a broker; nothing changes if it does not answer."""
        load = self._load
        yield load.scripts.pause(load.chance.below(REFRESH_PAUSE_MS) + 1)
        broker_id = load.pick(load.broker_ids)
        response: MetadataResponse | None = yield self.ask(broker_id, MetadataRequest(topics=None))
        if response is None or not response.brokers:
            return
        self.controller_id = response.controller_id
        before = self._leaders
        self._known, self._leaders, self._epochs = [], {}, {}
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and not topic.is_internal:
                for partition in topic.partitions:
                    place = Place(topic.name or "", topic.topic_id, partition.partition_index)
                    self._known.append(place)
                    self._note_leader(place, partition.leader_id, partition.leader_epoch, before)

    def _note_leader(
        self, place: Place, leader_id: BrokerId, epoch: LeaderEpoch, before: Mapping[Place, BrokerId]
    ) -> None:
        newest = max(epoch, self._newest.get(place, epoch))
        if self._heeds_epochs and epoch < newest:
            leader_id, epoch = before.get(place, NO_BROKER), newest
        self._newest[place] = newest
        if leader_id != NO_BROKER:
            self._leaders[place] = leader_id
            self._epochs[place] = epoch

    # --- requests

    def find_coordinator(self, transactional_id: str) -> Asking[BrokerId | None]:
        """Ask a broker for the coordinator of a transactional id; the script's result is its id, or None."""
        load = self._load
        yield load.scripts.pause(load.chance.below(REFRESH_PAUSE_MS) + 1)
        request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[transactional_id])
        response: FindCoordinatorResponse | None = yield self.ask(load.pick(load.broker_ids), request)
        if response is None:
            return None
        (found,) = response.coordinators
        load.history.note_error(ErrorCode(found.error_code))
        return found.node_id if found.error_code == ErrorCode.NONE else None

    def ask(
        self, broker_id: BrokerId, request: Request[ResponseT], version: int | None = None
    ) -> Wait[ResponseT]:
        """Send a request; the wait's result is the answer, or None if the connection ended without one.

        `version` is that of an older client; without one it is the newest that brokers serve.
        """
        wait: Wait[ResponseT] = Wait()
        history = self._load.history
        handler = self._handlers.get(request.API_KEY)
        assert handler is not None, f"{type(request).__name__} is not served"

        def on_outcome(outcome: Outcome) -> None:
            if not isinstance(outcome, Answer):
                wait.finish(None)
                return
            history.answers += 1
            try:
                wait.finish(cast(ResponseT, decode_answer(f"broker {broker_id}", outcome, response_class)))
            except ConnectionFailed as failed:
                history.contradict(None, f"broker {broker_id} gave an answer that is none: {failed}")
                wait.finish(None)

        response_class = APIS[request.API_KEY].response_class
        history.requests += 1
        connection = self._connection(broker_id)
        sent_as = handler.highest_version if version is None else version
        connection.send(request, sent_as, on_outcome, timeout_ms=self._timeout_ms)
        if not is_answered(request):
            wait.finish(None)
        return wait

    def _connection(self, broker_id: BrokerId) -> SimConnection:
        connection = self._connections.get(broker_id)
        if connection is None or connection.is_closed:
            connection = self._connections[broker_id] = SimConnection(
                self._load.world.links,
                self._client,
                (self.host, CLIENT_PORT),
                (self.host, broker_id),
                CLIENTS,
                client_id=self.name,
                timer=self._load.scripts.timer,
            )
        return connection
