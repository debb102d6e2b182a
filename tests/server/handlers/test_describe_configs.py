"""DescribeConfigs, against what Apache Kafka 4.1 answers to the same requests."""

from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.server.nodes import NewNode

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = range(1, 6)


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    create(node)


def create(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))


def describe(node: SimNode, kind: int, name: str, *keys: str, **more: Any) -> Any:
    resource = DescribeConfigsResource(kind, name, list(keys) or None)
    (result,) = node.ask(DescribeConfigsRequest([resource], **more)).results
    return result


def shown(
    node: SimNode, kind: int, name: str, key: str
) -> tuple[str | None, int, list[tuple[str, str, int]]]:
    """Value, source and synonyms of one setting."""
    (config,) = describe(node, kind, name, key, include_synonyms=True).configs
    synonyms = [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]
    return config.value, config.config_source, synonyms


def change(node: SimNode, kind: int, name: str, **settings: str) -> None:
    configs = [AlterableConfig(key.replace("_", "."), 0, value) for key, value in settings.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)])
    assert node.ask(request).responses[0].error_code == 0


def test_the_same_question_is_answered_once(node: SimNode) -> None:
    everything = DescribeConfigsResource(TOPIC, "flights", None)
    one = DescribeConfigsResource(TOPIC, "flights", ["retention.ms"])
    results = node.ask(DescribeConfigsRequest([everything] * 1000 + [one, one])).results
    assert [len(result.configs) > 1 for result in results] == [True, False]


def test_every_setting_of_a_topic_is_shown(node: SimNode) -> None:
    found = {config.name: config for config in describe(node, TOPIC, "flights").configs}
    retention = found["retention.ms"]
    assert (retention.value, retention.config_source, retention.read_only) == ("604800000", DEFAULT, False)
    assert (retention.config_type, retention.is_sensitive) == (5, False)
    assert "odradek.record.validation" in found


def test_a_list_without_keys_asks_for_all_like_null(node: SimNode) -> None:
    all_of_them = describe(node, TOPIC, "flights").configs
    (result,) = node.ask(DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "flights", [])])).results
    assert [config.name for config in result.configs] == [config.name for config in all_of_them]


def test_only_what_is_asked_for_is_shown(node: SimNode) -> None:
    found = describe(node, TOPIC, "flights", "retention.ms", "no.such", include_documentation=True)
    assert [config.name for config in found.configs] == ["retention.ms"]
    assert found.configs[0].documentation


def test_synonyms_and_documentation_come_when_asked_for(node: SimNode) -> None:
    (config,) = describe(node, TOPIC, "flights", "segment.bytes").configs
    assert (config.synonyms, config.documentation) == ([], None)
    (config,) = describe(node, TOPIC, "flights", "segment.bytes", include_synonyms=True).configs
    assert [synonym.name for synonym in config.synonyms] == ["log.segment.bytes"]


def test_a_success_has_the_empty_message(node: SimNode) -> None:
    assert describe(node, TOPIC, "flights", "retention.ms").error_message == ""


def test_what_a_value_hides_is_listed_behind_it(node: SimNode) -> None:
    change(node, TOPIC, "flights", segment_bytes="2000000")
    change(node, BROKER, "0", log_segment_bytes="3000000")
    change(node, BROKER, "", log_segment_bytes="4000000")
    assert shown(node, TOPIC, "flights", "segment.bytes") == (
        "2000000",
        DYNAMIC_TOPIC,
        [
            ("segment.bytes", "2000000", DYNAMIC_TOPIC),
            ("log.segment.bytes", "3000000", DYNAMIC_BROKER),
            ("log.segment.bytes", "4000000", DYNAMIC_DEFAULT),
            ("log.segment.bytes", "1073741824", DEFAULT),
        ],
    )


def test_coarser_units_are_hidden_until_the_finest_is_given(new_node: NewNode) -> None:
    node = new_node(log_retention_hours="1")
    create(node)
    assert shown(node, TOPIC, "flights", "retention.ms") == ("3600000", DEFAULT, [])
    assert shown(node, BROKER, "0", "log.retention.ms") == (None, DEFAULT, [])
    change(node, BROKER, "", log_retention_ms="5000")
    behind = [
        ("log.retention.ms", "5000", DYNAMIC_DEFAULT),
        ("log.retention.hours", "1", STATIC),
        ("log.retention.hours", "168", DEFAULT),
    ]
    assert shown(node, TOPIC, "flights", "retention.ms") == ("5000", DYNAMIC_DEFAULT, behind)
    assert shown(node, BROKER, "0", "log.retention.ms") == ("5000", DYNAMIC_DEFAULT, behind)


