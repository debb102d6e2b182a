"""Which errors pass by themselves, as Kafka's protocol guide marks them."""

import pytest
from aiokafka import errors as aiokafka_errors

from odradek.base.error_codes import ErrorCode, known_code


@pytest.mark.parametrize("code", list(ErrorCode))
def test_what_another_client_tries_again_is_retriable(code: ErrorCode) -> None:
    """Another client's table of errors, as far as it goes."""
    known = aiokafka_errors.for_code(int(code))
    if known.errno == int(code) and known.retriable:
        assert code.is_retriable


def test_refusals_for_good_are_not() -> None:
    for code in (
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.UNSUPPORTED_VERSION,
    ):
        assert not code.is_retriable


def test_a_code_of_a_later_protocol_is_an_unknown_error() -> None:
    assert known_code(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert known_code(9_999) is ErrorCode.UNKNOWN_SERVER_ERROR
