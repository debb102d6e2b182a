"""Offsets in CSV files, as `kafka-consumer-groups.sh --export` writes them and `--from-file` reads them.

flights,0,42            topic, partition, offset
tower,flights,0,42      group, topic, partition, offset: as Kafka's tool exports several groups
"""

import csv
import io
from collections.abc import Iterable

from odradek.base.errors import OdradekError
from odradek.base.ids import Offset, TopicPartition
from odradek.cli.command_line import number
from odradek.cli.input_files import name_of, read_text

_PARTITION = number(0, (1 << 31) - 1)
_OFFSET = number()


def read_offsets(path: str, group: str) -> dict[TopicPartition, Offset]:
    """The offsets of `group` in a file, or in standard input for "-"; rows of other groups are left out.

    Raises OdradekError for a file that cannot be read, a row that is not understood, or a partition with two
    offsets.
    """
    named = name_of(path)
    found: dict[TopicPartition, Offset] = {}
    rows = csv.reader(io.StringIO(read_text(path)))
    try:
        for row in rows:
            if not "".join(row).strip():
                continue
            owner, partition, offset = _parsed(row)
            if owner not in (None, group):
                continue
            if partition in found:
                raise ValueError(f"{partition} has an offset already")
            found[partition] = offset
    except (ValueError, csv.Error) as error:
        raise OdradekError(f"{named}, line {rows.line_num}: {error}") from None
    if not found:
        raise OdradekError(f"{named} has no offsets of group {group}")
    return found


def offset_rows(offsets: Iterable[tuple[TopicPartition, Offset]]) -> str:
    """The text of a file with these offsets of one group."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((*partition, offset) for partition, offset in offsets)
    return text.getvalue()


def _parsed(row: list[str]) -> tuple[str | None, TopicPartition, Offset]:
    cells = [cell.strip() for cell in row]
    if len(cells) not in (3, 4):
        raise ValueError(
            "a row is TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET,"
            f" not {len(cells)} {'value' if len(cells) == 1 else 'values'}"
        )
    owner = None if len(cells) == 3 else cells[0]
    topic, partition, offset = cells[-3:]
    if not topic:
        raise ValueError("the topic is empty")
    return owner, TopicPartition(topic, _read("partition", partition)), _read("offset", offset)


def _read(what: str, text: str) -> int:
    try:
        return (_PARTITION if what == "partition" else _OFFSET)(text)
    except ValueError as error:
        raise ValueError(f"the {what} is {error}, not '{text}'") from None
