"""Holds the generated codec against kio's, message for message and version for version."""

import dataclasses
import datetime as dt
import importlib
import io
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.apis import APIS, Api
from odradek.wire.generator.later_versions import known_to_kio
from odradek.wire.message import Message
from tests.wire.random_messages import messages_of, sent

EXAMPLES = 10
MESSAGES = [
    pytest.param(api, kind, id=api.name + kind)
    for api in APIS.values()
    if not api.inter_broker_only
    for kind in ("Request", "Response")
]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def kio_class(api: Api, kind: str, version: int) -> type[Any]:
    module = importlib.import_module(f"kio.schema.{api.snake_name}.v{version}.{kind.lower()}")
    found: type[Any] = getattr(module, api.name + kind)
    return found


def kio_type(annotation: Any) -> Any:
    """The type of a value, or of an array's elements."""
    if get_origin(annotation) is UnionType:
        annotation = next(each for each in get_args(annotation) if each is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is tuple else annotation


def to_kio(message: Any, target: type[Any]) -> Any:
    """The same message as an instance of kio's class for one version."""
    given: dict[str, Any] = {}
    for one in dataclasses.fields(target):
        name = one.name if hasattr(message, one.name) else one.name + "_ms"
        value = getattr(message, name)
        if value is None and "tag" in one.metadata and dataclasses.is_dataclass(kio_type(one.type)):
            continue
        given[one.name] = to_kio_value(value, one)
    return target(**given)


def to_kio_value(value: Any, one: dataclasses.Field[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(to_kio_value(each, one) for each in value)
    wanted = kio_type(one.type)
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
        return to_kio(value, wanted)
    match one.metadata["kafka_type"]:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return dt.timedelta(milliseconds=value)
        case "datetime_i64":
            says_none = get_origin(one.type) is UnionType and value == -1
            return None if says_none else EPOCH + dt.timedelta(milliseconds=value)
        case "uuid":
            return None if value == NO_TOPIC_ID else value
    return value


@pytest.mark.parametrize(("api", "kind"), MESSAGES)
def test_bytes_are_those_of_kio_in_every_version(api: Api, kind: str) -> None:
    ours = api.request_class if kind == "Request" else api.response_class

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(messages_of(ours))
    def check(message: Message) -> None:
        for version in known_to_kio(api.name, ours.VERSIONS).span():
            said = sent(message, version)
            target = kio_class(api, kind, version)
            with io.BytesIO() as stream:
                entity_writer(target)(stream, to_kio(said, target))
                expected = stream.getvalue()
            assert said.encode(version) == expected, f"v{version} of {said!r}"
            decoded = ours.decode(expected, version)
            assert decoded == said, f"v{version}"
            assert decoded.encode(version) == expected, f"v{version} of {said!r}, decoded and encoded"

    check()
