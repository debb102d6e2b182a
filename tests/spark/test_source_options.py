import pickle

import pytest

from odradek.base.errors import SettingError
from odradek.client.protection import NAMES
from odradek.net.request_pipeline import ConnectionFailed
from odradek.spark.offset_ranges import Edge
from odradek.spark.source_options import SERVED, SourceOptions, parse_options
from tests.net.protected_broker import ProtectedBroker

BASE = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}


def parsed(**options: str) -> SourceOptions:
    return parse_options(BASE | options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"startingOffset": "latest"}, r"no option startingoffset; did you mean startingOffsets\?"),
        ({"xyz": "1"}, "no option xyz; it has kafka.bootstrap.servers, subscribe,"),
        ({"kafka.isolation.level": "none"}, "kafka.isolation.level must be one of"),
        ({"minPartitions": "few"}, "minPartitions must be a whole number"),
        ({"maxRecordsPerPartition": "0"}, "maxRecordsPerPartition must be a whole number from 1"),
        ({"fetchOffset.numRetries": "0"}, "numRetries must be a whole number from 1"),
        ({"includeHeaders": "1"}, "includeHeaders must be true or false"),
        ({"kafka.bootstrap.servers": "nowhere"}, "list of host:port"),
        ({"assign": '{"t": [0]}'}, "exactly one of the options"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp must be milliseconds since 1970"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "must be one of error, latest"),
        ({"startingOffsets": "latest"}, "cannot be latest in a batch"),
        ({"maxoffsetspertrigger": "5"}, "option maxOffsetsPerTrigger is for streams"),
        ({"kafka.auto.offset.reset": "latest"}, "cannot be set: give startingOffsets"),
        ({"kafka.max.poll.records": "5"}, r"does not serve the option kafka.max.poll.records; of kafka\.\*"),
        ({"kafka.group.idd": "5"}, r"did you mean kafka.group.id\?"),
    ],
)
def test_what_is_unknown_or_malformed_is_refused_in_a_sentence(
    options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        parse_options(BASE | options)


def test_the_bootstrap_servers_are_required() -> None:
    with pytest.raises(SettingError, match=r"kafka.bootstrap.servers is missing"):
        parse_options({"subscribe": "t"})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kafka.security.protocol": "TLS"}, "security.protocol is one of"),
        ({"kafka.sasl.mechanism": "PLAIN"}, "no effect with security.protocol=PLAINTEXT"),
        ({"kafka.security.protocol": "SSL", "kafka.ssl.engine.factory.class": "x"}, "no class is loaded"),
        ({"kafka.security.protocol": "SASL_SSL"}, "sasl.mechanism is one of"),
        ({"kafka.ssl.trust": "x"}, "ssl.trust is not a setting"),
    ],
)
def test_protection_that_cannot_be_given_is_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        parse_options(BASE | options)


LOGIN = {
    "kafka.security.protocol": "SASL_PLAINTEXT",
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.username": "ada",
    "kafka.sasl.password": "secret",
}


def test_protection_goes_to_the_tasks_and_secrets_are_not_shown() -> None:
    options = pickle.loads(pickle.dumps(parse_options(BASE | LOGIN)))
    assert dict(options.reading.protection)["sasl.password"] == "secret"
    assert "secret" not in repr(options)
    with pytest.raises(SettingError) as refused:
        parse_options(BASE | {"kafka.sasl.jaas.config": "password=hidden"})
    assert "hidden" not in str(refused.value)


def test_both_kinds_of_connections_log_in() -> None:
    with ProtectedBroker() as broker:
        servers = {"kafka.bootstrap.servers": f"127.0.0.1:{broker.port}"}
        reading = parse_options(BASE | servers | LOGIN).reading
        reading.connect_any().close()
        reading.connect(("127.0.0.1", broker.port)).close()
        assert broker.asked.count("SaslAuthenticateRequest") == 2
        with pytest.raises(ConnectionFailed, match="who are you"):
            parse_options(BASE | servers | LOGIN | {"kafka.sasl.password": "no"}).reading.connect_any()


def test_plaintext_may_be_named() -> None:
    assert parse_options(BASE | {"kafka.security.protocol": "PLAINTEXT"}) == parsed()


def test_the_first_of_spark_s_order_gives_the_edge() -> None:
    both = parsed(startingOffsets='{"t": {"0": 3}}', startingTimestamp="7", endingOffsets="latest")
    assert both.start == Edge("startingTimestamp", "7")
    assert both.end == Edge("endingOffsets", "latest")


def test_the_connections_are_named_after_the_group() -> None:
    assert parsed().reading.client_id == "odradek"
    assert (
        parse_options(BASE | {"kafka.group.id": "g", "groupIdPrefix": "p"}).reading.client_id == "consumer-g"
    )
    assert parsed(groupIdPrefix="p").reading.client_id.startswith("consumer-p-")
    assert parse_options(BASE | {"kafka.group.id": "g", "kafka.client.id": "c"}).reading.client_id == "c"


VALUES = {
    "startingtimestamp": "5",
    "endingtimestamp": "5",
    "startingoffsetsbytimestamp": '{"t": {"0": 5}}',
    "endingoffsetsbytimestamp": '{"t": {"0": 5}}',
    "startingoffsetsbytimestampstrategy": "latest",
    "startingoffsets": '{"t": {"0": 5}}',
    "endingoffsets": '{"t": {"0": 5}}',
    "kafka.isolation.level": "read_committed",
    "includeheaders": "true",
    "failondataloss": "false",
}
CHECKED_APART = {
    "kafka.bootstrap.servers",
    "subscribe",
    "subscribepattern",
    "assign",
    *(f"kafka.{name}" for name in NAMES),  # checked together, and each by the client's own tests
}


@pytest.mark.parametrize("name", sorted({one.lower() for one in SERVED} - CHECKED_APART))
def test_each_option_changes_the_read(name: str) -> None:
    assert parse_options(BASE | {name: VALUES.get(name, "77")}) != parsed()


def test_a_stream_begins_at_the_latest_offset_and_may_say_so() -> None:
    assert parse_options(BASE, is_stream=True).start == Edge("startingOffsets", "latest")
    assert parse_options(BASE | {"startingOffsets": '{"t": {"0": -1}}'}, is_stream=True).is_stream


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("endingTimestamp", "option endingTimestamp is for batches: a stream has no end"),
        ("maxOffsetsPerTrigger", "does not serve the option maxOffsetsPerTrigger: a batch of its streams"),
    ],
)
def test_what_a_stream_cannot_have_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        parse_options(BASE | {name: "5"}, is_stream=True)
