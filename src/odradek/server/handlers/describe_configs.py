"""DescribeConfigs: settings with their values, their sources, and their synonyms (KIP-226).

If several broker settings set one value in several units, Kafka lists the coarser ones as synonyms only after
the finest one, and omits them if the finest one is not set. With `log.retention.hours=1` in the file:

    retention.ms of a topic             3600000, a default without synonyms
    the same, log.retention.ms at 5000  5000, log.retention.ms, then log.retention.hours twice: file, default
"""

from collections.abc import Container, Iterable
from itertools import dropwhile
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import COUNTED_PER_STEP, Steps, counted, stepwise
from odradek.base.settings import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    TOPIC_SETTINGS,
    Kind,
    Resolved,
    Setting,
    Source,
    Synonym,
    Update,
)
from odradek.base.settings.names import broker_setting, name_below_listener
from odradek.base.topic_names import fault_in_name
from odradek.metadata.resources import ResourceType
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

SERVES: Final = Serves(32, 1, 4, kips={1: 226, 3: 569, 4: 482})

_Found = Iterable[tuple[Setting, Resolved]]

_IN_SEVERAL_UNITS: Final = {
    setting.broker_names[0][0]: name
    for name, setting in TOPIC_SETTINGS.items()
    if len(setting.broker_names) > 1
}
"""Topic settings whose broker settings have several units, with the broker setting of the finest unit."""


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeConfigsRequest, respond: Respond
) -> None:
    """Describe each resource, or answer its error.

    A repeated resource is answered once: a few bytes request kilobytes, and a request may repeat them often.
    """

    def in_steps() -> Steps[Response]:
        response = DescribeConfigsResponse()
        answered: set[tuple[int, str, tuple[str, ...]]] = set()
        for asked in request.resources:
            key = (asked.resource_type, asked.resource_name, tuple(asked.configuration_keys or ()))
            if key not in answered:
                answered.add(key)
                wanted = yield from counted(asked.configuration_keys or ())
                response.results.append(_describe(core, request, asked, wanted))
            yield
        return response

    respond(in_steps())


def refuse(request: DescribeConfigsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every resource."""
    rows = yield from stepwise(
        request.resources,
        lambda asked: DescribeConfigsResult(code, None, asked.resource_type, asked.resource_name),
        COUNTED_PER_STEP,
    )
    return DescribeConfigsResponse(results=rows)


def _describe(
    core: BrokerCore,
    request: DescribeConfigsRequest,
    asked: DescribeConfigsResource,
    wanted: Container[str],
) -> DescribeConfigsResult:
    """One resource; `wanted` holds the names of the settings that are asked for, none for all."""
    result = DescribeConfigsResult(resource_type=asked.resource_type, resource_name=asked.resource_name)
    try:
        found = _settings_of(core, asked)
    except ApiError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    result.configs = [
        _config(setting, resolved, request)
        for setting, resolved in found
        if not asked.configuration_keys or setting.name in wanted
    ]
    return result


def _settings_of(core: BrokerCore, asked: DescribeConfigsResource) -> _Found:
    """The settings of a resource. Raises ApiError if there is no such resource here."""
    name = asked.resource_name
    if asked.resource_type == ResourceType.TOPIC:
        return _topic_settings(core, name)
    if asked.resource_type == ResourceType.BROKER:
        return _broker_settings(core, name)
    if asked.resource_type == ResourceType.GROUP:
        return _group_settings(core, name)
    if asked.resource_type == ResourceType.BROKER_LOGGER:
        _check_is_this_broker(core, name)
        return ()
    raise ApiError(ErrorCode.INVALID_REQUEST, f"resources of type {asked.resource_type} have no settings")


def _topic_settings(core: BrokerCore, name: str) -> _Found:
    fault = fault_in_name(name)
    if fault is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if core.image.topic(name) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
    overrides = core.image.topic_config(name)
    return [
        (setting, _as_kafka_shows(setting, core.layers.topic(key, overrides)))
        for key, setting in TOPIC_SETTINGS.items()
    ]


def _broker_settings(core: BrokerCore, name: str) -> _Found:
    """All settings of this broker, or (for the empty name) those set for all brokers of the cluster."""
    if not name:
        source = Source.DYNAMIC_DEFAULT_BROKER
        return [
            (broker_setting(key), Resolved(text, text, source, (Synonym(key, text, source),)))
            for key, text in core.layers.dynamic_default.items()
        ]
    _check_is_this_broker(core, name)
    declared = [(setting, _of_broker(core, key)) for key, setting in BROKER_SETTINGS.items()]
    return declared + [(broker_setting(key), resolved) for key, resolved in core.layers.beside().items()]


def _group_settings(core: BrokerCore, name: str) -> _Found:
    """The settings of a group, whether the group exists or not."""
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a group has a name")
    overrides = core.image.group_config(name)
    return [(setting, core.layers.group(key, overrides)) for key, setting in GROUP_SETTINGS.items()]


def _of_broker(core: BrokerCore, name: str) -> Resolved:
    resolved = core.layers.broker(name)
    topic_name = _IN_SEVERAL_UNITS.get(name)
    if topic_name is None:
        return resolved
    shown = _as_kafka_shows(TOPIC_SETTINGS[topic_name], core.layers.topic(topic_name, {}))
    return resolved._replace(source=shown.source, synonyms=shown.synonyms)


def _as_kafka_shows(setting: Setting, resolved: Resolved) -> Resolved:
    """Returns a topic's setting without the synonyms before its finest broker setting."""
    finest = setting.broker_names[0][0] if setting.broker_names else None
    own = [
        synonym._replace(text=resolved.text)
        for synonym in resolved.synonyms
        if synonym.source is Source.DYNAMIC_TOPIC
    ]
    given = dropwhile(lambda synonym: synonym.name != finest, resolved.synonyms[len(own) :])
    synonyms = (*own, *given)
    return resolved._replace(source=synonyms[0].source if synonyms else Source.DEFAULT, synonyms=synonyms)


def _check_is_this_broker(core: BrokerCore, name: str) -> None:
    if name != str(core.broker_id):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"this is broker {core.broker_id}, not broker {name}")


def _config(
    setting: Setting, resolved: Resolved, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    is_secret = setting.is_secret
    is_of_broker = setting not in (TOPIC_SETTINGS.get(setting.name), GROUP_SETTINGS.get(setting.name))
    # Kafka accepts settings of single listeners and unknown ones at any time, but shows them as read-only.
    is_odd = setting.kind is Kind.UNKNOWN or name_below_listener(setting.name) is not None
    is_fixed = setting.update is Update.READ_ONLY or is_odd
    config = DescribeConfigsResourceResult(
        setting.name,
        None if is_secret else resolved.text,
        read_only=is_of_broker and is_fixed,
        config_source=resolved.source,
        is_sensitive=is_secret,
        config_type=setting.kind,
        documentation=setting.documentation if request.include_documentation else None,
    )
    if request.include_synonyms:
        config.synonyms = [
            DescribeConfigsSynonym(synonym.name, None if is_secret else synonym.text, synonym.source)
            for synonym in resolved.synonyms
        ]
    return config
