"""The file of a pipeline: what it says, and a sentence for each mistake."""

from pathlib import Path

import pytest

from odradek.base import extras
from odradek.base.errors import SettingError
from odradek.cli.main import run
from odradek.spark.pipeline.description import Compaction, read_description, read_fields, write_fields
from odradek.spark.pipeline.topics import source_options
from tests.docs.blocks import blocks_of

GOOD = """
[source]
bootstrap_servers = "127.0.0.1:9092"
topics = ["flights"]
[decode]
format = "json"
[sink]
path = "table"
"""


def described(directory: Path, text: str) -> Path:
    file = directory / "flights.toml"
    file.write_text(text)
    return file


def test_where_spark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_description(described(tmp_path, GOOD)).master == "local[*]"
    monkeypatch.setenv("KEY_PASSWORD", "secret")
    text = """
[spark]
master = "spark://host:7077"
[spark.settings]
spark.executor.memory = "4g"
spark.executor.cores = 2
"spark.ssl.keyPassword" = { env = "KEY_PASSWORD" }
"""
    found = read_description(described(tmp_path, GOOD + text))
    assert found.master == "spark://host:7077"
    assert found.spark_settings == {
        "spark.executor.memory": "4g",
        "spark.executor.cores": "2",
        "spark.ssl.keyPassword": "secret",
    }
    assert "secret" not in repr(found)


def test_what_is_left_out_has_defaults(tmp_path: Path) -> None:
    found = read_description(described(tmp_path, GOOD))
    assert (found.name, found.table, found.group) == (
        "flights",
        tmp_path / "table",
        "odradek-pipeline-flights",
    )
    assert (found.isolation, found.records_max, found.dead_letters_max) == ("read_committed", 1_000_000, 1000)
    assert (found.starts_at_latest, found.continues_after_loss, found.adds_fields) == (False, False, True)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("topics", "topic", "there is no setting source.topic; did you mean topics?"),
        ('topics = ["flights"]\n', "", "source.topics is missing"),
        ("[source]", "[sourec]", "there is no setting sourec; did you mean source?"),
        ('["flights"]', '["a,b"]', "source.topics must be a list of the names of topics, not ['a,b']"),
        (
            "[sink]",
            "[sink]\nzzz = 1",
            "there is no setting sink.zzz; it has format, topic, value_format, delivery, path",
        ),
        (
            "[sink]",
            '[sink]\npartition_buy = ["a"]',
            "there is no setting sink.partition_buy; did you mean partition_by",
        ),
        ('"json"', '"xml"', "decode.format must be one of json, avro, csv, raw, not 'xml'"),
        ('"json"', '"csv"', "decode.fields is missing: a line of CSV does not say what its fields are"),
        (
            '"json"',
            '"json"\nfields = {a = "int"}',
            "decode.fields: field a has the type 'int'; types are string",
        ),
        ('"json"', '"json"\nfields = {_key = "long"}', "field _key has a name that the table uses itself"),
        ('["flights"]', '"flights"', "source.topics must be a list of texts, not 'flights'"),
        (
            "[sink]",
            '[dead_letters]\ntopic = "a topic"\n[sink]',
            "dead_letters.topic must be the name of a topic",
        ),
        ("[sink]", '[dead_letters]\ntopic = "flights"\n[sink]', "dead_letters.topic is one of source.topics"),
        (
            "[sink]",
            '[dead_letters]\ntopic = "_odradek-pipeline-flights"\n[sink]',
            "is the topic of the pipeline's own offsets",
        ),
        ("[sink]", '[spark]\nmaster = "host:7077"\n[sink]', "spark.master must be one of local, local[4]"),
        (
            "[sink]",
            '[spark]\nmemory = "1g"\n[sink]',
            "there is no setting spark.memory; it has master, settings",
        ),
        (
            "[sink]",
            '[spark.settings]\nspark.master = "yarn"\n[sink]',
            "spark.settings cannot have spark.master: give master in [spark], or --master",
        ),
        (
            "[sink]",
            '[spark.settings]\nspark.ssl.keyPassword.env = "NOT_THERE"\n[sink]',
            "spark.settings.spark.ssl.keyPassword.env: there is no variable NOT_THERE in the environment",
        ),
        ("127.0.0.1:9092", "nowhere", "bootstrap servers are a list of host:port"),
        ("[sink]", '[sink]\npartition_by = ["_offset"]', "sink.partition_by cannot name _offset"),
        (
            "[sink]",
            "[batch]\nrecords_max = 0\n[sink]",
            "batch.records_max must be a whole number of at least 1",
        ),
        ("[sink]", "[[transform]]\n[sink]", "each [[transform]] has one of sql, python, join,"),
        (
            "[sink]",
            '[[transform]]\npython = "clean"\n[sink]',
            "transform.python must be a file and a function",
        ),
        ("[sink]", "[compact]\n[sink]", "[compact] has no effect: a table of Parquet files has no log in"),
        ("[sink]", "[sink", "is not TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_description(described(tmp_path, GOOD.replace(old, new, 1)))
    assert sentence in str(refused.value)


def test_brokers_are_those_of_all_commands_unless_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unnamed = described(tmp_path, GOOD.replace('bootstrap_servers = "127.0.0.1:9092"', ""))
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVERS", raising=False)
    assert read_description(unnamed).bootstrap_servers == "127.0.0.1:9092"
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "there:9093")
    assert read_description(unnamed).bootstrap_servers == "there:9093"


