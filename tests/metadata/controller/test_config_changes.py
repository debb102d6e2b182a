"""AlterConfigs and IncrementalAlterConfigs: what comes out, and one test per way to be refused."""

from typing import TypeAlias
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.settings import GroupBounds
from odradek.metadata.controller.config_changes import amended, decide_configs
from odradek.metadata.controller.decision import Decision
from odradek.metadata.controller.requests import (
    AlterConfigs,
    ConfigAmendment,
    ConfigOperation,
    ConfigReplacement,
    ResourceOutcome,
)
from odradek.metadata.image import (
    BrokerConfigChanged,
    ClusterImage,
    GroupConfigChanged,
    PartitionImage,
    TopicConfigChanged,
    TopicCreated,
)
from odradek.metadata.resources import ResourceType

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT

Operation: TypeAlias = tuple[str, int, str | None]
Resource: TypeAlias = ConfigAmendment | ConfigReplacement


@pytest.fixture
def image() -> ClusterImage:
    made = ClusterImage()
    made.apply(TopicCreated("a", UUID(int=1), {0: PartitionImage((1,), (1,), 1)}))
    made.apply(TopicConfigChanged("a", {"retention.ms": "1000", "segment.ms": "5000"}))
    return made


def topic(*operations: Operation, name: str = "a") -> ConfigAmendment:
    return ConfigAmendment(ResourceType.TOPIC, name, operations)


def broker(*operations: Operation, name: str = "1") -> ConfigAmendment:
    return ConfigAmendment(ResourceType.BROKER, name, operations)


def group(*operations: Operation, name: str = "g") -> ConfigAmendment:
    return ConfigAmendment(ResourceType.GROUP, name, operations)


def decided(image: ClusterImage, request: AlterConfigs) -> list[Decision[ResourceOutcome]]:
    bounds = GroupBounds(session_timeout_ms=(1_000, 60_000))
    return list(filter(None, decide_configs(image, request, bounds)))


def after(image: ClusterImage, resource: Resource) -> dict[str, str]:
    """The overrides that a decision leads to."""
    (decision,) = decided(image, AlterConfigs((resource,)))
    assert decision.outcome.error is ErrorCode.NONE, decision.outcome.message
    (change,) = decision.changes
    assert isinstance(change, TopicConfigChanged | BrokerConfigChanged | GroupConfigChanged)
    return dict(change.overrides)


def refusal(image: ClusterImage, *resources: Resource) -> ErrorCode:
    decision = decided(image, AlterConfigs(resources))[-1]
    assert (decision.writes, decision.changes) == ((), ()), f"{resources[-1]} was accepted"
    assert decision.outcome.message, "a refusal says why"
    return decision.outcome.error


def test_alter_configs_replaces_everything(image: ClusterImage) -> None:
    replacement = ConfigReplacement(ResourceType.TOPIC, "a", (("cleanup.policy", "compact"),))
    assert after(image, replacement) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (("segment.ms", SET, "7"), {"retention.ms": "1000", "segment.ms": "7"}),
        (("segment.ms", DELETE, None), {"retention.ms": "1000"}),
        (
            ("cleanup.policy", APPEND, "compact"),
            {"retention.ms": "1000", "segment.ms": "5000", "cleanup.policy": "delete,compact"},
        ),
    ],
)
def test_an_amendment_leaves_the_other_settings_alone(
    image: ClusterImage, operation: Operation, expected: dict[str, str]
) -> None:
    assert after(image, topic(operation)) == expected


def test_subtracting_takes_out_of_a_list(image: ClusterImage) -> None:
    image.apply(TopicConfigChanged("a", {"cleanup.policy": "compact,delete"}))
    assert after(image, topic(("cleanup.policy", SUBTRACT, "delete"))) == {"cleanup.policy": "compact"}


def test_a_list_may_become_empty(image: ClusterImage) -> None:
    assert after(image, topic(("cleanup.policy", SUBTRACT, "delete")))["cleanup.policy"] == ""


@pytest.mark.parametrize("operation", [("no.such", DELETE, None), ("segment.bytes", DELETE, "7")])
def test_deleting_what_is_not_there_changes_nothing(image: ClusterImage, operation: Operation) -> None:
    (decision,) = decided(image, AlterConfigs((topic(operation),)))
    assert decision.outcome.error is ErrorCode.NONE, decision.outcome.message
    assert (decision.writes, decision.changes) == ((), ())


def test_appending_what_is_there_changes_nothing_twice(image: ClusterImage) -> None:
    image.apply(TopicConfigChanged("a", {"cleanup.policy": "compact"}))
    (decision,) = decided(image, AlterConfigs((topic(("cleanup.policy", APPEND, "compact")),)))
    assert decision.outcome.error is ErrorCode.NONE
    assert decision.changes == ()


