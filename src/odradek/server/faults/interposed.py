"""Applies the fault rules of a test to a request: with another handler, another client, or no handler at all.

    error      a handler that answers with the API's own refusal, and serves what the rule does not match
    delay      a client to which a timer passes the answer on
    drop       a client that closes the connection in place of, or after, its answer; or no request at all

A rule for one topic refuses only that topic: the rest of the request goes to the handler, and the refusal is
added to its answer, as a broker that leads one of two partitions would answer.
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from types import GeneratorType
from typing import Any, Final

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.dispatch import Answerable, Handler
from odradek.server.faults.fetch_watches import FetchWatches
from odradek.server.faults.rules import Asker, DropWhen, FaultRules, Kind, Rule
from odradek.timer import TimedCall, Timer
from odradek.wire.apis import APIS
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchRequest

_TOPIC_FIELDS: Final = ("topic_data", "topics", "topic_names", "v3_and_below_topics")
"""The fields in which requests list topics, by name or id."""
_METADATA: Final = 3
"""An API whose answer lists the brokers too, even if all topics are refused."""
_FETCH: Final = 1
_ADD_PARTITIONS: Final = 24
"""An API that adds all partitions or none: if one is refused, the others are OPERATION_NOT_ATTEMPTED."""


class FetchNotes:
    """Tells the watches what is fetched, also where only changes of a session are named (KIP-227)."""

    def __init__(
        self, watches: FetchWatches, session_partitions: Callable[[int], Iterable[TopicPartition]]
    ) -> None:
        """`session_partitions` returns the partitions of a fetch session."""
        self._watches = watches
        self._session_partitions = session_partitions

    def note(
        self,
        client: Answerable,
        context: RequestContext,
        request: FetchRequest,
        name_of: Callable[[Any], str | None],
    ) -> None:
        """Called for each fetch of a client; `name_of` returns the name of a topic of the request."""
        if not self._watches:
            return
        partitions: dict[TopicPartition, None] = {}
        if _hides_topics(context.api_key, request):
            partitions |= dict.fromkeys(self._session_partitions(request.session_id))
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                partitions.pop(TopicPartition(name_of(forgotten) or "", number), None)
        for topic in request.topics:
            name = name_of(topic)
            if name is not None:
                partitions |= {TopicPartition(name, one.partition): None for one in topic.partitions}
        self._watches.note(context.client_id or "", client.peer_host, partitions)


class FaultyDispatch:
    """Receives decoded requests before their handler while there are rules for requests, or watches."""

    def __init__(
        self,
        rules: FaultRules,
        asker: Asker,
        timer: Timer,
        topic_name: Callable[[Any], str | None],
        fetch_anew: Response,
        fetch_notes: FetchNotes,
    ) -> None:
        """`asker` says whose requests arrive here; `topic_name` returns the name of a topic by its id.

        `fetch_anew` makes a client end its fetch session.
        """
        self._fetch_notes = fetch_notes
        self._rules = rules
        self._asker = asker
        self._timer = timer
        self._topic_name = topic_name
        self._fetch_anew = fetch_anew

    def meet(
        self, client: Answerable, handler: Handler[Any], context: RequestContext, request: Message
    ) -> tuple[Answerable, Handler[Any]] | None:
        """Returns the handler and the client for the request; None if its connection must be closed."""
        topics = self._topics(request)
        if isinstance(request, FetchRequest) and self._asker is Asker.CLIENTS:
            self._fetch_notes.note(client, context, request, self._name_of)
        met = self._rules.meet(context.api_key, context.client_id, topics, self._asker)
        if _hides_topics(context.api_key, request) and self._means_fetches(context, met):
            return client, replace(handler, handle=_answering(self._fetch_anew))
        for rule in met:
            rule.hit()
            match rule.kind:
                case Kind.DELAY:
                    client = _Delayed(client, self._timer, rule.delay_ms)
                case Kind.ERROR:
                    handler = self._refusing(handler, context.api_key, rule)
                case Kind.DROP if rule.when is DropWhen.BEFORE_REQUEST:
                    return None
                case Kind.DROP:
                    client = _CutOff(client, answers_first=rule.when is DropWhen.AFTER_ANSWER)
        return client, handler

    def _means_fetches(self, context: RequestContext, met: list[Rule]) -> bool:
        """Whether a rule matches a partition stored in a fetch session, so that its client must name it."""
        return any(rule.kind is Kind.ERROR for rule in met) or any(
            rule.topic is not None
            and replace(rule, topic=None).matches(_FETCH, context.client_id, (), self._asker)
            for rule in self._rules
        )

    def _topics(self, request: Message) -> set[str]:
        """Returns the names of the topics that a request lists."""
        return {
            name
            for field in topic_fields(type(request))
            for element in getattr(request, field) or ()
            if (name := self._name_of(element)) is not None
        }

    def _name_of(self, element: Any) -> str | None:  # noqa: ANN401 - an element of any API's request
        if isinstance(element, str):
            return element
        name: str | None = getattr(element, "name", None) or getattr(element, "topic", None)
        return name or self._topic_name(getattr(element, "topic_id", None))

    def _refusing(self, handler: Handler[Any], api_key: int, rule: Rule) -> Handler[Any]:
        """Returns a handler that answers with the rule's refusal and passes the rest to `handler`."""
        refuse = handler.refuse
        assert refuse is not None, "no rule is set for an API that cannot refuse"
        if rule.topic is None and api_key != _METADATA:
            return replace(
                handler, handle=lambda core, context, request, respond: respond(refuse(request, rule.code))
            )

        def handle(core: Any, context: RequestContext, request: Any, respond: Respond) -> Steps[None] | None:  # noqa: ANN401
            meant, rest = self._split(request, rule.topic)
            refusal = _whole(refuse(meant, rule.code))
            if api_key == _METADATA:
                rest = rest or _without_topics(request)
            if rest is None:
                respond(refusal)
                return None
            respond = _merging(respond, refusal)
            if api_key == _ADD_PARTITIONS:
                respond(refuse(rest, ErrorCode.OPERATION_NOT_ATTEMPTED))
                return None
            return handler.handle(core, context, rest, respond)

        return replace(handler, handle=handle)

    def _split(self, request: Message, topic: str | None) -> tuple[Message, Message | None]:
        """Split a request into the part for one topic (for None: for all), and the rest, if any."""
        meant, rest = copy.copy(request), copy.copy(request)
        has_rest = False
        for field in topic_fields(type(request)):
            named: list[Any] = []
            others: list[Any] = []
            for element in getattr(request, field) or ():
                is_meant = topic is None or self._name_of(element) == topic
                (named if is_meant else others).append(element)
            setattr(meant, field, named)
            setattr(rest, field, others)
            has_rest |= bool(others)
        if isinstance(getattr(rest, "max_wait_ms", None), int):
            rest.max_wait_ms = 0  # type: ignore[attr-defined] # an error among its partitions ends a fetch's wait
        return meant, rest if has_rest else None


