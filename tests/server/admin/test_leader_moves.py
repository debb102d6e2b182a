"""What a move of a leader does while the controller is away."""

import time
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import TopicPartition
from odradek.client.core.operation import Operation
from odradek.net.request_pipeline import ConnectionFailed
from odradek.server.admin import leader_moves
from odradek.server.admin.leader_moves import _decided

P0 = TopicPartition("orders", 0)


class Answers:
    """An admin client whose operations end in this way, one after another."""

    def __init__(self, *ends: ApiError | str) -> None:
        self._ends = iter(ends)

    def carry_out(self, operation: Any) -> Any:
        end = next(self._ends)
        if isinstance(end, ApiError):
            raise end
        return end


def nothing() -> Operation[str]:
    yield []
    return "nothing"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_moves, "_LOOK_S", 0)


@pytest.mark.parametrize(
    "away",
    [
        ConnectionFailed("the connection was refused"),
        ApiError(ErrorCode.NOT_CONTROLLER, "not the controller"),
        ElementsRefused({P0: ConnectionFailed("the connection was refused")}, []),
    ],
)
def test_it_is_decided_again_while_the_controller_is_away(away: ApiError) -> None:
    admin = Answers(away, away, "decided")
    assert _decided(admin, nothing, time.monotonic() + 60) == "decided"
    with pytest.raises(type(away)):
        _decided(Answers(away), nothing, time.monotonic() - 1)


def test_what_the_controller_refuses_is_told() -> None:
    refused = ElementsRefused({P0: ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "not in sync")}, [])
    with pytest.raises(ElementsRefused, match="not in sync"):
        _decided(Answers(refused), nothing, time.monotonic() + 60)