def test_tables_of_lake_formats_say_how_they_are_compacted(tmp_path: Path) -> None:
    text = f'{GOOD}format = "delta"\n[compact]\nafter_commits = 50\nfile_size_mb = 64\n'
    assert read_description(described(tmp_path, text)).compaction == Compaction(50, 64 << 20, 168)
    with pytest.raises(SettingError, match=r"compact\.file_size_mb must be a whole number of at least 1"):
        read_description(described(tmp_path, text.replace("64", "0")))


def of_topic(text: str) -> str:
    """The description of a sink that is a topic."""
    return text.replace("[sink]", '[sink]\nformat = "topic"\ntopic = "clean"')


def test_a_topic_as_a_sink_has_values_of_json_or_bytes(tmp_path: Path) -> None:
    found = read_description(described(tmp_path, of_topic(GOOD)))
    assert (found.sink_format, found.sink_topic, found.value_format) == ("topic", "clean", "json")
    assert found.marker_topic == f"_odradek-pipeline-{found.name}"
    raw = of_topic(GOOD).replace('format = "json"', 'format = "raw"')
    assert read_description(described(tmp_path, raw)).value_format == "raw"


def test_the_delivery_to_a_topic_is_exact_unless_it_is_said(tmp_path: Path) -> None:
    for delivery, may_repeat in (("", False), ("exactly-once", False), ("at-least-once", True)):
        said = f'[sink]\ndelivery = "{delivery}"' if delivery else "[sink]"
        found = read_description(described(tmp_path, of_topic(GOOD).replace("[sink]", said, 1)))
        assert found.may_repeat is may_repeat


def test_the_pages_example_of_a_topic_is_a_description(tmp_path: Path) -> None:
    (example,) = (one.text for one in blocks_of("docs/pipeline.md") if 'format = "topic"' in one.text)
    found = read_description(described(tmp_path, example))
    assert (found.name, found.sink_topic, found.value_format) == ("clean", "flights-clean", "json")
    assert found.table == tmp_path / "clean_ledger"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('topic = "clean"\n', "", "sink.topic is missing"),
        ('"clean"', '"a topic"', "sink.topic must be the name of a topic"),
        ('"clean"', '".."', "sink.topic must be the name of a topic"),
        ('"clean"', '"flights"', "sink.topic is one of source.topics"),
        ('"clean"', '"_odradek-pipeline-flights"', "is the topic of the pipeline's own offsets"),
        ("[sink]", '[sink]\nvalue_format = "avro"', "sink.value_format must be one of json, raw"),
        ("[sink]", '[sink]\ndelivery = "once"', "sink.delivery must be one of exactly-once, at-least-once"),
        (
            'format = "topic"\ntopic = "clean"',
            'delivery = "at-least-once"',
            "sink.delivery has an effect only with",
        ),
        ("[sink]", '[dead_letters]\ntopic = "clean"\n[sink]', "dead_letters.topic is sink.topic"),
        ("[sink]", '[sink]\npartition_by = ["a"]', "sink.partition_by has no effect on a topic"),
        ("[sink]", '[sink]\nkey = "a"', "sink.key has no effect on a topic"),
        ("[sink]", '[sink]\ntombstones = "ignore"', "sink.tombstones has no effect on a topic"),
        ("[sink]", "[compact]\n[sink]", "[compact] has no effect on a topic"),
        ("[sink]", "[decode.cdc]\n[sink]", "decode.cdc changes rows of a table, and a topic has none"),
        ('format = "topic"', 'format = "delta"', 'sink.topic has an effect only with sink.format = "topic"'),
        (
            'format = "topic"\ntopic = "clean"',
            'value_format = "raw"',
            "sink.value_format has an effect only with",
        ),
        (
            'format = "topic"\ntopic = "clean"',
            'bootstrap_servers = "127.0.0.1:2"',
            "sink.bootstrap_servers has an effect only with",
        ),
        (
            "[sink]",
            '[sink.kafka]\nsecurity.protocol = "PLAINTEXT"\n[sink]',
            "sink.bootstrap_servers is missing",
        ),
        ("[sink]", '[sink]\nbootstrap_servers = "nowhere"', "list of host:port"),
    ],
)
def test_what_a_topic_cannot_have_is_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_description(described(tmp_path, of_topic(GOOD).replace(old, new, 1)))
    assert sentence in str(refused.value)


