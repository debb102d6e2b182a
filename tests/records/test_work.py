from threading import get_ident

import pytest

from odradek.records.work import Away, RecordSteps, finish


def test_work_returns_its_result_whatever_it_gave_away() -> None:
    def work() -> RecordSteps[list[int]]:
        yield None
        first: int = yield Away(lambda: 7)
        yield None
        second: int = yield Away(get_ident)
        return [first, second]

    assert finish(work()) == [7, get_ident()]


def test_what_a_call_raised_is_raised_where_it_was_given_away() -> None:
    def work() -> RecordSteps[str]:
        try:
            yield Away(lambda: 1 // 0)
        except ZeroDivisionError:
            return "caught"
        return "not raised"

    assert finish(work()) == "caught"


def test_what_work_raises_comes_out() -> None:
    def work() -> RecordSteps[None]:
        yield None
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        finish(work())