def test_a_broker_and_all_brokers_have_overrides_of_their_own(image: ClusterImage) -> None:
    one = broker(("log.retention.ms", SET, "1000"))
    everyone = broker(("log.retention.ms", SET, "2000"), name="")
    decisions = decided(image, AlterConfigs((one, everyone)))
    assert [decision.changes for decision in decisions] == [
        (BrokerConfigChanged(1, {"log.retention.ms": "1000"}),),
        (BrokerConfigChanged(None, {"log.retention.ms": "2000"}),),
    ]
    assert [decision.writes[0].path for decision in decisions] == [
        "/config/brokers/1",
        "/config/brokers/<default>",
    ]


def test_an_unknown_topic_is_unknown(image: ClusterImage) -> None:
    error = refusal(image, topic(("segment.ms", SET, "7"), name="b"))
    assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_name_that_is_no_topic_s_is_an_invalid_topic(image: ClusterImage) -> None:
    error = refusal(image, topic(("segment.ms", SET, "7"), name="../x"))
    assert error is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(
    "operation",
    [
        ("no.such", SET, "1"),
        ("retention.ms", SET, "soon"),
        ("retention.ms", SET, "1_000"),
        ("cleanup.policy", SET, "forget"),
        ("retention.ms", APPEND, "1"),
        ("retention.ms", SUBTRACT, "1"),
    ],
)
def test_a_bad_setting_is_an_invalid_config(image: ClusterImage, operation: Operation) -> None:
    assert refusal(image, topic(operation)) is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    "operations",
    [
        [("retention.ms", SET, None)],
        [("cleanup.policy", APPEND, None)],
        [("retention.ms", 4, "1")],
        [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
    ],
)
def test_a_request_that_makes_no_sense_is_an_invalid_request(
    image: ClusterImage, operations: list[Operation]
) -> None:
    assert refusal(image, topic(*operations)) is ErrorCode.INVALID_REQUEST


def test_a_null_value_in_a_replacement_is_an_invalid_request(image: ClusterImage) -> None:
    replacement = ConfigReplacement(ResourceType.TOPIC, "a", (("retention.ms", None),))
    assert refusal(image, replacement) is ErrorCode.INVALID_REQUEST


def test_a_resource_named_twice_is_an_invalid_request_each_time(image: ClusterImage) -> None:
    twice = (topic(("segment.ms", SET, "7")), topic(("segment.ms", SET, "8")))
    decisions = decided(image, AlterConfigs(twice))
    assert [decision.outcome.error for decision in decisions] == [ErrorCode.INVALID_REQUEST] * 2
    assert not any(decision.writes for decision in decisions)


def test_there_are_no_settings_for_all_topics(image: ClusterImage) -> None:
    assert refusal(image, topic(("segment.ms", SET, "7"), name="")) is ErrorCode.INVALID_REQUEST


def test_a_bad_value_of_a_broker_s_setting_is_an_invalid_request(image: ClusterImage) -> None:
    assert refusal(image, broker(("log.retention.ms", SET, "soon"))) is ErrorCode.INVALID_REQUEST


def test_a_broker_changes_its_own_settings_only(image: ClusterImage) -> None:
    other = broker(("log.retention.ms", SET, "1000"), name="2")
    everyone = broker(("log.retention.ms", SET, "1000"), name="")
    decisions = decided(image, AlterConfigs((other, everyone), asked_of=1))
    assert [decision.outcome.error for decision in decisions] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]


@pytest.mark.parametrize("default_ms", [None, "10"])
def test_settings_that_contradict_each_other_are_an_invalid_config(
    image: ClusterImage, default_ms: str | None
) -> None:
    most = ("max.compaction.lag.ms", SET, "5")
    if default_ms is None:
        asked = topic(most, ("min.compaction.lag.ms", SET, "10"))
    else:
        image.apply(BrokerConfigChanged(None, {"log.cleaner.min.compaction.lag.ms": default_ms}))
        asked = topic(most)
    assert refusal(image, asked) is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("name", ["one", "-1", "1.5"])
