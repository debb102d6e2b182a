"""Apache Kafka's own command-line tools, as an operator types them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from peers import BrokerProcess, KafkaTools, ToolFailed
from peers.waiting import wait_until

from compat.admins.confluent import ConfluentAdmin
from compat.clients import CLIENTS, CODECS, Client, Record


@pytest.fixture
def confluent(tools: KafkaTools) -> Client:
    return CLIENTS["confluent-kafka"](tools.bootstrap)


def test_topics_are_created_listed_described_grown_and_deleted(
    tools: KafkaTools, broker: BrokerProcess, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    named = ("--topic", name)
    created = tools.on_broker(
        "topics", "--create", *named, "--partitions", "2", "--config", "retention.ms=5000"
    )
    assert f"Created topic {name}." in created
    assert name in tools.on_broker("topics", "--list").splitlines()
    tools.on_broker("topics", "--alter", *named, "--partitions", "3")
    described = tools.on_broker("topics", "--describe", *named)
    factor = len(broker.ports)
    summary = rf"PartitionCount: 3\s+ReplicationFactor: {factor}\s+Configs:.*retention\.ms=5000"
    assert re.search(summary, described), described
    more = rf"(?:,\d){{{factor - 1}}}"
    row = rf"Partition: \d\s+Leader: (\d+)\s+Replicas: \1{more}\s+Isr: \d{more}\s"
    assert len(re.findall(row, described)) == 3, described
    tools.on_broker("topics", "--delete", *named)
    assert name not in tools.on_broker("topics", "--list").splitlines()


def test_settings_of_a_group_are_altered_and_described(
    tools: KafkaTools, fresh_name: Callable[[], str]
) -> None:
    entity = ("--entity-type", "groups", "--entity-name", fresh_name())
    tools.on_broker("configs", "--alter", *entity, "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in tools.on_broker("configs", "--describe", *entity)
    with pytest.raises(ToolFailed, match=r"errors\.InvalidConfigurationException"):
        tools.on_broker("configs", "--alter", *entity, "--add-config", "consumer.session.timeout.ms=1")
    tools.on_broker("configs", "--alter", *entity, "--delete-config", "consumer.session.timeout.ms")
    assert "50000" not in tools.on_broker("configs", "--describe", *entity)


def test_the_topics_tool_tells_why_it_was_refused(tools: KafkaTools, topic: str) -> None:
    with pytest.raises(ToolFailed, match=r"errors\.TopicExistsException"):
        tools.on_broker("topics", "--create", "--topic", topic)


def test_settings_of_a_topic_are_altered_and_described(tools: KafkaTools, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools.on_broker(
        "configs", "--alter", *entity, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]"
    )
    described = tools.on_broker("configs", "--describe", *entity)
    assert "retention.ms=5000" in described
    assert "cleanup.policy=compact,delete" in described
    tools.on_broker("configs", "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms" not in tools.on_broker("configs", "--describe", *entity)
    everything = tools.on_broker("configs", "--describe", "--all", *entity)
    assert re.search(r"retention\.ms=604800000 sensitive=false synonyms=", everything), everything


def test_settings_of_a_broker_are_altered_and_described(tools: KafkaTools) -> None:
    broker = min(ConfluentAdmin(tools.bootstrap).cluster().brokers)
    entity = ("--entity-type", "brokers", "--entity-name", str(broker))
    tools.on_broker("configs", "--alter", *entity, "--add-config", "log.retention.ms=123456789")
    described = tools.on_broker("configs", "--describe", *entity)
    assert "log.retention.ms=123456789" in described
    assert "DYNAMIC_BROKER_CONFIG:log.retention.ms=123456789" in described
    tools.on_broker("configs", "--alter", *entity, "--delete-config", "log.retention.ms")
    assert "log.retention.ms=123456789" not in tools.on_broker("configs", "--describe", *entity)


@pytest.mark.parametrize("codec", CODECS)
def test_the_console_producer_is_read_by_a_client(
    tools: KafkaTools, confluent: Client, topic: str, codec: str
) -> None:
    properties = [f"parse.{part}=true" for part in ("key", "headers")] + [
        "headers.delimiter=|",
        "key.separator=:",
    ]
    arguments = [argument for each in properties for argument in ("--reader-property", each)]
    stdin = "h1:v1,h2:v2|key 1:value 1\nh1:v1|key 2:value 2\n"
    tools.on_broker(
        "console-producer", "--topic", topic, f"--compression-codec={codec}", *arguments, stdin=stdin
    )
    assert [record.content() for record in confluent.read(topic, 2)] == [
        (b"key 1", b"value 1", (("h1", b"v1"), ("h2", b"v2"))),
        (b"key 2", b"value 2", (("h1", b"v1"),)),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_the_console_consumer_reads_a_client(
    tools: KafkaTools, confluent: Client, topic: str, codec: str
) -> None:
    records = [Record(key=f"k{number}".encode(), value=f"v{number}".encode()) for number in range(20)]
    confluent.write(topic, records, codec=codec)
    place = ("--topic", topic, "--partition", "0", "--offset", "5", "--max-messages", "10")
    shown = ("--formatter-property", "print.key=true", "--formatter-property", "print.offset=true")
    printed = tools.on_broker("console-consumer", *place, *shown).splitlines()
    assert printed == [f"Offset:{number}\tk{number}\tv{number}" for number in range(5, 15)]


def test_offsets_are_got_by_name_and_time(
    tools: KafkaTools, confluent: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2, retention_ms=-1)
    times = (1_600_000_000_000, 1_600_000_002_000, 1_600_000_001_000)
    for timestamp_ms in times:
        confluent.write(topic, [Record(value=b"v", partition=1, timestamp_ms=timestamp_ms)])

    def offsets(*arguments: str) -> list[str]:
        return tools.on_broker("get-offsets", "--topic", topic, *arguments).split()

    assert offsets() == [f"{topic}:0:0", f"{topic}:1:3"]
    assert offsets("--time", "earliest") == [f"{topic}:0:0", f"{topic}:1:0"]
    assert f"{topic}:1:1" in offsets("--time", "max-timestamp")
    assert f"{topic}:1:1" in offsets("--time", str(times[0] + 1))
    assert f"{topic}:1:0" in offsets("--time", "earliest-local")


@pytest.mark.needs_api("ElectLeaders")
@pytest.mark.parametrize("election", ["preferred", "unclean"])
def test_leaders_are_elected_by_the_tool(tools: KafkaTools, topic: str, election: str) -> None:
    def elect(*of: str) -> str:
        return tools.on_broker("leader-election", "--election-type", election, *of)

    assert f"Valid replica already elected for partitions {topic}-0" in elect(
        "--topic", topic, "--partition", "0"
    )
    assert elect("--all-topic-partitions") == ""
    with pytest.raises(ToolFailed, match=rf"{topic}-7: .*UnknownTopicOrPartitionException"):
        elect("--topic", topic, "--partition", "7")


def test_records_are_deleted_by_the_tool(
    tools: KafkaTools, confluent: Client, topic: str, tmp_path: Path
) -> None:
    confluent.write(topic, [Record(value=b"v")] * 10)
    wanted = tmp_path / "offsets.json"
    partition = {"topic": topic, "partition": 0, "offset": 4}
    wanted.write_text(json.dumps({"partitions": [partition], "version": 1}))
    assert "low_watermark: 4" in tools.on_broker("delete-records", "--offset-json-file", str(wanted))
    assert confluent.offset_range(topic) == (4, 10)


def test_log_directories_are_described(
    tools: KafkaTools, confluent: Client, topic: str, broker: BrokerProcess
) -> None:
    confluent.write(topic, [Record(value=b"v" * 1000)])
    printed = tools.on_broker("log-dirs", "--describe", "--topic-list", topic)
    told = sorted(json.loads(printed.splitlines()[-1])["brokers"], key=lambda one: int(one["broker"]))
    for one, data_directory in zip(told, broker.data_directories, strict=True):
        (directory,) = one["logDirs"]
        assert (directory["logDir"], directory["error"]) == (str(data_directory), None)
        (partition,) = directory["partitions"]
        assert partition["partition"] == f"{topic}-0"
        assert partition["size"] == (data_directory / f"{topic}-0" / f"{0:020}.log").stat().st_size


def test_the_versions_of_every_api_are_told(tools: KafkaTools) -> None:
    printed = tools.on_broker("api-versions")
    for expected in ("Produce(0): 0 to 13", "Fetch(1): 4 to 18", "ApiVersions(18): 0 to "):
        assert expected in printed
    assert "UNSUPPORTED" not in printed.split("Produce(0)")[1].split("Metadata(3)")[0]


@pytest.mark.parametrize("acks", ["1", "all"])
def test_producer_performance_writes_every_record(
    tools: KafkaTools, confluent: Client, topic: str, acks: str
) -> None:
    report = tools.producer_performance(
        topic, record_count=5000, record_bytes=200, properties=[f"acks={acks}"]
    )
    assert "5000 records sent" in report
    # With acks=1 they may not be on the other replicas yet.
    wait_until(lambda: confluent.offset_range(topic) == (0, 5000), "the records never became readable")
