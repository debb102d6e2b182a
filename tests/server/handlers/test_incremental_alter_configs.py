"""IncrementalAlterConfigs, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.settings import Source
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))


def resource(kind: int, name: str, *operations: tuple[str, int, str | None]) -> AlterConfigsResource:
    return AlterConfigsResource(kind, name, [AlterableConfig(*operation) for operation in operations])


def alter(node: SimNode, *resources: AlterConfigsResource, validate_only: bool = False) -> Any:
    return node.ask(IncrementalAlterConfigsRequest(list(resources), validate_only)).responses


def alter_one(node: SimNode, kind: int, name: str, *operations: tuple[str, int, str | None]) -> ErrorCode:
    (response,) = alter(node, resource(kind, name, *operations))
    assert (response.resource_type, response.resource_name) == (kind, name)
    assert (response.error_message is None) == (response.error_code == 0), "a refusal says why"
    return ErrorCode(response.error_code)


def in_force(node: SimNode) -> Any:
    return node.log("flights").config


def test_a_changed_setting_of_a_topic_is_in_force_at_once(node: SimNode) -> None:
    assert alter_one(node, TOPIC, "flights", ("retention.ms", SET, "1000")) is ErrorCode.NONE
    assert in_force(node).retention_ms == 1000
    assert alter_one(node, TOPIC, "flights", ("retention.ms", DELETE, None)) is ErrorCode.NONE
    assert in_force(node).retention_ms == 604_800_000


def test_a_list_is_appended_to_and_subtracted_from(node: SimNode) -> None:
    assert alter_one(node, TOPIC, "flights", ("cleanup.policy", APPEND, "compact")) is ErrorCode.NONE
    assert in_force(node).cleanup_policy == {"delete", "compact"}
    assert alter_one(node, TOPIC, "flights", ("cleanup.policy", SUBTRACT, "delete")) is ErrorCode.NONE
    assert in_force(node).cleanup_policy == {"compact"}


def test_a_broker_setting_is_in_force_for_topics_that_do_not_say_otherwise(node: SimNode) -> None:
    assert alter_one(node, BROKER, "", ("log.retention.ms", SET, "5000")) is ErrorCode.NONE
    assert (in_force(node).retention_ms, node.core.settings.log_retention_ms) == (5000, 5000)
    assert alter_one(node, BROKER, "0", ("log.retention.ms", SET, "6000")) is ErrorCode.NONE
    assert in_force(node).retention_ms == 6000
    assert alter_one(node, TOPIC, "flights", ("retention.ms", SET, "7000")) is ErrorCode.NONE
    assert in_force(node).retention_ms == 7000


def test_validate_only_changes_nothing(node: SimNode) -> None:
    change = resource(TOPIC, "flights", ("retention.ms", SET, "1000"))
    (response,) = alter(node, change, validate_only=True)
    assert response.error_code == 0
    assert in_force(node).retention_ms == 604_800_000
    bad = resource(TOPIC, "flights", ("retention.ms", SET, "soon"))
    (response,) = alter(node, bad, validate_only=True)
    assert response.error_code == ErrorCode.INVALID_CONFIG


def test_each_resource_has_its_own_answer_in_order(node: SimNode) -> None:
    responses = alter(
        node,
        resource(TOPIC, "no", ("retention.ms", SET, "1")),
        resource(TOPIC, "flights", ("retention.ms", SET, "1000")),
        resource(BROKER, "7", ("log.retention.ms", SET, "1")),
    )
    assert [(response.resource_name, response.error_code) for response in responses] == [
        ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("flights", 0),
        ("7", ErrorCode.INVALID_REQUEST),
    ]
    assert in_force(node).retention_ms == 1000


def test_a_resource_named_twice_is_refused_both_times(node: SimNode) -> None:
    change = resource(TOPIC, "flights", ("retention.ms", SET, "1000"))
    responses = alter(node, change, change)
    assert [response.error_code for response in responses] == [ErrorCode.INVALID_REQUEST] * 2
    assert in_force(node).retention_ms == 604_800_000


def test_one_bad_setting_refuses_its_resource_as_a_whole(node: SimNode) -> None:
    code = alter_one(node, TOPIC, "flights", ("retention.ms", SET, "1000"), ("no.such", SET, "1"))
    assert code is ErrorCode.INVALID_CONFIG
    assert in_force(node).retention_ms == 604_800_000


@pytest.mark.parametrize(
    ("name", "operation", "code"),
    [
        ("flights", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        ("flights", ("retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG),
        ("flights", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        ("flights", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        ("flights", ("retention.ms", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        ("flights", ("retention.ms", 7, "1"), ErrorCode.INVALID_REQUEST),
        ("flights", ("cleanup.policy", APPEND, "forget"), ErrorCode.INVALID_CONFIG),
        ("flights", ("cleanup.policy", APPEND, None), ErrorCode.INVALID_REQUEST),
        ("flights", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        ("flights", ("no.such", DELETE, None), ErrorCode.NONE),
        ("no", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a/b", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors_of_topics(node: SimNode, name: str, operation: Any, code: ErrorCode) -> None:
    assert alter_one(node, TOPIC, name, operation) is code


@pytest.mark.parametrize("name", ["0", ""])
@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (("log.dirs", SET, "/other"), ErrorCode.INVALID_REQUEST),
        (("log.retention.hours", SET, "5"), ErrorCode.INVALID_REQUEST),
        (("connections.max.idle.ms", SET, "5"), ErrorCode.INVALID_REQUEST),
        (("log.retention.ms", SET, "soon"), ErrorCode.INVALID_REQUEST),
        (("log.retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (("log.retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("node.id", DELETE, None), ErrorCode.NONE),
    ],
)
def test_errors_of_brokers(node: SimNode, name: str, operation: Any, code: ErrorCode) -> None:
    assert alter_one(node, BROKER, name, operation) is code


@pytest.mark.parametrize("name", ["7", "-1", "x"])
def test_another_brokers_settings_are_changed_by_that_broker(node: SimNode, name: str) -> None:
    code = alter_one(node, BROKER, name, ("log.retention.ms", SET, "1"))
    assert code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("kind", [0, BROKER_LOGGER, 99])
def test_what_has_no_settings_here_is_refused(node: SimNode, kind: int) -> None:
    assert alter_one(node, kind, "0", ("root", SET, "INFO")) is ErrorCode.INVALID_REQUEST


def test_a_groups_settings_are_described_and_listed(node: SimNode) -> None:
    """KIP-848; of groups that have settings of their own."""
    assert alter_one(node, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")) is ErrorCode.NONE
    asked = DescribeConfigsRequest([DescribeConfigsResource(GROUP, "g", None)])
    (found,) = node.ask(asked).results
    values = {config.name: (config.value, config.config_source, config.read_only) for config in found.configs}
    assert values == {
        "consumer.heartbeat.interval.ms": ("5000", Source.DEFAULT, False),
        "consumer.session.timeout.ms": ("50000", Source.GROUP, False),
    }
    listed = node.ask(ListConfigResourcesRequest([GROUP]), 1).config_resources
    assert [(one.resource_type, one.resource_name) for one in listed] == [(GROUP, "g")]
    assert alter_one(node, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)) is ErrorCode.NONE
    assert node.ask(ListConfigResourcesRequest([GROUP]), 1).config_resources == []


def test_a_group_without_a_name_has_no_settings(node: SimNode) -> None:
    assert (
        alter_one(node, GROUP, "", ("consumer.session.timeout.ms", SET, "50000")) is ErrorCode.INVALID_REQUEST
    )
    (found,) = node.ask(DescribeConfigsRequest([DescribeConfigsResource(GROUP, "", None)])).results
    assert found.error_code == ErrorCode.INVALID_REQUEST
