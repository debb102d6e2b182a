"""DeleteRecords moves the beginning of a log, and only within it."""

import pytest

from compat.admins import Admin
from compat.clients import CLIENTS, Record, Refused
from odradek.base.error_codes import ErrorCode

RECORDS = [Record(value=str(number).encode()) for number in range(100)]


def test_deleted_records_are_gone_for_every_reader(admin: Admin, topic: str) -> None:
    client = CLIENTS["confluent-kafka"](admin.bootstrap)
    client.write(topic, RECORDS)
    assert admin.delete_records(topic, 0, 40) == 40
    assert client.offset_range(topic) == (40, 100)
    assert [record.offset for record in client.read(topic, 60, offset=40)] == list(range(40, 100))
    with pytest.raises(Refused) as refused:
        client.read(topic, 1, offset=39)
    assert refused.value.error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_minus_one_deletes_up_to_the_end(admin: Admin, topic: str) -> None:
    client = CLIENTS["confluent-kafka"](admin.bootstrap)
    client.write(topic, RECORDS)
    assert admin.delete_records(topic, 0, -1) == 100
    assert client.offset_range(topic) == (100, 100)
    assert client.write(topic, RECORDS[:1]) == [100]


def test_deleting_beyond_the_end_is_out_of_range(admin: Admin, topic: str) -> None:
    CLIENTS["confluent-kafka"](admin.bootstrap).write(topic, RECORDS)
    with pytest.raises(Refused) as refused:
        admin.delete_records(topic, 0, 101)
    assert refused.value.error == ErrorCode.OFFSET_OUT_OF_RANGE


def test_deleting_what_is_deleted_changes_nothing(admin: Admin, topic: str) -> None:
    CLIENTS["confluent-kafka"](admin.bootstrap).write(topic, RECORDS)
    assert admin.delete_records(topic, 0, 40) == 40
    assert admin.delete_records(topic, 0, 10) == 40
