"""The file of a pipeline: what it says, and a sentence for each mistake."""

from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.cli.main import run
from odradek.spark.pipeline.description import read_description, read_fields, write_fields

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
        ("topics", "topic", "source.topics is missing"),
        ("[sink]", "[sink]\nzzz = 1", "there is no setting sink.zzz; it has path, format, partition_by"),
        (
            "[sink]",
            '[sink]\npartition_buy = ["a"]',
            "there is no setting sink.partition_buy; did you mean partition_by",
        ),
        ('"json"', '"xml"', "decode.format must be one of json, csv, raw, not 'xml'"),
        ('"json"', '"csv"', "decode.fields is missing: a line of CSV does not say what its fields are"),
        (
            '"json"',
            '"json"\nfields = {a = "int"}',
            "decode.fields: field a has the type 'int'; types are string",
        ),
        ('"json"', '"json"\nfields = {_key = "long"}', "field _key has a name that the table uses itself"),
        ('["flights"]', '"flights"', "source.topics must be a list of texts, not 'flights'"),
        ("127.0.0.1:9092", "nowhere", "bootstrap servers are a list of host:port"),
        ("[sink]", '[sink]\npartition_by = ["_offset"]', "sink.partition_by cannot name _offset"),
        (
            "[sink]",
            "[batch]\nrecords_max = 0\n[sink]",
            "batch.records_max must be a whole number of at least 1",
        ),
        ("[sink]", "[[transform]]\n[sink]", "each [[transform]] has either sql or python"),
        (
            "[sink]",
            '[[transform]]\npython = "clean"\n[sink]',
            "transform.python must be a file and a function",
        ),
        ("[sink]", "[sink", "is not TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_description(described(tmp_path, GOOD.replace(old, new, 1)))
    assert sentence in str(refused.value)


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
