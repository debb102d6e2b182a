"""Each operation of an administrator, each error code in each place where an answer has one: it comes out.

A broker answers truthfully but for one code. The operation raises an error with that code, or asks again
where the refusal may pass.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final, NamedTuple

import pytest

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.client.core.operation import passes
from odradek.wire.message import Message
from tests.client.core.admin.test_lying_brokers import OPERATIONS, Truthful, carry_out

CODES: Final = (3, 7, 15, 16, 29, 41, 56, 87, 12_345)
NAMES: Final = {
    "group_id": "billing",
    "transactional_id": "pay",
    "member_id": "m1",
    "group_instance_id": "m1",
    "host": "b",
}
TOLD_IN_THE_RESULT: Final = {
    ("elect_leaders", "partition_result"),
    ("elect_all_leaders", "partition_result"),
    ("describe_log_dirs", "results"),
    ("describe_replica_log_dirs", "results"),  # the replicas that are not there have no directory
    ("list_topics", "topics"),  # the names are right all the same
}
"""(operation, array) of errors that are part of the result."""
UNUSED: Final = {
    "topic_config_error_code",  # only why the answer does not show the settings of a new topic
    ("MetadataResponse", "error_code"),  # of versions in which no request asks
    ("MetadataResponse", "topics", "partitions", "error_code"),  # there is no leader then
    ("OffsetFetchResponse", "groups", "error_code"),  # of versions in which no request asks
    ("OffsetFetchResponse", "groups", "topics", "partitions", "error_code"),
}


class Place(NamedTuple):
    """One error code of an operation's answers."""

    number: int
    """Which answer it is in, counted from 0."""
    path: tuple[str | int, ...]
    """The type of the answer, fields and indexes."""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(one for one in self.path if isinstance(one, str))


class Broker(Truthful):
    """Answers about what is asked; `placed` sets one code."""

    def __init__(self, place: Place | None = None, code: int = 0) -> None:
        super().__init__("flights")
        self._place, self._code = place, code
        self.places: list[Place] = []
        self._answers = 0

    def answer(self, request: Message) -> Message:
        made = super().answer(request)
        number, self._answers = self._answers, self._answers + 1
        self.places += [Place(number, (type(made).__name__, *path)) for path in _codes_in(made)]
        if self._place is not None and self._place.number == number:
            owner: Any = made
            for step in self._place.path[1:-1]:
                owner = owner[step] if isinstance(step, int) else getattr(owner, step)
            setattr(owner, str(self._place.path[-1]), self._code)
        return made

    def _made(self, kind: Any, name: str = "") -> Any:
        if name == "unknown_state_filters":
            return []
        if kind is str and name in NAMES:
            return NAMES[name]
        return super()._made(kind, name)


def _codes_in(made: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for one in fields(made):
        value = getattr(made, one.name)
        if one.name.endswith("error_code"):
            yield (*path, one.name)
        for number, entry in enumerate(value if isinstance(value, list) else ()):
            if is_dataclass(entry):
                yield from _codes_in(entry, (*path, one.name, number))
        if is_dataclass(value):
            yield from _codes_in(value, (*path, one.name))


def _told(name: str, broker: Broker) -> ErrorCode:
    """The code of what the operation raises; NONE if it returns, or asks again and again."""
    try:
        carry_out(OPERATIONS[name](), broker.answer)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_error_code_is_raised_or_asked_about_again(name: str) -> None:
    truthful = Broker()
    carry_out(OPERATIONS[name](), truthful.answer)
    assert truthful.places
    for place in truthful.places:
        if place.fields in UNUSED or place.fields[-1] in UNUSED:
            continue
        if any((name, field) in TOLD_IN_THE_RESULT for field in place.fields):
            continue
        for code in CODES:
            may_pass = passes(known_code(code)) or code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            told = _told(name, Broker(place, code))
            assert told is known_code(code) or (told is ErrorCode.NONE and may_pass), (place, code)
