import pickle
import socket
from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.spark.sink_options import SERVED, SinkOptions, new_write_id, parse_sink_options

BASE = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}


def parsed(**options: str) -> SinkOptions:
    return parse_sink_options(BASE | options, is_stream=False)


def parsed_of_stream(**options: str) -> SinkOptions:
    return parse_sink_options(BASE | options, is_stream=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topics": "t"}, r"the sink odradek has no option topics; did you mean topic\?"),
        ({"xyz": "1"}, r"no option xyz; it has kafka.bootstrap.servers, topic, .*, and kafka\.\*"),
        ({"topic": " "}, "the option topic is empty"),
        ({"includeHeaders": "true"}, "includeheaders is for reads: headers are written where"),
        ({"subscribe": "t"}, "subscribe is for reads: name the topic that is written with the option topic"),
        ({"path": "/t"}, "path is for reads: name the topic"),
        ({"checkpointLocation": "/c"}, "no option checkpointlocation"),
        ({"deliveryGuarantee": "once"}, "must be one of exactly-once, at-least-once, not 'once'"),
        ({"stagingLocation": "/s"}, "stagingLocation has an effect only with deliveryGuarantee=exactly-once"),
        ({"deliveryGuarantee": "exactly-once"}, "name it with stagingLocation, or give"),
        ({"deliveryGuarantee": "exactly-once", "stagingLocation": " "}, "option stagingLocation is empty"),
        ({"kafka.key.serializer": "X"}, "key.serializer cannot be set: keys are bytes or text"),
        ({"kafka.transactional.id": "X"}, "transactional.id cannot be set: the sink makes it"),
        ({"kafka.lingerr.ms": "5"}, r"the options kafka\.\* .*lingerr.ms .*did you mean linger.ms\?"),
        ({"kafka.acks": "5"}, "acks is one of all, 0, 1"),
        ({"kafka.group.id": "g"}, "group.id is no setting of a producer"),
        ({"kafka.transaction.timeout.ms": "5"}, "no effect without transactional.id"),
        ({"kafka.ssl.truststore.type": "PEM"}, "ssl.truststore.type has no effect with security.protocol"),
        ({"kafka.bootstrap.servers": "nowhere"}, "list of host:port"),
    ],
)
def test_what_is_unknown_or_malformed_is_refused_in_a_sentence(
    options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        parsed(**options)


def test_the_servers_must_be_given() -> None:
    with pytest.raises(SettingError, match=r"the option kafka.bootstrap.servers is missing"):
        parse_sink_options({"topic": "t"}, is_stream=False)


def test_batches_are_at_least_once_and_streams_exactly_once() -> None:
    assert not parsed().is_exactly_once
    stream = parsed_of_stream(checkpointLocation="/c/", queryName="q")
    assert stream.is_exactly_once
    assert stream.staging_location == "/c/_odradek_staging"
    direct = parsed_of_stream(checkpointLocation="/c", deliveryGuarantee="at-least-once")
    assert not direct.is_exactly_once
    assert direct.staging_location == ""
    assert parsed(deliveryGuarantee="Exactly-Once", stagingLocation="/s").is_exactly_once


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("/c/", f"{socket.gethostname()}:/c"),
        ("file:///c", f"{socket.gethostname()}:/c"),
        ("c", f"{socket.gethostname()}:{Path.cwd() / 'c'}"),
        ("s3a://bucket/c/", "s3a://bucket/c"),
    ],
)
def test_a_checkpoint_is_known_by_its_place(given: str, place: str) -> None:
    assert parsed_of_stream(checkpointLocation=given, stagingLocation="/s").checkpoint == place
    assert parsed_of_stream(stagingLocation="/s").checkpoint == ""


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ("/s", "/s"),
        ("s", str(Path.cwd() / "s")),
        ("file:/s", "file:/s"),
        ("s3a://bucket/s", "s3://bucket/s"),
        ("/a:b/s", "/a:b/s"),
    ],
)
def test_a_staging_location_is_a_path_or_a_uri(given: str, location: str) -> None:
    options = parsed_of_stream(checkpointLocation="/c", stagingLocation=given)
    assert options.staging_location == location


def test_exactly_once_needs_what_transactions_need() -> None:
    with pytest.raises(SettingError, match=r"transactional.id needs acks=all"):
        parsed_of_stream(checkpointLocation="/c", **{"kafka.acks": "1"})
    assert parsed(**{"kafka.acks": "1"}).settings["acks"] == "1"


def test_settings_go_to_the_producer_and_protection_to_readers() -> None:
    options = parse_sink_options(
        {
            "KAFKA.bootstrap.SERVERS": "a:1",
            "kafka.compression.type": "zstd",
            "kafka.client.id": "me",
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": "u",
            "kafka.sasl.password": "hidden",
        },
        is_stream=False,
    )
    assert options.topic is None
    assert options.settings["compression.type"] == "zstd"
    assert (options.brokers.bootstrap_servers, options.brokers.client_id) == ("a:1", "me")
    assert sorted(options.brokers.protection) == [
        "sasl.mechanism",
        "sasl.password",
        "sasl.username",
        "security.protocol",
    ]
    assert "hidden" not in repr(options) + repr(options.brokers)
    assert pickle.loads(pickle.dumps(options)) == options


def test_each_option_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
    section = page[page.index("## Writing") : page.index("### What a failure may do")]
    assert [one for one in SERVED if f"| `{one}` |" not in section] == []


def test_each_write_has_an_id_of_its_own() -> None:
    assert new_write_id() != new_write_id()
