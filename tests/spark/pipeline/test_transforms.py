"""The stages of a description: what they say, and a sentence for each mistake."""

from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.spark.pipeline.description import Description, check_transforms, read_description
from odradek.spark.pipeline.transforms import Code, Deduplication, TableJoin, Windows
from tests.docs.blocks import blocks_of

REST = """
[source]
bootstrap_servers = "127.0.0.1:9092"
topics = ["flights"]
[decode]
format = "json"
[sink]
path = "table"
"""


def described(directory: Path, *stages: str) -> Description:
    file = directory / "flights.toml"
    file.write_text("\n".join([REST, *(f"[[transform]]\n{one}" for one in stages)]))
    return read_description(file)


def test_stages_say_what_they_do_and_have_defaults(tmp_path: Path) -> None:
    found = described(
        tmp_path,
        'sql = "select * from records"',
        'python = "clean.py:clean"',
        'join = "airports"\non = "origin"',
        'join = "planes"\nformat = "delta"\non = ["tail", "year"]\nhow = "left"',
        'deduplicate = "id"\nwatermark_s = 60',
        'window_s = 600\nwatermark_s = 0\naggregates = ["count(*) as flights"]',
        'window_s = 600\nslide_s = 60\ntime = "left"\nwatermark_s = 5\n'
        'by = "origin"\naggregates = ["max(n) as n"]',
    )
    assert found.transforms == (
        Code(sql="select * from records"),
        Code(python_file=tmp_path / "clean.py", function="clean"),
        TableJoin(tmp_path / "airports", "parquet", ("origin",), "inner"),
        TableJoin(tmp_path / "planes", "delta", ("tail", "year"), "left"),
        Deduplication(("id",), "_timestamp", 60),
        Windows(600, 600, "_timestamp", 0, (), ("count(*) as flights",)),
        Windows(600, 60, "left", 5, ("origin",), ("max(n) as n",)),
    )
    assert found.table_formats == ("parquet", "delta")


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [
        ("watermark_s = 1", "has one of sql, python, join, window_s, deduplicate"),
        ('sql = "select 1"\ndeduplicate = "id"', "has one of sql, python, join, window_s, deduplicate"),
        ('sql = " "', "transform.sql must be text that is not empty"),
        ('python = "clean"', "transform.python must be a file and a function"),
        ('sql = "select 1"\nwatermark_s = 1', "transform.watermark_s has no effect beside sql"),
        ('join = "a"\non = "id"\nby = "id"', "transform.by has no effect beside join"),
        ('deduplicate = "id"', "transform.watermark_s is missing: it says how late a row may come"),
        ('deduplicate = "id"\nwatermark_s = 0', "transform.watermark_s must be a whole number of at least 1"),
        ("deduplicate = []\nwatermark_s = 1", "transform.deduplicate must be a column or a list of columns"),
        ('deduplicate = "id"\nwatermark = 1', "no setting transform.watermark; did you mean watermark_s"),
        ("window_s = 0", "transform.window_s must be a whole number of at least 1"),
        ("window_s = 60\nwatermark_s = 1", "transform.aggregates is missing"),
        (
            'window_s = 60\nwatermark_s = 1\naggregates = ["count(*)"]',
            "transform.aggregates must be a list of aggregates, each with a name, as in",
        ),
        ("window_s = 60\nslide_s = 61", "transform.slide_s must be at most window_s, 60: rows between"),
        ('join = "a"', "transform.on is missing"),
        ('join = "a"\non = "id"\nhow = "outer"', "transform.how must be one of inner, left, not 'outer'"),
        ('join = "a"\non = "id"\nformat = "csv"', "transform.format must be one of parquet, delta, iceberg"),
    ],
)
def test_a_mistake_in_a_stage_is_a_sentence(stage: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError) as refused:
        described(tmp_path, stage)
    assert sentence in str(refused.value)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = described(tmp_path, 'join = "airports"\non = "origin"')
    with pytest.raises(SettingError, match=r"there is no table .*airports, which a transform joins"):
        check_transforms(found)
    (tmp_path / "airports").mkdir()
    check_transforms(found)


def test_the_pages_example_is_a_description(tmp_path: Path) -> None:
    (example,) = (one.text for one in blocks_of("docs/pipeline.md") if one.text.startswith('name = "delays"'))
    file = tmp_path / "delays.toml"
    file.write_text(example)
    assert read_description(file).transforms == (
        Deduplication(("id",), "left", 3600),
        TableJoin(tmp_path / "airports", "parquet", ("origin",), "inner"),
        Windows(600, 600, "left", 3600, ("city",), ("count(*) as flights", "avg(minutes) as minutes")),
    )
