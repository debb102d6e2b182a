"""The controller, wherever it is: what this broker itself wants decided (R17).

CreateTopics           of Metadata and of the coordinators, in an Envelope, as a client's request would be
AllocateProducerIds    as the API of that name; repeatable: a block whose answer was lost is never used
ControlledShutdown     as the API of that name; repeatable: what has moved stays where it is
"""

import logging
from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeAlias

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.execution import Defer, Slices, Steps, stepwise
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller.requests import (
    AllocateProducerIds,
    Answer,
    ControlledShutdown,
    ControllerRequest,
    CreateTopics,
    NewTopic,
    ProducerIdBlock,
    Refused,
    ShutdownProgress,
    TopicOutcome,
    TopicOutcomes,
)
from odradek.server.node.forwarding.envelopes import envelope
from odradek.server.node.forwarding.forwarding import Forwarding
from odradek.wire.headers import RequestHeader, decode_response_header
from odradek.wire.message import Message

_log = logging.getLogger(__name__)

CREATION_TIMEOUT_MS: Final = 5_000
"""How long a creation may wait for a controller; then the client is told to retry."""
SHUTDOWN_TIMEOUT_MS: Final = 15_000
"""How long a request to move the leaderships of this broker may take; it asks more than once."""
_CLIENT_ID: Final = "odradek"
_CREATE_TOPICS: Final = 19
_CREATE_TOPICS_VERSION: Final = 7
"""The first version whose answer has the topics' ids."""

_REASONS: Final = {
    ErrorCode.REQUEST_TIMED_OUT: "the controller has not answered",
    ErrorCode.UNKNOWN_SERVER_ERROR: "it could not be decided, or the answer could not be read",
}

Wanted: TypeAlias = CreateTopics | AllocateProducerIds | ControlledShutdown


class ControllerPort(Protocol):
    """What decides."""

    def submit(self, request: Wanted, answered: Callable[[Answer], None]) -> None:
        """Ask the controller; `answered` is called once, in a later turn."""


class OwnController(Protocol):
    """This broker's own controller."""

    def submit(self, request: ControllerRequest, answered: Callable[[Answer], None]) -> None:
        """Ask it; `answered` is called once, in a later turn."""


class AnyController:
    """A `ControllerPort` that asks the controller of the cluster."""

    def __init__(
        self,
        broker_id: BrokerId,
        forwarding: Forwarding,
        own: OwnController,
        defer: Defer,
        slices: Slices,
        now_ms: Callable[[], int],
        request_timeout_ms: Callable[[], int],
    ) -> None:
        self._broker_id = broker_id
        self._forwarding = forwarding
        self._own = own
        self._defer = defer
        self._slices = slices
        self._now_ms = now_ms
        self._request_timeout_ms = request_timeout_ms

    def submit(self, request: Wanted, answered: Callable[[Answer], None]) -> None:
        """See `ControllerPort.submit`; called in a later turn, with `Refused` if there is no controller."""

        def later(answer: Answer) -> None:
            self._defer(lambda: answered(answer))

        kind: type[_OwnRequest]
        match request:
            case AllocateProducerIds():
                kind, timeout_ms = _IdsRequest, self._request_timeout_ms()
            case CreateTopics():
                kind, timeout_ms = _TopicsRequest, CREATION_TIMEOUT_MS
            case ControlledShutdown():
                kind, timeout_ms = _ShutdownRequest, SHUTDOWN_TIMEOUT_MS
        deadline_ms = self._now_ms() + timeout_ms
        self._forwarding.begin(kind(self._broker_id, self._own, self._slices, request, later, deadline_ms))


