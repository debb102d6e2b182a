"""Batches are read the same way with numpy and without."""

import pytest

from odradek.base.errors import InvalidRecord
from odradek.records import record_readers
from odradek.records.framing import body_of
from odradek.records.header import BatchHeader, read_header
from odradek.records.record_readers import AT_ONCE_RECORDS_MIN, RecordReader, reader_of
from tests.batches import numbered_batch
from tests.records.test_record_tuples import Found


@pytest.fixture(params=["with numpy", "without"], autouse=True)
def numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        monkeypatch.setattr(record_readers, "_HAS_NUMPY", False)
    else:
        pytest.importorskip("numpy")


def batch(base: int, count: int) -> tuple[bytes, BatchHeader]:
    made = numbered_batch(base, count)
    header = read_header(made)
    return body_of(made, header), header


def offsets(reader: RecordReader[Found], count: int = 500) -> list[int]:
    found: list[int] = []
    while not reader.is_done:
        found += [one.offset for one in reader.read(count)]
    return found


@pytest.mark.parametrize("count", [1, AT_ONCE_RECORDS_MIN])
def test_all_records_of_all_batches_come_in_order(count: int) -> None:
    batches = [batch(0, count), batch(count, count)]
    assert offsets(reader_of(Found, ("t", 0), (0, False), batches, 0)) == list(range(2 * count))
    assert offsets(reader_of(Found, ("t", 0), (0, False), batches, count - 1), 2) == list(
        range(count - 1, 2 * count)
    )
    assert reader_of(Found, ("t", 0), (0, False), [], 0).is_done


def test_what_is_in_front_of_a_fault_comes_first() -> None:
    body, header = batch(200, 200)
    broken = body[:-1] + b"\x02"
    reader = reader_of(Found, ("t", 0), (0, False), [batch(0, 200), (broken, header)], 0)
    found = [one.offset for one in reader.read(500)]
    assert 200 <= len(found) < 400
    assert found == list(range(len(found)))
    for _ in range(2):
        with pytest.raises(InvalidRecord):
            reader.read(500)
    assert not reader.is_done
