"""AlterConfigs and IncrementalAlterConfigs (KIP-339), decided: which overrides a resource has afterwards.

AlterConfigs gives the whole set; the incremental form amends what is there:

    {"cleanup.policy": "delete"}  APPEND compact to cleanup.policy   -> {"cleanup.policy": "delete,compact"}
    {}                            APPEND compact to cleanup.policy   -> {"cleanup.policy": "delete,compact"}
    {"retention.ms": "1000"}      DELETE retention.ms                -> {}

Appending to a list that is not overridden starts from its default; deleting what is not there is done
already. The first fault answers the resource, and nothing of it is changed:

    named twice, an unknown type or operation, a setting named twice, a null value   INVALID_REQUEST
    a broker setting that cannot change while the broker runs, by any of its names,
      or that has a bad value                                                        INVALID_REQUEST
    one of a listener's certificate without its listener; one that promises protection
      which is not served                                                            INVALID_REQUEST
    overrides that take more room than OVERRIDES_BYTES_MAX                           INVALID_REQUEST
    another broker than the one that was asked                                       INVALID_REQUEST
    no such topic                                                         UNKNOWN_TOPIC_OR_PARTITION
    a setting that is unknown or no list to append to                                 INVALID_CONFIG
    a topic's setting that has a bad value, or contradicts another                    INVALID_CONFIG
    a group's setting that has a bad value, or one beyond the broker's bounds         INVALID_CONFIG

A broker takes settings of any name, as Kafka does, for it may be a plug-in's; what has no effect is said in
the log and by DescribeConfigs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.base.execution import Pace, Steps, counted
from odradek.base.ids import BrokerId
from odradek.base.settings import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    TOPIC_SETTINGS,
    GroupBounds,
    Kind,
    Setting,
    SettingLayers,
    Update,
)
from odradek.base.settings.broker import BROKER_ALIASES
from odradek.base.settings.names import PER_LISTENER, broker_setting
from odradek.base.settings.protection import unkept_promise
from odradek.base.topic_names import fault_in_name
from odradek.metadata import codec, paths
from odradek.metadata.controller.decision import Decision, Decisions, Put
from odradek.metadata.controller.requests import (
    AlterConfigs,
    ConfigAmendment,
    ConfigOperation,
    ConfigReplacement,
    ResourceOutcome,
)
from odradek.metadata.image import ClusterImage
from odradek.metadata.resources import Resource, ResourceType, change_of

OVERRIDES_BYTES_MAX: Final = 262_144
"""Of one resource, as the store keeps them: a node of ZooKeeper holds a mebibyte."""

T = TypeVar("T")


class _Resource(NamedTuple):
    """The part of the cluster that a request's resource names."""

    # The overrides that it has now.
    overrides: Mapping[str, str]
    # The settings that exist for it.
    settings: Mapping[str, Setting]
    # The node that keeps its overrides.
    path: str
    # For a broker: its id, or None for all brokers. None for topics and groups too.
    broker_id: BrokerId | None = None


def decide_configs(
    image: ClusterImage, request: AlterConfigs, group_bounds: GroupBounds
) -> Decisions[ResourceOutcome]:
    """One decision per resource."""
    times_named = yield from counted((asked.resource_type, asked.name) for asked in request.resources)
    for asked in request.resources:
        key = asked.resource_type, asked.name
        try:
            if times_named[key] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "each resource is named at most once")
            resource = _resource_meant(image, asked, request.asked_of)
            overrides = yield from _overrides_after(resource, asked)
            if resource.settings is TOPIC_SETTINGS:
                _refuse_contradiction(image, overrides)
            elif resource.settings is GROUP_SETTINGS:
                _refuse_beyond(group_bounds, overrides)
            _refuse_too_large(overrides)
        except ApiError as refusal:
            yield Decision(ResourceOutcome(*key, refusal.code, refusal.message))
        else:
            yield _changed(asked, resource, overrides)


def checked_topic_overrides(
    image: ClusterImage, configs: Sequence[tuple[str, str | None]]
) -> Steps[dict[str, str]]:
    """The overrides of a new topic. Raises ApiError: INVALID_CONFIG, or INVALID_REQUEST when named twice."""
    yield from _refuse_repeated(name for name, _ in configs)
    overrides: dict[str, str] = {}
    for name, text in configs:
        if text is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{name} has no value")
        try:
            _known(TOPIC_SETTINGS, name).parse(text)
        except SettingError as fault:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(fault)) from None
        overrides[name] = text
    _refuse_contradiction(image, overrides)
    return overrides


def _changed(
    asked: ConfigReplacement | ConfigAmendment, resource: _Resource, overrides: dict[str, str]
) -> Decision[ResourceOutcome]:
    outcome = ResourceOutcome(asked.resource_type, asked.name)
    if overrides == resource.overrides:
        return Decision(outcome)
    change = change_of(Resource(ResourceType(asked.resource_type), asked.name), overrides)
    write = Put(resource.path, codec.encode_config(overrides))
    return Decision(outcome, (write,), (change,))


