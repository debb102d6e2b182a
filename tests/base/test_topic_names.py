import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.topic_names import fault_in_name, folded_name


@pytest.mark.parametrize("name", ["a", "a.b", "A_9-z", "x" * 249, "...", "_"])
def test_names_that_kafka_takes(name: str) -> None:
    assert fault_in_name(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a/b", "a b", "é", "a\n", "a\0", "../x", "a\\b"])
def test_names_that_kafka_refuses(name: str) -> None:
    assert fault_in_name(name)


@given(st.text(max_size=20))
def test_a_name_that_passes_is_a_plain_file_name(name: str) -> None:
    if fault_in_name(name) is None:
        assert name not in (".", "..")
        assert name.isascii()
        assert not set(name) & set("/\\\0 \n:")


def test_names_that_differ_only_in_dot_and_underscore_collide() -> None:
    assert folded_name("a.b_c") == folded_name("a_b.c")
    assert folded_name("a.b") != folded_name("ab")
