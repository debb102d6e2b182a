from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import ProducerId
from odradek.metadata.controller.requests import AllocateProducerIds, Answer, ProducerIdBlock, Refused
from odradek.server.node.coordinators.producer_ids import ProducerIds

EPOCH = 7


class Controller:
    """It answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Callable[[Answer], None]] = []
        self.given = 0

    def submit(self, request: Any, answered: Callable[[Answer], None]) -> None:
        assert request == AllocateProducerIds(0, EPOCH)
        self.asked.append(answered)

    def give(self, count: int) -> None:
        first, self.given = self.given, self.given + count
        self.asked.pop(0)(ProducerIdBlock(0, first, count))


Taken = list[ProducerId | ErrorCode]


def supply() -> tuple[Controller, ProducerIds, Taken]:
    controller = Controller()
    return controller, ProducerIds(0, lambda: EPOCH, controller), []


def take(ids: ProducerIds, taken: Taken) -> None:
    """Take one; it is in `taken` when it is there."""
    before = len(taken)
    known = ids.take(taken.append)
    assert len(taken) == before, "an event before the call returned"
    deliver(known, taken.append)


def test_the_first_producers_wait_for_the_first_block() -> None:
    controller, ids, taken = supply()
    take(ids, taken)
    take(ids, taken)
    assert (taken, len(controller.asked)) == ([], 1)
    controller.give(1000)
    assert taken == [0, 1]


def test_a_block_with_an_id_of_a_log_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    controller = Controller()
    ids = ProducerIds(0, lambda: EPOCH, controller, [17, 1999, 2**63 - 1])
    taken: Taken = []
    take(ids, taken)
    take(ids, taken)
    controller.give(1000)
    controller.give(1000)
    assert taken == []
    assert "the producer ids 1000 to 1999 are left out" in caplog.text
    controller.give(1000)
    assert taken == [2000, 2001]


def test_the_next_block_is_asked_for_before_this_one_is_used_up() -> None:
    controller, ids, taken = supply()
    for number in range(2_500):
        take(ids, taken)
        if controller.asked:
            controller.give(1000)
        assert len(taken) == number + 1, "nobody waited but the first"
    assert taken == list(range(2_500))


def test_a_refusal_is_told_to_all_who_wait_and_the_next_one_asks_again() -> None:
    controller, ids, taken = supply()
    take(ids, taken)
    take(ids, taken)
    controller.asked.pop(0)(Refused(ErrorCode.NOT_CONTROLLER, "no"))
    assert taken == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    take(ids, taken)
    controller.give(10)
    assert taken[2:] == [0]