def _resource_meant(
    image: ClusterImage, asked: ConfigReplacement | ConfigAmendment, asked_of: BrokerId | None
) -> _Resource:
    if asked.resource_type == ResourceType.TOPIC:
        if not asked.name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "there are no settings for all topics at once")
        fault = fault_in_name(asked.name)
        if fault is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        if image.topic(asked.name) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name}")
        return _Resource(image.topic_config(asked.name), TOPIC_SETTINGS, paths.topic_config(asked.name))
    if asked.resource_type == ResourceType.BROKER:
        if asked.name and not asked.name.isdecimal():
            raise ApiError(ErrorCode.INVALID_REQUEST, f"a broker is named by its number, not '{asked.name}'")
        broker_id = int(asked.name) if asked.name else None
        if broker_id is not None and asked_of is not None and broker_id != asked_of:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"this is broker {asked_of}, not broker {broker_id}")
        present = image.default_broker_config if broker_id is None else image.broker_config(broker_id)
        return _Resource(present, BROKER_SETTINGS, paths.broker_config(broker_id), broker_id)
    if asked.resource_type == ResourceType.GROUP:
        if not asked.name:
            raise ApiError(ErrorCode.INVALID_REQUEST, "there are no settings for all groups at once")
        return _Resource(image.group_config(asked.name), GROUP_SETTINGS, paths.group_config(asked.name))
    raise ApiError(
        ErrorCode.INVALID_REQUEST, f"resources of type {asked.resource_type} have no settings here"
    )


def _overrides_after(
    resource: _Resource, asked: ConfigReplacement | ConfigAmendment
) -> Steps[dict[str, str]]:
    yield from _refuse_repeated(entry[0] for entry in asked.configs)
    pace = Pace()
    if isinstance(asked, ConfigReplacement):
        overrides: dict[str, str] = {}
        for name, text in asked.configs:
            _set(resource, overrides, name, text)
            if pace.is_over():
                yield
        return overrides
    overrides = dict(resource.overrides)
    for name, operation, text in asked.configs:
        if pace.is_over():
            yield
        match operation:
            case ConfigOperation.SET:
                _set(resource, overrides, name, text)
            case ConfigOperation.DELETE:
                overrides.pop(name, None)
            case ConfigOperation.APPEND | ConfigOperation.SUBTRACT:
                _amend_list(resource, overrides, name, text, appending=operation == ConfigOperation.APPEND)
            case _:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"{operation} is no operation on {name}")
    return overrides


def _set(resource: _Resource, overrides: dict[str, str], name: str, text: str | None) -> None:
    if text is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} has no value")
    try:
        if resource.settings is BROKER_SETTINGS:
            _refuse_unkept(name, text)
        _changeable(resource, name).parse(text)
    except SettingError as fault:
        is_broker = resource.settings is BROKER_SETTINGS
        code = ErrorCode.INVALID_REQUEST if is_broker else ErrorCode.INVALID_CONFIG
        raise ApiError(code, str(fault)) from None
    overrides[name] = text


def _amend_list(
    resource: _Resource, overrides: dict[str, str], name: str, text: str | None, *, appending: bool
) -> None:
    setting = _changeable(resource, name)
    if setting.kind is Kind.UNKNOWN:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"there is no setting {name}")
    if setting.kind is not Kind.LIST:
        verb = "append to" if appending else "subtract from"
        raise ApiError(ErrorCode.INVALID_CONFIG, f"one cannot {verb} {name}: it is not a list")
    if text is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} has no value")
    present = _parts(overrides.get(name, setting.render(setting.default) or ""))
    named = _parts(text)
    _set(resource, overrides, name, ",".join(amended(present, named, appending=appending)))


def amended(present: Sequence[T], named: Sequence[T], *, appending: bool) -> list[T]:
    """The list with what is named at its end, unless it is there, or without what is named; O(both)."""
    if appending:
        there = frozenset(present)
        return [*present, *(part for part in named if part not in there)]
    leaving = frozenset(named)
    return [part for part in present if part not in leaving]


def _changeable(resource: _Resource, name: str) -> Setting:
    if resource.settings is not BROKER_SETTINGS:
        return _known(resource.settings, name)
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "a setting has a name")
    setting = broker_setting(BROKER_ALIASES.get(name, name))
    if name in PER_LISTENER:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"{name} is set for one listener: listener.name.NAME.{name}"
        )
    if setting.update is Update.READ_ONLY:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} cannot change while the broker runs")
    if setting.update is Update.PER_BROKER and resource.broker_id is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} cannot be set for all brokers at once")
    return setting


def _refuse_unkept(name: str, text: str) -> None:
    fault = unkept_promise(name, text)
    if fault is not None:
        raise SettingError(fault)


def _refuse_too_large(overrides: Mapping[str, str]) -> None:
    # A character takes a byte at least: very many need not be encoded to be refused.
    characters = sum(map(len, overrides)) + sum(map(len, overrides.values()))
    if characters > OVERRIDES_BYTES_MAX or len(codec.encode_config(overrides)) > OVERRIDES_BYTES_MAX:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"the settings take more than {OVERRIDES_BYTES_MAX} bytes together"
        )


def _known(settings: Mapping[str, Setting], name: str) -> Setting:
    setting = settings.get(name)
    if setting is None:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"there is no setting {name}")
    return setting


def _refuse_contradiction(image: ClusterImage, overrides: Mapping[str, str]) -> None:
    """Settings that are good each for itself; defaults count as far as the whole cluster shares them."""
    layers = SettingLayers(dynamic_default=dict(image.default_broker_config))
    least = layers.topic("min.compaction.lag.ms", overrides).value
    most = layers.topic("max.compaction.lag.ms", overrides).value
    assert isinstance(least, int), least
    assert isinstance(most, int), most
    if least > most:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"min.compaction.lag.ms ({least}) is more than max.compaction.lag.ms ({most})",
        )


def _refuse_beyond(bounds: GroupBounds, overrides: Mapping[str, str]) -> None:
    fault = bounds.fault(overrides)
    if fault is not None:
        raise ApiError(ErrorCode.INVALID_CONFIG, fault)


def _refuse_repeated(names: Iterable[str]) -> Steps[None]:
    counts = yield from counted(names)
    repeated = [name for name, times in counts.items() if times > 1]
    if repeated:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{', '.join(repeated)} is given more than once")


def _parts(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