def test_a_setting_that_no_broker_setting_gives_has_no_default_to_list(node: SimNode) -> None:
    name = "leader.replication.throttled.replicas"
    assert shown(node, TOPIC, "flights", name) == ("", DEFAULT, [])
    change(node, TOPIC, "flights", **{name: "0:0"})
    assert shown(node, TOPIC, "flights", name) == ("0:0", DYNAMIC_TOPIC, [(name, "0:0", DYNAMIC_TOPIC)])


def test_texts_are_shown_in_their_canonical_form(node: SimNode) -> None:
    change(node, TOPIC, "flights", cleanup_policy=" delete , compact ", preallocate="TRUE")
    assert shown(node, TOPIC, "flights", "cleanup.policy")[0] == "delete,compact"
    value, _, synonyms = shown(node, TOPIC, "flights", "preallocate")
    assert (value, synonyms[0]) == ("true", ("preallocate", "true", DYNAMIC_TOPIC))


def test_a_broker_says_which_settings_are_read_only(node: SimNode) -> None:
    found = {config.name: config for config in describe(node, BROKER, "0").configs}
    directories = found["log.dirs"]
    assert (directories.value, directories.read_only, directories.config_source) == ("/data", True, STATIC)
    assert not found["log.retention.ms"].read_only
    assert found["log.retention.hours"].read_only


def test_the_empty_name_shows_what_is_set_for_all_brokers(node: SimNode) -> None:
    assert describe(node, BROKER, "").configs == []
    change(node, BROKER, "", log_retention_ms="5000")
    assert shown(node, BROKER, "", "log.retention.ms") == (
        "5000",
        DYNAMIC_DEFAULT,
        [("log.retention.ms", "5000", DYNAMIC_DEFAULT)],
    )


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "../etc", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings_here_is_refused(node: SimNode, kind: int, name: str, code: ErrorCode) -> None:
    result = describe(node, kind, name)
    assert (result.error_code, result.configs) == (code, [])
    assert result.error_message, "a refusal says why"
    assert (result.resource_type, result.resource_name) == (kind, name)


def test_a_broker_has_no_loggers_to_configure(node: SimNode) -> None:
    result = describe(node, BROKER_LOGGER, "0")
    assert (result.error_code, result.configs) == (0, [])


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_version_is_answered(node: SimNode, version: int) -> None:
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "flights", ["retention.ms"])])
    (config,) = node.ask(request, version).results[0].configs
    assert (config.name, config.value) == ("retention.ms", "604800000")


def test_what_has_no_effect_here_says_so(node: SimNode) -> None:
    change(node, BROKER, "0", num_io_threads="4", foo_bar="secret", metric_reporters="com.example.Reporter")
    change(node, BROKER, "0", listener_name_client_ssl_keystore_location="/keys")
    described = describe(node, BROKER, "0", include_documentation=True, include_synonyms=True).configs
    found = {config.name: config for config in described}
    threads, unknown, reporters = (found[n] for n in ("num.io.threads", "foo.bar", "metric.reporters"))
    assert threads.documentation.endswith("No effect here: one thread does all the work.")
    assert (threads.value, threads.config_source, threads.read_only) == ("4", DYNAMIC_BROKER, False)
    assert (reporters.value, reporters.config_source, reporters.read_only) == (
        "com.example.Reporter",
        DYNAMIC_BROKER,
        False,
    )
    assert reporters.documentation.endswith(
        "No effect here: metrics are read at the admin listener, odradek.admin.port."
    )
    assert (unknown.value, unknown.is_sensitive, unknown.read_only, unknown.config_type) == (
        None,
        True,
        True,
        0,
    ), "as Kafka shows it: it may be a secret"
    assert [synonym.value for synonym in unknown.synonyms] == [None]
    of_listener = found["listener.name.client.ssl.keystore.location"]
    assert (of_listener.value, of_listener.read_only, of_listener.is_sensitive) == ("/keys", True, False)
    assert "No effect here" in unknown.documentation
    assert "No effect here" not in found["max.connections"].documentation


def test_settings_of_all_brokers_are_shown_whatever_their_names(node: SimNode) -> None:
    change(node, BROKER, "", foo_bar="1", log_retention_ms="5000")
    names = {config.name for config in describe(node, BROKER, "").configs}
    assert names == {"foo.bar", "log.retention.ms"}
