"""Settings of topics, brokers and groups: describe and alter (KIP-226, KIP-339)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from odradek.client.core.admin.operation import Operation, ask, only
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
_SET, _DELETE = 0, 1


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting of a topic or broker; the value of a secret one is None."""

    name: str
    value: str | None
    source: "Source | None"
    read_only: bool
    documentation: str | None


def description_request(resource_type: int, name: str) -> DescribeConfigsRequest:
    """Asks for all settings of one resource."""
    resource = DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=[resource], include_documentation=True)


def entries_of(result: DescribeConfigsResult) -> list[ConfigEntry]:
    """The settings of one resource, by name. Raises ApiError if it was refused."""
    raise_for(result.error_code, result.error_message)
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
    resource_type: int, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    """Sets each setting of one resource to its text, or resets it where the text is None."""
    resource = AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
            for key, value in changes.items()
        ],
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
    return entries_of(only(answer.results, f"{kind} {name}"))


def alter_configs(
    kind: str, name: str, changes: Mapping[str, str | None], *, validate_only: bool = False
) -> Operation[None]:
    """Set settings of a "topic", "broker" or "group" to their texts, or reset them where the text is None.

    Settings that are not named keep their values.
    """
    request = alteration_request(_type_of(kind), name, changes, validate_only=validate_only)
    answer = yield from ask(
        Send(_destination(kind, name), request),
        IncrementalAlterConfigsResponse,
        lambda answer: [one.error_code for one in answer.responses],
    )
    found = only(answer.responses, f"{kind} {name}")
    raise_for(found.error_code, found.error_message)


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
