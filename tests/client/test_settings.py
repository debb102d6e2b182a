"""The table of client settings: both names, defaults, bounds, and a sentence for everything else."""

import ssl

import pytest

from odradek.base.errors import SettingError
from odradek.client import settings as table
from odradek.client.settings import TABLE, Client, read_settings


def test_defaults_are_kafkas() -> None:
    """As `ConsumerConfig`, `ProducerConfig` and `AdminClientConfig` of Apache Kafka 4.3 document them."""
    consumer = read_settings(Client.CONSUMER, {})
    assert (consumer[table.MAX_POLL_RECORDS], consumer[table.SESSION_TIMEOUT_MS]) == (500, 45_000)
    assert (consumer[table.FETCH_MAX_BYTES], consumer[table.MAX_PARTITION_FETCH_BYTES]) == (
        52_428_800,
        1_048_576,
    )
    assert (consumer[table.AUTO_OFFSET_RESET], consumer[table.ENABLE_AUTO_COMMIT]) == ("latest", True)
    producer = read_settings(Client.PRODUCER, {})
    assert (producer[table.ACKS], producer[table.LINGER_MS], producer[table.BATCH_SIZE]) == (-1, 5, 16_384)
    assert (producer[table.METADATA_MAX_AGE_MS], producer[table.METADATA_MAX_IDLE_MS]) == (300_000, 300_000)
    assert (producer[table.BUFFER_MEMORY], producer[table.MAX_REQUEST_SIZE]) == (33_554_432, 1_048_576)
    admin = read_settings(Client.ADMIN, {})
    assert (admin[table.DEFAULT_API_TIMEOUT_MS], admin[table.REQUEST_TIMEOUT_MS]) == (60_000, 30_000)
    assert admin.security.protocol == "PLAINTEXT"


@pytest.mark.parametrize("name", ["group.id", "group_id"])
def test_both_names_are_known(name: str) -> None:
    found = read_settings(Client.CONSUMER, {name: "g1"})
    assert found[table.GROUP_ID] == "g1"
    assert found.is_given(table.GROUP_ID)
    assert not found.is_given(table.CLIENT_ID)


def test_a_setting_is_given_once() -> None:
    with pytest.raises(SettingError, match=r"group\.id and group_id are the same setting"):
        read_settings(Client.CONSUMER, {"group.id": "a", "group_id": "a"})


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("acks", "all", -1),
        ("acks", 1, 1),
        ("acks", "0", 0),
        ("linger_ms", "10", 10),
        ("linger_ms", 0, 0),
        ("enable_idempotence", "False", False),
        ("enable_idempotence", False, False),
        ("compression_type", "ZSTD", "zstd"),
        ("bootstrap_servers", "a:1,[::1]:2", (("a", 1), ("::1", 2))),
        ("bootstrap_servers", ["a:1", "b:2"], (("a", 1), ("b", 2))),
    ],
)
def test_values_are_pythons_or_text(name: str, given: object, found: object) -> None:
    (setting,) = (one for one in TABLE if one.name.replace(".", "_") == name)
    assert read_settings(Client.PRODUCER, {name: given})[setting] == found


def test_strategies_by_name_or_by_javas_class() -> None:
    java = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    for given in (f"{java}, range", [java, "range"]):
        found = read_settings(Client.CONSUMER, {"partition.assignment.strategy": given})
        assert found[table.PARTITION_ASSIGNMENT_STRATEGY] == ("cooperative-sticky", "range")


