import inspect

from odradek.base import errors
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused, InvalidRecord, OdradekError, code_of


def test_an_answer_carries_its_own_code() -> None:
    assert code_of(ApiError(ErrorCode.INVALID_PARTITIONS, "no")) is ErrorCode.INVALID_PARTITIONS


def test_every_log_error_has_a_wire_code() -> None:
    leaves = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.LogError) and kind is not errors.LogError
    ]
    missing = [kind.__name__ for kind in leaves if code_of(kind()) is ErrorCode.UNKNOWN_SERVER_ERROR]
    assert not missing, f"no wire code for {missing}"


def test_an_error_outside_the_table_is_an_unknown_server_error() -> None:
    assert code_of(OdradekError("?")) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_special_kind_has_the_code_of_its_kind() -> None:
    class TooManyBlocks(InvalidRecord):
        """A reason of its own, as `records` has."""

    assert code_of(TooManyBlocks("?")) is ErrorCode.INVALID_RECORD


def test_the_message_of_several_refusals_has_the_first_few() -> None:
    refused = {name: ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name}: no") for name in "abcde"}
    assert str(ElementsRefused({"a": refused["a"]}, [])) == "a: no"
    assert str(ElementsRefused({"a": refused["a"], "b": refused["b"]}, ["c"], "created")) == (
        "a: no; b: no; created: c"
    )
    assert str(ElementsRefused(refused, [])) == "a: no; b: no; c: no; 2 more were refused"
