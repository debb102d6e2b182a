"""What an admin client does while a coordinator is on its way."""

import time

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.admin_connection import patient


class Coordinator:
    """Answers with these errors, then with 7."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)

    @patient
    def ask(self) -> int:
        if self.codes:
            raise ApiError(self.codes.pop(0))
        return 7


@pytest.fixture(autouse=True)
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on by what is slept."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])


def test_a_coordinator_that_loads_or_moves_is_asked_again() -> None:
    assert Coordinator(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR).ask() == 7


def test_one_that_never_comes_is_given_up() -> None:
    with pytest.raises(ApiError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        Coordinator(*[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000).ask()


def test_other_refusals_are_final() -> None:
    coordinator = Coordinator(ErrorCode.GROUP_ID_NOT_FOUND)
    with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
        coordinator.ask()
    assert coordinator.ask() == 7