def test_a_topic_may_be_on_other_brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTS_PASSWORD", "a secret")
    other = PROTECTED.replace("source.kafka", "sink.kafka").replace("[decode]", "[sink]")
    text = of_topic(GOOD).replace("[sink]", f'{other}\nbootstrap_servers = "127.0.0.1:2"', 1)
    found = read_description(described(tmp_path, text.replace('"clean"', '"flights"')))
    assert (found.sink_topic, found.topics) == ("flights", ("flights",))
    assert found.brokers.bootstrap_servers == "127.0.0.1:2"
    assert found.brokers.protection["sasl.password"] == "a secret"
    assert found.source_brokers.bootstrap_servers == found.bootstrap_servers != "127.0.0.1:2"
    assert not found.source_brokers.protection
    assert "a secret" not in repr(found)
    with pytest.raises(SettingError, match=r"sink\.kafka: security\.protocol is one of"):
        read_description(described(tmp_path, text.replace("SASL_PLAINTEXT", "TLS")))


def test_avro_is_refused_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "MODULES", {"avro": ("no_such_module",)})
    text = GOOD.replace('"json"', '"avro"\nschema = "flight.avsc"')
    with pytest.raises(SettingError, match="needs no_such_module, which the extra 'avro' brings"):
        read_description(described(tmp_path, text))


def test_fields_are_kept_beside_the_file_and_given_ones_count_first(tmp_path: Path) -> None:
    given = GOOD.replace('"json"', '"json"\nfields = {a = "long"}')
    found = read_description(described(tmp_path, given))
    write_fields(found, {"a": "string", "b": "date"})
    assert read_fields(found) == {"a": "long", "b": "date"}
    found.fields_file.write_text("{")
    with pytest.raises(SettingError, match="is damaged"):
        read_fields(found)


@pytest.mark.parametrize("format_name", ["json", "csv", "raw"])
def test_init_writes_a_description_that_is_read(
    tmp_path: Path, format_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "flights.toml"
    words = [
        "pipeline",
        "init",
        str(file),
        "--topic",
        "flights",
        "--format",
        format_name,
        "-b",
        "127.0.0.1:1",
    ]
    assert run(words) == 0
    found = read_description(file)
    assert (found.topics, found.format, found.bootstrap_servers) == (("flights",), format_name, "127.0.0.1:1")
    assert run(words) == 2
    assert "exists; nothing was written" in capsys.readouterr().err


PROTECTED = """
[source.kafka]
security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "PLAIN"
sasl.username = "flights"
sasl.password = { env = "FLIGHTS_PASSWORD" }
[decode]"""


def test_tls_and_sasl_are_said_by_kafkas_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLIGHTS_PASSWORD", "a secret")
    found = read_description(described(tmp_path, GOOD.replace("[decode]", PROTECTED, 1)))
    assert found.protection == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "flights",
        "sasl.password": "a secret",
    }
    assert "a secret" not in repr(found)
    assert source_options(found)["kafka.sasl.password"] == "a secret"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("FLIGHTS_PASSWORD", "NOWHERE", "sasl.password.env: there is no variable NOWHERE in the environment"),
        ('{ env = "FLIGHTS_PASSWORD" }', "1", "source.kafka.sasl.password must be text"),
        ("SASL_PLAINTEXT", "TLS", "source.kafka: security.protocol is one of"),
        ("SASL_PLAINTEXT", "PLAINTEXT", "source.kafka: sasl."),
        ("sasl.username", "sasl.usrename", "sasl.usrename"),
        ("sasl.username", "linger.ms", "linger.ms"),
    ],
)
def test_mistakes_in_tls_and_sasl_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, sentence: str
) -> None:
    monkeypatch.setenv("FLIGHTS_PASSWORD", "a secret")
    text = GOOD.replace("[decode]", PROTECTED.replace(old, new, 1), 1)
    with pytest.raises(SettingError) as refused:
        read_description(described(tmp_path, text))
    assert sentence in str(refused.value)
    assert "a secret" not in str(refused.value)


def test_certificates_are_relative_to_the_description(tmp_path: Path) -> None:
    text = '[source.kafka]\nsecurity.protocol = "SSL"\nssl.truststore.type = "PEM"\n'
    text += 'ssl.truststore.location = "ca.pem"\n[decode]'
    with pytest.raises(SettingError, match=rf"{tmp_path}/ca\.pem"):
        read_description(described(tmp_path, GOOD.replace("[decode]", text, 1)))
