"""Settings of topics, brokers and groups: describe, alter, and list what has some (KIP-226, KIP-339)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from odradek.base.ids import BrokerId
from odradek.client.core.admin.answering import ask_those_there
from odradek.client.core.operation import Operation, ask, only
from odradek.client.core.requests import Send, ToAny, ToNode
from odradek.client.refusal import raise_for
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from odradek.base.settings import Source

TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
GROUP_RESOURCE: Final = 32
_RESOURCES: Final[Mapping[str, int]] = {
    "topic": TOPIC_RESOURCE,
    "broker": BROKER_RESOURCE,
    "group": GROUP_RESOURCE,
}
_LISTED: Final[Mapping[str, int]] = {**_RESOURCES, "broker-logger": 8, "client-metrics": 16}
_FIRST_WITH_TYPES: Final = 1
_SET, _DELETE, _APPEND, _SUBTRACT = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Append:
    """As a change of a setting that is a list: these are added to it."""

    items: str
    """Separated by commas."""


@dataclass(frozen=True, slots=True)
class Subtract:
    """As a change of a setting that is a list: these are taken out of it."""

    items: str
    """Separated by commas."""


Change: TypeAlias = str | Append | Subtract | None
"""Of a setting: its new text; or what is added to a list, or taken out; None: back to its default."""


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """What settings belong to."""

    kind: str
    """ "topic", "broker", "group", "broker-logger" or "client-metrics"."""
    name: str


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting of a topic or broker; the value of a secret one is None."""

    name: str
    value: str | None
    source: "Source | None"
    read_only: bool
    documentation: str | None


def setting_text(name: str, value: object) -> str:
    """The value of a setting, which is a text also where it is a number. Raises TypeError."""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise TypeError(f"the value of {name} is a text, not {kind}: as '86400000' or 'true'")
    return value


def description_request(resource_type: int, name: str) -> DescribeConfigsRequest:
    """Asks for all settings of one resource."""
    resource = DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=[resource], include_documentation=True)


def entries_of(result: DescribeConfigsResult) -> list[ConfigEntry]:
    """The settings of one resource, by name. Raises ApiError if it was refused."""
    about = "" if result.error_message else f"no settings of {result.resource_name}"
    raise_for(result.error_code, result.error_message, about=about)
    entries = [
        ConfigEntry(
            one.name,
            None if one.is_sensitive else one.value,
            _source(one.config_source),
            one.read_only,
            None if one.documentation is None else _without_markup(one.documentation),
        )
        for one in result.configs
    ]
    return sorted(entries, key=lambda entry: entry.name)


def alteration_request(
    resource_type: int, name: str, changes: Mapping[str, Change], *, validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    """Makes these changes of one resource's settings."""
    resource = AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[_alterable(key, change) for key, change in changes.items()],
    )
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def describe_configs(kind: str, name: str) -> Operation[list[ConfigEntry]]:
    """The settings of a "topic", "broker" or "group", by name. A broker's own are that broker's to tell."""
    request = description_request(_type_of(kind), name)
    answer = yield from ask(
        Send(_destination(kind, name), request),
        DescribeConfigsResponse,
        lambda answer: [one.error_code for one in answer.results],
    )
    found = only(answer.results, f"{kind} {name}", name=name, named="resource_name")
    return entries_of(found)


def configs_of_brokers_there(brokers: Iterable[BrokerId]) -> Operation[dict[BrokerId, list[ConfigEntry]]]:
    """The settings of these brokers; without those that do not answer, or refuse."""
    answers, _ = yield from ask_those_there(
        {one: Send(ToNode(one), description_request(BROKER_RESOURCE, str(one))) for one in brokers},
        DescribeConfigsResponse,
        lambda _: [],
    )
    results = {one: only(answer.results, f"broker {one}") for one, answer in answers.items()}
    return {one: entries_of(result) for one, result in results.items() if not result.error_code}


def alter_configs(
    kind: str, name: str, changes: Mapping[str, Change], *, validate_only: bool = False
) -> Operation[None]:
    """Set settings of a "topic", "broker" or "group" to their texts, or reset them where the text is None.

    `Append` and `Subtract` change settings that are lists. Settings that are not named keep their values.
    """
    request = alteration_request(_type_of(kind), name, changes, validate_only=validate_only)
    answer = yield from ask(
        Send(_destination(kind, name), request),
        IncrementalAlterConfigsResponse,
        lambda answer: [one.error_code for one in answer.responses],
    )
    found = only(answer.responses, f"{kind} {name}", name=name, named="resource_name")
    raise_for(found.error_code, found.error_message)


def list_config_resources(kinds: Sequence[str] = ()) -> Operation[list[ConfigResource]]:
    """All that settings belong to, of these kinds or of all, by kind and name (KIP-1142)."""
    unknown = [kind for kind in kinds if kind not in _LISTED]
    if unknown:
        raise ValueError(f"settings are those of one of {', '.join(_LISTED)}, not of {unknown[0]!r}")
    answer = yield from ask(
        Send(
            ToAny(),
            ListConfigResourcesRequest([_LISTED[kind] for kind in kinds]),
            lowest=_FIRST_WITH_TYPES,
        ),
        ListConfigResourcesResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, about="what settings belong to")
    by_type = {number: kind for kind, number in _LISTED.items()}
    found = [
        ConfigResource(by_type[one.resource_type], one.resource_name)
        for one in answer.config_resources
        if one.resource_type in by_type
    ]
    return sorted(found, key=lambda one: (one.kind, one.name))


def _alterable(name: str, change: Change) -> AlterableConfig:
    match change:
        case None:
            return AlterableConfig(name, _DELETE, None)
        case Append(items):
            return AlterableConfig(name, _APPEND, setting_text(name, items))
        case Subtract(items):
            return AlterableConfig(name, _SUBTRACT, setting_text(name, items))
        case text:
            return AlterableConfig(name, _SET, setting_text(name, text))


def _type_of(kind: str) -> int:
    if kind not in _RESOURCES:
        raise ValueError(f"settings are those of one of {', '.join(_RESOURCES)}, not of {kind!r}")
    return _RESOURCES[kind]


def _destination(kind: str, name: str) -> ToAny | ToNode:
    """The settings of one broker are asked of it; the default ones of all, whose name is empty, of any."""
    is_one = kind == "broker" and name.isascii() and name.isdecimal()
    return ToNode(int(name)) if is_one else ToAny()


def _without_markup(text: str) -> str:
    """Documentation as plain text: Apache Kafka writes HTML."""
    import html

    return " ".join(html.unescape(re.sub(r"<[^<>]*>", " ", text)).split())


def _source(number: int) -> "Source | None":
    from odradek.base.settings import Source  # 25 ms that few commands need

    try:
        return Source(number)
    except ValueError:
        return None
