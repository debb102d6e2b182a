"""Shared by AlterConfigs and IncrementalAlterConfigs: the way to the controller, outcomes, what is logged.

settings of topic 'flights' altered by 127.0.0.1:51234 ('admin-1'): retention.ms=1000, segment.ms deleted
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress, islice
from operator import attrgetter, is_
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, ITEMS_PER_STEP, Pace, Steps, exhaust, listed, stepwise
from odradek.base.settings.names import broker_setting
from odradek.metadata.controller.requests import (
    AlterConfigs,
    Answer,
    ConfigAmendment,
    ConfigOperation,
    ConfigReplacement,
    Refused,
    ResourceOutcomes,
)
from odradek.metadata.resources import ResourceType
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.context import RequestContext, Respond, Response, log_fields, named
from odradek.server.node.core import BrokerCore

Row = TypeVar("Row")
Change: TypeAlias = ConfigReplacement | ConfigAmendment

CHANGES_LOGGED_MAX: Final = 10
"""A line names as many settings of a resource."""
RESOURCES_LOGGED_MAX: Final = 20
"""As many resources of a request have a line of their own."""
CHARACTERS_MAX: Final = 250
"""A line shows as many characters of a name or of a value."""

_SIGNS: Final = {ConfigOperation.SET: "=", ConfigOperation.APPEND: "+=", ConfigOperation.SUBTRACT: "-="}


class NamedResource(Protocol):
    """A resource of either request."""

    resource_type: int
    resource_name: str


class AlteredResource(NamedResource, Protocol):
    """A resource, and what of it is altered."""

    @property
    def configs(self) -> Sequence[object]:
        """The entries of its settings."""


class AlteringRequest(Protocol):
    """Either request."""

    validate_only: bool

    @property
    def resources(self) -> Sequence[AlteredResource]:
        """The resources that it names."""


def submit(
    core: BrokerCore,
    context: RequestContext,
    request: AlteringRequest,
    respond: Respond,
    *,
    change: Callable[[int, str, tuple[Any, ...]], Change],
    entry: Callable[[Any], tuple[Any, ...]],
    row: Callable[[ErrorCode, str | None, int, str], Row],
    response: Callable[[list[Row]], Response],
) -> Steps[None]:
    """Let the controller decide; each resource has an answer of its own.

    `entry` reads an entry of a resource as `change` wants it; `row` and `response` make the answer.
    """
    changes: list[Change] = []
    pace = Pace()
    for resource in request.resources:
        configs = yield from listed(map(entry, resource.configs))
        changes.append(change(resource.resource_type, resource.resource_name, tuple(configs)))
        if pace.is_over():
            yield

    def in_steps(answer: Answer) -> Steps[Response]:
        if not request.validate_only:
            yield from log_altered(core.alterations, context, changes, answer)
        return response((yield from outcomes(answer, request.resources, row)))

    def decided(answer: Answer) -> None:
        steps = in_steps(answer)
        respond(steps if len(changes) > ITEMS_PER_STEP else exhaust(steps))

    core.decide(context, AlterConfigs(tuple(changes), request.validate_only, core.asked_of(context)), decided)


def outcomes(
    answer: Answer,
    resources: Iterable[NamedResource],
    row: Callable[[ErrorCode, str | None, int, str], Row],
) -> Steps[list[Row]]:
    """Returns the rows of the answer, from the controller's decision for each resource."""
    if isinstance(answer, Refused):
        return (yield from refusals(answer.error, answer.message, resources, row))
    assert isinstance(answer, ResourceOutcomes), answer
    return (
        yield from stepwise(
            answer.resources, lambda one: row(one.error, one.message, one.resource_type, one.name)
        )
    )


def refusals(
    code: ErrorCode,
    message: str | None,
    resources: Iterable[NamedResource],
    row: Callable[[ErrorCode, str | None, int, str], Row],
) -> Steps[list[Row]]:
    """The same error for every resource."""
    return stepwise(resources, partial(_refusal, code, message, row), COUNTED_PER_STEP)


def _refusal(
    code: ErrorCode,
    message: str | None,
    row: Callable[[ErrorCode, str | None, int, str], Row],
    resource: NamedResource,
) -> Row:
    return row(code, message, resource.resource_type, resource.resource_name)


def log_altered(
    log: Complaints, context: RequestContext, changes: Sequence[Change], answer: Answer
) -> Steps[None]:
    """Log which settings a client has altered, a line for each resource; secret values are hidden.

    What was refused is not logged: its client has the answer.
    """
    if not isinstance(answer, ResourceOutcomes):
        return
    errors = map(attrgetter("error"), answer.resources)
    altered = yield from listed(compress(changes, map(partial(is_, ErrorCode.NONE), errors)))
    client = named(context.client, context.client_id)
    fields = log_fields(context.client, context.client_id)
    for change in altered[:RESOURCES_LOGGED_MAX]:
        resource = _resource(change)
        log.say(
            "settings of %s altered by %s: %s",
            resource,
            client,
            _words(change),
            fields=fields | {"resource": resource},
        )
    more = len(altered) - RESOURCES_LOGGED_MAX
    if more > 0:
        log.say("settings of %d more resources altered by %s", more, client, fields=fields)


def _resource(change: Change) -> str:
    """The resource in words: "topic 'flights'", "broker 0", "all brokers"."""
    match change.resource_type, change.name:
        case ResourceType.BROKER, "":
            return "all brokers"
        case ResourceType.BROKER, name:
            return f"broker {name}"
        case kind, name:
            return f"{ResourceType(kind).name.lower().replace('_', ' ')} {name!r}"


def _words(change: Change) -> str:
    """What is altered: up to CHANGES_LOGGED_MAX settings by name, and the number of the others."""
    words = ", ".join(islice(_each(change), CHANGES_LOGGED_MAX))
    more = len(change.configs) - CHANGES_LOGGED_MAX
    words = f"{words} and {more} more" if more > 0 else words
    if isinstance(change, ConfigAmendment):
        return words
    return f"all replaced by {words}" if words else "all deleted"


def _each(change: Change) -> Iterator[str]:
    is_of_broker = change.resource_type == ResourceType.BROKER
    if isinstance(change, ConfigReplacement):
        for name, value in change.configs:
            yield f"{name[:CHARACTERS_MAX]}={_shown(name, value, is_of_broker)}"
        return
    for name, number, value in change.configs:
        operation = ConfigOperation(number)
        if operation is ConfigOperation.DELETE:
            yield f"{name[:CHARACTERS_MAX]} deleted"
        else:
            yield f"{name[:CHARACTERS_MAX]}{_SIGNS[operation]}{_shown(name, value, is_of_broker)}"


def _shown(name: str, value: str | None, is_of_broker: bool) -> str:
    """A value, or "(hidden)"; only brokers have secret settings."""
    if is_of_broker and broker_setting(name).is_secret:
        return "(hidden)"
    return (value or "")[:CHARACTERS_MAX]