@pytest.mark.parametrize(
    ("client", "name", "value", "sentence"),
    [
        (Client.CONSUMER, "max.poll.records", 0, "is a whole number from 1 to 2,147,483,647, not 0"),
        (Client.CONSUMER, "max.poll.records", True, "is a whole number from 1 to"),
        (Client.CONSUMER, "max.poll.records", "1e3", "not '1e3'"),
        (Client.CONSUMER, "max.poll.records", "9" * 5_000, "is a whole number"),
        (Client.CONSUMER, "group.id", " ", "group.id has no value"),
        (Client.CONSUMER, "group.id", 5, "group.id is text, not int"),
        (Client.CONSUMER, "enable.auto.commit", 1, "is true or false, not 1"),
        (Client.CONSUMER, "isolation.level", None, "is one of read_uncommitted, read_committed, not None"),
        (Client.CONSUMER, "auto.offset.reset", "smallest", "earliest, latest, none, by_duration:"),
        (Client.CONSUMER, "auto.offset.reset", "by_duration:P", "is one of earliest, latest, none"),
        (Client.CONSUMER, "auto.offset.reset", "by_duration:-PT1H", "is one of earliest, latest, none"),
        (Client.CONSUMER, "partition.assignment.strategy", "com.evil.Assignor", "is a list of range, "),
        (Client.CONSUMER, "partition.assignment.strategy", [], "is a list of strategies"),
        (Client.CONSUMER, "bootstrap.servers", "somewhere", "bootstrap servers are a list of host:port"),
        (Client.CONSUMER, "bootstrap.servers", [], "is text, not"),
        (Client.PRODUCER, "metadata.max.idle.ms", 4_999, "is a whole number from 5,000 to"),
        (Client.CONSUMER, "metadata.max.idle.ms", 9_000, "metadata.max.idle.ms is no setting of a consumer"),
        (Client.PRODUCER, "acks", 2, "acks is one of all, 0, 1, not 2"),
        (Client.PRODUCER, "acks", True, "acks is one of all, 0, 1, not True"),
        (Client.CONSUMER, "max.pol.records", 1, "did you mean max.poll.records?"),
        (Client.CONSUMER, "max_pol_records", 1, "did you mean max.poll.records?"),
        (Client.CONSUMER, "flihgts", 1, "flihgts is not a setting of this client"),
        (Client.ADMIN, "group.id", "g", "group.id is no setting of an admin"),
        (Client.CONSUMER, "linger.ms", 5, "linger.ms is no setting of a consumer"),
        (Client.PRODUCER, "bootstrap_servers", {}, "not dict; settings are given as settings={...}"),
        (Client.ADMIN, "bootstrap.servers", "http://a:1", "host:port without a protocol, not 'http://a:1'"),
        (Client.ADMIN, "bootstrap.servers", "a:1;b:2", "are a list of host:port, not 'a:1;b:2'"),
        (Client.ADMIN, "bootstrap.servers", "a b:2", "are a list of host:port, not 'a b:2'"),
        (Client.CONSUMER, "receive.buffer.bytes", 1, "has no effect here: the system chooses"),
        (
            Client.CONSUMER,
            "value_deserializer",
            "x",
            "has no effect here: pass a function as the argument value_",
        ),
        (
            Client.PRODUCER,
            "value_serializer",
            bytes,
            "value_serializer has no effect here: pass a function as",
        ),
        (
            Client.PRODUCER,
            "partitioner",
            max,
            "partitioner has no effect here: keys are spread by murmur2, unless",
        ),
        (
            Client.CONSUMER,
            "consumer_timeout_ms",
            1,
            "has no effect here: poll(timeout) returns an empty list",
        ),
        (Client.CONSUMER, "sasl.mechanism", "PLAIN", "sasl.mechanism has no effect with security.protocol"),
        (Client.CONSUMER, "security_protocol", 5, "security.protocol is text"),
    ],
)
def test_everything_else_is_a_sentence(client: Client, name: str, value: object, sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_settings(client, {name: value})
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_protection_by_pythons_names() -> None:
    found = read_settings(
        Client.ADMIN,
        {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "ada",
            "sasl_password": "s",
        },
        ssl_context=ssl.create_default_context(),
    )
    assert found.security.protocol == "SASL_SSL"


@pytest.mark.parametrize("name", ["sasl_password", "sasl_jaas_config", "ssl_key_password"])
def test_a_secret_that_is_no_text_is_not_shown(name: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_settings(Client.ADMIN, {"bootstrap_servers": "a:9092", name: b"hush"})
    assert str(refused.value) == f"{name.replace('_', '.')} is text, not bytes"


def test_every_name_is_there_once() -> None:
    names = [one.name for one in TABLE]
    assert len(names) == len(set(names))
    assert "session.timeout.ms" in names
