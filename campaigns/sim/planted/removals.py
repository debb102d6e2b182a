"""Bugs of compaction and of topic deletion: what may be taken away, what stays of it, and what must go."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from campaigns.sim.planted.planting import Plant, replaced
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset
from odradek.metadata.controller.deletions import TopicDeletions
from odradek.records.header import BatchHeader
from odradek.replication.role_changes import RoleChanger
from odradek.storage.compaction import batch_filter, selection
from odradek.storage.compaction.batch_filter import BatchFilter
from odradek.storage.compaction.transactions import TransactionFates
from odradek.storage.log import Log


class _Above:
    """An offset map in which the last record of each key seems to have a later one."""

    def __init__(self, latest: Any) -> None:
        self._latest = latest

    def get(self, key: bytes, absent: Offset) -> Offset:
        found: Offset = self._latest.get(key, absent)
        return found if found == absent else found + 1


def _last_goes_too(original: Any) -> Any:
    def begin(self: BatchFilter, latest: Any, *given: Any, **named: Any) -> None:
        original(self, _Above(latest), *given, **named)

    return begin


def _moved(original: Any) -> Any:
    def with_records(header: BatchHeader, body: bytes, kept: Any) -> bytearray:
        moved: bytearray = original(replace(header, base_offset=header.base_offset + 1), body, kept)
        return moved

    return with_records


def _nothing_is_aborted(original: Any) -> Any:
    def is_aborted(self: TransactionFates, header: BatchHeader) -> bool:
        original(self, header)
        return False

    return is_aborted


def _up_to_the_end(original: Any) -> Any:
    def cleanable_part(log: Log, now_ms: int) -> Any:
        with patch.object(Log, "last_stable", property(lambda log: log._offsets.end_position)):
            return original(log, now_ms)

    return cleanable_part


REMOVALS: Final[Mapping[str, Plant]] = {
    "compaction takes the last of a key, too": replaced(BatchFilter, "__init__", _last_goes_too),
    "compaction moves what it keeps": replaced(batch_filter, "_with_records", _moved),
    "compaction keeps aborted records": replaced(TransactionFates, "is_aborted", _nothing_is_aborted),
    "compaction above LSO": replaced(selection, "cleanable_part", _up_to_the_end),
    "a deleted replica is hosted on": replaced(
        RoleChanger, "_stop", lambda original: lambda self, wanted, changes: ErrorCode.NONE
    ),
    "deletion not taken up where a broker comes back": replaced(
        TopicDeletions, "broker_came", lambda original: lambda self: iter(())
    ),
}
"""By what a person would call them."""