def test_a_broker_is_named_by_its_number(image: ClusterImage, name: str) -> None:
    assert refusal(image, broker(("log.retention.ms", SET, "1"), name=name)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("resource_type", [ResourceType.BROKER_LOGGER, 99])
def test_a_resource_of_another_type_is_an_invalid_request(image: ClusterImage, resource_type: int) -> None:
    asked = ConfigAmendment(resource_type, "a", ())
    assert refusal(image, asked) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("name", ["node.id", "broker.id", "log.dirs", "log.dir"])
def test_what_is_fixed_while_a_broker_runs_is_an_invalid_request(image: ClusterImage, name: str) -> None:
    assert refusal(image, broker((name, SET, "2"))) is ErrorCode.INVALID_REQUEST


def test_a_group_has_overrides_whether_there_is_one_of_that_name_or_not(image: ClusterImage) -> None:
    """KIP-848"""
    asked = group(("consumer.session.timeout.ms", SET, "1000"), name="a/../b")
    (decision,) = decided(image, AlterConfigs((asked,)))
    assert decision.changes == (GroupConfigChanged("a/../b", {"consumer.session.timeout.ms": "1000"}),)
    (write,) = decision.writes
    assert write.path == "/config/groups/a%2F%2E%2E%2Fb"


def test_deleting_a_group_s_settings_leaves_none(image: ClusterImage) -> None:
    image.apply(GroupConfigChanged("g", {"consumer.session.timeout.ms": "1000"}))
    assert after(image, group(("consumer.session.timeout.ms", DELETE, None))) == {}


@pytest.mark.parametrize(
    "operation",
    [
        ("consumer.session.timeout.ms", SET, "999"),
        ("consumer.session.timeout.ms", SET, "60001"),
        ("consumer.session.timeout.ms", SET, "long"),
        ("consumer.heartbeat.interval.ms", SET, "4999"),
        ("consumer.session.timeout.ms", APPEND, "1000"),
        ("retention.ms", SET, "1"),
    ],
)
def test_a_bad_setting_of_a_group_is_an_invalid_config(image: ClusterImage, operation: Operation) -> None:
    """Also where it is beyond what the broker allows its groups."""
    assert refusal(image, group(operation)) is ErrorCode.INVALID_CONFIG


def test_there_are_no_settings_for_all_groups(image: ClusterImage) -> None:
    asked = group(("consumer.session.timeout.ms", SET, "1000"), name="")
    assert refusal(image, asked) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("foo.bar", "1"),
        ("sasl.kerberos.min.time.before.relogin", "60000"),
        ("listener.name.client.ssl.keystore.location", "/keys"),
        ("listener.name.client.foo", "1"),
        ("metric.reporters", "com.example.Reporter"),
        ("num.io.threads", "4"),
        ("max.connection.creation.rate", "2147483647"),
    ],
)
def test_a_broker_takes_settings_that_have_no_effect_as_kafka_does(
    image: ClusterImage, name: str, text: str
) -> None:
    assert after(image, broker((name, SET, text))) == {name: text}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ssl.keystore.location", "/keys"),
        ("sasl.kerberos.min.time.before.relogin", "soon"),
        ("listener.name.client.max.connections", "many"),
        ("listener.name.client.max.connections", "10"),
        ("max.connections", "0"),
        ("max.connections.per.ip", "0"),
        ("max.connection.creation.rate", "5"),
        ("max.connections.per.ip.overrides", "10.0.0.1:5"),
        ("principal.builder.class", "com.example.Principals"),
        ("log.cleaner.io.max.bytes.per.second", "0"),
        ("log.cleaner.io.max.bytes.per.second", "NaN"),
        ("log.cleaner.io.max.bytes.per.second", "1e-320"),
        ("authorizer.class.name", ""),
        ("", "1"),
        ("foo.bar", "x" * 300_000),
    ],
)
def test_what_a_broker_cannot_take_is_an_invalid_request(image: ClusterImage, name: str, text: str) -> None:
    assert refusal(image, broker((name, SET, text))) is ErrorCode.INVALID_REQUEST


def test_what_is_a_broker_s_own_is_not_set_for_all_brokers(image: ClusterImage) -> None:
    for name in ("listener.name.client.ssl.keystore.location", "sasl.kerberos.min.time.before.relogin"):
        assert refusal(image, broker((name, SET, "1"), name="")) is ErrorCode.INVALID_REQUEST
    assert after(image, broker(("foo.bar", SET, "1"), name="")) == {"foo.bar": "1"}


def test_nothing_is_appended_to_a_setting_that_nobody_knows(image: ClusterImage) -> None:
    assert refusal(image, broker(("foo.bar", APPEND, "1"))) is ErrorCode.INVALID_CONFIG


class Part:
    """An entry of a list that counts how often it is compared."""

    compared = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        Part.compared += 1
        return isinstance(other, Part) and self.number == other.number


@pytest.mark.parametrize(("appending", "left"), [(True, 1500), (False, 500)])
def test_a_long_list_is_amended_without_comparing_all_with_all(*, appending: bool, left: int) -> None:
    Part.compared = 0
    present, named = [Part(number) for number in range(1000)], [Part(number) for number in range(500, 1500)]
    assert len(amended(present, named, appending=appending)) == left
    assert Part.compared <= 2 * len(present)
