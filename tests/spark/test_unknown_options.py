"""The refusal of an option that a source or sink does not have."""

from odradek.base.errors import SettingError
from odradek.spark.unknown_options import unknown_option

SERVED = ("subscribePattern", "startingOffsets")


def test_a_close_name_is_suggested_as_it_is_written() -> None:
    refusal = unknown_option("source x", "startingoffset", SERVED)
    assert isinstance(refusal, SettingError)
    assert str(refusal) == "the source x has no option startingoffset; did you mean startingOffsets?"


def test_otherwise_all_names_are_listed() -> None:
    refusal = unknown_option("sink x", "speed", SERVED, ", and kafka.*")
    assert (
        str(refusal)
        == "the sink x has no option speed; it has subscribePattern, startingOffsets, and kafka.*"
    )
