"""AlterConfigs: what is not named falls back to its default."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))


def alter(node: SimNode, kind: int, name: str, *settings: tuple[str, str | None], **more: Any) -> ErrorCode:
    configs = [AlterableConfig(*setting) for setting in settings]
    (response,) = node.ask(AlterConfigsRequest([AlterConfigsResource(kind, name, configs)], **more)).responses
    assert (response.resource_type, response.resource_name) == (kind, name)
    assert (response.error_message is None) == (response.error_code == 0), "a refusal says why"
    return ErrorCode(response.error_code)


def in_force(node: SimNode) -> tuple[int, int]:
    config = node.log("flights").config
    return config.retention_ms, config.segment_ms


def test_it_replaces_what_was_there(node: SimNode) -> None:
    both = ("retention.ms", "1000"), ("segment.ms", "2000")
    assert alter(node, TOPIC, "flights", *both) is ErrorCode.NONE
    assert in_force(node) == (1000, 2000)
    assert alter(node, TOPIC, "flights", ("segment.ms", "3000")) is ErrorCode.NONE
    assert in_force(node) == (604_800_000, 3000)
    assert alter(node, TOPIC, "flights") is ErrorCode.NONE
    assert in_force(node) == (604_800_000, 604_800_000)


def test_it_replaces_settings_of_one_broker_and_of_all(node: SimNode) -> None:
    assert alter(node, BROKER, "", ("log.retention.ms", "5000")) is ErrorCode.NONE
    assert alter(node, BROKER, "0", ("log.retention.ms", "6000")) is ErrorCode.NONE
    assert in_force(node)[0] == 6000
    assert alter(node, BROKER, "0") is ErrorCode.NONE
    assert in_force(node)[0] == 5000


def test_validate_only_changes_nothing(node: SimNode) -> None:
    code = alter(node, TOPIC, "flights", ("retention.ms", "1000"), validate_only=True)
    assert code is ErrorCode.NONE
    assert in_force(node)[0] == 604_800_000


@pytest.mark.parametrize(
    ("kind", "name", "settings", "code"),
    [
        (TOPIC, "flights", [("retention.ms", None)], ErrorCode.INVALID_REQUEST),
        (TOPIC, "flights", [("retention.ms", "1"), ("retention.ms", "2")], ErrorCode.INVALID_REQUEST),
        (TOPIC, "flights", [("retention.ms", "soon")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "flights", [("no.such", "1")], ErrorCode.INVALID_CONFIG),
        (TOPIC, "no", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", [], ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "0", [("log.dirs", "/other")], ErrorCode.INVALID_REQUEST),
        (BROKER, "7", [], ErrorCode.INVALID_REQUEST),
        (BROKER, "x", [], ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "0", [("root", "INFO")], ErrorCode.INVALID_REQUEST),
        (99, "x", [], ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors(node: SimNode, kind: int, name: str, settings: Any, code: ErrorCode) -> None:
    assert alter(node, kind, name, *settings) is code


def test_a_refused_resource_keeps_what_it_had(node: SimNode) -> None:
    alter(node, TOPIC, "flights", ("retention.ms", "1000"))
    alter(node, TOPIC, "flights", ("segment.ms", "2000"), ("no.such", "1"))
    assert in_force(node) == (1000, 604_800_000)
