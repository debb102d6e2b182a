"""Files of offsets: what is read, and how each wrong row is named."""

from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.cli.input_files import FILE_BYTES_MAX
from odradek.cli.offset_files import offset_rows, read_offsets

OFFSETS = {TopicPartition("flights", 0): 42, TopicPartition("flights", 1): 0}


def read(path: Path, content: str, group: str = "tower") -> dict[TopicPartition, int]:
    path.write_text(content)
    return read_offsets(str(path), group)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "offsets.csv"


def test_what_is_written_is_read(file: Path) -> None:
    assert offset_rows(OFFSETS.items()) == "flights,0,42\nflights,1,0\n"
    assert read(file, offset_rows(OFFSETS.items())) == OFFSETS


@pytest.mark.parametrize(
    "content",
    [
        "flights,0,42\r\nflights,1,0",
        '\ufeff"flights", 0 ,42\n\n"flights",1,"0"\n,,\n',
        "tower,flights,0,42\nnight,flights,0,7\ntower,flights,1,0\n",
        'flights,0,42\n"tower","flights",1,0\n',
    ],
)
def test_the_forms_of_kafka_s_tool_are_read(file: Path, content: str) -> None:
    assert read(file, content) == OFFSETS


def test_a_group_s_name_may_hold_commas_and_quotes(file: Path) -> None:
    content = '"a ""b"", c",flights,0,42\n'
    assert read(file, content, 'a "b", c') == {TopicPartition("flights", 0): 42}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("flights\n", "line 1: a row is TOPIC,PARTITION,OFFSET or .*, not 1 value$"),
        ("flights,0,1\nflights,0\n", "line 2: a row is .*, not 2 values$"),
        ("a,b,c,d,e\n", "line 1: .* not 5 values$"),
        ("flights,x,1\n", "line 1: the partition is a whole number .*, not 'x'$"),
        ("flights,-1,1\n", "line 1: the partition is .*, not '-1'$"),
        (f"flights,{1 << 31},1\n", "line 1: the partition is "),
        ("flights,0,-1\n", "line 1: the offset is a whole number of at least 0, not '-1'$"),
        (f"flights,0,{1 << 63}\n", "line 1: the offset is "),
        (",0,1\n", "line 1: the topic is empty$"),
        ("flights,0,1\n\nflights,0,2\n", "line 3: flights-0 has an offset already$"),
        ("night,flights,0,1\n", "has no offsets of group tower$"),
        ("", "has no offsets of group tower$"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(file: Path, content: str, said: str) -> None:
    with pytest.raises(OdradekError, match=said):
        read(file, content)


def test_files_that_are_no_text_are_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(OdradekError, match=r"offsets\.csv is not UTF-8"):
        read_offsets(str(file), "tower")
    with file.open("wb") as sparse:
        sparse.truncate(FILE_BYTES_MAX + 1)
    with pytest.raises(OdradekError, match="is larger than 64 MiB"):
        read_offsets(str(file), "tower")
    with pytest.raises(OdradekError, match=r"cannot read .*: is a directory"):
        read_offsets(str(file.parent), "tower")
    with pytest.raises(OdradekError, match=r"cannot read .*: no such file or directory"):
        read_offsets(str(file.parent / "none"), "tower")
