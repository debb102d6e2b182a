"""The fast decoder of whole batches agrees with `framing.iter_body` on any bytes."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as some

from odradek.base.errors import InvalidRecord
from odradek.records.builder import BatchBuilder
from odradek.records.framing import NamedHeaders, RecordHeaders, body_of, iter_body, named
from odradek.records.header import LOG_APPEND_TIME_BIT, BatchHeader, read_header
from odradek.records.header_reader import HeaderReader
from odradek.records.record_tuples import TupleReader

CONTENT = some.none() | some.binary(max_size=200)
HEADERS = some.lists(some.tuples(some.binary(max_size=5), CONTENT), max_size=2).map(tuple)
RECORDS = some.lists(some.tuples(some.integers(-(1 << 40), 1 << 40), CONTENT, CONTENT, HEADERS), min_size=1)


class Found(NamedTuple):
    """A record between what all records of its batch share."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: NamedHeaders
    epoch: int
    is_append_time: bool


def batch_of(
    records: list[tuple[int, bytes | None, bytes | None, RecordHeaders]],
) -> tuple[BatchHeader, bytes]:
    builder = BatchBuilder(base_offset=7)
    for timestamp, key, value, headers in records:
        builder.append(timestamp, key, value, headers)
    batch = builder.build()
    header = read_header(batch)
    return header, body_of(batch, header)


def decoded(header: BatchHeader, body: bytes, first: int = 0, count: int = 1 << 30) -> list[Found] | str:
    """All records, `count` at a time, or the words of the first error, which comes again."""
    reader = TupleReader(Found, ("t", 5), (3, False), body, header, first, HeaderReader())
    found: list[Found] = []
    try:
        while not reader.is_done:
            found += reader.read(count)
    except InvalidRecord as refused:
        first_words = str(refused)
    else:
        return found
    with pytest.raises(InvalidRecord) as again:
        reader.read(count)
    assert str(again.value) == first_words
    return first_words


def expected(header: BatchHeader, body: bytes) -> list[Found] | str:
    try:
        records = list(iter_body(body, header))
        return [Found("t", 5, *one[:4], named(one.headers), 3, False) for one in records]
    except InvalidRecord as refused:
        return str(refused)


@given(RECORDS)
def test_it_finds_what_the_other_decoder_finds(
    records: list[tuple[int, bytes | None, bytes | None, RecordHeaders]],
) -> None:
    header, body = batch_of(records)
    found = decoded(header, body)
    assert len(found) == len(records)
    assert found == expected(header, body)
    assert decoded(header, body, first=8) == found[1:]
    assert decoded(header, body, count=2) == found
    header.attributes |= LOG_APPEND_TIME_BIT
    assert decoded(header, body) == expected(header, body)


@given(RECORDS, some.data())
def test_it_refuses_what_the_other_decoder_refuses_with_the_same_words(
    records: list[tuple[int, bytes | None, bytes | None, RecordHeaders]], data: some.DataObject
) -> None:
    header, body = batch_of(records)
    changed = bytearray(body)
    for _ in range(data.draw(some.integers(1, 3))):
        changed[data.draw(some.integers(0, len(changed) - 1))] = data.draw(some.integers(0, 255))
    cut = bytes(changed[: data.draw(some.integers(0, len(changed)))])
    for broken in (bytes(changed), cut):
        assert decoded(header, broken) == expected(header, broken)
        assert decoded(header, broken, count=3) == expected(header, broken)


def test_names_of_headers_are_text_whatever_their_bytes() -> None:
    header, body = batch_of([(0, None, b"v", ((b"shop", b"Bern"), (b"\xff\x00", None)))])
    found = decoded(header, body)
    assert isinstance(found, list)
    assert [one.headers for one in found] == [(("shop", b"Bern"), ("\\xff\x00", None))]
