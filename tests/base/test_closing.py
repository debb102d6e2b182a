"""What is closed at the end of a `with` block."""

import pytest

from odradek.base.closing import Closing


class Held(Closing):
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_it_is_closed_once_at_the_end_of_the_block() -> None:
    held = Held()
    with held as given:
        assert (given is held, held.closed) == (True, 0)
    assert held.closed == 1


def test_it_is_closed_when_the_block_raises_and_the_error_goes_on() -> None:
    held = Held()
    with pytest.raises(KeyError), held:
        raise KeyError("in the block")
    assert held.closed == 1