class _PassedOn:
    """A client that passes every call on; a subclass changes what happens to the answer."""

    def __init__(self, client: Answerable) -> None:
        self._client = client
        self.listener, self.peer_host, self.peer_port = client.listener, client.peer_host, client.peer_port
        self.client_id, self.queued_ns, self.last_api_key = client.client_id, 0, client.last_api_key

    def close(self) -> None:
        self._client.close()

    def when_lost(self, abandon: Callable[[], None]) -> None:
        self._client.when_lost(abandon)

    def identify(self, client_id: str, software: str) -> None:
        self._client.identify(client_id, software)


class _Delayed(_PassedOn):
    """A client that passes the answer on later."""

    def __init__(self, client: Answerable, timer: Timer, delay_ms: int) -> None:
        super().__init__(client)
        self._timer = timer
        self._delay_ms = delay_ms

    def answer(self, parts: list[Buffer]) -> None:
        self._later(lambda: self._client.answer(parts))

    def answer_nothing(self) -> None:
        self._later(self._client.answer_nothing)

    def _later(self, call: Callable[[], None]) -> None:
        self._timer.add(TimedCall(self._timer.clock.monotonic_ms() + self._delay_ms, call))


class _CutOff(_PassedOn):
    """A client whose connection is closed with its answer, or in place of it."""

    def __init__(self, client: Answerable, *, answers_first: bool) -> None:
        super().__init__(client)
        self._answers_first = answers_first

    def answer(self, parts: list[Buffer]) -> None:
        if self._answers_first:
            self._client.answer(parts)
        self._client.close()

    def answer_nothing(self) -> None:
        if self._answers_first:
            self._client.answer_nothing()
        self._client.close()


def topic_fields(request_class: type[Message]) -> list[str]:
    """Returns the fields in which requests of an API list topics; empty if they list none."""
    return [field.name for field in fields(request_class) if field.name in _TOPIC_FIELDS]  # type: ignore[arg-type]


def names_topics(api_key: int) -> bool:
    """Whether requests of an API list topics, so that a rule may name a topic."""
    return bool(topic_fields(APIS[api_key].request_class))


def _hides_topics(api_key: int, request: Message) -> bool:
    """Whether the request is a fetch that uses the partitions stored in its session (KIP-227)."""
    return api_key == _FETCH and getattr(request, "session_epoch", 0) > 0


def _answering(response: Response) -> Callable[..., None]:
    return lambda core, context, request, respond: respond(response)


def _without_topics(request: Message) -> Message:
    bare = copy.copy(request)
    for field in topic_fields(type(request)):
        setattr(bare, field, [])
    return bare


def _whole(answer: Response | Steps[Response]) -> Response:
    """An answer that may be made in steps, made now."""
    return exhaust(answer) if type(answer) is GeneratorType else answer  # type: ignore[return-value]


def _merging(respond: Respond, refusal: Response) -> Respond:
    """Returns a `Respond` that adds the elements of a refusal to the answer."""

    def merged(answer: Response | None) -> Response | None:
        if answer is not None:
            for field in fields(refusal):  # type: ignore[arg-type]
                elements = getattr(refusal, field.name)
                if isinstance(elements, list):
                    setattr(answer, field.name, [*(getattr(answer, field.name) or ()), *elements])
        return answer

    def in_steps(answering: Steps[Response]) -> Steps[Response]:
        response = yield from answering
        merged(response)
        return response

    def respond_merged(answer: Response | Steps[Response] | None) -> None:
        if type(answer) is GeneratorType:
            respond(in_steps(answer))
        else:
            respond(merged(answer))  # type: ignore[arg-type]

    return respond_merged
