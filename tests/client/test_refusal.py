"""What a person reads when a broker refuses something."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.refusal import raise_for


def test_no_error_raises_nothing() -> None:
    raise_for(0, "all is well", about="group g")


@pytest.mark.parametrize(
    ("message", "about", "words"),
    [
        ("it is being read", "group g", "group g: it is being read"),
        (None, "group g", "group g: not coordinator"),
        ("it is being read", "", "it is being read"),
        (None, "", "not coordinator"),
        ("", "", "not coordinator"),
    ],
)
def test_the_brokers_words_or_else_the_codes(message: str | None, about: str, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        raise_for(ErrorCode.NOT_COORDINATOR, message, about=about)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
    assert str(refused.value) == words


def test_what_was_not_done_in_time_may_be_done_later() -> None:
    with pytest.raises(ApiError, match="topic t: not done in time; it may be done later"):
        raise_for(ErrorCode.REQUEST_TIMED_OUT, about="topic t")