class _OwnRequest:
    """One request of this broker's own; a `Forwardable`."""

    is_repeatable = False

    def __init__(
        self,
        broker_id: BrokerId,
        own: OwnController,
        slices: Slices,
        request: Wanted,
        answered: Callable[[Answer], None],
        deadline_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self._own = own
        self._slices = slices
        self._request = request
        self._answered = answered
        self.deadline_ms = deadline_ms
        """Until then it waits for a controller."""

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """See `Forwardable.to_message`."""
        raise NotImplementedError

    def on_answer(self, answer: Any) -> None:  # noqa: ANN401 - the response to the message
        """See `Forwardable.on_answer`."""
        if answer.error_code:
            self.give_up(known_code(answer.error_code))
        else:
            self._slices.run(self._read_in_steps(answer), self._on_unreadable)

    def _read_in_steps(self, answer: Any) -> Steps[None]:  # noqa: ANN401 - as above
        self._answered((yield from self._read(answer)))

    def _on_unreadable(self, error: Exception) -> None:
        _log.error("an answer of the controller cannot be read", exc_info=error)
        self.give_up(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _read(self, answer: Any) -> Generator[None, None, Answer]:  # noqa: ANN401 - as above
        raise NotImplementedError

    def give_up(self, code: ErrorCode) -> None:
        """See `Forwardable.give_up`."""
        self._answered(Refused(code, _REASONS.get(code, "the controller has refused it")))

    def decide(self, ended: Callable[[], None], moved: Callable[[], None]) -> None:
        """See `Forwardable.decide`."""

        def decided(answer: Answer) -> None:
            if isinstance(answer, Refused) and answer.error is ErrorCode.NOT_CONTROLLER:
                moved()
            else:
                ended()
                self._answered(answer)

        self._own.submit(self._request, decided)


class _IdsRequest(_OwnRequest):
    """A block of producer ids."""

    _request: AllocateProducerIds
    is_repeatable = True

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """See `Forwardable.to_message`."""
        from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest

        return AllocateProducerIdsRequest(self._request.broker_id, self._request.broker_epoch)
        yield

    def _read(self, answer: Any) -> Generator[None, None, Answer]:  # noqa: ANN401 - the API's response
        yield
        return ProducerIdBlock(self._request.broker_id, answer.producer_id_start, answer.producer_id_len)


class _ShutdownRequest(_OwnRequest):
    """The leaderships of this broker moved to others."""

    _request: ControlledShutdown
    is_repeatable = True

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """See `Forwardable.to_message`."""
        from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest

        return ControlledShutdownRequest(self._request.broker_id, self._request.broker_epoch)
        yield

    def _read(self, answer: Any) -> Generator[None, None, Answer]:  # noqa: ANN401 - the API's response
        rows = yield from stepwise(
            answer.remaining_partitions, lambda row: TopicPartition(row.topic_name, row.partition_index)
        )
        return ShutdownProgress(tuple(rows))


class _TopicsRequest(_OwnRequest):
    """Topics with the cluster's defaults or counts of their own."""

    _request: CreateTopics

    def to_message(self, left_ms: int) -> Generator[None, None, Message]:
        """See `Forwardable.to_message`."""
        from odradek.wire.messages.create_topics import (
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        def creatable(topic: NewTopic) -> CreatableTopic:
            assert not topic.assignments, "a broker leaves the assignment to the controller"
            configs = [CreatableTopicConfig(name, value) for name, value in topic.configs]
            return CreatableTopic(
                topic.name, topic.partition_count, topic.replication_factor, configs=configs
            )

        topics = yield from stepwise(self._request.topics, creatable)
        request = CreateTopicsRequest(topics, timeout_ms=max(1, left_ms))
        header = RequestHeader(_CREATE_TOPICS, _CREATE_TOPICS_VERSION, 0, _CLIENT_ID)
        return (yield from envelope(header, request, "", self._broker_id))

    def _read(self, answer: Any) -> Generator[None, None, Answer]:  # noqa: ANN401 - the Envelope's response
        from odradek.wire.messages.create_topics import CreateTopicsResponse

        frame = answer.response_data or b""
        _, position = decode_response_header(frame, _CREATE_TOPICS, _CREATE_TOPICS_VERSION)
        response = CreateTopicsResponse.begin_decoding(frame, _CREATE_TOPICS_VERSION, position)
        if not isinstance(response, CreateTopicsResponse):
            response = yield from response
        return TopicOutcomes(tuple((yield from stepwise(response.topics, _outcome))))


def _outcome(row: Any) -> TopicOutcome:  # noqa: ANN401 - a row of CreateTopicsResponse
    """The controller's outcome for a topic; a topic without leaders yet is made, and waited for here."""
    code = known_code(row.error_code)
    if code is ErrorCode.REQUEST_TIMED_OUT:
        code = ErrorCode.NONE
    return TopicOutcome(row.name, code, row.error_message, row.topic_id)
